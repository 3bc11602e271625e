"""``promptse report``: print the summary of a saved record or write it as another report."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.config.option_types import reports
from pytest_promptse.errors import SettingsError, nearest

if TYPE_CHECKING:
    import argparse


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],  # argparse names no other
) -> None:
    """Add the ``report`` command, which sets ``func``; that returns the exit code."""
    report = subparsers.add_parser(
        "report",
        help="show a saved record, or write it as another report",
        description="Print the summary of a saved record, or write the given reports.",
    )
    report.add_argument("record", metavar="RUN.json", help="a record, or a baseline by its name")
    report.add_argument(
        "targets",
        nargs="*",
        metavar="KIND:PATH",
        help="json:PATH, html:PATH, md:PATH, csv:FOLDER or github; without one, print the summary",
    )
    report.add_argument(
        "-v", "--verbose", action="store_true", help="print every variant in the summary"
    )
    report.set_defaults(func=_report)


def _report(chosen: argparse.Namespace) -> int:
    from pytest_promptse.compare.baseline import Baselines  # noqa: PLC0415
    from pytest_promptse.reports.writers import WRITERS  # noqa: PLC0415 - `promptse --help` is quick

    try:
        targets = reports(chosen.targets) if chosen.targets else ()
    except ValueError as error:
        raise SettingsError(f"report: {error}") from None
    for target in targets:
        kind = target.partition(":")[0]
        if kind not in WRITERS:
            raise SettingsError(
                f"report {target}: there is no report {kind!r}{nearest(kind, WRITERS)}; "
                f"there are {', '.join(WRITERS)}"
            )
    here = Path.cwd()
    record = Baselines(here, here=here).load(chosen.record)
    if not targets:
        from pytest_promptse.reports.terminal.summary import render  # noqa: PLC0415

        width = shutil.get_terminal_size().columns
        colours = sys.stdout.isatty()
        text = render(record, width=width, colours=colours, verbosity=int(chosen.verbose))
        sys.stdout.write(f"{text}\n")
    for target in targets:
        kind, _, path = target.partition(":")
        WRITERS[kind](record, here / path)
    return 0
