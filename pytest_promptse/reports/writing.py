"""The reports there are, by kind: each writes a record to a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.reports import github, html, markdown
from pytest_promptse.reports import record as json_report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_promptse.reports.record import Record

WRITERS: Mapping[str, Callable[[Record, Path], None]] = {
    "json": json_report.write,
    "html": html.write,
    "md": markdown.write,
    "github": github.write,
}
