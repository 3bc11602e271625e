"""Find the sentences of an original, word for word, in a variant."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.variants.invariance._reading import Sentence, Token

__all__ = ["Alignment", "ChangedPart", "Fragment", "align"]


@dataclass(frozen=True, kw_only=True)
class Fragment:
    """Words of a variant, all in one sentence, that belong to no sentence of the original.

    Attributes
    ----------
    sentence
        The whole sentence of the variant.
    before, after
        True if a sentence of the original stands in the same sentence of the variant, before or
        after these words.
    """

    sentence: Sentence
    tokens: tuple[Token, ...]
    before: bool
    after: bool


@dataclass(frozen=True, kw_only=True)
class ChangedPart:
    """Sentences of the original that a variant lacks, and what it has in their place."""

    missing: tuple[Sentence, ...]
    fragments: tuple[Fragment, ...]


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """The result of a comparison.

    Attributes
    ----------
    moved
        Sentences of the original that stand in another place of the variant.
    gaps
        The rest of both texts, between the sentences that they share.
    """

    moved: tuple[Sentence, ...]
    gaps: tuple[ChangedPart, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A token of a variant, with the number of its sentence."""

    number: int
    token: Token


def align(original: Sequence[Sentence], variant: Sequence[Sentence]) -> Alignment:
    """Find each sentence of `original` in `variant`, in order.

    Line breaks do not count, and neither does the case of the first letter of a sentence. A
    sentence may stand inside a longer one, but nothing may stand between its words.
    """
    stream = [_Place(number, token) for number, s in enumerate(variant) for token in s.tokens]
    spans: list[tuple[int, int]] = []
    missing: list[list[Sentence]] = [[]]
    moved: list[Sentence] = []
    for sentence in original:
        cursor = spans[-1][1] if spans else 0
        starts = [n for n in range(len(stream)) if _stands_at(n, sentence, stream, variant)]
        later = [start for start in starts if start >= cursor]
        if later:
            size = len(sentence.tokens)
            start = min(later, key=lambda n: (_rest(n, n + size, cursor, stream), n))
            spans.append((start, start + size))
            missing.append([])
        elif starts:
            moved.append(sentence)
        else:
            missing[-1].append(sentence)
    ends = [0, *(end for _, end in spans)]
    begins = [*(begin for begin, _ in spans), len(stream)]
    gaps = [
        ChangedPart(
            missing=tuple(lost),
            fragments=tuple(_fragments(end, begin, stream, variant)),
        )
        for lost, end, begin in zip(missing, ends, begins, strict=True)
    ]
    return Alignment(moved=tuple(moved), gaps=tuple(gaps))


def _stands_at(
    start: int, sentence: Sentence, stream: Sequence[_Place], variant: Sequence[Sentence]
) -> bool:
    """Return whether `sentence` stands at `start`, without a full stop between its words."""
    places = stream[start : start + len(sentence.tokens)]
    if len(places) < len(sentence.tokens) or not _same_word(sentence.tokens[0], places[0].token):
        return False
    if any(a != b.token for a, b in zip(sentence.tokens[1:], places[1:], strict=True)):
        return False
    return not any(variant[n].ended for n in range(places[0].number, places[-1].number))


def _same_word(first: Token, other: Token) -> bool:
    """Return whether two tokens are equal apart from the case of a word's first letter."""
    if first.kind != "word" or other.kind != "word":
        return first == other
    return first.text[1:] == other.text[1:] and first.text[0].casefold() == other.text[0].casefold()


def _rest(start: int, end: int, cursor: int, stream: Sequence[_Place]) -> int:
    """Return the number of other words in the sentences of a match, to prefer whole sentences."""
    first, last = stream[start].number, stream[end - 1].number
    before = sum(place.number == first for place in stream[cursor:start])
    return before + sum(place.number == last for place in stream[end:])


def _fragments(
    start: int, end: int, stream: Sequence[_Place], variant: Sequence[Sentence]
) -> Iterator[Fragment]:
    """Yield the words from `start` to `end`, which no sentence of the original has."""
    for number, places in groupby(stream[start:end], key=lambda place: place.number):
        sentence = variant[number]
        tokens = tuple(place.token for place in places)
        is_first = start > 0 and stream[start - 1].number == number
        is_last = end < len(stream) and stream[end].number == number
        yield Fragment(
            sentence=sentence,
            tokens=tokens,
            before=is_first,
            after=is_last,
        )
