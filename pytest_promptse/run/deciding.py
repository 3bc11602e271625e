"""From a score to a gate: which figure a gate is about, and what it is measured by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.scoring.gate import judge_gate

if TYPE_CHECKING:
    from pytest_promptse.config.settings import Settings
    from pytest_promptse.run.plan import GateSpot
    from pytest_promptse.scoring.gate import Direction, Gate
    from pytest_promptse.scoring.scores import Interval, SuiteScore


class _Figure(NamedTuple):
    value: float | None
    ci95: Interval | None
    null: float | None
    excess: float | None
    direction: Direction = "at least"


def decide(spot: GateSpot, score: SuiteScore, settings: Settings) -> Gate:
    """Compare the gate's figure in `score` with its threshold, as `settings` say."""
    figure = _figure(spot, score)
    gate = judge_gate(
        spot.name,
        figure.value,
        spot.threshold,
        ci95=figure.ci95,
        kind=settings.gate,
        null=figure.null,
        samples=settings.samples,
        direction=figure.direction,
    )
    return replace(gate, excess=figure.excess)


def _figure(spot: GateSpot, score: SuiteScore) -> _Figure:
    if spot.name == "auc-e":
        return _Figure(score.auc_e, score.ci95, score.auc_e_null, score.excess)
    if spot.name == "excess":
        return _Figure(score.excess, score.excess_ci95, None, score.excess, "at most")
    [distance] = spot.distances
    return _Figure(
        score.elasticity[distance],
        score.elasticity_ci95[distance],
        score.elasticity_null[distance],
        score.elasticity_excess[distance],
    )
