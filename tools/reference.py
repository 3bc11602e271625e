"""The contents of the reference pages, generated from the code while the site is built.

This is a Sphinx extension. In a page of ``docs/reference``, ``{from-code} options`` is replaced by
every option in ``pytest_promptse/config/_options.py``. So the reference is always up to date.
"""

from __future__ import annotations

import argparse
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Any

from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from pytest_promptse import Record
from pytest_promptse.cli._main import make_parser
from pytest_promptse.config import _option_types
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.config._settings import PRESETS
from pytest_promptse.record._schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from docutils.nodes import Node
    from sphinx.application import Sphinx

    from pytest_promptse.config._options import Option

_WIDTH = 88
_MIB = 2**20


def options() -> Iterator[str]:
    """Yield every option: flag, help, ini twin, keyword of the mark, default."""
    yield "```{program} pytest\n```"
    for option in OPTIONS.values():
        flag = option.flag if option.is_switch else f"{option.flag} {option.metavar}"
        yield f"```{{option}} {flag}\n{_help(option)}\n\n{'; '.join(_ways(option))}.\n```"


def _ways(option: Option) -> Iterator[str]:
    if option.flag_only:
        yield "On the command line only"
    else:
        yield f"Ini file: `{option.ini}`" + (", one to a line" if option.repeatable else "")
    if option.marker:
        yield f"mark: `{option.name}=`"
    default = _default(option)
    if default:
        yield f"default: {default}"


def _default(option: Option) -> str:
    """Return the default as a user would write it.

    Empty if the help names it, or if there is none.
    """
    value = option.default
    nothing = value is None or value is False or (isinstance(value, tuple | dict) and not value)
    if nothing:
        return ""
    if option.parse is _option_types.size:
        return f"`{value // _MIB}MiB`"
    if isinstance(value, tuple):
        return f"`{','.join(map(str, value))}`"
    return f"`{value}`"


def presets() -> Iterator[str]:
    """Yield a table of the values that the presets set."""
    names = sorted({name for preset in PRESETS.values() for name in preset})
    yield _table(
        ["preset", *(f"`{name}`" for name in names)],
        [
            [f"`{preset}`", *(f"{chosen.get(name, OPTIONS[name].default)}" for name in names)]
            for preset, chosen in PRESETS.items()
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
        yield f"## {name}\n"
        yield textwrap.dedent(part.get("description", ""))
        required = part.get("required", [])
        yield _table(
            ["field", "type"],
            [
                [f"`{field}`" + ("" if field in required else " (optional)"), _type(schema)]
                for field, schema in part.get("properties", {}).items()
            ],
        )


def _type(schema: Mapping[str, Any]) -> str:
    """Return a JSON Schema in words, parts of the record as links."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "prefixItems" in schema:
        return "[" + ", ".join(_type(one) for one in schema["prefixItems"]) + "]"
    held = schema.get("items") or schema.get("additionalProperties")
    kind = {"array": "list"}.get(schema.get("type", ""), schema.get("type", "anything"))
    return f"{kind} of {_type(held)}" if isinstance(held, dict) else str(kind)


def commands() -> Iterator[str]:
    """Yield the help of ``promptse`` and of each of its commands."""
    yield from _commands(make_parser())


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    parser.formatter_class = partial(argparse.HelpFormatter, width=_WIDTH)
    yield f"## {parser.prog}\n"
    yield f"```text\n{parser.format_help().strip()}\n```"
    for action in parser._actions:  # noqa: SLF001 - argparse names no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - likewise
            for command in action.choices.values():
                yield from _commands(command)


def _help(option: Option) -> str:
    # Markup characters in a help text are plain text, so they are escaped in Markdown.
    return option.help.replace("%%", "%").replace("<", "\\<").replace("*", "\\*")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


PARTS: Mapping[str, Callable[[], Iterator[str]]] = {
    made.__name__: made for made in (options, presets, marker, record, commands)
}


class FromCode(SphinxDirective):
    """Replace ``{from-code} PART`` by the Markdown of one of `PARTS`."""

    required_arguments = 1

    def run(self) -> list[Node]:
        """Return the nodes of the part."""
        part = directives.choice(self.arguments[0], tuple(PARTS))
        return self.parse_text_to_nodes("\n\n".join(PARTS[part]()), allow_section_headings=True)


def _signature(
    _app: Sphinx,
    kind: str,
    _name: str,
    documented: object,
    _options: object,
    arguments: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Hide the arguments of classes that users never construct; show defaults as Python."""
    if kind == "class" and (documented is Record or getattr(documented, "_is_protocol", False)):
        return "", None
    for made in ("<factory>", "_Unset.UNSET"):
        arguments = arguments and arguments.replace(made, "...")
    return arguments, returned


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("from-code", FromCode)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
