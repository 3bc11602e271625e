"""The report kinds. Each writer takes a record and a path."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_promptse.record._schema import Record

_WRITERS: Mapping[str, tuple[str, str]] = {
    "json": ("pytest_promptse.record._files", "write"),
    "html": ("pytest_promptse.reports.html._html", "write"),
    "md": ("pytest_promptse.reports._markdown", "write"),
    "github": ("pytest_promptse.reports._github", "write"),
    "csv": ("pytest_promptse.record._tables", "write_csv"),
    "latex": ("pytest_promptse.reports._latex", "write"),
}
"""Module and name of the writer by report kind, as in ``--promptse-report KIND:PATH``."""

GITHUB_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable with the file of the step summary, which GitHub Actions sets."""

FOLDERS = ("csv",)
"""The kinds that are folders of files."""

KINDS = tuple(_WRITERS)
"""The kinds of reports that the package writes."""


def writer_of(kind: str) -> Callable[[Record, Path], None]:
    """Return the writer of a kind of report. Most runs need one, and import the others in vain."""
    module, name = _WRITERS[kind]
    writer: Callable[[Record, Path], None] = getattr(import_module(module), name)
    return writer
