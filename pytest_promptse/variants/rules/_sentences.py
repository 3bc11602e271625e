"""Sentences added to a prompt: drawn from the phrases of a language, in the style of an emotion."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants._coherence import openings, repeats_an_opening
from pytest_promptse.variants._distance import words
from pytest_promptse.variants._library import Style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from pytest_promptse.variants._introductions import Introduction
    from pytest_promptse.variants._library import Feeling, Language, Personality
    from pytest_promptse.variants.rules._small_talk import SmallTalk

_ALTERNATIVES = re.compile(r"\{([^{}]*\|[^{}]*)\}")
_PLACES = re.compile(r"\{\d\^?\}")
_PRONOUN = re.compile(r"\bI\b")
_CAPITALISED = re.compile(r"\b[A-Z](?![A-Z])")
_SMALL_PRONOUN = re.compile(r"\bi\b(?!\.)")
_BEFORE_SMALL = re.compile(r"([.!?] )([a-z])")
_FEWEST_TO_CHOOSE = 7
_JOINED, _ROLE_SHARE = 0.65, 0.6
_WEIGHED = 0.75
"""The probability that the weights of emotion and persona limit the choice of an introduction."""


class Concession(IntEnum):
    """What gives way, one after another, before a variant fails.

    Each value is the number of concessions from which on it applies. What contradicts a fact of the
    prompt never gives way, only the pairs of facts that ``language.yaml`` lists as ``yields``.
    """

    OPENINGS = 1
    """Sentences may begin alike, and more of them follow a short introduction."""
    WORDS = 2
    """Content words may be repeated, and longer phrases are drawn."""
    WHOLE = 3
    """Separate sentences stand in for an introduction that is written as a whole."""
    FITNESS = 4
    """A phrase need not suit the kind of the message and its reader."""


@dataclass(frozen=True, slots=True)
class Said:
    """One or several of the writer's own sentences.

    ``plain`` is the sentence with emotion and persona. ``text`` is the sentence in the prompt,
    which is a neutral text of the same length in a control. ``length`` is the number of measured
    words of ``plain``. ``snippets`` are the phrases that it was made from, ``facts`` those that it
    asserts. ``cues`` are its cues by dimension. ``is_whole`` is True for an introduction that is
    written as a whole, ``manner`` its manner of writing, or empty, and ``begins_with_emotion`` is
    True if it shows the emotion in its first half.
    """

    text: str
    plain: str
    snippets: tuple[str, ...]
    length: int
    facts: frozenset[str] = frozenset()
    cues: dict[str, str] = field(default_factory=dict)
    is_whole: bool = False
    manner: str = ""
    begins_with_emotion: bool = False


@dataclass(frozen=True, kw_only=True)
class SentenceGenerator:
    """Draw sentences that show one emotion and one persona and do not contradict earlier ones.

    Parameters
    ----------
    language
        The source of the phrases.
    feeling
        The phrases of the emotion, or of a control condition.
    emotion
        The name of the emotion, or None for a control condition.
    personality
        The persona, or None for a control condition.
    given
        The facts that the prompt asserts.
    own
        The facts that the writer asserts: the emotion and the traits.
    neutral
        Small talk that replaces emotion and persona with the same length, or None to show both.
    raised
        True if the sentences always have capitals and full stops, even if the emotion's style has
        none.
    lowered
        True if the sentences have no capitals, as in a message that has none.
    ease
        The number of concessions that were made after failed tries.
    draws, marks
        Random generators of the words and of the punctuation. They are separate, so that a neutral
        variant makes the same decisions as its variant.
    """

    language: Language
    feeling: Feeling
    emotion: str | None
    personality: Personality | None
    given: frozenset[str]
    own: frozenset[str]
    neutral: SmallTalk | None
    raised: bool
    lowered: bool
    ease: int
    draws: Random
    marks: Random

    def cue(self, most: int, *, said: Sequence[Said] = ()) -> Said:
        """Return an utterance of at most `most` words that fits beside `said`."""
        feeling = self.feeling
        drawn = self._draw(most, said=said, cue=feeling.cues, note=feeling.notes, talk=feeling.talk)
        return self._felt(drawn)

    def feel(
        self, most: int, *, said: Sequence[Said] = (), scene: bool = True, least: int = 0
    ) -> Said:
        """Return a sentence of emotion that fits after `said`. With `scene` it may set a scene.

        `most` is the largest number of words, and `least` the smallest, if there is one that long.
        """
        scenes = self.feeling.scenes if scene else ()
        return self._felt(
            self._draw(most, said=said, least=least, sentence=self.feeling.sentences, scene=scenes)
        )

    def closing(self, most: int, *, said: Sequence[Said] = ()) -> list[Said]:
        """Return last words that fit after `said`, or nothing if none fit.

        `most` is the largest number of words.
        """
        drawn = self._fitting(most, said=said, closing=self.feeling.closings)
        return [self._felt(drawn)] if drawn else []

    def introduction(
        self,
        operation: str,
        *,
        most: int,
        emotional: bool,
        acquainted: bool,
        said: Sequence[Said] = (),
    ) -> Said | None:
        """Return an introduction that is written as a whole and fits the prompt and `said`.

        It is mostly drawn from the half of those that fit in which the emotion has the larger part,
        or, without `emotional`, the smaller one. The result is None if the library has none for the
        emotion, the persona and the operation.

        Only the facts of the prompt and of `said` can refuse an introduction: they contradict it,
        or a fact that its kind needs is not among them. Its own parts belong together. If all are
        refused, the result is None in a language without blanks, and otherwise those with the
        fewest such facts may be drawn. Of those that fit, the ones that the
        prompt prefers are drawn, and of these the ones that are short enough. Kinds are drawn
        first, so that the number of texts of a kind does not matter.

        `most` is the largest number of words, if there are introductions that short. With
        `acquainted`, the reader knows the writer, so the role is left out.
        """
        if self.personality is None or self.emotion is None or self.ease >= Concession.WHOLE:
            return None
        candidates = self._introductions(operation)
        if acquainted:
            # Without its role, the story of a course is not understood.
            known = [text for text in candidates if text.kind != "practice" or self.language.blank]
            candidates = tuple(filter(None, (text.to_acquaintance for text in known)))
        if not candidates:
            return None
        coherence = self.language.coherence
        before = self.given.union(*(sentence.facts for sentence in said))
        refused, unmet = coherence.opponents(before), coherence.unmet(before)
        preferred = coherence.preferred(self.given)
        facts = {
            candidate.text: coherence.facts_of(candidate.text, refused | preferred)
            | candidate.facts
            for candidate in candidates
        }
        conflicts = {
            candidate.text: len(refused & facts[candidate.text]) + len(unmet & candidate.facts)
            for candidate in candidates
        }
        fewest = min(conflicts.values())
        if fewest and not self.language.blank:
            return None
        fitting = [candidate for candidate in candidates if conflicts[candidate.text] == fewest]
        fitting = [
            candidate for candidate in fitting if not preferred.isdisjoint(facts[candidate.text])
        ] or fitting
        fitting = [candidate for candidate in fitting if count(candidate.text) <= most] or fitting
        kind = self.draws.choice(sorted({candidate.kind for candidate in fitting}))
        fitting = [candidate for candidate in fitting if candidate.kind == kind]
        ordered = sorted(fitting, key=lambda candidate: candidate.emotion_share, reverse=emotional)
        half = (len(ordered) + 1) // 2
        # Comments are drawn evenly, since a benchmark has many tasks of code to complete.
        weighed = self.draws.random() < _WEIGHED and kind != "comment"
        drawn = self.draws.choice(ordered[:half] if weighed else ordered)
        text = self._cased(drawn.text)
        return Said(
            text=self._matched(text),
            plain=text,
            snippets=(drawn.text,),
            length=len(words(text)),
            facts=coherence.facts_of(drawn.text) | drawn.facts,
            cues={} if self.neutral else dict(drawn.cues),
            is_whole=True,
            manner=drawn.manner,
            begins_with_emotion=2 * drawn.text.index(drawn.cues["emotion"]) < len(drawn.text) - 1,
        )

    def has_introductions(self, operation: str) -> bool:
        """Return whether the library has introductions for the emotion and the persona."""
        return bool(self._introductions(operation))

    def _introductions(self, operation: str) -> Sequence[Introduction]:
        slug = self.personality.slug if self.personality else ""
        return self.language.introductions.get((self.emotion or "", slug, operation), ())

    def _felt(self, drawn: _Drawn) -> Said:
        text = self._cased(self._resolved(drawn.snippet))
        return self._said(text, drawn, cues={"emotion": text} if self.emotion else {})

    def way(self, most: int, *, said: Sequence[Said]) -> Said:
        """Return a sentence of at most `most` words on how the writer works with others.

        It fits after `said`. The writer has a persona.
        """
        style = self.personality.collaboration.slug if self.personality else ""
        remarks = self.language.collaboration[style]
        return self._alone(self._draw(most, said=said, remark=remarks), "collaboration")

    def role(self, most: int, *, said: Sequence[Said]) -> Said:
        """Return a sentence of at most `most` words on who the writer is, which fits after `said`.

        The writer has a persona.
        """
        return self._alone(self._draw(most, said=said, role=self._roles), "technical", "experience")

    def persona(self, most: int, *, said: Sequence[Said] = (), joined: bool = False) -> list[Said]:
        """Return sentences that show the three traits, of at most about `most` words.

        They are the role and a remark on working together: two sentences, or one if the second
        clause can follow the first. With `joined` the second clause is one that can, if there is
        any. Nothing for a control condition without a persona.
        """
        if self.personality is None:
            return []
        # A Chinese clause has no subject of its own.
        joins = self.draws.random() < _JOINED or joined or not self.language.blank
        clauses: Sequence[str] = self.language.collaboration[self.personality.collaboration.slug]
        role = self._draw(round(most * _ROLE_SHARE), said=said, role=self._roles)
        if joined:
            coherence = self.language.coherence
            clauses = [
                clause
                for clause in clauses
                if coherence.are_joined(role.facts, coherence.facts_of(clause) | {"remark"})
            ] or clauses
        # The clauses of a sentence have one opening.
        first = Said("", role.snippet, (role.snippet,), count(role.snippet), role.facts)
        remark = self._draw(
            most - count(role.snippet),
            said=[*said, first],
            any_opening=joins,
            remark=clauses,
        )
        # The style of the emotion, so that a neutral variant makes the same decisions.
        style = Style() if self.raised else self.feeling.style
        joints = [joint for joint in style.joints if "{1}" in joint]
        if not (joins and joints and self.language.coherence.are_joined(role.facts, remark.facts)):
            return [
                self._alone(role, "technical", "experience"),
                self._alone(remark, "collaboration"),
            ]
        left = most - first.length - count(remark.snippet)
        text = self.draws.choice(_joints(tuple(joints), left))
        for number, part in enumerate((role.snippet, remark.snippet)):
            text = text.replace(f"{{{number}}}", part)
            text = text.replace(f"{{{number}^}}", part[:1].upper() + part[1:])
        shown = {
            "technical": role.snippet,
            "experience": role.snippet,
            "collaboration": remark.snippet,
        }
        return [
            Said(
                text=self._matched(text) if self.neutral else self._styled(text),
                plain=text,
                snippets=(role.snippet, remark.snippet),
                length=len(words(text)),
                facts=role.facts | remark.facts,
                cues={} if self.neutral else shown,
            )
        ]

    @property
    def _roles(self) -> Sequence[str]:
        return self.language.roles[role_of(self.personality)] if self.personality else ()

    def _alone(self, drawn: _Drawn, *dimensions: str) -> Said:
        clause = drawn.snippet
        sentence = clause[:1].upper() + clause[1:] + self.language.stop
        return self._said(sentence, drawn, styled=True, cues=dict.fromkeys(dimensions, clause))

    def ask(self, most: int, *, said: Sequence[Said] = ()) -> list[Said]:
        """Return a separate request, such as *Can you take this one*.

        The result is empty if the prompt has a request already.

        `most` is the largest number of words.
        """
        return self._shared(self._fitting(most, said=said, ask=self.language.requests.asks))

    def intro(self, most: int, *, bullets: bool, said: Sequence[Said] = ()) -> list[Said]:
        """Return a sentence that introduces the pasted text, or its sentences as `bullets`.

        The result is empty if no sentence fits.

        `most` is the largest number of words.
        """
        requests = self.language.requests
        intros = requests.bullet_intros if bullets else requests.intros
        return self._shared(self._fitting(most, said=said, intro=intros))

    def greeting(self) -> list[Said]:
        """Return first words, or nothing if none fit."""
        return self._shared(self._fitting(5, greeting=self.language.requests.greetings))

    def _shared(self, drawn: _Drawn | None) -> list[Said]:
        if drawn is None:
            return []
        text = self._resolved(drawn.snippet)
        shown = _without_capitals(text) if self.style.lower else text
        return [Said(shown, text, (drawn.snippet,), len(words(text)), drawn.facts)]

    def _said(
        self, text: str, drawn: _Drawn, *, cues: dict[str, str], styled: bool = False
    ) -> Said:
        """Return `text` as a sentence of the writer, or neutral sentences of its length.

        `drawn` is the snippet that the text was made from, and `cues` has its cues by dimension.
        `styled` gives the sentence the style of the emotion.
        """
        return Said(
            text=self._matched(text) if self.neutral else self._styled(text) if styled else text,
            plain=text,
            snippets=(drawn.snippet,),
            length=len(words(text)),
            facts=drawn.facts,
            cues={} if self.neutral else cues,
        )

    @property
    def style(self) -> Style:
        """The style of sentences that do not depend on emotion and persona."""
        style = (self.neutral.talk if self.neutral else self.feeling).style
        if self.raised and style.lower:
            return Style(ends=(self.language.stop,))
        return replace(style, lower=True) if self.lowered else style

    def join(self, said: Sequence[Said]) -> str:
        """Return the sentences as one paragraph.

        A sentence without a final mark is joined to the next.
        """
        text = ""
        for sentence in said:
            if text and text[-1].isalnum():
                text += self.style.run_on
            text += (self.language.blank if text else "") + sentence.text
        return text.removesuffix(" -")

    def accepts(self, facts: frozenset[str]) -> bool:
        """Return whether `facts` contradict no fact of the prompt and of the writer."""
        return not self.language.coherence.clash(facts, self._known(()))

    def _known(self, said: Sequence[Said]) -> frozenset[str]:
        return self.given.union(self.own, *(sentence.facts for sentence in said))

    def _draw(
        self,
        most: int,
        *,
        said: Sequence[Said] = (),
        any_opening: bool = False,
        least: int = 0,
        **kinds: Sequence[str],
    ) -> _Drawn:
        """Return one of the snippets that fits after `said`, or any snippet if none fits.

        `kinds` has the snippets to choose from by kind, such as ``sentence`` or ``role``. `most` is
        the largest number of words, `least` the smallest, if any snippet has as many. `any_opening`
        also allows an opening that was used before.
        """
        fitting = self._fitting(most, said=said, any_opening=any_opening, least=least, **kinds)
        return fitting or self.draws.choice(_pool(self.language, **_frozen(kinds)))

    def _fitting(
        self,
        most: int,
        *,
        said: Sequence[Said] = (),
        any_opening: bool = False,
        least: int = 0,
        **kinds: Sequence[str],
    ) -> _Drawn | None:
        """Return one of the snippets of at most `most` words, given by their kinds.

        It contradicts no known fact. If there is none, the opening may be that of another sentence,
        then a content word may be repeated, and then it may be longer.

        `any_opening` also allows the opening of another sentence. The result is None if every
        snippet contradicts a fact or was used.
        """
        coherence = self.language.coherence
        asserted = self._known(said)
        firm = self.ease >= Concession.FITNESS
        refused = coherence.opponents(asserted, firm=firm) | coherence.unmet(asserted)
        taken = {snippet for sentence in said for snippet in sentence.snippets}
        coherent = [
            drawn
            for drawn in _pool(self.language, **_frozen(kinds))
            if refused.isdisjoint(drawn.facts) and drawn.snippet not in taken
        ]
        if not coherent:
            return None
        enough = _FEWEST_TO_CHOOSE * (1 if self.ease < Concession.WORDS else self.ease)
        limit = _limit(sorted(drawn.length for drawn in coherent), most, enough)
        fitting = [drawn for drawn in coherent if drawn.length <= limit]
        fitting = [drawn for drawn in fitting if drawn.length >= least] or fitting
        light = self.language.repeatable
        used = frozenset[str]().union(*(coherence.stems(snippet, light) for snippet in taken))
        fresh = [drawn for drawn in fitting if used.isdisjoint(drawn.stems)]
        begun = [opening for sentence in said for opening in openings(sentence.plain)]
        other = [
            drawn
            for drawn in fresh
            if any_opening or not repeats_an_opening([*begun, *drawn.openings])
        ]
        return self.draws.choice(other or fresh or fitting)

    def _resolved(self, snippet: str) -> str:
        return _ALTERNATIVES.sub(lambda match: self.draws.choice(match[1].split("|")), snippet)

    def _styled(self, text: str) -> str:
        style, stop = self.style, self.language.stop
        ends = style.ends
        if not self.language.blank:
            # A Chinese statement about oneself neither exclaims nor trails off.
            ends = ("",) if "" in ends else (stop,)
        if text.endswith(stop) and not text.endswith(stop * 2):
            text = text[: -len(stop)] + self.marks.choice(ends)
        return _without_capitals(text) if style.lower else text

    def _cased(self, text: str) -> str:
        """Return `text` with or without capitals, as the message around it has them."""
        if self.raised:
            text = self._raised(text)
        return _without_capitals(text) if self.lowered else text

    def _raised(self, text: str) -> str:
        """Return `text` with capitals at the start of its sentences and a mark at its end."""
        text = _SMALL_PRONOUN.sub("I", text[:1].upper() + text[1:])
        text = _BEFORE_SMALL.sub(lambda match: match[1] + match[2].upper(), text)
        return text + self.language.stop if text[-1].isalnum() else text

    def _matched(self, text: str) -> str:
        """Return small talk with as many sentences and words as `text`, in a control."""
        if self.neutral is None:
            return text
        text = self.neutral.like(text, self.marks)
        return _without_capitals(text) if self.lowered else text


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A snippet with its number of words, and the facts of its words and its kind.

    ``stems`` are those of the words that a message does not repeat. ``openings`` are its first
    words, which two sentences in sequence do not share.
    """

    snippet: str
    length: int
    facts: frozenset[str]
    stems: frozenset[str]
    openings: tuple[tuple[str, str], ...]


def _without_capitals(text: str) -> str:
    """Return `text` with small letters, also in *i* and in names, but not in abbreviations."""
    return _CAPITALISED.sub(lambda match: match[0].lower(), _PRONOUN.sub("i", text))


def _frozen(kinds: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {kind: tuple(snippets) for kind, snippets in kinds.items()}


@lru_cache(maxsize=4096)
def _pool(language: Language, **kinds: tuple[str, ...]) -> tuple[_Drawn, ...]:
    coherence = language.coherence
    return tuple(
        _Drawn(
            snippet,
            count(snippet),
            coherence.facts_of(snippet) | {kind},
            coherence.stems(snippet, language.repeatable),
            openings(_first(snippet)) if language.blank else (),
        )
        for kind, snippets in kinds.items()
        for snippet in snippets
    )


def role_of(personality: Personality) -> str:
    """Return the name of a persona's role, ``technical.experience``."""
    return f"{personality.technical.slug}.{personality.experience.slug}"


def _limit(lengths: Sequence[int], most: int, enough: int) -> int:
    """Return `most`, or more if too few of the sorted `lengths` are at most that.

    The limit is raised so that there remain more than `enough` snippets to choose from. All other
    numbers are in words.
    """
    return max(most, lengths[min(len(lengths) - 1, enough)])


def _first(snippet: str) -> str:
    """Return a snippet with the first of its alternatives."""
    return _ALTERNATIVES.sub(lambda match: match[1].split("|")[0], snippet)


@lru_cache(maxsize=256)
def _joints(joints: tuple[str, ...], most: int) -> tuple[str, ...]:
    lengths = [len(words(_PLACES.sub("", joint))) for joint in joints]
    limit = max(most, min(lengths))
    return tuple(j for j, length in zip(joints, lengths, strict=True) if length <= limit)


@lru_cache(maxsize=8192)
def count(snippet: str) -> int:
    """Return the number of measured words of a snippet, by the first of its alternatives."""
    return len(words(_first(snippet)))
