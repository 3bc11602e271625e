"""Tell a writer's talk about themselves and their day from requests."""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._reading import spoken
from pytest_promptse.variants.invariance._vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pytest_promptse.variants.invariance._library_talk import LibraryTalk
    from pytest_promptse.variants.invariance._reading import Sentence, Token
    from pytest_promptse.variants.invariance._verbatim import Fragment
    from pytest_promptse.variants.invariance._vocabulary import Phrase, Vocabulary

__all__ = ["Talk"]

_MOST_SHARED = 0.5
"""Largest share of the content of a sentence of talk that may be words of the task."""
_MOST_NAMES = 2
_LONGEST_WORD_IN_CAPITALS = 2
_MODALS = frozenset({"could", "can", "would", "will", "might", "may"})
_ADVERBS = frozenset(
    {"please", "also", "and", "then", "just", "so", "but", "kindly", "always", "never", "do", "not"}
)
_LONG_SPELLING = re.compile(r"([a-z])\1{2,}")
"""A letter three times or more, as in "thank youuu". No English word has that."""


class Talk:
    """Tells the talk in a variant from further requests.

    Parameters
    ----------
    prompt, variant
        Both texts.
    sentences
        The sentences of the prompt.
    words
        The lists of its language, or None if there are none. A model must decide then.
    library
        The sentences of the library in this language, which other talk resembles.
    """

    def __init__(
        self,
        prompt: str,
        variant: str,
        sentences: Sequence[Sentence],
        words: Vocabulary | None,
        library: LibraryTalk,
    ) -> None:
        self._library = library
        self._texts = (prompt, variant)
        self._sentences = frozenset(sentence.tokens for sentence in sentences)
        self._has_lists = words is not None
        self._words = words or _english()
        self._task = frozenset(w for s in sentences for w in self._content(s.tokens))
        self._names = frozenset(t.text for s in sentences for t in s.tokens if t.kind == "code")

    def findings(self, fragment: Fragment) -> Iterator[Finding]:
        """Yield the reason why the words of a variant beside the task are no talk, if any."""
        text = fragment.sentence.text
        if fragment.tokens in self._sentences or self._is_address(fragment.tokens):
            return
        if not self._has_lists:
            detail = f"{text!r} was added, and there are no word lists for its language"
            yield Finding("talk", detail, questions=(self._texts,))
        elif problem := self._problem(fragment):
            yield Finding("instruction", f"{text!r} was added, and {problem}")
        elif stranger := self._stranger(fragment.tokens):
            detail = f"{text!r} was added, and {stranger!r} may be about more than the writer's day"
            is_apart = not (fragment.before or fragment.after)
            yield Finding(
                "talk" if is_apart else "instruction",
                detail,
                questions=(self._texts,) if is_apart else (),
            )

    def _stranger(self, tokens: Sequence[Token]) -> str:
        # How often or since when is no difference, but a Chinese number may be part of a word.
        kept = [t for t in tokens if t.kind == "word" and not (t.value and t.text.isascii())]
        words = spoken(kept)
        start, end = _without(words, self._words.talk)
        return self._library.stranger(words, self._words) and self._library.stranger(
            words[start:end], self._words
        )

    def _problem(self, fragment: Fragment) -> str:
        words = spoken(fragment.tokens)
        if words and words[0] in self._words.limiting:
            return f"{words[0]!r} limits the request"
        if not (fragment.before or fragment.after):
            return self._objection(fragment.tokens) or self._on_task(fragment.tokens)
        tokens = fragment.tokens
        for clause in _clauses(tokens):
            joined = (fragment.before and clause[0] is tokens[0]) or (
                fragment.after and clause[-1] is tokens[-1]
            )
            if self._is_address(clause):
                continue
            if joined:
                return "it is part of a sentence of the request"
            if self._words.first_person.isdisjoint(spoken(clause)):
                return "it stands in a sentence of the request"
            if problem := self._objection(clause):
                return problem
        return ""

    def _is_address(self, tokens: Sequence[Token]) -> bool:
        """Return whether words are a greeting, thanks or a way to ask, perhaps with names."""
        words = [_LONG_SPELLING.sub(r"\1", word) for word in spoken(tokens)]
        start, end = _without(words, self._words.talk | self._words.asking)
        if start == end:
            return True
        capital = {t.text.lower() for t in tokens if t.kind == "word" and t.text[0].isupper()}
        names = set(words[start:end])
        is_named = 0 < len(names) <= _MOST_NAMES and names <= capital and len(names) < len(words)
        return is_named and not self._objection(tokens)

    def _objection(self, tokens: Sequence[Token]) -> str:
        """Return the reason why a clause or sentence is a request, or ``""`` for talk."""
        lists = self._words
        words = spoken(tokens)
        is_first_person = not lists.first_person.isdisjoint(words)
        hedge = _phrase_in(words, lists.hedges)
        if is_first_person and len(words) > len(hedge.split()) + 1:
            hedge = ""
        if change := _phrase_in(words, lists.cues) or hedge:
            return f"{change!r} may change the request"
        return self._span_problem(tokens, own=is_first_person) or self._clause_problem(tokens)

    def _span_problem(self, tokens: Sequence[Token], *, own: bool) -> str:
        """Return why one of `tokens` is no talk.

        Sentences in the first person, `own`, may have numbers and names of the task.
        """
        lists = self._words
        for token in tokens:
            is_mention = own and token.kind == "code" and token.text in self._names
            is_number = token.kind == "number" and own
            if token.kind not in ("word", "pause", "mark") and not (is_mention or is_number):
                return f"{token.text!r} is not the original's"
            is_long = len(token.text) > _LONGEST_WORD_IN_CAPITALS
            if token.kind == "word" and is_long and token.text.isupper():
                return f"{token.text!r} is an abbreviation"
        program = (word for word in spoken(tokens) if lists.stem(word) in lists.program)
        return next((f"{word!r} speaks of the program" for word in program), "")

    def _clause_problem(self, tokens: Sequence[Token]) -> str:
        lists = self._words
        for clause in map(spoken, _clauses(tokens)):
            start, end = _without(clause, lists.talk)
            if problem := _instruction(clause[start:end], lists.verbs):
                return problem
            if clause[0] == "so" and clause[1:2] and clause[1] not in lists.function:
                return f"{clause[1]!r} may be an instruction"
        return ""

    def _on_task(self, tokens: Sequence[Token]) -> str:
        """Return why a sentence is about the task and not about its writer, or ``""``."""
        words = spoken(tokens)
        if not self._words.first_person.isdisjoint(words):
            return ""
        content = self._content(tokens)
        named = [word for word in content if word in self._task]
        if named and (content[0] in self._task or len(named) > _MOST_SHARED * len(content)):
            return f"{named[0]!r} speaks of the task"
        return ""

    def _content(self, tokens: Sequence[Token]) -> list[str]:
        function, rules = self._words.function, self._words.rules
        stems = (self._words.stem(word) for word in spoken(tokens) if word not in function)
        return [stem for stem in stems if (stem,) not in rules]


def _english() -> Vocabulary:
    words = vocabulary("en")
    if words is None:
        raise AssertionError("the lists for English are part of the package")
    return words


def _clauses(tokens: Sequence[Token]) -> Iterator[tuple[Token, ...]]:
    """Yield the parts between pauses that have words."""
    for is_pause, clause in groupby(tokens, lambda token: token.kind == "pause"):
        if not is_pause and spoken(part := tuple(clause)):
            yield part


def _instruction(words: Sequence[str], verbs: Collection[str]) -> str:
    if not words:
        return ""
    if tuple(words[:2]) == ("let", "us"):
        return "'let us' is an instruction"
    place = 0
    while place < len(words) and words[place] in _ADVERBS:
        place += 1
    if place < len(words) and words[place] in verbs:
        return f"{words[place]!r} is an instruction"
    for start, (modal, subject) in enumerate(pairwise(words)):
        if {modal, subject} > {"you"} and not _MODALS.isdisjoint((modal, subject)):
            rest = (word for word in words[start + 2 : start + 5] if word not in _ADVERBS)
            verb = next(rest, "")
            if verb in verbs:
                return f"{verb!r} is a request"
    return ""


def _without(words: Sequence[str], talk: Collection[Phrase]) -> tuple[int, int]:
    """Return the range of words that remains without phrases of `talk` at both ends.

    The range is (start, end), with `end` exclusive; it
    is empty if nothing remains.
    """
    longest = max(map(len, talk), default=0)

    def covered(start: int, end: int, *, from_end: bool) -> int:
        for length in range(min(longest, end - start), 0, -1):
            part = words[end - length : end] if from_end else words[start : start + length]
            if tuple(part) in talk:
                return length
        return 0

    start, end = 0, len(words)
    while start < end and (length := covered(start, end, from_end=False)):
        start += length
    while start < end and (length := covered(start, end, from_end=True)):
        end -= length
    return start, end


def _phrase_in(words: Sequence[str], phrases: Collection[Phrase]) -> str:
    longest = max(map(len, phrases), default=0)
    for start in range(len(words)):
        for length in range(min(longest, len(words) - start), 0, -1):
            if tuple(words[start : start + length]) in phrases:
                return " ".join(words[start : start + length])
    return ""
