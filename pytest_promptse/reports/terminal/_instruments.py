"""Suites of instruments in the summary at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.reports._formatting import console, printed
from pytest_promptse.reports._instruments import gate_line, problems_in_words, shown_blocks
from pytest_promptse.reports.terminal._sections import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from pytest_promptse.record._instruments import InstrumentRecord
    from pytest_promptse.record._schema import Record

_STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


def instrument_lines(record: Record, *, verbosity: int) -> Iterator[Iterable[RenderableType]]:
    """Yield the lines of each suite of an instrument.

    `verbosity` is that of pytest. With -1 a suite has one line and its gates that did not pass.
    Above 0 everything of it is shown.
    """
    for suite in record.instruments:
        yield suite_lines(suite, verbosity=verbosity)


def render_suites(suites: Sequence[InstrumentRecord], *, width: int, colours: bool) -> str:
    """Return all of the results of suites as text of at most `width` columns."""
    out = console(width=width, colours=colours)
    for suite in suites:
        for line in suite_lines(suite, verbosity=1):
            out.print(line)
    return printed(out)


def suite_lines(suite: InstrumentRecord, *, verbosity: int) -> Iterator[RenderableType]:
    """Yield the lines of one suite. `verbosity` is that of `instrument_lines`."""
    if verbosity < 0:
        yield Text(f"{suite.model}, {suite.title}: {suite.brief}")
        yield from _gates(suite, failed_only=True)
        return
    yield Text(f"{suite.model} · {suite.title}, {suite.heading}", "bold")
    if suite.n_responses < suite.n_planned:
        yield Text(f"{suite.n_responses} of {suite.n_planned} prompts answered", "yellow")
    yield from lines_of(shown_blocks(suite), verbose=verbosity > 0)
    if suite.problems:
        yield Text(f"problems: {problems_in_words(suite.problems)}", "yellow")
    yield from _gates(suite)


def _gates(suite: InstrumentRecord, *, failed_only: bool = False) -> Iterator[Text]:
    for gate in suite.gates:
        if not (failed_only and gate.verdict == "pass"):
            verdict = gate.verdict or "not measured"
            yield Text(f"{verdict}: {gate_line(gate)}", _STYLES.get(verdict, "yellow"))
