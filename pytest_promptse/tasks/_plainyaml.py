"""Read YAML 1.2: plain values by its core schema, no duplicate keys, line numbers in errors.

PyYAML reads YAML 1.1. There ``no`` is a boolean, ``12:30`` a number, ``1e-6`` a string and
``2024-01-01`` a date, and the last of two equal keys wins. Files that people write by hand follow
the core schema of YAML 1.2 instead: https://yaml.org/spec/1.2.2/#103-core-schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path


# libyaml, which is part of PyYAML's wheels, parses the library of emotions ten times as fast.
_Base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[valid-type,misc]
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own attribute


_TEXT = "tag:yaml.org,2002:str"
_CORE_SCHEMA = (
    ("null", r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
)
for _kind, _pattern, _first in _CORE_SCHEMA:
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z"), _first
    )


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


def _construct_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        try:
            twice = key in result
        except TypeError:
            raise yaml.MarkedYAMLError(
                problem="a list or mapping cannot be a key", problem_mark=key_node.start_mark
            ) from None
        if twice:
            raise yaml.MarkedYAMLError(
                problem=f"the key {key!r} is given twice", problem_mark=key_node.start_mark
            )
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


@dataclass(frozen=True)
class YamlNode:
    """A value in a YAML file, with its position.

    Attributes
    ----------
    path
        The file.
    node
        The parsed node of PyYAML.
    line
        The line on which the value starts, counted from 1.
    """

    path: Path
    node: yaml.Node
    line: int

    def error(self, message: str, *, line: int | None = None) -> TaskError:
        """Return an error that starts with the file and line.

        `line` is counted from 1; it is that of the node by default. The error is returned so that
        the caller can raise it.
        """
        return TaskError(f"{self.path}:{self.line if line is None else line}: {message}")

    def value(self) -> Any:
        """Return the plain Python value.

        Raises
        ------
        TaskError
            For a key that is given twice, a tag other than plain data, or a value that contains
            itself.
        """
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag == _TEXT:
            # A loader for each of thousands of texts would take most of the time of reading them.
            return self.node.value
        loader = _Loader("")
        try:
            return loader.construct_object(self.node, deep=True)
        except yaml.MarkedYAMLError as error:
            raise _located(self.path, error) from None
        except ValueError as error:
            raise self.error(f"cannot read the value: {error}") from None

    def text(self, what: str) -> str:
        """Return the value if it is a non-blank string.

        Parameters
        ----------
        what
            The name of the value in errors.

        Raises
        ------
        TaskError
            If the value is not a string, or blank.
        """
        value = self.value()
        if value is None:
            raise self.error(f"{what} is empty")
        if not isinstance(value, str):
            raise self.error(f"{what} must be text, not {value!r}; quote it")
        if not value.strip():
            raise self.error(f"{what} is empty")
        return value

    def items(self, what: str) -> list[YamlNode]:
        """Return the elements of a list.

        Raises
        ------
        TaskError
            If the value is not a list, or empty.
        """
        if not isinstance(self.node, yaml.SequenceNode) or not self.node.value:
            raise self.error(f"{what} must be a list with at least one entry; begin each with '- '")
        return [YamlNode(self.path, node, node.start_mark.line + 1) for node in self.node.value]

    def fields(self, what: str, known: Collection[str] | None = None) -> dict[str, YamlNode]:
        """Return the values of a mapping by key. Each has the line of its key.

        Parameters
        ----------
        what
            The name of the mapping in errors.
        known
            The allowed keys, or None for any.

        Raises
        ------
        TaskError
            If the value is not a mapping, or a key is unknown, repeated or not text.
        """
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error(f"{what} must be a mapping (key: value)")
        fields: dict[str, YamlNode] = {}
        for key_node, value_node in self.node.value:
            line = key_node.start_mark.line + 1
            key = YamlNode(self.path, key_node, line).value()
            if not isinstance(key, str):
                raise self.error(f"the key {key!r} of {what} must be text; quote it", line=line)
            if known is not None and key not in known:
                hint = nearest(key, known) or f"; known keys: {', '.join(known)}"
                if ")" in key:
                    # `{call: f(1, 2)}` and `{call:f(1)}` make keys of parts of the call.
                    hint = "; put a call with a comma in quotes, and a space after each colon"
                raise self.error(f"{what} has no key {key!r}{hint}", line=line)
            if key in fields:
                raise self.error(f"the key {key!r} is given twice", line=line)
            fields[key] = YamlNode(self.path, value_node, line)
        return fields

    def code_line(self, offset: int) -> int:
        """Return the line in the file of line `offset` (from 1) of this text value."""
        first = self.node.start_mark.line + 1
        block = isinstance(self.node, yaml.ScalarNode) and self.node.style in ("|", ">")
        return first + offset - (0 if block else 1)


def parse(text: str, path: Path, *, first_line: int = 1) -> YamlNode:
    """Parse a text with exactly one YAML document.

    Parameters
    ----------
    text
        The YAML source.
    path
        Its file, for errors.
    first_line
        The line of the file on which `text` starts.

    Raises
    ------
    TaskError
        If `text` is not YAML, has no document or has several.
    """
    loader: Callable[[str], _Loader] = _Loader
    whole = "\n" * (first_line - 1) + text
    try:
        _check_size(whole)
        node = loader(whole).get_single_node()
    except yaml.MarkedYAMLError as error:
        raise _located(path, error) from None
    except yaml.YAMLError as error:
        raise TaskError(f"{path}:{first_line}: not YAML: {' '.join(str(error).split())}") from None
    if node is None:
        raise TaskError(f"{path}:{first_line}: the document is empty")
    return YamlNode(path, node, node.start_mark.line + 1)


_MOST_LEVELS = 100
_MOST_NODES = 1_000_000


def _check_size(text: str) -> None:
    """Raise TaskError for nesting that overflows the stack, and for aliases with too many values.

    The check reads the parser's events, before any value is built.
    """
    # Each open collection, with its anchor and the number of nodes in it so far.
    open_: list[tuple[str | None, int]] = [(None, 0)]
    sizes: dict[str, int] = {}

    def add(nodes: int, event: yaml.Event) -> None:
        anchor, before = open_[-1]
        open_[-1] = anchor, before + nodes
        if before + nodes > _MOST_NODES:
            raise yaml.MarkedYAMLError(
                problem=f"aliases make more than {_MOST_NODES:,} values of it",
                problem_mark=_mark(event),
            )

    for event in yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, 1))
            if len(open_) > _MOST_LEVELS:
                raise yaml.MarkedYAMLError(
                    problem=f"it is nested more than {_MOST_LEVELS} levels deep",
                    problem_mark=_mark(event),
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, nodes = open_.pop()
            if anchor is not None:
                sizes[anchor] = nodes
            add(nodes, event)
        elif isinstance(event, yaml.AliasEvent):
            add(sizes.get(event.anchor or "", 1), event)
        elif isinstance(event, yaml.ScalarEvent):
            add(1, event)


def _mark(event: yaml.Event) -> Any:
    return event.start_mark  # an object of libyaml, which the type stubs do not accept as a mark


_IN_QUOTES = "put the text in single quotes, or indented below `key: |`"
_REMEDIES = {
    "mapping values are not allowed": f"a text with a colon: {_IN_QUOTES}",
    "cannot start any token": f"a text that begins with a sign such as `, @ or %: {_IN_QUOTES}",
    "did not find expected key": f"a text goes on after its closing quote, or a line is not "
    f"indented like those above it: {_IN_QUOTES}, or mend the indentation",
    "did not find expected ',' or": "inside of { } and [ ], put a text with one of , [ ] { } in "
    "single quotes",
    "did not find expected '-' indicator": "indent the keys of an entry alike, below the first one",
    "could not find expected ':'": "write 'key: value', and indent each further line of a text",
    "found a tab character": "indent with spaces",
    "found character '\\t'": "indent with spaces",
    "did not find expected <document start>": "write 'key: value' lines from the first column on",
}
"""What to do about a message of the parser that begins with, or contains, the key."""


def _located(path: Path, error: yaml.MarkedYAMLError) -> TaskError:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "not YAML"
    remedy = next((remedy for known, remedy in _REMEDIES.items() if known in problem), None)
    said = f"not YAML: {problem}; {remedy}" if remedy else problem
    return TaskError(f"{path}:{mark.line + 1 if mark else 1}: {said}")
