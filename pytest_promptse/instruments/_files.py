"""The files of instruments' suites, ``*.NAME.yaml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args, get_origin

import msgspec

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import TaskError
from pytest_promptse.tasks import _plainyaml

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_promptse.instruments._measurement import SuiteSettings

__all__ = ["load_settings"]

_FORMAT = 1


def load_settings(path: Path, kind: type[SuiteSettings]) -> tuple[SuiteSettings, int]:
    """Return the settings in the file at `path` and the line at which they begin.

    `kind` is the type of the instrument's settings.

    Raises
    ------
    TaskError
        If the file does not follow the format. The message names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(
            f"{path}: cannot be read ({error}); check the path and save it as UTF-8"
        ) from None
    document = _plainyaml.parse(text, path)
    fields = document.fields("a suite of an instrument", ("promptse", "settings"))
    version = fields.get("promptse")
    if version is None or version.value() != _FORMAT:
        raise document.error(f"start the file with 'promptse: {_FORMAT}', its format")
    if "settings" not in fields or fields["settings"].value() is None:
        return kind(), document.line
    place = fields["settings"]
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    values = {}
    for name, value in place.fields("settings").items():
        if name not in types:
            raise value.error(f"{name!r} is not a setting{nearest(name, types)}")
        values[name] = value.value()
        try:
            msgspec.convert(values[name], types[name])
        except msgspec.ValidationError as error:
            problem = _no_choice(values[name], types[name]) or str(error)
            raise value.error(f"{name}: {problem}") from None
    try:
        return msgspec.convert(values, kind), place.line
    except msgspec.ValidationError as error:
        raise place.error(str(error)) from None


def _no_choice(value: object, kind: object) -> str | None:
    """Return which words a setting of type `kind` can be if `value` is another word."""
    kinds = (kind, *get_args(kind))
    words = [word for part in kinds if get_origin(part) is Literal for word in get_args(part)]
    if not words or not isinstance(value, str):
        return None
    numbers = any(int in (part, *get_args(part)) for part in kinds)
    others = ["a whole number"] if numbers else []
    return f"{value!r} is not one of {', '.join([*words, *others])}{nearest(value, words)}"
