"""Compose one message around a prompt: the operations of each level, within its budget of words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.variants._coherence import openings, repeats_an_opening
from pytest_promptse.variants._distance import changed, words
from pytest_promptse.variants._document import Document, read_document
from pytest_promptse.variants._language import prompt_language
from pytest_promptse.variants._rewriter import Draft
from pytest_promptse.variants.rules import _layout
from pytest_promptse.variants.rules._requests import RequestAct, find_request, put
from pytest_promptse.variants.rules._sentences import Concession, Said
from pytest_promptse.variants.rules._setting import Setting, read_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.variants._library import Form, Language, Level, Library
    from pytest_promptse.variants.rules._layout import Edit
    from pytest_promptse.variants.rules._sentences import SentenceGenerator

_PRONOUN = re.compile(r"I\b")
_CUE_WORDS, _FEEL_WORDS, _ASK_WORDS, _INTRO_WORDS = 9, 10, 7, 10
_INTRODUCED, _BRIEF_INTRO_WORDS, _GREETED_FEEL_WORDS = 6, 4, 6
_LONG_FEEL_WORDS, _PERSONA_WORDS, _LONG_PERSONA_WORDS = 14, 19, 30
_PASSAGE_WORDS = 19
_ASKED = 0.95
_LONGER, _MOST_LONGER = 0.1, 3


@dataclass(frozen=True)
class Source:
    """A prompt as the rules read it. ``words`` are its measured words."""

    document: Document
    language: Language
    setting: Setting
    request: RequestAct | None
    words: tuple[str, ...]


@lru_cache(maxsize=64)
def read_source(prompt: str, entry_point: str, task: str, library: Library) -> Source:
    """Read a prompt. `task` is the id of the task, for errors.

    Raises
    ------
    VariantError
        If the library has no phrases in the language of the prompt.
    """
    document = read_document(prompt, entry_point)
    language = library.language(prompt_language(document), task=task)
    setting = read_setting(document, language)
    # The text in a tag or in a stub keeps its letters, including the words of the request.
    fixed = setting.frame == "stub" or "tag" in document.kinds
    request = None if fixed else find_request(document, language)
    return Source(document, language, setting, request, tuple(words(prompt)))


@dataclass(frozen=True, kw_only=True)
class _Message:
    """A composed text and the writer's own sentences, in their order.

    ``before`` are the sentences before the prompt, ``after`` those behind it, and ``form`` those in
    the rephrased request.
    """

    text: str
    before: Sequence[Said]
    after: Sequence[Said]
    operations: Sequence[str]
    form: Said | None = None

    @property
    def said(self) -> tuple[Said, ...]:
        """All of the writer's own sentences."""
        return (*self.before, *self.after)


class _Preamble(NamedTuple):
    """The writer's sentences before the prompt, by their purpose.

    ``greeting`` has the first words, ``introduction`` the sentences of emotion and persona,
    ``request`` a separate request, and ``announcement`` the sentence before the pasted text.
    """

    greeting: Sequence[Said]
    introduction: Sequence[Said]
    request: Sequence[Said] = ()
    announcement: Sequence[Said] = ()

    @property
    def said(self) -> list[Said]:
        """All sentences, in the order in which they precede a prompt."""
        return [*self.greeting, *self.introduction, *self.request, *self.announcement]


@dataclass(frozen=True, kw_only=True)
class Composer:
    """Compose one message around a prompt. All random decisions come from ``writer.draws``.

    ``emotional`` is True if the context gives the emotion at least as much weight as the persona.
    """

    source: Source
    writer: SentenceGenerator
    level: Level
    emotional: bool

    def draft(self) -> Draft | None:
        """Return a coherent draft within the budget of the level, or None if this try is not."""
        message = self._message()
        cost = changed(self.source.words, words(message.text)) / self.source.language.words_each
        fits = self.level.fewest <= round(cost) <= self.level.most
        return self._drafted(message) if fits and self._is_coherent(message) else None

    def composed(self) -> Draft:
        """Return a draft of any length."""
        return self._drafted(self._message())

    def _message(self) -> _Message:
        compose = {"light": self._light, "style": self._style, "transform": self._transform}
        return compose[self.level.operation]()

    def _is_coherent(self, message: _Message, *, ease: int | None = None) -> bool:
        """Return whether a message has no repetition and no contradiction.

        `ease` is the number of concessions, by default that of the writer.
        """
        ease = self.writer.ease if ease is None else ease
        if self.writer.personality is None:
            return True
        language, coherence = self.source.language, self.source.language.coherence
        request = [message.form.plain] if message.form else []
        texts = [
            *(said.plain for said in message.before),
            *request,
            *(said.plain for said in message.after),
        ]
        starts = [opening for text in texts for opening in openings(text)]
        if ease < Concession.OPENINGS and language.blank and repeats_an_opening(starts):
            return False
        used: set[str] = set()
        writer = self.writer
        asserted = writer.given | (message.form.facts if message.form else frozenset())
        for said in message.said:
            stems = set().union(
                *(coherence.stems(snippet, language.repeatable) for snippet in said.snippets)
            )
            if ease < Concession.WORDS and not used.isdisjoint(stems):
                return False
            # The parts of an introduction that is written as a whole belong together.
            writer_facts = frozenset[str]() if said.is_whole else writer.own
            unmet = frozenset[str]() if said.is_whole else coherence.unmet(asserted)
            firm = ease >= Concession.FITNESS
            refused = coherence.opponents(asserted | writer_facts, firm=firm) | unmet
            if not refused.isdisjoint(said.facts):
                return False
            used |= stems
            asserted |= said.facts
        return True

    # -- 0.1 -----------------------------------------------------------------------------------

    def _light(self) -> _Message:
        writer, draws, setting = self.writer, self.writer.draws, self.source.setting
        if setting.frame == "mail" and setting.is_passed_on_at("light"):
            said = [writer.cue(self._words(_INTRODUCED))]
            said += writer.intro(self._words(_INTRO_WORDS), bullets=False, said=said)
            block = draws.choice(setting.blocks(self.source.document))
            return self._around(block, said, [], ["cue", f"block:{block}"])
        form = self._form(light=True) if draws.random() < self._revoiced(0.4) else None
        edits, request = self._put(form)
        operations = ["cue", *([f"request:{form.kind}"] if form else [])]
        said = self._few_words(request)
        place = "comment" if setting.frame == "stub" else "before"
        before, after = said, list[Said]()
        if self._ends_message:
            place, before, after = "after", [], said
        return self._framed(before, after, edits, [*operations, f"place:{place}"], form=request)

    def _few_words(self, request: Sequence[Said]) -> list[Said]:
        """Return one cue of the emotion, which announces a prompt that addresses a model."""
        writer, frame = self.writer, self.source.setting.frame
        words = self._words(_CUE_WORDS)
        if self._ends_message and not self._comes_to_the_point:
            return writer.closing(words, said=request) or [writer.cue(words)]
        if frame != "tagged":
            return [writer.cue(words)]
        said = [writer.cue(self._words(_INTRODUCED))]
        return [
            *said,
            *writer.intro(self._words(_BRIEF_INTRO_WORDS), bullets=False, said=said),
        ]

    # -- 0.2 -----------------------------------------------------------------------------------

    def _style(self) -> _Message:
        writer, draws, setting = self.writer, self.writer.draws, self.source.setting
        passes_on = setting.is_passed_on_at("style")
        form = None
        revoiced = draws.random() < self._revoiced(0.7)
        if revoiced and not passes_on and not self._mixes_letters:
            form = self._form(light=False)
        edits, request = self._put(form)
        operations = ["sentences", *([f"request:{form.kind}"] if form else [])]
        late = setting.follows and draws.random() < 0.2  # noqa: PLR2004
        # Code alone requests nothing.
        share = 1 if setting.frame == "stub" else 0.6
        asked = self._words(_ASK_WORDS) if form is None and (late or draws.random() < share) else 0
        announced = 0
        if passes_on or setting.frame == "tagged":
            announced = self._words(_INTRO_WORDS if passes_on else _BRIEF_INTRO_WORDS)
        room = self._words(self.level.most) - asked - announced
        preamble = self._preamble(
            request, room=room, feel_words=_FEEL_WORDS, persona_words=_PERSONA_WORDS
        )
        said = [*request, *preamble.said]
        if asked and _cost(said) <= room:
            preamble = preamble._replace(request=writer.ask(asked, said=said))
            operations += ["request:own"] if preamble.request else []
            said += preamble.request
        if announced:
            intro = writer.intro(announced, bullets=False, said=said)
            preamble = preamble._replace(announcement=intro)
        preamble = self._long_enough(preamble, request, feelings=1)
        if self._is_greeted:
            return self._chatted(preamble, [], edits, operations, form=request)
        if passes_on:
            possible = setting.blocks(self.source.document)
            block = draws.choice(possible) if possible else None
            return self._around(block, preamble.said, [], [*operations, f"block:{block}"])
        if late and preamble.request:
            before = preamble._replace(request=()).said
            return self._framed(before, preamble.request, edits, operations, form=request)
        if self._ends_message:
            return self._framed([], preamble.said, edits, operations, form=request)
        return self._framed(preamble.said, [], edits, operations, form=request)

    def _preamble(
        self, said: Sequence[Said], *, room: int, feel_words: int, persona_words: int
    ) -> _Preamble:
        """Return a greeting, if one is drawn, and the writer's introduction.

        The introduction is written as a whole if the library has one. Otherwise it is composed of a
        sentence of emotion and one or two of the persona. It then mostly begins with who the writer
        is, unless the message has begun before.

        `room` is the largest number of words of `said`, the greeting and an introduction that is
        written as a whole, if there is one that short. `feel_words` and `persona_words` are those
        of the emotion and of the persona in a composed introduction. `said` are the sentences
        before.
        """
        writer, draws, frame = self.writer, self.writer.draws, self.source.setting.frame
        is_chat = frame == "chat"
        greeting: list[Said] = []
        if frame not in ("chat", "stub") and draws.random() < 0.3:  # noqa: PLR2004
            greeting = writer.greeting()
        said = [*said, *greeting]
        room -= _cost(said)
        whole = writer.introduction(
            self.level.operation,
            most=room,
            emotional=self.emotional,
            acquainted=self.source.setting.is_to_acquaintance,
            said=said,
        )
        if whole is not None:
            return _Preamble(greeting, self._with_feeling(whole, room=room, said=said))
        knows = self.source.setting.is_to_acquaintance
        if not self.source.language.blank and writer.personality is not None:
            # One long sentence of emotion: several short ones are choppy without connectives. A
            # habit stands oddly beside a mood that is drawn apart from it. So where all
            # introductions that are written as a whole contradict the prompt, it is left out,
            # unless acquaintances would be told too few different moods.
            persona = []
            if not knows and not writer.has_introductions(self.level.operation):
                persona = writer.persona(self._words(persona_words), said=said)
            elif not knows:
                persona = [writer.role(self._words(persona_words), said=said)]
            elif writer.ease:
                persona = [writer.way(self._words(_INTRO_WORDS), said=said)]
            begun = [*said, *persona]
            short = self._words(self.level.fewest) - _cost(begun)
            most = max(self._words(feel_words), short + self._words(_FEEL_WORDS))
            least = min(short, self._words(_PASSAGE_WORDS))
            feel = writer.feel(most, said=begun, scene=not knows, least=least)
            return _Preamble(greeting, [*persona, feel])
        if knows and writer.personality is not None:
            return _Preamble(greeting, [writer.way(self._words(_INTRO_WORDS), said=said)])
        role_first = draws.random() < 0.75 and not is_chat  # noqa: PLR2004
        feel_words = self._words(_GREETED_FEEL_WORDS if is_chat else feel_words)
        if role_first:
            persona = writer.persona(self._words(persona_words), said=said)
            return _Preamble(greeting, [*persona, writer.feel(feel_words, said=[*said, *persona])])
        feel = writer.feel(feel_words, said=said, scene=not is_chat)
        persona = writer.persona(self._words(persona_words), said=[*said, feel], joined=is_chat)
        return _Preamble(greeting, [feel, *persona])

    def _with_feeling(self, whole: Said, *, room: int, said: Sequence[Said]) -> list[Said]:
        """Return an introduction that is written as a whole, if short beside more of its emotion.

        A short introduction mostly tells who the writer is. The words of emotion beside it stand at
        the end that its own words of emotion are nearer to. A longer introduction shows the emotion
        in detail, and more words would repeat it.

        The words are left out if they do not fit, in a language without blanks, where they repeat
        the introduction, and beside a comment or an introduction in a manner of writing, which they
        do not have. `room` is the largest number of words of all, and `said` are the sentences
        before.
        """
        is_short = self.level.operation == "style" and self.source.language.blank
        if not is_short or whole.manner or "comment" in whole.facts:
            return [whole]
        room -= whole.length
        feel = self.writer.cue(room, said=[*said, whole])
        both = [feel, whole] if whole.begins_with_emotion else [whole, feel]
        message = _Message(text="", before=[*said, *both], after=(), operations=())
        return both if feel.length <= room and self._is_coherent(message, ease=0) else [whole]

    def _long_enough(
        self, preamble: _Preamble, request: Sequence[Said], *, feelings: int
    ) -> _Preamble:
        """Return `preamble` with `feelings` or more sentences of emotion, if it is short.

        An introduction that is written as a whole stays as it is, unless its role is left out.

        `request` has the sentences of the request, which count towards the length. The fewest words
        are those of the level.
        """
        writer = self.writer
        sentences = list(preamble.introduction)
        if self.source.setting.is_to_acquaintance:
            feelings = 1 if any(sentence.is_whole for sentence in sentences) else 2
        elif any(sentence.is_whole for sentence in sentences):
            if not writer.ease:
                return preamble
            feelings = 1
        # Characters that the prompt has too do not count as changed.
        fewest = self._words(self.level.fewest * (1 + _LONGER * min(writer.ease, _MOST_LONGER)))
        missing = feelings - 1 if self.source.language.blank else 0
        while missing > 0 or _cost([*request, *preamble.said]) < fewest:
            said = [*request, *preamble.said]
            sentences.append(writer.feel(self._words(_FEEL_WORDS), said=said, scene=False))
            preamble = preamble._replace(introduction=sentences)
            missing -= 1
        return preamble

    # -- 0.3 -----------------------------------------------------------------------------------

    def _transform(self) -> _Message:
        writer, draws = self.writer, self.writer.draws
        setting = self.source.setting
        possible = setting.blocks(self.source.document)
        block = draws.choice(possible) if possible else None
        operations = [f"block:{block}" if block else "sentences"]
        preamble = self._preamble(
            [],
            room=self._words(self.level.most),
            feel_words=_LONG_FEEL_WORDS,
            persona_words=_LONG_PERSONA_WORDS,
        )
        if draws.random() < (1 if setting.frame == "stub" else 0.7):
            asked = writer.ask(self._words(_ASK_WORDS), said=preamble.said)
            preamble = preamble._replace(request=asked)
            operations += ["request:own"] if asked else []
        if setting.is_announced:
            words, bullets = self._words(_INTRO_WORDS), block == "bullets"
            announced = writer.intro(words, bullets=bullets, said=preamble.said)
            preamble = preamble._replace(announcement=announced)
        preamble = self._long_enough(preamble, [], feelings=2 if self.emotional else 1)
        if self._is_greeted:
            closing: list[Said] = []
            if self._follows_message and draws.random() < 0.5:  # noqa: PLR2004
                closing = writer.closing(self._words(6), said=preamble.said)
            return self._chatted(preamble, closing, [], operations)
        # Words can follow a block that is set apart, and prose.
        ends = block in ("rule", "quote") or setting.follows or self._ends_message
        if block is None:
            return self._framed(preamble.said, [], [], operations)
        if not (ends or self._follows_message):
            return self._around(block, preamble.said, [], operations)
        return self._retold(preamble, block, operations)

    def _retold(
        self, preamble: _Preamble, block: _layout.Block, operations: Sequence[str]
    ) -> _Message:
        """Return a transformation of a prompt that words can follow.

        These words are the request, last words, or both.
        """
        writer, draws = self.writer, self.writer.draws
        after: list[Said] = []
        before = preamble
        if preamble.request and draws.random() < 0.6:  # noqa: PLR2004 - requested afterwards
            after, before = list(preamble.request), preamble._replace(request=())
        if draws.random() < 0.4:  # noqa: PLR2004
            after += writer.closing(self._words(6), said=preamble.said)
        if self.source.setting.frame != "chat":
            return self._around(block, before.said, after, operations)
        if self._ends_message:
            return self._framed([], [*before.said, *after], [], operations)
        return self._framed(before.said, after, [], operations)

    def _chatted(
        self,
        preamble: _Preamble,
        closing: Sequence[Said],
        edits: list[Edit],
        operations: Sequence[str],
        form: Sequence[Said] = (),
    ) -> _Message:
        """Return a chat message with the first words behind its greeting, and the rest after it.

        Everything is behind the greeting if no text may follow the message. Everything is after a
        message without blanks between its words to somebody whom the writer knows: it calls its
        reader and comes to the point. `closing` is last words. `edits`, `operations` and `form` are
        those of the request in the message.
        """
        before, after = preamble.said, list[Said]()
        if self._follows_message:
            # An introduction that is written as a whole is not divided, and too long to precede a
            # small letter.
            is_whole = any(sentence.is_whole for sentence in preamble.introduction)
            first = len(preamble.introduction) if is_whole else 1
            first = 0 if (is_whole and self._goes_on_small) or self._comes_to_the_point else first
            before, after = before[:first], [*before[first:], *closing]
        return self._framed(before, after, edits, operations, form=form)

    def _around(
        self,
        block: _layout.Block | None,
        before: Sequence[Said],
        after: Sequence[Said],
        operations: Sequence[str],
    ) -> _Message:
        writer = self.writer
        text = _layout.around(
            self.source.document,
            block or "paste",
            [writer.join(before)],
            [writer.join(after)] if after else [],
        )
        return _Message(text=text, before=before, after=after, operations=operations)

    # -- shared --------------------------------------------------------------------------------

    @property
    def _follows_message(self) -> bool:
        """Whether the writer's words can follow a message that goes on from its greeting."""
        return self.source.setting.frame == "chat" and self.source.document.tail is not None

    @property
    def _mixes_letters(self) -> bool:
        """Whether a writer without capitals would put words into a text that has them."""
        writer = self.writer
        # The style of the emotion, so that a neutral variant makes the same decisions.
        has_no_capitals = writer.feeling.style.lower and not writer.raised
        return has_no_capitals and not writer.lowered and "one-liner" not in writer.given

    @property
    def _is_greeted(self) -> bool:
        """Whether the prompt is a chat message with a greeting that the writer can go on from."""
        return self.source.setting.frame == "chat" and self.source.document.salutation is not None

    @property
    def _goes_on_small(self) -> bool:
        """Whether a message that has capitals goes on from its greeting with a small letter.

        No sentence can end before it.
        """
        document = self.source.document
        rest = document.text[document.salutation :].lstrip()
        return rest[:1].islower() and not self.writer.lowered

    @property
    def _comes_to_the_point(self) -> bool:
        """Whether a message without blanks calls its reader, whom the writer knows."""
        return not self.source.language.blank and self.source.setting.is_to_acquaintance

    @property
    def _ends_message(self) -> bool:
        """Return whether the writer's words must be at the end of a message."""
        is_called = self.source.document.salutation is not None
        return self._follows_message and (not is_called or self._comes_to_the_point)

    def _framed(
        self,
        before: Sequence[Said],
        after: Sequence[Said],
        edits: list[Edit],
        operations: Sequence[str],
        form: Sequence[Said] = (),
    ) -> _Message:
        """Return the prompt with a paragraph before it and one after it, inside its own frame.

        `edits` are the changes inside the prompt, as (start, end, new text). `operations` are the
        names of all operations of the message, for its record. `form` has the sentences that
        `edits` insert.
        """
        document, writer = self.source.document, self.writer
        if self._is_greeted and self._goes_on_small:
            before = _without_last_stop(before)
        first, last = writer.join(before), writer.join(after)
        inline = None
        if first and self._is_greeted:
            first, inline = self._after_greeting(first), self.source.language.blank
        paragraphs = ([first] if first else [], [last] if last else [])
        if document.is_stub:
            text = _layout.commented(document, paragraphs[0])
        else:
            text = _layout.beside(document, edits, *paragraphs, inline=inline)
        return _Message(
            text=text,
            before=before,
            after=after,
            operations=operations,
            form=form[0] if form else None,
        )

    def _after_greeting(self, text: str) -> str:
        """Return `text` in the form that continues after *hey,* or *hey!*."""
        document = self.source.document
        comma = document.text[: document.salutation].rstrip().endswith((",", "\uff0c"))
        if comma and not _PRONOUN.match(text):
            text = text[:1].lower() + text[1:]
        return text if not text[-1].isalnum() else text + self.writer.feeling.style.run_on

    def _words(self, number: float) -> int:
        """Return a number of words as the number of measured words of the language."""
        return round(number * self.source.language.words_each)

    def _revoiced(self, share: float) -> float:
        """Return the share of rephrased requests: `share`, or nearly all for a writer who asks.

        Not all, since no introduction of a persona may be short enough beside the words of a form.
        """
        return _ASKED if self.writer.feeling.style.asks else share

    def _form(self, *, light: bool) -> Form | None:
        act, facts_of = self.source.request, self.source.language.coherence.facts_of
        forms = [
            form
            for form in (act.forms if act else ())
            if form.light >= light and self.writer.accepts(facts_of(form.say) | {"form"})
        ]
        return self.writer.draws.choice(forms) if forms else None

    def _put(self, form: Form | None) -> tuple[list[Edit], list[Said]]:
        """Return the edits that put the request into `form`, and the added sentences."""
        act, document = self.source.request, self.source.document
        if act is None or form is None:
            return [], []
        lower = self.writer.style.lower and "one-liner" in self.writer.given
        edits = put(document, act, form, lower=lower or self.writer.lowered)
        cost = sum(
            changed(words(document.text[start:end]), words(new)) for start, end, new in edits
        )
        facts = self.source.language.coherence.facts_of(form.say) | {"form"}
        return edits, [Said("", form.say.replace("{verb}", act.verb), (), cost, facts)]

    def _drafted(self, message: _Message) -> Draft:
        operations = tuple(message.operations)
        cues: dict[str, str] = {}
        for sentence in message.said:
            for dimension, shown in sentence.cues.items():
                cues[dimension] = max(cues.get(dimension, ""), shown, key=len)
        manners = {
            f"manner:{sentence.manner}": None for sentence in message.said if sentence.manner
        }
        written: Callable[[str], str] = str
        if not self.source.language.blank:
            # Marks that occur in the prompt stay, so only the writer's own words change.
            written = partial(_layout.punctuated_like, self.source.document.text)
        return Draft(
            text=written(message.text),
            cues={dimension: written(shown) for dimension, shown in cues.items()},
            operations=(*operations, *manners),
            sentences=tuple(written(sentence.text) for sentence in message.said),
            snippets=tuple(snippet for sentence in message.said for snippet in sentence.snippets),
        )


def _cost(said: Sequence[Said]) -> int:
    return sum(sentence.length for sentence in said)


def _without_last_stop(said: Sequence[Said]) -> list[Said]:
    if not said or not said[-1].text.endswith(".") or said[-1].text.endswith(".."):
        return [*said]
    *others, last = said
    cues = {dimension: cue.removesuffix(".") for dimension, cue in last.cues.items()}
    return [*others, replace(last, text=last.text.removesuffix("."), cues=cues)]
