"""Intervals over reruns: another run of the same prompts, with the tasks fixed.

The samples of each prompt are resampled and the figures computed again. The spread of the results
gives the interval around the estimate. The interval covers another run of the same prompts, but no
other tasks or variants. A suite of one task has no others to resample, so its intervals are always
of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.config._metrics import METRICS
from pytest_promptse.config._task_outcomes import PromptGroup, TaskOutcomes
from pytest_promptse.scoring._elasticity import area_weights, auc_e
from pytest_promptse.scoring._estimates import drop_at
from pytest_promptse.scoring._intervals import (
    SIGNED,
    generator,
    joined,
    resampled_pass_rates,
    resampled_softexec,
    share_interval,
    shifted_interval,
    shortfall,
)
from pytest_promptse.scoring._length_control import excess_loss_draws
from pytest_promptse.scoring._robustness import BY_DISTANCE, figure_value, subset_size
from pytest_promptse.scoring._task_score import Plan, light_loss, loss, score_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.scoring._samples import Floats, TaskSamples
    from pytest_promptse.scoring._scores import (
        Estimate,
        Interval,
        LengthControl,
        SuiteFigures,
        TaskScore,
    )

# Resamples of each of several tasks. The mean over tasks is nearly normal, so it needs fewer than
# the one task of a small suite, and all of them are in memory at once.
MOST_DRAWS = 1999
# Samples of a prompt whose pass rate is its true rate.
_MANY = 1_000_000


@dataclass(frozen=True, kw_only=True)
class TaskDraws:
    """Figures of one task under resampling of its samples, shape (R,) each.

    ``full`` and ``light`` are elasticities by distance, ``excess_loss`` is that of
    `_length_control` by distance, and ``further`` are the other metrics by name. ``plausible`` has
    the metrics about several attempts, each at rates that the samples allow. ``passes`` and ``n``
    count the samples of the original.
    """

    passes: int
    n: int
    full: Mapping[float, Floats]
    light: Mapping[float, Floats]
    excess_loss: Mapping[float, Floats]
    further: Mapping[str, Floats]
    plausible: Mapping[str, Floats]


@dataclass(frozen=True, kw_only=True)
class RerunIntervals:
    """Fills in the intervals over reruns of figures that are already computed.

    ``tasks`` has the draws of n >= 1 tasks.
    """

    tasks: Sequence[TaskDraws]
    distances: tuple[float, ...]
    looks: int

    def full(self, figures: SuiteFigures) -> SuiteFigures:
        """Return PromptSE's figures with their intervals filled in."""
        return self._fill(figures, [task.full for task in self.tasks])

    def light(self, figures: SuiteFigures) -> SuiteFigures:
        """Return PromptSELight's figures with their intervals filled in."""
        return self._fill(figures, [task.light for task in self.tasks])

    def estimates(self, estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """Return the other figures with their intervals filled in.

        The odds ratio keeps its interval, which its model gives.
        """
        return {
            name: replace(estimate, ci95=self._further(name, estimate), exact=None)
            for name, estimate in estimates.items()
        }

    def length_control(self, control: LengthControl) -> LengthControl:
        """Return the losses of `control` with their intervals filled in."""
        draws = {
            d: np.mean([t.excess_loss[d] for t in self.tasks if d in t.excess_loss], axis=0)
            for d in control.levels
        }
        levels = {
            d: replace(level, excess_loss=self._around(level.excess_loss, draws[d]))
            for d, level in control.levels.items()
        }
        left = control.excess_loss
        if left.value is not None:
            area = np.stack([draws[d] for d in self.distances], axis=1)
            left = self._around(left, area @ area_weights(self.distances))
        return replace(control, excess_loss=left, levels=levels)

    def _further(self, name: str, estimate: Estimate) -> Interval | None:
        if estimate.value is None or name == "odds_ratio":
            return estimate.ci95
        if name == "pass_at_1" and len(self.tasks) == 1:
            [task] = self.tasks
            # Wilson's interval misses a rate near 1 or 0 in up to 7 % of the runs on one side.
            return share_interval(task.passes, task.n, looks=self.looks)
        by_task = [task.further[name] for task in self.tasks if name in task.further]
        if not by_task:
            return None
        draws = np.mean(by_task, axis=0)
        if name == "flips":
            return joined((estimate.value,) * 2, (float(draws.min()), float(draws.max())))
        if name == "shortfall" and len(by_task) > 1:
            return self._shortfall(estimate.value, np.stack(by_task, axis=1))
        bounds = METRICS[name].bounds if name in METRICS else SIGNED
        interval: Interval | None
        interval = shifted_interval(estimate.value, draws, bounds=bounds, looks=self.looks)
        at_plausible = [task.plausible[name] for task in self.tasks if name in task.plausible]
        if at_plausible:
            tail = 0.025 / self.looks
            low, high = np.quantile(np.mean(at_plausible, axis=0), (tail, 1.0 - tail))
            interval = joined(interval, (float(low), float(high)))
        return interval

    def _shortfall(self, value: float, by_task: Floats) -> Interval | None:
        """Return the interval of the shortfall of several tasks; `by_task` has shape (R, n).

        Sampling noise decides in part which tasks are the worst, which raises the figure. The
        interval has room for that on its lower side.
        """
        draws = np.array([shortfall(values) for values in by_task])
        centre = min(value, 2.0 * value - float(draws.mean()))
        return joined(
            shifted_interval(centre, draws, bounds=SIGNED, looks=self.looks),
            shifted_interval(value, draws, bounds=SIGNED, looks=self.looks),
        )

    def _around(self, estimate: Estimate, draws: Floats) -> Estimate:
        if estimate.value is None:
            return estimate
        ci95 = shifted_interval(estimate.value, draws, bounds=SIGNED, looks=self.looks)
        return replace(estimate, ci95=ci95, exact=None)

    def _fill(
        self, figures: SuiteFigures, by_task: Sequence[Mapping[float, Floats]]
    ) -> SuiteFigures:
        draws = {
            d: np.mean([curves[d] for curves in by_task if d in curves], axis=0)
            for d in self.distances
            if figures.elasticity[d] is not None
        }
        intervals: dict[float, Interval | None] = dict.fromkeys(self.distances)
        for d, values in draws.items():
            value = figures.elasticity[d]
            if value is not None:
                intervals[d] = shifted_interval(value, values, looks=self.looks)
        area: Interval | None = None
        excess: Interval | None = None
        if figures.auc_e is not None and figures.excess is not None:
            curves = np.stack([draws[d] for d in self.distances], axis=1)
            area = shifted_interval(figures.auc_e, auc_e(curves, self.distances), looks=self.looks)
            # The noise floor varies far less than the elasticity and is not resampled.
            expected = figures.auc_e + figures.excess
            excess = (expected - area[1], expected - area[0])
        return replace(
            figures,
            elasticity_ci95=intervals,
            elasticity_exact=dict.fromkeys(self.distances),
            ci95=area,
            exact=None,
            excess_ci95=excess,
            excess_exact=None,
        )


def task_draws(task: TaskSamples, plan: Plan, score: TaskScore, *, resamples: int) -> TaskDraws:
    """Resample the samples within each prompt of a task.

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
    full: dict[float, Floats] = {}
    light: dict[float, Floats] = {}
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
        at_distance = [i for i, (at, _) in enumerate(variants, start=1) if at == d]
        if at_distance:
            columns[d] = at_distance
            full[d] = 1.0 - loss(scores[:, [0, *at_distance]])
            light[d] = 1.0 - light_loss(rates[:, [0, *at_distance]])
    return TaskDraws(
        passes=original.passes,
        n=sizes[0],
        full=full,
        light=light,
        excess_loss={
            d: excess_loss_draws(task, d, plan, resamples)
            for d in plan.distances
            if task.variants.get(d) and task.controls.get(d)
        },
        further=_further(
            score=score, plan=plan, scores=scores, rates=rates, sizes=sizes, columns=columns
        ),
        plausible=_at_plausible_rates(
            [w.passes for w in prompts],
            sizes,
            columns=columns,
            resamples=resamples,
            rng=generator(plan.seed, task.task_id, "plausible rates"),
        ),
    )


def _at_plausible_rates(
    passes: Sequence[int],
    sizes: Sequence[int],
    *,
    columns: Mapping[float, list[int]],
    resamples: int,
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Return the metrics about several attempts at rates from Jeffreys' posterior, shape (R,) each.

    If few samples pass, no resample has several passes of one prompt, and such a metric is 0 in all
    of them. It is above 0 at rates that the samples allow.
    """
    k, m = np.asarray(passes), np.asarray(sizes)
    rates = rng.beta(k + 0.5, m - k + 0.5, size=(resamples, m.size))
    task = _outcomes(rates, rates, [_MANY] * m.size, columns, worst_of=1)
    several_attempts = [m for m in METRICS.values() if m.copies_cause == "pass"]
    return {
        metric.name: figure
        for metric in several_attempts
        if (figure := figure_value(metric, task)) is not None
    }


def _outcomes(
    rates: Floats,
    scores: Floats,
    sizes: Sequence[int],
    columns: Mapping[float, list[int]],
    *,
    worst_of: int,
) -> TaskOutcomes:
    """Return the outcomes of a task from the columns of its prompts; the original is the first."""

    def group(places: list[int]) -> PromptGroup:
        return PromptGroup(
            rates=rates[:, places], n=np.array(sizes)[places], scores=scores[:, places]
        )

    return TaskOutcomes(
        original=group([0]),
        variants=group([at for at_distance in columns.values() for at in at_distance]),
        by_distance={d: group(at_distance) for d, at_distance in columns.items()},
        worst_of=worst_of,
    )


def _further(
    *,
    score: TaskScore,
    plan: Plan,
    scores: Floats,
    rates: Floats,
    sizes: Sequence[int],
    columns: Mapping[float, list[int]],
) -> dict[str, Floats]:
    """Return draws of all other metrics from scores and rates of shape (R, 1 + K).

    K is the number of variants, and R that of draws. `scores` and `rates` are in [0, 1], with the
    original in column 0. `sizes` has the number of samples of each column, and `columns` the
    columns of each distance.
    """
    task = _outcomes(rates, scores, sizes, columns, worst_of=subset_size([score]))
    result = {
        metric.name: draws
        for metric in METRICS.values()
        if (draws := figure_value(metric, task)) is not None
    }
    for d in columns:
        result[drop_at(d)] = BY_DISTANCE["drop"](task.original, task.by_distance[d])
    if set(columns) != set(plan.distances):
        return result
    w = area_weights(plan.distances)
    for name, figure in BY_DISTANCE.items():
        curve = [figure(task.original, task.by_distance[d]) for d in plan.distances]
        if not any(np.isnan(values).any() for values in curve):
            draws = np.stack(curve, axis=1)
            result[name] = draws.mean(axis=1) if name == "drop" else draws @ w
            if name == "drop":
                result["area_drop"] = draws @ w
    return result
