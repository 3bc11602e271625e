"""Spans of a sentence that every variant must contain unchanged, such as code and numbers."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import parse_stub

if TYPE_CHECKING:
    from collections.abc import Collection

_FIRST_MARK = 0xE000
_LAST_MARK = 0xF8FF
MARKS = f"{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}"
"""The private-use characters that replace spans, as a range inside ``[...]`` of a pattern."""

GLUE = "\x1f"
"""Replaces a blank inside a span until lines are broken, so that no line is broken there."""
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_INLINE = re.compile(r"`([^`\n]+)`")
_MARK = re.compile(f"[{MARKS}]")

# The order matters: if two patterns match, the first one takes the text.
_KINDS: dict[str, str] = {
    "placeholder": r"\{\{.*?\}\}|\{%.*?%\}|\{\#.*?\#\}|\$\{\w+\}|\{[\w.\[\]!:<>^,]*\}"
    r"|%\(\w+\)[sdrfi]|%[sdrfi](?!\w)",
    "code": r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)",
    "url": r"\b(?:https?|ftp)://[^\s<>\"')\]]*[^\s<>\"')\].,;:!?]|\]\([^)\s]+\)",
    "literal": r"\"[^\"]{0,80}\"|(?<![\w'])'[^']{1,60}'(?!\w)"
    r"|\u201c[^\u201d]{0,80}\u201d|\u2018[^\u2019]{1,60}\u2019(?!\w)",
    "path": r"(?<![\w/])(?:~|\.{1,2})?/(?:[\w.\-]+/)*[\w.\-]*\w|\b[\w\-]+(?:/[\w\-]+)*"
    r"\.(?:py|txt|json|jsonl|csv|tsv|ya?ml|toml|md|ini|cfg|log|html?|xml|sql|sh|exe|dll)\b",
    "identifier": r"\b[A-Za-z_][\w.]*\((?:[^()\n]|\([^()\n]*\))*\)"  # a call
    r"|\b[A-Za-z]\w*(?:\[[^\[\]\n]*\])+"  # an item of a sequence or mapping
    r"|\b\w*[A-Za-z]_\w+|\b_\w+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z]{2,}s?\b"
    r"|\b(?:True|False|None)\b|\b(?!(?:[eE]\.g|[iI]\.e)\b)\w+\.[a-z_]\w*\b(?!\.)"
    r"|(?<![\w'\u2019\-.])(?![aAI]\b|[eE]\.g\b|[iI]\.e\b)[A-Za-z]\b'?(?!\w)",
    "expression": r"\((?=[^()\n]*[\d=<>≤≥*+%^|])[^()\n]*\)|\[[^\[\]\n]*\]"
    r"|(?<!\S)[^\sA-Za-z\d]*[=<>≤≥*+^|&%~\#@\\/➞→][^\sA-Za-z\d]*(?!\S)",
    "number": r"(?<![\w.])[-+]?\d[\d_,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?:st|nd|rd|th|[a-z%]\w*)?"
    r"(?<![,_])",
}
_SPAN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))


@dataclass(frozen=True)
class ProtectedSpan:
    """A part of a text that must stay unchanged. Messages name its ``kind``."""

    kind: str
    text: str


@dataclass(frozen=True)
class Masked:
    """Prose in which a private-use character replaces each span, so that rewriters keep it.

    ``spans`` are in the order of their characters in ``text``.
    """

    text: str
    spans: tuple[ProtectedSpan, ...]

    def restore(self, text: str) -> str:
        """Return `text` with every mark replaced by its span, whose blanks become ``GLUE``."""
        return _MARK.sub(
            lambda mark: self.spans[ord(mark[0]) - _FIRST_MARK].text.replace(" ", GLUE), text
        )


def mask(text: str, names: Collection[str] = ()) -> Masked:
    """Replace the spans of `text` by marks.

    `names` are identifiers of the interface. They are masked even if they are ordinary words too
    (``numbers``), since leaving a word unchanged is never wrong.

    Raises
    ------
    VariantError
        For more than 6,400 spans. No prompt written by a person has that many.
    """
    return _masked(text, frozenset(names))


# Cached, since candidates of one task share most of their paragraphs.
@lru_cache(maxsize=1024)
def _masked(text: str, names: frozenset[str]) -> Masked:
    pieces: list[str] = []
    spans: list[ProtectedSpan] = []

    def add(part: str, pattern: re.Pattern[str] | None, kind: str | None) -> None:
        last = 0
        for match in pattern.finditer(part) if pattern else ():
            between(part[last : match.start()], kind)
            pieces.append(chr(_FIRST_MARK + len(spans)))
            spans.append(ProtectedSpan(kind or match.lastgroup or "code", match[0]))
            last = match.end()
        between(part[last:], kind)

    def between(part: str, kind: str | None) -> None:
        if kind is None:
            add(part, named, "name")
        else:
            pieces.append(part)

    named = _names_pattern(names)
    add(text, _SPAN, None)
    if len(spans) > _LAST_MARK - _FIRST_MARK:
        raise VariantError(
            f"one paragraph holds {len(spans)} code spans; put the code into a fence (```)"
        )
    return Masked("".join(pieces), tuple(spans))


@lru_cache(maxsize=256)
def _names_pattern(names: frozenset[str]) -> re.Pattern[str] | None:
    # "a" and "I" are primarily words: masking them would mask every article.
    words = sorted(names - {"a", "A", "I"}, key=lambda name: (-len(name), name))
    if not words:
        return None
    return re.compile(rf"(?<![\w'\u2019\-])(?:{'|'.join(map(re.escape, words))})(?![\w'\u2019\-])")


@lru_cache(maxsize=256)
def interface_names(prompt: str, entry_point: str) -> frozenset[str]:
    """Return the names that a caller uses: functions, classes and their parameters.

    In an instruction, these are names in inline code, as in ```merge(a, b)```.
    """
    tree = parse_stub(prompt) or _signatures(prompt)
    names = {entry_point}
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return frozenset(names)


def _signatures(prompt: str) -> ast.Module:
    """Return the calls and signatures in the inline code of an instruction as definitions."""
    definitions = []
    for code in _INLINE.findall(prompt):
        try:
            definitions.extend(ast.parse(f"def {code.removeprefix('def ').rstrip(':')}: pass").body)
        except SyntaxError:
            continue  # inline code that is not a signature
    return ast.Module(body=definitions, type_ignores=[])
