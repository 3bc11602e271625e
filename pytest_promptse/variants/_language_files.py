"""Read the phrases of one language from the files of its folders."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import VariantError
from pytest_promptse.variants._coherence import FACTS_OF_PROMPTS, KINDS, Coherence
from pytest_promptse.variants._fields import (
    flag,
    mark,
    number,
    open_file,
    read_entries,
    read_fields,
    text,
    texts,
)
from pytest_promptse.variants._introductions import FOLDER as INTRODUCTIONS
from pytest_promptse.variants._introductions import KINDS as INTRODUCTION_KINDS
from pytest_promptse.variants._introductions import read_introductions
from pytest_promptse.variants._library import Act, Feeling, Form, Language, Requests, Style
from pytest_promptse.variants._lint import Lint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pytest_promptse.tasks._plainyaml import YamlNode
    from pytest_promptse.variants._fields import Reader
    from pytest_promptse.variants._introductions import Introduction

_T = TypeVar("_T")


class MadeOnUse(Mapping[str, _T]):
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

    def __contains__(self, name: object) -> bool:
        # The method of `Mapping` would make the value.
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, kw_only=True)
class LanguageFolder:
    """A folder with texts in one language. ``personalities`` are the slugs of all personas."""

    path: Path
    personalities: tuple[str, ...]
    is_users: bool


@dataclass
class _Marks:
    """The entries of the ``language.yaml`` files of a language, by section.

    ``values`` has those that are a field of `Language`.
    """

    values: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    pairs: dict[str, list[tuple[YamlNode, str, str]]] = field(default_factory=dict)
    once: set[str] = field(default_factory=set)
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


@dataclass(frozen=True, kw_only=True, eq=False)
class LanguageFiles:
    """The files of one language, which are read when they are first used.

    ``folders`` has the shipped folder first. ``writers`` are the facts that emotions and traits
    assert.
    """

    code: str
    folders: tuple[LanguageFolder, ...]
    writers: frozenset[str]

    @cached_property
    def language(self) -> Language:
        """The phrases of the language. Those of a user are checked by the language's lint."""
        phrases = _read(_Phrases, _add_phrases, self.folders, self._marks.lint)
        values, requests = self._marks.values, phrases.requests
        for name, section in (("language.yaml", values), ("requests.yaml", requests)):
            if not section:
                raise VariantError(f"{self.code}/{name}: missing; a language needs one")
        if missing := set(_REQUESTS) - set(requests):
            raise VariantError(f"{self.code}/requests.yaml: lacks {', '.join(sorted(missing))}")
        return Language(
            code=self.code,
            coherence=self.coherence,
            **values,
            **(vars(phrases) | {"requests": Requests(**requests)}),
        )

    @cached_property
    def coherence(self) -> Coherence:
        """The facts of the language. An unknown fact in a pair is an error with file and line."""
        marks = self._marks
        return Coherence(
            facts=_compiled_in_lower_case(marks.facts),
            prompts=_compiled(marks.prompts),
            clashes=self._related("clashes", "yields", both_ways=True),
            yields=self._related("yields", both_ways=True),
            apart=self._related("apart", both_ways=True),
            needs=self._related("needs", both_ways=False),
            prefers=self._related("prefers", both_ways=False),
            once=frozenset(marks.once),
        )

    @cached_property
    def _marks(self) -> _Marks:
        return _read(_Marks, _add_marks, self.folders, None)

    def _related(self, *sections: str, both_ways: bool) -> dict[str, frozenset[str]]:
        facts = {
            *self._marks.facts,
            *self._marks.prompts,
            *self.writers,
            *FACTS_OF_PROMPTS,
            *KINDS,
            *INTRODUCTION_KINDS,
        }
        related: dict[str, set[str]] = {}
        for place, first, second in chain.from_iterable(
            self._marks.pairs.get(section, ()) for section in sections
        ):
            for name in (first, second):
                if name not in facts:
                    raise place.error(f"{name!r} is not a fact{nearest(name, facts)}")
            related.setdefault(first, set()).add(second)
            if both_ways:
                related.setdefault(second, set()).add(first)
        return {fact: frozenset(others) for fact, others in related.items()}


# Escapes and named groups keep their letters.
_LETTER = re.compile(r"\\.|\(\?P|[^\W\d_]", re.DOTALL)


def _compiled(sources: Mapping[str, str]) -> Mapping[str, re.Pattern[str]]:
    return MadeOnUse(sources, lambda name: re.compile(sources[name], re.IGNORECASE))


def _compiled_in_lower_case(sources: Mapping[str, str]) -> Mapping[str, re.Pattern[str]]:
    """Return patterns that find in a text in lower case what `sources` find in any case.

    To ignore the case would take twice as long. A pattern with a part for which the case matters
    is compiled as it is.
    """

    def compiled(name: str) -> re.Pattern[str]:
        if "(?-i" in sources[name]:
            return re.compile(sources[name], re.IGNORECASE)
        return re.compile(
            _LETTER.sub(
                lambda match: match[0] if len(match[0]) > 1 else match[0].lower(), sources[name]
            )
        )

    return MadeOnUse(sources, compiled)


# -- shipped files are read once, and those of a user are added ------------------------------------

_EntriesT = TypeVar("_EntriesT", _Marks, _Phrases)
_Add = Callable[[LanguageFolder, _EntriesT, "Lint | None"], None]


def _read(
    kind: type[_EntriesT],
    add: _Add[_EntriesT],
    folders: Sequence[LanguageFolder],
    lint: Lint | None,
) -> _EntriesT:
    """Return the entries of all folders. `lint` checks those of a user."""
    entries = kind()
    for folder in folders:
        if folder.is_users:
            add(folder, entries, lint)
        else:
            # mypy takes the class for its instances, which cannot be hashed.
            entries = _copied(_shipped(kind, add, folder))  # type: ignore[arg-type]
    return entries


@lru_cache
def _shipped(kind: type[_EntriesT], add: _Add[_EntriesT], folder: LanguageFolder) -> _EntriesT:
    entries = kind()
    add(folder, entries, None)
    return entries


def _copied(entries: _EntriesT) -> _EntriesT:
    """Return a copy to which the entries of a user can be added."""
    copies: dict[str, Any] = {
        name: dict(value) for name, value in vars(entries).items() if isinstance(value, dict)
    }
    return replace(entries, **copies)


# -- language.yaml ---------------------------------------------------------------------------------


def _add_marks(folder: LanguageFolder, marks: _Marks, _: Lint | None) -> None:
    """Read a ``language.yaml``. One in a user's folder may have only some of the fields.

    The values are added to `marks`. The first file must have all required fields. Each pattern of a
    user is compiled alone, too, to check it.
    """
    path = folder.path / "language.yaml"
    if not path.is_file():
        return

    def patterns(section: dict[str, str]) -> Reader:
        def read(place: YamlNode, what: str) -> None:
            for fact, items in place.fields(what).items():
                before = [section[fact]] if fact in section else []
                section[fact] = _any_of(items, fact, before, check=folder.is_users)

        return read

    readers: dict[str, Reader] = {
        **_VALUES,
        "once": texts,
        "forbidden": lambda place, _: Lint.of(place),
        "facts": patterns(marks.facts),
        "prompts": patterns(marks.prompts),
        **dict.fromkeys(_PAIRS, _pairs),
    }
    needed = () if marks.values else ("blank", "stop", "words_each", "forbidden")
    fields = read_fields(open_file(path), path.name, readers, needed=needed)
    marks.values.setdefault("repeatable", frozenset())
    marks.values |= {name: fields[name] for name in _VALUES if name in fields}
    marks.once.update(fields.get("once", ()))
    marks.lint = fields.get("forbidden", marks.lint)
    for section in _PAIRS:
        marks.pairs[section] = [*marks.pairs.get(section, ()), *fields.get(section, ())]


_VALUES: dict[str, Reader] = {
    "blank": mark,
    "stop": text,
    "words_each": number(0.1, 10),
    "repeatable": lambda place, what: frozenset(texts(place, what)),
}
_PAIRS = ("clashes", "yields", "apart", "needs", "prefers")
"""The sections of ``language.yaml`` that list pairs of facts."""


def _any_of(entry: YamlNode, fact: str, before: Sequence[str], *, check: bool) -> str:
    """Return a pattern that matches if any pattern of `entry` or `before` does.

    `fact` names the patterns in error messages. With `check`, an invalid pattern of `entry` is an
    error with file and line.
    """
    what = f"the patterns of {fact!r}"
    if check:
        new = [_pattern(place, what).pattern for place in entry.items(what)]
    else:
        new = [*texts(entry, what)]
    return "|".join(f"(?:{pattern})" for pattern in (*before, *new))


def _pairs(entry: YamlNode, section: str) -> list[tuple[YamlNode, str, str]]:
    pairs = []
    for place in entry.items(section):
        names = texts(place, "a pair of facts")
        if len(names) != len(("first", "second")):
            raise place.error(f"{section!r} lists pairs of facts, not {len(names)} of them")
        pairs.append((place, names[0], names[1]))
    return pairs


# -- the files of phrases --------------------------------------------------------------------------


def _add_phrases(source: LanguageFolder, phrases: _Phrases, lint: Lint | None) -> None:
    folder = source.path
    # Introductions are written as a whole and have none of a user's sentences.
    composed = set[str]()
    for name, entry in read_entries(folder / "emotions.yaml"):
        older = phrases.feelings.get(name)
        phrases.feelings[name] = feeling = _feeling(name, entry, lint, older)
        if older is None or (feeling.sentences, feeling.scenes) != (older.sentences, older.scenes):
            composed.add(name)
    for name, entry in read_entries(folder / "controls.yaml"):
        phrases.controls[name] = _feeling(name, entry, lint, phrases.controls.get(name))
    for section, place in read_entries(folder / "personas.yaml", ("roles", "collaboration")):
        clauses = phrases.roles if section == "roles" else phrases.collaboration
        known = sorted({_clauses_of(slug)[section != "roles"] for slug in source.personalities})
        for slug, entry in place.fields(section).items():
            if slug not in known:
                hint = nearest(slug, known) or f"; there are {', '.join(known)}"
                raise entry.error(
                    f"no persona has {slug!r} under {section!r}{hint}. Describe a trait of your "
                    "own in personalities.yaml"
                )
            clauses[slug] = (*clauses.get(slug, ()), *_snippets("clause", lint)(entry, slug))
            composed.add(slug)
    phrases.introductions = {
        (emotion, slug, operation): introductions
        for (emotion, slug, operation), introductions in phrases.introductions.items()
        if composed.isdisjoint((emotion, *_clauses_of(slug)))
    }
    for path in sorted((folder / INTRODUCTIONS).glob("*.yaml")):
        phrases.introductions |= read_introductions(
            open_file(path),
            name=path.name,
            emotion=path.stem,
            personalities=source.personalities,
            lint=lint,
        )
    for name, entry in read_entries(folder / "requests.yaml", tuple(_REQUESTS)):
        kind = _REQUESTS[name]
        read = _snippets(kind, lint) if isinstance(kind, str) else kind
        phrases.requests[name] = read(entry, name)


def _clauses_of(slug: str) -> tuple[str, str]:
    """Return the entries of personas.yaml for a persona: its role, and its collaboration."""
    role, _, collaboration = slug.rpartition(".")
    return role, collaboration


def _feeling(name: str, entry: YamlNode, lint: Lint | None, older: Feeling | None) -> Feeling:
    """Return the phrases of an emotion or a control. Those of `older` are kept.

    Without `older`, ``style``, ``cues``, ``sentences`` and ``closings`` are required, or ``topics``
    and ``joint`` instead.
    """
    phrases = {"cues": "cue", "sentences": "sentence", "closings": "closing"}
    added = {**phrases, "notes": "cue", "talk": "cue", "scenes": "sentence"}
    clauses = _snippets("clause", lint)
    readers: dict[str, Reader] = {
        "style": _style,
        **{field_name: _snippets(kind, lint) for field_name, kind in added.items()},
        "topics": lambda place, what: tuple(
            clauses(topic, what) for topic in place.fields(what).values()
        ),
        "joint": text,
    }
    is_complete = older is not None or "topics" in entry.fields(f"{name!r}")
    needed = () if is_complete else ("style", *phrases)
    fields = read_fields(entry, f"{name!r}", readers, needed=needed)
    older = older or Feeling(style=Style(), cues=(), sentences=(), closings=())
    for field_name in fields.keys() & {*added, "topics"}:
        fields[field_name] = (*getattr(older, field_name), *fields[field_name])
    if "style" in fields:
        fields["style"] = replace(older.style, **fields["style"])
    return replace(older, **fields)


def _style(entry: YamlNode, what: str) -> dict[str, Any]:
    readers = {
        "lower": flag,
        "asks": flag,
        "run_on": mark,
        "ends": lambda place, what: tuple(mark(item, what) for item in place.items(what)),
        "joints": texts,
    }
    return read_fields(entry, what, readers, needed=())


def _snippets(kind: str, lint: Lint | None) -> Reader:
    """Return a reader of a list of phrases of a kind, which `lint` checks."""

    def read(entry: YamlNode, _: str) -> tuple[str, ...]:
        snippets = []
        for place in entry.items(f"the list of {kind}s"):
            snippet = place.text(f"a {kind}").strip()
            if problem := lint.problem(snippet, kind) if lint else None:
                raise place.error(f"{snippet!r}: {problem}")
            if kind == "clause" and snippet.endswith(_FINAL_MARKS):
                raise place.error(
                    f"{snippet!r}: a clause is joined to others; leave out its final mark"
                )
            snippets.append(snippet)
        return tuple(snippets)

    return read


_FINAL_MARKS = tuple(
    ".!?…\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH EXCLAMATION MARK}\N{FULLWIDTH QUESTION MARK}"
)


def _pattern(entry: YamlNode, _: str) -> re.Pattern[str]:
    try:
        return re.compile(entry.text("a pattern"), re.IGNORECASE)
    except re.error as error:
        raise entry.error(f"not a regular expression: {error}") from None


def _acts(entry: YamlNode, what: str) -> tuple[Act, ...]:
    readers = {"kind": text, "find": _pattern}
    return tuple(Act(**read_fields(place, "an act", readers)) for place in entry.items(what))


def _forms(entry: YamlNode, what: str) -> tuple[Form, ...]:
    readers = {
        "kind": text,
        "say": text,
        "of": texts,
        "end": mark,
        "light": flag,
        "make": flag,
        "first": flag,
    }
    needed = ("kind", "say", "of")
    return tuple(
        Form(**read_fields(place, "a form", readers, needed=needed)) for place in entry.items(what)
    )


_REQUESTS: dict[str, str | Reader] = {
    "acts": _acts,
    "forms": _forms,
    "make": lambda place, what: frozenset(texts(place, what)),
    "no_question": _pattern,
    "stops": texts,
    "greetings": "greeting",
    "asks": "ask",
    "intros": "intro",
    "bullet_intros": "intro",
}
"""The sections of ``requests.yaml``: the kind of their phrases, or the reader of other entries."""
