"""The figures of a suite besides AUC-E, and the population that its intervals cover.

The terminal summary, the HTML page and the Markdown summary show the same figures and sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.record._queries import metric_in, stopped_early
from pytest_promptse.reports._formatting import DASH, NOT_MEASURED, exact, ratio, short, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_promptse.record._figures import Interval
    from pytest_promptse.record._schema import Record, SuiteRecord

_SCOPES = {
    "tasks": "95 % intervals hold for other tasks with the same emotions",
    "tasks+emotions": "95 % intervals hold for other tasks and other emotions",
    "reruns": "95 % intervals hold for a rerun of the same prompts, not for other tasks",
}
EARLY = (
    "stopped early: AUC-E may be off by up to 0.05, since a suite stops when chance has moved "
    "it away from the threshold; for a baseline give a number of samples"
)


class EstimateCells(NamedTuple):
    """One figure as text: label, value, 95 % interval, and the interval with unseen tasks.

    ``exact`` is the interval that also covers tasks outside the sample. Values are written as in
    the summary of the terminal.
    """

    label: str
    value: str
    ci95: str
    exact: str


_FORMATS: dict[str, tuple[Callable[[float | None], str], Callable[[float | None], str]]] = {
    "share": (exact, short),
    "difference": (signed, signed),
    "ratio": (ratio, ratio),
}
"""How a value and the limits of its interval are written, by the unit of the metric."""


def estimates(record: Record, suite: SuiteRecord) -> list[EstimateCells]:
    """Return the measured figures of one of the suites of a record."""
    cells = []
    for name, estimate in suite.estimates.items():
        metric = metric_in(record, name)
        shown, limit = _FORMATS[metric.unit]
        note = f" ({estimate.note})" if estimate.note else ""
        intervals = (_interval(interval, limit) for interval in (estimate.ci95, estimate.exact))
        cells.append(EstimateCells(f"{metric.label}{note}", shown(estimate.value), *intervals))
    return cells


def value_cell(record: Record, suite: SuiteRecord, metric: str) -> str:
    """Return the value of a metric of one of the suites of a record, without its intervals."""
    shown, _ = _FORMATS[metric_in(record, metric).unit]
    return shown(suite.estimate(metric).value)


def scopes(suites: Sequence[SuiteRecord]) -> Iterator[str]:
    """Yield what the intervals of `suites` cover and do not cover, each sentence once."""
    for scope in dict.fromkeys(suite.speaks_for for suite in suites):
        if scope in _SCOPES:
            yield _SCOPES[scope]
    if any(stopped_early(suite) for suite in suites):
        yield EARLY


def _interval(interval: Interval | None, shown: Callable[[float], str] = short) -> str:
    if interval is None:
        return NOT_MEASURED
    # A dash between signed numbers would look like another sign.
    return (" to " if shown is signed else DASH).join(map(shown, interval))
