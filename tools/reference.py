"""Write what the reference pages take from the code: options, commands, the record, the API.

Usage: ``python tools/reference.py [--check]``. In a page of ``docs/``, the text between
``<!-- from code: PART -->`` and ``<!-- end -->`` is replaced. A part is the name of a function in
`PARTS`, with its arguments.
"""

from __future__ import annotations

import argparse
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import griffe

from pytest_promptse.cli._main import make_parser
from pytest_promptse.config._groups import grouped_options
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.config._settings import PRESETS
from pytest_promptse.record._schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_promptse.config._option import Option

ROOT = Path(__file__).resolve().parent.parent
# Sections of a docstring that list the fields of a class or the parameters of a function.
_FIELDS = ("parameters", "attributes")
_PART = re.compile(r"(<!-- from code: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def options() -> Iterator[str]:
    """Yield every option by its group: flag, help, ini key, keyword of the mark, default."""
    for title, group in grouped_options().items():
        yield f"### {title.removeprefix('promptse: ')}"
        for option in group:
            flag = option.flag if option.is_switch else f"{option.flag} {option.metavar}"
            yield f"#### `{flag}`"
            yield f"{_sentence(option.help)}\n\n{'; '.join(_ways(option))}."


def _ways(option: Option) -> Iterator[str]:
    if option.flag_only:
        yield "This option can be given only on the command line"
    else:
        yield f"Ini file: `{option.ini}`" + (", one value per line" if option.repeatable else "")
    if option.marker:
        yield f"mark: `{option.name}=`"
    if option.shown_default:
        yield f"default: `{option.shown_default}`"


def presets() -> Iterator[str]:
    """Yield a table of the values that the presets set."""
    names = sorted({name for preset in PRESETS.values() for name in preset})
    yield _table(
        ["preset", *(f"`{name}`" for name in names)],
        [
            [f"`{preset}`", *(f"{values.get(name, OPTIONS[name].default)}" for name in names)]
            for preset, values in PRESETS.items()
        ],
    )


def marker() -> Iterator[str]:
    """Yield a table of the settings that a mark or a suite file takes."""
    yield _table(
        ["keyword", "what it sets"],
        [[f"`{option.name}`", _help(option)] for option in OPTIONS.values() if option.marker],
    )


def record() -> Iterator[str]:
    """Yield each part of the result record with its fields."""
    for name, part in json_schema()["$defs"].items():
        yield f"## {name}"
        if description := part.get("description"):
            for section in griffe.Docstring(description, parser="numpy").parsed:
                yield from _section(section)
        required = part.get("required", [])
        if fields := part.get("properties"):
            yield _table(
                ["field", "type"],
                [
                    [f"`{field}`" + ("" if field in required else " (optional)"), _type(schema)]
                    for field, schema in fields.items()
                ],
            )


def _type(schema: Mapping[str, Any]) -> str:
    """Return a JSON Schema in words, parts of the record as links."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    content = schema.get("items") or schema.get("additionalProperties")
    kind = {"array": "list"}.get(schema.get("type", ""), schema.get("type", "anything"))
    return f"{kind} of {_type(content)}" if isinstance(content, dict) else str(kind)


def commands() -> Iterator[str]:
    """Yield ``promptse`` and each of its commands with their arguments."""
    yield from _command(make_parser(), "")


def _command(parser: argparse.ArgumentParser, summary: str) -> Iterator[str]:
    # argparse has no public way to list arguments, and its own text differs between versions of
    # Python.
    yield f"## {parser.prog}"
    text = parser.description or summary
    if text:
        yield _sentence(text)
    inner: list[tuple[argparse.ArgumentParser, str]] = []
    arguments = []
    for action in parser._actions:  # noqa: SLF001 - see above
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            inner = [(command, said.get(name, "")) for name, command in action.choices.items()]
        elif action.help is not argparse.SUPPRESS and "--help" not in action.option_strings:
            arguments.append(f"- {_spelling(action)}{_meaning(action)}")
    if inner:
        yield "\n".join(
            f"- [{command.prog}](#{command.prog.replace(' ', '-')}): {help_}"
            for command, help_ in inner
        )
    if arguments:
        yield "\n".join(arguments)
    if parser.epilog:
        yield parser.epilog
    for command, help_ in inner:
        yield from _command(command, help_)


def _spelling(action: argparse.Action) -> str:
    """Return an argument as it is typed."""
    if action.nargs == 0:
        return ", ".join(f"`{flag}`" for flag in action.option_strings)
    named = (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    value = action.metavar if isinstance(action.metavar, str) else named
    if action.option_strings:
        return ", ".join(f"`{flag} {value}`" for flag in action.option_strings)
    return f"`{value}`" + {"*": " (any number)", "+": " (one or more)", "?": " (optional)"}.get(
        str(action.nargs), ""
    )


def _meaning(action: argparse.Action) -> str:
    if not action.help:
        return ""
    text = action.help % {**vars(action), "prog": ""}
    return f": {_escaped(text)}"


def api(*paths: str) -> Iterator[str]:
    """Yield objects of the package with their docstrings, by their path in it."""
    for path in paths:
        subject = _package()[path]
        yield from _object(subject.final_target if subject.is_alias else subject, level=3)


@cache
def _package() -> Any:
    return griffe.load(ROOT / "pytest_promptse", docstring_parser="numpy", search_paths=[ROOT])


def _object(subject: Any, *, level: int, owner: str = "") -> Iterator[str]:
    """Yield one class, function or attribute, and the public members of a class."""
    arguments = ""
    if subject.is_function:
        names = [parameter.name for parameter in subject.parameters]
        arguments = f"({', '.join(name for name in names if name not in ('self', 'cls'))})"
    yield f"{'#' * level} `{owner}{subject.name}{arguments}`"
    if (
        subject.is_class
        and subject.bases
        and str(subject.bases[0]).endswith(("Error", "Exception"))
    ):
        yield f"A kind of `{subject.bases[0]}`."
    for section in subject.docstring.parsed if subject.docstring else ():
        yield from _section(section)
    if not subject.is_class:
        return
    is_documented = any(section.kind.value in _FIELDS for section in subject.docstring.parsed)
    fields = [
        member
        for member in subject.members.values()
        if "dataclass" in subject.labels
        and member.is_attribute
        and member.annotation
        and not member.labels & {"property", "class-variable"}
        and not member.name.startswith("_")
    ]
    if fields and not is_documented:
        yield "\n".join(f"- `{field.name}`{_typed(field)}" for field in fields)
    for member in subject.members.values():
        is_public = not member.is_alias and member.docstring and not member.name.startswith("_")
        if is_public and (member.is_function or "property" in member.labels):
            yield from _object(member, level=level + 1, owner=f"{subject.name}.")


def _section(section: Any) -> Iterator[str]:
    """Yield a section of a docstring as Markdown."""
    kind = section.kind.value
    if kind == "text":
        yield section.value
    elif kind in _FIELDS:
        yield "\n".join(
            f"- `{item.name}`{_typed(item)}: {_line(item.description)}" for item in section.value
        )
    elif kind in ("returns", "yields"):
        # A plain sentence is a type to the parser, line by line.
        text = " ".join(
            part
            for item in section.value
            for part in (str(item.annotation or ""), item.description)
        )
        yield f"**{kind.capitalize()}** {_begun(_line(text))}"
    elif kind == "raises":
        yield "\n".join(
            f"- raises `{item.annotation}`: {_begun(_line(item.description))}"
            for item in section.value
        )
    else:
        raise NotImplementedError(f"a section {kind!r} in a docstring")


def _begun(text: str) -> str:
    """Return `text` with a lower-case first letter, as the rest of a sentence."""
    return text[:1].lower() + text[1:]


def _typed(item: Any) -> str:
    """Return the type and default of a parameter, in brackets."""
    parts = [f"`{item.annotation}`"] if item.annotation else []
    value = getattr(item, "value", None)
    if value is not None and "(" not in str(value) and "UNSET" not in str(value):
        parts.append(f"default `{value}`")
    return f" ({', '.join(parts)})" if parts else ""


def file(path: str, language: str) -> Iterator[str]:
    """Yield a file of the repository as a block of code."""
    yield f"```{language}\n{(ROOT / path).read_text(encoding='utf-8').rstrip()}\n```"


PARTS: Mapping[str, Callable[..., Iterator[str]]] = {
    part.__name__: part for part in (options, presets, marker, record, commands, api, file)
}


def _help(option: Option) -> str:
    return _escaped(option.help.replace("%%", "%"))


def _sentence(text: str) -> str:
    text = _escaped(text.replace("%%", "%"))
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def _escaped(text: str) -> str:
    """Return plain text as Markdown."""
    return re.sub(r"([<*|])", r"\\\1", " ".join(text.split()))


def _line(text: str) -> str:
    return " ".join(text.split())


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = [list(head), *map(list, rows)]
    lines = [cells[0], ["---"] * len(cells[0]), *cells[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def current(page: str) -> str:
    """Return the text of a page with its parts as the code is now."""

    def written(marks: re.Match[str]) -> str:
        name, *arguments = marks[2].split()
        text = "\n\n".join(PARTS[name](*arguments))
        return f"{marks[1]}\n{text}\n\n{marks[3]}"

    return _PART.sub(written, page)


def main() -> int:
    """Write the pages, or name those that are not up to date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit 1 if a page is not up to date")
    is_check = parser.parse_args().check
    stale = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (now := current(text)) != text:
            stale.append(page)
            if not is_check:
                page.write_text(now, encoding="utf-8")
    if is_check and stale:
        names = ", ".join(str(page.relative_to(ROOT)) for page in stale)
        sys.stderr.write(f"not up to date: {names}; run python tools/reference.py\n")
    return int(is_check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
