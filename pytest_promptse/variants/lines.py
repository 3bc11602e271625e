"""What each line of a prompt is: prose, a list item, or something to be kept as it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_SHORTEST_LINE, _SHORTEST_ITEM = 2, 3  # words

Kind = Literal["prose", "item", "kept"]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line: ``lead`` (indentation and list marker), ``body`` and ``ending`` make up ``text``.

    ``starts`` marks prose that begins anew although no blank line precedes it; ``formula`` marks
    a kept line that may stand in the middle of a sentence.
    """

    kind: Kind
    text: str
    lead: str = ""
    body: str = ""
    ending: str = ""
    starts: bool = False
    formula: bool = False


_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ITEM = re.compile(r"(\s*(?:[-*+•]|\d{1,2}[.)])\s+)(?=\S)")
_HEADER = re.compile(
    r"\s*\[?(?:some\s+)?(?:for\s+)?(?:examp?b?les?|e\.g\.|samples?|inputs?|outputs?|explanations?"
    r"|input/output|doctests?)\b\]?(?:\s+\w+)?\s*\d*\s*[:.,]?\s*$",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\s*(?:examples?\s*\d*|input|output|explanation)\s*:\s*\S", re.IGNORECASE)
_TITLE = re.compile(r"\s*(?:#{1,6}\s|[A-Z][\w /-]{0,30}:\s*$|(?:[=\-~*_]\s?){3,}$)")
_ARROW = re.compile(r"=>|==|➞|→|->|:=|≡")
_FORMULA = re.compile(
    r"\s*(?:for\s+)?[A-Za-z_][\w.]*(?:\([^()]*\)|\[[^\]]*\])*\s*[-+*/]?=\s*\S"  # an assignment
    r"|\s*@\w+|\s*:\w+[ \w]*:"  # a documented variable
    r"|\s*[A-Za-z_]\w*\(.*\)\s*(?:$|returns?\b|should\b|is\b|=|#)"  # a call and its result
    r"|\s*(?:assert|import|from|def|class|print)\b[^.]*[(=:]"
    r"|\s*['\"][^'\"]+['\"]\s*[-:]\s"  # a legend
)
_INLINE = re.compile(r"(`+)[^`]+\1")
_LEFTOVER = re.compile(r"[A-Za-z'\u2019\-.,;:!?…() ]+")
_WORD = re.compile(r"[A-Za-z]{2,}")
_RUNS_ON = re.compile(
    r"(?:[,;:(\-\u2013—]|\b(?:the|a|an|of|to|in|and|or|is|by|with|for|that|than))$"
)
_BEGINS = re.compile(
    r"(?:Return|Ignore|Assume|Note|If|You|Your|The|This|Write|Given|It|For|Each|Keep|Input|Sort|In"
    r"|When|There|Use|Do|Find|Compute|Output|Create|Implement|All|Please|Every|Round|Count)\b"
)


def read_lines(text: str, *, indent: int | None) -> list[Line]:
    """Classify the lines of `text`.

    `indent` is the column that a docstring's lines start in; None for an instruction, plain or
    Markdown.
    """
    raw = text.splitlines(keepends=True)
    reader = _Reader(
        base=_base_indent(raw) if indent is None else indent, docstring=indent is not None
    )
    return [reader.read(line, first=number == 0) for number, line in enumerate(raw)]


def _base_indent(lines: list[str]) -> int:
    """Return the column that an instruction's lines start in.

    A prompt written between triple quotes in indented code has its first line at the margin and
    the others where the code stands.
    """
    later = lines[1:] if len(lines) > 1 and lines[1].strip() else lines
    indents = [len(line) - len(line.lstrip()) for line in later if line.strip()]
    return min(indents, default=0)


def goes_on(line: str) -> bool:
    """Whether `line`, below a line of prose, would be read as more of it."""
    reader = _Reader(base=0, docstring=True)
    reader.read("some prose", first=True)
    return reader.read(line.strip(), first=False).kind == "prose"


class _Reader:
    def __init__(self, *, base: int, docstring: bool) -> None:
        self._base = base
        self._docstring = docstring
        self._fence = ""
        self._kept_until_blank = False
        self._last: Line | None = None
        self._item_indent = 0

    def read(self, text: str, *, first: bool) -> Line:
        line = self._classify(text, first=first)
        self._last = line
        return line

    def _classify(self, text: str, *, first: bool) -> Line:  # noqa: PLR0911 - one per kind
        stripped = text.strip()
        if self._is_fenced(text, stripped) or self._is_example(text, stripped):
            return Line(kind="kept", text=text)
        if _TITLE.match(text) or stripped.startswith(("|", "<!--", "$$")):
            return Line(kind="kept", text=text)
        bare = _INLINE.sub("code", text)
        count = len(_WORD.findall(bare))
        if _ARROW.search(bare) or _FORMULA.match(bare) or count < _SHORTEST_LINE:
            if self._continues(stripped):
                return self._prose(text)
            return Line(kind="kept", text=text, formula=True)
        item = _ITEM.match(text)
        if (item and count < _SHORTEST_ITEM) or (not item and self._is_deeper(text, first=first)):
            return Line(kind="kept", text=text)
        if item:
            self._item_indent = len(item[1])
            return self._line("item", text, item[1])
        return self._prose(text)

    def _is_fenced(self, text: str, stripped: str) -> bool:
        if self._fence:
            if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]):
                self._fence = ""
            return True
        if fence := _FENCE.match(text):
            self._fence = fence[1]
        return bool(self._fence)

    def _is_example(self, text: str, stripped: str) -> bool:
        """Whether the line is blank or, up to the next blank one, below the start of an example."""
        if not stripped:
            self._kept_until_blank = False
            return True
        if stripped.startswith(">>>") or _HEADER.match(text) or _LABEL.match(text):
            self._kept_until_blank = True
        return self._kept_until_blank

    def _continues(self, stripped: str) -> bool:
        """Whether a leftover word or two belong to the sentence of the line before."""
        last = self._last
        return last is not None and last.kind != "kept" and bool(_LEFTOVER.fullmatch(stripped))

    def _is_deeper(self, text: str, *, first: bool) -> bool:
        if first and self._docstring:
            return False
        indent = len(text) - len(text.lstrip())
        if self._last is not None and self._last.kind != "kept" and indent <= self._item_indent:
            return False
        allowed = 1 if self._docstring else 3
        return indent > self._base + allowed

    def _prose(self, text: str) -> Line:
        if self._last is None or self._last.kind == "kept":
            self._item_indent = 0
        lead = text[: len(text) - len(text.lstrip())]
        starts = (
            self._last is not None
            and self._last.kind != "kept"
            and not re.search(r"[.!?]$", self._last.body)
            and not _RUNS_ON.search(self._last.body)
            and bool(_BEGINS.match(text.lstrip()))
        )
        return self._line("prose", text, lead, starts=starts)

    def _line(self, kind: Kind, text: str, lead: str, *, starts: bool = False) -> Line:
        body = text[len(lead) :].rstrip()
        ending = text[len(lead) + len(body) :]
        return Line(kind=kind, text=text, lead=lead, body=body, ending=ending, starts=starts)
