"""Coherence of a message: the facts that its phrases assert, and pairs of facts that conflict.

A fact is a name such as ``new-here``. The prompt, the writer, the kind of a phrase and the words of
a phrase all assert facts. ``language.yaml`` lists the pairs that one message may not contain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants._lint import expansions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

FACTS_OF_PROMPTS = frozenset(
    """
    called chat company impersonal introduced letter mail one-liner own-voice passed-on prose
    role-prompt short stub tagged trouble
    """.split()  # noqa: SIM905 - a list of words
)
"""Facts about a prompt that come from the document model, in addition to those from patterns."""
KINDS = frozenset(
    """
    ask closing cue form greeting intro note remark role scene sentence talk
    """.split()  # noqa: SIM905 - a list of words
)
"""The kinds of phrases, which are facts too."""

_NO_FACTS: frozenset[str] = frozenset()
_ANY_CASE = int(re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[.!?]*\s+")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_CONTRACTED = re.compile(r"['\u2019]")
_ENDINGS = ("ingly", "ings", "ing", "fully", "ful", "edly", "ed", "ly", "es", "s", "e")
_SHORTEST_STEM = 3
_WEIGHTY = re.compile(r"[^\W\d_]{3,}")
_IN_A_ROW = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Coherence:
    """The facts of one language and the rules about them.

    Parameters
    ----------
    facts
        The facts that a phrase can assert, each with the pattern that identifies it. A
        pattern that does not ignore the case is for texts in lower case.
    prompts
        The facts that a prompt can assert, each with its pattern.
    clashes
        For each fact, the facts that may not occur in the same message. The relation is symmetric.
    yields
        The part of ``clashes`` that gives way before a variant fails. It has no contradictions, but
        phrases that suit other messages better.
    apart
        For each fact, the facts whose clause is not joined to its clause.
    needs
        For each fact, the facts of which one must precede a phrase with that fact.
    prefers
        For each fact of a prompt, the facts of the introductions that are drawn first.
    once
        Strings that a message may contain once, for a language without blanks between its words.
    """

    facts: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    prompts: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    clashes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    yields: Mapping[str, frozenset[str]] = field(default_factory=dict)
    apart: Mapping[str, frozenset[str]] = field(default_factory=dict)
    needs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    prefers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    once: frozenset[str] = frozenset()
    _asserted: dict[str, dict[str, bool]] = field(default_factory=dict, repr=False)
    _stems: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    def facts_of(self, snippet: str, among: AbstractSet[str] | None = None) -> frozenset[str]:
        """Return the facts that `snippet` asserts in any of its alternatives.

        With `among`, only these facts are looked for, which takes less time.
        """
        names = [*(self.facts if among is None else self.facts.keys() & among)]
        known = self._asserted.setdefault(snippet, {})
        if unknown := [name for name in names if name not in known]:
            texts = list(expansions(snippet))
            lower = [text.lower() for text in texts]
            for name in unknown:
                pattern = self.facts[name]
                cased = texts if pattern.flags & _ANY_CASE else lower
                known[name] = any(map(pattern.search, cased))
        return frozenset(name for name in names if known[name])

    def facts_of_prompt(self, sentences: Iterable[str]) -> frozenset[str]:
        """Return the facts that the sentences of a prompt assert."""
        texts = list(sentences)
        return frozenset(
            name
            for name, pattern in self.prompts.items()
            if any(pattern.search(text) for text in texts)
        )

    def opponents_of_prompt(self, prompt: str, names: Collection[str]) -> frozenset[str]:
        """Return the facts that contradict those of a prompt that have an opponent in `names`."""
        clashing = (fact for fact in self.prompts if not self.opponents([fact]).isdisjoint(names))
        return self.opponents(fact for fact in clashing if self.prompts[fact].search(prompt))

    def opponents(self, facts: Iterable[str], *, firm: bool = False) -> frozenset[str]:
        """Return the facts that clash with one of `facts`. `firm` leaves out those that yield."""
        return frozenset().union(
            *(
                self.clashes.get(fact, _NO_FACTS)
                - (self.yields.get(fact, _NO_FACTS) if firm else _NO_FACTS)
                for fact in facts
            )
        )

    def clash(self, facts: frozenset[str], others: frozenset[str]) -> bool:
        """Return whether a phrase that asserts `facts` contradicts `others`.

        Both are sets of names of facts. `others` are the facts known so far.
        """
        return not self.opponents(others).isdisjoint(facts)

    def unmet(self, before: frozenset[str]) -> frozenset[str]:
        """Return the facts that may not follow `before`, since a fact that they need is missing."""
        return frozenset(fact for fact, any_of in self.needs.items() if before.isdisjoint(any_of))

    def preferred(self, given: Iterable[str]) -> frozenset[str]:
        """Return the facts of the introductions that a prompt with the facts `given` prefers."""
        return frozenset().union(*(self.prefers.get(fact, _NO_FACTS) for fact in given))

    def are_joined(self, first: frozenset[str], second: frozenset[str]) -> bool:
        """Return whether the second of two clauses can follow the first in one sentence.

        If the language has no fact ``joins``, any two clauses can be joined.
        """
        if "joins" in self.facts and "joins" not in second:
            return False
        return not any(
            not other.isdisjoint(self.apart.get(fact, _NO_FACTS))
            for facts, other in ((first, second), (second, first))
            for fact in facts
        )

    def stems(self, snippet: str, repeatable: frozenset[str]) -> frozenset[str]:
        """Return the stems of the words of `snippet` that a message may contain only once.

        These are the words of three letters or more, in any of its alternatives, that are not in
        `repeatable`, and the strings of `once`. `repeatable` has words in lower case, not stems,
        and must be the same in every call: results are cached by `snippet` alone.
        """
        if snippet not in self._stems:
            words = {
                word for text in expansions(snippet) for word in _WEIGHTY.findall(text.lower())
            }
            stems = {stem(word) for word in words - repeatable}
            self._stems[snippet] = frozenset(stems.union(w for w in self.once if w in snippet))
        return self._stems[snippet]


def stem(word: str) -> str:
    """Return `word` without the endings of English inflection; *calls* and *called* are *call*."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=8192)
def openings(text: str) -> tuple[tuple[str, str], ...]:
    """Return the first two words of each sentence of `text`, in lower case.

    A contraction is two words: *I'm new* opens with *i* and *m*. For a sentence of one word, the
    second is empty. A text without blanks between its words has at most one opening.
    """
    pairs = []
    for sentence in _SENTENCE_END.split(text):
        words = [
            part for word in _WORD.findall(sentence.lower())[:2] for part in _CONTRACTED.split(word)
        ]
        if words:
            pairs.append((words[0], words[1] if len(words) > 1 else ""))
    return tuple(pairs)


def repeats_an_opening(starts: Sequence[tuple[str, str]]) -> bool:
    """Return whether sentences with the openings `starts` begin too much alike.

    This is so if two of them begin with the same two words, or three in a row with the same word.
    """
    pairs = [opening for opening in starts if opening[1]]
    if len(set(pairs)) < len(pairs):
        return True
    firsts = [first for first, _ in starts]
    return any(
        len(set(firsts[place : place + _IN_A_ROW])) == 1
        for place in range(len(firsts) - _IN_A_ROW + 1)
    )
