"""Sentences added to a prompt: drawn from the phrases of a language, in the style of an emotion."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants._distance import words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from pytest_promptse.variants._library import Feeling, Language, Personality, Style

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

    def feel(self, most: int, *, but: Sequence[Said] = (), scene: bool = True) -> Said:
        """Return a sentence of emotion, other than those in `but`.

        It may set a scene if `scene` says so and none of `but` does.
        """
        taken = {snippet for said in but for snippet in said.snippets}
        scenes = self.feeling.scenes if scene and taken.isdisjoint(self.feeling.scenes) else ()
        return self._felt(self._draw((*self.feeling.sentences, *scenes), most, but=but))

    def closing(self, most: int, *, but: Sequence[Said] = ()) -> Said:
        """Return last words that repeat none of `but`."""
        return self._felt(self._draw(self.feeling.closings, most, but=but))

    def _felt(self, snippet: str) -> Said:
        text = self._resolved(snippet)
        if self.neutral is not None:
            return Said(self._matched(text), (snippet,), len(words(text)))
        return Said(text, (snippet,), len(words(text)), {"emotion": text} if self.emotion else {})

    def persona(self, most: int, *, but: Sequence[Said] = ()) -> Said | None:
        """Return sentences that show the three traits, of about `most` words at most.

        They repeat none of `but`. None for a control condition without a persona.
        """
        if self.personality is None:
            return None
        role = self._clause_of_role(most)
        said = [*but, Said(role, (role,), count(role))]
        clause = self._clause_of_collaboration(most - count(role), said)
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
        return self._alone(self._clause_of_role(most), "technical", "experience")

    def remark(self, most: int, *, but: Sequence[Said] = ()) -> Said | None:
        """Return the collaboration style of the persona as a sentence, None without one."""
        if self.personality is None:
            return None
        return self._alone(self._clause_of_collaboration(most, but), "collaboration")

    def _alone(self, clause: str, *dimensions: str) -> Said:
        if self.neutral is not None:
            return Said(self._matched(clause), (clause,), len(words(clause)))
        text = self._styled(clause[:1].upper() + clause[1:] + self.language.stop)
        return Said(text, (clause,), len(words(clause)), dict.fromkeys(dimensions, clause))

    def _clause_of_role(self, most: int) -> str:
        if self.personality is None:
            return ""
        return self._draw(self.language.roles[role_of(self.personality)], most)

    def _clause_of_collaboration(self, most: int, but: Sequence[Said]) -> str:
        if self.personality is None:
            return ""
        clauses = self.language.collaboration[self.personality.collaboration.slug]
        return self._draw(clauses, most, but=but)

    def ask(self, most: int) -> Said:
        """Return a request that stands for itself, such as *Can you take this one*."""
        return self._shared(self.language.requests.asks, most)

    def intro(self, most: int, *, bullets: bool) -> Said:
        """Return a sentence that announces the pasted text, or its sentences as `bullets`."""
        asked = self.language.requests
        return self._shared(asked.bullet_intros if bullets else asked.intros, most)

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
        return text.removesuffix(" -")

    def _shared(self, snippets: Sequence[str], most: int) -> Said:
        snippet = self._draw(snippets, most)
        text = self._resolved(snippet)
        return Said(self._styled(text), (snippet,), len(words(text)))

    def _draw(self, snippets: Sequence[str], most: int, *, but: Sequence[Said] = ()) -> str:
        """Return one of the snippets of at most `most` words, or of the shortest ones.

        It has no word of any weight in common with `but`, if there is such a one.
        """
        fitting = _fitting(tuple(snippets), most)
        if not but:
            return self.draws.choice(fitting)
        said = frozenset(snippet for each in but for snippet in each.snippets)
        light = self.language.repeatable
        used = frozenset(word for snippet in said for word in _weighty(snippet, light))
        fresh = [snippet for snippet in fitting if used.isdisjoint(_weighty(snippet, light))]
        return self.draws.choice(
            fresh or [snippet for snippet in fitting if snippet not in said] or fitting
        )

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


@lru_cache(maxsize=8192)
def _weighty(snippet: str, light: frozenset[str]) -> frozenset[str]:
    """Return the words of a snippet that a writer would not use again in the same message."""
    return frozenset(re.findall(r"[^\W\d_]{4,}", snippet.lower())) - light


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
