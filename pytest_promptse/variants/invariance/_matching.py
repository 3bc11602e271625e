"""Pair the tokens of two texts."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pytest_promptse.variants.invariance._reading import Token

    _Test = Callable[[Token, Token], bool]

__all__ = ["alike", "counts", "match", "same"]


_SAME_FORM = 2**-10
"""A binary fraction, so that sums are exact. A thousand of them are less than a pair."""


_LENGTH = 2**-10
"""Of sentences that share as much, the shorter one is the partner."""


def counts(token: Token) -> bool:
    """Return whether a token has content, so that it needs a counterpart."""
    return not token.optional and not token.request


def same(a: Token, b: Token) -> bool:
    """Return whether two tokens are the same word, name, number or literal."""
    return bool(a.keys & b.keys)


def alike(a: Token, b: Token) -> bool:
    """Return whether two tokens are the same or equivalent."""
    return bool(a.keys & b.keys or a.groups & b.groups)


def match(original: Sequence[list[Token]], variant: Sequence[list[Token]]) -> dict[Token, Token]:
    """Return the counterpart in `variant` of each token of `original` that has one.

    Tokens of the most similar sentences are paired first, the same words before equivalents. A
    token without content is only paired with one that has content if there is no other.

    Parameters
    ----------
    original, variant
        The tokens of each sentence.
    """
    heads = {next(filter(counts, tokens), None) for tokens in (*original, *variant)}
    matcher = _Matcher({token for token in heads if token is not None})
    partners = [(tokens, _partner(tokens, variant)) for tokens in original]
    for pair in (matcher.pair_in_order, matcher.pair):
        for test in (same, alike):
            for mine, theirs in partners:
                pair(mine, theirs, test)
    everything = [token for tokens in original for token in tokens]
    others = [token for tokens in variant for token in tokens]
    for test in (same, alike):
        matcher.pair(everything, others, test)
    matcher.exchange(everything, others)
    for test in (same, alike):
        matcher.pair(everything, others, test, optional=True)
    matcher.uncross()
    return matcher.pairs


class _Matcher:
    """Collects pairs. Every token is in at most one pair.

    A request such as "write" is a partner of no word with content but the `heads` of sentences.
    """

    def __init__(self, heads: Collection[Token]) -> None:
        self._heads = heads
        self.pairs: dict[Token, Token] = {}
        self._taken: set[Token] = set()

    def pair_in_order(self, mine: Sequence[Token], theirs: Sequence[Token], test: _Test) -> None:
        """Pair a longest common subsequence of the tokens with content.

        `mine` and `theirs` are tokens of original and variant; paired ones are skipped. `test`
        returns whether two tokens may be paired.
        """
        for a, b in _common(self._free(mine), self._free(theirs), test):
            self._add(a, b)

    def pair(
        self, mine: Sequence[Token], theirs: Sequence[Token], test: _Test, *, optional: bool = False
    ) -> None:
        """Pair each token with the first free one that fits, at any position.

        With `optional`, one of the two may be without content.
        """
        for a in self._free(mine, optional=optional):
            for b in self._free(theirs, optional=optional):
                if (counts(a) or counts(b)) and test(a, b) and self._fits(a, b):
                    self._add(a, b)
                    break

    def _fits(self, a: Token, b: Token) -> bool:
        """Return whether two tokens may be paired if one of them is without content.

        A request is no partner of a word within a sentence, and neither is the noun of the request,
        such as "code", of a verb.
        """
        other = b if a.request else a
        if a.request != b.request and counts(other) and other not in self._heads:
            return False
        return counts(a) == counts(b) or same(a, b) or a.core == b.core

    def exchange(self, mine: Sequence[Token], theirs: Sequence[Token]) -> None:
        """Give new partners to paired tokens where that leaves fewer tokens without a partner.

        These are augmenting paths of a bipartite graph, of equivalent tokens.
        """
        theirs = [token for token in theirs if counts(token)]
        back = {b: a for a, b in self.pairs.items()}

        def found(token: Token, seen: set[Token]) -> bool:
            for other in theirs:
                if other not in seen and alike(token, other):
                    seen.add(other)
                    if other not in back or found(back[other], seen):
                        self.pairs[token] = other
                        back[other] = token
                        self._taken.add(other)
                        return True
            return False

        if any(token not in back for token in theirs):
            for token in self._free(mine):
                found(token, set())

    def uncross(self) -> None:
        """Exchange the partners of two words that are equivalents where both have an equal one."""
        words = [(a, b) for a, b in self.pairs.items() if " " not in a.text + b.text]
        equivalent = [a for a, b in words if not same(a, b)]
        for a, b in combinations(equivalent, 2):
            x, y = self.pairs[a], self.pairs[b]
            if same(a, y) and same(b, x):
                self.pairs[a], self.pairs[b] = y, x

    def _free(self, tokens: Sequence[Token], *, optional: bool = False) -> list[Token]:
        return [
            token
            for token in tokens
            if token not in self.pairs and token not in self._taken and (optional or counts(token))
        ]

    def _add(self, a: Token, b: Token) -> None:
        self.pairs[a] = b
        self._taken.add(b)


def _partner(tokens: Sequence[Token], variant: Sequence[list[Token]]) -> list[Token]:
    """Return the sentence of `variant` that shares most with `tokens`, or an empty list.

    `tokens` are a sentence of the original. An equivalent token counts half as much as an equal
    one.
    """
    mine = [token for token in tokens if counts(token)]

    def shared(other: Sequence[Token]) -> float:
        content = [token for token in other if counts(token)]
        keys = frozenset(key for token in content for key in token.keys)
        groups = frozenset(group for token in content for group in token.groups)
        found = (1.0 if t.keys & keys else 0.5 if t.groups & groups else 0.0 for t in mine)
        return sum(found) - len(content) * _LENGTH if content else 0.0

    best = max(variant, key=shared, default=[])
    return best if shared(best) > 0 else []


def _worth(a: Token, b: Token) -> float:
    """Return how good a pair is. Pairs of the same form are preferred among equally many pairs."""
    return 1.0 + (_SAME_FORM if a.text.lower() == b.text.lower() else 0.0)


def _common(
    mine: Sequence[Token], theirs: Sequence[Token], test: _Test
) -> list[tuple[Token, Token]]:
    """Return a longest common subsequence as pairs.

    `test` returns whether two tokens are equal. Each pair has a token of `mine` and one of
    `theirs`.
    """
    rows, columns = len(mine), len(theirs)
    table = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            table[i][j] = max(table[i + 1][j], table[i][j + 1])
            if test(mine[i], theirs[j]):
                table[i][j] = max(table[i][j], table[i + 1][j + 1] + _worth(mine[i], theirs[j]))
    result = []
    i = j = 0
    while i < rows and j < columns:
        paired = table[i + 1][j + 1] + _worth(mine[i], theirs[j])
        if test(mine[i], theirs[j]) and table[i][j] == paired:
            result.append((mine[i], theirs[j]))
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return result
