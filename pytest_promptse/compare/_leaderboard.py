"""The leaderboard: the figures of each entry over the common subset, and its changes by task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy import stats

from pytest_promptse.reports._ranking import is_shown
from pytest_promptse.scoring._compare import task_curve
from pytest_promptse.scoring._intervals import SIGNED, UNIT, generator, mean_interval, task_values
from pytest_promptse.scoring._multiplicity import benjamini_hochberg
from pytest_promptse.scoring._odds_ratio import count, estimate
from pytest_promptse.scoring._ranking import rank, ranked_metrics, task_figures
from pytest_promptse.scoring._robustness import squared_sensitivity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.compare._common_subset import CommonSubset
    from pytest_promptse.compare._entry import ComparedEntry, TaskKey
    from pytest_promptse.scoring._pairing import RecordedTask
    from pytest_promptse.scoring._samples import Floats, Mode
    from pytest_promptse.scoring._scores import Curve, Estimate, Interval, Ranked, Ranking

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
    has the same differences of SoftExec and is empty without log-probabilities. ``squared`` is
    squared sensitivity, which needs two samples of each prompt. ``passes`` has
    (passes, samples) of the original and of each variant.

    ``n`` and ``pass_rate`` are those of the original. ``curve`` is elasticity, and ``light`` that
    of PromptSELight.
    """

    key: TaskKey
    n: int
    pass_rate: float
    passes: tuple[tuple[int, int], ...]
    curve: Curve
    light: Curve
    changes: Curve
    squared: Curve
    soft: Curve


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow:
    """One entry over the common subset. Figures are means over its tasks.

    ``ranked`` is the entry in the ranking of all, with its metrics. ``intervals`` are the 95 %
    intervals of the metrics that the terminal shows. ``light`` is AUC-E by PromptSELight.
    ``sensitivity`` is the mean of `|ΔPass|` over tasks and distances. ``odds_ratio`` is that of
    variants against originals (see `scoring._odds_ratio`). ``gap_pass`` is the difference of pass@1
    from the first entry, paired by task, with its interval. Curves map each distance to a mean, or
    to None.
    """

    entry: ComparedEntry
    tasks: tuple[TaskFigures, ...]
    ranked: Ranked
    intervals: Mapping[str, Interval | None]
    elasticity: Curve
    light: float | None
    sensitivity: float | None
    odds_ratio: Estimate
    soft: Curve
    gap_pass: float | None
    gap_pass_ci95: Interval | None
    quadrant: Quadrant | None

    @property
    def pass_at_1(self) -> float:
        """The mean pass rate of the originals."""
        return self.ranked.figures["pass_at_1"] or 0.0

    @property
    def auc_e(self) -> float | None:
        """AUC-E in the mode of the comparison, or None for an entry that solves no original."""
        return self.ranked.figures["auc_e"]

    @property
    def drop(self) -> float | None:
        """The pass rate of the originals minus that of their variants."""
        return self.ranked.figures["drop"]


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


def leaderboard_of(subset: CommonSubset) -> tuple[list[LeaderboardRow], Cut | None, Ranking]:
    """Return the figures in the order of the entries, the limits of the quadrants, and the ranking.

    Entries of the ranking have the labels of those of `subset` as names.
    """
    recorded = {
        entry.label: [subset.recorded(entry, key, mode=subset.mode) for key in subset.tasks]
        for entry in subset.entries
    }
    ranking = rank(recorded, mode=subset.mode, distances=subset.distances, seed=SEED)
    by_name = {entry.name: entry for entry in ranking.entries}
    figures = [tuple(_figures(subset, e, key) for key in subset.tasks) for e in subset.entries]
    plain = [
        _leaderboard_row(
            subset,
            entry,
            tasks,
            first=figures[0],
            ranked=by_name[entry.label],
            intervals=_intervals(subset, recorded[entry.label]),
        )
        for entry, tasks in zip(subset.entries, figures, strict=True)
    ]
    placed = [(s.pass_at_1, s.drop) for s in plain if s.auc_e is not None and s.drop is not None]
    if not placed:
        return plain, None, ranking
    cut = Cut(
        pass_at_1=float(np.median([rate for rate, _ in placed])),
        drop=float(np.median([drop for _, drop in placed])),
    )
    return [replace(s, quadrant=_quadrant(s, cut)) for s in plain], cut, ranking


def _intervals(subset: CommonSubset, tasks: Sequence[RecordedTask]) -> dict[str, Interval | None]:
    intervals: dict[str, Interval | None] = {}
    for metric in ranked_metrics():
        if is_shown(metric.name):
            by_task = task_figures(
                tasks, metric.name, mode=subset.mode, distances=subset.distances, seed=SEED
            )
            intervals[metric.name] = (
                None if by_task is None else _interval(by_task, metric.bounds, metric.name)
            )
    return intervals


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

    def curve(mode: Mode) -> Curve:
        scored = subset.recorded(entry, key, mode=mode) if mode != subset.mode else task
        return task_curve(scored, "auc_e", mode, subset.distances, SEED)

    variants = subset.variants(entry, key)
    changes: Curve = {}
    squared: Curve = dict.fromkeys(subset.distances)
    soft: Curve = {}
    for d in subset.distances:
        at_d = [variant for variant in variants if variant.distance == d]
        rates = [variant.pass_rate for variant in at_d]
        changes[d] = float(np.mean(rates)) - original.pass_rate if at_d else None
        sizes = [variant.n for variant in at_d]
        if at_d and min(original.n, *sizes) > 1:
            value = squared_sensitivity(original.pass_rate, rates, m_p=original.n, m_v=sizes)
            squared[d] = float(value)
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
        curve=curve(subset.mode),
        light=curve("light"),
        changes=changes,
        squared=squared,
        soft=soft,
    )


def _leaderboard_row(
    subset: CommonSubset,
    entry: ComparedEntry,
    tasks: Sequence[TaskFigures],
    *,
    first: Sequence[TaskFigures],
    ranked: Ranked,
    intervals: Mapping[str, Interval | None],
) -> LeaderboardRow:
    distances = subset.distances
    rates = np.array([task.pass_rate for task in tasks])
    light = task_values([task.light for task in tasks], distances)
    elasticity = _means([task.curve for task in tasks], distances)
    if not rates.any():
        # Variants have nothing to lose if no original is solved.
        light = None
        elasticity = dict.fromkeys(distances)
    sizes = [abs(c) for task in tasks for c in task.changes.values() if c is not None]
    is_first = entry is subset.entries[0]
    pass_gaps = rates - np.array([task.pass_rate for task in first])
    return LeaderboardRow(
        entry=entry,
        tasks=tuple(tasks),
        ranked=ranked,
        intervals=intervals,
        elasticity=elasticity,
        light=None if light is None else round(float(light.mean()), _DIGITS),
        sensitivity=float(np.mean(sizes)) if sizes else None,
        odds_ratio=estimate(count([task.passes for task in tasks], emotions=None)),
        soft=_means([task.soft for task in tasks], distances),
        gap_pass=None if is_first else float(pass_gaps.mean()),
        gap_pass_ci95=None if is_first else _interval(pass_gaps, SIGNED, "gap pass_at_1"),
        quadrant=None,
    )


def _interval(values: Floats, bounds: tuple[float, float], purpose: str) -> Interval | None:
    # The interval is not widened, not even if all tasks have the same difference.
    widen = bounds == UNIT
    rng = generator(SEED, "study", purpose)
    interval = mean_interval(values, bounds=bounds, widen=widen, rng=rng)
    return None if interval is None else (round(interval[0], _DIGITS), round(interval[1], _DIGITS))


def _means(curves: Sequence[Curve], distances: Sequence[float]) -> Curve:
    means: Curve = {}
    for d in distances:
        values = [value for curve in curves if (value := curve[d]) is not None]
        means[d] = float(np.mean(values)) if values else None
    return means


def _quadrant(row: LeaderboardRow, cut: Cut) -> Quadrant | None:
    """Return the quadrant of an entry; ``undecided`` if one of its intervals contains the cut.

    The result is None if the entry solves nothing. `cut` gives the limits for pass@1 and drop.
    """
    if row.auc_e is None or row.drop is None:
        return None
    for metric, middle in (("pass_at_1", cut.pass_at_1), ("drop", cut.drop)):
        interval = row.intervals[metric]
        if interval is None or interval[0] <= middle <= interval[1]:
            return "undecided"
    strong = row.pass_at_1 >= cut.pass_at_1
    stable = row.drop <= cut.drop
    return QUADRANTS[2 * (not strong) + (not stable)]
