"""``promptse show``: the variants of the last run, with their programs and verdicts."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse._suggestions import nearest
from pytest_promptse.cli._arguments import add_store_option
from pytest_promptse.errors import RecordError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.record._instruments import InstrumentRecord
    from pytest_promptse.record._schema import Record
    from pytest_promptse.store._measured_variant import VariantRecord


class _Measured(NamedTuple):
    node: str
    model: str
    original: str | None
    prompt: VariantRecord
    texts: Mapping[str, str]


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``show`` command, which sets ``func``. ``func`` returns the exit code."""
    show = subparsers.add_parser(
        "show",
        help="show a test of the last run: its prompt, programs and verdicts",
        description=(
            "Show what the last run measured for a node id. A single variant is shown in full: "
            "its changes from the original, each outcome with an example program, and the command "
            "to rerun it. If only the start of a node id is given, all matching variants are "
            "listed. For a test of a questionnaire, the complete result of its suite is shown."
        ),
    )
    show.add_argument(
        "node", metavar="NODEID", help="a node id as pytest prints it, or the start of a node id"
    )
    show.add_argument(
        "--run",
        type=Path,
        metavar="RUN.json",
        help="read this record instead of the record of the last run",
    )
    add_store_option(show)
    show.set_defaults(func=_show)


def _show(chosen: argparse.Namespace) -> int:
    from pytest_promptse.record._files import LAST_RUN  # noqa: PLC0415 - `promptse --help` is quick
    from pytest_promptse.record._schema import Record  # noqa: PLC0415
    from pytest_promptse.reports._escaping import escaped  # noqa: PLC0415

    path = chosen.run or chosen.store / LAST_RUN
    if chosen.run is None and not path.is_file():
        raise RecordError(f"{str(chosen.store)!r} has no last run; name a record with --run")
    record = Record.load(path)
    file = chosen.node.partition("::")[0]
    if any(suite.id == file for suite in record.instruments):
        _print_suites([suite for suite in escaped(record).instruments if suite.id == file])
        return 0
    every = list(_measured(record))
    named = [test for test in every if test.node == chosen.node] or [
        test for test in every if test.node.startswith(chosen.node)
    ]
    if not named:
        raise RecordError(f"{path} {_not_among(every, chosen.node)}")
    if len(named) > 1:
        _list(named)
    else:
        _print(named[0], record)
    return 0


def _not_among(tests: Sequence[_Measured], node: str) -> str:
    """Return why a record of these tests shows nothing for `node`, with the remedy."""
    alike = [test.node for test in tests if f"::{node}" in test.node]
    hint = f" (did you mean {alike[0].partition('[')[0]!r}?)" if alike else ""
    if not alike and len(tests) > 1:
        hint = nearest(node, [test.node for test in tests])
    count = "1 test" if len(tests) == 1 else f"{len(tests)} tests"
    return (
        f"has {count}, and none is {node!r}{hint}; give a node id as pytest prints it, run pytest "
        "with this test, or name the record of an earlier run with --run"
    )


def _print_suites(suites: Sequence[InstrumentRecord]) -> None:
    from pytest_promptse.reports.terminal._instruments import render_suites  # noqa: PLC0415

    width = shutil.get_terminal_size().columns
    sys.stdout.write(render_suites(suites, width=width, colours=sys.stdout.isatty()) + "\n")


def _measured(record: Record) -> Iterator[_Measured]:
    for task in record.tasks:
        original = task.original.text if task.original else None
        prompts = [task.original] if task.original else []
        for prompt in (*prompts, *task.variants, *task.controls):
            if prompt.node is not None:
                yield _Measured(prompt.node, task.model, original, prompt, task.texts)


def _list(tests: list[_Measured]) -> None:
    from pytest_promptse._redaction import escape_controls  # noqa: PLC0415 - as above

    for test in tests:
        passes = round(test.prompt.pass_rate * test.prompt.n)
        sys.stdout.write(f"{passes:>4} of {test.prompt.n} pass  {escape_controls(test.node)}\n")


def _print(test: _Measured, record: Record) -> None:
    from pytest_promptse._redaction import escape_controls  # noqa: PLC0415 - as above
    from pytest_promptse.reports.terminal._details import render_variant  # noqa: PLC0415

    passes = round(test.prompt.pass_rate * test.prompt.n)
    sys.stdout.write(
        f"{escape_controls(test.node)}\n"
        f"{escape_controls(test.model)}: {passes} of {test.prompt.n} completions pass\n\n"
    )
    text = render_variant(
        test.original,
        test.prompt,
        texts=test.texts,
        invocation=record.invocation,
        width=shutil.get_terminal_size().columns,
        colours=sys.stdout.isatty(),
    )
    sys.stdout.write(f"{text}\n")
