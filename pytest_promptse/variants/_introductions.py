"""Introductions written as a whole: what one person in one mood says before a request.

Sentences that are drawn independently of each other seldom belong together. A folder
``introductions`` of a language has one file for each emotion, with texts in which the traits of a
persona and the emotion depend on each other. Parts of a text are labelled with what they show:
``[role: ...]`` the technical orientation and the experience, ``[way: ...]`` the style of
collaboration, and ``[mood: ...]`` the emotion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from pytest_promptse.tasks._plainyaml import YamlNode
    from pytest_promptse.variants._lint import Lint

FOLDER = "introductions"
"""The folder of the files, in the folder of a language."""
OPERATIONS = ("style", "transform")
"""The operations whose variants begin with an introduction."""
MANNERS = ("terse", "non-native")
"""The kinds of introduction that are a manner of writing. They fit every prompt otherwise."""
KINDS = ("any", "work", "comment", "practice", *MANNERS)
"""``any`` fits every prompt; ``work`` fits those that a person at work can have, ``comment`` fits
code to complete, and ``practice`` fits exercises, of people who study.
"""

Introductions = Mapping[tuple[str, str, str], "tuple[Introduction, ...]"]
"""Introductions by the name of the emotion, the slug of the persona and the operation."""

_LABELLED = re.compile(r"\[([a-z]+): ([^\[\]]+)\]")
_SHOWN = {"role": ("technical", "experience"), "way": ("collaboration",), "mood": ("emotion",)}
# A role that is a sentence, or in Chinese a clause, of its own.
_ROLE_APART = re.compile(
    r"^\[role: [^\[\]]+(?:[.!?]\] |\] - |\][\uff0c\u3002\uff01 ])(?=\[)"
    r"|(?:(?<=[.!?]\]) |(?<=\]) - )\[role: [^\[\]]+\]$"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, kw_only=True)
class Introduction:
    """One introduction.

    Parameters
    ----------
    text
        The text without its labels.
    kind
        One of `KINDS`.
    cues
        The words that show each dimension of the persona and the emotion. Of several parts that
        show the same, this is the first.
    emotion_share
        The share of the characters that show the emotion, in [0, 1].
    to_acquaintance
        The introduction without its role, for a reader who knows the writer. None if the role
        cannot be left out, and for a comment.
    """

    text: str
    kind: str
    cues: Mapping[str, str]
    emotion_share: float
    to_acquaintance: Introduction | None = None

    @property
    def manner(self) -> str:
        """The manner of writing, or empty."""
        return self.kind if self.kind in MANNERS else ""

    @property
    def facts(self) -> frozenset[str]:
        """The facts that the kind asserts: none for ``any``."""
        return frozenset() if self.kind == "any" else frozenset({self.kind})

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the text."""
        return tuple(_SENTENCE_END.split(self.text))


def read_introductions(
    entry: YamlNode, *, name: str, emotion: str, personalities: Collection[str], lint: Lint | None
) -> dict[tuple[str, str, str], tuple[Introduction, ...]]:
    """Return the introductions of a file.

    Parameters
    ----------
    entry
        The content of the file: texts by persona, operation and kind.
    name
        The name of the file, for error messages.
    emotion
        The name of the emotion, which is that of the file.
    personalities
        The slugs of all personas.
    lint
        Checks each text, or None for texts that are checked already.

    Raises
    ------
    TaskError
        If an entry is invalid. The message names file and line.
    """
    introductions = {}
    for slug, place in entry.fields(name, tuple(personalities)).items():
        for operation, cell in place.fields(f"persona {slug!r}", OPERATIONS).items():
            introductions[emotion, slug, operation] = tuple(
                _introduction(item, kind, lint)
                for kind, items in cell.fields(operation, KINDS).items()
                for item in items.items(f"the list of {kind!r}")
            )
    return introductions


def _introduction(item: YamlNode, kind: str, lint: Lint | None) -> Introduction:
    labelled = item.text("an introduction").strip()
    shown: dict[str, list[str]] = {}
    for match in _LABELLED.finditer(labelled):
        if match[1] not in _SHOWN:
            raise item.error(f"{match[0]!r}: a label is one of {', '.join(_SHOWN)}")
        for dimension in _SHOWN[match[1]]:
            shown.setdefault(dimension, []).append(match[2].rstrip(" -"))
    if missing := [label for label, (first, *_) in _SHOWN.items() if first not in shown]:
        raise item.error(f"{labelled!r} lacks a part labelled [{missing[0]}: ...]")
    text = _plain(labelled)
    if problem := lint.problem(text, "introduction") if lint else None:
        raise item.error(f"{text!r}: {problem}")
    introduction = Introduction(
        text=text,
        kind=kind,
        cues={name: parts[0] for name, parts in shown.items()},
        emotion_share=sum(map(len, shown["emotion"])) / len(text),
    )
    without_role = _plain(_ROLE_APART.sub("", labelled))
    if (
        kind == "comment"
        or without_role == text
        or any(words in without_role for words in shown["technical"])
    ):
        return introduction
    shorter = replace(
        introduction,
        text=without_role,
        cues={name: introduction.cues[name] for name in ("collaboration", "emotion")},
        emotion_share=sum(map(len, shown["emotion"])) / len(without_role),
    )
    return replace(introduction, to_acquaintance=shorter)


def _plain(labelled: str) -> str:
    return _LABELLED.sub(lambda match: match[2], labelled)
