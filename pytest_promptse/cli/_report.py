"""``promptse report``: print the summary of a saved record, or write a report from it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.cli._extensions import extensions
from pytest_promptse.config._option_types import reports
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.record._schema import Record


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``report`` command, which sets ``func``. ``func`` returns the exit code."""
    report = subparsers.add_parser(
        "report",
        help="show a saved record, or write a report from it",
        description="Print the summary of a saved record, or write the given reports.",
    )
    report.add_argument(
        "record", metavar="RUN.json", help="path of a record, or name of a baseline"
    )
    report.add_argument(
        "targets",
        nargs="*",
        metavar="KIND:PATH",
        help=(
            "json:PATH, html:PATH, md:PATH, csv:FOLDER, latex:PATH, github or a kind that a "
            "plugin adds; without this argument, the summary is printed"
        ),
    )
    report.add_argument(
        "-v", "--verbose", action="store_true", help="print every variant in the summary"
    )
    report.set_defaults(func=_report)


def _report(chosen: argparse.Namespace) -> int:
    from pytest_promptse.compare._baseline import Baselines  # noqa: PLC0415

    targets = check_kinds("report", chosen.targets)
    here = Path.cwd()
    record = Baselines(here, here=here).load(chosen.record)
    if not targets:
        from pytest_promptse.reports.terminal._summary import render  # noqa: PLC0415

        width = shutil.get_terminal_size().columns
        colours = sys.stdout.isatty()
        text = render(record, width=width, colours=colours, verbosity=int(chosen.verbose))
        sys.stdout.write(f"{text}\n")
    write_reports(record, targets)
    return 0


def check_kinds(command: str, targets: Sequence[str]) -> tuple[str, ...]:
    """Return report targets such as ``html:out.html`` after checking their kinds.

    Raises
    ------
    SettingsError
        If a target is malformed, its kind is unknown, or its file cannot be written.
    """
    try:
        checked = reports(list(targets)) if targets else ()
    except ValueError as error:
        raise SettingsError(f"{command}: {error}") from None
    for target in checked:
        extensions().check_report(target, where=command, folder=Path.cwd())
    return checked


def write_reports(record: Record, targets: Sequence[str]) -> None:
    """Write a record to report targets, with paths relative to the current folder.

    A target is KIND:PATH, as checked before.
    """
    for target in targets:
        extensions().write_report(record, target, folder=Path.cwd())
