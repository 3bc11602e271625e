"""Figures of a suite as estimates: the mean over tasks with its intervals.

An interval over *tasks* treats tasks as a random sample and emotions as fixed. It covers other
tasks with the same emotions. All tasks share the emotions, so an emotion that breaks a model
affects every task. An interval over tasks does not include that variation. An interval over
*tasks+emotions* treats both as random samples.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy

from pytest_promptse.config._metrics import METRICS
from pytest_promptse.scoring._elasticity import area_weights, equal_weights
from pytest_promptse.scoring._intervals import (
    SIGNED,
    UNIT,
    crossed,
    drop_bounds,
    exact_interval,
    generator,
    mean_interval,
    share_interval,
    shortfall,
    shortfall_interval,
    task_values,
)
from pytest_promptse.scoring._odds_ratio import odds_ratio
from pytest_promptse.scoring._robustness import (
    BY_DISTANCE,
    figure_of,
    figure_value,
    null_gap_of,
    outcomes_of,
    squared_sensitivity,
    subset_size,
)
from pytest_promptse.scoring._scores import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.config._task_outcomes import PromptGroup, TaskOutcomes
    from pytest_promptse.scoring._elasticity import Weights
    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import Curve, Figures, Interval, TaskScore

ByVariant: TypeAlias = "Callable[[TaskScore, float], Floats]"
"""Function that returns a figure for each variant of a task at a distance.

Their mean is the task's figure.
"""
Emotions: TypeAlias = "Mapping[str, Mapping[float, Sequence[str]]]"
"""The emotion of each variant, by task id and distance."""

# The range of a difference of two values in [0, 1], or of a rate and its square.
_QUARTER = 0.25


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How intervals are computed.

    ``resamples`` is 0 for no intervals. ``emotions`` is None for intervals over tasks alone.
    """

    resamples: int
    seed: int
    looks: int
    emotions: Emotions | None

    def estimate(
        self,
        purpose: tuple[str, ...],
        curves: Sequence[Curve],
        distances: Sequence[float],
        *,
        bounds: tuple[float, float] = UNIT,
        by_variant: tuple[Sequence[TaskScore], ByVariant] | None = None,
        weights: Weights = area_weights,
        widen: bool = True,
        unseen: Callable[[Floats], Interval] | None = None,
    ) -> Estimate:
        """Return the area under the mean curve of the tasks with its intervals.

        Parameters
        ----------
        purpose
            Names of the figure, which seed its random numbers, so that no two figures share them.
        curves
            For each task its value at each distance, None where not measured.
        distances
            The distances of the area, ascending.
        bounds
            The smallest and the largest possible value of a task.
        by_variant
            The tasks and the figure by variant, for intervals that also cover emotions. None if
            emotions do not affect the figure.
        weights
            As in `_intervals.task_values`.
        widen
            As in `_intervals.mean_interval`; False for a difference that is paired by task.
        unseen
            Returns the bounds of unseen tasks or emotions, for the exact interval, from the values
            of those measured. None for `bounds`.
        """
        values = task_values(curves, distances, weights=weights)
        if values is None:
            return Estimate()
        value = float(values.mean())
        if not self.resamples:
            return Estimate(value=value)
        # If some tasks lack a distance, the values are linearised and may be outside the bounds.
        inside = np.clip(values, *bounds)
        least_and_most = unseen or (lambda _: bounds)
        ci95 = mean_interval(
            values,
            bounds=bounds,
            resamples=self.resamples,
            looks=self.looks,
            widen=widen,
            rng=generator(self.seed, *purpose),
        )
        exact = exact_interval(
            inside,
            bounds=least_and_most(inside),
            resamples=self.resamples,
            looks=self.looks,
            rng=generator(self.seed, *purpose, "exact"),
        )
        if self.emotions is not None and by_variant is not None and ci95 and exact:
            table = _by_emotion(*by_variant, self.emotions, distances, weights)
            rng = generator(self.seed, *purpose, "emotions")
            over = emotion_intervals(
                table,
                value,
                bounds=bounds,
                unseen=least_and_most(table.means),
                looks=self.looks,
                rng=rng,
            )
            if over is None:
                return Estimate(value=value)
            ci95 = crossed(value, ci95, over[0], bounds=bounds)
            exact = crossed(value, exact, over[1], bounds=bounds)
        return Estimate(value=value, ci95=ci95, exact=exact)

    def mean(self, purpose: str, values: Floats, *, bounds: tuple[float, float] = UNIT) -> Estimate:
        """Return the mean of one value per task, shape (n,), with its intervals over tasks.

        `purpose` names the random stream, so that each figure has its own draws. The intervals are
        limited to `bounds`, the range of the figure. Without values, the estimate is empty.
        """
        if not values.size:
            return Estimate()
        curves: list[Curve] = [{0.0: float(value)} for value in values]
        return self.estimate((purpose,), curves, (0.0,), bounds=bounds)


@dataclass(frozen=True, kw_only=True)
class EmotionTable:
    """A figure by emotion, shape (E,) each: its mean, and its influence on the suite's figure.

    The influences are values whose mean is the suite's figure.
    """

    means: Floats
    influences: Floats


def emotion_intervals(
    table: EmotionTable,
    value: float,
    *,
    bounds: tuple[float, float],
    unseen: tuple[float, float],
    looks: int,
    rng: np.random.Generator,
) -> tuple[Interval, Interval] | None:
    """Return the intervals of `value` over emotions: Student's t and the exact one.

    The result is None for fewer than two emotions. The variance is that of the emotions' cluster
    sums, with E - 1 degrees of freedom (Cameron, Gelbach and Miller, Journal of Business and
    Economic Statistics 29, 2011).

    Parameters
    ----------
    table
        The figure by emotion, and its influence on the suite's figure.
    value
        The suite's figure.
    bounds
        The smallest and the largest possible value of a task.
    unseen
        The smallest and the largest mean of unseen emotions.
    looks
        As in `_intervals.mean_interval`.
    rng
        Random generator of the exact interval's weights.
    """
    n = table.influences.size
    if n < 2:  # noqa: PLR2004 - one emotion does not vary
        return None
    quantile = float(scipy.special.stdtrit(n - 1, 1.0 - 0.025 / looks))
    half = quantile * float(table.influences.std(ddof=1)) / math.sqrt(n)
    exact = exact_interval(np.clip(table.means, *unseen), bounds=unseen, looks=looks, rng=rng)
    if exact is None:
        return None
    plain = (max(bounds[0], value - half), min(bounds[1], value + half))
    return plain, (min(plain[0], exact[0]), max(plain[1], exact[1]))


def _by_emotion(
    scores: Sequence[TaskScore],
    figure: ByVariant,
    emotions: Emotions,
    distances: Sequence[float],
    weights: Weights,
) -> EmotionTable:
    sums: dict[str, float] = defaultdict(float)
    totals: dict[str, float] = defaultdict(float)
    shares: dict[str, float] = defaultdict(float)
    value = 0.0
    for weight, d in zip(weights(distances), distances, strict=True):
        measured = [
            (s, figure(s, d)) for s in scores if s.original is not None and s.variants.get(d)
        ]
        mean = float(np.mean([values.mean() for _, values in measured]))
        value += weight * mean
        for score, values in measured:
            share = weight / (len(measured) * values.size)
            for emotion, of_variant in zip(emotions[score.task_id][d], values, strict=True):
                sums[emotion] += share * (float(of_variant) - mean)
                totals[emotion] += share * float(of_variant)
                shares[emotion] += share
    names = sorted(name for name in sums if shares[name] > 0.0)
    return EmotionTable(
        means=np.array([totals[name] / shares[name] for name in names]),
        influences=value + len(names) * np.array([sums[name] for name in names]),
    )


def variant_elasticity(score: TaskScore, d: float) -> Floats:
    """Return 1 - |S(p) - S(v)| of each variant, the full metric's elasticity.

    The result has shape (n variants at distance `d`,). A variant without a difference counts as 1.
    """
    return 1.0 - np.abs([variant.delta or 0.0 for variant in score.variants[d]])


def variant_excess(score: TaskScore, d: float) -> Floats:
    """Return the excess sensitivity of each variant.

    The excess is the sensitivity above that of equal prompts. The result has shape (n variants at
    distance `d`,).
    """
    return np.array([variant.excess or 0.0 for variant in score.variants[d]])


def variant_light_elasticity(score: TaskScore, d: float) -> Floats:
    """Return each variant's part in PromptSELight's elasticity, in [0, 2].

    The light metric averages the pass rates before it takes the difference. With s the sign of
    that difference, the mean of 1 - s (p - v) over the variants is the task's elasticity.
    """
    p = score.original.pass_rate if score.original is not None else math.nan
    gaps = p - np.array([variant.pass_rate for variant in score.variants[d]])
    return np.asarray(1.0 - np.sign(gaps.mean()) * gaps)


def variant_light_excess(score: TaskScore, d: float) -> Floats:
    """Return each variant's part in PromptSELight's excess sensitivity.

    The excess is the elasticity expected without any effect minus that of the variant. The result
    has shape (n variants at distance `d`,); it is NaN without an expected value.
    """
    by_variant = variant_light_elasticity(score, d)
    excess = score.light.elasticity_excess[d]
    return np.asarray((math.nan if excess is None else excess) + by_variant.mean() - by_variant)


def _variant_drop(score: TaskScore, d: float) -> Floats:
    original = score.original.pass_rate if score.original is not None else math.nan
    return original - np.array([variant.pass_rate for variant in score.variants[d]])


def _variant_squared(score: TaskScore, d: float) -> Floats:
    group = score.variants[d]
    p, m_p = (score.original.pass_rate, score.original.n) if score.original else (math.nan, 2)
    rates = np.array([variant.pass_rate for variant in group])[:, None]
    sizes = np.array([variant.n for variant in group])[:, None]
    return squared_sensitivity(p, rates, m_p=m_p, m_v=sizes)


def noisiest(tasks: Sequence[Figures]) -> float:
    """Return the largest difference that sampling alone produces in any task, in [0, 1].

    Excess sensitivity is at least minus this value, since it subtracts at most the expected
    difference. Tasks outside the suite are assumed to be no noisier than the noisiest task in it.
    """
    floors = [
        1.0 - e - excess
        for task in tasks
        for d, excess in task.elasticity_excess.items()
        if excess is not None and (e := task.elasticity[d]) is not None
    ]
    return max(floors, default=0.0)


def drop_at(distance: float) -> str:
    """Return the name of the drop at one distance among the estimates."""
    return f"drop_d{distance:g}"


def suite_estimates(
    scores: Sequence[TaskScore], distances: Sequence[float], over: Resampling
) -> dict[str, Estimate]:
    """Return the estimates of all metrics but elasticity, AUC-E and excess, by name.

    ``area_drop`` is the drop with the weights of AUC-E, and ``drop_d0.3`` that at one distance.
    Intervals of figures that are not made of
    curves over distances are over tasks, even where those of the others cover emotions too.

    Parameters
    ----------
    scores
        The scored tasks.
    distances
        The distances of the run, ascending.
    over
        How intervals are computed.
    """
    s = subset_size(scores)
    outcomes = [outcomes_of(score, worst_of=s) for score in scores]
    curves = {
        name: [_curve(figure, task, distances) for task in outcomes]
        for name, figure in BY_DISTANCE.items()
    }
    drops = (scores, _variant_drop)
    estimates = {
        "drop": over.estimate(
            ("drop",),
            curves["drop"],
            distances,
            bounds=SIGNED,
            by_variant=drops,
            weights=equal_weights,
            unseen=drop_bounds,
        ),
        "area_drop": over.estimate(
            ("drop",), curves["drop"], distances, bounds=SIGNED, by_variant=drops
        ),
        **{
            drop_at(d): over.estimate(
                ("drop",), curves["drop"], (d,), bounds=SIGNED, by_variant=drops
            )
            for d in distances
        },
        "squared_sensitivity": over.estimate(
            ("squared_sensitivity",),
            curves["squared_sensitivity"],
            distances,
            bounds=(-_largest_noise(scores), 1.0),
            by_variant=(scores, _variant_squared),
        ),
        "shortfall": _shortfall(scores, curves["shortfall"], distances, over),
        "odds_ratio": odds_ratio(
            scores, emotions=over.emotions, interval=over.resamples > 0, looks=over.looks
        ),
    }
    for metric in METRICS.values():
        if figure_of(metric) is None:
            continue
        figures = [figure_value(metric, task) for task in outcomes if task is not None]
        values = np.array([float(value) for value in figures if value is not None])
        estimates[metric.name] = (
            _share(values, over)
            if metric.name == "flips"
            else over.mean(metric.name, values, bounds=metric.bounds)
        )
    note = f"worst of {s}"
    return {**estimates, "robust_pass": replace(estimates["robust_pass"], note=note)}


def _curve(
    figure: Callable[[PromptGroup, PromptGroup], Floats],
    task: TaskOutcomes | None,
    distances: Sequence[float],
) -> Curve:
    curve: Curve = dict.fromkeys(distances)
    if task is None:
        return curve
    values = {d: float(figure(task.original, group)) for d, group in task.by_distance.items()}
    return {d: None if math.isnan(values.get(d, math.nan)) else values[d] for d in curve}


def _shortfall(
    scores: Sequence[TaskScore],
    curves: Sequence[Curve],
    distances: Sequence[float],
    over: Resampling,
) -> Estimate:
    """Return the mean one-sided drop of the worst tenth of the tasks, above that of noise.

    Sampling alone lowers half of the scores, so half of the noise floor is subtracted.
    """
    floors = [
        {
            d: float(np.mean([null_gap_of(variant) for variant in score.variants[d]]))
            for d in distances
            if score.original is not None and score.variants.get(d)
        }
        for score in scores
    ]
    noise = max((gap for floor in floors for gap in floor.values()), default=0.0)
    lost: list[Curve] = [
        {d: None if raw is None else raw - floor[d] / 2.0 for d, raw in curve.items()}
        for curve, floor in zip(curves, floors, strict=True)
    ]
    by_task = task_values(lost, distances)
    if by_task is None:
        return Estimate()
    ci95 = None
    if over.resamples:
        bounds = (-noise / 2.0, 1.0)
        ci95 = shortfall_interval(
            np.clip(by_task, *bounds),
            bounds=bounds,
            resamples=over.resamples,
            looks=over.looks,
            rng=generator(over.seed, "shortfall"),
        )
    return Estimate(value=shortfall(by_task), ci95=ci95, exact=ci95)


def _share(values: Floats, over: Resampling) -> Estimate:
    """Return the share of tasks whose figure is 1, of figures that are 0 or 1."""
    if not values.size:
        return Estimate()
    count = round(float(values.sum()))
    ci95 = None
    if over.resamples and values.size > 1:
        ci95 = share_interval(count, values.size, looks=over.looks)
    return Estimate(value=count / values.size, ci95=ci95, exact=ci95)


def _largest_noise(scores: Sequence[TaskScore]) -> float:
    """Return the largest sampling variance that squared sensitivity can subtract."""
    sizes = [
        (score.original.n, variant.n)
        for score in scores
        if score.original is not None
        for group in score.variants.values()
        for variant in group
    ]
    return max(
        (_QUARTER / (m_p - 1) + _QUARTER / (m_v - 1) for m_p, m_v in sizes if min(m_p, m_v) > 1),
        default=-SIGNED[0],
    )
