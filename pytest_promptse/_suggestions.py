"""Suggestions in error messages about a misspelt name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the choice most like `word`, or an empty string.

    Choices that are not similar are never suggested.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for errors

    close = get_close_matches(word, list(choices), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
