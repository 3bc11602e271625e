"""The report kinds. Each writer takes a record and a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.record import files, tables
from pytest_promptse.reports import github, markdown
from pytest_promptse.reports.html import html

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_promptse.record.schema import Record

WRITERS: Mapping[str, Callable[[Record, Path], None]] = {
    "json": files.write,
    "html": html.write,
    "md": markdown.write,
    "github": github.write,
    "csv": tables.write_csv,
}
"""Writer by report kind, the part of ``--promptse-report KIND:PATH`` before the colon."""
