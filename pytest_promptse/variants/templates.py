"""Reading the template files: YAML with file and line in every error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import VariantError, nearest
from pytest_promptse.tasks.plainyaml import YamlNode, parse
from pytest_promptse.variants.lexicon import REGISTERS, Entry, Lexicon
from pytest_promptse.variants.meaning import (
    adds_instruction,
    changes_meaning,
    instruction_words,
    terms,
)
from pytest_promptse.variants.spans import mask

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

FILES = (
    "emotions.yaml",
    "personalities.yaml",
    "strengths.yaml",
    "contexts.yaml",
    "controls.yaml",
    "lexicon.yaml",
    "rewriting.yaml",
)
_SNIPPETS = ("openers", "asks", "intros", "links", "asides", "before", "after")
_MARKS = ("exclamation", "ellipsis", "split", "join")
_MATERIAL = ("register", "contractions", "marks", *_SNIPPETS)
_FIT = {"asks": "{do", "intros": "{say}"}

# What an entry of each file must give, besides its material: field -> (type, lowest, highest).
_Field = tuple[type, float, float]
_TEXT: _Field = (str, 0, 0)
_SHARE: _Field = (float, 0, 1)
EMOTION: Mapping[str, _Field] = {
    "description": _TEXT,
    "language": _TEXT,
    "pattern": _TEXT,
    "valence": (float, -1, 1),
    "arousal": (float, -1, 1),
}
TRAIT: Mapping[str, _Field] = {"name": _TEXT, "description": _TEXT, "vocabulary": _TEXT}
CONTROL: Mapping[str, _Field] = {"description": _TEXT}
STRENGTH: Mapping[str, _Field] = {
    "description": _TEXT,
    "lexical": _SHARE,
    "structure": _SHARE,
    "request": _SHARE,
    "frames": (float, 0, 20),
    "links": _SHARE,
    "asides": _SHARE,
    "marks": _SHARE,
}
CONTEXT: Mapping[str, _Field] = {
    "description": _TEXT,
    "base": _SHARE,
    "step": _SHARE,
    "tilt": (float, -1, 1),
    "signals": (tuple, 0, 0),
}


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a voice speaks with; the kinds of snippets are explained in emotions.yaml.

    ``contractions`` is None where the voice leaves "it is" and "it's" as they come.
    """

    register: str = "plain"
    contractions: float | None = None
    exclamation: float = 0.0
    ellipsis: float = 0.0
    split: float = 0.3
    join: float = 0.3
    openers: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    intros: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class EntryNode:
    """One named entry of a template file, with the fields that its kind must have."""

    name: str
    place: YamlNode
    fields: Mapping[str, YamlNode]
    needed: Mapping[str, _Field]

    def given(self) -> dict[str, Any]:
        """Return the needed fields, checked."""
        return {name: self._value(name, kind) for name, kind in self.needed.items()}

    def number_key(self) -> float:
        """Return the entry's name as a distance."""
        try:
            distance = float(self.name)
        except ValueError:
            raise self.place.error(
                f"a strength is named by its distance, not {self.name!r}"
            ) from None
        if not 0 < distance < 1:
            raise self.place.error(f"the distance {self.name} must lie between 0 and 1")
        return distance

    def _value(self, name: str, kind: _Field) -> Any:
        if name not in self.fields:
            raise self.place.error(f"{self.name!r} lacks {name!r}")
        place = self.fields[name]
        wanted, low, high = kind
        if wanted is str:
            return place.text(name).strip()
        if wanted is tuple:
            return tuple(item.text(name) for item in place.items(name))
        value = place.value()
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not low <= value <= high
        ):
            raise place.error(f"{name!r} must be a number from {low:g} to {high:g}, not {value!r}")
        return float(value)

    def material(self) -> Material:
        """Return the voice's snippets, checked for instructions of their own."""
        given: dict[str, Any] = {}
        if "register" in self.fields:
            place = self.fields["register"]
            register = place.text("register")
            if register not in REGISTERS:
                raise place.error(f"register {register!r} is none of {', '.join(REGISTERS)}")
            given["register"] = register
        if "contractions" in self.fields:
            given["contractions"] = self._value("contractions", _SHARE)
        if "marks" in self.fields:
            place = self.fields["marks"]
            marks = place.fields("marks", _MARKS)
            node = EntryNode("marks", place, marks, dict.fromkeys(marks, _SHARE))
            given |= node.given()
        for kind in _SNIPPETS:
            if kind in self.fields:
                items = self.fields[kind].items(kind)
                given[kind] = tuple(_snippet(item, kind) for item in items)
        return Material(**given)


def _snippet(place: YamlNode, kind: str) -> str:
    text = place.text(f"a snippet of {kind!r}").strip("\n")
    slot = _FIT.get(kind)
    if slot and text.count(slot) != 1:
        raise place.error(f"{text!r} must hold {slot.rstrip('}')}}} once")
    bare = re.sub(r"\{do\^?\}|\{say\}", "X", text)
    if re.search(r"[{}]", re.sub(r"\{[^{}]*\|[^{}]*\}", "", bare)):
        raise place.error(f"{text!r}: braces hold alternatives, as in {{this|that}}")
    if re.search(r"[\d\"`\\]", bare):
        raise place.error(f"{text!r}: a snippet holds no digits, quotation marks or code")
    for wording in expansions(bare):
        if spans := mask(re.sub(r"\bX\b", "it", wording)).spans:
            raise place.error(f"{wording!r}: {spans[0].text!r} would be taken for part of the task")
        for sentence in re.split(r"(?<=[.!?])\s+", wording):
            own = kind in ("before", "after") or (slot is not None and "X" not in sentence)
            problem = adds_instruction(sentence) if own else changes_meaning(sentence)
            if problem:
                raise place.error(f"{sentence!r} says something about the task: {problem}")
    return text


def expansions(text: str) -> Iterator[str]:
    """Yield the wordings of `text` in which each alternative appears at least once."""
    groups = re.findall(r"\{([^{}]*\|[^{}]*)\}", text)
    most = max((group.count("|") + 1 for group in groups), default=1)
    for number in range(most):
        yield re.sub(
            r"\{([^{}]*\|[^{}]*)\}",
            lambda match, n=number: (parts := match[1].split("|"))[n % len(parts)],  # type: ignore[misc]
            text,
        )


def _open(folder: Path, name: str) -> YamlNode | None:
    path = folder / name
    if not path.is_file():
        return None
    try:
        return parse(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError:
        raise VariantError(f"{path}:1: not UTF-8 text") from None


def contents(folder: Path) -> bytes:
    """Return all template files of `folder` as one string of bytes; refuse files of other names."""
    for path in sorted(folder.iterdir()):
        if path.suffix in (".yaml", ".yml") and path.name not in FILES:
            hint = nearest(path.name, FILES) or f"; template files are {', '.join(FILES)}"
            raise VariantError(f"{path}:1: not a template file{hint}")
    found = (folder / name for name in FILES)
    return b"\0".join(path.name.encode() + path.read_bytes() for path in found if path.is_file())


def entries(
    folder: Path,
    name: str,
    needed: Mapping[str, _Field],
    *,
    under: str | None = None,
    within: Collection[str] = (),
) -> list[EntryNode]:
    """Return the entries of a file, or of its section `under` (one of `within`)."""
    top = _open(folder, name)
    if top is None:
        return []
    if under is not None:
        sections = top.fields(name, within)
        if under not in sections:
            return []
        top = sections[under]
    speaks = needed is not STRENGTH and needed is not CONTEXT
    known = (*needed, *_MATERIAL) if speaks else tuple(needed)
    return [
        EntryNode(key, place, place.fields(f"{key!r}", known), needed)
        for key, place in top.fields(name).items()
    ]


def lexicon(folder: Path) -> Lexicon | None:
    """Return the lexicon of `folder`, None where it has none."""
    top = _open(folder, "lexicon.yaml")
    if top is None:
        return None
    return Lexicon(tuple(_lexicon_entry(place) for place in top.items("the lexicon")))


def _lexicon_entry(place: YamlNode) -> Entry:
    fields = place.fields("an entry", ("any", "find", "say", "unless_after", "unless_before"))
    if ("any" in fields) == ("find" in fields) or ("find" in fields) != ("say" in fields):
        raise place.error("an entry has either 'any', or 'find' and 'say'")

    def words(name: str) -> tuple[str, ...]:
        if name not in fields:
            return ()
        return tuple(item.text(name).strip() for item in fields[name].items(name))

    find = (fields["find"].text("find"),) if "find" in fields else words("any")
    find = tuple(phrase.lstrip("~^") for phrase in find)
    say = words("say") or words("any")
    for phrase in say:
        kinds = [(instruction_words(text), terms(text)) for text in (find[0], phrase.lstrip("~^"))]
        if kinds[0] != kinds[1]:
            raise place.error(f"{phrase.lstrip('~^')!r} instructs otherwise than {find[0]!r}")
    return Entry(
        find=find,
        say=say,
        unless_after=frozenset(words("unless_after")),
        unless_before=frozenset(words("unless_before")),
    )


def instruction(folder: Path) -> dict[str, str]:
    """Return the texts of rewriting.yaml by name."""
    top = _open(folder, "rewriting.yaml")
    if top is None:
        return {}
    names = ("system", "request", "again")
    return {name: place.text(name) for name, place in top.fields("rewriting.yaml", names).items()}
