"""The lines of a prompt: code, and the paragraphs and list items of prose."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from pytest_promptse.tasks._task import parse_stub
from pytest_promptse.variants.invariance._finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Layout", "lay_out", "line_findings"]

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})(.*)$")
_NO_LANGUAGE = frozenset({"", "text", "txt"})
_QUOTE = re.compile(r"^\s*(?:>(?!>>) ?)+")
_RULE = re.compile(r"^\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$")
_MARKER = re.compile(r"^\s*(?:[-*\u2022\u2013+]\s+|\d{1,2}[.)]\s+|\#{1,6}\s+|//\s*|\#\s+)")
_CODE_LINE = re.compile(
    r"""^\s*(?:
        >>>|\.\.\.\s|\|.*\||\$\s
        |Traceback\ \(|File\ ".*",\ line\ \d|\w+(?:\.\w+)*(?:Error|Exception|Warning):\s
        |(?:async\s+)?def\s+\w+\(.*:|class\s+\w+.*:\s*$|@\w[\w.]*(?:\(.*\))?\s*$
        |import\s+\w|from\s+[\w.]+\s+import\s
        |(?:SELECT|FROM|WHERE|GROUP\ BY|ORDER\ BY|INSERT\ INTO|CREATE\ TABLE|LEFT\ JOIN|JOIN)\b.*
        |(?:if|for|while|elif|with|try|else|except)\b.*:\s*$
        |[\]\[{}()]+[,;]?\s*$
        |.*[;{]\s*$
        |</?\w+[^>]*>\s*$
    )""",
    re.VERBOSE,
)
_ITEM_OF_WORDS = re.compile(
    r"^\s*(?:[-*\u2022\u2013+]|\d{1,2}[.)])\s+(?:[a-z]+\s+){2,}[^={}]*;\s*$", re.IGNORECASE
)
"""A list item that ends with a semicolon, as in a list of requirements."""
_INDENTED_CODE = re.compile(r"^(?:\s{4,}|\t).*(?:[=;{}]|\w\(|^\s+return\b)")
_ENDS = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f\uff1a\uff1b]['\")\]]*\s*$")
_SHORT = 50
"""A shorter line, in characters, was not broken to fit a width."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A prompt divided into code and prose.

    Attributes
    ----------
    stub
        The syntax tree of a code stub, or None for any other prompt.
    lines
        Lines of code, examples and tables, without surrounding blanks.
    paragraphs
        All other text, each paragraph as one line. For a stub, these are its docstrings and
        comments.
    """

    stub: ast.Module | None
    lines: tuple[str, ...]
    paragraphs: tuple[str, ...]


def lay_out(text: str, *, is_talk: Callable[[str], bool] = lambda _: False) -> Layout:
    """Divide `text` into code and prose, without list markers, quotation signs and rules.

    Parameters
    ----------
    text
        A prompt.
    is_talk
        Returns True for a line that is prose even if it looks like code, such as "for context, I'm
        new here. The text is this:". It is not asked about lines in fences and examples.
    """
    stub = parse_stub(text)
    blocks = [text] if stub is None else list(_prose_of(text, stub))
    lines: list[str] = []
    paragraphs: list[str] = []
    for block in blocks:
        reader = _Reader(is_talk)
        for line in block.splitlines():
            reader.read(_QUOTE.sub("", line, count=1))
        reader.finish_paragraph()
        lines.extend(reader.lines)
        paragraphs.extend(reader.paragraphs)
    return Layout(stub=stub, lines=tuple(lines), paragraphs=tuple(paragraphs))


def line_findings(original: Sequence[str], variant: Sequence[str]) -> Iterator[Finding]:
    """Yield the lines of code that were lost, added or moved.

    Both texts are given as lines of code. A moved line is reported as missing and as added.
    """
    matcher = SequenceMatcher(None, original, variant, autojunk=False)
    for kind, start, end, begin, stop in matcher.get_opcodes():
        if kind != "equal":
            for line in original[start:end]:
                yield Finding("verbatim", f"the line {line!r} is missing or out of its place")
            for line in variant[begin:stop]:
                yield Finding("verbatim", f"the line {line!r} was added")


def _prose_of(text: str, stub: ast.Module) -> Iterator[str]:
    """Yield the docstrings and blocks of comments of a stub, in order.

    `stub` is the parsed `text`. Each result is one docstring, or one block of consecutive comment
    lines.
    """
    prose_at: list[tuple[int, str]] = []
    for node in ast.walk(stub):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str):
                prose_at.append((node.lineno, inspect.cleandoc(value)))
    comments = {
        token.start[0]: token.string.lstrip("#").strip()
        for token in tokenize.generate_tokens(io.StringIO(text.rstrip() + "\n").readline)
        if token.type == tokenize.COMMENT
    }
    block: list[str] = []
    for line, comment in sorted(comments.items()):
        block.append(comment)
        if line + 1 not in comments:
            prose_at.append((line, "\n".join(block)))
            block = []
    for _, prose in sorted(prose_at, key=lambda pair: pair[0]):
        yield prose


class _Reader:
    """Classifies the lines of a text."""

    def __init__(self, is_talk: Callable[[str], bool]) -> None:
        self._is_talk = is_talk
        self.lines: list[str] = []
        self.paragraphs: list[str] = []
        self._gathered: list[str] = []
        self._fence = ""
        self._in_example = False

    def read(self, line: str) -> None:
        """Add the next line."""
        bare = line.strip()
        if self._fence:
            self._read_fenced(line)
        elif (fence := _FENCE.match(line)) and "`" not in fence[2]:
            self.finish_paragraph()
            self._fence = fence[1]
            if fence[2].strip() not in _NO_LANGUAGE:
                self.lines.append(fence[0].strip())
        elif not bare or _RULE.match(line):
            self._in_example = False
            self.finish_paragraph()
        elif self._is_code(line):
            self.finish_paragraph()
            self.lines.append(re.sub(r"\s+", " ", bare))
        elif marker := _MARKER.match(line):
            self.finish_paragraph()
            self._gathered.append(line[marker.end() :].strip())
        else:
            if self._gathered and self._starts_anew(bare):
                self.finish_paragraph()
            self._gathered.append(bare)

    def finish_paragraph(self) -> None:
        """End the present paragraph, if any."""
        if self._gathered:
            self.paragraphs.append(" ".join(self._gathered))
        self._gathered = []

    def _read_fenced(self, line: str) -> None:
        fence = _FENCE.match(line)
        if fence and fence[1].startswith(self._fence) and not fence[2].strip():
            self._fence = ""
        else:
            self.lines.append(line.strip())

    def _is_code(self, line: str) -> bool:
        """Return whether a line is code or the output of an example."""
        self._in_example = self._in_example or line.lstrip().startswith(">>>")
        if self._in_example or _INDENTED_CODE.match(line):
            return True
        looks_like_code = _CODE_LINE.match(line) and not _ITEM_OF_WORDS.match(line)
        return bool(looks_like_code) and not self._is_talk(line.strip())

    def _starts_anew(self, bare: str) -> bool:
        last = self._gathered[-1]
        return bool(_ENDS.search(last)) or (bare[:1].isupper() and len(last) < _SHORT)
