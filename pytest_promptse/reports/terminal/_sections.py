"""Sections as text for the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table as Grid
from rich.text import Text

from pytest_promptse.record._sections import Listing, Prose, Table
from pytest_promptse.reports._cells import written
from pytest_promptse.reports._formatting import console, printed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from pytest_promptse.record._sections import Block, Section


def render_sections(
    sections: Sequence[Section],
    *,
    title: str,
    notes: Sequence[str] = (),
    width: int,
    colours: bool,
) -> str:
    """Return sections under a title as text of at most `width` columns.

    `notes` are shown below the title. ANSI colours are used if `colours` is True.
    """
    out = console(width=width, colours=colours)
    out.print(Text(title, "bold"))
    for note in notes:
        out.print(Text(note, "yellow"))
    for section in sections:
        out.print()
        out.print(Text(section.title, "bold"))
        if section.lead:
            out.print(Text(section.lead, "dim"))
        print_blocks(out, section.blocks)
        for line in section.missing:
            out.print(Text(f"missing: {line}", "yellow"))
    return printed(out)


def render_blocks(blocks: Sequence[Block], *, title: str, width: int, colours: bool) -> str:
    """Return all of `blocks` under a title as text of at most `width` columns."""
    out = console(width=width, colours=colours)
    out.print(Text(title, "bold"))
    print_blocks(out, blocks, verbose=True)
    return printed(out)


def print_blocks(out: Console, blocks: Sequence[Block], *, verbose: bool = False) -> None:
    """Print blocks. Plots are left out.

    `verbose` also prints what is not brief: all rows of tables, and long listings.
    """
    for shown in lines_of(blocks, verbose=verbose):
        out.print(shown, soft_wrap=isinstance(shown, Text) and shown.no_wrap is True)


def lines_of(blocks: Sequence[Block], *, verbose: bool = False) -> Iterator[RenderableType]:
    """Yield what the terminal shows of `blocks`: texts and grids for `rich`.

    A text that must not be wrapped says so. `verbose` is that of `print_blocks`.
    """
    several = sum(isinstance(block, Table) and (verbose or block.brief != 0) for block in blocks)
    for block in blocks:
        if isinstance(block, Prose):
            yield Text(block.text)
        elif isinstance(block, Listing) and (verbose or block.brief):
            if block.title:
                yield Text(block.title, "underline")
            yield Text(block.text, no_wrap=True)
        elif isinstance(block, Table) and (verbose or block.brief != 0):
            if several > 1:
                yield Text(block.title, "underline")
            limit = None if verbose else block.brief
            grid = _grid(block.only_brief(), limit)
            yield _Roomy(_grid(block.only_brief(intervals=True), limit), grid) if verbose else grid
            if limit is not None and len(block.rows) > limit:
                yield Text(f"{len(block.rows) - limit} more in --html and --csv", "dim")


_UNBOUNDED = 10_000
"""Columns of a terminal on which every table fits."""


@dataclass(frozen=True)
class _Roomy:
    """A grid that is shown where it fits the width of the terminal, and a narrower one."""

    wide: Grid
    narrow: Grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Grid]:
        unbounded = options.update(max_width=_UNBOUNDED)
        fits = console.measure(self.wide, options=unbounded).maximum <= options.max_width
        yield self.wide if fits else self.narrow


def _grid(table: Table, limit: int | None) -> Grid:
    grid = Grid(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in table.columns:
        is_text = column.kind == "text"
        grid.add_column(
            Text(column.title),
            justify="left" if is_text else "right",
            overflow="fold" if is_text else "ellipsis",
            no_wrap=not is_text,
        )
    for row in table.rows[:limit]:
        cells = zip(row, table.columns, strict=True)
        grid.add_row(*(Text(written(cell, column.kind)) for cell, column in cells))
    return grid
