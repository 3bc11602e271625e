"""Compare the content of two texts word by word."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._matching import alike, counts, match, same
from pytest_promptse.variants.invariance._order import order_findings
from pytest_promptse.variants.invariance._talk import (
    are_names,
    is_address,
    is_confession,
    is_own_talk,
    is_remark,
    objection,
)
from pytest_promptse.variants.invariance._vocabulary import VocabularyEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pytest_promptse.variants.invariance._reading import Sentence, Token
    from pytest_promptse.variants.invariance._vocabulary import Vocabulary

__all__ = ["content_findings", "line_findings"]

_HALF = 0.5
"""A sentence that shares more of its content with the task than this is part of the task."""
_THIRD = 0.32
"""A clause that shares at most this much can be the writer's own talk."""
_MODALITY = frozenset({"obligation", "permission"})
"""Rules whose words may not be exchanged for one another."""
_SHORTEST = 3
"""Length of the shortest word behind a negative prefix."""
_PARTS = re.compile(r"_|(?<=[a-z])(?=[A-Z])")
_THEN = frozenset({"then"})
_SEQUENCE = frozenset({"after", "until", "when", "once", "if"}) | _THEN
"""Words before the event that comes first, and "then" before the one that comes last."""
_ONE_OF_SEVERAL = frozenset({"one of them", "one of these"})
"""Words that mean "a" in a condition, as in "if one of them is empty"."""
_ONLY = frozenset({"only", "first", "no", "not"})
_CONSTANTS = frozenset({"None", "True", "False"})
_ARROWS = frozenset({"->", "=>", "→"})
_NAMING = frozenset({"called", "named"})
_ENDINGS = ("Error", "Exception")
_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis")
_ANY = frozenset({"any", "anything", "anyone", "anybody", "ever"})
_PARTICLES = frozenset({"out", "off", "up", "down", "back", "away"})
_DUTIES = frozenset({"must", "should", "need", "have", "has"})
_JOINING = frozenset({"and", "or", ",", "by", "with", "per", "but"})
_LISTING = frozenset({"and", "or", ","})
_ARTICLES = frozenset({"the", "a", "an", "its", "their", "your", "that", "this"})
_DETERMINERS = _ARTICLES | {"all", "each", "every", "any", "no", "of"}
_AUXILIARIES = frozenset(
    {"is", "are", "was", "were", "has", "have", "had", "be", "does", "do", "will"}
)


def line_findings(original: Sequence[str], variant: Sequence[str]) -> Iterator[Finding]:
    """Yield the lines of code that were lost, added or moved.

    Both texts are given as lines of code. A moved line is reported as missing and as added.
    """
    matcher = SequenceMatcher(None, original, variant, autojunk=False)
    for kind, start, end, begin, stop in matcher.get_opcodes():
        if kind != "equal":
            for line in original[start:end]:
                yield Finding("verbatim", f"the line {line!r} is missing or out of its place")
            for line in variant[begin:stop]:
                yield Finding("verbatim", f"the line {line!r} was added")


def content_findings(
    original: Sequence[Sentence],
    variant: Sequence[Sentence],
    vocabulary: Vocabulary,
) -> Iterator[Finding]:
    """Yield the differences between the requests in the sentences of `original` and `variant`.

    Sentences that both texts have are removed first. The writer's own talk is removed from the
    variant. The remaining tokens are paired; a token without a counterpart is a finding.

    Parameters
    ----------
    original, variant
        The sentences of both texts.
    vocabulary
        The lists of their language.
    """
    yield from _item_order(original, variant)
    was, now = _different(original, variant)
    yield from _Comparison(original, was, now, vocabulary).findings()


def _different(
    original: Sequence[Sentence], variant: Sequence[Sentence]
) -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences of each text that the other one does not have.

    Sentences are compared without numbers and punctuation, and counted as often as they occur.
    """
    common = Counter(s.bare for s in original) & Counter(s.bare for s in variant)

    def rest(sentences: Sequence[Sentence]) -> list[Sentence]:
        left = Counter(common)
        result = []
        for sentence in sentences:
            if left[sentence.bare]:
                left[sentence.bare] -= 1
            else:
                result.append(sentence)
        return result

    return rest(original), rest(variant)


def _item_order(original: Sequence[Sentence], variant: Sequence[Sentence]) -> Iterator[Finding]:
    """Yield numbered items whose order changed.

    There is at most one finding: the first item that comes before its predecessor. Items that only
    one text has are ignored.
    """
    places = {sentence.bare: place for place, sentence in enumerate(variant)}
    last = -1
    for sentence in original:
        if sentence.number and sentence.bare in places:
            place = places[sentence.bare]
            if place < last:
                yield Finding("order", f"the item {sentence.text!r} stands in another place")
                return
            last = place


class _Comparison:
    """Compares the sentences of an original with those of a variant.

    Parameters
    ----------
    original
        All sentences of the original.
    was, now
        The sentences that only the original has, and those that only the variant has.
    vocabulary
        The lists of their language.
    """

    def __init__(
        self,
        original: Sequence[Sentence],
        was: Sequence[Sentence],
        now: Sequence[Sentence],
        vocabulary: Vocabulary,
    ) -> None:
        self._task = frozenset(
            key for sentence in original for t in sentence.tokens if counts(t) for key in t.keys
        )
        self._was = was
        self._now = now
        self._vocabulary = vocabulary
        self._original = [token for sentence in was for token in sentence.tokens]
        content = [token for token in self._original if counts(token)]
        phrases = [token for token in content if token.kind == "word" and " " in token.text]
        keys = [key for token in content for key in token.keys]
        self._keys = frozenset(keys) | self._stems(phrases)
        self._groups = frozenset(group for token in content for group in token.groups)
        self._returning = vocabulary.groups_of("return")
        self._raising = vocabulary.groups_of("raise")

    def findings(self) -> Iterator[Finding]:
        """Yield every difference."""
        kept: list[list[Token]] = []
        for place, sentence in enumerate(self._now):
            if place and place == len(self._now) - 1 and _is_signature(sentence):
                continue
            problem = self._instruction(sentence)
            if problem:
                detail = f"{sentence.text!r} was added, and {problem}"
                yield Finding("instruction", detail)
            else:
                kept.append(self._task_tokens(sentence))
        pairs = match([list(sentence.tokens) for sentence in self._was], kept)
        tokens = [token for sentence in kept for token in sentence]
        yield from self._unmatched(tokens, pairs)
        yield from order_findings(self._original, tokens, pairs, self._returning)

    # -- the part of the variant that belongs to the task --------------------------------------

    def _share(self, tokens: Sequence[Token]) -> float:
        """Return the share of the content of `tokens` that the original has; 0 without content."""
        content = [token for token in tokens if counts(token)]
        found = sum(1 for t in content if t.keys & self._keys or t.groups & self._groups)
        return found / len(content) if content else 0.0

    def _share_of(self, sentence: Sentence) -> float:
        """Return the share of a sentence's content that the original has, without its remarks."""
        task = [
            token
            for clause in _clauses(sentence.tokens)
            if not self._is_remark(_words(clause), clause)
            for token in clause
        ]
        return self._share(task)

    def _instruction(self, sentence: Sentence) -> str:
        """Return the reason why a sentence outside the task is a request, or ``""``."""
        if self._share_of(sentence) > _THIRD or any(t.request for t in sentence.tokens):
            return ""
        if is_address(sentence.words, sentence.tokens, self._vocabulary):
            return ""
        return self._objection(sentence)

    def _objection(self, sentence: Sentence) -> str:
        tokens = sentence.tokens
        own = not self._vocabulary.first_person.isdisjoint(sentence.words)
        if own and not any(t.request for t in tokens):
            tokens = tuple(t for t in tokens if not self._is_mention(t))
        problem = objection(sentence.words, tokens, self._vocabulary)
        return problem or self._on_task(sentence)

    def _is_mention(self, token: Token) -> bool:
        """Return whether a token only mentions a name of the task, or quotes some words."""
        name = token.kind == "code" and token.text.isalpha() and token.text not in _CONSTANTS
        name = name and bool(token.keys & self._task)
        quoted = token.kind == "literal" and " " in token.text
        return name or (quoted and not token.keys & self._task)

    def _on_task(self, sentence: Sentence) -> str:
        """Return why a sentence is about the task and not about its writer, or ``""``."""
        words = sentence.words
        own = bool(set(words) & self._vocabulary.first_person)
        if own or words[0].endswith(("ing", "ed")):
            return ""
        content = [
            token
            for clause in _clauses(sentence.tokens)
            for token in clause
            if counts(token) and not is_address(_words(clause), clause, self._vocabulary)
        ]
        found = [token for token in content if token.keys & self._task]
        subject = len(content) > 1 and content[0] in found
        if subject or len(found) > _HALF * len(content):
            return f"{found[0].text!r} speaks of the task"
        return ""

    def _task_tokens(self, sentence: Sentence) -> list[Token]:
        """Return the tokens of `sentence` without those of its writer's own talk."""
        vocabulary = self._vocabulary
        if is_address(sentence.words, sentence.tokens, vocabulary):
            return []
        if self._share_of(sentence) <= _HALF and not self._objection(sentence):
            return []
        request = next((t.clause for t in sentence.tokens if t.request), -1)
        tokens: list[Token] = []
        left_out = False
        for clause in _clauses(sentence.tokens):
            words, share = _words(clause), self._share(clause)
            before = clause[0].clause < request or (not tokens and not share)
            before = before and not objection(words, clause, vocabulary)
            mine = is_own_talk(words, clause, vocabulary)
            most = _HALF if is_confession(words) else _THIRD
            own = (before or mine) and share <= most
            own = own or (mine and self._named(clause) <= most)
            own = own or (bool(tokens) and self._is_remark(words, clause))
            own = own or (left_out and self._continues(words, clause))
            left_out = own
            if not own and not is_address(words, clause, vocabulary):
                tokens.extend(clause)
        return tokens

    def _named(self, tokens: Sequence[Token]) -> float:
        """Return the share of plain words of `tokens` that the original has itself.

        Equivalents do not count: "production" says nothing of a task with "create".
        """
        content = [token for token in tokens if counts(token) and not token.rule]
        found = sum(1 for token in content if token.keys & (self._keys | self._task))
        return found / len(content) if content else 0.0

    def _continues(self, words: Sequence[str], clause: Sequence[Token]) -> bool:
        """Return whether a clause belongs to talk before it, as in "we all know where it goes"."""
        bound = clause[0].text.lower() in ("where", "when", "because", "since", "so")
        return (
            bound and not self._named(clause) and not objection(words[1:], clause, self._vocabulary)
        )

    def _is_remark(self, words: Sequence[str], clause: Sequence[Token]) -> bool:
        """Return whether a clause is a remark on the requirement before it and names nothing of it.

        `words` are those of `clause`.
        """
        content = [token for token in clause if counts(token) and not token.rule]
        known = any(token.keys & self._task for token in content)
        known = known or any(token.keys & self._keys for token in content)
        return not known and is_remark(words, clause, self._vocabulary)

    # -- tokens without a counterpart ----------------------------------------------------------

    def _unmatched(self, now: Sequence[Token], pairs: Mapping[Token, Token]) -> Iterator[Finding]:
        partners = set(pairs.values())
        lost = list(self._missing(pairs))
        added = [token for token in now if counts(token) and token not in partners]
        links = _links(pairs)
        lost, added = self._without_joint(lost, added, links)
        lost, added = self._without_prefixed(lost, added, now)
        lost, added = self._without_free(lost, added, now, pairs, links)
        lost, added = self._word_by_word(lost, added)
        exchanged = _exchanged(self._original, now, pairs, lost, added)
        lost, added = self._without_free(lost, added, now, pairs, links)
        back = {b: a for a, b in pairs.items()}
        inserted = _inserted(now, self._original, back)
        exchanged |= inserted
        free = self._alone(added, lost, now, pairs) - inserted
        free |= self._alone(lost, added, self._original, back) - _inserted(
            self._original, now, pairs
        )
        free |= self._repeated_heads(added, lost, now, pairs)
        free |= self._framing_words(added, lost, pairs) - inserted
        free -= _telling(added, now)
        for tokens, others, text, verb in (
            (lost, added, now, "lost"),
            (added, lost, self._original, "added"),
        ):
            left = [token for token in tokens if token not in free]
            for token in self._unexplained(left, others, text, exchanged, links, verb=verb):
                yield Finding(_rule(token, verb), f"{token.text!r} was {verb}")

    def _without_free(
        self,
        lost: Sequence[Token],
        added: Sequence[Token],
        now: Sequence[Token],
        pairs: Mapping[Token, Token],
        links: set[tuple[int, int]],
    ) -> tuple[list[Token], list[Token]]:
        """Return `lost` and `added` without the tokens that add nothing.

        A word stays if its sentence has another word in the other text instead. `links` are the
        pairs of sentences that share words, that of the original first.
        """
        free = self._free(now, lost, added, pairs)

        def replaced(token: Token, others: Sequence[Token], verb: str) -> bool:
            return any(
                other.kind == "word"
                and not other.rule
                and other not in free
                and not self._is_tolerated(other, ())
                and _linked(token, other, links, verb)
                for other in others
            )

        def rest(tokens: Sequence[Token], others: Sequence[Token], verb: str) -> list[Token]:
            return [
                token
                for token in tokens
                if token not in free
                or self._hides_exact(token)
                or (token.kind == "word" and not token.rule and replaced(token, others, verb))
            ]

        return rest(lost, added, "lost"), rest(added, lost, "added")

    def _free(
        self,
        now: Sequence[Token],
        lost: Sequence[Token],
        added: Sequence[Token],
        pairs: Mapping[Token, Token],
    ) -> set[Token]:
        """Return the tokens of both texts that add nothing to the other words of their clauses.

        `now` are the tokens of the variant. `lost` and `added` are those without a partner.
        """
        free = self._request_heads(now) | self._request_frames(now) | _subjects(added, now)
        back = {b: a for a, b in pairs.items()}
        for text, others, unpaired, rivals, mates in (
            (self._original, now, lost, added, pairs),
            (now, self._original, added, lost, back),
        ):
            free |= _alternatives(text) | _split_alternatives(text, mates) | _prohibitions(text)
            free |= self._limited_permissions(text, mates, _duties(others, rivals))
            free |= _arrows(text, mates) | _moments(text, mates) | _inclusions(text, mates)
            free |= _two_of_none(text, mates) | _emphatic_only(text, mates)
            free |= _first_of_two(text, mates) | _choices(text, mates)
            free |= self._limited_results(text, mates) | _chances(text, mates)
            free |= _measures(text, mates) | self._attributes(text, mates)
            if not any(token.rule == "comparison" for token in rivals):
                free |= self._equations(text, mates)
            free |= _ones(unpaired, text, mates) | self._emphases(unpaired, text)
            free |= self._light_verbs(text, mates) | self._framing_verbs(text, mates)
        free |= {token for token in added if token.text.lower() == "instead"}
        free |= _abilities(added, now)
        if not any(token.kind == "number" for token in lost):
            free |= self._announced(added, now)
        free |= _sequences(self._original, now, pairs) | _sequences(now, self._original, back)
        free |= self._ends(added, lost, self._original) | self._ends(lost, added, now)
        kinds = self._kinds_of_names(self._original, pairs, lost)
        other_kinds = self._kinds_of_names(now, back, added)
        free |= {noun for noun, name in kinds.items() if pairs[name] not in other_kinds.values()}
        free |= {noun for noun, name in other_kinds.items() if back[name] not in kinds.values()}
        return free

    def _unexplained(
        self,
        tokens: Sequence[Token],
        others: Sequence[Token],
        counterpart: Sequence[Token],
        exchanged: set[Token],
        links: set[tuple[int, int]],
        *,
        verb: str,
    ) -> list[Token]:
        """Return those of `tokens` that are neither tolerated nor in the other text.

        Parameters
        ----------
        tokens
            The tokens of one text without a partner.
        others
            Those of the other text.
        counterpart
            All tokens of the other text.
        exchanged
            Tokens that were exchanged for another one. They count although they are repeated.
        links
            Pairs of sentences that share words, that of the original first.
        verb
            ``lost`` if `tokens` are those of the original, else ``added``.
        """
        known = {
            stem for other in counterpart if other.kind == "word" for stem in self._stems([other])
        }
        if verb == "lost":
            known |= self._stems([t for s in self._now for t in s.tokens if t.kind == "word"])
        called = _called(counterpart)
        parts = self._stems_of(_parts(counterpart)) if verb == "added" else set()
        told = {pair[0] for pair in links} if verb == "lost" else set()
        left = []
        for token in tokens:
            beside = [
                other
                for other in tokens
                if other is not token
                and other.clause == token.clause
                and not self._is_tolerated(other, ())
            ]
            alone = verb == "lost" or not beside or self._are_repeated(beside, known)
            word = token.kind == "word" and " " not in token.text
            repeated = word and not token.rule and alone and token not in exchanged
            verbal = verb == "lost" and token.text.endswith("ed") and token.sentence in told
            if repeated and not verbal and self._stems([token]) <= known:
                continue
            named = token.text.lower() in called or self._stems([token]) <= parts
            if word and alone and named and token not in exchanged:
                continue
            rivals = [other for other in others if _linked(token, other, links, verb)]
            if not self._is_tolerated(token, rivals):
                left.append(token)
        return left

    def _are_repeated(self, tokens: Sequence[Token], known: Collection[str]) -> bool:
        """Return whether `tokens` are at most one plain word, whose stem is one of `known`."""
        return len(tokens) == 1 and not tokens[0].rule and self._stems(tokens) <= set(known)

    def _missing(self, pairs: Mapping[Token, Token]) -> Iterator[Token]:
        """Yield the tokens of the original without a counterpart, except those of its greetings."""
        talk = False
        for clause in [c for sentence in self._was for c in _clauses(sentence.tokens)]:
            content = [token for token in clause if counts(token)]
            missing = [token for token in content if token not in pairs]
            signed = talk and are_names(clause, _words(clause))
            talk = is_own_talk(_words(clause), clause, self._vocabulary)
            talk = talk and all(token.kind == "word" for token in clause)
            if not (talk or signed) or len(missing) < len(content):
                yield from missing

    def _without_joint(
        self, lost: list[Token], added: list[Token], links: set[tuple[int, int]]
    ) -> tuple[list[Token], list[Token]]:
        """Remove phrases that mean the same only together: "not touch" and "leave alone".

        `lost` are the unpaired tokens of the original, and `added` those of the variant. Both are
        returned without the phrases. Phrases in sentences that share words, which are `links`, are
        removed first.
        """
        places = [({one}, {other}) for one, other in sorted(links)]
        places.append(({t.sentence for t in lost}, {t.sentence for t in added}))
        for was, now in places:
            here = self._stems([token for token in lost if token.sentence in was])
            there = self._stems([token for token in added if token.sentence in now])
            for one, other in self._vocabulary.joint:
                for mine, theirs in ((one, other), (other, one)):
                    if mine <= here and theirs <= there:
                        lost = self._without_first(lost, mine, was)
                        added = self._without_first(added, theirs, now)
                        here = self._stems([t for t in lost if t.sentence in was])
                        there = self._stems([t for t in added if t.sentence in now])
        return lost, added

    def _without_first(
        self, tokens: Sequence[Token], stems: Collection[str], sentences: Collection[int]
    ) -> list[Token]:
        """Return `tokens` without the first one of `sentences` that has each of `stems`."""
        left = set(stems)
        result = []
        for token in tokens:
            found = self._stems([token]) & left if token.sentence in sentences else set()
            left -= found
            if not found:
                result.append(token)
        return result

    def _without_prefixed(
        self, lost: list[Token], added: list[Token], now: Sequence[Token]
    ) -> tuple[list[Token], list[Token]]:
        """Take out a word with a negative prefix and its negation, as "unknown" and "not known".

        `lost` are the unpaired tokens of the original, `added` those of the variant, and `now` all
        tokens of the variant. The two lists are changed and returned.
        """
        for tokens, others, text in ((lost, added, now), (added, lost, self._original)):
            for token in [t for t in tokens if t.kind == "word"]:
                word = token.text.lower()
                rests = {word[len(prefix) :] for prefix in _PREFIXES if word.startswith(prefix)}
                bases = {self._vocabulary.stem(rest) for rest in rests if len(rest) >= _SHORTEST}
                for base in (t for t in text if self._stems([t]) & bases):
                    negations = [t for t in others if t.rule == "negation"]
                    negation = next((t for t in negations if t.clause == base.clause), None)
                    if negation is not None and (base in others or not counts(base)):
                        tokens.remove(token)
                        others[:] = [t for t in others if t not in (base, negation)]
                        break
        return lost, added

    def _word_by_word(
        self, lost: list[Token], added: list[Token]
    ) -> tuple[list[Token], list[Token]]:
        """Pair the words of phrases that have no partner with those of the other text.

        `lost` are the unpaired tokens of the original, and `added` those of the variant. The result
        has the words that still have no partner.
        """
        parts, others = self._single(lost), self._single(added)
        for test in (same, alike):
            for mine in list(parts):
                theirs = next((t for t in others if test(mine, t)), None)
                if theirs is not None:
                    parts.remove(mine)
                    others.remove(theirs)
        return parts, others

    def _single(self, tokens: Sequence[Token]) -> list[Token]:
        """Return `tokens` with each phrase as the tokens of its words that have content."""
        result = []
        for token in tokens:
            words = token.text.lower().split()
            whole = token.kind != "word" or words[-1] in _PARTICLES or not words[1:]
            if whole or (token.rule and not self._is_phrase_of_content(words)):
                result.append(token)
                continue
            for word in words:
                stem = self._vocabulary.stem(word)
                entry = self._vocabulary.phrases.get((stem,), VocabularyEntry())
                if not entry.optional:
                    groups, keys = frozenset(entry.groups), frozenset({stem})
                    part = replace(token, text=word, keys=keys, groups=groups, rule=entry.rule)
                    result.append(part)
        return result

    def _hides_exact(self, token: Token) -> bool:
        """Return whether a phrase without a rule has a word that is exact, such as "not given"."""
        entries = self._entries(token.text.lower().split())
        return (
            not token.rule and len(entries) > 1 and any(entry and entry.rule for entry in entries)
        )

    def _is_phrase_of_content(self, words: Sequence[str]) -> bool:
        """Return whether a phrase has several words with content and none that is exact."""
        entries = self._entries(words)
        content = [entry for entry in entries if entry is None or not entry.optional]
        return len(content) > 1 and not any(entry and entry.rule for entry in entries)

    def _stems(self, tokens: Sequence[Token]) -> set[str]:
        return self._stems_of(_words(tokens))

    def _stems_of(self, words: Collection[str]) -> set[str]:
        return {self._vocabulary.stem(word) for word in words}

    def _request_heads(self, now: Sequence[Token]) -> set[Token]:
        """Return the verbs like "write" at the head of a request whose form changed."""
        if not any(token.request for token in now):
            return set()
        heads = [next(filter(counts, sentence.tokens), None) for sentence in self._was]
        heads += [b for a, b in pairwise(now) if a.request]
        verbs = self._vocabulary.request_verbs
        return {token for token in heads if token and self._stems([token]) & verbs}

    def _request_frames(self, now: Sequence[Token]) -> set[Token]:
        """Return the words of requests that only name the object, as in "I need a query"."""
        vocabulary = self._vocabulary
        frames: set[Token] = set()
        for _, group in groupby(now, key=lambda token: token.sentence):
            sentence = list(group)
            content = set(filter(counts, sentence))
            artifacts = {t for t in content if self._stems([t]) & vocabulary.artifacts}
            if any(t.request for t in sentence) and all(
                self._stems([t]) & (vocabulary.request_verbs | vocabulary.soft)
                or (t in artifacts and t.keys & self._task)
                for t in content
            ):
                frames |= content
        return frames

    def _strict(
        self, tokens: Sequence[Token], others: Sequence[Token], pairs: Mapping[Token, Token]
    ) -> list[Token]:
        """Return those of `tokens` in whose sentences no other word was lost or added.

        `pairs` has the counterparts, among `tokens`, of the tokens of the other text.
        """
        changed = {t.sentence for t in others if t.rule != "obligation"}
        touched = {b.sentence for a, b in pairs.items() if a.sentence in changed}
        strict = {b.sentence for b in pairs.values()} - touched
        return [t for t in tokens if t.kind == "word" and t.sentence in strict]

    def _alone(
        self,
        tokens: Sequence[Token],
        others: Sequence[Token],
        text: Sequence[Token],
        pairs: Mapping[Token, Token],
    ) -> set[Token]:
        """Return words such as "value" that came or went alone, as in "the value x".

        A word of an enumeration did not. `text` is the text of `tokens`.
        """
        following = dict(pairwise(filter(counts, text)))
        return {
            token
            for token in self._strict(tokens, others, pairs)
            if not token.rule
            and self._stems([token]) <= self._vocabulary.alone
            and (_JOINING.isdisjoint(token.function) or _is_participle(token))
            and (
                token not in following
                or following[token].clause != token.clause
                or _LISTING.isdisjoint(following[token].function[:1])
            )
        }

    def _repeated_heads(
        self,
        added: Sequence[Token],
        lost: Sequence[Token],
        now: Sequence[Token],
        pairs: Mapping[Token, Token],
    ) -> set[Token]:
        """Return nouns of the original that were added alone, as in "if the buffer is full".

        A word before another one without an article or preposition between them describes it
        and is no such noun, and neither is one behind "and" or "or".
        """
        following = dict(pairwise(filter(counts, now)))
        return {
            token
            for token in self._strict(added, lost, pairs)
            if not token.rule
            and token.keys & self._task
            and token.function
            and _JOINING.isdisjoint(token.function)
            and (
                token not in following
                or following[token].clause != token.clause
                or following[token].function
                or following[token].rule in ("obligation", "permission", "negation")
            )
        }

    def _framing_words(
        self, added: Sequence[Token], lost: Sequence[Token], pairs: Mapping[Token, Token]
    ) -> set[Token]:
        """Return added words of the list ``framing`` beside which no plain word was lost.

        `lost` and `added` are the unpaired tokens. A word was lost beside another one if their
        clauses share words, or if its own clause shares no word with any other.
        """
        links = {(a.clause, b.clause) for a, b in pairs.items()}
        sentences = {b.sentence for b in pairs.values()}
        known = {one for one, _ in links}
        plain = [token for token in lost if token.kind == "word" and not token.rule]
        return {
            token
            for token in added
            if token.sentence in sentences
            and not token.rule
            and "but" not in token.function
            and self._stems([token]) <= self._vocabulary.framing
            and not any(
                (other.clause, token.clause) in links or other.clause not in known
                for other in plain
            )
        }

    def _light_verbs(self, tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
        """Return each "return" or "find" whose object has a partner, as in "find the maximum".

        The same holds for each "raise" with an exception.

        `tokens` are those of one text, and `pairs` maps its tokens to their partners in the other
        text.
        """
        content = list(pairwise(filter(counts, tokens)))
        passive = {verb: thing for thing, verb in content if set(verb.function) & _AUXILIARIES}
        return {
            verb
            for verb, thing in (*content, *passive.items())
            if verb.clause == thing.clause
            and thing in pairs
            and (
                verb.groups & self._returning
                or (verb.groups & self._raising and thing.text.endswith(_ENDINGS))
            )
        }

    def _kinds_of_names(
        self, tokens: Sequence[Token], pairs: Mapping[Token, Token], unpaired: Sequence[Token]
    ) -> dict[Token, Token]:
        """Return unpaired nouns such as "table" in "the table users", with their names.

        `tokens` are those of one text, and `pairs` maps its tokens to their partners in the other
        text. A name without a partner does not count.
        """
        found = {}
        frames = self._vocabulary.frames
        for left, right in pairwise(filter(counts, tokens)):
            for noun, name in ((left, right), (right, left)):
                names = name.kind in ("code", "literal") or name.text[:1].isupper()
                names = names and name in pairs and noun in unpaired
                coded = name.kind == "number" and name in pairs and noun in unpaired
                if (names or coded) and not noun.rule and left.clause == right.clause:
                    error = bool(self._stems([noun]) & frames.errors) and name.text.endswith(
                        _ENDINGS
                    )
                    kinds = frames.codes if coded else self._vocabulary.kinds
                    named = self._stems([noun]) <= kinds
                    if error or (named and not right.function):
                        found[noun] = name
        return found

    def _ends(
        self, tokens: Sequence[Token], others: Sequence[Token], text: Sequence[Token]
    ) -> set[Token]:
        """Return each "end" or "start" that goes without saying, as for "append" and "prepend".

        `tokens` are unpaired tokens of one text, and `others` those of the other one, `text`.
        """
        stems = self._stems(text)
        bare = not any(other.rule == "order" for other in others)
        return {
            token
            for token in tokens
            if (self._stems([token]) & {"end"} and stems & {"append"} and bare)
            or (self._stems([token]) & {"start", "begin", "front"} and stems & {"prepend"} and bare)
        }

    def _equations(self, tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
        """Return each "equals" before a number or value that has a partner, as in "k equals 0"."""
        return {
            verb
            for verb, value in pairwise(filter(counts, tokens))
            if self._stems([verb]) <= {"equal", "to"} and value.kind != "word" and value in pairs
        }

    def _rules(self, token: Token) -> set[str]:
        """Return the rule of a token and those of the words of a phrase, as for "below zero"."""
        entries = self._entries(token.text.lower().split())
        return {token.rule} | {entry.rule for entry in entries if entry}

    def _entries(self, words: Sequence[str]) -> list[VocabularyEntry | None]:
        """Return the entry of each of `words`, which are in lower case; None for unknown ones."""
        return [self._vocabulary.phrases.get((self._vocabulary.stem(word),)) for word in words]

    def _framing_verbs(self, tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
        """Return "keep" or "go" beside a limit, and "sort" beside a sort order.

        Examples are "keep it under 80 words" and "sorted in ascending order".
        """
        found = set()
        frames = self._vocabulary.frames
        for _, group in groupby(filter(counts, tokens), key=lambda token: token.clause):
            clause = list(group)
            rules = {rule for token in clause if token in pairs for rule in self._rules(token)}
            stems = {stem for token in clause if token in pairs for stem in self._stems([token])}
            for token in clause:
                mine = self._stems([token]) - {"of"}
                limited = "comparison" in rules and mine <= frames.limiting
                checked = self._stems(clause) & frames.checking and mine <= frames.checked
                ordered = ("order" in rules or stems & frames.orders) and mine <= frames.sorting
                kept = stems & frames.keeping and mine <= frames.unchanged
                kept = kept or (stems & frames.unchanged and mine <= frames.keeping)
                if limited or ordered or checked or kept:
                    found.add(token)
        return found

    def _emphases(self, unpaired: Sequence[Token], tokens: Sequence[Token]) -> set[Token]:
        """Return each "only" in a clause that keeps a first, last or largest one.

        `unpaired` are the tokens of one text without a partner, and `tokens` all of them.
        """
        frames = self._vocabulary.frames
        kept = {t.clause for t in tokens if self._stems([t]) & frames.selecting}
        chosen = {
            t.clause
            for t in tokens
            if t.rule == "superlative" or self._stems([t]) & frames.selected
        }
        return {t for t in unpaired if t.text.lower() == "only" and t.clause in kept & chosen}

    def _announced(self, added: Sequence[Token], now: Sequence[Token]) -> set[Token]:
        """Return each added number word before things that the text lists, as in "four methods".

        `now` is the text of `added`.
        """
        counted = self._vocabulary.frames.counted
        unpaired = set(added)
        return {
            number
            for number, noun in pairwise(filter(counts, now))
            if number in unpaired
            and number.kind == "number"
            and number.text.isalpha()
            and number.clause == noun.clause
            and self._stems([noun]) <= counted
        }

    def _attributes(self, tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
        """Return each "contain", "name" or "use" for which the other text has "with".

        An example is "a line that contains the date" for "a line with the date". The same holds
        for "and add a line" and "and a line". `pairs` has the counterparts of `tokens`.
        """
        groups = frozenset().union(*map(self._vocabulary.groups_of, ("contain", "name", "use")))
        further = {
            verb
            for verb, thing in pairwise(filter(counts, tokens))
            if verb.text.lower() == "add"
            and "and" in verb.function
            and verb.clause == thing.clause
            and thing in pairs
            and not {"and", "with"}.isdisjoint(pairs[thing].function)
        }
        return further | {
            verb
            for verb, thing in pairwise(filter(counts, tokens))
            if verb.groups & groups
            and not verb.rule
            and verb.clause == thing.clause
            and thing in pairs
            and "with" in pairs[thing].function
            and "with" not in thing.function
        }

    def _limited_results(self, tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
        """Return each "only" beside "return" or "show" and a limit.

        "Only rows above 5 are shown" means "show the rows above 5". `pairs` has the counterparts
        of `tokens`.
        """
        limited = {t.clause for t in pairs if t.rule == "comparison"}
        shown = {t.clause for t in tokens if t.groups & self._returning}
        return {t for t in tokens if t.text.lower() == "only" and t.clause in limited & shown}

    def _is_tolerated(self, token: Token, others: Sequence[Token]) -> bool:
        """Return whether `token` may be added or lost. `others` are the tokens that also were.

        Core words of one side only, and soft words that carry no rule, are tolerated.
        """
        if token.core:
            return not any(other.core for other in others)
        stems = self._stems([token])
        soft = stems & self._vocabulary.soft
        phrasal = len(stems) > 1 and _words([token])[-1] in _PARTICLES
        if soft and not phrasal and all(map(self._is_function, stems - soft)):
            family = _MODALITY if token.rule in _MODALITY else {token.rule}
            return not token.rule or not any(other.rule in family for other in others)
        return False

    def _limited_permissions(
        self, tokens: Sequence[Token], pairs: Mapping[Token, Token], duties: Collection[int]
    ) -> set[Token]:
        """Return each permission beside "at most" or "only", which it adds nothing to.

        "Only members may call" means "only members call". An "up to" adds nothing to a permission,
        either. `pairs` has the counterparts of
        `tokens`. A permission stays if an obligation stands for it, in the sentences `duties` of
        the other text.
        """
        groups = self._vocabulary.groups_of("at most")
        limited = {t.clause for t in tokens if t.groups & groups or t.text.lower() == "only"}
        changed = {a.sentence for a, b in pairs.items() if b.sentence in duties}
        words = {"can", "may", "allowed to", "permitted to", "allow", "allows", "permit", "permits"}
        permitted = {t.clause for t in tokens if t in pairs and t.rule == "permission"}
        most = {t for t in tokens if t.text.lower() == "up to" and t.clause in permitted}
        return most | {
            t
            for t in tokens
            if t.text.lower() in words and t.clause in limited and t.sentence not in changed
        }

    def _is_function(self, stem: str) -> bool:
        entry = self._vocabulary.phrases.get((stem,))
        return entry is not None and entry.optional


def _is_signature(sentence: Sentence) -> bool:
    return are_names(sentence.tokens, sentence.words)


def _telling(added: Sequence[Token], now: Sequence[Token]) -> set[Token]:
    """Return added participles that tell which things are meant, as in "the stored files".

    `now` is the text of `added`.
    """
    unpaired = set(added)
    return {
        word
        for word, noun in pairwise(filter(counts, now))
        if word in unpaired
        and word.clause == noun.clause
        and word.text.endswith(("ed", "en"))
        and not _DETERMINERS.isdisjoint(word.function[-1:])
        and noun.kind == "word"
        and not (noun.function or noun.rule)
    }


def _exchanged(
    was: Sequence[Token],
    now: Sequence[Token],
    pairs: Mapping[Token, Token],
    lost: Sequence[Token],
    added: Sequence[Token],
) -> set[Token]:
    """Return unpaired plain words beside the same word, one in place of the other.

    A word that was paired with another place counts, too, if the same word is unpaired in its
    sentence. `was` and `now` are the tokens of original and variant. `pairs` maps tokens of `was`
    to their partners; `lost` and `added` have none.
    """

    def unpaired_as(token: Token, unpaired: Sequence[Token]) -> Token | None:
        last = token.text.lower().rpartition(" ")[2]
        plain = (t for t in unpaired if t.sentence == token.sentence and not t.rule)
        return next((t for t in plain if t.keys & token.keys or t.text.lower() == last), None)

    found: set[Token] = set()
    for step in (1, -1):
        before, after = _neighbours(was, step), _neighbours(now, step)
        for a, word in before.items():
            other = after.get(pairs[a]) if a in pairs else None
            if other is None or word.rule or other.rule or alike(word, other):
                continue
            mine, theirs = unpaired_as(word, lost), unpaired_as(other, added)
            if mine is not None and theirs is not None:
                found |= {mine, theirs}
    return found


def _neighbours(tokens: Sequence[Token], step: int) -> dict[Token, Token]:
    """Return for each token with content the next one of its sentence, or with -1 the previous."""
    content = list(filter(counts, tokens))[::step]
    return {a: b for a, b in pairwise(content) if a.sentence == b.sentence}


def _duties(tokens: Sequence[Token], unpaired: Sequence[Token]) -> set[int]:
    """Return the sentences with an obligation that the other text lacks, as in "you must write".

    `tokens` are those of the text, and `unpaired` those without a partner in the other text.
    """
    requests = {
        token.sentence
        for token in tokens
        if token.request and not _DUTIES.isdisjoint(token.text.lower().split())
    }
    return requests | {token.sentence for token in unpaired if token.rule == "obligation"}


def _ones(
    unpaired: Sequence[Token], now: Sequence[Token], pairs: Mapping[Token, Token]
) -> set[Token]:
    """Return each "one" before a noun that has an article in the other text, as in "an hour".

    `now` is the text of `unpaired`. `pairs` has the counterparts of its tokens in the other text.
    """
    nouns = dict(pairwise(filter(counts, now)))
    return {
        token
        for token in unpaired
        if token.text.lower() == "one"
        and nouns.get(token) in pairs
        and not {"a", "an", "per", "each", "every", "own"}.isdisjoint(pairs[nouns[token]].function)
    }


def _inserted(
    tokens: Sequence[Token], others: Sequence[Token], pairs: Mapping[Token, Token]
) -> set[Token]:
    """Return words between two neighbours of the other text, as in "public write access".

    `pairs` has the counterparts of `tokens` in `others`.
    """
    content = list(filter(counts, tokens))
    beside = set(pairwise(filter(counts, others)))
    return {
        word
        for left, word, right in zip(content, content[1:], content[2:], strict=False)
        if left in pairs
        and right in pairs
        and (pairs[left], pairs[right]) in beside
        and left.kind == right.kind == "word"
        and word.text.lower() not in _NAMING
        and left.clause == word.clause == right.clause
        and not (word.function or right.function or left.rule or right.rule)
    }


def _is_participle(token: Token) -> bool:
    """Return whether a verb is added behind a comma, as in ", repeated three times"."""
    return token.function == (",",) and token.text.endswith(("ed", "ing"))


def _alternatives(tokens: Sequence[Token]) -> set[Token]:
    """Return each "or" before a value and its condition, and words that only go with another.

    Examples are "or 0 if there is none", "or 0 for none", "or 0 otherwise", "either a or b" and
    "not anything".
    """
    content = list(filter(counts, tokens))
    ors = {token.sentence for token in content if token.text.lower() == "or"}
    others = {token.sentence for token in content if token.text.lower() in ("otherwise", "else")}
    negative = {token.clause for token in content if token.rule == "negation"}
    words = {
        token
        for token in content
        if (token.text.lower() in _ANY and token.clause in negative)
        or (token.text.lower() == "or" and token.sentence in others)
        or (token.text.lower() == "either" and token.sentence in ors)
    }
    words |= {t for t in content if t.condition and t.text.lower() in _ONE_OF_SEVERAL}
    words |= {
        word
        for before, word in pairwise(content)
        if word.text.lower() == "or"
        and before.clause != word.clause
        and any(t.condition and t.sentence == word.sentence for t in content)
    }
    return words | {
        token
        for token, value, condition in zip(content, content[1:], content[2:], strict=False)
        if token.text.lower() == "or"
        and value.kind != "word"
        and (condition.condition or "for" in condition.function[:1])
        and token.sentence == condition.sentence
    }


def _subjects(added: Sequence[Token], now: Sequence[Token]) -> set[Token]:
    """Return the nouns that became the subject of a clause without one, as in "if it is empty".

    `added` are the unpaired tokens of the variant, and `now` all of its tokens.
    """
    content = list(filter(counts, now))
    unpaired = set(added)
    return {
        token
        for before, token, verb in zip([None, *content], content, content[1:], strict=False)
        if token in unpaired
        and token.kind == "word"
        and not token.rule
        and (before is None or before.clause != token.clause)
        and not _ARTICLES.isdisjoint(token.function)
        and verb.clause == token.clause
        and (*verb.function, *verb.text.lower().split())[0] in _AUXILIARIES
    }


def _called(tokens: Sequence[Token]) -> set[str]:
    """Return the names in the code of `tokens` and their last words, in lower case.

    For "RingBuffer" these are "ringbuffer" and "buffer".
    """
    names = (token.text.partition("(")[0] for token in tokens if token.kind == "code")
    last = {name.rpartition(".")[2] for name in names}
    parts = {_PARTS.split(name)[-1] for name in last}
    capitals = {t.text for t in tokens if t.kind == "word" and t.text[:1].isupper() and t.function}
    return {name.lower() for name in last | parts | capitals}


def _parts(tokens: Sequence[Token]) -> set[str]:
    """Return the words of the names of functions in `tokens`, in lower case.

    For "compare_groups(data)" these are "compare" and "groups".
    """
    calls = (token.text.partition("(") for token in tokens if token.kind == "code")
    return {part.lower() for name, call, _ in calls if call for part in _PARTS.split(name)}


def _split_alternatives(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each "or" whose second part has a condition of its own, if it stands apart elsewhere.

    An example is "reads a file, or the standard input if none is given", told in two sentences.
    `pairs` has the counterparts of `tokens` in the other text.
    """
    content = list(filter(counts, tokens))
    found = set()
    conditions = {t.sentence for t in content if t.condition}
    for left, word in pairwise(content):
        if word.text.lower() != "or" or left not in pairs or word.sentence not in conditions:
            continue
        behind = content[content.index(word) + 1 :]
        part = [t for t in behind if t.clause == word.clause and t in pairs]
        if any(pairs[token].clause != pairs[left].clause for token in part):
            found.add(word)
    return found


def _sequences(
    tokens: Sequence[Token], others: Sequence[Token], pairs: Mapping[Token, Token]
) -> set[Token]:
    """Return the words of "a before b" if the other text has "b only after a" or alike.

    Other forms are "b only starts when a", "no b until a" and "first a, then b".

    Parameters
    ----------
    tokens, others
        The tokens of the text with "before", and those of the other one.
    pairs
        The counterparts in `others` of `tokens`.
    """
    found: set[Token] = set()
    partners = set(pairs.values())
    places = {token: place for place, token in enumerate(tokens)}
    for word in tokens:
        if word.text.lower() != "before" or word in pairs:
            continue
        clause = [t for t in tokens if t.clause == word.clause and t in pairs]
        early = [pairs[t] for t in clause if places[t] < places[word]]
        early = early or [
            pairs[t]
            for t in tokens
            if t.sentence == word.sentence and t.clause != word.clause and t in pairs
        ]
        late = [pairs[t] for t in clause if places[t] > places[word]]
        if not early or not late:
            continue
        homes = {t.sentence for t in late} | {t.sentence for t in early}
        for marker in others:
            if marker.text.lower() not in _SEQUENCE or marker.sentence not in homes:
                continue
            behind = [t for t in others if t.clause == marker.clause]
            behind = behind[behind.index(marker) + 1 :]
            first = early if marker.text.lower() not in _THEN else late
            last = late if first is early else early
            right = sum(t in behind for t in first) - sum(t in behind for t in last)
            if right > 0 and 2 * right >= len(first):
                found.add(word)
                found |= {
                    t
                    for t in others
                    if t.sentence in homes
                    and t not in partners
                    and (t is marker or t.text.lower() in _ONLY)
                    and (t.rule != "negation" or marker.text.lower() == "until")
                }
    return found


def _arrows(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each arrow for "then" whose neighbours have partners in one sentence, in this order.

    An example is "same score -> smaller id first". `pairs` has the counterparts of `tokens`.
    """
    content = list(filter(counts, tokens))
    return {
        arrow
        for left, arrow, right in zip(content, content[1:], content[2:], strict=False)
        if arrow.text in _ARROWS
        and right in pairs
        and left.kind == right.kind == "word"
        and (left not in pairs or pairs[left].sentence == pairs[right].sentence)
        and (left not in pairs or pairs[left].clause <= pairs[right].clause)
    }


def _inclusions(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each "including" that is an "and" or "with" in the other text.

    `pairs` has the counterparts of `tokens`.
    """
    return {
        word
        for word, thing in pairwise(filter(counts, tokens))
        if word.text.lower() == "including"
        and thing in pairs
        and not {"and", "with"}.isdisjoint(pairs[thing].function)
    }


def _first_of_two(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each adverb "first" in a sentence with "before", which says the same.

    `pairs` has the counterparts of `tokens` in the other text.
    """
    ordered = {t.sentence for t in pairs if t.text.lower() == "before"}
    return {
        t
        for t in tokens
        if t.text.lower() == "first" and t.sentence in ordered and _ARTICLES.isdisjoint(t.function)
    }


def _abilities(added: Sequence[Token], now: Sequence[Token]) -> set[Token]:
    """Return each added "can" of a requested program, as in "write a module that can parse".

    `now` is the text of `added`.
    """
    requested = {t.clause for t in now if t.request}
    return {
        token
        for token in added
        if token.text.lower() == "can"
        and token.clause in requested
        and {"that", "which"} & set(token.function[-1:])
    }


def _two_of_none(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each "two" of "no two jobs overlap", which means "jobs never overlap".

    `pairs` has the counterparts of `tokens`; the "no" must have one.
    """
    return {
        number
        for no, number in pairwise(filter(counts, tokens))
        if no.text.lower() == "no"
        and no in pairs
        and not number.function
        and number.kind == "number"
        and number.text.lower() in ("two", "2")
    }


def _emphatic_only(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each "only" beside "no other", as in "use only pytest, no other framework".

    `pairs` has the counterparts of `tokens`; the "no" must have one.
    """
    content = list(filter(counts, tokens))
    exclusive = {
        no.sentence
        for no, other in pairwise(content)
        if no in pairs and no.text.lower() == "no" and other.text.lower() == "other"
    }
    return {t for t in content if t.text.lower() == "only" and t.sentence in exclusive}


def _choices(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each "or" of an enumeration that follows "one of" in the other text.

    The same holds for an "or" in a condition that is an "and" outside it: "if the count or the
    price is negative" means "negative counts and prices".

    `pairs` has the counterparts of `tokens`.
    """
    chosen = {b.sentence for b in pairs.values() if b.kind != "word" and "one" in b.function}
    found = set()
    for word, thing in pairwise(filter(counts, tokens)):
        if word.text.lower() != "or" or thing not in pairs:
            continue
        partner = pairs[thing]
        joined = word.condition and "and" in partner.function and not partner.condition
        if joined or (thing.kind != "word" and partner.sentence in chosen):
            found.add(word)
    return found


def _chances(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each "can" for which the other text has "let", as in "let the user choose".

    `pairs` has the counterparts of `tokens`.
    """
    found = set()
    for who, word in pairwise(filter(counts, tokens)):
        after = {"let", "allow"} & set(pairs[who].function) if who in pairs else set()
        if after and word.text.lower() in ("can", "may"):
            found.add(word)
    return found


def _measures(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each noun before "of" and a number, as in "at a speed of 5 metres".

    `pairs` has the counterparts of `tokens`; the number must have one.
    """
    return {
        noun
        for noun, number in pairwise(filter(counts, tokens))
        if number.kind == "number"
        and number in pairs
        and number.function == ("of",)
        and "of" not in pairs[number].function
        and noun.kind == "word"
        and not noun.rule
        and not {"a", "an", "the"}.isdisjoint(noun.function)
    }


def _moments(tokens: Sequence[Token], pairs: Mapping[Token, Token]) -> set[Token]:
    """Return each "after" at the start of a clause that is a "when" in the other text.

    An example is "after it was sent" for "once it was sent". `pairs` has the counterparts of
    `tokens`.
    """
    content = list(filter(counts, tokens))
    return {
        word
        for before, word, verb in zip([None, *content], content, content[1:], strict=False)
        if word.text.lower() == "after"
        and (before is None or before.clause != word.clause)
        and verb in pairs
        and (pairs[verb].condition or (verb.kind == "code" and not pairs[verb].function))
    }


def _prohibitions(tokens: Sequence[Token]) -> set[Token]:
    """Return each permission that is denied, since "may not be used" means "is not used"."""
    negative = {t.clause for t in tokens if t.rule == "negation"}
    words = {"may", "can", "could", "might", "allowed to", "permitted to"}
    return {t for t in tokens if t.text.lower() in words and t.clause in negative}


def _links(pairs: Mapping[Token, Token]) -> set[tuple[int, int]]:
    """Return the pairs of sentences, of original and variant, that tell the same.

    A sentence tells the same as that with which it shares most words, and as those with which it
    shares at least half as many.
    """
    shared = Counter((a.sentence, b.sentence) for a, b in pairs.items())
    most: dict[tuple[str, int], int] = {}
    for (one, other), number in shared.items():
        for key in (("was", one), ("now", other)):
            most[key] = max(most.get(key, 0), number)
    return {
        (one, other)
        for (one, other), number in shared.items()
        if number >= _HALF * min(most["was", one], most["now", other])
    }


def _linked(token: Token, other: Token, links: set[tuple[int, int]], verb: str) -> bool:
    """Return whether the sentences of two tokens of different texts share words.

    `links` has the pairs of such sentences, that of the original first. `verb` tells in which text
    `token` is.
    """
    pair = (token.sentence, other.sentence)
    return (pair if verb == "lost" else pair[::-1]) in links


def _words(tokens: Sequence[Token]) -> list[str]:
    return [word for token in tokens for word in token.text.lower().split()]


def _clauses(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    for _, clause in groupby(tokens, key=lambda token: token.clause):
        yield list(clause)


def _rule(token: Token, verb: str) -> str:
    if token.rule:
        return token.rule
    return verb if token.kind == "word" else token.kind
