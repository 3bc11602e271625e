"""Intervals for a suite of one task, where there are no other tasks to resample.

The samples of each prompt are resampled and the figures computed again. The spread of the results
gives the interval around the estimate. The interval covers another run of the same prompts, but no
other tasks or variants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring._elasticity import area_weights, auc_e
from pytest_promptse.scoring._intervals import (
    SIGNED,
    UNIT,
    generator,
    resampled_pass_rates,
    resampled_softexec,
    shifted_interval,
    wilson_interval,
)
from pytest_promptse.scoring._robustness import (
    drop,
    majority_flips,
    one_sided_drop,
    squared_sensitivity,
    subset_size,
    worst_case,
)
from pytest_promptse.scoring._task_score import Plan, light_loss, loss, score_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.scoring._estimates import Name
    from pytest_promptse.scoring._samples import Floats, TaskSamples
    from pytest_promptse.scoring._scores import Estimate, Interval, SuiteFigures, TaskScore


@dataclass(frozen=True, kw_only=True)
class SingleTaskIntervals:
    """Elasticities of one task under resampling, per distance shape (R,), for both metrics.

    ``further`` are draws of the figures of `_robustness`, shape (R,).
    """

    pass_at_1: Interval
    distances: tuple[float, ...]
    looks: int
    full_draws: Mapping[float, Floats]
    light_draws: Mapping[float, Floats]
    further: Mapping[Name, Floats]

    def full(self, figures: SuiteFigures) -> SuiteFigures:
        """Return PromptSE's figures with their intervals filled in."""
        return self._fill(figures, self.full_draws)

    def light(self, figures: SuiteFigures) -> SuiteFigures:
        """Return PromptSELight's figures with their intervals filled in."""
        return self._fill(figures, self.light_draws)

    def estimates(self, found: Mapping[Name, Estimate]) -> dict[Name, Estimate]:
        """Return the other figures with their intervals filled in."""
        result = dict(found)
        for name, estimate in found.items():
            if estimate.value is None:
                continue
            ci95 = self.pass_at_1 if name == "pass_at_1" else None
            if name == "odds_ratio":
                ci95 = estimate.ci95
            elif name == "flips":
                draws = self.further[name]
                ends = (float(draws.min()), float(draws.max()))
                ci95 = (min(estimate.value, ends[0]), max(estimate.value, ends[1]))
            elif name in self.further:
                bounds = UNIT if name == "robust_pass" else SIGNED
                ci95 = shifted_interval(
                    estimate.value, self.further[name], bounds=bounds, looks=self.looks
                )
            result[name] = replace(estimate, ci95=ci95, exact=None)
        return result

    def _fill(self, figures: SuiteFigures, draws: Mapping[float, Floats]) -> SuiteFigures:
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
            # The noise ceiling varies far less than the elasticity and is not resampled.
            excess = (figures.auc_e_null - area[1], figures.auc_e_null - area[0])
        return replace(figures, elasticity_ci95=intervals, ci95=area, excess_ci95=excess)


def single_task_intervals(
    task: TaskSamples, plan: Plan, score: TaskScore, *, resamples: int
) -> SingleTaskIntervals:
    """Resample the samples within each prompt of a task.

    The interval of ``pass_at_1`` is Wilson's (JASA 22, 1927), which has width even if all samples
    passed.

    Parameters
    ----------
    task, plan
        The samples of the task, and how they are scored.
    score
        The task's score.
    resamples
        Number of resamples R.

    Raises
    ------
    ValueError
        If the task has no original.
    """
    if task.original is None:
        raise ValueError(f"task {task.task_id!r} has no original to compare with")
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
    columns: dict[float, list[int]] = {}
    for d in plan.distances:
        own = [i for i, (at, _) in enumerate(variants, start=1) if at == d]
        if own:
            columns[d] = own
            full_draws[d] = 1.0 - loss(scores[:, [0, *own]])
            light_draws[d] = 1.0 - light_loss(rates[:, [0, *own]])
    return SingleTaskIntervals(
        pass_at_1=wilson_interval(original.passes, sizes[0], looks=plan.looks),
        distances=plan.distances,
        looks=plan.looks,
        full_draws=full_draws,
        light_draws=light_draws,
        further=_further(
            score=score, plan=plan, scores=scores, rates=rates, sizes=sizes, columns=columns
        ),
    )


def _further(
    *,
    score: TaskScore,
    plan: Plan,
    scores: Floats,
    rates: Floats,
    sizes: Sequence[int],
    columns: Mapping[float, list[int]],
) -> dict[Name, Floats]:
    """Return draws of the figures of `_robustness` from scores and rates of shape (R, 1 + K).

    K is the number of variants, and R that of draws. `scores` and `rates` are in [0, 1], with the
    original in column 0. `sizes` has the number of samples of each column, and `columns` the
    columns of each distance.
    """
    result: dict[Name, Floats] = {}
    everything = [at for own in columns.values() for at in own]
    if not everything:
        return result
    s = subset_size([score])
    result["robust_pass"] = worst_case(rates[:, everything], s)
    result["flips"] = np.max(
        [majority_flips(rates[:, 0], rates[:, own]) for own in columns.values()], axis=0
    )
    if set(columns) == set(plan.distances):
        lost = [one_sided_drop(scores[:, 0], scores[:, columns[d]]) for d in plan.distances]
        drops = [drop(rates[:, 0], rates[:, columns[d]]) for d in plan.distances]
        w = area_weights(plan.distances)
        result["drop"] = np.stack(drops, axis=1).mean(axis=1)
        result["area_drop"] = np.stack(drops, axis=1) @ w
        result["shortfall"] = np.stack(lost, axis=1) @ w
        if min(sizes) > 1:
            squares = [
                squared_sensitivity(
                    rates[:, 0],
                    rates[:, columns[d]],
                    m_p=sizes[0],
                    m_v=[sizes[at] for at in columns[d]],
                )
                for d in plan.distances
            ]
            result["squared_sensitivity"] = np.stack(squares, axis=1) @ w
    return result
