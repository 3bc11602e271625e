"""Ranking of prompt templates or models by drop, with intervals of all pairwise differences.

Two figures decide, and neither contains sampling noise: the *drop*, and the *reworded pass*, which
is the pass rate of the variants. AUC-E is no order of stability, since sampling noise lowers it
most at pass rates near one half. The drop alone is none either: who solves nothing loses nothing.
So the first are the entries that solve separately fewer variants than no other, and among them the
lowest drop is first. The others follow by the same rule.

*Separately* means that the interval of the paired difference excludes 0. The intervals of all pairs
and both figures hold together with 95 %. They are Student's t over the tasks' differences, and the
level is divided by the number of intervals (Bonferroni). ``benchmarks/ranking_simulations.py``
compares them with two intervals of max-t type: that of a multivariate t distribution separates
equal entries too often with few tasks, and that of a bootstrap is infinite there.

Few tasks may all miss a kind of task in which one entry is much worse. Their differences then vary
little, and Student's interval is too narrow. The exact interval of each pair therefore has to
exclude 0 as well. In it, unseen tasks differ by as much as the best and the worst measured task of
the two entries. Its level is not divided: that would hide most true differences below 100 tasks.
"""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy

from pytest_promptse.config._metrics import METRICS, compared_metrics
from pytest_promptse.scoring._compare import (
    ELASTICITIES,
    figure_distances,
    task_curve,
    weights_of,
)
from pytest_promptse.scoring._intervals import exact_interval, generator, joined, task_values
from pytest_promptse.scoring._pairing import is_solved
from pytest_promptse.scoring._scores import DECIDING, Difference, Ranked, Ranking
from pytest_promptse.scoring._task_drop import drop_variance, mean_variance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.config._metrics import Metric
    from pytest_promptse.scoring._pairing import RecordedTask
    from pytest_promptse.scoring._samples import Floats, Mode
    from pytest_promptse.scoring._scores import Standing

_NORMAL = NormalDist()
_TAIL = 0.025
_POWER = 0.8
# Draws of the weights of tasks.
_DRAWS = 999
# A plan for more tasks than this decides nothing in practice.
_MOST_TASKS = 10_000


class Price(NamedTuple):
    """Tokens per solved task, and their cost if a price is known.

    ``cost`` is in the currency of the price. Both are infinite if no task was solved.
    """

    tokens: float | None
    cost: float | None


def ranked_metrics() -> list[Metric]:
    """Return the metrics that a ranking has, one figure for each entry: those that decide first."""
    metrics = [metric for metric in compared_metrics() if not metric.by_distance]
    return sorted(metrics, key=lambda metric: metric.name not in DECIDING)


def rank(
    runs: Mapping[str, Sequence[RecordedTask]],
    *,
    mode: Mode,
    distances: Sequence[float],
    prices: Mapping[str, Price] | None = None,
    seed: int = 0,
) -> Ranking:
    """Rank at least two entries over the same tasks.

    Parameters
    ----------
    runs
        The tasks of each entry, by its name. All have the same tasks in the same order, with their
        originals.
    mode
        The metric of all entries: PromptSE's elasticity or PromptSELight's.
    distances
        The distances of the runs, ascending.
    prices
        The price of a solved task by entry; less is better. None without prices.
    seed
        Seed of the permutations behind a noise floor without an exact form.

    Raises
    ------
    ValueError
        For fewer than two runs, or for runs with different tasks.
    """
    if len(runs) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        raise ValueError(f"{len(runs)} run: a ranking compares at least two")
    if len({tuple(task.task_id for task in tasks) for tasks in runs.values()}) > 1:
        raise ValueError("the runs have different tasks: a ranking pairs them by task")
    values = {
        (name, metric.name): task_figures(
            tasks, metric.name, mode=mode, distances=distances, seed=seed
        )
        for name, tasks in runs.items()
        for metric in ranked_metrics()
    }
    pairs = {
        (metric, name, other): Gaps.of(
            metric,
            ours,
            theirs,
            variances=_variances(runs[name], metric, distances)
            + _variances(runs[other], metric, distances),
        )
        for metric in DECIDING
        for name, other in combinations(runs, 2)
        if (ours := values[name, metric]) is not None
        and (theirs := values[other, metric]) is not None
        and ours.size == theirs.size
    }
    comparisons = len(DECIDING) * math.comb(len(runs), 2)
    differences = [pair.difference(*key, comparisons) for key, pair in pairs.items()]
    figures = {
        name: {
            metric.name: None if (by_task := values[name, metric.name]) is None else _mean(by_task)
            for metric in ranked_metrics()
        }
        for name in runs
    }
    standings = ordered(figures, differences)
    best = _pareto(figures, prices)
    first, *_ = standings
    rivals = [name for name, standing in standings.items() if standing == "undecided"]
    needed = [
        tasks
        for (_, *names), pair in pairs.items()
        if rivals and {*names} == {first, rivals[0]}
        if (tasks := pair.tasks_to_decide(comparisons)) is not None
    ]
    return Ranking(
        n_tasks=len(next(iter(runs.values()))),
        entries=[
            Ranked(
                name=name,
                figures=figures[name],
                standing=standing,
                tokens_per_solved=_finite(prices[name].tokens) if prices else None,
                cost_per_solved=_finite(prices[name].cost) if prices else None,
                pareto=best[name],
            )
            for name, standing in standings.items()
        ],
        differences=differences,
        choice=None if rivals else first,
        tasks_to_decide=min(needed, default=None),
    )


class Gaps(NamedTuple):
    """The differences of two entries by task, and the variance of their mean from sampling alone.

    ``gaps`` has shape (n tasks,). Sampling varies their mean with at least the variance
    ``sampling``, even if all tasks happen to have the same difference. ``widest`` is the largest
    possible difference, and ``unseen`` the largest one that tasks which were not measured are
    assumed to have.
    """

    gaps: Floats
    sampling: float
    less_is_better: bool
    widest: float
    unseen: float

    @classmethod
    def of(cls, metric: str, ours: Floats, theirs: Floats, *, variances: float) -> Gaps:
        """Return the differences of two entries.

        Parameters
        ----------
        metric
            One of `DECIDING`.
        ours, theirs
            Shape (n,): the figure of each task.
        variances
            The sum of the sampling variances of all tasks' figures, over both entries.
        """
        low, high = METRICS[metric].bounds
        measured = np.concatenate([ours, theirs])
        return cls(
            # Differences that are equal in exact arithmetic must stay equal despite rounding.
            gaps=np.round(ours - theirs, 12),
            sampling=variances / ours.size**2,
            less_is_better=METRICS[metric].less_is_better,
            widest=high - low,
            unseen=float(np.ptp(measured)),
        )

    @property
    def variance(self) -> float:
        """The variance of the mean difference over tasks; over reruns for a single task."""
        n = self.gaps.size
        return self.sampling if n == 1 else max(self.sampling, float(self.gaps.var(ddof=1)) / n)

    def difference(self, metric: str, name: str, other: str, comparisons: int) -> Difference:
        """Return the difference of two entries, with an interval that shares its level.

        `comparisons` is the number of intervals that hold together with 95 %.
        """
        n, mean = self.gaps.size, _mean(self.gaps)
        level = 1.0 - _TAIL / comparisons
        half = _quantile(n, level) * math.sqrt(self.variance)
        exact = exact_interval(
            self.gaps,
            bounds=(-self.unseen, self.unseen),
            resamples=_DRAWS,
            # All pairs share their draws, so turning a pair only changes the signs.
            rng=generator(0, "ranking", str(n)),
        )
        interval = joined((mean - half, mean + half), exact)
        assert interval is not None
        low, high = max(-self.widest, interval[0]), min(self.widest, interval[1])
        separated = not low <= 0.0 <= high
        winner = name if (mean < 0.0) == self.less_is_better else other
        return Difference(
            metric=metric,
            name=name,
            other=other,
            difference=mean,
            ci95=(low, high),
            better=winner if separated else None,
        )

    def tasks_to_decide(self, comparisons: int) -> int | None:
        """Return roughly how many tasks separate the entries with 80 %, or None for too many.

        The formula is that of the paired t-test for large samples, at the level of `difference`.
        There must also be so many tasks that the unseen ones cannot make up for the difference.
        """
        n, mean = self.gaps.size, _mean(self.gaps)
        if n == 1 or not mean:
            return None
        quantiles = _NORMAL.inv_cdf(1.0 - _TAIL / comparisons) + _NORMAL.inv_cdf(_POWER)
        tasks = math.ceil(quantiles**2 * n * self.variance / mean**2)
        if self.unseen:
            share = abs(mean) / (abs(mean) + self.unseen)
            tasks = max(tasks, math.ceil(math.log(_TAIL) / math.log1p(-share)))
        return max(n + 1, tasks) if tasks <= _MOST_TASKS else None


def ordered(
    figures: Mapping[str, Mapping[str, float | None]], differences: Sequence[Difference]
) -> dict[str, Standing]:
    """Return the entries in their order, each with its standing.

    The first layer are the entries that solve separately fewer variants than no other, the next
    layer those of which this is true among the rest, and so on. Each layer is in the order of drop
    and then of reworded pass. Entries without a drop are last in theirs.

    Parameters
    ----------
    figures
        The metrics of each entry, by its name.
    differences
        The differences of all pairs that could be compared.
    """

    def key(name: str) -> tuple[float, float]:
        drop, solved = figures[name]["drop"], figures[name]["reworded_pass"]
        return math.inf if drop is None else drop, -(solved or 0.0)

    order: list[str] = []
    rest = list(figures)
    while rest:
        among = [pair for pair in differences if {pair.name, pair.other} <= {*rest}]
        layer = [name for name in rest if not _is_behind(name, "reworded_pass", among)]
        order += sorted(layer, key=key)
        rest = [name for name in rest if name not in layer]
    return {name: _standing(name, order[0], differences) for name in order}


def _quantile(n: int, level: float) -> float:
    """Return the quantile of Student's t over n tasks, or of the normal distribution for one."""
    return _NORMAL.inv_cdf(level) if n == 1 else float(scipy.special.stdtrit(n - 1, level))


def figure_variance(task: RecordedTask, metric: str, distances: Sequence[float]) -> float:
    """Return the variance of a task's drop or reworded pass from sampling completions.

    `metric` is one of `DECIDING`, and `distances` are those of the run.
    """
    variants = list(task.variants.values())
    if metric == "drop" and task.original is not None:
        groups = [[v for v in variants if v.distance == d] for d in distances]
        measured = [group for group in groups if group]
        return drop_variance(task.original, measured) if measured else 0.0
    return mean_variance(variants) if variants else 0.0


def _variances(tasks: Sequence[RecordedTask], metric: str, distances: Sequence[float]) -> float:
    return math.fsum(figure_variance(task, metric, distances) for task in tasks)


def pareto(points: Sequence[Sequence[float]]) -> list[bool]:
    """Return for each of `points` whether no other dominates it. Larger coordinates are better."""
    table = np.asarray(points, dtype=np.float64)
    return [
        not any((other >= point).all() and (other > point).any() for other in table)
        for point in table
    ]


def task_figures(
    tasks: Sequence[RecordedTask],
    metric: str,
    *,
    mode: Mode,
    distances: Sequence[float],
    seed: int,
) -> Floats | None:
    """Return one value of a metric per task, shape (n,), whose mean is the figure of all tasks.

    None if the metric was not measured, or if no original is solved and the metric needs that. The
    parameters are those of `rank`.
    """
    if metric in ELASTICITIES and not is_solved(tasks):
        return None
    over = figure_distances(metric, distances)
    curves = [task_curve(task, metric, mode, over, seed) for task in tasks]
    return task_values(curves, over, weights=weights_of(metric))


def _mean(values: Floats) -> float:
    # Means that are equal in exact arithmetic must not decide an order by their rounding.
    return round(float(values.mean()), 12)


def _is_behind(name: str, metric: str, differences: Sequence[Difference]) -> bool:
    """Return whether another entry is separately better in a metric."""
    return any(
        pair.better not in (None, name)
        for pair in differences
        if pair.metric == metric and name in (pair.name, pair.other)
    )


def _standing(name: str, first: str, differences: Sequence[Difference]) -> Standing:
    if name == first:
        return "first"
    if _is_behind(name, "reworded_pass", differences):
        return "solves fewer"
    of_both = [pair for pair in differences if {pair.name, pair.other} == {name, first}]
    return "drops more" if _is_behind(name, "drop", of_both) else "undecided"


def _pareto(
    figures: Mapping[str, Mapping[str, float | None]], prices: Mapping[str, Price] | None
) -> dict[str, bool]:
    paid = [] if prices is None else [_paid(prices[name]) for name in figures]
    points = [
        [
            _upwards(of_entry["pass_at_1"], sign=1.0),
            _upwards(of_entry["reworded_pass"], sign=1.0),
            _upwards(of_entry["drop"], sign=-1.0),
            *([] if not paid or None in paid else [-(paid[number] or 0.0)]),
        ]
        for number, of_entry in enumerate(figures.values())
    ]
    return dict(zip(figures, pareto(points), strict=True))


def _paid(price: Price) -> float | None:
    return price.tokens if price.cost is None else price.cost


def _upwards(value: float | None, *, sign: float) -> float:
    # Rounded as in the reports. Otherwise noise in the last digits would decide dominance.
    return -math.inf if value is None else round(sign * value, 9)


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value
