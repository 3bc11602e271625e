"""Pair the tokens of two texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.variants.invariance._reading import Token

    _Test = Callable[[Token, Token], bool]

__all__ = ["alike", "counts", "match", "same"]


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
    matcher = _Matcher()
    partners = [(tokens, _partner(tokens, variant)) for tokens in original]
    for pair in (matcher.pair_in_order, matcher.pair):
        for test in (same, alike):
            for mine, theirs in partners:
                pair(mine, theirs, test)
    everything = [token for tokens in original for token in tokens]
    others = [token for tokens in variant for token in tokens]
    for test in (same, alike):
        matcher.pair(everything, others, test)
    for test in (same, alike):
        matcher.pair(everything, others, test, optional=True)
    return matcher.pairs


class _Matcher:
    """Collects pairs. Every token is in at most one pair."""

    def __init__(self) -> None:
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
                if (counts(a) or counts(b)) and test(a, b):
                    self._add(a, b)
                    break

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
    keys = frozenset(key for token in tokens if counts(token) for key in token.keys)
    groups = frozenset(group for token in tokens if counts(token) for group in token.groups)

    def shared(other: Sequence[Token]) -> float:
        content = [token for token in other if counts(token)]
        return sum(
            1.0 if token.keys & keys else 0.5 if token.groups & groups else 0.0 for token in content
        )

    best = max(variant, key=shared, default=[])
    return best if shared(best) > 0 else []


def _common(
    mine: Sequence[Token], theirs: Sequence[Token], test: _Test
) -> list[tuple[Token, Token]]:
    """Return a longest common subsequence as pairs.

    `test` returns whether two tokens are equal. Each pair has a token of `mine` and one of
    `theirs`.
    """
    rows, columns = len(mine), len(theirs)
    table = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            if test(mine[i], theirs[j]):
                table[i][j] = table[i + 1][j + 1] + 1
            else:
                table[i][j] = max(table[i + 1][j], table[i][j + 1])
    result = []
    i = j = 0
    while i < rows and j < columns:
        if test(mine[i], theirs[j]):
            result.append((mine[i], theirs[j]))
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return result
