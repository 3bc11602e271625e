"""``promptse history``: the course of each suite over its saved runs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.compare._courses import Course
    from pytest_promptse.compare._figures import Plot


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``history`` command, which sets ``func``. ``func`` returns the exit code."""
    history = subparsers.add_parser(
        "history",
        help="show how the figures of each suite changed over saved runs",
        description=(
            "Print the pass rates, the drop and AUC-E of each suite in every run that was saved "
            "with --promptse-save. Mark the runs at which the pass rate of the originals or of "
            "the variants changed significantly. In a suite in which nothing changes, the "
            "probability of any mark is at most 5 %. The exit code is 1 if the newest run shows a "
            "change for the worse."
        ),
    )
    history.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help="name of a baseline, or folder of records (default: all baselines)",
    )
    history.add_argument(
        "--test", default="", metavar="NODEID", help="only suites whose id starts with this text"
    )
    history.add_argument("--html", type=Path, metavar="PATH", help="write a page with plots")
    history.add_argument("--csv", type=Path, metavar="FOLDER", help="write the tables as CSV")
    history.add_argument("--json", type=Path, metavar="PATH", help="write the figures as JSON")
    history.set_defaults(func=_history)


def _history(chosen: argparse.Namespace) -> int:
    from pytest_promptse.compare import _page  # noqa: PLC0415 - `--help` is quick
    from pytest_promptse.compare._courses import ALPHA, courses_of, sections_of  # noqa: PLC0415
    from pytest_promptse.compare._history import read_history  # noqa: PLC0415
    from pytest_promptse.errors import RecordError  # noqa: PLC0415
    from pytest_promptse.reports._table_files import write_tables  # noqa: PLC0415
    from pytest_promptse.reports.terminal._sections import render_sections  # noqa: PLC0415

    if chosen.html is not None:
        _page.check_installed()
    runs = read_history(chosen.sources, Path.cwd())
    courses = courses_of(runs, prefix=chosen.test)
    if not courses:
        raise RecordError(f"history: no suite's id starts with {chosen.test!r}; give its start")
    sections = sections_of(courses)
    title = f"{len(runs)} run{'' if len(runs) == 1 else 's'}"
    text = render_sections(
        sections,
        title=title,
        notes=[
            f"A suite in which nothing changes is marked with a probability of at most {ALPHA:.0%}."
        ],
        width=shutil.get_terminal_size().columns,
        colours=sys.stdout.isatty(),
    )
    sys.stdout.write(text + "\n")
    if chosen.html is not None:
        _page.write_sections(sections, chosen.html, title=title, figures=_figures(courses))
    if chosen.csv is not None:
        write_tables(sections, chosen.csv, form="csv")
    if chosen.json is not None:
        _write_json(courses, chosen.json)
    return 1 if any(course.has_got_worse for course in courses) else 0


def _figures(courses: Sequence[Course]) -> dict[str, list[Plot]]:
    from pytest_promptse.compare import _plots  # noqa: PLC0415 - needs the extra
    from pytest_promptse.compare._courses import WATCHED, Z_95  # noqa: PLC0415
    from pytest_promptse.compare._figures import Plot  # noqa: PLC0415

    return {
        f"course-{number}": [
            Plot(
                "by run, with 95 % intervals",
                _plots.course(
                    [
                        [
                            (measured.value, Z_95 * measured.error)
                            for run in course.runs
                            for measured in [getattr(run.figures, figure)]
                        ]
                        for figure in WATCHED
                    ],
                    name=f"course-{number}",
                    title=f"Pass rates of {course.title} by run",
                    changes=[change.start for change in course.changes],
                ),
                tuple(WATCHED.values()),
            )
        ]
        for number, course in enumerate(courses, start=1)
    }


def _write_json(courses: Sequence[Course], path: Path) -> None:
    import msgspec  # noqa: PLC0415 - `--help` is quick

    from pytest_promptse.record._files import write_chunks  # noqa: PLC0415

    encoded = msgspec.json.format(msgspec.json.encode(courses), indent=1)
    write_chunks([encoded, b"\n"], path, what=f"--json {path}")
