"""Finite population correction: intervals of a small suite at a look before the last.

Some planned variants are not sampled yet at such a look. Many tasks show how much variants differ,
and an interval over them also covers the variants to come. Few tasks do not: if all of them agree
on a few variants, resampling shows no uncertainty. The interval is then widened by the limits for
the mean over all planned variants (see `confidence_sequence`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring._confidence_sequence import finite_population_limits
from pytest_promptse.scoring._elasticity import area_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import Interval, PromptScore, SuiteFigures, TaskScore

# Of one task's 5 % resampling its samples leaves this (see `intervals.shifted_interval`).
_ERROR = 0.035


def finite_population_correction(
    figures: SuiteFigures, tasks: Sequence[TaskScore], *, planned: int, light: bool
) -> SuiteFigures:
    """Add to the intervals of `figures` what variants may bring that have not been asked yet.

    Parameters
    ----------
    tasks
        The tasks that the figures are means over.
    planned
        Variants per distance at the last look. Nothing is added where there are as many.
    light
        Whether the figures are PromptSELight's. Its elasticity is never below that of pass rates
        compared one by one, whose lower limit therefore holds; above it has none.
    """
    distances = tuple(figures.elasticity)
    rows = _elasticities(tasks, distances, light=light)
    asked = rows.shape[1]
    if not 0 < asked < planned:
        return figures
    share = asked / planned

    def widened(around: Interval | None, value: float | None, seen: Floats) -> Interval | None:
        if around is None or value is None:
            return around
        low, high = finite_population_limits(np.clip(seen, 0.0, 1.0), planned, error=_ERROR)
        # Whatever the rest is, the share that has been asked counts by itself: the closer of
        # the two bounds holds on either side.
        low = max(low - (value - around[0]), share * around[0])
        high = min(high + (around[1] - value), share * around[1] + 1.0 - share)
        return (min(around[0], max(0.0, low)), 1.0 if light else max(around[1], min(1.0, high)))

    w = area_weights(distances)
    ci95, excess = figures.ci95, figures.excess_ci95
    # An area that weighs a distance negatively is bounded by nothing.
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


def _elasticities(tasks: Sequence[TaskScore], distances: Sequence[float], *, light: bool) -> Floats:
    """Return the mean elasticity over tasks of each variant in turn, shape (D, k), k that all have.

    Tasks without an original are left out, as they are of every figure.
    """

    def value(prompt: PromptScore) -> float:
        return prompt.pass_rate if light else prompt.score

    known = [(task, task.original) for task in tasks if task.original is not None]
    asked = min((len(task.variants.get(d, ())) for task, _ in known for d in distances), default=0)
    rows: Floats = np.zeros((len(distances), asked))
    for task, original in known:
        for at, d in enumerate(distances):
            scores = np.array([value(each) for each in task.variants.get(d, ())[:asked]])
            rows[at] += (1.0 - np.abs(scores - value(original))) / len(known)
    return rows
