"""Sentences added to a prompt: drawn from the phrases of a language, in the style of an emotion."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants.distance import words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from pytest_promptse.variants.library import Feeling, Language, Personality, Style

_ALTERNATIVES = re.compile(r"\{([^{}]*\|[^{}]*)\}")
_PLACES = re.compile(r"\{\d\^?\}")
_PRONOUN = re.compile(r"\bI\b")
_AFTER_STOP = re.compile(r"([.!?] )([A-Z])")
_FEWEST_TO_CHOOSE = 7


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of the writer's own, or several.

    ``length`` is the number of its measured words, or of those that it stands for. ``snippets``
    are what it was made from; ``cues`` is what it shows, by dimension.
    """

    text: str
    snippets: tuple[str, ...]
    length: int
    cues: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SentenceGenerator:
    """Draws sentences that show one emotion and one persona.

    Parameters
    ----------
    language
        Where phrases come from.
    feeling
        The phrases of the emotion, or of a control condition.
    emotion
        The name of the emotion, None for a control condition.
    personality
        The persona, None for a control condition.
    neutral
        Phrases to put in the place of emotion and persona, of the same length; None to show both.
    draws, marks
        What is left to chance, in what is said and in how it is punctuated. They are apart so
        that a neutral variant takes the same decisions as the one that it stands for.
    """

    language: Language
    feeling: Feeling
    emotion: str | None
    personality: Personality | None
    neutral: Feeling | None
    draws: Random
    marks: Random

    def cue(self, most: int) -> Said:
        """Return an utterance of at most `most` words."""
        return self._felt(self._draw(self.feeling.cues, most))

    def feel(self, most: int, *, but: Sequence[Said] = ()) -> Said:
        """Return a sentence of emotion, other than those in `but`, with one scene at most."""
        taken = {snippet for said in but for snippet in said.snippets}
        scenes = self.feeling.scenes if taken.isdisjoint(self.feeling.scenes) else ()
        sentences = (*self.feeling.sentences, *scenes)
        snippet = self._draw(sentences, most)
        while snippet in taken:
            snippet = self._draw(sentences, most)
        return self._felt(snippet)

    def closing(self, most: int) -> Said:
        """Return last words."""
        return self._felt(self._draw(self.feeling.closings, most))

    def _felt(self, snippet: str) -> Said:
        text = self._resolved(snippet)
        if self.neutral is not None:
            return Said(self._matched(text), (snippet,), len(words(text)))
        return Said(text, (snippet,), len(words(text)), {"emotion": text} if self.emotion else {})

    def persona(self, most: int) -> Said | None:
        """Return sentences that show the three traits, of about `most` words at most.

        None for a control condition without a persona.
        """
        if self.personality is None:
            return None
        role = self._clause_of_role(most)
        clause = self._clause_of_collaboration(most - count(role))
        left = most - count(role) - count(clause)
        text = self.draws.choice(_joints(self.feeling.style.joints, left))
        for number, part in enumerate((role, clause)):
            text = text.replace(f"{{{number}}}", part)
            text = text.replace(f"{{{number}^}}", part[:1].upper() + part[1:])
        if self.neutral is not None:
            return Said(self._matched(text), (role, clause), len(words(text)))
        shown = {"technical": role, "experience": role, "collaboration": clause}
        return Said(self._styled(text), (role, clause), len(words(text)), shown)

    def role(self, most: int) -> Said | None:
        """Return the role of the persona as a sentence, None without one."""
        if self.personality is None:
            return None
        clause = self._clause_of_role(most)
        if self.neutral is not None:
            return Said(self._matched(clause), (clause,), len(words(clause)))
        text = clause[:1].upper() + clause[1:] + self.language.stop
        shown = {"technical": clause, "experience": clause}
        return Said(self._styled(text), (clause,), len(words(clause)), shown)

    def _clause_of_role(self, most: int) -> str:
        if self.personality is None:
            return ""
        return self._draw(self.language.roles[role_of(self.personality)], most)

    def _clause_of_collaboration(self, most: int) -> str:
        if self.personality is None:
            return ""
        return self._draw(self.language.collaboration[self.personality.collaboration.slug], most)

    def ask(self, most: int) -> Said:
        """Return a request that stands for itself, such as *Can you take this one*."""
        return self._shared(self.language.requests.asks, most)

    def intro(self, most: int) -> Said:
        """Return a sentence that announces the pasted text."""
        return self._shared(self.language.requests.intros, most)

    def greeting(self) -> Said:
        """Return first words."""
        return self._shared(self.language.requests.greetings, 5)

    @property
    def style(self) -> Style:
        """The style of sentences that do not depend on emotion and persona."""
        return (self.neutral or self.feeling).style

    def join(self, said: Sequence[Said]) -> str:
        """Return the sentences as one paragraph; one without a final mark runs on."""
        text = ""
        for each in said:
            if text and text[-1].isalnum():
                text += self.style.run_on
            text += (self.language.blank if text else "") + each.text
        return text

    def _shared(self, snippets: Sequence[str], most: int) -> Said:
        snippet = self._draw(snippets, most)
        text = self._resolved(snippet)
        return Said(self._styled(text), (snippet,), len(words(text)))

    def _draw(self, snippets: Sequence[str], most: int) -> str:
        """Return one of the snippets of at most `most` words, or of the shortest ones."""
        return self.draws.choice(_fitting(tuple(snippets), most))

    def _resolved(self, snippet: str) -> str:
        return _ALTERNATIVES.sub(lambda match: self.draws.choice(match[1].split("|")), snippet)

    def _styled(self, text: str) -> str:
        style, stop = self.style, self.language.stop
        if text.endswith(stop) and not text.endswith(stop * 2):
            text = text[: -len(stop)] + self.marks.choice(style.ends)
        if style.lower:
            text = _PRONOUN.sub("i", text[:1].lower() + text[1:])
            text = _AFTER_STOP.sub(lambda match: match[1] + match[2].lower(), text)
        return text

    def _matched(self, text: str) -> str:
        """Return neutral sentences with as many words as `text`, as far as there are any."""
        sentences = self.neutral.sentences if self.neutral else ()
        return neutral_text(sentences, len(words(text)), self.language.blank, self.marks)


def role_of(personality: Personality) -> str:
    """Return the name of a persona's role, ``technical.experience``."""
    return f"{personality.technical.slug}.{personality.experience.slug}"


@lru_cache(maxsize=2048)
def _fitting(snippets: tuple[str, ...], most: int) -> tuple[str, ...]:
    lengths = [count(snippet) for snippet in snippets]
    limit = max(most, sorted(lengths)[min(len(lengths) - 1, _FEWEST_TO_CHOOSE)])
    return tuple(s for s, length in zip(snippets, lengths, strict=True) if length <= limit)


@lru_cache(maxsize=256)
def _joints(joints: tuple[str, ...], most: int) -> tuple[str, ...]:
    lengths = [len(words(_PLACES.sub("", joint))) for joint in joints]
    limit = max(most, min(lengths))
    return tuple(j for j, length in zip(joints, lengths, strict=True) if length <= limit)


@lru_cache(maxsize=8192)
def count(snippet: str) -> int:
    """Return the number of measured words of a snippet, by the first of its alternatives."""
    return len(words(_ALTERNATIVES.sub(lambda match: match[1].split("|")[0], snippet)))


def neutral_text(sentences: Sequence[str], target: int, blank: str, rng: Random) -> str:
    """Return different `sentences` of `target` words together, or as near as they come."""
    by_length: dict[int, list[str]] = {}
    for sentence in sentences:
        by_length.setdefault(count(sentence), []).append(sentence)
    shortest = min(by_length)
    chosen: list[str] = []
    left = target
    while left >= shortest:
        # A length that leaves nothing, or enough for another sentence.
        fitting = [n for n in by_length if n == left or left - n >= shortest]
        long = [n for n in fitting if 2 * n >= min(left, max(by_length))] or fitting
        length = left if left in fitting else rng.choice(long) if long else 0
        free = [sentence for sentence in by_length.get(length, ()) if sentence not in chosen]
        if not free:
            break
        chosen.append(rng.choice(free))
        left -= length
    return blank.join(chosen or [rng.choice(by_length[shortest])])
