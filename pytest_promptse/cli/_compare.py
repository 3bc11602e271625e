"""``promptse compare``: show several records side by side."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.compare._entry import NamedRecord

_T = TypeVar("_T")


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``compare`` command, which sets ``func``. ``func`` returns the exit code."""
    compare = subparsers.add_parser(
        "compare",
        help="show runs of several models, dates or templates side by side",
        description=(
            "Print a leaderboard, the quadrants of pass@1 and drop, changes by task, and the "
            "statistics of the paper's research questions, for the common subset of all runs."
        ),
    )
    compare.add_argument(
        "records",
        nargs="+",
        metavar="[NAME=]RUN.json",
        help="path of a record, or name of a baseline; changes are relative to the first record",
    )
    compare.add_argument("--html", type=Path, metavar="PATH", help="write a page with all plots")
    compare.add_argument(
        "--csv", type=Path, metavar="FOLDER", help="write every table as a CSV file"
    )
    compare.add_argument(
        "--latex", type=Path, metavar="FOLDER", help="write every table for LaTeX with booktabs"
    )
    compare.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="MODEL=BILLIONS",
        help="number of parameters in billions, for a model whose name does not contain this "
        "number; repeatable",
    )
    compare.add_argument(
        "--family",
        action="append",
        default=[],
        metavar="MODEL=NAME",
        help="family of a model, if the model's name does not contain the family; repeatable",
    )
    compare.set_defaults(func=_compare)


def _compare(chosen: argparse.Namespace) -> int:
    families = _pairs(chosen.family, "--family", str)
    sizes = _pairs(chosen.size, "--size", _billions)

    from pytest_promptse.compare import _page  # noqa: PLC0415 - `--help` is quick
    from pytest_promptse.compare._instruments import instrument_sections  # noqa: PLC0415
    from pytest_promptse.compare._sections import sections_of  # noqa: PLC0415
    from pytest_promptse.compare._study import study_of  # noqa: PLC0415
    from pytest_promptse.reports._table_files import write_tables  # noqa: PLC0415
    from pytest_promptse.reports.terminal._sections import render_sections  # noqa: PLC0415

    if chosen.html is not None:
        _page.check_installed()
    runs = _runs(chosen.records)
    # Without stability suites, the records have no common tasks to compare.
    alone = () if any(run.record.suites for run in runs) else instrument_sections(runs)
    study = None if alone else study_of(runs, families=families, sizes=sizes)
    sections = list(alone) if study is None else sections_of(study)
    title = ", ".join(section.title for section in sections) if study is None else study.title
    text = render_sections(
        sections,
        title=title,
        notes=() if study is None else study.subset.notes,
        width=shutil.get_terminal_size().columns,
        colours=sys.stdout.isatty(),
    )
    sys.stdout.write(text + "\n")
    if chosen.html is not None:
        if study is None:
            _page.write_sections(sections, chosen.html, title=title)
        else:
            _page.write(study, chosen.html)
    for form, folder in (("csv", chosen.csv), ("latex", chosen.latex)):
        if folder is not None:
            write_tables(sections, folder, form=form)
    return 0


def _runs(given: Sequence[str]) -> list[NamedRecord]:
    from pytest_promptse.compare._baseline import Baselines  # noqa: PLC0415 - `--help` is quick
    from pytest_promptse.compare._entry import NamedRecord  # noqa: PLC0415

    here = Path.cwd()
    baselines = Baselines(here, here=here)
    runs = []
    for argument in given:
        name, _, path = argument.rpartition("=")
        if Path(argument).exists():
            # A file name may contain "=".
            name, path = "", argument
        runs.append(NamedRecord(path=path, record=baselines.load(path), name=name or None))
    return runs


def _pairs(given: Sequence[str], option: str, read: Callable[[str], _T]) -> dict[str, _T]:
    """Read MODEL=VALUE. The name of the model may contain ``=``.

    `option` is named in errors. `read` converts a value, and raises ValueError if it cannot.
    """
    values = {}
    for argument in given:
        model, _, value = argument.rpartition("=")
        try:
            values[model] = read(value)
        except ValueError:
            model = ""
        if not (model and value):
            example = "7" if read is _billions else "llama"
            raise SettingsError(
                f"compare: {option} {argument!r} names no model and value; give {option} "
                f"openai:some-model={example}"
            )
    return values


def _billions(value: str) -> float:
    size = float(value)
    if not 0.0 < size < float("inf"):
        raise ValueError(value)
    return size
