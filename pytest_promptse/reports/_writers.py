"""The report kinds. Each writer takes a record and a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.record import _files, _tables
from pytest_promptse.reports import _github, _latex, _markdown
from pytest_promptse.reports.html import _html

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_promptse.record._schema import Record

WRITERS: Mapping[str, Callable[[Record, Path], None]] = {
    "json": _files.write,
    "html": _html.write,
    "md": _markdown.write,
    "github": _github.write,
    "csv": _tables.write_csv,
    "latex": _latex.write,
}
"""Writer by report kind, the part of ``--promptse-report KIND:PATH`` before the colon."""
