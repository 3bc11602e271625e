"""The tables of sections as files, one for each table: CSV or LaTeX."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from pytest_promptse.compare._table import written
from pytest_promptse.errors import RecordError
from pytest_promptse.record._tables import csv_text
from pytest_promptse.reports._latex import tabular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.compare._table import Cell, Column, Section, Table


def write_tables(sections: Sequence[Section], folder: Path, *, form: str) -> None:
    """Write every table of `sections` into `folder` and create it if it is missing.

    Parameters
    ----------
    sections
        The sections. Tables without rows are written, too.
    folder
        The folder of the files. Existing files are replaced.
    form
        ``csv`` or ``latex``.

    Raises
    ------
    RecordError
        If a file cannot be written.
    """
    ending, text_of = _FORMS[form]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for section in sections:
            for table in section.tables:
                path = folder / f"{table.name}.{ending}"
                path.write_text(text_of(table), encoding="utf-8", newline="")
    except OSError as error:
        raise RecordError(f"--{form} {folder}: {error.strerror or error}") from None


def _csv(table: Table) -> str:
    text = StringIO(newline="")
    csv.writer(text).writerows(lines(table))
    return text.getvalue()


def _latex(table: Table) -> str:
    """Return the columns that the terminal shows, with all rows."""
    shown = [number for number, column in enumerate(table.columns) if column.brief]
    kinds = [table.columns[number].kind for number in shown]
    return tabular(
        [table.columns[number].title for number in shown],
        [
            [written(row[number], kind) for number, kind in zip(shown, kinds, strict=True)]
            for row in table.rows
        ],
        is_text=[kind == "text" for kind in kinds],
        notes=[table.title],
    )


_FORMS: Mapping[str, tuple[str, Callable[[Table], str]]] = {
    "csv": ("csv", _csv),
    "latex": ("tex", _latex),
}


def lines(table: Table) -> Iterator[list[str]]:
    """Yield the header and the rows of a table.

    Figures are unrounded, and cells with None are empty.
    """
    yield [name for column in table.columns for name in _names(column)]
    for row in table.rows:
        yield [
            part
            for column, cell in zip(table.columns, row, strict=True)
            for part in _parts(column, cell)
        ]


def _names(column: Column) -> tuple[str, ...]:
    if column.kind.endswith("interval"):
        return (f"{column.key}_low", f"{column.key}_high")
    return (column.key,)


def _parts(column: Column, cell: Cell) -> tuple[str, ...]:
    if isinstance(cell, tuple):
        return tuple(repr(float(end)) for end in cell)
    if cell is None:
        return ("",) * len(_names(column))
    if isinstance(cell, str):
        return (csv_text(cell),)
    return (str(cell) if isinstance(cell, int) else repr(float(cell)),)
