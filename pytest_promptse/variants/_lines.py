"""Classify the lines of a prompt: greetings, items, code, tables and so on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Kind = Literal[
    "blank",
    "closing",
    "code",
    "context",
    "example",
    "fence",
    "greeting",
    "heading",
    "item",
    "marker",
    "placeholder",
    "signature",
    "specification",
    "table",
    "tag",
    "traceback",
]

PROSE: frozenset[Kind] = frozenset({"specification", "context", "item"})
"""The kinds of span that contain sentences."""

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ITEM = re.compile(
    r"\s*(?:[-*+•\u2013]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(?=\S)|\s*[①-⑳]|\s*\d{1,2}、"
)
_GREETING = re.compile(
    r"\s*(?:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day)|morning"
    r"|hallo|guten (?:tag|morgen)|moin|liebe[rs]?|sehr geehrte[rs]?|bonjour|hola)\b"
    r"(?:\s+[\w.'\u2019-]+){0,4}\s*[,!.:\u2013\uff0c\uff01\uff1a-]?\s*$"
    r"|\s*(?:你好|您好|大家好|各位好?|嗨)[^\u3002]{0,8}[,\uff0c!\uff01\u3002:\uff1a]?\s*$"
    r"|\s*(?:尊敬的)?[^\W\d_]{1,8}[,\uff0c\u3001 ]?(?:[你您]好|大家好|老师好)"
    r"[,\uff0c!\uff01\u3002:\uff1a]\s*$"
    r"|\s*(?:(?:尊敬的|敬爱的)[^\u3002\uff0c,:\uff1a]{1,12}|[^\W\d_]{1,4}(?:老师|教授))"
    r"[,\uff0c!\uff01:\uff1a]\s*$"
    # A surname with a word of respect or familiarity: 小李:, 王工\uff0c
    r"|\s*(?:[小老阿](?!计|结|数|时|写|组|节|师)[^\W\d_]{1,2}[,\uff0c:\uff1a]"
    r"|[^\W\d_]{1,2}(?:工|总|哥|姐|经理|主任|同学|师傅)[,\uff0c]"
    # With a colon, unlike 分工: and 员工:
    r"|(?:[^\W\d_分加职员手施完开动]工|[^\W\d_](?:哥|姐))[:\uff1a])\s*$",
    re.IGNORECASE,
)
_MARKER = re.compile(
    r"\s*(?:<\|[^|>]*\|>.*|\[/?INST\]|<</?SYS>>"
    r"|#{0,4}\s*(?:instructions?|user|human|assistant|system|response|answer|output|input|question"
    r"|solution|prompt)\s*:?)\s*$",
    re.IGNORECASE,
)
_TAG = re.compile(r"\s*</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>\s*$")
_TAGGED = re.compile(r"\s*<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>.*</\1>\s*$")
_PLACEHOLDER = re.compile(
    r"\s*(?:\{\{.*\}\}|\{%.*%\}|\{#.*#\}|\{[\w.:\[\]]*\}|\$\{\w+\}|%\(\w+\)s|<[A-Z][A-Z_ ]*>)\s*$"
)
_HEADING = re.compile(
    r"\s*(?:#{1,6}\s+\S.*|[=~_*-]{3,}|(?:[-*_]\s){2,}[-*_]|\*\*[^*]+\*\*:?|[A-Z][A-Z0-9]+-\d+\b[^.!?]*"
    r"|(?:Title|Subject|Betreff|From|To|Cc|Date|Sent|Re|Fwd|Issue|Ticket|Story|Priority|Labels?"
    r"|Assignee|Reporter|Status|Type|Component)\s*:.*|(?:[A-Z][\w/&'()-]*|[^\W\d_]{2,})"
    r"(?:\s+[\w/&'()-]+){0,5}\s*[:\uff1a])\s*$"
)
_TABLE = re.compile(r"\s*(?:\|.*\||\+[-=+]{3,}|.*\S\s*\|\s*\S.*\s\|\s*\S.*|[^\t]*\t[^\t]*\t.*)\s*$")
_DOCTEST = re.compile(
    r"\s*(?:>>>|\.\.\.\s|In \[\d+\]:|Out\[\d+\]:|\$ \S"
    r"|(?:\*\*)?(?:example|sample|input|output|expected|explanation|示例|输入|输出)"
    r"(?: (?:input|output|call|usage))?s?\s*\d*(?:\*\*)?\s*[:\uff1a])",
    re.IGNORECASE,
)
_TRACEBACK = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|File \".*\", line \d+|at [\w.$<>]+\(.*\)"
    r"|Caused by:|[\w.]+(?:Error|Exception|Warning)\b(?::.*|\s*$)|Exception in thread|panic:"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|\^+\s*$)"
)
_SIGNATURE = re.compile(
    r"\s*(?:(?:async\s+)?def\s+\w+\s*[(\[].*|class\s+\w+.*:|@\w[\w.]*(?:\(.*\))?"
    r"|(?:export\s+)?(?:default\s+)?(?:async\s+)?function\b.*|(?:pub\s+)?(?:async\s+)?fn\s+\w+.*"
    r"|func\s+(?:\(.*\)\s*)?\w+\s*\(.*|(?:public|private|protected|static|final)\s+.*[({;]"
    r"|(?:int|void|double|float|long|bool|char|auto|string|std::\S+|vector<.*>)\s+[\w:*&]+\s*\(.*\)\s*\{?"
    r"|(?:const|let|var)\s+\w+\s*=.*=>.*|(?:interface|struct|enum|impl|trait|type)\s+\w+.*[{=].*)\s*$"
)
_CODE = re.compile(
    r"\s*(?:from\s+[\w.]+\s+import\b.*|import\s+[\w.{\"'*].*|return\b[^.]*[;(\[\w]$|#include\s.*"
    r"|(?:const|let|var)\s+\w+.*|using\s+\w+.*;|package\s+[\w.]+;?|.*[;{]|[})\]]+[;,]?"
    r"|(?:if|for|while|elif|with|try|except|else|finally)\b.*:|[\w.\[\]\"']+\s*(?:[-+*/|&]?=|:=)\s*\S.*"
    r"|(?:SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|JOIN|GROUP|ORDER)\s[^.]*"
    r"|\w[\w.]*\(.*\);?|//.*|/?\*+/?(?:\s.*)?|--\s.*|\"\"\".*|'''.*|\"[\w-]+\"\s*:\s*.+|[{\[],?"
    r"|.*\"\"\")\s*$"
)
_COMMENT = re.compile(r"\s*(?:#\s|//|--\s|/\*|\*/|\*\s)")
# Lines of source code in languages other than Python that could not stand in prose with it.
_SOURCE = re.compile(
    r"\s*(?:#!.*|#\s*(?:include|define|if|ifdef|ifndef|endif|pragma)\b.*|#!?\[.*\]|#|<\?php"
    r"|import\s*\(|(?:declare|namespace|template|use|typedef)\b.*[;>]|set\s+-.*|def\s.*|end"
    r"|(?:pub\s+)?(?:struct|enum|impl|trait|mod)\b.*[{};]"
    r"|(?:class|module)\s+[A-Z]\w*(?:\s*<\s*[\w:]+)?|function\s+\w+.*|[\w-]+\s*\(\)\s*\{?"
    r"|(?:SELECT|FROM|WHERE))\s*$"
)
_SQL = re.compile(r"^\s*(?:SELECT|CREATE|WITH|INSERT|UPDATE|ALTER)\b", re.MULTILINE)
# The first sign that occurs is that of the language.
_COMMENT_SIGNS = (
    ("//", re.compile(r"\A\s*(?:<\?php|#!.*\bnode\b)")),
    ("#", re.compile(r"\A\s*#!")),
    ("--", _SQL),
    ("//", re.compile(r"^\s*(?://|/\*)", re.MULTILINE)),
    ("--", re.compile(r"^\s*-- ", re.MULTILINE)),
    ("#", re.compile(r"^\s*#(?:\s|$)(?!\s*(?:include|define|if|pragma))", re.MULTILINE)),
    ("#", re.compile(r"\A\s*(?:async\s+)?def\s")),
    ("//", re.compile(r"[;{]\s*$", re.MULTILINE)),
    ("#", re.compile(r"\A\s*(?:class|module|import|from|@)")),
)
_FORMULA = re.compile(r"\s*[\w.\[\]()^/*+ -]{1,30}\s*(?:=|≤|≥|<=|>=|<|>|→|->|=>|↦)\s*\S.*$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a prompt: characters ``[start, end)``, including its line break."""

    kind: Kind
    start: int
    end: int


def read_lines(prompt: str) -> Iterator[Line]:
    """Yield the lines of a prompt with their kinds."""
    reader = _Reader()
    offset = 0
    for raw in prompt.splitlines(keepends=True):
        yield Line(reader.read(raw), offset, offset + len(raw))
        offset += len(raw)


def _is_formula(line: str) -> bool:
    words = re.findall(r"[^\W\d_]{3,}", line)
    return bool(_FORMULA.match(line)) and len(words) <= 3  # noqa: PLR2004 - no sentence


_RULES: Sequence[tuple[Kind, tuple[Callable[[str], object], ...], frozenset[Kind]]] = (
    ("marker", (_MARKER.match,), frozenset()),
    ("placeholder", (_PLACEHOLDER.match,), frozenset()),
    ("tag", (_TAG.match, _TAGGED.match), frozenset()),
    ("traceback", (_TRACEBACK.match,), frozenset({"traceback"})),
    ("table", (_TABLE.match,), frozenset()),
    ("signature", (_SIGNATURE.match,), frozenset()),
    ("item", (_ITEM.match,), frozenset()),
    ("heading", (_HEADING.match,), frozenset()),
    ("code", (_CODE.match, _is_formula), frozenset({"code", "signature"})),
    ("item", (), frozenset({"item"})),
)
"""The kinds of lines in the order in which they are tried: tests of a line, and the kinds that an
indented line continues."""


class _Reader:
    """Classifies lines one after the other."""

    def __init__(self) -> None:
        self._fence = ""
        self._last: Kind = "blank"
        self._example = False
        self._seen_text = False

    def read(self, line: str) -> Kind:
        self._last = self._classify(line.rstrip("\r\n"))
        self._seen_text = self._seen_text or self._last != "blank"
        return self._last

    def _classify(self, line: str) -> Kind:
        stripped = line.strip()
        if self._fence:
            if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]):
                self._fence = ""
            return "fence"
        if fence := _FENCE.match(line):
            self._fence = fence[1]
            return "fence"
        self._example = bool(stripped and (self._example or _DOCTEST.match(line)))
        if not stripped:
            return "blank"
        if self._example:
            return "example"
        if not self._seen_text and is_greeting(line):
            return "greeting"
        is_indented = line[:1].isspace()
        kinds = (
            kind
            for kind, tests, continued in _RULES
            if any(test(line) for test in tests) or (is_indented and self._last in continued)
        )
        return next(kinds, "specification")


def is_greeting(line: str) -> bool:
    """Return whether a line only greets."""
    return _GREETING.match(line) is not None


def begins_fence(line: str) -> bool:
    """Return whether a line begins with the fence of a block of code."""
    return _FENCE.match(line) is not None


def begins_item(line: str) -> bool:
    """Return whether a line begins with the mark of a list item."""
    return _ITEM.match(line) is not None


def comment_sign(prompt: str) -> str:
    """Return the comment sign of source code that is not a Python stub. Empty for prose."""
    lines = [line for line in prompt.splitlines() if line.strip()]
    if not lines or any(map(_FENCE.match, lines)):
        return ""
    is_in_comment = False
    for before, line in pairwise(["", *lines]):
        continues = line[0].isspace() and before and not _ITEM.match(before)
        if not (is_in_comment or continues or is_code_line(line) or _SOURCE.match(line)):
            return ""
        opening, closing = line.rfind("/*"), line.rfind("*/")
        is_in_comment = opening > closing or (is_in_comment and closing < 0)
    text = "\n".join(lines)
    return next((sign for sign, pattern in _COMMENT_SIGNS if pattern.search(text)), "")


def is_code_line(line: str) -> bool:
    """Return whether a line may be source code or a comment."""
    return bool(_CODE.match(line) or _SIGNATURE.match(line) or _COMMENT.match(line))
