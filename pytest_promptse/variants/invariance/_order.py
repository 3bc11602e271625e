"""Find changes in the order of arguments, outcomes and objects."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._matching import counts, same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.variants.invariance._reading import Token

    _Pair = tuple[Token, Token]

__all__ = ["order_findings"]

_CONNECTIVES = frozenset(
    [
        ",",
        "and",
        "or",
        "then",
        "to",
        "from",
        "by",
        "over",
        "with",
        "of",
        "into",
        "in",
        "per",
        "than",
        "via",
        "for",
    ]
)
_LEADS = frozenset(["for", "in", "with", "at", "on", "within", "from", "of", "as", "to", "by"])
"""A part of a sentence that starts with one of these may move within the sentence."""
_MOVABLE = frozenset({"order", "restriction", "comparison", "quantifier"})
_ROLES = frozenset({"from", "into", "by", "over"})
_STEPS = frozenset({"to", "by", "from"})
_BOUND = frozenset({"negation", "restriction", "superlative", "order", "comparison"})
_MODAL = frozenset({"obligation", "permission"})
_TURNING = frozenset({"negation", "restriction", "superlative"})
_ORDINALS = frozenset(["first", "last", "before", "after", "previous", "next", "until", "end"])
_PASSIVE = frozenset({"is", "are", "was", "were", "be", "been", "being"})
_PARTICIPLE = ("d", "n", "t", "ne", "me")
"""Endings of participles, such as "sorted", "given", "kept" and "done"."""
_BETWEEN = frozenset({"followed by", "before", "after"})
_DETERMINERS = frozenset({"the", "a", "an", "its", "their", "this", "that", "whose", "your"})
_DENIED = frozenset({"no", "none", "nobody", "without", "neither"})
_FREE = frozenset({"or", "either"})
_LEAST = 2
"""Parts with fewer tokens change places when a sentence is put into the passive voice."""
_MOST = 0.6
"""Share of the paired tokens of a sentence that are in the same other sentence."""


def order_findings(
    original: Sequence[Token],
    variant: Sequence[Token],
    pairs: Mapping[Token, Token],
    frames: frozenset[int],
) -> Iterator[Finding]:
    """Yield words that changed places, or that have other neighbours than before.

    Parameters
    ----------
    original, variant
        The compared tokens.
    pairs
        The counterpart in `variant` of each token of `original` that has one.
    frames
        The groups of "return" and "the result is", which may stand for each other at other places.
    """
    order = _Order(_Neighbours(original), _Neighbours(variant), pairs)
    seen: set[frozenset[Token]] = set()
    for rule in (
        order.inverted,
        order.exchanged,
        order.turned,
        order.around,
        order.compared,
        order.measured,
        order.conditioned,
        order.swapped,
        order.crossed,
        order.other_roles,
        order.bound_elsewhere,
        order.stepped,
    ):
        for a, b in rule():
            if rule != order.inverted and order.is_repeated(a) and order.is_repeated(b):
                continue
            if any(t.groups & frames and not same(t, pairs[t]) for t in (a, b) if t in pairs):
                continue
            if frozenset((a, b)) not in seen:
                seen.add(frozenset((a, b)))
                yield Finding("order", f"{a.text!r} and {b.text!r} changed places or relation")


class _Neighbours:
    """Neighbours of each content token of a text.

    Attributes
    ----------
    place
        The position of each token.
    next
        The next token of the same sentence.
    right, left
        The next and the previous token of the same clause.
    sentences
        The tokens of each sentence.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.content = [token for token in tokens if counts(token)]
        self.place = {token: place for place, token in enumerate(self.content)}
        self.next: dict[Token, Token] = {}
        self.right: dict[Token, Token] = {}
        self.left: dict[Token, Token] = {}
        self.sentences: dict[int, list[Token]] = {}
        for token in self.content:
            self.sentences.setdefault(token.sentence, []).append(token)
        for a, b in pairwise(self.content):
            if a.sentence == b.sentence:
                self.next[a] = b
            if a.clause == b.clause:
                self.right[a] = b
                self.left[b] = a

    def beside(self, token: Token, step: int) -> Token | None:
        """Return the next (`step` 1) or previous (-1) token of the clause that is no modal verb."""
        near = self.right if step > 0 else self.left
        other = near.get(token)
        while other is not None and other.rule in _MODAL:
            other = near.get(other)
        return other


class _Order:
    """The rules about order. Each yields pairs of tokens of the original."""

    def __init__(self, was: _Neighbours, now: _Neighbours, pairs: Mapping[Token, Token]) -> None:
        self._was = was
        self._now = now
        self._pairs = {a: b for a, b in pairs.items() if a in was.place and b in now.place}
        self._back = {b: a for a, b in self._pairs.items()}
        self._uses = Counter(key for token in was.content for key in token.keys)

    def is_repeated(self, token: Token) -> bool:
        """Return whether the original repeats a token, so that its counterpart is ambiguous."""
        return max(self._uses[key] for key in token.keys) > 1

    def inverted(self) -> Iterator[_Pair]:
        """Yield literals, numbers and names of one sentence in another order."""
        anchors = [token for token in self._was.content if token.kind != "word"]
        for a, b in combinations([token for token in anchors if token in self._pairs], 2):
            if a.sentence != b.sentence or a.kind != b.kind or a.keys & b.keys:
                continue
            x, y = self._pairs[a], self._pairs[b]
            if x.sentence != y.sentence or self._now.place[x] < self._now.place[y]:
                continue
            one_clause = a.clause == b.clause and x.clause == y.clause
            outcome = a.kind in ("literal", "number") or a.text in ("True", "False", "None")
            alike = a.condition == b.condition and x.condition == y.condition
            moved = self._moved_along(a) or self._moved_along(b)
            if self._attribute_behind_in(a, b) or self._have_own_nouns(a, b):
                continue
            if one_clause or (outcome and alike and not moved):
                yield a, b

    def _have_own_nouns(self, a: Token, b: Token) -> bool:
        """Return whether two numbers still count the different things that they counted before."""
        nouns = [self._was.right.get(token) for token in (a, b)]
        one, other = nouns
        if a.kind != "number" or one is None or other is None or one.keys & other.keys:
            return False
        counted = [self._now.right.get(self._pairs[token]) for token in (a, b)]
        return all(
            noun in self._pairs and now is not None and noun.keys & now.keys
            for noun, now in zip(nouns, counted, strict=True)
        )

    def _attribute_behind_in(self, a: Token, b: Token) -> bool:
        """Return whether one of two words moved behind "in" or away from it, as in "f in Go".

        If both moved, they were exchanged.
        """
        moved = [
            ("in" in token.function[-1:]) != ("in" in self._pairs[token].function[-1:])
            for token in (a, b)
        ]
        fixed = [
            token.function[-1:] == self._pairs[token].function[-1:] and "in" in token.function[-1:]
            for token in (a, b)
        ]
        return a.kind == "code" and (moved.count(True) == 1 or fixed.count(True) == 1)

    def _moved_along(self, token: Token) -> bool:
        """Return whether the whole clause of a token stays together in the variant."""
        mates = [
            other
            for other in self._was.sentences[token.sentence]
            if other.clause == token.clause and other is not token
        ]
        clause = self._pairs[token].clause
        return bool(mates) and all(
            other in self._pairs and self._pairs[other].clause == clause for other in mates
        )

    def exchanged(self) -> Iterator[_Pair]:
        """Yield words that exchanged their left or their right neighbours."""
        both = ((self._was.right, self._now.right), (self._was.left, self._now.left))
        for near, far in both:
            moved = []
            for a, x in near.items():
                other = far.get(self._pairs[a]) if a in self._pairs else None
                turned = other is not None and self._is_predicate(a, other)
                if other is not None and x in self._pairs and other is not self._pairs[x]:
                    if turned:
                        continue
                    moved.append((x, other))
            for (x, new_x), (y, new_y) in combinations(moved, 2):
                if new_x is self._pairs[y] and new_y is self._pairs[x] and not x.keys & y.keys:
                    yield x, y

    def _is_predicate(self, token: Token, other: Token) -> bool:
        """Return whether two neighbours became a clause, as "a full buffer" and "if it is full".

        `token` is of the original. `other` is the new neighbour of its partner.
        """
        mate, partner = self._back.get(other), self._pairs[token]
        if mate is None:
            return False
        turned = self._was.right.get(mate) is token or self._was.right.get(token) is mate
        later = max((other, partner), key=self._now.place.__getitem__)
        first = token if self._was.place[token] < self._was.place[mate] else mate
        return turned and self._pairs[first] is later and not _PASSIVE.isdisjoint(later.function)

    def turned(self) -> Iterator[_Pair]:
        """Yield words that changed sides of a connective, as in "a from b" and "b from a"."""
        for a, b in self._was.next.items():
            if a not in self._pairs or b not in self._pairs or a.keys & b.keys:
                continue
            if self._now.next.get(self._pairs[b]) is self._pairs[a]:
                link = [word for word in b.function if word in _CONNECTIVES]
                linked = link and link == [w for w in self._pairs[a].function if w in _CONNECTIVES]
                nouns = b.function in (("the",), ("a",), ("an",)) and not (a.rule or b.rule)
                fronts = (a.function[-1:], self._pairs[b].function[-1:])
                if link == ["and"] and fronts == (("in",), ("in",)):
                    continue
                both = b.function == self._pairs[a].function == ()
                words = (a, b, self._pairs[a], self._pairs[b])
                compound = both and not any(_is_verb(t) or t.rule for t in words)
                if linked or compound or (nouns and b.function == self._pairs[a].function):
                    yield a, b
            c = self._was.right.get(b)
            if c in self._pairs and not a.keys & c.keys:
                middle = self._now.right.get(self._pairs[c])
                if middle is self._pairs[b] and self._now.right.get(middle) is self._pairs[a]:
                    alike = middle.function == b.function
                    ruled = b.rule and not self._changed_voice(b)
                    if ruled or (alike and self._pairs[a].function == c.function):
                        yield a, c

    def around(self) -> Iterator[_Pair]:
        """Yield words that changed sides of "followed by", "before" or "after"."""
        for word, partner in self._pairs.items():
            left, right = self._was.left.get(word), self._was.right.get(word)
            if word.text.lower() not in _BETWEEN or left not in self._pairs:
                continue
            if right in self._pairs and not left.keys & right.keys:
                x, y = self._pairs[left], self._pairs[right]
                place = self._now.place
                together = x.clause == y.clause == partner.clause
                if together and place[y] < place[partner] < place[x]:
                    yield left, right

    def compared(self) -> Iterator[_Pair]:
        """Yield the two sides of a comparison that were exchanged, as in "a is better than b"."""
        for tokens in self._was.sentences.values():
            for token in tokens:
                first = next(t for t in tokens if t.clause == token.clause)
                if "than" not in token.function or first is token:
                    continue
                if token in self._pairs and first in self._pairs and not first.keys & token.keys:
                    turned = "than" in self._pairs[first].function
                    if turned and "than" not in self._pairs[token].function:
                        yield first, token

    def measured(self) -> Iterator[_Pair]:
        """Yield a comparison and the second thing of it that became the first one.

        An example is "whose manager earns more than they do" for "who earn more than their
        manager". In the passive voice ("the limit is exceeded") the second thing comes first too.
        """
        place = self._now.place
        for tokens in self._was.sentences.values():
            for token, second in pairwise(tokens):
                if token.rule != "comparison" or "than" not in token.text.lower().split():
                    continue
                word, partner = self._pairs.get(token), self._pairs.get(second)
                if word is None or partner is None or second.kind != "word":
                    continue
                if word.text.lower() == token.text.lower() and word.sentence == partner.sentence:
                    first = self._now.left.get(word)
                    near = first is partner or (first and self._now.left.get(first) is partner)
                    if near and place[partner] < place[word] and second.clause == token.clause:
                        yield token, second

    def conditioned(self) -> Iterator[_Pair]:
        """Yield subjects of a condition and its main clause that were exchanged.

        An example is "a starts once b is ready" for "b starts once a is ready".
        """
        for tokens in self._was.sentences.values():
            paired = [token for token in tokens if token in self._pairs]
            for a, b in product(paired, paired):
                x, y = self._pairs[a], self._pairs[b]
                turned = not a.condition and b.condition and x.condition and not y.condition
                if not turned or a.kind != "word" or b.kind != "word" or x.sentence != y.sentence:
                    continue
                mates = [t for t in paired if t.clause == a.clause and t is not a]
                others = [t for t in paired if t.clause == b.clause and t is not b]
                stay = all(self._pairs[t].clause == y.clause for t in mates)
                if mates and stay and all(self._pairs[t].clause == x.clause for t in others):
                    yield a, b

    def swapped(self) -> Iterator[_Pair]:
        """Yield two parts of a sentence that changed places, as steps may. Conditions may do so."""
        for mine in self._was.sentences.values():
            if mine[0] not in self._pairs:
                continue
            theirs = self._now.sentences[self._pairs[mine[0]].sentence]
            if len(theirs) != len(mine) or {self._pairs.get(t) for t in mine} != set(theirs):
                continue
            order = [self._now.place[self._pairs[token]] for token in mine]
            wrong = [n for n, place in enumerate(sorted(order)) if order[n] != place]
            if not wrong:
                continue
            part, order = mine[wrong[0] : wrong[-1] + 1], order[wrong[0] : wrong[-1] + 1]
            for cut in range(_LEAST, len(part) - _LEAST + 1):
                if any(map(self._changed_voice, part)):
                    continue
                heads = (part[0], part[cut], self._pairs[part[0]], self._pairs[part[cut]])
                turned = sorted(order) == order[cut:] + order[:cut]
                turned = turned and not any(token.rule == "negation" for token in heads)
                if turned and not any(map(_may_move, heads)):
                    yield part[0], part[cut]

    def crossed(self) -> Iterator[_Pair]:
        """Yield words of two sentences that are each in the other sentence now."""
        homes: dict[int, int] = {}
        for number, tokens in self._was.sentences.items():
            where = Counter(self._pairs[t].sentence for t in tokens if t in self._pairs)
            if where and where.most_common(1)[0][1] > _MOST * where.total():
                homes[number] = where.most_common(1)[0][0]
        strays = [
            token
            for token, partner in self._pairs.items()
            if token.sentence in homes and partner.sentence != homes[token.sentence]
        ]
        for a, b in combinations(strays, 2):
            if a.sentence != b.sentence and not a.keys & b.keys:
                crossed = self._pairs[a].sentence == homes[b.sentence]
                if crossed and self._pairs[b].sentence == homes[a.sentence]:
                    yield a, b

    def other_roles(self) -> Iterator[_Pair]:
        """Yield words that now follow "from", "into", "by" or "over" instead of another word."""
        for tokens in self._was.sentences.values():
            for role in _ROLES:
                objects = [token for token in tokens if role in token.function[-1:]]
                if len(objects) != 1 or objects[0] not in self._pairs:
                    continue
                partner = self._pairs[objects[0]]
                around = self._now.sentences[partner.sentence]
                others = [token for token in around if role in token.function[-1:]]
                if len(others) == 1 and others[0] is not partner and others[0] in self._back:
                    other = self._back[others[0]]
                    if other.sentence == objects[0].sentence:
                        yield objects[0], other

    def bound_elsewhere(self) -> Iterator[_Pair]:
        """Yield a "not", "only", "first" or number that now belongs to another word."""
        for token, partner in self._pairs.items():
            bound = token.rule in _BOUND and (
                token.rule != "order" or token.text.lower() in _ORDINALS
            )
            bound = bound and token.text.lower() not in _FREE
            if not bound and token.kind != "number":
                continue
            if token.rule == "restriction" and self._changed_voice(token):
                continue
            right, new_right = self._was.beside(token, 1), self._now.beside(partner, 1)
            if self._is_free_adverb(token, new_right) or self._is_denied_noun(token, new_right):
                continue
            if token.rule == "restriction" and self._turned_voice(right, new_right):
                continue
            left, new_left = self._was.beside(token, -1), self._now.beside(partner, -1)
            if right not in self._pairs or new_right not in self._back:
                continue
            expected = self._pairs[right]
            old = self._pairs.get(left) if left is not None else None
            free = token.rule in _TURNING or token.kind == "number"
            if free and self._is_turned(right, new_right):
                continue
            behind = self._back[new_right]
            if "of" in behind.function[-1:] and self._was.beside(right, 1) is behind:
                continue
            moved = new_right is not expected and not right.groups & new_right.groups
            beside = new_right is old or (new_left is not None and new_left in (old, expected))
            one = expected.sentence == partner.sentence
            if moved and not beside and one and self._back[new_right].sentence == token.sentence:
                yield token, right

    def _is_free_adverb(self, token: Token, new_right: Token | None) -> bool:
        """Return whether a "first" that tells when moved within its clause, before `new_right`."""
        adverbs = _is_adverb(token) and _is_adverb(self._pairs[token])
        return adverbs and new_right in self._back and self._in_clause(token, new_right)

    def _is_denied_noun(self, token: Token, new_right: Token | None) -> bool:
        """Return whether a "not" became a "no" before a noun of its clause, or the reverse.

        An example is "no two jobs may run" for "two jobs must not run". `new_right` is the word
        after it in the variant.
        """
        partner, verb = self._pairs[token], self._was.beside(token, 1)
        nouns = [t.text.lower() in _DENIED for t in (token, partner)]
        return (
            nouns.count(True) == 1
            and new_right in self._back
            and verb in self._pairs
            and self._pairs[verb].clause == partner.clause
            and self._in_clause(token, new_right)
        )

    def _in_clause(self, token: Token, new: Token) -> bool:
        return self._back[new].clause == token.clause

    def _changed_voice(self, token: Token) -> bool:
        """Return whether a verb is passive in one text and active in the other."""
        return _is_passive(token) != _is_passive(self._pairs[token])

    def _turned_voice(self, right: Token | None, new_right: Token | None) -> bool:
        """Return whether one of two tokens, of original and variant, is a verb in another voice."""
        both = (right, self._back.get(new_right) if new_right is not None else None)
        return any(token in self._pairs and self._changed_voice(token) for token in both if token)

    def _is_turned(self, word: Token, noun: Token) -> bool:
        """Return whether a word and the noun after it changed places, and nothing else did.

        A passive does this ("never raise an error", "no error is raised"), and so does a relative
        clause ("active users", "users that are active").
        """
        words = word.kind == noun.kind == "word" and not (word.rule or noun.rule)
        behind = self._was.beside(word, 1)
        if behind is not None and behind.text.lower() == "any":
            behind = self._was.beside(behind, 1)
        here: Token | None = noun
        while words and here is not None and behind is not None and self._back.get(here) is behind:
            here, behind = self._now.beside(here, 1), self._was.beside(behind, 1)
            if here is self._pairs[word]:
                return True
        return False

    def stepped(self) -> Iterator[_Pair]:
        """Yield a number after another preposition, as in "by 5" and "to 5"."""
        for token, partner in self._pairs.items():
            if token.kind == "number":
                old = [word for word in token.function if word in _STEPS][-1:]
                new = [word for word in partner.function if word in _STEPS][-1:]
                if old and new and old != new:
                    yield token, partner


def _is_passive(token: Token) -> bool:
    """Return whether a verb is passive, as in "is sorted"."""
    return not _PASSIVE.isdisjoint(token.function) and token.text.endswith(_PARTICIPLE)


def _is_verb(token: Token) -> bool:
    """Return whether a word can be a participle, which may follow or precede its noun.

    The same holds for phrases.
    """
    alone = token.kind == "word" and " " not in token.text
    return not alone or token.text.endswith((*_PARTICIPLE, "ing"))


def _is_adverb(token: Token) -> bool:
    """Return whether a "first" tells when something is done, as in "first copy the file"."""
    return token.text.lower() == "first" and _DETERMINERS.isdisjoint(token.function)


def _may_move(token: Token) -> bool:
    """Return whether a part of a sentence that starts with `token` may be at another place."""
    leads = any(word in _LEADS for word in token.function)
    return (
        token.condition
        or leads
        or token.text.endswith("ing")
        or token.rule in ("order", "restriction", "comparison", "quantifier")
    )
