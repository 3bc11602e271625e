"""Ranking of several prompt templates, with significance of every pairwise difference.

All pairs are compared over the tasks and prompts that every template has. They are compared task by
task, so variation between tasks and prompts cancels. A difference is *significant* if a sign-flip
test over the tasks' differences is, after Holm's correction over all pairs and figures. The
probability of any false significant difference in a ranking is then at most 5 % (Holm, Scandinavian
Journal of Statistics 6, 1979).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from pytest_promptse.config._metrics import METRICS
from pytest_promptse.scoring._compare import ELASTICITIES, compare_runs, task_curve
from pytest_promptse.scoring._intervals import generator, task_values
from pytest_promptse.scoring._multiplicity import holm
from pytest_promptse.scoring._pairing import is_solved, shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.scoring._pairing import RecordedTask
    from pytest_promptse.scoring._samples import Floats, Mode
    from pytest_promptse.scoring._scores import Interval

Figure: TypeAlias = Literal["pass_at_1", "auc_e", "excess"]
RANKED: tuple[Figure, ...] = ("pass_at_1", "auc_e", "excess")
SIGNIFICANT = 0.05
_FLIPS = 9999
# Flips for each p-value that Holm's correction must be able to bring to significance.
_PER_STEP = 5
_ORIGINAL = 0.0


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One template, with its figures over the tasks and prompts that all templates have.

    ``pareto`` is True if no other template dominates this one. Another dominates if it is at least
    as good in every figure and better in one. ``price`` is one of the figures if all templates have
    one.
    """

    name: str
    figures: Mapping[Figure, float | None]
    price: float | None
    pareto: bool


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The figure of ``name`` minus that of ``other``, with its paired 95 % interval.

    ``p_adjusted`` is adjusted by Holm's method over all differences of the ranking. Both p-values
    are None for a single task.
    """

    metric: Figure
    name: str
    other: str
    difference: float
    ci95: Interval | None
    p_value: float | None
    p_adjusted: float | None

    @property
    def significant(self) -> bool:
        """True if the difference is significant after Holm's correction."""
        return self.p_adjusted is not None and self.p_adjusted < SIGNIFICANT

    @property
    def better(self) -> str:
        """The name of the template with the better figure."""
        less_is_better = METRICS[self.metric].less_is_better
        return self.name if (self.difference > 0) != less_is_better else self.other


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The templates in order of pass@1, then of AUC-E, and the difference of every pair.

    ``fewest`` is the smallest number of tasks with which a difference can be significant.
    """

    n_tasks: int
    fewest: int
    ranked: tuple[Ranked, ...]
    differences: tuple[Difference, ...]


def rank(
    runs: Mapping[str, Sequence[RecordedTask]],
    *,
    mode: Mode,
    distances: Sequence[float],
    prices: Mapping[str, float | None],
    seed: int = 0,
) -> Ranking | None:
    """Rank at least two prompt templates over the same tasks.

    Parameters
    ----------
    runs
        The tasks of each template, by its name. Ids of tasks are unique in each.
    mode
        The metric of all templates: PromptSE's elasticity or PromptSELight's.
    distances
        The distances of the runs, ascending.
    prices
        The price of a solved task by template, in any unit; less is better. ``inf`` for a template
        that solves no task, None for an unknown price.
    seed
        Seed of the random sign flips and intervals.

    Returns
    -------
    Ranking, or None
        None if the templates have no task in common.

    Raises
    ------
    ValueError
        For fewer than two runs.
    """
    if len(runs) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        raise ValueError(f"{len(runs)} run: a ranking compares at least two")
    common = dict(zip(runs, shared(list(runs.values())), strict=True))
    n_tasks = len(next(iter(common.values())))
    if not n_tasks:
        return None
    values = {
        (name, metric): _values(tasks, metric, mode, distances, seed)
        for name, tasks in common.items()
        for metric in RANKED
    }
    flips = flips_for(math.comb(len(common), 2) * len(RANKED))
    differences: list[Difference] = []
    for metric in RANKED:
        for name, other in combinations(common, 2):
            compared = compare_runs(
                common[name], common[other], metric, mode=mode, distances=distances, seed=seed
            )
            if compared.difference is None:
                continue
            differences.append(
                Difference(
                    metric=metric,
                    name=name,
                    other=other,
                    difference=compared.difference,
                    ci95=compared.ci95,
                    p_value=mean_p_value(
                        paired_gaps(values[name, metric], values[other, metric]),
                        flips=flips,
                        seed=seed,
                    ),
                    p_adjusted=None,
                )
            )
    return Ranking(
        n_tasks=n_tasks,
        fewest=math.ceil(math.log2(2 * max(1, len(differences)) / SIGNIFICANT)),
        ranked=_ranked(common, values, prices),
        differences=_adjusted(differences),
    )


def pareto(points: Sequence[Sequence[float]]) -> list[bool]:
    """Return for each of `points` whether no other dominates it. Larger coordinates are better."""
    table = np.asarray(points, dtype=np.float64)
    return [
        not any((other >= point).all() and (other > point).any() for other in table)
        for point in table
    ]


def _values(
    tasks: Sequence[RecordedTask],
    metric: Figure,
    mode: Mode,
    distances: Sequence[float],
    seed: int,
) -> Floats | None:
    if metric in ELASTICITIES and not is_solved(tasks):
        return None
    over = (_ORIGINAL,) if metric == "pass_at_1" else tuple(distances)
    return task_values([task_curve(task, metric, mode, over, seed) for task in tasks], over)


def flips_for(comparisons: int) -> int:
    """Return the number of sign flips that a p-value needs to reach 5 % after Holm's correction.

    The smallest p-value of R random flips is about 2 / R for a two-sided test, and Holm
    multiplies it by the number of comparisons. Five times as many flips leave that product well
    below the level.
    """
    return max(_FLIPS, math.ceil(_PER_STEP * 2 * comparisons / SIGNIFICANT))


def paired_gaps(ours: Floats | None, theirs: Floats | None) -> Floats | None:
    """Return the differences by task, or None if a run lacks values of some tasks."""
    if ours is None or theirs is None or ours.size != theirs.size:
        return None
    return ours - theirs


def mean_p_value(gaps: Floats | None, *, flips: int, seed: int) -> float | None:
    """Return the two-sided p-value of a mean difference over tasks, by flipping their signs.

    `gaps` has shape (n tasks,). `flips` is the number of random flips, and `seed` makes them
    reproducible. The result is None without differences and for one task.
    """
    if gaps is None or gaps.size == 1:
        return None
    # Differences that are equal in exact arithmetic must stay equal despite rounding.
    gaps = np.round(gaps, 12)
    if not gaps.any():
        return 1.0
    from scipy.stats import permutation_test  # noqa: PLC0415 - scipy.stats takes its time

    test = permutation_test(
        (gaps,),
        lambda x, axis: np.round(x.mean(axis=axis), 12),
        permutation_type="samples",
        vectorized=True,
        n_resamples=flips,
        batch=max(1, 2_000_000 // gaps.size),
        rng=generator(seed, "flips"),
    )
    return float(test.pvalue)


def _adjusted(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    adjusted = holm([difference.p_value for difference in differences])
    return tuple(
        replace(difference, p_adjusted=p)
        for difference, p in zip(differences, adjusted, strict=True)
    )


def _ranked(
    common: Mapping[str, Sequence[RecordedTask]],
    values: Mapping[tuple[str, Figure], Floats | None],
    prices: Mapping[str, float | None],
) -> tuple[Ranked, ...]:
    figures: dict[str, dict[Figure, float | None]] = {
        name: {
            metric: None if (of_tasks := values[name, metric]) is None else float(of_tasks.mean())
            for metric in RANKED
        }
        for name in common
    }
    measured = [m for m in RANKED if any(of_run[m] is not None for of_run in figures.values())]
    priced = all(prices.get(name) is not None for name in common)
    points = [
        [
            *(_upwards(metric, of_run[metric]) for metric in measured),
            *([-(prices[name] or 0.0)] if priced else []),
        ]
        for name, of_run in figures.items()
    ]
    ranked = [
        Ranked(name=name, figures=figures[name], price=prices.get(name), pareto=best)
        for name, best in zip(common, pareto(points), strict=True)
    ]
    return tuple(
        sorted(
            ranked,
            key=lambda template: (
                -(template.figures["pass_at_1"] or 0.0),
                -(template.figures["auc_e"] or 0.0),
            ),
        )
    )


def _upwards(metric: Figure, value: float | None) -> float:
    if value is None:  # a template that solves nothing
        return -math.inf
    # Rounded as in the reports. Otherwise noise in the last digits would decide dominance.
    return round(-value if METRICS[metric].less_is_better else value, 9)
