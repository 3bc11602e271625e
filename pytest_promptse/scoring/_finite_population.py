"""Finite population correction: intervals of a small suite at a look before the last.

At such a look, some planned variants are not sampled yet. Many tasks show how much variants differ,
so an interval over tasks also covers the variants to come. Few tasks do not: if all of them agree
on a few variants, resampling shows no uncertainty. The interval is then widened by the limits for
the mean over all planned variants (see `_confidence_sequence`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring._confidence_sequence import finite_population_limits
from pytest_promptse.scoring._elasticity import area_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.scoring._elasticity import Weights
    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import (
        Estimate,
        Interval,
        PromptScore,
        SuiteFigures,
        TaskScore,
    )

# The error probability that remains of 5 % after the samples of one task are resampled (see
# `_intervals.shifted_interval`).
_ERROR = 0.035


def finite_population_correction(
    figures: SuiteFigures, tasks: Sequence[TaskScore], *, planned: int, light: bool
) -> SuiteFigures:
    """Widen the intervals of `figures` for the planned variants that are not sampled yet.

    Parameters
    ----------
    tasks
        The tasks that the figures are means over.
    planned
        Planned number of variants per distance at the last look. Intervals stay as they are if this
        number is reached.
    light
        True if the figures are PromptSELight's. Its elasticity is never below that of pass rates
        compared one by one, so their lower limit holds for it. It has no such upper limit.
    """
    distances = tuple(figures.elasticity)

    def kept(original: PromptScore, variant: PromptScore) -> float:
        if light:
            return 1.0 - abs(variant.pass_rate - original.pass_rate)
        return 1.0 - abs(variant.score - original.score)

    rows = _by_variant(tasks, distances, kept)
    sampled = rows.shape[1]
    if not 0 < sampled < planned:
        return figures
    share = sampled / planned

    def widened(around: Interval | None, value: float | None, seen: Floats) -> Interval | None:
        if around is None or value is None:
            return around
        low, high = finite_population_limits(np.clip(seen, 0.0, 1.0), planned, error=_ERROR)
        # The sampled share counts by itself, for any values of the rest. Of the two bounds, the
        # tighter one is used on each side.
        low = max(low - (value - around[0]), share * around[0])
        high = min(high + (around[1] - value), share * around[1] + 1.0 - share)
        return (min(around[0], max(0.0, low)), 1.0 if light else max(around[1], min(1.0, high)))

    w = area_weights(distances)
    ci95, excess = figures.ci95, figures.excess_ci95
    # With a negative weight, the area has no bounds.
    area = widened(ci95, figures.auc_e, w @ rows) if (w >= 0.0).all() else (0.0, 1.0)
    if ci95 is not None and area is not None and excess is not None:
        excess = (
            max(-1.0, excess[0] - (area[1] - ci95[1])),
            min(1.0, excess[1] + (ci95[0] - area[0])),
        )
    return replace(
        figures,
        elasticity_ci95={
            d: widened(figures.elasticity_ci95[d], figures.elasticity[d], seen)
            for d, seen in zip(distances, rows, strict=True)
        },
        ci95=area if ci95 is not None else None,
        excess_ci95=excess,
    )


def drop_correction(
    estimate: Estimate,
    tasks: Sequence[TaskScore],
    *,
    planned: int,
    distances: Sequence[float],
    weights: Weights,
) -> Estimate:
    """Widen the interval of a drop for the planned variants that are not sampled yet.

    Parameters
    ----------
    estimate
        The drop over the variants sampled so far.
    tasks, planned
        As for `finite_population_correction`.
    distances, weights
        The distances of the drop, and their weights, which add up to 1.
    """
    rows = _by_variant(tasks, distances, lambda _, variant: variant.pass_rate)
    w = weights(distances)
    if estimate.ci95 is None or not 0 < rows.shape[1] < planned or (w < 0.0).any():
        return estimate
    rates = np.clip(w @ rows, 0.0, 1.0)
    low, high = finite_population_limits(rates, planned, error=_ERROR)
    mean = float(rates.mean())
    around = estimate.ci95
    ci95 = (
        max(-1.0, around[0] - max(0.0, high - mean)),
        min(1.0, around[1] + max(0.0, mean - low)),
    )
    return replace(estimate, ci95=ci95)


def _by_variant(
    tasks: Sequence[TaskScore],
    distances: Sequence[float],
    figure: Callable[[PromptScore, PromptScore], float],
) -> Floats:
    """Return the mean of a figure over tasks by variant, shape (D, k), for the k variants of all.

    Tasks without an original are left out, as in every figure. D is the number of `distances`.
    `figure` takes an original and its variant, and is in [0, 1]. If tasks differ in their number of
    variants, only the first k are used.
    """
    measured = [(task, task.original) for task in tasks if task.original is not None]
    sampled = min(
        (len(task.variants.get(d, ())) for task, _ in measured for d in distances), default=0
    )
    rows: Floats = np.zeros((len(distances), sampled))
    for task, original in measured:
        for at, d in enumerate(distances):
            group = task.variants.get(d, ())[:sampled]
            rows[at] += np.array([figure(original, variant) for variant in group]) / len(measured)
    return rows
