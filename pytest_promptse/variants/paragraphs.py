"""A prompt taken apart: paragraphs of prose that may be reworded, and everything else verbatim."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants.lines import Line, goes_on, read_lines
from pytest_promptse.variants.spans import GLUE
from pytest_promptse.variants.stubs import Place, docstrings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.tasks.task import Task

_NARROWEST, _WIDEST, _UNWRAPPED = 72, 100, 120
_REFLOWS = 4


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A run of prose.

    ``text`` has single blanks for its line breaks. ``first`` and ``rest`` are what its first and
    its further lines start with (indentation, list marker); ``width`` is the column to wrap at, 0
    for prose that is not wrapped. ``item`` marks a list item; ``opens`` and ``closes`` say
    whether it begins and ends a sentence rather than running on into a formula beside it.
    """

    text: str
    first: str
    rest: str
    width: int
    item: bool
    opens: bool
    closes: bool

    def lay_out(self, text: str) -> str:
        """Return `text` with line breaks as here; an empty line in it parts paragraphs."""
        parts = text.split("\n\n")
        lines = [self._wrap(part, self.rest if n else self.first) for n, part in enumerate(parts)]
        return "\n\n".join(lines).replace(GLUE, " ")

    def _wrap(self, text: str, first: str) -> str:
        if not self.width:
            return first + text
        lines = [""]
        for _ in range(_REFLOWS):
            lines = textwrap.wrap(
                text,
                self.width,
                initial_indent=first,
                subsequent_indent=self.rest,
                break_long_words=False,
                break_on_hyphens=False,
            )
            # A line that begins with a formula would be taken for one: keep it on the line above.
            for line in (line.strip() for line in lines[1:]):
                if not goes_on(line):
                    text = text.replace(f" {line}", f"{GLUE}{line}", 1)
                    break
            else:
                break
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class Document:
    """A prompt as a sequence of verbatim text and paragraphs, in order.

    ``lines`` are its lines, stripped, and ``kept`` those that are not prose, without blank
    ones; the code around a docstring is not among them. ``stub`` tells docstrings from an
    instruction.
    """

    pieces: tuple[str | Paragraph, ...]
    lines: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    stub: bool = False

    @cached_property
    def paragraphs(self) -> tuple[Paragraph, ...]:
        """The prose, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Paragraph))

    @cached_property
    def prose(self) -> str:
        """The natural-language part: one paragraph per line."""
        return "\n".join(paragraph.text for paragraph in self.paragraphs)

    def render(self, texts: Sequence[str], *, opening: str = "", closing: str = "") -> str:
        """Return the prompt with its paragraphs replaced by `texts`, in order.

        `opening` and `closing` are paragraphs of their own before and after an instruction; a
        stub has no place for them.
        """
        assert not (self.stub and (opening or closing))
        remaining = iter(texts)
        body = "".join(
            piece if isinstance(piece, str) else piece.lay_out(next(remaining))
            for piece in self.pieces
        )
        if opening:
            body = f"{self._plain(opening)}\n\n{body}"
        if closing:
            text = body.rstrip()
            body = f"{text}\n\n{self._plain(closing, self.margin)}{body[len(text) :]}"
        return body

    @cached_property
    def margin(self) -> str:
        """The blanks that the lines of an instruction start with, but perhaps its first."""
        later = self.paragraphs[0].rest if self.paragraphs else ""
        return later if not later.strip() and not self.paragraphs[0].item else ""

    def _plain(self, text: str, margin: str = "") -> str:
        width = self.paragraphs[0].width if self.paragraphs else 0
        if not width:
            return margin + text
        return textwrap.fill(
            text, width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False
        )


def read_task(task: Task) -> Document:
    """Take apart the prompt of `task`."""
    return read_prompt(task.prompt, task.entry_point)


@lru_cache(maxsize=64)
def read_prompt(prompt: str, entry_point: str) -> Document:
    """Take apart a prompt: the docstrings of what a stub asks for, or all of an instruction."""
    found = docstrings(prompt, entry_point)
    stub = found is not None
    places = found if found is not None else (Place(0, len(prompt), 0),)
    pieces: list[str | Paragraph] = []
    every: list[Line] = []
    last = 0
    for place in places:
        pieces.append(prompt[last : place.start])
        lines = read_lines(prompt[place.start : place.end], indent=place.indent if stub else None)
        every.extend(lines)
        pieces.extend(_pieces(lines, indent=place.indent if stub else None))
        last = place.end
    pieces.append(prompt[last:])
    kept = (line.text.strip() for line in every if line.kind == "kept")
    return Document(
        pieces=_merged(pieces),
        lines=tuple(line.text.strip() for line in every),
        kept=tuple(filter(None, kept)),
        stub=stub,
    )


def _pieces(lines: Sequence[Line], indent: int | None) -> list[str | Paragraph]:
    """Gather lines into paragraphs; `indent` is the docstring's own, None outside one."""
    longest = max((len(line.text.rstrip()) for line in lines if line.kind != "kept"), default=0)
    width = 0 if longest > _UNWRAPPED else min(max(longest, _NARROWEST), _WIDEST)
    pieces: list[str | Paragraph] = []
    start = 0
    while start < len(lines):
        line = lines[start]
        end = start + 1
        if line.kind == "kept":
            pieces.append(line.text)
        else:
            while end < len(lines) and lines[end].kind == "prose" and not lines[end].starts:
                end += 1
            run = lines[start:end]
            pieces.append(_paragraph(run, lines[end:], lines[:start], width, indent))
            pieces.append(run[-1].ending)
        start = end
    return pieces


def _paragraph(
    run: Sequence[Line],
    after: Sequence[Line],
    before: Sequence[Line],
    width: int,
    indent: int | None,
) -> Paragraph:
    head = run[0]
    text = " ".join(line.body for line in run)
    if len(run) > 1 and not run[1].starts:
        rest = run[1].lead
    elif head.kind == "item":
        rest = " " * len(head.lead)
    elif not before and indent is not None:
        rest = " " * indent
    else:
        rest = head.lead
    formula_before = bool(before) and before[-1].formula and text[:1].islower()
    formula_after = bool(after) and after[0].formula and text[-1] not in ".!?:"
    return Paragraph(
        text=text,
        first=head.lead,
        rest=rest,
        width=width,
        item=head.kind == "item",
        opens=not formula_before,
        closes=not formula_after,
    )


def _merged(pieces: Sequence[str | Paragraph]) -> tuple[str | Paragraph, ...]:
    merged: list[str | Paragraph] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif piece:
            merged.append(piece)
    return tuple(merged)
