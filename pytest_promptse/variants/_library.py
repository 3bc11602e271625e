"""The template library: emotions, personas, levels, contexts and the phrases of each language."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, product
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import TaskError, VariantError
from pytest_promptse.tasks._plainyaml import YamlNode, parse
from pytest_promptse.variants._coherence import FACTS_OF_PROMPTS, KINDS, Coherence
from pytest_promptse.variants._introductions import FOLDER as INTRODUCTIONS
from pytest_promptse.variants._introductions import KINDS as INTRODUCTION_KINDS
from pytest_promptse.variants._introductions import read_introductions
from pytest_promptse.variants._language import NAMES, has_script_of
from pytest_promptse.variants._lint import Lint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from pytest_promptse.variants._introductions import Introduction, Introductions

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

    ``cues`` are utterances of a few words, ``sentences`` whole sentences, ``closings`` last words.
    ``scenes`` are sentences that set a place or a time; a variant has at most one. ``topics`` are
    the clauses of the small talk of a control condition, by topic, and ``joint`` joins two of them.
    """

    style: Style
    cues: tuple[str, ...]
    sentences: tuple[str, ...]
    closings: tuple[str, ...]
    scenes: tuple[str, ...] = ()
    topics: tuple[tuple[str, ...], ...] = ()
    joint: str = "{0}. {1}"


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
    end: str
    light: bool
    make: bool
    first: bool


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
            phrases += [*feeling.cues, *feeling.sentences, *feeling.scenes, *feeling.closings]
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

    @staticmethod
    def load(extra: Path | None = None) -> Library:
        """Return the shipped library, extended by the entries of the folder `extra`.

        Files in `extra` have the names of shipped files. An entry is added, or replaces the entry
        of the same name. Every snippet is checked by `Lint`.

        Raises
        ------
        VariantError
            If an entry is invalid. The message names file and line.
        """
        try:
            return _load(extra)
        except TaskError as error:  # the shared YAML reader writes the place in a file like this
            raise VariantError(str(error)) from None

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
        return _personalities(self.traits)

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
        """Return the emotions and traits that contradict what a prompt says about its writer."""
        names = {*self.emotions, *chain.from_iterable(self.traits.values())}
        refused: set[str] = set()
        for code in self.languages:
            if has_script_of(code, prompt):
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


def _personalities(traits: Mapping[str, Mapping[str, Trait]]) -> tuple[str, ...]:
    return tuple(".".join(slugs) for slugs in product(*(traits[name] for name in DIMENSIONS)))


NEAREST, FARTHEST = 0.05, 0.5
"""The smallest and the largest distance of variants."""


def _pick(name: str, entries: Mapping[str, _T], what: str) -> _T:
    try:
        return entries[name]
    except KeyError:
        hint = nearest(name, entries) or f"; there are {', '.join(entries)}"
        raise VariantError(f"unknown {what} {name!r}{hint}") from None


# -- reading ---------------------------------------------------------------------------------------

_FILES = ("emotions.yaml", "personalities.yaml", "levels.yaml", "contexts.yaml", "rewriting.yaml")
_LANGUAGE_FILES = (
    "language.yaml",
    "emotions.yaml",
    "personas.yaml",
    "requests.yaml",
    "controls.yaml",
)
_OPERATIONS = ("light", "style", "transform")
_INSTRUCTION = (
    "system",
    "request",
    "again",
    "entailment_controls",
    "entailment_system",
    "entailment",
)


@dataclass
class _Marks:
    """The entries of the ``language.yaml`` files of a language, by section.

    ``values`` has those that are a field of `Language`.
    """

    values: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    pairs: dict[str, list[tuple[YamlNode, str, str]]] = field(default_factory=dict)
    lint: Lint | None = None


@dataclass
class _Phrases:
    """The phrases of a language while its files are read. The shipped files are read first.

    Each field has the entries of one file by name. A later file replaces or extends the entries of
    an earlier one.
    """

    feelings: dict[str, Feeling] = field(default_factory=dict)
    controls: dict[str, Feeling] = field(default_factory=dict)
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    collaboration: dict[str, tuple[str, ...]] = field(default_factory=dict)
    requests: dict[str, Any] = field(default_factory=dict)
    introductions: dict[tuple[str, str, str], tuple[Introduction, ...]] = field(
        default_factory=dict
    )


@lru_cache(maxsize=8)
def _load(extra: Path | None) -> Library:  # noqa: C901 - one loop for each file
    folders = [templates_dir()]
    if extra is not None:
        if not extra.is_dir():
            raise VariantError(f"promptse_library_dir {str(extra)!r} is not a folder")
        folders.append(extra)
    emotions: dict[str, Emotion] = {}
    traits: dict[str, dict[str, Trait]] = {name: {} for name in DIMENSIONS}
    levels: dict[float, Level] = {}
    contexts: dict[str, Context] = {}
    instruction: dict[str, str] = {}
    languages: dict[str, list[_LanguageFolder]] = {}
    for folder in folders:
        for name, entry in _entries(folder / "emotions.yaml"):
            emotions[name] = _emotion(name, entry)
        _check_names(folder, emotions, own=folder is extra)
        for dimension, place in _entries(folder / "personalities.yaml", DIMENSIONS):
            for slug, entry in place.fields(dimension).items():
                traits[dimension][slug] = _trait(slug, dimension, entry)
        for name, entry in _entries(folder / "levels.yaml"):
            level = _level(name, entry)
            levels[level.distance] = level
        for name, entry in _entries(folder / "contexts.yaml"):
            contexts[name] = _context(name, entry)
        for name, entry in _entries(folder / "rewriting.yaml", _INSTRUCTION):
            instruction[name] = entry.text(name)
        for inner in sorted(path for path in folder.iterdir() if _is_language(path)):
            languages.setdefault(inner.name, []).append(
                _LanguageFolder(
                    path=inner, personalities=_personalities(traits), is_users=folder is extra
                )
            )
    writers = {*emotions, *(slug for dimension in traits.values() for slug in dimension)}
    marks = _MadeOnUse(languages, lambda code: _read_marks(languages[code]))
    coherence = _MadeOnUse(languages, lambda code: _coherence(marks[code], writers))

    def language(code: str) -> Language:
        phrases = _read_phrases(languages[code], marks[code].lint)
        return _language(code, marks[code], phrases, coherence[code])

    library = Library(
        emotions=emotions,
        traits=traits,
        levels=tuple(levels[distance] for distance in sorted(levels)),
        contexts=contexts,
        languages=_MadeOnUse(languages, language),
        coherence=coherence,
        instruction=instruction,
        digest=_digest(extra) if extra else "",
    )
    if extra is not None:  # an error in a user's folder is reported whatever the prompts' language
        list(library.languages.values())
    return library


def _is_language(path: Path) -> bool:
    return path.is_dir() and path.name in NAMES


def _template_files(folder: Path) -> Iterator[Path]:
    yield from (path for path in sorted(folder.glob("*.yaml")))
    for inner in sorted(filter(_is_language, folder.iterdir())):
        yield from sorted(inner.glob("*.yaml"))
        yield from sorted((inner / INTRODUCTIONS).glob("*.yaml"))


def _digest(folder: Path) -> str:
    # A checkout on Windows may have other line ends, which change nothing.
    parts = (
        str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n")
        for path in _template_files(folder)
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:8]


def _check_names(folder: Path, emotions: Collection[str], *, own: bool) -> None:
    """Raise an error for files in a user's folder that have no known name.

    `own` is True if `folder` belongs to the user; other folders are not checked. `emotions` are the
    names of all emotions. VariantError names the file and the closest known name.
    """
    if not own:
        return
    for path in sorted(folder.rglob("*.y*ml")):
        inside = path.parent == folder
        names: Collection[str] = _FILES if inside else _LANGUAGE_FILES
        parent = path.parent
        if parent.name == INTRODUCTIONS:
            names, parent = [f"{name}.yaml" for name in emotions], parent.parent
        if path.name not in names or not (inside or parent.name in NAMES):
            hint = nearest(path.name, names) or f"; template files are {', '.join(names)}"
            raise VariantError(f"{path}:1: not a template file{hint}")


def _entries(path: Path, known: Sequence[str] | None = None) -> Iterator[tuple[str, YamlNode]]:
    """Yield the entries of a file by name. A missing file has none.

    `known` are the names that the file may have, or None for any. Another name is an error with
    file and line.
    """
    if path.is_file():
        yield from _open(path).fields(path.name, known).items()


def _open(path: Path) -> YamlNode:
    try:
        return parse(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError:
        raise VariantError(f"{path}:1: not UTF-8 text; save it as UTF-8") from None


def _needed(
    entry: YamlNode, what: str, names: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, YamlNode]:
    fields = entry.fields(what, (*names, *optional))
    for name in names:
        if name not in fields:
            raise entry.error(f"{what} lacks {name!r}")
    return fields


def _number(place: YamlNode, what: str, low: float, high: float) -> float:
    value = place.value()
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise place.error(f"{what!r} must be a number from {low:g} to {high:g}, not {value!r}")
    return float(value)


def _emotion(name: str, entry: YamlNode) -> Emotion:
    texts = ("description", "language", "pattern")
    fields = _needed(entry, f"emotion {name!r}", (*texts, "valence", "arousal"))
    description, language, pattern = (fields[key].text(key).strip() for key in texts)
    valence, arousal = (_number(fields[key], key, -1, 1) for key in ("valence", "arousal"))
    return Emotion(
        name=name,
        description=description,
        language=language,
        pattern=pattern,
        valence=valence,
        arousal=arousal,
    )


def _trait(slug: str, dimension: str, entry: YamlNode) -> Trait:
    texts = ("name", "description", "vocabulary")
    fields = _needed(entry, f"trait {slug!r}", texts)
    name, description, vocabulary = (fields[key].text(key).strip() for key in texts)
    return Trait(
        slug=slug, dimension=dimension, name=name, description=description, vocabulary=vocabulary
    )


def _level(name: str, entry: YamlNode) -> Level:
    try:
        distance = float(name)
    except ValueError:
        raise entry.error(f"a level is named by its distance, not {name!r}") from None
    fields = _needed(entry, f"level {name!r}", ("operation", "description", "fewest", "most"))
    operation = fields["operation"].text("operation")
    if operation not in _OPERATIONS:
        raise fields["operation"].error(f"an operation is one of {', '.join(_OPERATIONS)}")
    return Level(
        distance=distance,
        operation=operation,
        description=fields["description"].text("description").strip(),
        fewest=int(_number(fields["fewest"], "fewest", 1, 1000)),
        most=int(_number(fields["most"], "most", 1, 1000)),
    )


def _context(name: str, entry: YamlNode) -> Context:
    fields = _needed(entry, f"context {name!r}", ("description", "base", "step", "tilt", "signals"))
    return Context(
        name=name,
        description=fields["description"].text("description").strip(),
        base=_number(fields["base"], "base", 0, 1),
        step=_number(fields["step"], "step", 0, 1),
        tilt=_number(fields["tilt"], "tilt", -1, 1),
        signals=tuple(item.text("a signal") for item in fields["signals"].items("signals")),
    )


# -- reading a language ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _LanguageFolder:
    """A folder with texts in one language. ``personalities`` are the slugs of all personas."""

    path: Path
    personalities: tuple[str, ...]
    is_users: bool


class _MadeOnUse(Mapping[str, _T]):
    """A mapping whose values are made when they are first used.

    Few prompts need all of a library: reading it and compiling its patterns takes 0.2 s.
    """

    def __init__(self, names: Iterable[str], make: Callable[[str], _T]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make
        self._made: dict[str, _T] = {}

    def __getitem__(self, name: str) -> _T:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _compiled(sources: Mapping[str, str]) -> Mapping[str, re.Pattern[str]]:
    return _MadeOnUse(sources, lambda name: re.compile(sources[name], re.IGNORECASE))


def _read_marks(folders: Sequence[_LanguageFolder]) -> _Marks:
    """Read the ``language.yaml`` of each folder of a language."""
    marks = _Marks()
    for folder in folders:
        if folder.is_users:
            _add_marks(folder, marks)
        else:
            marks = _copied(_shipped_marks(folder))
    return marks


@lru_cache
def _shipped_marks(folder: _LanguageFolder) -> _Marks:
    marks = _Marks()
    _add_marks(folder, marks)
    return marks


def _read_phrases(folders: Sequence[_LanguageFolder], lint: Lint | None) -> _Phrases:
    """Read the other files of each folder of a language. `lint` checks those of a user."""
    phrases = _Phrases()
    for folder in folders:
        if folder.is_users:
            _add_phrases(folder, phrases, lint)
        else:
            phrases = _copied(_shipped_phrases(folder))
    return phrases


@lru_cache
def _shipped_phrases(folder: _LanguageFolder) -> _Phrases:
    phrases = _Phrases()
    _add_phrases(folder, phrases, None)
    return phrases


_EntriesT = TypeVar("_EntriesT", _Marks, _Phrases)


def _copied(entries: _EntriesT) -> _EntriesT:
    """Return a copy to which the entries of a user can be added."""
    copies: dict[str, Any] = {
        name: dict(value) for name, value in vars(entries).items() if isinstance(value, dict)
    }
    return replace(entries, **copies)


def _add_phrases(source: _LanguageFolder, phrases: _Phrases, lint: Lint | None) -> None:
    folder = source.path
    # Introductions are written as a whole and have none of a user's sentences.
    composed = set[str]()
    for name, entry in _entries(folder / "emotions.yaml"):
        older = phrases.feelings.get(name)
        phrases.feelings[name] = feeling = _feeling(name, entry, lint, older)
        if older is None or (feeling.sentences, feeling.scenes) != (older.sentences, older.scenes):
            composed.add(name)
    for name, entry in _entries(folder / "controls.yaml"):
        phrases.controls[name] = _feeling(name, entry, lint, phrases.controls.get(name))
    for section, place in _entries(folder / "personas.yaml", ("roles", "collaboration")):
        clauses = phrases.roles if section == "roles" else phrases.collaboration
        for slug, entry in place.fields(section).items():
            clauses[slug] = (*clauses.get(slug, ()), *_snippets(entry, "clause", lint))
            composed.add(slug)
    phrases.introductions = {
        (emotion, slug, operation): texts
        for (emotion, slug, operation), texts in phrases.introductions.items()
        if composed.isdisjoint((emotion, *_clauses_of(slug)))
    }
    for path in sorted((folder / INTRODUCTIONS).glob("*.yaml")):
        phrases.introductions |= read_introductions(
            _open(path),
            name=path.name,
            emotion=path.stem,
            personalities=source.personalities,
            lint=lint,
        )
    for name, entry in _entries(folder / "requests.yaml", tuple(_REQUEST_FIELDS)):
        kind = _REQUEST_FIELDS[name]
        phrases.requests[name] = (
            _snippets(entry, kind, lint) if kind else _REQUEST_READERS[name](entry)
        )


def _clauses_of(slug: str) -> tuple[str, str]:
    """Return the entries of personas.yaml for a persona: its role, and its collaboration."""
    role, _, collaboration = slug.rpartition(".")
    return role, collaboration


def _add_marks(folder: _LanguageFolder, marks: _Marks) -> None:
    """Read a ``language.yaml``. One in a user's folder may have only some of the fields.

    The values are added to `marks`. The first file must have all required fields. Each pattern of a
    user is compiled alone, too, to check it.
    """
    path = folder.path / "language.yaml"
    if not path.is_file():
        return
    entry, name = _open(path), path.name
    needed = ("blank", "stop", "words_each", "forbidden")
    optional = ("repeatable", "facts", "prompts", *_PAIRS)
    fields = (
        entry.fields(name, (*needed, *optional))
        if marks.values
        else _needed(entry, name, needed, optional)
    )
    marks.values.setdefault("repeatable", frozenset())
    for field_name, read in _MARKS.items():
        if field_name in fields:
            marks.values[field_name] = read(fields[field_name])
    if "forbidden" in fields:
        marks.lint = Lint.of(fields["forbidden"])
    for section, patterns in (("facts", marks.facts), ("prompts", marks.prompts)):
        if section in fields:
            for fact, place in fields[section].fields(section).items():
                before = [patterns[fact]] if fact in patterns else []
                patterns[fact] = _any_of(place, fact, before, check=folder.is_users)
    for section in _PAIRS:
        if section in fields:
            older = marks.pairs.get(section, ())
            marks.pairs[section] = [*older, *_pairs(fields[section], section)]


_MARKS: dict[str, Any] = {
    "blank": lambda entry: str(entry.value()),
    "stop": lambda entry: entry.text("stop"),
    "words_each": lambda entry: _number(entry, "words_each", 0.1, 10),
    "repeatable": lambda entry: frozenset(
        item.text("a word") for item in entry.items("repeatable")
    ),
}
_PAIRS = ("clashes", "apart", "needs", "prefers")
"""The sections of ``language.yaml`` that list pairs of facts."""


def _any_of(entry: YamlNode, fact: str, before: Sequence[str], *, check: bool) -> str:
    """Return a pattern that matches if any pattern of `entry` or `before` does.

    `fact` names the patterns in error messages. With `check`, an invalid pattern of `entry` is an
    error with file and line.
    """
    places = entry.items(f"the patterns of {fact!r}")
    new = [_pattern(place).pattern if check else place.text("a pattern") for place in places]
    return "|".join(f"(?:{pattern})" for pattern in (*before, *new))


def _pairs(entry: YamlNode, section: str) -> Iterator[tuple[YamlNode, str, str]]:
    for place in entry.items(section):
        names = [item.text("a fact") for item in place.items("a pair of facts")]
        if len(names) != len(("first", "second")):
            raise place.error(f"{section!r} lists pairs of facts, not {len(names)} of them")
        yield place, names[0], names[1]


def _coherence(marks: _Marks, writers: Iterable[str]) -> Coherence:
    """Return the facts of a language. `writers` are the facts that emotions and traits assert.

    An unknown fact in a pair is an error with file and line.
    """
    facts = {*marks.facts, *marks.prompts, *writers, *FACTS_OF_PROMPTS, *KINDS, *INTRODUCTION_KINDS}

    def mapped(section: str, *, both_ways: bool) -> dict[str, frozenset[str]]:
        related: dict[str, set[str]] = {}
        for place, first, second in marks.pairs.get(section, ()):
            for name in (first, second):
                if name not in facts:
                    raise place.error(f"{name!r} is no fact{nearest(name, facts)}")
            related.setdefault(first, set()).add(second)
            if both_ways:
                related.setdefault(second, set()).add(first)
        return {fact: frozenset(others) for fact, others in related.items()}

    return Coherence(
        facts=_compiled(marks.facts),
        prompts=_compiled(marks.prompts),
        clashes=mapped("clashes", both_ways=True),
        apart=mapped("apart", both_ways=True),
        needs=mapped("needs", both_ways=False),
        prefers=mapped("prefers", both_ways=False),
    )


def _language(code: str, marks: _Marks, phrases: _Phrases, coherence: Coherence) -> Language:
    for name, where in (("language.yaml", marks.values), ("requests.yaml", phrases.requests)):
        if not where:
            raise VariantError(f"{code}/{name}: missing; a language needs one")
    missing = set(_REQUEST_FIELDS) - set(phrases.requests)
    if missing:
        raise VariantError(f"{code}/requests.yaml: lacks {', '.join(sorted(missing))}")
    return Language(
        code=code,
        feelings=phrases.feelings,
        controls=phrases.controls,
        roles=phrases.roles,
        collaboration=phrases.collaboration,
        requests=Requests(**phrases.requests),
        coherence=coherence,
        introductions=phrases.introductions,
        **marks.values,
    )


def _feeling(
    name: str, entry: YamlNode, lint: Lint | None, known: Feeling | None = None
) -> Feeling:
    """Return the phrases of an emotion or a control. Those of `known` are kept.

    Without `known`, all fields but ``scenes`` are required, or ``topics`` and ``joint`` instead.
    """
    optional = ("style", *_PHRASES, "scenes", "topics", "joint")
    fields = entry.fields(f"{name!r}", optional)
    if known is None and "topics" not in fields:
        _needed(entry, f"{name!r}", ("style", *_PHRASES), optional)
    known = known or Feeling(style=Style(), cues=(), sentences=(), closings=())
    given: dict[str, Any] = {
        key: (*getattr(known, key), *_snippets(fields[key], kind, lint))
        for key, kind in {**_PHRASES, "scenes": "sentence"}.items()
        if key in fields
    }
    if "style" in fields:
        given["style"] = replace(known.style, **_style(fields["style"]))
    if "joint" in fields:
        given["joint"] = fields["joint"].text("joint")
    if "topics" in fields:
        topics = fields["topics"].fields("topics").values()
        given["topics"] = (*known.topics, *(_snippets(node, "clause", lint) for node in topics))
    return replace(known, **given)


_PHRASES = {"cues": "cue", "sentences": "sentence", "closings": "closing"}
"""The lists that every emotion needs, with the kind of their phrases."""


def _style(entry: YamlNode) -> dict[str, Any]:
    style = entry.fields("style", ("lower", "asks", "run_on", "ends", "joints"))
    given: dict[str, Any] = {}
    for flag in ("lower", "asks"):
        if flag in style:
            given[flag] = bool(style[flag].value())
    if "run_on" in style:
        given["run_on"] = str(style["run_on"].value())
    if "ends" in style:
        given["ends"] = tuple(str(item.value()) for item in style["ends"].items("ends"))
    if "joints" in style:
        given["joints"] = tuple(item.text("a joint") for item in style["joints"].items("joints"))
    return given


def _snippets(entry: YamlNode, kind: str, lint: Lint | None) -> tuple[str, ...]:
    snippets = []
    for place in entry.items(f"the list of {kind}s"):
        text = place.text(f"a {kind}").strip()
        problem = lint.problem(text, kind) if lint else None
        if problem:
            raise place.error(f"{text!r}: {problem}")
        snippets.append(text)
    return tuple(snippets)


def _pattern(entry: YamlNode) -> re.Pattern[str]:
    try:
        return re.compile(entry.text("a pattern"), re.IGNORECASE)
    except re.error as error:
        raise entry.error(f"not a regular expression: {error}") from None


def _acts(entry: YamlNode) -> tuple[Act, ...]:
    acts = []
    for place in entry.items("acts"):
        fields = _needed(place, "an act", ("kind", "find"))
        acts.append(Act(kind=fields["kind"].text("kind"), find=_pattern(fields["find"])))
    return tuple(acts)


def _forms(entry: YamlNode) -> tuple[Form, ...]:
    forms = []
    for place in entry.items("forms"):
        fields = place.fields("a form", ("kind", "say", "of", "end", "light", "make", "first"))
        for name in ("kind", "say", "of"):
            if name not in fields:
                raise place.error(f"a form lacks {name!r}")
        forms.append(
            Form(
                kind=fields["kind"].text("kind"),
                say=fields["say"].text("say"),
                of=tuple(item.text("a kind") for item in fields["of"].items("of")),
                end=str(fields["end"].value()) if "end" in fields else "",
                light=bool(fields["light"].value()) if "light" in fields else False,
                make=bool(fields["make"].value()) if "make" in fields else False,
                first=bool(fields["first"].value()) if "first" in fields else False,
            )
        )
    return tuple(forms)


_REQUEST_FIELDS = {
    "acts": "",
    "forms": "",
    "make": "",
    "no_question": "",
    "stops": "",
    "greetings": "greeting",
    "asks": "ask",
    "intros": "intro",
    "bullet_intros": "intro",
}
_REQUEST_READERS: dict[str, Any] = {
    "acts": _acts,
    "forms": _forms,
    "make": lambda entry: frozenset(item.text("a verb") for item in entry.items("make")),
    "no_question": _pattern,
    "stops": lambda entry: tuple(item.text("a mark") for item in entry.items("stops")),
}
