"""Whether a text is valid in a language, by tree-sitter."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

# Some grammars take time quadratic in the errors of a text: 18 s for 100,000 bytes.
_MOST_BYTES = 16_384


def is_valid(code: str, language: str) -> bool:
    """Return whether `code` has no syntax error.

    Without the extra ``languages`` the result is False for every text, so that only fences decide.
    A text of over 16 KiB is not parsed, and counts as valid.
    """
    parser = _parser(language)
    if parser is None:
        return False
    data = code.encode("utf-8", "replace")
    return len(data) > _MOST_BYTES or not parser.parse(data).root_node.has_error


@cache
def _parser(language: str) -> Parser | None:
    try:
        from tree_sitter_language_pack import get_parser  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    parser: Parser = get_parser(language)
    return parser
