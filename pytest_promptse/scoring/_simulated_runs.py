"""Simulated runs of a planned suite, scored as real ones are, so they have every metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.config._metrics import METRICS, metric_label
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._suite import score_suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.scoring._planning import DropPlan
    from pytest_promptse.scoring._scores import SuiteScore

_RUNS = 40
# Eight of ten runs.
_QUANTILES = (0.1, 0.9)


def simulated_figures(
    plan: DropPlan, *, drop: float, distances: Sequence[float]
) -> dict[str, tuple[float, float] | None]:
    """Return the range of each metric in eight of ten runs, by the label of the metric.

    Parameters
    ----------
    plan
        The size of the suite and its pass rate.
    drop
        The true drop of the model, in [0, 1]. It is the same at every distance.
    distances
        The distances of the suite, ascending.

    Returns
    -------
    dict
        Every metric of the table, in its order. None means that a run has no such figure.
    """
    rng = generator(0, "simulated runs", str(plan.tasks), str(drop))
    runs = [
        dict(
            _figures(
                score_suite(
                    list(_tasks(plan, drop, distances, rng)),
                    distances=distances,
                    mode="light",
                    permutations=1,
                    interval=False,
                )
            )
        )
        for _ in range(_RUNS)
    ]
    return {label: _range([run[label] for run in runs]) for label in runs[0]}


def _tasks(
    plan: DropPlan, drop: float, distances: Sequence[float], rng: np.random.Generator
) -> Iterator[TaskSamples]:
    drops = drop + plan.spread * rng.standard_normal(plan.tasks)
    per_distance = plan.variants // len(distances)
    for number, lower in enumerate(np.clip(plan.pass_rate - drops, 0.0, 1.0)):
        yield TaskSamples(
            str(number),
            Samples(rng.random(plan.original_samples) < plan.pass_rate),
            {
                d: [Samples(rng.random(plan.samples) < lower) for _ in range(per_distance)]
                for d in distances
            },
        )


def _figures(score: SuiteScore) -> Iterator[tuple[str, float | None]]:
    for metric in METRICS.values():
        if metric.by_distance:
            yield from (
                (metric_label(metric.gate_at(d)), score.elasticity[d]) for d in score.distances
            )
        else:
            yield metric.label, score.estimates[metric.name].value


def _range(values: Sequence[float | None]) -> tuple[float, float] | None:
    measured = [value for value in values if value is not None]
    if len(measured) < len(values):
        return None
    low, high = np.quantile(measured, _QUANTILES)
    return float(low), float(high)
