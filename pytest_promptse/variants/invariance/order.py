"""What stands with what: arguments, outcomes and objects that changed places."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.variants.invariance.reading import Token

__all__ = ["order_findings"]

_CONNECTIVES = frozenset(", and or then to from by over with of into in per than via for".split())  # noqa: SIM905 - a list of words
_LEADS = frozenset("for in with at on within from of as to by given".split())  # noqa: SIM905 - a list of words
_LEAST = 2
_ROLES = frozenset({"from", "into", "by", "over"})
_STEPS = frozenset({"to", "by", "from"})
_BOUND = frozenset({"negation", "restriction", "superlative", "order", "comparison"})


def order_findings(
    original: Sequence[Token], variant: Sequence[Token], pairs: Mapping[Token, Token]
) -> Iterator[Finding]:
    """Yield words that changed places within a sentence.

    Parameters
    ----------
    original, variant
        The tokens that are compared.
    pairs
        The partner in `variant` of each token of `original` that has one.
    """
    was, now = _Neighbours(original), _Neighbours(variant)
    seen: set[frozenset[Token]] = set()
    for rule in (_inverted, _exchanged, _turned, _swapped, _passed_on, _stepped):
        for a, b in rule(was, now, pairs):
            if frozenset((a, b)) not in seen:
                seen.add(frozenset((a, b)))
                yield Finding("order", f"{a.text!r} and {b.text!r} changed places or relation")


class _Neighbours:
    """The content of a text with what stands to the left and right of each token."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.content = [token for token in tokens if not token.optional and not token.request]
        self.place = {token: place for place, token in enumerate(self.content)}
        self.right: dict[Token, Token] = {}
        self.left: dict[Token, Token] = {}
        self.sentences: dict[int, list[Token]] = {}
        for token in self.content:
            self.sentences.setdefault(token.sentence, []).append(token)
        self.next: dict[Token, Token] = {}
        for a, b in zip(self.content, self.content[1:], strict=False):
            if a.sentence == b.sentence:
                self.next[a] = b
            if a.clause == b.clause:
                self.right[a] = b
                self.left[b] = a




def _inverted(was: _Neighbours, now: _Neighbours, pairs: Mapping[Token, Token]) -> Iterator[tuple[Token, Token]]:
    """Literals, numbers and names of one sentence in another order."""
    anchors = [t for t in was.content if t.kind != "word" and t in pairs and pairs[t] in now.place]
    for a, b in combinations(anchors, 2):
        if a.sentence != b.sentence or a.kind != b.kind or a.keys & b.keys:
            continue
        x, y = pairs[a], pairs[b]
        if x.sentence != y.sentence or now.place[x] < now.place[y]:
            continue
        one_clause = a.clause == b.clause and x.clause == y.clause
        outcomes = a.kind in ("literal", "number") or a.text in ("True", "False", "None")
        if one_clause or (outcomes and a.condition == b.condition and x.condition == y.condition):
            yield a, b


def _exchanged(was: _Neighbours, now: _Neighbours, pairs: Mapping[Token, Token]) -> Iterator[tuple[Token, Token]]:
    """Two words that exchanged their neighbours to the right, or to the left."""
    for near, far in ((was.right, now.right), (was.left, now.left)):
        moved = {}
        for a, x in near.items():
            if a in pairs and x in pairs:
                other = far.get(pairs[a])
                if other is not None and other is not pairs[x]:
                    moved[a] = x, other
        for (a, (x, new_x)), (b, (y, new_y)) in combinations(moved.items(), 2):
            if new_x is pairs[y] and new_y is pairs[x] and not x.keys & y.keys:
                yield x, y


def _turned(was: _Neighbours, now: _Neighbours, pairs: Mapping[Token, Token]) -> Iterator[tuple[Token, Token]]:
    """Two words on the other side of the same connective, as in "a from b" and "b from a"."""
    for a, b in was.next.items():
        if a not in pairs or b not in pairs or a.keys & b.keys:
            continue
        if now.next.get(pairs[b]) is pairs[a]:
            link = [word for word in b.function if word in _CONNECTIVES]
            if link and link == [w for w in pairs[a].function if w in _CONNECTIVES]:
                yield a, b
        c = was.right.get(b)
        if b.rule and c is not None and c in pairs and not a.keys & c.keys:
            middle = now.right.get(pairs[c])
            if middle is pairs[b] and now.right.get(middle) is pairs[a]:
                yield a, c


def _swapped(
    was: _Neighbours, now: _Neighbours, pairs: Mapping[Token, Token]
) -> Iterator[tuple[Token, Token]]:
    """Two parts of a sentence that changed places, as steps do; conditions may do so."""
    for mine in was.sentences.values():
        theirs = now.sentences.get(pairs[mine[0]].sentence, []) if mine[0] in pairs else []
        if len(theirs) != len(mine) or {pairs.get(token) for token in mine} != set(theirs):
            continue
        order = [now.place[pairs[token]] for token in mine]
        wrong = [place for place, (a, b) in enumerate(zip(order, sorted(order), strict=True)) if a != b]
        if not wrong:
            continue
        part, order = mine[wrong[0] : wrong[-1] + 1], order[wrong[0] : wrong[-1] + 1]
        for cut in range(_LEAST, len(part) - _LEAST + 1):
            if sorted(order) == order[cut:] + order[:cut]:
                heads = (part[0], part[cut], pairs[part[0]], pairs[part[cut]])
                if not any(map(_movable, heads)):
                    yield part[0], part[cut]


def _movable(token: Token) -> bool:
    if token.condition or any(word in _LEADS for word in token.function):
        return True
    return token.rule in ("order", "restriction", "comparison", "quantifier")


def _passed_on(was: _Neighbours, now: _Neighbours, pairs: Mapping[Token, Token]) -> Iterator[tuple[Token, Token]]:
    """A preposition, a "not", "only" or "first" that stands with another word of the sentence."""
    backwards = {b: a for a, b in pairs.items()}
    for sentence in {token.sentence for token in was.content}:
        mine = [token for token in was.content if token.sentence == sentence]
        for role in _ROLES:
            objects = [token for token in mine if role in token.function[-1:]]
            if len(objects) != 1 or objects[0] not in pairs:
                continue
            partner = pairs[objects[0]]
            others = [
                token
                for token in now.content
                if token.sentence == partner.sentence and role in token.function[-1:]
            ]
            if len(others) != 1 or others[0] is partner or others[0] not in backwards:
                continue
            if backwards[others[0]].sentence == sentence:
                yield objects[0], backwards[others[0]]
        for token in mine:
            bound = token.kind == "number" or (
                token.rule in _BOUND and token.text.lower() not in ("or", "either")
            )
            if bound and token in pairs and pairs[token] in now.place:
                if other := _bound_elsewhere(token, was, now, pairs, backwards):
                    yield token, other


def _bound_elsewhere(
    token: Token, was: _Neighbours, now: _Neighbours, pairs: Mapping[Token, Token], backwards: Mapping[Token, Token]
) -> Token | None:
    right, new_right = was.right.get(token), now.right.get(pairs[token])
    left, new_left = was.left.get(token), now.left.get(pairs[token])
    if right is None or new_right is None or right not in pairs or new_right not in backwards:
        return None
    if pairs[right] is new_right or right.groups & new_right.groups:
        return None
    beside = (pairs.get(left) if left is not None else None, pairs[right])
    if new_left is not None and new_left in beside:
        return None
    if new_right is beside[0]:
        return None
    same = pairs[right].sentence == pairs[token].sentence
    return right if same and backwards[new_right].sentence == token.sentence else None


def _stepped(was: _Neighbours, now: _Neighbours, pairs: Mapping[Token, Token]) -> Iterator[tuple[Token, Token]]:
    """A number behind another preposition, as in "by 5" and "to 5"."""
    for token, partner in pairs.items():
        if token.kind == "number":
            old = [word for word in token.function if word in _STEPS][-1:]
            new = [word for word in partner.function if word in _STEPS][-1:]
            if old and new and old != new and {*old, *new} != {"to"}:
                yield token, partner
