"""Compare a reworded sentence with its original: what no model may clear.

A changed number, name, unit or word of the list ``exact`` (negation, comparison, order, case and so
on) makes another requirement. So do shared words in another order. Any other difference is left to
a model, which compares the two sentences.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._vocabulary import expand_contractions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.variants.invariance._reading import Token
    from pytest_promptse.variants.invariance._vocabulary import Vocabulary

__all__ = ["meaning_findings", "shared"]

_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "mis")


def shared(was: Sequence[Token], now: Sequence[Token], vocabulary: Vocabulary | None) -> int:
    """Return the number of content words and spans of code that two sentences share."""
    return (Counter(_content(was, vocabulary)) & Counter(_content(now, vocabulary))).total()


def meaning_findings(
    was: Sequence[Token], now: Sequence[Token], vocabulary: Vocabulary | None
) -> Iterator[Finding]:
    """Yield the differences between two sentences that change a requirement.

    Parameters
    ----------
    was, now
        The sentence of the original, and that of the variant.
    vocabulary
        The lists of the language, or None. Without them, only numbers, names, code and order are
        compared.
    """
    spans, others = list(_exact(was, vocabulary)), list(_exact(now, vocabulary))
    for span in _without(spans, others):
        yield Finding(span.rule, f"{span.text!r} was lost")
    for span in _without(others, spans):
        yield Finding(span.rule, f"{span.text!r} was added")
    mine, theirs = _content(was, vocabulary), _content(now, vocabulary)
    lost, added = Counter(mine) - Counter(theirs), Counter(theirs) - Counter(mine)
    for word in (*lost, *added):
        counterparts = added if word in lost else lost
        if any(f"{prefix}{word}" in counterparts for prefix in _PREFIXES):
            yield Finding("negation", f"{word!r} was negated, or its negation lost")
    n_mine, n_theirs = Counter(mine), Counter(theirs)
    common = {word for word in n_mine if n_mine[word] == n_theirs[word]}
    if [w for w in mine if w in common] != [w for w in theirs if w in common]:
        yield Finding("order", "words stand in another order")


@dataclass(frozen=True, slots=True)
class _Span:
    """A part of a sentence that both texts must have. Equal values mean the same."""

    rule: str
    value: str
    text: str


def _exact(tokens: Sequence[Token], vocabulary: Vocabulary | None) -> Iterator[_Span]:
    for number, token in enumerate(tokens):
        if token.value:
            yield _Span("number", token.value, token.text)
        elif token.kind in ("literal", "code", "symbol"):
            yield _Span(token.kind, token.text, token.text)
        elif number and token.kind == "word" and token.text[0].isupper():
            yield _Span("name", token.text, token.text)
    for before, after in pairwise(tokens):
        if before.value and after.kind == "word":
            stems = " ".join(_stems([after], vocabulary))
            yield _Span("unit", f"{before.value} {stems}", f"{before.text} {after.text}")
    if vocabulary is not None:
        yield from _ruled(tokens, vocabulary)


def _without(spans: Sequence[_Span], others: Sequence[_Span]) -> Iterator[_Span]:
    """Yield those of `spans` that have no equal in `others`."""
    left = Counter((other.rule, other.value) for other in others)
    for span in spans:
        if left[span.rule, span.value]:
            left[span.rule, span.value] -= 1
        else:
            yield span


def _ruled(tokens: Sequence[Token], vocabulary: Vocabulary) -> Iterator[_Span]:
    """Yield each word or phrase of the list ``exact``, the longest that begin at a word."""
    tokens = [token for token in tokens if token.kind in ("word", "symbol")]
    words = [word for token in tokens for word in expand_contractions(token.text).split()]
    stems = [vocabulary.stem(word.lower()) for word in words]
    start = 0
    while start < len(stems):
        for length in range(min(vocabulary.longest, len(stems) - start), 0, -1):
            entry = vocabulary.rules.get(tuple(stems[start : start + length]))
            if entry is not None:
                rule, line = entry
                yield _Span(rule, str(line), " ".join(words[start : start + length]))
                start += length
                break
        else:
            start += 1


def _content(tokens: Sequence[Token], vocabulary: Vocabulary | None) -> list[str]:
    """Return the stems of all words and spans but function words, in order."""
    stems = _stems(tokens, vocabulary)
    if vocabulary is None:
        return stems
    rules, function = vocabulary.rules, vocabulary.function_stems
    return [stem for stem in stems if stem not in function or (stem,) in rules]


def _stems(tokens: Sequence[Token], vocabulary: Vocabulary | None) -> list[str]:
    stem = vocabulary.stem if vocabulary else str
    stems: list[str] = []
    for token in tokens:
        if token.kind == "word":
            stems.extend(map(stem, expand_contractions(token.text.lower()).split()))
        elif token.kind not in ("pause", "mark"):
            stems.append(token.text)
    return stems
