"""The reports there are, by kind: each writes a record to a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.record import schema as json_report
from pytest_promptse.reports import github, markdown
from pytest_promptse.reports.html import html

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_promptse.record.schema import Record

WRITERS: Mapping[str, Callable[[Record, Path], None]] = {
    "json": json_report.write,
    "html": html.write,
    "md": markdown.write,
    "github": github.write,
}
