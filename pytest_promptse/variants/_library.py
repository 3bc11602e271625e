"""The template library: emotions, personas, levels, contexts and the phrases of each language."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from typing import TYPE_CHECKING, TypeVar

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import VariantError
from pytest_promptse.variants._coherence import Coherence
from pytest_promptse.variants._language import NAMES, has_script_of, main_language

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from pytest_promptse.variants._introductions import Introductions

DIMENSIONS = ("technical", "experience", "collaboration")
"""The three dimensions of a persona, in the order of its slug."""

_T = TypeVar("_T")


def quadrant(valence: float, arousal: float) -> str:
    """Return the quadrant of the circumplex model, for example ``positive-active``.

    Both coordinates are in [-1, 1]; 0 counts as positive and as active.
    """
    sign = "positive" if valence >= 0 else "negative"
    return f"{sign}-{'active' if arousal >= 0 else 'calm'}"


@dataclass(frozen=True, kw_only=True)
class Emotion:
    """One emotion: description, language characteristics, expression pattern, and its position.

    ``valence`` and ``arousal`` are in [-1, 1] (Russell 1980, doi:10.1037/h0077714).
    """

    name: str
    description: str
    language: str
    pattern: str
    valence: float
    arousal: float

    @property
    def quadrant(self) -> str:
        """``positive-active``, ``positive-calm``, ``negative-active`` or ``negative-calm``."""
        return quadrant(self.valence, self.arousal)


@dataclass(frozen=True, kw_only=True)
class Trait:
    """One value of one dimension of a persona, such as ``pragmatic`` of ``technical``.

    ``slug`` is the name in ids and options, and ``vocabulary`` describes the words of such a
    writer.
    """

    slug: str
    dimension: str
    name: str
    description: str
    vocabulary: str


@dataclass(frozen=True, kw_only=True)
class Personality:
    """A persona (T, L, C): technical orientation, experience and style of working together."""

    technical: Trait
    experience: Trait
    collaboration: Trait

    @property
    def slug(self) -> str:
        """``technical.experience.collaboration``, as in variant ids."""
        return ".".join(trait.slug for trait in self.traits)

    @property
    def traits(self) -> tuple[Trait, Trait, Trait]:
        """The three traits, in the order of the slug."""
        return (self.technical, self.experience, self.collaboration)


@dataclass(frozen=True, kw_only=True)
class Level:
    """The operations and the budget of words at one distance.

    ``operation`` is ``light``, ``style`` or ``transform``. A variant changes at least `fewest` and
    at most `most` words, including those of the writer's own sentences.
    """

    distance: float
    operation: str
    description: str
    fewest: int
    most: int


@dataclass(frozen=True, kw_only=True)
class Context:
    """A circumstance of a task that shifts the weights of emotion and persona.

    The circumstance is present to the degree ``base`` plus ``step`` for each of ``signals`` found
    in the task, at most 1. This degree times ``tilt`` is added to the weight of the emotion.
    """

    name: str
    description: str
    base: float
    step: float
    tilt: float
    signals: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Style:
    """The style of an emotion in the sentences that all emotions share.

    ``lower`` writes them without capitals. A full stop is replaced by one of ``ends``. If that
    leaves no mark, ``run_on`` precedes the next sentence. Each of ``joints`` joins the two clauses
    of a persona: ``{0}`` is the clause as it is, ``{0^}`` with a capital. ``asks`` rephrases a bare
    request, as in *Could you write*, wherever that is possible.
    """

    lower: bool = False
    asks: bool = False
    run_on: str = ","
    ends: tuple[str, ...] = (".",)
    joints: tuple[str, ...] = ("{0^}. {1^}.",)


@dataclass(frozen=True, kw_only=True)
class Feeling:
    """The phrases of one emotion or control condition in one language.

    ``cues`` are utterances of a few words that suit every place. ``notes`` suit a text that the
    writer passes on, such as a ticket or code, and ``talk`` suits a message of the writer's own.
    ``sentences`` are whole sentences, ``closings`` last words.
    ``scenes`` are sentences that set a place or a time; a variant has at most one. ``topics`` are
    the clauses of the small talk of a control condition, by topic, and ``joint`` joins two of them.
    """

    style: Style
    cues: tuple[str, ...]
    sentences: tuple[str, ...]
    closings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    talk: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()
    topics: tuple[tuple[str, ...], ...] = ()
    joint: str = "{0}. {1}"

    @property
    def utterances(self) -> tuple[str, ...]:
        """The utterances of a few words, for every place."""
        return (*self.cues, *self.notes, *self.talk)


@dataclass(frozen=True, kw_only=True)
class Act:
    """A form of a request for code: a pattern with a group ``verb`` at the start of a sentence.

    ``kind`` names the form in ``requests.yaml``.
    """

    kind: str
    find: re.Pattern[str]


@dataclass(frozen=True, kw_only=True)
class Form:
    """Another form of a request: the text that replaces a request of one of the kinds `of`.

    ``end`` replaces the sentence's full stop if it is not empty. ``light`` is True for forms that
    fit the lightest level, ``make`` for forms that fit only verbs of making. ``first`` is True for
    forms that fit only a request at the beginning of its text.
    """

    kind: str
    say: str
    of: tuple[str, ...]
    end: str = ""
    light: bool = False
    make: bool = False
    first: bool = False


@dataclass(frozen=True, kw_only=True)
class Requests:
    """The forms of requests for code in one language.

    ``make`` are the verbs whose object is the requested thing (*write a function*). ``stops`` are
    the ends of a plain statement and of a question. ``greetings`` are first words, and ``asks`` are
    separate requests. ``intros`` are sentences before the pasted text, ``bullet_intros`` those
    before its sentences as a list.
    """

    acts: tuple[Act, ...]
    forms: tuple[Form, ...]
    make: frozenset[str]
    no_question: re.Pattern[str]
    stops: tuple[str, ...]
    greetings: tuple[str, ...]
    asks: tuple[str, ...]
    intros: tuple[str, ...]
    bullet_intros: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Language:
    """The phrases of one language.

    ``roles`` are clauses that show a technical orientation and a level of experience, by
    ``technical.experience``; those of ``collaboration`` follow them. ``blank`` separates two
    sentences and ``stop`` ends a statement. ``words_each`` is the number of measured words in one
    word of a budget. Two sentences of one message share no stem of a word of three letters or more
    that is not ``repeatable``. ``coherence`` has the facts that phrases assert and the pairs that
    conflict.

    ``feelings`` and ``controls`` have the phrases of each emotion and control condition, by name.
    ``introductions`` are texts that are written as a whole, by emotion, persona and operation.
    Where there is one, it replaces the sentences of emotion and persona.
    """

    code: str
    blank: str
    stop: str
    words_each: float
    repeatable: frozenset[str]
    feelings: Mapping[str, Feeling]
    controls: Mapping[str, Feeling]
    roles: Mapping[str, tuple[str, ...]]
    collaboration: Mapping[str, tuple[str, ...]]
    requests: Requests
    coherence: Coherence = field(default_factory=Coherence)
    introductions: Introductions = field(default_factory=dict)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """The patterns that join the clauses of a persona."""
        feelings = [*self.feelings.values(), *self.controls.values()]
        joints = [joint for feeling in feelings for joint in (*feeling.style.joints, feeling.joint)]
        return tuple(dict.fromkeys(joints))

    @cached_property
    def snippets(self) -> tuple[str, ...]:
        """Every snippet, with its alternatives unresolved, and the text of every introduction."""
        phrases: list[str] = []
        for feeling in (*self.feelings.values(), *self.controls.values()):
            phrases += [*feeling.utterances, *feeling.sentences, *feeling.scenes]
            phrases += feeling.closings
            phrases += chain.from_iterable(feeling.topics)
        for clauses in (*self.roles.values(), *self.collaboration.values()):
            phrases += clauses
        requests = self.requests
        return (
            *phrases,
            *requests.greetings,
            *requests.asks,
            *requests.intros,
            *requests.bullet_intros,
            *(introduction.text for texts in self.introductions.values() for introduction in texts),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Library:
    """All data that variants are made from.

    ``digest`` is empty for the shipped library. Otherwise it has eight hex digits of a hash of the
    user's entries, which become part of the rewriter's version.

    ``traits`` are by dimension, then by slug. ``instruction`` has the texts of ``rewriting.yaml``
    by name. The other mappings are by name or, for ``languages`` and ``coherence``, by ISO code.
    ``coherence`` is that of each language, which can be read without all of its phrases.
    """

    emotions: Mapping[str, Emotion]
    traits: Mapping[str, Mapping[str, Trait]]
    levels: Sequence[Level]
    contexts: Mapping[str, Context]
    languages: Mapping[str, Language]
    coherence: Mapping[str, Coherence]
    instruction: Mapping[str, str]
    digest: str = ""

    def emotion(self, name: str) -> Emotion:
        """Return the emotion called `name`, or raise VariantError with the nearest one."""
        return _pick(name, self.emotions, "emotion")

    def personality(self, slug: str) -> Personality:
        """Return the persona for ``technical.experience.collaboration``."""
        parts = slug.split(".")
        if len(parts) != len(DIMENSIONS):
            raise VariantError(
                f"personality {slug!r}: write it as technical.experience.collaboration, as in "
                f"{self.personalities()[0]!r}"
            )
        technical, experience, collaboration = (
            _pick(part, self.traits[dimension], f"{dimension} part of personality {slug!r}:")
            for part, dimension in zip(parts, DIMENSIONS, strict=True)
        )
        return Personality(technical=technical, experience=experience, collaboration=collaboration)

    def personalities(self) -> tuple[str, ...]:
        """Return the slugs of all personas; the shipped library has 4 x 2 x 4 = 32."""
        return personalities(self.traits)

    def level(self, distance: float) -> Level:
        """Return the level whose distance is nearest to `distance`."""
        nearest_one = min(self.levels, key=lambda level: abs(level.distance - distance))
        return replace(nearest_one, distance=distance)

    def check_distances(self, distances: Sequence[float]) -> None:
        """Raise VariantError unless each distance is in [0.05, 0.5] and has its own level."""
        if not distances:
            raise VariantError("no distances given; name at least one, such as 0.1")
        taken: dict[str, float] = {}
        for distance in distances:
            if not NEAREST <= distance <= FARTHEST:
                raise VariantError(
                    f"distance {distance:g}: variants can be made from {NEAREST:g} to {FARTHEST:g}"
                )
            operation = self.level(distance).operation
            if operation in taken:
                raise VariantError(
                    f"distances {taken[operation]:g} and {distance:g} mean the same level "
                    f"({operation}); choose one near each of "
                    f"{', '.join(f'{level.distance:g}' for level in self.levels)}"
                )
            taken[operation] = distance

    def language(self, code: str, *, task: str) -> Language:
        """Return the phrases of a language.

        Parameters
        ----------
        code
            The ISO code of the language, such as ``en``.
        task
            The id of the task, for the error message.

        Raises
        ------
        VariantError
            If the library has no phrases in the language.
        """
        if code not in self.languages:
            languages = " and ".join(NAMES.get(name, name) for name in self.languages)
            raise VariantError(
                f"task {task!r}: the prompt is in {NAMES.get(code, code)}, and the template "
                f"library has {languages}; let a model write the variants "
                f"(--promptse-rewriter llm:BACKEND:NAME), or add phrases in a folder {code}/"
            )
        return self.languages[code]

    def refused_by(self, prompt: str) -> frozenset[str]:
        """Return the emotions and traits that contradict what a prompt says about its writer.

        If the library lacks the prompt's language, all languages with its script are read.
        """
        language = main_language([prompt])
        names = {*self.emotions, *chain.from_iterable(self.traits.values())}
        refused: set[str] = set()
        for code in self.languages:
            if code == language or (language not in self.languages and has_script_of(code, prompt)):
                refused |= names & self.coherence[code].opponents_of_prompt(prompt, names)
        return frozenset(refused)

    def weights(self, prompt: str) -> dict[str, float]:
        """Return each context's presence in `prompt`, and the resulting weights of the two layers.

        ``emotion`` and ``personality`` add up to 1.
        """
        words = set(prompt.lower().replace(",", " ").replace(".", " ").split())
        presence = {
            context.name: min(1.0, context.base + context.step * len(words & set(context.signals)))
            for context in self.contexts.values()
        }
        tilt = sum(presence[name] * context.tilt for name, context in self.contexts.items())
        emotion = round(min(0.8, max(0.2, 0.5 + tilt)), 4)
        rounded = {name: round(value, 4) for name, value in presence.items()}
        return {**rounded, "emotion": emotion, "personality": round(1 - emotion, 4)}


def personalities(traits: Mapping[str, Mapping[str, Trait]]) -> tuple[str, ...]:
    """Return the slugs of all personas of the traits, which are by dimension, then by slug."""
    return tuple(".".join(slugs) for slugs in product(*(traits[name] for name in DIMENSIONS)))


NEAREST, FARTHEST = 0.05, 0.5
"""The smallest and the largest distance of variants."""


def _pick(name: str, entries: Mapping[str, _T], what: str) -> _T:
    try:
        return entries[name]
    except KeyError:
        hint = nearest(name, entries) or f"; there are {', '.join(entries)}"
        raise VariantError(f"unknown {what} {name!r}{hint}") from None
