"""Read the template library from the shipped folder, and from a folder of a team."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import chain, starmap
from typing import TYPE_CHECKING

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import TaskError, VariantError
from pytest_promptse.variants._fields import number, prose, read_entries, read_fields, texts
from pytest_promptse.variants._introductions import FOLDER as INTRODUCTIONS
from pytest_promptse.variants._language import NAMES
from pytest_promptse.variants._language_files import LanguageFiles, LanguageFolder, MadeOnUse
from pytest_promptse.variants._library import (
    DIMENSIONS,
    Context,
    Emotion,
    Level,
    Library,
    Trait,
    personalities,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from pytest_promptse.tasks._plainyaml import YamlNode

_FILES = ("emotions.yaml", "personalities.yaml", "levels.yaml", "contexts.yaml", "rewriting.yaml")
_LANGUAGE_FILES = (
    "language.yaml",
    "emotions.yaml",
    "personas.yaml",
    "requests.yaml",
    "controls.yaml",
)
_INSTRUCTION = (
    "system",
    "request",
    "again",
    "entailment_controls",
    "entailment_system",
    "entailment",
)


def load_library(extra: Path | None = None) -> Library:
    """Return the shipped library, extended by the entries of the folder `extra`.

    Files in `extra` have the names of shipped files. An entry is added, or replaces the entry of
    the same name. Every snippet is checked by `Lint`.

    Raises
    ------
    VariantError
        If an entry is invalid. The message names file and line.
    """
    try:
        return _load(extra)
    except TaskError as error:  # the shared YAML reader writes the place in a file like this
        raise VariantError(str(error)) from None


@lru_cache(maxsize=8)
def _load(extra: Path | None) -> Library:
    folders = [templates_dir()]
    if extra is not None:
        if not extra.is_dir():
            raise VariantError(f"{str(extra)!r} is not a folder; give that of your emotions")
        folders.append(extra)

    def entries(name: str, known: Sequence[str] | None = None) -> Iterator[tuple[str, YamlNode]]:
        return chain.from_iterable(read_entries(folder / name, known) for folder in folders)

    emotions = {name: _emotion(name, entry) for name, entry in entries("emotions.yaml")}
    if extra is not None:
        _check_names(extra, emotions)
    traits: dict[str, dict[str, Trait]] = {name: {} for name in DIMENSIONS}
    for dimension, place in entries("personalities.yaml", DIMENSIONS):
        for slug, entry in place.fields(dimension).items():
            traits[dimension][slug] = _trait(slug, dimension, entry)
    levels = {level.distance: level for level in starmap(_level, entries("levels.yaml"))}
    languages: dict[str, list[LanguageFolder]] = {}
    for folder in folders:
        for path in filter(_is_language, sorted(folder.iterdir())):
            languages.setdefault(path.name, []).append(
                LanguageFolder(
                    path=path, personalities=personalities(traits), is_users=folder is extra
                )
            )
    writers = frozenset(emotions).union(*traits.values())
    files = {
        code: LanguageFiles(code=code, folders=tuple(parts), writers=writers)
        for code, parts in languages.items()
    }
    library = Library(
        emotions=emotions,
        traits=traits,
        levels=tuple(levels[distance] for distance in sorted(levels)),
        contexts={name: _context(name, entry) for name, entry in entries("contexts.yaml")},
        languages=MadeOnUse(files, lambda code: files[code].language),
        coherence=MadeOnUse(files, lambda code: files[code].coherence),
        instruction={
            name: entry.text(name) for name, entry in entries("rewriting.yaml", _INSTRUCTION)
        },
        digest=_digest(extra) if extra else "",
    )
    if extra is not None:  # an error in a user's folder is reported whatever the prompts' language
        list(library.languages.values())
    return library


def _is_language(path: Path) -> bool:
    return path.is_dir() and path.name in NAMES


def _template_files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("*.yaml"))
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


def _check_names(folder: Path, emotions: Collection[str]) -> None:
    """Raise an error for files in a user's folder that have no known name.

    `emotions` are the names of all emotions. VariantError names the file and the closest known
    name.
    """
    for path in sorted(folder.rglob("*.y*ml")):
        inside = path.parent == folder
        names: Collection[str] = _FILES if inside else _LANGUAGE_FILES
        parent = path.parent
        if parent.name == INTRODUCTIONS:
            names, parent = [f"{name}.yaml" for name in emotions], parent.parent
        if path.name not in names or not (inside or parent.name in NAMES):
            hint = nearest(path.name, names) or f"; template files are {', '.join(names)}"
            raise VariantError(f"{path}:1: not a template file{hint}")


def _emotion(name: str, entry: YamlNode) -> Emotion:
    readers = {
        "description": prose,
        "language": prose,
        "pattern": prose,
        "valence": number(-1, 1),
        "arousal": number(-1, 1),
    }
    return Emotion(name=name, **read_fields(entry, f"emotion {name!r}", readers))


def _trait(slug: str, dimension: str, entry: YamlNode) -> Trait:
    readers = dict.fromkeys(("name", "description", "vocabulary"), prose)
    return Trait(slug=slug, dimension=dimension, **read_fields(entry, f"trait {slug!r}", readers))


def _level(name: str, entry: YamlNode) -> Level:
    try:
        distance = float(name)
    except ValueError:
        raise entry.error(f"a level is named by its distance, not {name!r}") from None
    readers = {
        "operation": _operation,
        "description": prose,
        "fewest": _n_words,
        "most": _n_words,
    }
    return Level(distance=distance, **read_fields(entry, f"level {name!r}", readers))


def _operation(place: YamlNode, what: str) -> str:
    operation = place.text(what)
    if operation not in ("light", "style", "transform"):
        raise place.error("an operation is one of light, style, transform")
    return operation


def _n_words(place: YamlNode, what: str) -> int:
    return int(number(1, 1000)(place, what))


def _context(name: str, entry: YamlNode) -> Context:
    readers = {
        "description": prose,
        "base": number(0, 1),
        "step": number(0, 1),
        "tilt": number(-1, 1),
        "signals": texts,
    }
    return Context(name=name, **read_fields(entry, f"context {name!r}", readers))
