"""Neutral small talk with as many sentences and words as a text, for control conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

from pytest_promptse.variants._coherence import stem
from pytest_promptse.variants._distance import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from pytest_promptse.variants._library import Feeling, Language

_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]+(?:\s+|$)|\s-\s|(?<=[\u3002\uff01\uff1f])")
"""The end of a sentence, which some writers mark by a dash."""
_CJK = re.compile(r"[\u3400-\u9fff]{2}")
_USUAL = 9
"""Number of words of a sentence beside a text whose sentences are not known."""
_MOST = 20
"""Number of words beyond which a sentence is divided, since nobody says small talk that long."""
_STUB = 2
"""Number of words up to which a clause lacks a verb and is not joined to another."""
_PLACE = re.compile(r"\{[01]\}")
_LONGEST = 3
"""Largest number of clauses in a sentence."""
_NEAR = 1
"""Difference in words for which a sentence stays with the topic of the one before it."""


@dataclass(frozen=True, kw_only=True)
class SmallTalk:
    """Draws sentences of small talk that share no word with a prompt, and no clause with another.

    They keep to the topic of the first sentence as long as it has clauses of the lengths.

    Parameters
    ----------
    talk
        The topics with their clauses.
    language
        The language of the clauses.
    prompt
        The original prompt, whose words do not occur.
    slack
        The number of words by which a sentence may be shorter or longer, so that more are possible.
    """

    talk: Feeling
    language: Language
    prompt: str
    slack: int = 0
    _used: set[str] = field(default_factory=set)
    _topics: list[int] = field(default_factory=list)

    def like(self, text: str, rng: Random) -> str:
        """Return small talk with the numbers of sentences and of words of `text`.

        A fragment of one or two words counts with its neighbour, since such small talk is no
        sentence.
        """
        lengths: list[int] = []
        for number in (len(words(sentence)) for sentence in _END.split(text)):
            if lengths and min(number, lengths[-1]) <= self._measured(_STUB):
                lengths[-1] += number
            else:
                lengths.append(number)
        parts = (self._divided(n, self._measured(_MOST)) for n in lengths if n)
        return self._sentences([*chain.from_iterable(parts)], rng)

    def of_length(self, n_words: int, rng: Random) -> str:
        """Return small talk of `n_words` words, in sentences of up to nine."""
        return self._sentences(self._divided(n_words, self._measured(_USUAL)), rng)

    @staticmethod
    def _divided(n_words: int, most: int) -> list[int]:
        """Return `n_words` as equal lengths of at most `most`."""
        n_sentences = -(-n_words // most)
        shortest, longer = divmod(n_words, n_sentences)
        return [shortest + (number < longer) for number in range(n_sentences)]

    def _sentences(self, lengths: Sequence[int], rng: Random) -> str:
        sentences = []
        owed = 0
        for length in lengths or [self._measured(_USUAL)]:
            sentence = self._sentence(max(1, length + owed), rng)
            owed += length - len(words(sentence))
            sentences.append(sentence)
        return self.language.blank.join(sentences)

    def _sentence(self, length: int, rng: Random) -> str:
        """Return a sentence whose number of words comes closest to `length`.

        The fewest clauses that have this length are joined, and all are of one topic.
        """
        fitting = _fitting(self.talk, self.language, self.prompt)
        unused = (fitting - self._used) or fitting or frozenset(chain(*self.talk.topics))
        topics = [*range(len(self.talk.topics))]
        rng.shuffle(topics)
        near = _NEAR if length > self._measured(_STUB) else 0
        searches = chain(
            product(range(near + 1), self._topics[-1:]), product(range(length + 1), topics)
        )
        tables = _joinable(self.talk, self.language)
        if self.slack:
            possible = [
                clauses
                for table in chain.from_iterable(tables[topic] for topic in topics)
                for n in range(length - self.slack, length + self.slack + 1)
                for clauses in table.get(n, ())
                if unused.issuperset(clauses)
            ]
            if possible:
                return self._joined(rng.choice(possible), rng)
        for off, topic in searches:
            for table in tables[topic]:
                joined = [c for n in {length - off, length + off} for c in table.get(n, ())]
                if fresh := [clauses for clauses in joined if unused.issuperset(clauses)]:
                    self._topics.append(topic)
                    return self._joined(rng.choice(fresh), rng)
        return self._joined((rng.choice(sorted(unused)),), rng)

    def _joined(self, clauses: tuple[str, ...], rng: Random) -> str:
        self._used.update(clauses)
        text, *others = rng.sample(clauses, len(clauses))
        for clause in others:
            text = self.talk.joint.replace("{0}", text).replace("{1}", clause)
        return text[:1].upper() + text[1:] + self.language.stop

    def _measured(self, n_words: int) -> int:
        return max(1, round(n_words * self.language.words_each))


_Table = Mapping[int, list[tuple[str, ...]]]
"""Clauses that make one sentence, by their words in all."""


@lru_cache(maxsize=16)
def _joinable(talk: Feeling, language: Language) -> tuple[tuple[_Table, ...], ...]:
    """Return the clauses that make one sentence, by topic and by their number.

    Clauses are joined if they are whole sentences, without a common word, and without the word that
    joins them.
    """
    glue = set(words(_PLACE.sub(" ", talk.joint)))
    stub = max(1, round(_STUB * language.words_each))

    def table(topic: Sequence[str], number: int) -> _Table:
        lengths = {clause: len(words(clause)) for clause in topic}
        whole = [c for c in topic if lengths[c] > stub and glue.isdisjoint(words(c))]
        made: dict[int, list[tuple[str, ...]]] = {}
        for clauses in combinations(topic if number == 1 else whole, number):
            named = [_named(clause, language) for clause in clauses]
            if sum(map(len, named)) == len(frozenset().union(*named)):
                length = sum(lengths[clause] for clause in clauses) + (number - 1) * len(glue)
                made.setdefault(length, []).append(clauses)
        return made

    numbers = range(1, _LONGEST + 1)
    return tuple(tuple(table(topic, number) for number in numbers) for topic in talk.topics)


@lru_cache(maxsize=256)
def _fitting(talk: Feeling, language: Language, prompt: str) -> frozenset[str]:
    """Return the clauses that have no word of `prompt`."""
    said = frozenset(map(stem, words(prompt)))
    return frozenset(
        clause
        for clause in chain(*talk.topics)
        if said.isdisjoint(_named(clause, language))
        and not any(pair in prompt for pair in _pairs(clause))
    )


def _named(clause: str, language: Language) -> frozenset[str]:
    return language.coherence.stems(clause, language.repeatable) | frozenset(_pairs(clause))


def _pairs(text: str) -> Iterator[str]:
    """Yield each two Chinese characters in sequence."""
    pairs = (text[start : start + 2] for start in range(len(text) - 1))
    yield from filter(_CJK.fullmatch, pairs)
