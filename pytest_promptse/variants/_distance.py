"""The distance of a variant from its original: the shares of added, replaced and moved words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORTEST = 40
"""Shorter prompts are measured as if they had this number of words."""

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")
_EDGES = (
    ".,;:!?…()[]{}<>#\"'\u2019\u2018“”*_-\u2013—"
    "\u3001\u3002\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\u300c\u300d"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """The difference between a variant and its original.

    The original has n words and the variant m. L is the length of their longest common subsequence,
    and M the size of their common multiset:

    Parameters
    ----------
    distance
        ``(n + m - 2 L) / max(n + m, 2 * SHORTEST)``, in [0, 1].
    added_share
        ``(m - M) / m``: words of the variant that the original lacks.
    replaced_share
        ``(n - M) / n``: words of the original that the variant lacks.
    moved_share
        ``(M - L) / n``: words of the original that are elsewhere in the variant.
    length_ratio
        ``m / n``.
    """

    distance: float
    added_share: float
    replaced_share: float
    moved_share: float
    length_ratio: float


def normalised(text: str) -> str:
    """Return `text` without case, punctuation and line breaks, to recognise duplicates."""
    return " ".join(re.findall(r"[\w'\u2019]+|[^\w\s.,;:!?…()\-\u2013—'\u2019]+", text.casefold()))


def words(text: str) -> list[str]:
    """Return the words of `text` in lower case, without punctuation around them.

    Each Chinese or Japanese character is a separate word.
    """
    stripped = (token.strip(_EDGES) for token in _TOKEN.findall(text.lower()))
    return [word for word in stripped if word]


def changed(original: Sequence[str], variant: Sequence[str]) -> int:
    """Return the number of words to delete or insert to turn one list into the other."""
    return len(original) + len(variant) - 2 * _common(original, variant)


def added_words(original: str, variant: str) -> int:
    """Return the number of words of `variant` that the original lacks.

    Words are counted as often as they occur; their order does not matter.
    """
    was, now = _original_words(original), words(variant)
    return len(now) - sum((Counter(was) & Counter(now)).values())


def compare(original: str, variant: str) -> Change:
    """Return the difference between two texts.

    The texts are compared by words. Indentation and other blanks do not matter.
    """
    return compare_words(_original_words(original), words(variant))


def compare_words(was: Sequence[str], now: Sequence[str]) -> Change:
    """Return the difference between two lists of words: the original's and the variant's.

    The distance is one minus the normalised similarity, ``2 L / (m + n)`` with L the length of the
    longest common subsequence. In other words, it is the share of words to delete and insert among
    all words. The denominator is at least ``2 * SHORTEST``. Otherwise a single added word would be
    a large share of a prompt of six words.
    """
    common = _common(was, now)
    shared = sum((Counter(was) & Counter(now)).values())
    every = len(was) + len(now)
    # Shares of a text without words are 0.
    n, m = max(len(was), 1), max(len(now), 1)
    return Change(
        distance=round((every - 2 * common) / max(every, 2 * SHORTEST), 6),
        added_share=round((len(now) - shared) / m, 6),
        replaced_share=round((len(was) - shared) / n, 6),
        moved_share=round((shared - common) / n, 6),
        length_ratio=round(len(now) / n, 6),
    )


@lru_cache(maxsize=64)
def _original_words(text: str) -> tuple[str, ...]:
    return tuple(words(text))


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence (Hyyrö's bit-parallel method, 2004).

    The method takes one operation on integers of `a`'s length for each word of `b`.
    """
    where: dict[str, int] = {}
    for position, word in enumerate(a):
        where[word] = where.get(word, 0) | (1 << position)
    everything = (1 << len(a)) - 1
    row = everything
    for word in b:
        hit = row & where.get(word, 0)
        row = ((row + hit) | (row - hit)) & everything
    return len(a) - row.bit_count()
