"""Read the fields of a mapping in a YAML file, each by a reader that checks its value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._plainyaml import YamlNode, parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

Reader: TypeAlias = Callable[[YamlNode, str], Any]
"""Returns the value of a node. The text is the name of the value in errors."""


def read_fields(
    entry: YamlNode,
    what: str,
    readers: Mapping[str, Reader],
    *,
    needed: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the values of a mapping by name, for those fields that it has.

    Parameters
    ----------
    entry
        The mapping.
    what
        Its name in errors.
    readers
        The reader of each field that it may have.
    needed
        The fields that it must have; None for all.

    Raises
    ------
    TaskError
        If a field is unknown, missing or refused by its reader. The message names file and line.
    """
    fields = entry.fields(what, tuple(readers))
    for name in readers if needed is None else needed:
        if name not in fields:
            raise entry.error(f"{what} lacks {name!r}")
    return {name: readers[name](place, name) for name, place in fields.items()}


def read_entries(path: Path, known: Sequence[str] | None = None) -> Iterator[tuple[str, YamlNode]]:
    """Yield the entries of a file by name. A missing file has none.

    `known` are the names that the file may have, or None for any. Another name is an error with
    file and line.
    """
    if path.is_file():
        yield from open_file(path).fields(path.name, known).items()


def open_file(path: Path) -> YamlNode:
    """Return the content of a YAML file."""
    try:
        return parse(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError:
        raise VariantError(f"{path}:1: not UTF-8 text; save it as UTF-8") from None


def text(place: YamlNode, what: str) -> str:
    """Read a text that is not blank."""
    return place.text(what)


def prose(place: YamlNode, what: str) -> str:
    """Read a text whose first and last blanks have no meaning."""
    return place.text(what).strip()


def texts(place: YamlNode, what: str) -> tuple[str, ...]:
    """Read a list of texts."""
    return tuple(item.text(f"an entry of {what!r}") for item in place.items(what))


def mark(place: YamlNode, _: str) -> str:
    """Read a text that may be blank, such as a punctuation mark."""
    return str(place.value())


def flag(place: YamlNode, _: str) -> bool:
    """Read a truth value."""
    return bool(place.value())


def number(low: float, high: float) -> Reader:
    """Return a reader of a number from `low` to `high`."""

    def read(place: YamlNode, what: str) -> float:
        value = place.value()
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            raise place.error(f"{what!r} must be a number from {low:g} to {high:g}, not {value!r}")
        return float(value)

    return read
