"""Layouts that place added text around the specification, which stays unchanged."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.variants._document import Document
    from pytest_promptse.variants._lines import Kind

Block = Literal["paste", "rule", "quote", "bullets"]
Edit = tuple[int, int, str]
"""Characters ``[start, end)`` of the original, and the text that replaces them."""

_COMMENT_WIDTH = 88
_QUOTABLE: frozenset[Kind] = frozenset(
    {"blank", "closing", "context", "greeting", "item", "specification"}
)
_ONE_PARAGRAPH: frozenset[Kind] = frozenset({"specification", "context"})
_MARKS = "\uff0c\u3002\uff01\uff1f\uff1b\uff1a\u2026"
_CLAUSE = re.compile(rf"[^\s{_MARKS}]*(?:[{_MARKS}]+|\s+|$)")
"""A clause of a text without blanks between its words, with its mark."""
_HALVES = {"\uff0c": ",", "\uff1b": ";", "\uff1a": ":", "\u3002": ".", "\uff01": "!", "\uff1f": "?"}
_FULL_MARKS = re.compile("([\uff0c\u3002\uff1b\uff1a\uff01\uff1f])(?=(\\S?))")
_HAN = "[\u4e00-\u9fff]"
_HALF_MARK = re.compile(r"[\u4e00-\u9fff\w`)][,.;:!?](?:\s|$)")
_INNER = "\uff0c\uff1b\uff1a"


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Return `text` with `edits` applied, which must not overlap.

    An edit is (start, end, new text), with character offsets in `text`.
    """
    pieces, last = [], 0
    for start, end, new in sorted(edits):
        pieces += [text[last:start], new]
        last = end
    return "".join([*pieces, text[last:]])


def blocks(document: Document) -> tuple[Block, ...]:
    """Return the possible ways to set the whole prompt apart from the writer's text."""
    if document.is_stub:
        return ()
    if document.tail is None or document.head:
        return ("paste",)
    possible: list[Block] = ["paste"]
    text = document.text.strip()
    if "---" not in text:
        possible.append("rule")
    if document.kinds <= _QUOTABLE and ">" not in text[:1]:
        possible.append("quote")
    if document.kinds <= _ONE_PARAGRAPH and len(document.sentences) > 1 and "\n" not in text:
        possible.append("bullets")
    return tuple(possible)


def set_apart(document: Document, block: Block) -> str:
    """Return the prompt from its head on as `block`, in complete lines.

    `block` is ``paste`` (unchanged), ``rule`` (between two lines ``---``), ``quote`` (as a
    quotation), or a list with one item per sentence.
    """
    text = document.text[document.head :]
    if block == "paste":
        return text
    stripped = text.strip("\r\n").rstrip()
    newline = _newline(document)
    if block == "rule":
        return f"---{newline}{newline}{stripped}{newline}{newline}---"
    if block == "quote":
        return newline.join(f"> {line}" if line.strip() else ">" for line in stripped.splitlines())
    return newline.join(f"- {document.content(span)}" for span in document.sentences)


def around(document: Document, block: Block, before: Sequence[str], after: Sequence[str]) -> str:
    """Return the prompt as `block` between paragraphs before and after it.

    `before` and `after` are paragraphs. `block` is one of the forms that `set_apart` knows. The
    text before the prompt's head, such as a greeting, stays first.
    """
    newline = _newline(document)
    gap = newline * 2
    whole = set_apart(document, block)
    opening = gap.join(before) + gap if before else ""
    if block == "paste":
        inside = document.text
        edits: list[Edit] = [(document.head, document.head, opening)]
        if after:
            place = _end_of_text(document)
            edits.append((place, place, gap + gap.join(_indented(document, after))))
        return apply(inside, edits)
    return document.text[: document.head] + opening + gap.join([whole, *after]) + _ending(document)


def beside(
    document: Document,
    edits: Sequence[Edit],
    before: Sequence[str],
    after: Sequence[str],
    *,
    inline: str | None = None,
) -> str:
    """Return the prompt with `edits`, and with the writer's paragraphs inside its own frame.

    The paragraphs are placed after a greeting and before the closing of an e-mail. With `inline`,
    the last paragraph of `before` is in the line of the first sentence, separated by `inline`. It
    precedes that sentence, or follows the greeting at its start. If that greeting has no mark and
    `inline` is a blank, a comma follows the greeting.
    """
    newline = _newline(document)
    gap = newline * 2
    text, made = document.text, list(edits)
    if before and inline is not None:
        first = next(s for s in document.spans if s.start >= document.body and s.kind != "blank")
        opening = gap.join(before) + inline
        place = document.salutation
        greeting = text[:place].rstrip() if place is not None else ""
        if inline.isspace() and greeting[-1:].isalnum():
            place, opening = len(greeting), f",{inline}{opening.rstrip()}"
        made = _merged(made, first.start if place is None else place, opening)
    elif before:
        opening = gap.join(before)
        if text[document.body :].startswith(("\n", "\r\n")) and document.body:
            opening = f"{newline}{opening}{newline}"
        else:
            opening = f"{opening}{gap}"
        made = _merged(made, document.body, opening)
    if after and document.tail is not None:
        made.append((document.tail, document.tail, gap + gap.join(_indented(document, after))))
    return apply(text, made)


def commented(document: Document, above: Sequence[str]) -> str:
    """Return a stub with paragraphs as comments above it.

    `above` has one paragraph per item. Lines are wrapped and begin with the comment sign of the
    stub's language.
    """
    newline = _newline(document)
    lines = [line for part in above for line in _wrapped(part, _COMMENT_WIDTH - 3)]
    comment = "".join(f"{document.comment} {line}{newline}" for line in lines)
    return apply(document.text, [(document.head, document.head, comment)])


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of `text`, of at most `width` columns if their words allow it.

    A text in wide characters has no blanks between its words. Its lines end at a mark, and a wide
    character has two columns.
    """
    if cell_len(text) == len(text):
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    lines = [""]
    for clause in _CLAUSE.findall(text):
        if lines[-1] and cell_len(lines[-1] + clause.rstrip()) > width:
            lines.append("")
        lines[-1] += clause
    return [line.strip() for line in lines]


def _merged(edits: list[Edit], place: int, opening: str) -> list[Edit]:
    """Put `opening` before an edit that starts at the same place.

    `place` is a character offset. Without such an edit, `opening` becomes an edit of its own.
    """
    for number, (start, end, new) in enumerate(edits):
        if start == place:
            return [*edits[:number], (start, end, opening + new), *edits[number + 1 :]]
    return [*edits, (place, place, opening)]


def _newline(document: Document) -> str:
    return "\r\n" if "\r\n" in document.text else "\n"


def _end_of_text(document: Document) -> int:
    return len(document.text.rstrip())


def _ending(document: Document) -> str:
    return document.text[_end_of_text(document) :]


def _indented(document: Document, paragraphs: Sequence[str]) -> list[str]:
    """Return paragraphs with the indentation of a prompt whose further lines are all indented.

    The indentation is the smallest one of the lines after the first.
    """
    lines = [line for line in document.text.splitlines()[1:] if line.strip()]
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines), default=0)
    return [" " * indent + paragraph for paragraph in paragraphs]


def punctuated_like(original: str, text: str) -> str:
    """Return the Chinese `text` with half-width marks where `original` has them.

    All marks are half-width if `original` has half-width ones alone. Otherwise a mark has the width
    that it has in `original`. Of the comma, the colon and the semicolon, those that do not occur
    have the width of the others. A blank follows a half-width mark that ends a sentence, and the
    others if it mostly does so in `original`.
    """
    found = {
        full: re.findall(rf"(?<={_HAN}){re.escape(half)}( ?)", original)
        + (re.findall(rf"{re.escape(half)}( ?)(?={_HAN})", original) if full in _INNER else [])
        for full, half in _HALVES.items()
    }
    if not _FULL_MARKS.search(original):
        has_half = any(found.values()) or _HALF_MARK.search(original)
        halves = set(_HALVES) if has_half else set[str]()
    else:
        halves = {full for full, blanks in found.items() if blanks and full not in original}
        if not halves.isdisjoint(_INNER):
            halves |= {mark for mark in _INNER if mark not in original}
    blanks = [blank for full in halves & set(_INNER) for blank in found[full]]
    gap = " " if sum(map(bool, blanks)) * 2 >= len(blanks) else ""

    def half(mark: re.Match[str]) -> str:
        if mark[1] not in halves:
            return mark[1]
        after = gap if mark[1] in _INNER else " "
        return _HALVES[mark[1]] + (after if mark[2] else "")

    return _FULL_MARKS.sub(half, text)
