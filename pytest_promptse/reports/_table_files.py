"""The tables of sections as files, one for each table: CSV or LaTeX."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from pytest_promptse.errors import RecordError
from pytest_promptse.record._tables import cell_names, csv_text, table_rows
from pytest_promptse.reports._latex import latex_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.record._sections import Section, Table


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
    writer = csv.writer(text)
    writer.writerow([name for column in table.columns for name in cell_names(column)])
    for row in table_rows(table):
        writer.writerow([csv_text(c) if isinstance(c, str) else c for c in row.values()])
    return text.getvalue()


_FORMS: Mapping[str, tuple[str, Callable[[Table], str]]] = {
    "csv": ("csv", _csv),
    "latex": ("tex", latex_table),
}
