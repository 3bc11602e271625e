"""The word lists of a language, read from ``templates/judge``.

A language is data: a file ``<code>.yaml`` with the lists that ``en.yaml`` explains. In Chinese, a
character counts as a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.tasks._plainyaml import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_promptse.tasks._plainyaml import YamlNode

__all__ = ["CJK", "Phrase", "Vocabulary", "expand_contractions", "vocabulary"]

CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""The Chinese characters, as a range inside ``[...]`` of a pattern."""

Phrase = tuple[str, ...]

_ALGORITHMS = {"en": "english", "de": "german"}
_SECTIONS = ("function", "exact", "talk", "cues", "hedges", "verbs")
_PROGRAM = "program"
_TALK = ("first", "phrases", "asking", "limiting")
_MORE_TALK = ("sentences", "referring")
"""Optional lists, as is that of words of programs."""
_PIECE = re.compile(rf"[{CJK}]|[^\W_{CJK}]+|\#|[^\w\s'-]+")
_AUXILIARIES = "do|does|did|is|are|was|were|has|have|had|would|could|should"
_SUBJECTS = (
    "it|that|this|he|she|here|there|what|where|who|how|everything|nothing|everyone|brain|head"
)
_CONTRACTIONS = (
    (re.compile(r"\b(ca|wo|sha)n't\b", re.IGNORECASE), r"\1n not"),
    (re.compile(r"\bcann not\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon not\b", re.IGNORECASE), "will not"),
    (re.compile(r"\bcan not\b|\bcannot\b|\bcant\b", re.IGNORECASE), "can not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(rf"\b({_AUXILIARIES})nt\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\b(i)(m)\b|\b(i|you|we|they)'(m|re)\b", re.IGNORECASE), r"\1\3 am"),
    (re.compile(r"\b(i|you|we|they)'?ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(i|you|he|she|it|we|they|that|this)'d\b", re.IGNORECASE), r"\1 would"),
    (re.compile(r"\b(i|you|he|she|it|we|they|that|this)'ll\b", re.IGNORECASE), r"\1 will"),
    (re.compile(rf"\b({_SUBJECTS})'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(?:let's|lets)\b", re.IGNORECASE), "let us"),
    (re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
    (re.compile(r"\bgotta\b", re.IGNORECASE), "have to"),
    (re.compile(r"(?<=\w)'s?(?!\w)"), ""),
)


def expand_contractions(text: str) -> str:
    """Return `text` with "don't" as "do not" and so on, and without possessive endings."""
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    return text


def plain_words(text: str) -> Phrase:
    """Return the words of `text` in lower case; a Chinese character is a word."""
    return tuple(_PIECE.findall(expand_contractions(text.lower())))


@dataclass(frozen=True, kw_only=True, eq=False)
class Vocabulary:
    """The lists of one language. ``templates/judge/en.yaml`` explains each of them.

    Attributes
    ----------
    stem
        Returns the stem of a word in lower case.
    rules
        Rule and line number of each exact word or phrase, by its stems. Those of one line are
        equivalent.
    longest
        Number of words of the longest phrase in `rules`.
    """

    stem: Callable[[str], str]
    function: frozenset[str]
    function_stems: frozenset[str]
    rules: Mapping[Phrase, tuple[str, int]]
    longest: int
    first_person: frozenset[str]
    talk: frozenset[Phrase]
    sentences: tuple[str, ...]
    referring: frozenset[str]
    asking: frozenset[Phrase]
    limiting: frozenset[str]
    program: frozenset[str]
    cues: frozenset[Phrase]
    hedges: frozenset[Phrase]
    verbs: frozenset[str]


@cache
def vocabulary(language: str) -> Vocabulary | None:
    """Return the lists of `language`, or None if there are none.

    Raises
    ------
    TaskError
        If the file is not such a file; the error names the line.
    """
    path = templates_dir() / "judge" / f"{language}.yaml"
    if not path.is_file():
        return None
    root = parse(path.read_text(encoding="utf-8"), path)
    sections = root.fields(path.name, (*_SECTIONS, _PROGRAM))
    for name in _SECTIONS:
        if name not in sections:
            raise root.error(f"{path.name} has no key {name!r}; add it, as in en.yaml")
    talk = sections["talk"].fields("talk", (*_TALK, *_MORE_TALK))
    for name in _TALK:
        if name not in talk:
            raise sections["talk"].error(f"talk has no key {name!r}; add it, as in en.yaml")
    stem = _stemmer(language)
    rules = dict(_rules(sections["exact"], stem))
    return Vocabulary(
        stem=stem,
        function=_words(sections["function"]),
        function_stems=frozenset(map(stem, _words(sections["function"]))),
        rules=rules,
        longest=max(map(len, rules)),
        first_person=_words(talk["first"]),
        talk=_phrases(talk["phrases"]),
        sentences=tuple(_entries(talk["sentences"].text("a list"))) if "sentences" in talk else (),
        referring=_words(talk["referring"]) if "referring" in talk else frozenset(),
        asking=_phrases(talk["asking"]),
        limiting=_words(talk["limiting"]),
        program=frozenset(map(stem, _words(sections[_PROGRAM]) if _PROGRAM in sections else ())),
        cues=_phrases(sections["cues"]),
        hedges=_phrases(sections["hedges"]),
        verbs=_words(sections["verbs"]),
    )


def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer  # noqa: PLC0415 - loads 30 languages, and most runs need no judge

    algorithm = _ALGORITHMS.get(language)
    if algorithm is None:
        return str
    return cache(snowballstemmer.stemmer(algorithm).stemWord)


def _rules(section: YamlNode, stem: Callable[[str], str]) -> list[tuple[Phrase, tuple[str, int]]]:
    lines = [
        (rule, line)
        for rule, node in section.fields("exact").items()
        for line in node.text(rule).splitlines()
    ]
    return [
        (tuple(map(stem, phrase)), (rule, number))
        for number, (rule, line) in reversed(list(enumerate(lines)))
        for phrase in _split(line)
    ]


def _words(node: YamlNode) -> frozenset[str]:
    return frozenset(node.text("a list").split())


def _phrases(node: YamlNode) -> frozenset[Phrase]:
    return frozenset(_split(node.text("a list")))


def _split(text: str) -> list[Phrase]:
    return list(map(plain_words, _entries(text)))


def _entries(text: str) -> list[str]:
    return [part for line in text.splitlines() for part in line.split("|") if part.strip()]
