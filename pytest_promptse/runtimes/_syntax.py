"""Whether a text is valid in a language, by tree-sitter."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Some grammars take time quadratic in the errors of a text: 18 s for 100,000 bytes.
_MOST_BYTES = 16_384


def parsed(code: str, language: str) -> Node | None:
    """Return the root of the syntax tree, or None without the extra or for over 16 KiB."""
    parser = _parser(language)
    data = code.encode("utf-8", "replace")
    return None if parser is None or len(data) > _MOST_BYTES else parser.parse(data).root_node


def is_valid(code: str, language: str) -> bool:
    """Return whether `code` has no syntax error.

    Without the extra ``languages`` the result is False for every text, so that only fences decide.
    A text of over 16 KiB is not parsed, and counts as valid.
    """
    root = parsed(code, language)
    return not root.has_error if root is not None else _parser(language) is not None


@cache
def _parser(language: str) -> Parser | None:
    try:
        from tree_sitter_language_pack import get_parser  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    parser: Parser = get_parser(language)
    return parser
