"""Intervals for a suite of one task, where there are no other tasks to resample.

What is left to vary are the samples: each wording's are resampled, the figures computed anew,
and their spread put around the estimate. The interval says what another run of the same wordings
would give; it does not speak of other tasks or wordings.

At a look before the last (see `sequential`) only some of the wordings have been asked, and there
are no other tasks to show how much wordings differ. There the limits of what all of them would
give (see `betting`) are added to the spread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest

from pytest_promptse.scoring.betting import mean_of_all
from pytest_promptse.scoring.elasticity import auc_e, simpson_weights
from pytest_promptse.scoring.intervals import (
    generator,
    resampled_pass_rates,
    resampled_softexec,
    shifted_interval,
)
from pytest_promptse.scoring.measure import Plan, light_loss, loss, read_wording

if TYPE_CHECKING:
    from pytest_promptse.scoring.samples import Floats, TaskSamples
    from pytest_promptse.scoring.scores import Interval, SuiteFigures


# What resampling leaves of the 5 % (see `shifted_interval`), for the wordings not yet asked.
_UNSEEN_ERROR = 0.035


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """What a task's figures may yet become when the rest of its wordings is asked.

    Limits per distance, and of the area under the curve.
    """

    elasticity: dict[float, Interval]
    area: Interval


@dataclass(frozen=True, kw_only=True)
class SingleTaskIntervals:
    """Elasticities of one task under resampling, per distance shape (R,), by either metric.

    The limits are None where all wordings have been asked.
    """

    pass_at_1: Interval
    distances: tuple[float, ...]
    looks: int
    full_draws: dict[float, Floats]
    light_draws: dict[float, Floats]
    full_unseen: Unseen | None
    light_unseen: Unseen | None

    def full(self, figures: SuiteFigures) -> SuiteFigures:
        """Return PromptSE's figures with their intervals filled in."""
        return self._fill(figures, self.full_draws, self.full_unseen)

    def light(self, figures: SuiteFigures) -> SuiteFigures:
        """Return PromptSELight's figures with their intervals filled in."""
        return self._fill(figures, self.light_draws, self.light_unseen)

    def _fill(
        self, figures: SuiteFigures, draws: dict[float, Floats], unseen: Unseen | None
    ) -> SuiteFigures:
        intervals: dict[float, Interval | None] = dict.fromkeys(self.distances)
        for d in self.distances:
            value = figures.elasticity[d]
            if value is not None:
                found = shifted_interval(value, draws[d], looks=self.looks)
                intervals[d] = _added(found, value, unseen.elasticity[d]) if unseen else found
        area: Interval | None = None
        excess: Interval | None = None
        if figures.auc_e is not None and figures.auc_e_null is not None:
            curves = np.stack([draws[d] for d in self.distances], axis=1)
            area = shifted_interval(figures.auc_e, auc_e(curves, self.distances), looks=self.looks)
            if unseen:
                area = _added(area, figures.auc_e, unseen.area)
            # The ceiling varies far less than the elasticity and is taken as it is.
            excess = (figures.auc_e_null - area[1], figures.auc_e_null - area[0])
        return replace(figures, elasticity_ci95=intervals, ci95=area, excess_ci95=excess)


def _added(around: Interval, value: float, limits: Interval) -> Interval:
    """Add the uncertainty `around` a value to the limits that the value lies in."""
    low = limits[0] - (value - around[0])
    high = limits[1] + (around[1] - value)
    return (max(0.0, low), min(1.0, high))


def single_task_intervals(
    task: TaskSamples, plan: Plan, *, resamples: int, planned: int | None = None
) -> SingleTaskIntervals:
    """Resample the samples within each wording of a task that has an original.

    Where more variants per distance are `planned` than there are, what those may bring is added.
    ``pass_at_1`` is Wilson's interval (JASA 22, 1927), which has width even where all passed.
    """
    assert task.original is not None
    original = read_wording(task.original, plan, f"task {task.task_id!r}, original")
    full_draws: dict[float, Floats] = {}
    light_draws: dict[float, Floats] = {}
    rng = generator(plan.seed, task.task_id, "bootstrap")
    variants = [
        (d, read_wording(samples, plan, f"task {task.task_id!r}, d{d:g}"))
        for d in plan.distances
        for samples in task.variants.get(d, ())
    ]
    wordings = [original, *(w for _, w in variants)]
    sizes = [len(w.samples) for w in wordings]
    rates = resampled_pass_rates(sizes, [w.passes for w in wordings], resamples, rng)
    scores = rates
    if original.z is not None:
        z = np.concatenate([w.z for w in wordings if w.z is not None])
        passed = np.concatenate([w.samples.passed for w in wordings])
        scores = resampled_softexec(z, passed, sizes, resamples, rng)
    full: dict[float, Floats] = {}
    light: dict[float, Floats] = {}
    for d in plan.distances:
        columns = [0, *(i for i, (at, _) in enumerate(variants, start=1) if at == d)]
        if len(columns) > 1:
            full_draws[d] = 1.0 - loss(scores[:, columns])
            light_draws[d] = 1.0 - light_loss(rates[:, columns])
            own = [w.score for at, w in variants if at == d]
            gaps = np.abs(np.array([each.score for each in own]) - original.score.score)
            full[d] = np.clip(1.0 - gaps, 0.0, 1.0)
            light[d] = np.array([each.pass_rate for each in own])
    early = planned is not None and len(full) == len(plan.distances)
    early = early and any(values.size < (planned or 0) for values in full.values())
    wilson = binomtest(original.passes, sizes[0]).proportion_ci(
        confidence_level=1.0 - 0.05 / plan.looks, method="wilson"
    )
    return SingleTaskIntervals(
        pass_at_1=(float(wilson.low), float(wilson.high)),
        distances=plan.distances,
        looks=plan.looks,
        full_draws=full_draws,
        light_draws=light_draws,
        full_unseen=_unseen(full, planned) if early and planned else None,
        light_unseen=(
            _unseen_light(light, original.score.pass_rate, planned) if early and planned else None
        ),
    )


def _unseen(elasticities: dict[float, Floats], planned: int) -> Unseen:
    """Limits of the full metric, from the elasticity of each variant asked, by distance."""
    w = simpson_weights(list(elasticities))
    shared = min(values.size for values in elasticities.values())
    areas = np.stack([values[:shared] for values in elasticities.values()], axis=1) @ w
    # An area of uneven distances may weigh one of them negatively, and then knows no bounds.
    known = bool((w >= 0.0).all())
    areas = np.clip(areas, 0.0, 1.0)
    return Unseen(
        elasticity={
            d: mean_of_all(values, planned, error=_UNSEEN_ERROR)
            for d, values in elasticities.items()
        },
        area=mean_of_all(areas, planned, error=_UNSEEN_ERROR) if known else (0.0, 1.0),
    )


def _unseen_light(rates: dict[float, Floats], original: float, planned: int) -> Unseen:
    """Limits of the light metric, from the pass rates of the variants asked, by distance."""

    def limits(values: Floats, error: float) -> Interval:
        low, high = mean_of_all(values, planned, error=error)
        farthest = max(abs(original - low), abs(original - high))
        return (1.0 - farthest, 1.0 - max(0.0, low - original, original - high))

    w = simpson_weights(list(rates))
    each = [limits(values, _UNSEEN_ERROR / len(rates)) for values in rates.values()]
    lows, highs = np.array(each).T
    known = bool((w >= 0.0).all())
    return Unseen(
        elasticity={d: limits(values, _UNSEEN_ERROR) for d, values in rates.items()},
        area=(float(lows @ w), float(highs @ w)) if known else (0.0, 1.0),
    )
