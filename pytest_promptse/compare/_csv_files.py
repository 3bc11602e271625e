"""A study as CSV, one file for each table."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from pytest_promptse.compare._sections import sections_of
from pytest_promptse.errors import RecordError
from pytest_promptse.record._tables import csv_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_promptse.compare._study import Study
    from pytest_promptse.compare._table import Cell, Column, Section, Table


def write(study: Study, folder: Path) -> list[Path]:
    """Write every table of a study into `folder` and create the folder if it is missing.

    Parameters
    ----------
    study
        The study.
    folder
        The folder of the CSV files. Existing files are replaced.

    Raises
    ------
    RecordError
        If a file cannot be written.
    """
    return write_sections(sections_of(study), folder)


def write_sections(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write every table of `sections` into `folder` and create it if it is missing.

    Raises
    ------
    RecordError
        If a file cannot be written.
    """
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for section in sections:
            for table in section.tables:
                path = folder / f"{table.name}.csv"
                with path.open("w", encoding="utf-8", newline="") as file:
                    csv.writer(file).writerows(lines(table))
                paths.append(path)
    except OSError as error:
        raise RecordError(f"--csv {folder}: {error.strerror or error}") from None
    return paths


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
