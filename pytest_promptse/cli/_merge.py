"""``promptse merge``: join the records of all shards of a run and decide its gates."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_promptse.cli._extensions import hooks
from pytest_promptse.cli._report import check_kinds, write_reports
from pytest_promptse.config._options import OPTIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.compare._baseline import Baselines
    from pytest_promptse.record._outcomes import Outcome
    from pytest_promptse.record._schema import Record


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``merge`` command, which sets ``func``. ``func`` returns the exit code."""
    merge = subparsers.add_parser(
        "merge",
        help="merge the records of all shards of a run",
        description="Merge the records of all shards of a run, decide the gates, and print the "
        "summary. The exit code is the same as for a single run: 1 if a gate fails.",
    )
    merge.add_argument("records", nargs="+", metavar="SHARD.json", help="one record per shard")
    add_merge_options(merge)
    merge.set_defaults(func=_merge)


def add_merge_options(merge: argparse.ArgumentParser) -> None:
    """Add the options for the merged record: reports, comparison, baseline and verbosity."""
    merge.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="KIND:PATH",
        help="write json:PATH, html:PATH, md:PATH, csv:FOLDER, latex:PATH or github; repeatable",
    )
    merge.add_argument("--compare", metavar="NAME", help="compare with this baseline")
    merge.add_argument(
        "--compare-fail",
        action="append",
        default=[],
        metavar="FIGURE:LOSS",
        help=OPTIONS["compare_fail"].help,
    )
    merge.add_argument(
        "--compare-missing",
        choices=("fail", "warn"),
        help="outcome if a suite is missing from the baseline: fail (default with --compare-fail) "
        "or warn, which also allows a missing baseline",
    )
    merge.add_argument("--save", metavar="NAME", help="save the record as this baseline")
    merge.add_argument(
        "-v", "--verbose", action="store_true", help="print every variant in the summary"
    )


def check_merge_options(command: str, chosen: argparse.Namespace) -> None:
    """Check the options of `add_merge_options`, before the shards run.

    Raises
    ------
    SettingsError
        If a report, margin or baseline cannot be used.
    """
    from pytest_promptse.compare._baseline import Baselines  # noqa: PLC0415 - `--help` is quick

    baselines = Baselines(Path.cwd(), here=Path.cwd())
    check_kinds(command, chosen.report)
    OPTIONS["compare_fail"].read(chosen.compare_fail, f"{command} --compare-fail")
    if chosen.save is not None:
        OPTIONS["save"].read(chosen.save, f"{command} --save")
        baselines.check_writable(chosen.save, where=f"{command} --save")
    if chosen.compare is not None:
        baselines.check_comparable(
            chosen.compare,
            where=f"{command} --compare",
            allow="--compare-missing warn",
            may_be_missing=chosen.compare_missing == "warn" or chosen.save == chosen.compare,
        )


def _merge(chosen: argparse.Namespace) -> int:
    check_merge_options("merge", chosen)
    return merge_files(chosen.records, chosen)


def merge_files(records: Sequence[str], chosen: argparse.Namespace) -> int:
    """Merge the records in files, print the summary, and return the exit code of the run.

    Parameters
    ----------
    records
        Files with the records of all shards.
    chosen
        The options of `add_merge_options`.
    """
    from pytest_promptse.compare._baseline import Baselines  # noqa: PLC0415 - `--help` is quick
    from pytest_promptse.compare._history import append as append_to_history  # noqa: PLC0415
    from pytest_promptse.record._outcomes import exit_code, run_failures  # noqa: PLC0415
    from pytest_promptse.run._merge import merge_shards  # noqa: PLC0415
    from pytest_promptse.store._store import Store  # noqa: PLC0415

    hooks()  # the metrics of plugins, whose gates are decided here
    targets = check_kinds("merge", chosen.report)
    here = Path.cwd()
    baselines = Baselines(here, here=here)
    with (
        tempfile.TemporaryDirectory(prefix="promptse-merge-") as folder,
        closing(Store(Path(folder))) as store,
    ):
        record = merge_shards(_read(records), store)
    failures = run_failures(record)
    compared = record
    if chosen.compare is not None:
        compared, outcome = _compared(record, baselines, chosen)
        if outcome.kind == "failed":
            failures += outcome.reasons
        elif not compared.comparisons:
            sys.stderr.write(f"promptse: {outcome.reason}\n")
    write_reports(compared, targets)
    if chosen.save is not None:
        name = OPTIONS["save"].read(chosen.save, "merge --save")
        baselines.save(name, record)
        append_to_history(name, record, here)
    _print(compared, verbose=chosen.verbose)
    sys.stdout.write(f"promptse: merged {len(records)} shards\n")
    for failure in failures:
        sys.stdout.write(f"FAILED {failure}\n")
    return exit_code(failures)


def _read(paths: Sequence[str]) -> Iterator[tuple[str, Record]]:
    from pytest_promptse.record._schema import Record  # noqa: PLC0415 - `--help` is quick

    for path in paths:
        yield path, Record.load(path)


def _compared(
    record: Record, baselines: Baselines, chosen: argparse.Namespace
) -> tuple[Record, Outcome]:
    from msgspec.structs import replace  # noqa: PLC0415 - `--help` is quick

    from pytest_promptse.errors import NoBaselineError  # noqa: PLC0415
    from pytest_promptse.record._comparison import compare_records  # noqa: PLC0415
    from pytest_promptse.record._outcomes import (  # noqa: PLC0415
        comparison_outcome,
        no_baseline_outcome,
    )

    margins = OPTIONS["compare_fail"].read(chosen.compare_fail, "merge --compare-fail")
    missing: Literal["fail", "warn"] = chosen.compare_missing or ("fail" if margins else "warn")
    try:
        baseline = baselines.load(chosen.compare)
    except NoBaselineError as error:
        # This command makes it.
        allowed = "warn" if chosen.save == chosen.compare else missing
        return record, no_baseline_outcome(error, allowed)
    comparisons = compare_records(record, baseline, name=chosen.compare, margins=margins)
    record = replace(record, comparisons=comparisons)
    return record, comparison_outcome(record, missing=missing)


def _print(record: Record, *, verbose: bool) -> None:
    from pytest_promptse.reports.terminal._comparison import render_comparisons  # noqa: PLC0415
    from pytest_promptse.reports.terminal._summary import render  # noqa: PLC0415

    width = shutil.get_terminal_size().columns
    colours = sys.stdout.isatty()
    text = render(record, width=width, colours=colours, verbosity=int(verbose))
    sys.stdout.write(f"{text}\n")
    if record.comparisons:
        text = render_comparisons(record, width=width, colours=colours, verbosity=int(verbose))
        sys.stdout.write(f"{text}\n")
