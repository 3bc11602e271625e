"""Neutral small talk with as many sentences and words as a text, for control conditions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations
from typing import TYPE_CHECKING

from pytest_promptse.variants._coherence import stem
from pytest_promptse.variants._distance import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
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


@dataclass(frozen=True, kw_only=True)
class SmallTalk:
    """Draws sentences of small talk that share no word with a prompt, and no clause with another.

    Parameters
    ----------
    talk
        The topics with their clauses.
    language
        The language of the clauses.
    prompt
        The original prompt, whose words do not occur.
    """

    talk: Feeling
    language: Language
    prompt: str
    _used: set[str] = field(default_factory=set)

    def like(self, text: str, rng: Random) -> str:
        """Return small talk with the numbers of sentences and of words of `text`."""
        lengths = [len(words(sentence)) for sentence in _END.split(text)]
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
        tables = _joinable(self.talk, self.language)
        for off in range(length + 1):
            for table in tables:
                near = [c for n in {length - off, length + off} for c in table.get(n, ())]
                fresh = [clauses for clauses in near if unused.issuperset(clauses)]
                if fresh:
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


@lru_cache(maxsize=16)
def _joinable(talk: Feeling, language: Language) -> tuple[Mapping[int, list[tuple[str, ...]]], ...]:
    """Return the clauses that make one sentence, by their number and then by their words in all.

    Clauses are joined if they are whole sentences, without a common word, and without the word that
    joins them.
    """
    glue = set(words(_PLACE.sub(" ", talk.joint)))
    stub = max(1, round(_STUB * language.words_each))
    tables = []
    for number in range(1, _LONGEST + 1):
        table: dict[int, list[tuple[str, ...]]] = {}
        for topic in talk.topics:
            lengths = {clause: len(words(clause)) for clause in topic}
            whole = [c for c in topic if lengths[c] > stub and glue.isdisjoint(words(c))]
            for clauses in combinations(topic if number == 1 else whole, number):
                named = [_named(clause, language) for clause in clauses]
                if sum(map(len, named)) == len(frozenset().union(*named)):
                    length = sum(lengths[clause] for clause in clauses) + (number - 1) * len(glue)
                    table.setdefault(length, []).append(clauses)
        tables.append(table)
    return tuple(tables)


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
