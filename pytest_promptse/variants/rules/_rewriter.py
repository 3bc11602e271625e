"""Variants by rules: the operations of each level, within its budget of words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, TypeVar

from pytest_promptse.errors import VariantError
from pytest_promptse.models._base import derive_seed
from pytest_promptse.variants._distance import changed, words
from pytest_promptse.variants._document import Document, read_document
from pytest_promptse.variants._language import main_language
from pytest_promptse.variants._rewriter import Draft
from pytest_promptse.variants.rules import _layout
from pytest_promptse.variants.rules._requests import RequestAct, find_request, put
from pytest_promptse.variants.rules._sentences import (
    Said,
    SentenceGenerator,
    neutral_text,
    role_of,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._library import (
        Form,
        Language,
        Level,
        Library,
        Manner,
        Personality,
    )
    from pytest_promptse.variants._rewriter import RewriteRequest
    from pytest_promptse.variants.rules._layout import Edit

_PRONOUN = re.compile(r"I\b")
_STANDING_IN = 12
_DOCSTRING_SHARE = 0.1
_T = TypeVar("_T")

VERSION = "2"
"""Bumped with every change of what rules make, the shipped phrases included."""
STANDS_FOR = "stands-for:"
"""Begins the operation that names the emotion and persona that a neutral variant stands for."""

_CUE_WORDS, _FEEL_WORDS, _ASK_WORDS, _INTRO_WORDS = 9, 10, 7, 10
_LONG_FEEL_WORDS, _PERSONA_WORDS, _LONG_PERSONA_WORDS = 14, 19, 30


@dataclass(frozen=True, kw_only=True)
class RulesRewriter:
    """Writes each task as a person of the given emotion and persona would ask for it.

    Offline, without cost, and the same on every machine: each candidate follows from the
    request's seed and the number of the try alone. The specification stays verbatim: a variant
    is the original with the writer's own sentences inserted and, at most, the words that ask
    replaced.

    Parameters
    ----------
    library
        The phrases.
    control
        The name of a control condition of the library; empty for emotion and persona.
    """

    library: Library
    control: str = ""

    @property
    def name(self) -> str:
        """``rules``, or the control condition."""
        return self.control or "rules"

    @property
    def version(self) -> str:
        """``2`` for the shipped library, ``2+digest`` for one with entries of a team's own."""
        return VERSION + (f"+{self.library.digest}" if self.library.digest else "")

    @property
    def has_persona(self) -> bool:
        """Whether variants have an emotion and a persona."""
        return not self.control

    @property
    def stands_for(self) -> str:
        """The rewriter whose variants these ones match in length and place, one by one.

        Neutral variants repeat every decision of the variants by ``rules`` and have other
        sentences in the place of emotion and persona.
        """
        return "rules" if self.control == "neutral" else ""

    @property
    def waives(self) -> frozenset[str]:
        """Names of rules that do not apply: none."""
        return frozenset()

    def candidates(self, request: RewriteRequest) -> Generator[Draft, object, None]:
        """Yield drafts without end, each with its own random numbers.

        Raises
        ------
        VariantError
            If the library has no phrases for the prompt's language, the emotion or the persona.
        """
        prompt = request.task.prompt
        source = _source(prompt, request.task.entry_point, request.task.id, self.library)
        number = 0
        while True:
            seed = derive_seed(request.seed, "candidate", number)
            number += 1
            if self.stands_for:
                yield from self._standing_in(request, source, seed)
                continue
            draft = self._composer(request, source, seed, self.control, seed).draft()
            if draft is not None:
                yield draft

    def _standing_in(self, request: RewriteRequest, source: _Source, seed: int) -> Iterator[Draft]:
        """Yield neutral drafts with the decisions of the has_persona one, if that one is valid."""
        if self._composer(request, source, seed, "", seed).draft() is None:
            return
        for other in range(_STANDING_IN):
            marks = derive_seed(seed, "neutral", other)
            draft = self._composer(request, source, seed, self.control, marks).draft(
                any_length=True
            )
            if draft is not None:
                yield self._marked(draft, request)

    def padded(self, task: Task, n_words: int, *, seed: int) -> Iterator[Draft]:
        """Yield drafts without end: sentences of the control before the original, or above a stub.

        Parameters
        ----------
        task
            The task.
        n_words
            The number of words of the sentences together.
        seed
            What the choice of sentences follows from.

        Raises
        ------
        VariantError
            If the library has no sentences of the control in the language of the prompt.
        """
        source = _source(task.prompt, task.entry_point, task.id, self.library)
        document, language = source.document, source.language
        control = _phrases(language.controls, self.control, "control", language)
        number = 0
        while True:
            rng = Random(derive_seed(seed, "padded", number))  # noqa: S311 - no secret
            number += 1
            said = neutral_text(control.sentences, n_words, language.blank, rng)
            if document.is_stub:
                text = _layout.commented(document, [said], [])
            else:
                text = _layout.beside(document, [], [said], [])
            yield Draft(text=text, operations=("padding",), sentences=(said,))

    def _marked(self, draft: Draft, request: RewriteRequest) -> Draft:
        if not self.stands_for or request.emotion is None or request.personality is None:
            return draft
        mark = f"{STANDS_FOR}{request.emotion.name}-{request.personality.slug}"
        return replace(draft, operations=(*draft.operations, mark))

    def _composer(
        self, request: RewriteRequest, source: _Source, seed: int, control: str, marks: int
    ) -> _Composer:
        language = source.language
        emotion, personality = request.emotion, request.personality
        level = self.library.level(request.distance)
        neutral = None
        manner = None
        if emotion is not None:
            feeling = _phrases(language.feelings, emotion.name, "emotion", language)
            if control:
                neutral = _phrases(language.controls, control, "control", language)
        else:
            feeling = _phrases(language.controls, control, "control", language)
        if personality is not None:
            role, style = role_of(personality), personality.collaboration.slug
            _phrases(language.roles, role, "role", language)
            _phrases(language.collaboration, style, "style of collaboration", language)
            if emotion is not None:
                manner = _manner(language, level, emotion.name, personality, seed)
        if manner is not None and emotion is not None:
            feeling = manner.language.feelings[emotion.name]
        writer = SentenceGenerator(
            language=manner.language if manner else language,
            feeling=feeling,
            emotion=None if neutral or emotion is None else emotion.name,
            personality=personality,
            neutral=neutral,
            draws=Random(seed),  # noqa: S311 - no secret
            marks=Random(derive_seed(marks, "marks")),  # noqa: S311 - no secret
        )
        return _Composer(
            source=source,
            writer=writer,
            level=level,
            feelings=1 if request.weights.get("emotion", 0.5) < 0.5 else 2,  # noqa: PLR2004
            manner=manner.name if manner else "",
        )


def _manner(
    language: Language, level: Level, emotion: str, personality: Personality, seed: int
) -> Manner | None:
    """Draw a manner of writing for a variant; None for most of them, which have none."""
    roll = Random(derive_seed(seed, "manner")).random()  # noqa: S311 - no secret
    for manner in language.manners:
        roll -= manner.share
        if roll < 0:
            fits = manner.fits(
                operation=level.operation,
                emotion=emotion,
                role=role_of(personality),
                collaboration=personality.collaboration.slug,
            )
            return manner if fits else None
    return None


def _phrases(known: Mapping[str, _T], name: str, what: str, language: Language) -> _T:
    if name not in known:
        raise VariantError(
            f"{what} {name!r} has no phrases in {language.code}/; add them to the folder that "
            "promptse_library_dir names"
        )
    return known[name]


@dataclass(frozen=True)
class _Source:
    document: Document
    language: Language
    request: RequestAct | None
    asks: bool
    words: tuple[str, ...]


@lru_cache(maxsize=64)
def _source(prompt: str, entry_point: str, task: str, library: Library) -> _Source:
    document = read_document(prompt, entry_point)
    sentences = [document.content(span) for span in document.sentences]
    language = library.language(main_language(sentences), task=task)
    request = None if document.is_stub else find_request(document, language)
    asks = any(
        act.kind == "question" and act.find.search(sentence)
        for act in language.requests.acts
        for sentence in sentences
    )
    return _Source(document, language, request, asks, tuple(words(prompt)))


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """The sentences of a transformation, by what they do."""

    opening: list[Said]
    intro: list[Said]
    ask: list[Said]
    feel: list[Said]
    persona: list[Said]
    closing: list[Said]

    @property
    def cost(self) -> int:
        """The number of their words."""
        every = (self.opening, self.intro, self.ask, self.feel, self.persona, self.closing)
        return sum(_cost(said) for said in every)


@dataclass(frozen=True, kw_only=True)
class _Composer:
    """Composes one draft; everything left to chance comes from the writer's draws."""

    source: _Source
    writer: SentenceGenerator
    level: Level
    feelings: int
    manner: str

    def draft(self, *, any_length: bool = False) -> Draft | None:
        """Return a draft within the budget of the level, None if this try misses it.

        With `any_length` the budget does not count.
        """
        compose = {"light": self._light, "style": self._style, "transform": self._transform}
        draft = compose[self.level.operation]()
        cost = changed(self.source.words, words(draft.text)) / self.source.language.words_each
        return draft if any_length or self.level.fewest <= round(cost) <= self.level.most else None

    # -- 0.1 -----------------------------------------------------------------------------------

    def _light(self) -> Draft:
        writer, draws = self.writer, self.writer.draws
        most = self._budget
        place = self._place_of_cue(draws.random())
        words = self._words(_CUE_WORDS)
        said = [writer.closing(words) if place == "after" else writer.cue(words)]
        operations = ["cue"]
        edits: list[Edit] = []
        spent = _cost(said)
        form = self._form(light=True) if draws.random() < 0.4 else None  # noqa: PLR2004
        if form is not None:
            edits, cost = self._put(form)
            spent += cost
            operations.append(f"request:{form.kind}")
        left = most - spent
        wanted = draws.random() < 0.2 and left >= self._words(7)  # noqa: PLR2004
        if wanted and place not in ("after", "greeting"):
            role = writer.role(left)
            if role is not None:
                said.append(role)
                operations.append("persona")
        made = self._placed(place, writer.join(said), edits)
        return self._drafted(made, said, [*operations, f"place:{place}"])

    def _place_of_cue(self, roll: float) -> str:
        """Return where a few words of the writer's own stand."""
        document = self.source.document
        if document.is_stub:
            inside = document.docstring is not None and roll < _DOCSTRING_SHARE
            return "docstring" if inside else "comment"
        if document.greets_in_its_sentence and document.tail is not None:
            return "after" if document.salutation is None or roll < 0.3 else "greeting"  # noqa: PLR2004
        if document.starts_in_prose and roll < 0.5:  # noqa: PLR2004
            return "inline"
        return "after" if document.tail is not None and roll > 0.75 else "before"  # noqa: PLR2004

    def _placed(self, place: str, text: str, edits: list[Edit]) -> str:
        document = self.source.document
        blank = self.source.language.blank
        if place == "docstring":
            return _layout.commented(document, [], [text])
        if place == "comment":
            return _layout.commented(document, [text], [])
        if place == "inline":
            return _layout.beside(document, edits, [self._ended(text)], [], inline=blank)
        if place == "greeting":
            return _layout.beside(document, edits, [self._after_greeting(text)], [], inline=blank)
        if place == "after":
            return _layout.beside(document, edits, [], [text])
        return _layout.beside(document, edits, [text], [])

    def _after_greeting(self, text: str) -> str:
        """Return `text` as it goes on from *hey,* or *hey!*."""
        document = self.source.document
        comma = document.text[: document.salutation].rstrip().endswith((",", "\uff0c"))
        if comma and not _PRONOUN.match(text):
            text = text[:1].lower() + text[1:]
        return self._ended(text)

    # -- 0.2 -----------------------------------------------------------------------------------

    def _style(self) -> Draft:
        writer, draws = self.writer, self.writer.draws
        document = self.source.document
        edits: list[Edit] = []
        operations = ["sentences"]
        form = self._form(light=False) if draws.random() < 0.8 else None  # noqa: PLR2004
        asked: list[Said] = []
        spent = 0
        if form is not None:
            edits, spent = self._put(form)
            operations.append(f"request:{form.kind}")
        elif draws.random() < 0.7 and not self.source.asks:  # noqa: PLR2004
            asked = [writer.ask(self._words(_ASK_WORDS))]
            spent = _cost(asked)
            operations.append("request:own")
        order = draws.random()
        late = self._open_end and order >= 0.7  # noqa: PLR2004 - the emotion after the prompt
        feel = [writer.feel(self._words(_FEEL_WORDS), scene=not late)]
        spent += _cost(feel)
        most = min(self._budget - spent, self._words(_PERSONA_WORDS))
        apart = self._open_end and draws.random() < 0.5  # noqa: PLR2004
        persona = self._persona(most, apart=apart, but=feel)
        spent += _cost(persona)
        while spent < self._words(self.level.fewest):
            taken = [*feel, *persona]
            more = writer.feel(self._words(_FEEL_WORDS), but=taken, scene=not late)
            feel.append(more)
            spent += _cost([more])
        if document.greets_in_its_sentence and self._open_end:
            return self._inside_message(feel, [*persona, *asked], edits, operations)
        if len(persona) > 1:
            role, remark = persona
            first, last = ([role], [remark, *feel]) if late else ([*feel, role], [remark])
        elif late:
            first, last = persona, feel
        elif self._open_end and order < 0.35:  # noqa: PLR2004
            first, last = feel, persona
        else:
            swap = not self._open_end and order < 0.5  # noqa: PLR2004
            first, last = ([*persona, *feel] if swap else [*feel, *persona]), []
        if draws.random() < 0.5 and self._open_end:  # noqa: PLR2004
            last = [*last, *asked]
        else:
            first = [*first, *asked]
        return self._framed(first, last, edits, operations)

    def _persona(self, most: int, *, apart: bool, but: Sequence[Said]) -> list[Said]:
        """Return the persona as one sentence, or `apart` as its role and a remark."""
        writer = self.writer
        if not apart:
            persona = writer.persona(most, but=but)
            return [persona] if persona else []
        role = writer.role(round(most * 0.6))
        if role is None:
            return []
        remark = writer.remark(most - role.length, but=[*but, role])
        return [role, remark] if remark else [role]

    @property
    def _open_end(self) -> bool:
        return self.source.document.tail is not None

    def _inside_message(
        self, feel: list[Said], rest: list[Said], edits: list[Edit], operations: list[str]
    ) -> Draft:
        """Return a draft of a message that greets in its first sentence."""
        writer, document = self.writer, self.source.document
        if document.salutation is None:
            made = _layout.beside(document, edits, [], [writer.join([*feel, *rest])])
            return self._drafted(made, [*feel, *rest], operations)
        made = _layout.beside(
            document,
            edits,
            [self._after_greeting(writer.join(feel))],
            [writer.join(rest)] if rest else [],
            inline=self.source.language.blank,
        )
        return self._drafted(made, [*feel, *rest], operations)

    def _framed(
        self, first: list[Said], last: list[Said], edits: list[Edit], operations: list[str]
    ) -> Draft:
        document = self.source.document
        before, after = self.writer.join(first), self.writer.join(last)
        paragraphs = ([before] if before else [], [after] if after else [])
        if document.is_stub:
            made = _layout.commented(document, *paragraphs)
        else:
            made = _layout.beside(document, edits, *paragraphs)
        return self._drafted(made, [*first, *last], operations)

    # -- 0.3 -----------------------------------------------------------------------------------

    def _transform(self) -> Draft:
        writer, draws = self.writer, self.writer.draws
        document = self.source.document
        known = [
            block
            for block in _layout.blocks(document)
            if document.salutation is None
            or block in (("rule", "quote") if self._open_end else ("paste",))
        ]
        block = draws.choice(known) if known else None
        operations = [f"block:{block}" if block else "sentences"]
        parts = _Parts(
            opening=[],
            intro=[writer.intro(self._words(_INTRO_WORDS), bullets=block == "bullets")],
            ask=[],
            feel=[writer.feel(self._words(_LONG_FEEL_WORDS))],
            persona=[],
            closing=[],
        )
        if block != "paste" or not self.source.asks:
            parts.ask.append(writer.ask(self._words(_ASK_WORDS)))
            operations.append("request:own")
        if "greeting" not in document.kinds and draws.random() < 0.25:  # noqa: PLR2004
            parts.opening.append(writer.greeting())
        if self.feelings > 1:
            parts.feel.append(self._more_feeling(parts))
        if draws.random() < 0.5 and (self._open_end or document.is_stub):  # noqa: PLR2004
            parts.closing.append(writer.closing(self._words(6), but=parts.feel))
        most = min(self._budget - parts.cost, self._words(_LONG_PERSONA_WORDS))
        apart = self._open_end and draws.random() < 0.5  # noqa: PLR2004
        parts.persona.extend(self._persona(most, apart=apart, but=parts.feel))
        while parts.cost < self._words(self.level.fewest):
            parts.feel.append(self._more_feeling(parts))
        if document.is_stub:
            return self._above_stub(parts, operations)
        if not self._open_end:
            return self._before_all(parts, operations)
        before, after = self._retold(parts)
        made = _layout.around(
            document,
            block or "paste",
            [writer.join([*parts.opening, *before])],
            [writer.join(after)] if after else [],
        )
        return self._drafted(made, [*parts.opening, *before, *after], operations)

    def _more_feeling(self, parts: _Parts) -> Said:
        """Return a further sentence of emotion, which sets no scene."""
        taken = [*parts.feel, *parts.persona, *parts.closing]
        return self.writer.feel(self._words(_LONG_FEEL_WORDS), but=taken, scene=False)

    def _retold(self, parts: _Parts) -> tuple[list[Said], list[Said]]:
        """Return the sentences before and after the block, the request in a place of its own."""
        feel, more = parts.feel[:1], parts.feel[1:]
        roll = self.writer.draws.random()
        if len(parts.persona) > 1:
            role, remark = parts.persona
            if roll < 0.35:  # noqa: PLR2004 - the request before the block
                return [*feel, role, *parts.ask, *parts.intro], [remark, *more, *parts.closing]
            return [*feel, role, *parts.intro], [remark, *more, *parts.ask, *parts.closing]
        if roll < 0.4:  # noqa: PLR2004 - the request after the block
            return [*feel, *parts.persona, *parts.intro], [*more, *parts.ask, *parts.closing]
        if roll < 0.7:  # noqa: PLR2004 - the persona after the block
            return [*feel, *parts.ask, *parts.intro], [*parts.persona, *more, *parts.closing]
        return [*feel, *parts.intro], [*parts.persona, *more, *parts.ask, *parts.closing]

    def _above_stub(self, parts: _Parts, operations: Sequence[str]) -> Draft:
        document, writer = self.source.document, self.writer
        inside = []
        if document.docstring is not None and writer.draws.random() < _DOCSTRING_SHARE:
            inside = parts.persona
        above = [
            *parts.opening,
            *parts.feel[:1],
            *([] if inside else parts.persona),
            *parts.feel[1:],
            *parts.ask,
            *parts.closing,
        ]
        made = _layout.commented(
            document, [writer.join(above)], [writer.join(inside)] if inside else []
        )
        return self._drafted(made, [*above, *inside], operations)

    def _before_all(self, parts: _Parts, operations: Sequence[str]) -> Draft:
        """Return a draft of a prompt that nothing may follow."""
        writer = self.writer
        first, second = parts.feel[:1], parts.persona
        if writer.draws.random() < 0.5:  # noqa: PLR2004
            first, second = second, first
        text = [*parts.opening, *first, *second, *parts.feel[1:]]
        last = [*parts.ask, *parts.intro]
        made = _layout.around(
            self.source.document, "paste", [writer.join(text), writer.join(last)], []
        )
        return self._drafted(made, [*text, *last], operations)

    # -- shared --------------------------------------------------------------------------------

    @property
    def _budget(self) -> int:
        return self._words(self.level.most)

    def _words(self, number: float) -> int:
        """Return a number of words as measured words of the language."""
        return round(number * self.source.language.words_each)

    def _form(self, *, light: bool) -> Form | None:
        act = self.source.request
        forms = [form for form in act.forms if form.light >= light] if act else []
        return self.writer.draws.choice(forms) if forms else None

    def _put(self, form: Form) -> tuple[list[Edit], int]:
        """Return the edits that put the request into `form`, and the words they change."""
        act, document = self.source.request, self.source.document
        if act is None:
            return [], 0
        edits = put(document, act, form, lower=self.writer.style.lower)
        cost = sum(
            changed(words(document.text[start:end]), words(new)) for start, end, new in edits
        )
        return edits, cost

    def _ended(self, text: str) -> str:
        return text if not text[-1].isalnum() else text + self.source.language.stop

    def _drafted(self, text: str, said: Sequence[Said], operations: Sequence[str]) -> Draft:
        if self.manner:
            operations = [*operations, f"manner:{self.manner}"]
        cues: dict[str, str] = {}
        for each in said:
            for dimension, shown in each.cues.items():
                cues.setdefault(dimension, shown)
        return Draft(
            text=text,
            cues=cues,
            operations=tuple(operations),
            sentences=tuple(each.text for each in said),
            snippets=tuple(snippet for each in said for snippet in each.snippets),
        )


def _cost(said: Sequence[Said]) -> int:
    return sum(each.length for each in said)
