"""Variants by rules: candidates until enough of them are valid."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, TypeVar

from pytest_promptse.errors import VariantError
from pytest_promptse.models._base import derive_seed
from pytest_promptse.variants._rewriter import Draft, Rewriter
from pytest_promptse.variants.rules import _layout
from pytest_promptse.variants.rules._composer import Composer, read_source
from pytest_promptse.variants.rules._sentences import SentenceGenerator, role_of
from pytest_promptse.variants.rules._small_talk import SmallTalk

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._library import Language, Library
    from pytest_promptse.variants._rewriter import RewriteRequest
    from pytest_promptse.variants.rules._composer import Source

_STANDING_IN = 12
_PATIENCE, _MOST_MISSES = 32, 2000
_MOST_REJECTED = 12
_T = TypeVar("_T")

VERSION = "18"
"""Increase this with every change of the variants by rules, including the shipped phrases."""
_NEUTRAL_VERSION = "15"
"""The version of the neutral control, whose phrases are its own."""
_DRAWS = "8"
"""The version whose seeds are used. Changed phrases alone keep it, so that variants without them
stay the same.
"""
STANDS_FOR = "stands-for:"
"""Prefix of the operation that names the emotion and persona behind a neutral variant."""


@dataclass(frozen=True, kw_only=True)
class RulesRewriter(Rewriter):
    """Write each task as a person with the given emotion and persona would.

    It works offline, without cost, and gives the same result on every machine. Each candidate
    depends only on the request's seed and the number of the try. The specification is kept
    verbatim. A variant is the original with inserted sentences of the writer; at most, the words
    that make the request are replaced.

    Parameters
    ----------
    library
        The library of phrases.
    control
        The name of a control condition of the library, or empty for emotion and persona.
    """

    library: Library
    control: str = ""

    @property
    def name(self) -> str:
        """``rules``, or the control condition."""
        return self.control or "rules"

    @property
    def version(self) -> str:
        """``17`` for the shipped library, ``17+digest`` for one with a team's own entries."""
        return (_NEUTRAL_VERSION if self.stands_for else VERSION) + self._own_entries

    @property
    def draws_as(self) -> str:
        """The label that the seeds are derived from, such as ``rules/8``."""
        return f"{self.stands_for or self.name}/{_DRAWS}{self._own_entries}"

    @property
    def _own_entries(self) -> str:
        return f"+{self.library.digest}" if self.library.digest else ""

    @property
    def has_persona(self) -> bool:
        """True if variants have an emotion and a persona."""
        return not self.control

    @property
    def stands_for(self) -> str:
        """The rewriter whose variants these match one by one, in length and position.

        Neutral variants repeat every decision of the variants by ``rules``, with other sentences in
        place of emotion and persona.
        """
        return "rules" if self.control == "neutral" else ""

    @property
    def draws_persona(self) -> bool:
        """True if the draws are those of variants with an emotion and a persona."""
        return self.has_persona or bool(self.stands_for)

    def candidates(self, request: RewriteRequest) -> Generator[Draft, object, None]:
        """Yield drafts with different random numbers until too many in a row have failed.

        After every 32 failed tries in a row, and after every 12 rejected drafts, the next draft
        makes one more concession. Their order is that of `Concession`. The budget of words always
        applies.

        Raises
        ------
        VariantError
            If the library has no phrases for the prompt's language, the emotion or the persona.
        """
        prompt = request.task.prompt
        source = read_source(prompt, request.task.entry_point, request.task.id, self.library)
        number = misses = rejected = 0
        while misses < _MOST_MISSES:
            seed = derive_seed(request.seed, "candidate", number)
            number += 1
            ease = max(misses // _PATIENCE, rejected // _MOST_REJECTED)
            drafts = (
                self._standing_in(request, source, seed, ease)
                if self.stands_for
                else self._speaking(request, source, seed, ease)
            )
            misses += 1
            for draft in drafts:
                misses = 0
                yield draft
                rejected += 1

    def _speaking(
        self, request: RewriteRequest, source: Source, seed: int, ease: int
    ) -> Iterator[Draft]:
        draft = self._composer(request, source, seed, self.control, seed, ease=ease).draft()
        if draft is not None:
            yield draft

    def _standing_in(
        self, request: RewriteRequest, source: Source, seed: int, ease: int
    ) -> Iterator[Draft]:
        """Yield neutral drafts with the decisions of the draft by ``rules``, if it is valid.

        `seed` is that of the draft. `ease` is the number of its concessions.
        """
        if self._composer(request, source, seed, "", seed, ease=ease).draft() is None:
            return
        for other in range(_STANDING_IN):
            marks = derive_seed(seed, "neutral", other)
            yield self._marked(
                self._composer(request, source, seed, self.control, marks, ease=ease).composed(),
                request,
            )

    def padded(self, task: Task, n_words: int, *, seed: int) -> Iterator[Draft]:
        """Yield drafts without end: control sentences before the original, or above a stub.

        Parameters
        ----------
        task
            The task to add the sentences to.
        n_words
            The total number of words of the sentences.
        seed
            Seed of the choice of sentences.

        Raises
        ------
        VariantError
            If the library has no control sentences in the language of the prompt.
        """
        source = read_source(task.prompt, task.entry_point, task.id, self.library)
        document, language = source.document, source.language
        control = _phrases(language.controls, self.control, "control", language)
        number = 0
        while True:
            rng = Random(derive_seed(seed, "padded", number))  # noqa: S311 - no secret
            number += 1
            talk = SmallTalk(talk=control, language=language, prompt=document.text)
            said = talk.of_length(n_words, rng)
            if document.is_stub:
                text = _layout.commented(document, [said])
            else:
                text = _layout.beside(document, [], [said], [])
            yield Draft(text=text, operations=("padding",), sentences=(said,))

    def _marked(self, draft: Draft, request: RewriteRequest) -> Draft:
        if not self.stands_for or request.emotion is None or request.personality is None:
            return draft
        mark = f"{STANDS_FOR}{request.emotion.name}-{request.personality.slug}"
        return replace(draft, operations=(*draft.operations, mark))

    def _composer(
        self,
        request: RewriteRequest,
        source: Source,
        seed: int,
        control: str,
        marks: int,
        *,
        ease: int,
    ) -> Composer:
        language, setting = source.language, source.setting
        emotion, personality = request.emotion, request.personality
        level = self.library.level(request.distance)
        passes_on = setting.is_passed_on_at(level.operation)
        given = setting.passed_on if passes_on else setting.facts
        writer_facts = frozenset[str]()
        neutral = None
        if emotion is not None:
            writer_facts |= {emotion.name}
            feeling = _phrases(language.feelings, emotion.name, "emotion", language)
            if control:
                talk = _phrases(language.controls, control, "control", language)
                neutral = SmallTalk(
                    talk=talk, language=language, prompt=source.document.text, slack=ease
                )
        else:
            # Courtesies repeat each other, and an e-mail may have some of its own.
            given -= {"chat", "mail"}
            feeling = _phrases(language.controls, control, "control", language)
        if personality is not None:
            role, style = role_of(personality), personality.collaboration.slug
            writer_facts |= {trait.slug for trait in personality.traits}
            _phrases(language.roles, role, "role", language)
            _phrases(language.collaboration, style, "style of collaboration", language)
        writer = SentenceGenerator(
            language=language,
            feeling=feeling,
            emotion=None if emotion is None else emotion.name,
            personality=personality,
            given=given,
            own=writer_facts,
            neutral=neutral,
            raised=feeling.style.lower and _writes_capitals(source, passes_on=passes_on),
            lowered=_writes_no_capitals(source),
            ease=ease,
            draws=Random(seed),  # noqa: S311 - no secret
            marks=Random(derive_seed(marks, "marks")),  # noqa: S311 - no secret
        )
        return Composer(
            source=source,
            writer=writer,
            level=level,
            emotional=request.weights.get("emotion", 0.5) >= 0.5,  # noqa: PLR2004
        )


def _writes_capitals(source: Source, *, passes_on: bool) -> bool:
    """Return whether the writer's sentences are inside a message that has capitals.

    `passes_on` is True if the writer passes on the message of somebody else.
    """
    frame, text = source.setting.frame, source.document.text
    return not passes_on and (
        frame == "mail" or (frame == "chat" and re.search(r"\bI\b", text) is not None)
    )


def _writes_no_capitals(source: Source) -> bool:
    """Return whether the prompt is a message of the writer's own without capitals and with *i*."""
    document, setting = source.document, source.setting
    if "own-voice" not in setting.facts or re.search(r"\bI\b", document.text):
        return False
    start = document.salutation
    if setting.frame == "chat" and start is not None:
        begins = document.text[start].islower()
        return begins and not document.text[document.head :].lstrip()[0].isupper()
    return setting.frame in ("chat", "prose") and document.text.lstrip()[:1].islower()


def _phrases(by_name: Mapping[str, _T], name: str, what: str, language: Language) -> _T:
    if name not in by_name:
        raise VariantError(
            f"{what} {name!r} has no phrases in {language.code}/; add them to the folder that "
            "promptse_library_dir names"
        )
    return by_name[name]
