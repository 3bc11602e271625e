"""The text of a study for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table as Grid
from rich.text import Text

from pytest_promptse.compare._sections import sections_of
from pytest_promptse.compare._table import written
from pytest_promptse.reports._formatting import console, printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from pytest_promptse.compare._study import Study
    from pytest_promptse.compare._table import Section, Table


def render(study: Study, *, width: int, colours: bool) -> str:
    """Return a study as text of at most `width` columns, with ANSI colours if `colours` is True."""
    entries = study.subset.entries
    records = len({id(entry.source.record) for entry in entries})
    source = f", from {records} records" if records > 1 else ""
    return render_sections(
        sections_of(study),
        title=f"{study.subset.title}{source}",
        notes=study.subset.notes,
        width=width,
        colours=colours,
    )


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
        _print(out, section)
    return printed(out)


def _print(out: Console, section: Section) -> None:
    out.print()
    out.print(Text(section.title, "bold"))
    if section.lead:
        out.print(Text(section.lead, "dim"))
    for table in section.tables:
        if table.brief == 0:
            continue
        if len([one for one in section.tables if one.brief != 0]) > 1:
            out.print(Text(table.title, "underline"))
        out.print(_grid(table))
        if table.brief is not None and len(table.rows) > table.brief:
            out.print(Text(f"{len(table.rows) - table.brief} more in --html and --csv", "dim"))
    if section.listing:
        out.print(Text(section.listing), soft_wrap=True)
    for line in section.missing:
        out.print(Text(f"missing: {line}", "yellow"))


def _grid(table: Table) -> Grid:
    grid = Grid(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    shown = [number for number, column in enumerate(table.columns) if column.brief]
    for number in shown:
        column = table.columns[number]
        is_text = column.kind == "text"
        grid.add_column(
            Text(column.title),
            justify="left" if is_text else "right",
            overflow="fold" if is_text else "ellipsis",
            no_wrap=not is_text,
        )
    for row in table.rows[: table.brief]:
        grid.add_row(*(Text(written(row[n], table.columns[n].kind)) for n in shown))
    return grid
