"""The part of the record for suites of instruments, such as questionnaires.

The record does not know any instrument. The result of a suite consists of named figures, blocks to
show, decided gates, and data of the instrument's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from pytest_promptse.record._sections import Block, Kind, Table, col, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AnswerRecord",
    "BoundsRecord",
    "FigureRecord",
    "InstrumentRecord",
    "figure_table",
    "with_baseline",
]


class FigureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its 95 % interval. ``value`` is None if it could not be computed.

    Comparisons show the figures of one ``group`` as one table, so these figures must have the same
    ``kind``. The terminal shows only groups whose figures have ``brief`` set to True. ``reference``
    is a value with which the figure is compared, such as a norm. ``baseline`` is the value of the
    figure in the baseline of the run. If ``correlated`` is True, comparisons show the correlation
    of the figure with AUC-E across models.
    """

    name: str
    label: str
    value: float | None
    ci95: tuple[float, float] | None = None
    group: str = ""
    kind: Kind = "figure"
    brief: bool = True
    reference: float | None = None
    baseline: float | None = None
    correlated: bool = False


class BoundsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A gate of an instrument's suite: the allowed range of a figure, from ``low`` to ``high``.

    A missing bound is None. ``scope`` is the part of the suite to which the gate applies, or None
    for the whole suite. ``verdict`` is None if the figure was not measured.
    """

    name: str
    scope: str | None = None
    low: float | None = None
    high: float | None = None
    value: float | None
    verdict: Literal["pass", "fail", "inconclusive"] | None
    message: str

    @property
    def threshold(self) -> float | None:
        """One of the bounds."""
        return self.high if self.low is None else self.low


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A response that could not be read in full. ``problems`` counts the faults by kind.

    ``id`` identifies the suite's group and the prompt; ``response`` is shortened.
    """

    id: str
    problems: dict[str, int]
    response: str


class InstrumentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a suite of an instrument for one model.

    Attributes
    ----------
    instrument, title, about
        Name of the instrument, its title, and what its figures mean.
    id, line
        The node id of the suite's file, and the line at which its settings begin.
    heading, brief
        The suite in a few words, and its result in one line.
    n_planned, n_responses
        The number of prompts from which the figures are computed, and the number of responses to
        them.
    blocks
        The tables, texts and plots that reports show, in this order.
    problems, worst
        Faults of responses by kind, and the responses with the most faults.
    conditions
        Values that must be equal for figures of two suites to be comparable.
    reference
        The name of the figures' reference values, such as ``human``.
    baseline
        The name of the baseline with which the figures are compared.
    data
        Results in the instrument's own format.
    """

    instrument: str
    title: str
    about: str = ""
    id: str
    model: str
    heading: str
    brief: str
    n_planned: int
    n_responses: int
    figures: list[FigureRecord]
    blocks: list[Block] = []
    gates: list[BoundsRecord] = []
    problems: dict[str, int] = {}
    worst: list[AnswerRecord] = []
    conditions: dict[str, str] = {}
    reference: str = ""
    baseline: str | None = None
    data: Any = None
    settings: dict[str, Any] = {}
    line: int | None = None

    def figure(self, name: str) -> FigureRecord | None:
        """Return the figure with this name, or None if there is none."""
        return next((figure for figure in self.figures if figure.name == name), None)


def figure_table(name: str, title: str, figures: Sequence[FigureRecord]) -> Table:
    """Return a table of figures of one kind with their intervals."""
    kind = figures[0].kind if figures else "figure"
    return table_of(
        name,
        title,
        figures,
        col("figure", "figure", lambda figure: figure.label, "text"),
        col("value", "value", lambda figure: figure.value, kind),
        col("95 %", "ci95", lambda figure: figure.ci95, "interval"),
    )


def with_baseline(
    suites: Sequence[InstrumentRecord], baseline: Sequence[InstrumentRecord], *, name: str
) -> list[InstrumentRecord]:
    """Return suites whose figures have the values of their counterparts in a baseline.

    The counterpart is the suite of the same instrument and id, for the same model. If each side has
    only one suite of an instrument and id, the model may differ. `name` is that of the baseline.
    """
    compared = []
    for suite in suites:
        key = suite.instrument, suite.id
        same = [other for other in baseline if (other.instrument, other.id) == key]
        is_alone = sum((other.instrument, other.id) == key for other in suites) == len(same) == 1
        theirs = next((o for o in same if is_alone or o.model == suite.model), None)
        if theirs is None:
            compared.append(suite)
            continue
        figures = []
        for figure in suite.figures:
            before = theirs.figure(figure.name)
            figures.append(replace(figure, baseline=before.value if before else None))
        compared.append(replace(suite, figures=figures, baseline=name))
    return compared
