"""Intervals for a suite of one task, where there are no other tasks to resample.

What is left to vary are the samples: each prompt's are resampled, the figures computed anew,
and their spread put around the estimate. The interval says what another run of the same prompts
would give; it does not speak of other tasks or prompts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest

from pytest_promptse.scoring.elasticity import auc_e
from pytest_promptse.scoring.intervals import (
    generator,
    resampled_pass_rates,
    resampled_softexec,
    shifted_interval,
)
from pytest_promptse.scoring.task_score import Plan, light_loss, loss, score_prompt

if TYPE_CHECKING:
    from pytest_promptse.scoring.samples import Floats, TaskSamples
    from pytest_promptse.scoring.scores import Interval, SuiteFigures


@dataclass(frozen=True, kw_only=True)
class SingleTaskIntervals:
    """Elasticities of one task under resampling, per distance shape (R,), by either metric."""

    pass_at_1: Interval
    distances: tuple[float, ...]
    looks: int
    full_draws: dict[float, Floats]
    light_draws: dict[float, Floats]

    def full(self, figures: SuiteFigures) -> SuiteFigures:
        """Return PromptSE's figures with their intervals filled in."""
        return self._fill(figures, self.full_draws)

    def light(self, figures: SuiteFigures) -> SuiteFigures:
        """Return PromptSELight's figures with their intervals filled in."""
        return self._fill(figures, self.light_draws)

    def _fill(self, figures: SuiteFigures, draws: dict[float, Floats]) -> SuiteFigures:
        intervals: dict[float, Interval | None] = dict.fromkeys(self.distances)
        for d in self.distances:
            value = figures.elasticity[d]
            if value is not None:
                intervals[d] = shifted_interval(value, draws[d], looks=self.looks)
        area: Interval | None = None
        excess: Interval | None = None
        if figures.auc_e is not None and figures.auc_e_null is not None:
            curves = np.stack([draws[d] for d in self.distances], axis=1)
            area = shifted_interval(figures.auc_e, auc_e(curves, self.distances), looks=self.looks)
            # The ceiling varies far less than the elasticity and is taken as it is.
            excess = (figures.auc_e_null - area[1], figures.auc_e_null - area[0])
        return replace(figures, elasticity_ci95=intervals, ci95=area, excess_ci95=excess)


def single_task_intervals(task: TaskSamples, plan: Plan, *, resamples: int) -> SingleTaskIntervals:
    """Resample the samples within each prompt of a task that has an original.

    ``pass_at_1`` is Wilson's interval (JASA 22, 1927), which has width even where all passed.
    """
    assert task.original is not None
    original = score_prompt(task.original, plan, f"task {task.task_id!r}, original")
    full_draws: dict[float, Floats] = {}
    light_draws: dict[float, Floats] = {}
    rng = generator(plan.seed, task.task_id, "bootstrap")
    variants = [
        (d, score_prompt(samples, plan, f"task {task.task_id!r}, d{d:g}"))
        for d in plan.distances
        for samples in task.variants.get(d, ())
    ]
    prompts = [original, *(w for _, w in variants)]
    sizes = [len(w.samples) for w in prompts]
    rates = resampled_pass_rates(sizes, [w.passes for w in prompts], resamples, rng)
    scores = rates
    if original.z is not None:
        z = np.concatenate([w.z for w in prompts if w.z is not None])
        passed = np.concatenate([w.samples.passed for w in prompts])
        scores = resampled_softexec(z, passed, sizes, resamples, rng)
    for d in plan.distances:
        columns = [0, *(i for i, (at, _) in enumerate(variants, start=1) if at == d)]
        if len(columns) > 1:
            full_draws[d] = 1.0 - loss(scores[:, columns])
            light_draws[d] = 1.0 - light_loss(rates[:, columns])
    wilson = binomtest(original.passes, sizes[0]).proportion_ci(
        confidence_level=1.0 - 0.05 / plan.looks, method="wilson"
    )
    return SingleTaskIntervals(
        pass_at_1=(float(wilson.low), float(wilson.high)),
        distances=plan.distances,
        looks=plan.looks,
        full_draws=full_draws,
        light_draws=light_draws,
    )
