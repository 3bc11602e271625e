"""The figures of a suite besides AUC-E, and the population that its intervals cover.

The terminal summary, the HTML page and the Markdown summary show the same figures and sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.record._queries import stopped_early
from pytest_promptse.reports._formatting import DASH, NOT_MEASURED, exact, ratio, short, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_promptse.record._schema import EstimateRecord, Interval, SuiteRecord

_SCOPES = {
    "tasks": "95 % intervals cover other tasks with the same emotions",
    "tasks+emotions": "95 % intervals cover other tasks and other emotions",
    "reruns": "95 % intervals cover another run of the same prompts, not other tasks",
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


def estimates(suite: SuiteRecord) -> list[EstimateCells]:
    """Return the measured figures of a suite, AUC-E and pass@1 first."""
    found = [
        EstimateCells("AUC-E", exact(suite.auc_e), _interval(suite.ci95), _interval(suite.exact)),
        EstimateCells(
            "pass@1",
            exact(suite.pass_at_1),
            _interval(suite.pass_at_1_ci95),
            _interval(suite.pass_at_1_exact),
        ),
        EstimateCells(
            "excess",
            signed(suite.excess),
            _interval(suite.excess_ci95, signed),
            _interval(suite.excess_exact, signed),
        ),
    ]
    further: dict[str, tuple[EstimateRecord | None, bool]] = {
        "drop": (suite.drop, True),
        "squared sensitivity": (suite.squared_sensitivity, True),
        f"robust pass@1 (worst of {suite.robust_of})": (suite.robust_pass, False),
        "shortfall of the worst tenth": (suite.shortfall, True),
        "share of tasks that flip": (suite.flips, False),
    }
    for label, (one, is_signed) in further.items():
        if one is not None:
            value = signed(one.value) if is_signed else exact(one.value)
            shown = signed if is_signed else short
            ends = [_interval(end, shown) for end in (one.ci95, one.exact)]
            found.append(EstimateCells(label, value, *ends))
    if suite.odds_ratio is not None:
        ends = [_interval(end, ratio) for end in (suite.odds_ratio.ci95, suite.odds_ratio.exact)]
        found.append(EstimateCells("odds ratio of variants", ratio(suite.odds_ratio.value), *ends))
    return found


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
