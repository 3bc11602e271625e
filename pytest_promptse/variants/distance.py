"""How far a wording is from its original, and the band each distance must fall in."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORTEST = 40
"""Prompts of fewer words are measured as if they had this many."""
HALF_WIDTH = 0.05
"""A band reaches this far to either side of its distance."""
NEAREST, FARTHEST = 0.05, 0.5
"""The distances that wordings can be made for."""

_TOKEN = re.compile(r"[^\s]+")
_EDGES = ".,;:!?…()[]{}<>\"'\u2019\u2018“”*_-\u2013—"


def words(text: str) -> list[str]:
    """Return the words of `text` in lower case, without punctuation around them."""
    stripped = (token.strip(_EDGES) or "" for token in _TOKEN.findall(text.lower()))
    return [word for word in stripped if word]


def measure(original: Sequence[str], reworded: Sequence[str]) -> float:
    """Return the distance of two lists of words, in [0, 1]; symmetric, 0 for equal lists.

    One minus the normalised similarity of the two, ``2 L / (m + n)`` with L the length of their
    longest common subsequence; that is, the words to delete and insert over all words. The
    denominator is at least ``2 * SHORTEST``: in a prompt of six words a single added one would
    already be a tenth of everything, and six moods could not be told apart within a band.
    """
    every = len(original) + len(reworded)
    return changed(original, reworded) / max(every, 2 * SHORTEST)


def changed(original: Sequence[str], reworded: Sequence[str]) -> int:
    """Return how many words must be deleted or inserted to get from one list to the other."""
    return len(original) + len(reworded) - 2 * _common(original, reworded)


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, by Hyyrö's bit-parallel recurrence (2004)."""
    where: dict[str, int] = {}
    for position, word in enumerate(a):
        where[word] = where.get(word, 0) | (1 << position)
    everything = (1 << len(a)) - 1
    row = everything
    for word in b:
        hit = row & where.get(word, 0)
        row = ((row + hit) | (row - hit)) & everything
    return len(a) - row.bit_count()


def band(distance: float) -> tuple[float, float]:
    """Return the half-open interval ``[low, high)`` of measured distances for `distance`.

    Raises
    ------
    VariantError
        If `distance` lies outside [NEAREST, FARTHEST].
    """
    if not NEAREST <= distance <= FARTHEST:
        raise VariantError(
            f"distance {distance:g}: wordings can be made from {NEAREST:g} to {FARTHEST:g}"
        )
    return max(distance - HALF_WIDTH, 0.02), distance + HALF_WIDTH


def check_distances(distances: Sequence[float]) -> None:
    """Raise VariantError unless every distance has a band and no two bands overlap."""
    if not distances:
        raise VariantError("no distances given; name at least one, such as 0.1")
    ordered = sorted(distances)
    for distance in ordered:
        band(distance)
    for low, high in pairwise(ordered):
        if high - low < 2 * HALF_WIDTH - 1e-9:
            raise VariantError(
                f"distances {low:g} and {high:g}: their bands overlap; keep them "
                f"{2 * HALF_WIDTH:g} apart"
            )
