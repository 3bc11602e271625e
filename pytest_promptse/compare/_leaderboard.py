"""The leaderboard: the figures of each entry over the common subset, and its changes by task."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy import stats

from pytest_promptse.scoring._compare import task_curve
from pytest_promptse.scoring._elasticity import equal_weights
from pytest_promptse.scoring._intervals import SIGNED, UNIT, generator, mean_interval, task_values
from pytest_promptse.scoring._multiplicity import benjamini_hochberg, holm
from pytest_promptse.scoring._odds_ratio import count, estimate
from pytest_promptse.scoring._ranking import SIGNIFICANT, flips_for, mean_p_value, paired_gaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.compare._common_subset import CommonSubset
    from pytest_promptse.compare._entry import ComparedEntry, TaskKey
    from pytest_promptse.scoring._samples import Floats, Mode
    from pytest_promptse.scoring._scores import Curve, Estimate, Interval

SEED = 0
# Values are rounded first, so that medians and ranks do not depend on rounding errors.
_DIGITS = 12

Quadrant: TypeAlias = Literal[
    "strong-stable", "strong-brittle", "weak-stable", "weak-brittle", "undecided"
]
QUADRANTS: tuple[Quadrant, ...] = (
    "strong-stable",
    "strong-brittle",
    "weak-stable",
    "weak-brittle",
    "undecided",
)


@dataclass(frozen=True, kw_only=True)
class TaskFigures:
    """The figures of one task of one entry. Curves are by distance, None if not measured.

    ``changes`` are Pass(d) - Pass(p), where Pass(d) is the mean over the variants at d. ``soft``
    has the same differences of SoftExec and is empty without log-probabilities. ``passes`` has
    (passes, samples) of the original and of each variant.

    ``n`` and ``pass_rate`` are those of the original. ``curve`` is elasticity, ``light`` that of
    PromptSELight, and ``excess`` the excess sensitivity.
    """

    key: TaskKey
    n: int
    pass_rate: float
    passes: tuple[tuple[int, int], ...]
    curve: Curve
    light: Curve
    excess: Curve
    changes: Curve
    soft: Curve


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow:
    """One entry over the common subset. Figures are means over its tasks.

    ``light`` is AUC-E by PromptSELight. ``drop`` is the pass rate of the originals minus that of
    their variants. ``sensitivity`` is the mean of `|ΔPass|` over tasks and distances.
    ``odds_ratio`` is that of variants against originals (see `scoring._odds_ratio`). ``gap_pass``
    and ``gap_drop`` are the differences from the first entry, paired by task. Their p-values are
    those of a sign-flip test of the mean, adjusted by Benjamini and Hochberg over all entries.

    ``places`` are the best and the worst rank by drop that significant differences leave open. It
    is None for a single task. All of them together hold with 95 % (Holm).

    Fields whose names end in ``_ci95`` are 95 % intervals. Curves map each distance to a mean, or
    to None.
    """

    entry: ComparedEntry
    tasks: tuple[TaskFigures, ...]
    pass_at_1: float
    pass_ci95: Interval | None
    auc_e: float | None
    auc_ci95: Interval | None
    drop: float | None
    drop_ci95: Interval | None
    elasticity: Curve
    light: float | None
    excess: float | None
    sensitivity: float | None
    odds_ratio: Estimate
    soft: Curve
    gap_pass: float | None
    gap_pass_ci95: Interval | None
    gap_pass_p: float | None
    gap_drop: float | None
    gap_drop_ci95: Interval | None
    gap_drop_p: float | None
    quadrant: Quadrant | None
    places: tuple[int, int] | None


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The limits of the quadrants: medians over all entries.

    An entry on a median is strong, or stable.
    """

    pass_at_1: float
    drop: float


@dataclass(frozen=True, kw_only=True)
class TaskChange:
    """One task of an entry, compared with the same task of the first entry.

    ``p_value`` is that of Fisher's exact test of the original's passes. ``p_adjusted`` is adjusted
    by Benjamini and Hochberg over all tasks and entries.

    Fields that end in ``_before`` are of the first entry. Those with ``pass`` are pass rates of the
    original, and those with ``auc`` are AUC-E.
    """

    key: TaskKey
    entry: ComparedEntry
    pass_before: float
    pass_now: float
    auc_before: float | None
    auc_now: float | None
    p_value: float
    p_adjusted: float


def leaderboard_of(subset: CommonSubset) -> tuple[list[LeaderboardRow], Cut | None]:
    """Return the figures in the order of the entries, and the limits of the quadrants."""
    figures = [tuple(_figures(subset, e, key) for key in subset.tasks) for e in subset.entries]
    plain = _tested(
        [
            _leaderboard_row(subset, entry, tasks, figures[0])
            for entry, tasks in zip(subset.entries, figures, strict=True)
        ]
    )
    plain = _placed(plain, subset.distances)
    placed = [(s.pass_at_1, s.drop) for s in plain if s.auc_e is not None and s.drop is not None]
    if not placed:
        return plain, None
    cut = Cut(
        pass_at_1=float(np.median([rate for rate, _ in placed])),
        drop=float(np.median([drop for _, drop in placed])),
    )
    return [replace(s, quadrant=_quadrant(s, cut)) for s in plain], cut


def area(curve: Curve, distances: Sequence[float]) -> float | None:
    """Return the area under one task's curve, or None if a distance is missing.

    `curve` maps each distance to elasticity in [0, 1], or to None if it was not measured. The area
    is AUC-E over `distances`.
    """
    if any(curve[d] is None for d in distances):
        return None
    values = task_values([curve], distances)
    return None if values is None else float(values[0])


def changes_of(
    leaderboard: Sequence[LeaderboardRow], distances: Sequence[float]
) -> list[TaskChange]:
    """Compare each task of the other entries with the first entry, largest changes first.

    `distances` are those of AUC-E. The p-values are from Fisher's exact test of the numbers of
    passes on the originals, adjusted for all comparisons in the list.
    """
    first, *others = leaderboard
    before = {task.key: task for task in first.tasks}
    rows = [(s, task, before[task.key]) for s in others for task in s.tasks]
    p_values = [_fisher(task, was) for _, task, was in rows]
    changes = [
        TaskChange(
            key=task.key,
            entry=row.entry,
            pass_before=was.pass_rate,
            pass_now=task.pass_rate,
            auc_before=area(was.curve, distances),
            auc_now=area(task.curve, distances),
            p_value=p,
            p_adjusted=q,
        )
        for (row, task, was), p, q in zip(rows, p_values, benjamini_hochberg(p_values), strict=True)
    ]
    return sorted(changes, key=_size, reverse=True)


def _size(change: TaskChange) -> float:
    has_both = change.auc_before is not None and change.auc_now is not None
    stability = abs(change.auc_now - change.auc_before) if has_both else 0.0  # type: ignore[operator]
    return round(max(abs(change.pass_now - change.pass_before), stability), 9)


def _fisher(now: TaskFigures, was: TaskFigures) -> float:
    table = [[passes := round(task.pass_rate * task.n), task.n - passes] for task in (now, was)]
    return float(stats.fisher_exact(np.array(table)).pvalue)


def _figures(subset: CommonSubset, entry: ComparedEntry, key: TaskKey) -> TaskFigures:
    task = subset.recorded(entry, key, mode=subset.mode)
    original = entry.originals[key]

    def curve(metric: str, mode: Mode) -> Curve:
        light = subset.recorded(entry, key, mode=mode) if mode != subset.mode else task
        return task_curve(light, metric, mode, subset.distances, SEED)

    variants = subset.variants(entry, key)
    changes: Curve = {}
    soft: Curve = {}
    for d in subset.distances:
        at_d = [variant for variant in variants if variant.distance == d]
        rates = [variant.pass_rate for variant in at_d]
        changes[d] = float(np.mean(rates)) - original.pass_rate if at_d else None
        scores = [variant.soft_exec for variant in at_d if variant.soft_exec is not None]
        scored = original.soft_exec is not None and at_d and len(scores) == len(at_d)
        soft[d] = float(np.mean(scores)) - (original.soft_exec or 0.0) if scored else None
    return TaskFigures(
        key=key,
        n=original.n,
        passes=tuple(
            (round(prompt.n * prompt.pass_rate), prompt.n) for prompt in (original, *variants)
        ),
        pass_rate=original.pass_rate,
        curve=curve("auc_e", subset.mode),
        light=curve("auc_e", "light"),
        excess=curve("excess", subset.mode),
        changes=changes,
        soft=soft,
    )


def _leaderboard_row(
    subset: CommonSubset,
    entry: ComparedEntry,
    tasks: Sequence[TaskFigures],
    first: Sequence[TaskFigures],
) -> LeaderboardRow:
    distances = subset.distances
    rates = np.array([task.pass_rate for task in tasks])
    areas = task_values([task.curve for task in tasks], distances)
    light = task_values([task.light for task in tasks], distances)
    excess = task_values([task.excess for task in tasks], distances)
    elasticity = _means([task.curve for task in tasks], distances)
    if not rates.any():
        # Variants have nothing to lose if no original is solved.
        areas = light = excess = None
        elasticity = dict.fromkeys(distances)
    sizes = [abs(c) for task in tasks for c in task.changes.values() if c is not None]
    is_first = entry is subset.entries[0]
    pass_gaps = rates - np.array([task.pass_rate for task in first])
    drops, drops_before = _drops(tasks, distances), _drops(first, distances)
    drop_gaps = None if is_first else paired_gaps(drops, drops_before)
    return LeaderboardRow(
        entry=entry,
        tasks=tuple(tasks),
        pass_at_1=round(float(rates.mean()), _DIGITS),
        pass_ci95=_interval(rates, UNIT, "pass_at_1"),
        auc_e=_mean(areas),
        auc_ci95=None if areas is None else _interval(areas, UNIT, "auc_e"),
        drop=_mean(drops),
        drop_ci95=None if drops is None else _interval(drops, SIGNED, "drop"),
        elasticity=elasticity,
        light=_mean(light),
        excess=_mean(excess),
        sensitivity=float(np.mean(sizes)) if sizes else None,
        odds_ratio=estimate(count([task.passes for task in tasks], emotions=None)),
        soft=_means([task.soft for task in tasks], distances),
        gap_pass=None if is_first else float(pass_gaps.mean()),
        gap_pass_ci95=None if is_first else _interval(pass_gaps, SIGNED, "gap pass_at_1"),
        gap_pass_p=None if is_first else mean_p_value(pass_gaps, flips=flips_for(2), seed=SEED),
        gap_drop=_mean(drop_gaps),
        gap_drop_ci95=None if drop_gaps is None else _interval(drop_gaps, SIGNED, "gap drop"),
        gap_drop_p=mean_p_value(drop_gaps, flips=flips_for(2), seed=SEED),
        quadrant=None,
        places=None,
    )


def _drops(tasks: Sequence[TaskFigures], distances: Sequence[float]) -> Floats | None:
    changes = task_values([task.changes for task in tasks], distances, weights=equal_weights)
    return None if changes is None else -changes


def _placed(
    leaderboard: Sequence[LeaderboardRow], distances: Sequence[float]
) -> list[LeaderboardRow]:
    """Fill in the places that significant differences of the drop leave open to each entry."""
    drops = [_drops(row.tasks, distances) for row in leaderboard]
    pairs = list(combinations(range(len(drops)), 2))
    gaps = [paired_gaps(drops[a], drops[b]) for a, b in pairs]
    flips = flips_for(len(pairs))
    tests = holm([mean_p_value(gap, flips=flips, seed=SEED) for gap in gaps])
    first, last = [1] * len(drops), [len(drops)] * len(drops)
    for (a, b), gap, p in zip(pairs, gaps, tests, strict=True):
        if gap is not None and p is not None and p < SIGNIFICANT:
            better, worse = (a, b) if gap.mean() < 0.0 else (b, a)
            first[worse] += 1
            last[better] -= 1
    tested = any(p is not None for p in tests)
    return [
        replace(row, places=place if tested else None)
        for row, place in zip(leaderboard, zip(first, last, strict=True), strict=True)
    ]


def tasks_to_decide(
    one: LeaderboardRow, other: LeaderboardRow, distances: Sequence[float]
) -> int | None:
    """Return roughly how many tasks find the difference of two drops with 80 %, or None.

    The formula is that of the paired t-test for large samples. Without a difference in the mean, or
    with one that does not vary, no number of tasks follows.
    """
    gaps = paired_gaps(_drops(one.tasks, distances), _drops(other.tasks, distances))
    if gaps is None or gaps.size < 2 or not gaps.mean() or not gaps.std():  # noqa: PLR2004
        return None
    quantiles = float(stats.norm.ppf(1.0 - SIGNIFICANT / 2.0) + stats.norm.ppf(0.8))
    return math.ceil(quantiles**2 * float(gaps.var(ddof=1)) / float(gaps.mean()) ** 2)


def _interval(values: Floats, bounds: tuple[float, float], purpose: str) -> Interval | None:
    # The interval is not widened, not even if all tasks have the same difference.
    widen = bounds == UNIT
    rng = generator(SEED, "study", purpose)
    interval = mean_interval(values, bounds=bounds, widen=widen, rng=rng)
    return None if interval is None else (round(interval[0], _DIGITS), round(interval[1], _DIGITS))


def _mean(values: Floats | None) -> float | None:
    return None if values is None else round(float(values.mean()), _DIGITS)


def _means(curves: Sequence[Curve], distances: Sequence[float]) -> Curve:
    means: Curve = {}
    for d in distances:
        values = [value for curve in curves if (value := curve[d]) is not None]
        means[d] = float(np.mean(values)) if values else None
    return means


def _tested(leaderboard: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """Adjust the p-values over all entries and both figures."""
    together = iter(
        benjamini_hochberg([p for row in leaderboard for p in (row.gap_pass_p, row.gap_drop_p)])
    )
    return [
        replace(row, gap_pass_p=next(together), gap_drop_p=next(together)) for row in leaderboard
    ]


def _quadrant(row: LeaderboardRow, cut: Cut) -> Quadrant | None:
    """Return the quadrant of an entry; ``undecided`` if one of its intervals contains the cut.

    The result is None if the entry solves nothing. `cut` gives the limits for pass@1 and drop.
    """
    if row.auc_e is None or row.drop is None:
        return None
    for interval, middle in ((row.pass_ci95, cut.pass_at_1), (row.drop_ci95, cut.drop)):
        if interval is None or interval[0] <= middle <= interval[1]:
            return "undecided"
    strong = row.pass_at_1 >= cut.pass_at_1
    stable = row.drop <= cut.drop
    return QUADRANTS[2 * (not strong) + (not stable)]
