"""The analyses of the paper's first three research questions.

RQ1 asks whether performance and stability trade off, RQ2 what distance, size and family change, and
RQ3 whether PromptSELight agrees with PromptSE. (RQ4 is in `_emotion`.) If the runs do not allow an
analysis, its result names what is missing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.compare._entry import SIZES
from pytest_promptse.compare._leaderboard import SEED, area
from pytest_promptse.scoring._association import LEAST, agreement, correlations
from pytest_promptse.scoring._groups import kruskal, mann_whitney, repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_promptse.compare._common_subset import CommonSubset
    from pytest_promptse.compare._entry import ComparedEntry, TaskKey
    from pytest_promptse.compare._leaderboard import LeaderboardRow
    from pytest_promptse.scoring._association import Agreement, Correlation
    from pytest_promptse.scoring._groups import Overall, Pairwise
    from pytest_promptse.scoring._samples import Floats


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """RQ1: pass@1 against unbiased squared sensitivity over entries.

    AUC-E and the drop correlate with pass@1 for stable models as well. The noise in AUC-E depends
    on the pass rate, and the drop contains the noise of the same pass rate. The noise of squared
    sensitivity has no correlation with it: for n samples of an original, the covariance of the pass
    rate with its squared deviation and that with the subtracted variance are both the third
    cumulant divided by n^2.

    ``missing`` gives the reason for each correlation that could not be computed.
    """

    correlations: tuple[Correlation, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Observations at one level of a factor, such as one family of models.

    ``factor`` and ``value`` name the level. ``distance`` is None for all distances together.

    An observation is one task of one entry at one distance. ``sensitivity`` is the mean of
    `|ΔPass|` and ``spread`` its standard deviation (None for a single observation). ``losses`` is
    the share of observations in which the pass rate fell. ``soft`` is the mean SoftExec of the
    variants minus that of the original. ``elasticity``, ``squared`` sensitivity and ``drop`` are
    means over the ``n`` observations. Only the last two are compared: the others contain sampling
    noise, which depends on the pass rate and the number of samples.
    """

    factor: str
    value: str
    distance: float | None
    n: int
    sensitivity: float
    spread: float | None
    losses: float
    squared: float | None
    drop: float
    elasticity: float | None
    soft: float | None

    @property
    def level(self) -> str:
        """The distance in words."""
        return "all" if self.distance is None else f"{self.distance:g}"


@dataclass(frozen=True, kw_only=True)
class Test:
    """Tests of the effect of a factor on a figure: over all groups, then by pairs.

    ``factor`` is ``distance``, ``size`` or ``family``; ``figure`` names the compared quantity.
    """

    factor: str
    figure: str
    overall: Overall
    pairs: tuple[Pairwise, ...]


@dataclass(frozen=True, kw_only=True)
class Moderation:
    """RQ2: sensitivity by distance, size and family.

    ``cells`` are mean squared sensitivities by (size, family).

    ``groups`` summarise each value of each factor, and ``tests`` compare these groups. ``missing``
    gives the reason for each analysis that was not possible.
    """

    groups: tuple[Group, ...]
    tests: tuple[Test, ...]
    cells: Mapping[tuple[str, str], float]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Approximation:
    """The agreement of light with full over n ``units``: entries, or tasks of one entry.

    ``agreement`` compares the two figures, and ``correlations`` has their coefficients.
    """

    units: str
    agreement: Agreement
    correlations: tuple[Correlation, ...]


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The ranks of an entry by full and light AUC-E.

    Rank 1 is the most stable; ties share a rank.
    """

    entry: ComparedEntry
    full: float
    light: float
    full_rank: float
    light_rank: float


@dataclass(frozen=True, kw_only=True)
class Screening:
    """RQ3: AUC-E by PromptSELight against PromptSE, over entries and over tasks.

    ``approximations`` has the agreement for each kind of unit, and ``drifts`` the change of each
    entry's rank. ``missing`` gives the reason for each analysis that was not possible.
    """

    approximations: tuple[Approximation, ...]
    drifts: tuple[Drift, ...]
    missing: tuple[str, ...]


def trade_off(leaderboard: Sequence[LeaderboardRow]) -> TradeOff:
    """Analyse performance and stability (RQ1)."""
    placed = [
        (s.pass_at_1, squared)
        for s in leaderboard
        if s.auc_e is not None and (squared := s.ranked.figures["squared_sensitivity"]) is not None
    ]
    coefficients = correlations(
        [rate for rate, _ in placed], [squared for _, squared in placed], seed=SEED
    )
    missing = []
    if len(placed) < LEAST:
        missing.append(f"a correlation needs {LEAST} models, there are {len(placed)}")
    elif not coefficients:
        missing.append("a correlation needs models that differ in pass@1 and in sensitivity")
    return TradeOff(correlations=tuple(coefficients), missing=tuple(missing))


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """One task of one entry at one distance.

    ``change`` is the mean change of the pass rate, and ``soft`` that of SoftExec. ``squared`` is
    squared sensitivity. None means that a figure was not measured.
    """

    row: LeaderboardRow
    distance: float
    change: float
    squared: float | None
    elasticity: float | None
    soft: float | None


def moderation(subset: CommonSubset, leaderboard: Sequence[LeaderboardRow]) -> Moderation:
    """Analyse distance, size and family (RQ2).

    `leaderboard` gives the entries with their tasks, sizes and families. Tasks without a measured
    change are left out.
    """
    seen = [
        _Seen(
            row=row,
            distance=d,
            change=change,
            squared=task.squared[d],
            elasticity=task.curve[d],
            soft=task.soft[d],
        )
        for row in leaderboard
        for task in row.tasks
        for d, change in task.changes.items()
        if change is not None
    ]
    sizes = [name for name, _ in SIZES]
    factors: dict[str, Callable[[_Seen], str | None]] = {
        "distance": lambda case: f"{case.distance:g}",
        "size": lambda case: case.row.entry.size_group,
        "family": lambda case: case.row.entry.family,
    }
    groups: list[Group] = []
    tests: list[Test] = []
    missing: list[str] = []
    for factor, value_of in factors.items():
        values: dict[str, list[_Seen]] = defaultdict(list)
        for case in seen:
            if (value := value_of(case)) is not None:
                values[value].append(case)
        if factor == "size":
            values = {name: values[name] for name in sizes if name in values}
        if factor != "distance":
            missing += _unknown(factor, leaderboard)
            if len(values) < 2:  # noqa: PLR2004 - one group has nothing to be compared with
                continue
        groups += _groups(factor, values)
        if factor != "distance":
            tests += _tests(factor, values)
    if len(subset.distances) < 2:  # noqa: PLR2004 - likewise
        missing.append("an effect of distance needs two distances that all have")
    else:
        tests += _repeated(subset, leaderboard)
    return Moderation(
        groups=tuple(groups), tests=tuple(tests), cells=_cells(leaderboard), missing=tuple(missing)
    )


def screening(subset: CommonSubset, leaderboard: Sequence[LeaderboardRow]) -> Screening:
    """Analyse PromptSELight against PromptSE (RQ3).

    Each entry of `leaderboard` must have both figures to take part. The result has only a reason in
    ``missing`` if `subset` can be scored by PromptSELight alone.
    """
    if subset.mode == "light":
        reason = "PromptSE needs log-probabilities and one weighting in every run compared"
        return Screening(approximations=(), drifts=(), missing=(reason,))
    agreements, missing, drifts = [], [], []
    both = [(s, s.light, s.auc_e) for s in leaderboard]
    scored = [(s, a, b) for s, a, b in both if a is not None and b is not None]
    if len(scored) >= LEAST:
        agreements.append(
            _approximation("models", [b for _, b, _ in scored], [c for *_, c in scored])
        )
        light_ranks = _ranks([b for _, b, _ in scored])
        full_ranks = _ranks([c for *_, c in scored])
        drifts = [
            Drift(entry=s.entry, full=full, light=light, full_rank=before, light_rank=after)
            for (s, light, full), before, after in zip(scored, full_ranks, light_ranks, strict=True)
        ]
    else:
        missing.append(f"agreement over models needs {LEAST}, there are {len(scored)}")
    for row in leaderboard:
        pairs = [
            (area(task.light, subset.distances), area(task.curve, subset.distances))
            for task in row.tasks
        ]
        tasks = [(a, b) for a, b in pairs if a is not None and b is not None]
        if len(tasks) >= LEAST:
            units = f"tasks of {row.entry.label}"
            agreements.append(_approximation(units, *zip(*tasks, strict=True), intervals=False))
    if len(subset.tasks) < LEAST:
        missing.append(f"agreement over tasks needs {LEAST}, there are {len(subset.tasks)}")
    return Screening(approximations=tuple(agreements), drifts=tuple(drifts), missing=tuple(missing))


def _approximation(
    units: str, light: Sequence[float], full: Sequence[float], *, intervals: bool = True
) -> Approximation:
    return Approximation(
        units=units,
        agreement=agreement(light, full),
        correlations=tuple(correlations(light, full, seed=SEED, intervals=intervals)),
    )


def _ranks(values: Sequence[float]) -> list[float]:
    from scipy.stats import rankdata  # noqa: PLC0415 - one use

    return [float(rank) for rank in rankdata(-np.array(values).round(9))]


def _unknown(factor: str, leaderboard: Sequence[LeaderboardRow]) -> Iterator[str]:
    entries = [row.entry for row in leaderboard]
    values = [(e, e.size_group if factor == "size" else e.family) for e in entries]
    unknown = list(dict.fromkeys(e.model for e, value in values if value is None))
    groups = {value for _, value in values if value is not None}
    example = "MODEL=7" if factor == "size" else "MODEL=NAME"
    if unknown:
        yield (
            f"the {factor} of {', '.join(unknown)} is not in its name; give --{factor} {example}"
        )
    if len(groups) < 2:  # noqa: PLR2004 - one group has nothing to be compared with
        yield f"an effect of {factor} needs models of two {_plural(factor)}; found {len(groups)}"


def _plural(factor: str) -> str:
    return {"size": "groups of size", "family": "families"}[factor]


def _groups(factor: str, values: Mapping[str, list[_Seen]]) -> Iterator[Group]:
    for value, cases in values.items():
        distances = sorted({case.distance for case in cases}) if factor != "distance" else []
        for distance in [*distances, None]:
            part = [case for case in cases if distance in (None, case.distance)]
            sizes = np.abs([case.change for case in part])
            yield Group(
                factor=factor,
                value=value,
                distance=distance,
                n=len(part),
                sensitivity=float(sizes.mean()),
                spread=float(sizes.std(ddof=1)) if len(part) > 1 else None,
                losses=float(np.mean([case.change < 0 for case in part])),
                squared=_mean([case.squared for case in part]),
                drop=-float(np.mean([case.change for case in part])),
                elasticity=_mean([case.elasticity for case in part]),
                soft=_mean([case.soft for case in part]),
            )


def _mean(values: Sequence[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return float(np.mean(measured)) if measured else None


def _tests(factor: str, values: Mapping[str, list[_Seen]]) -> Iterator[Test]:
    """Test a property of models, such as size, with the models as observations.

    The tasks of one model share that model, so they are not independent observations of its size.
    """
    figures: dict[str, dict[str, Floats]] = {"squared sensitivity": {}, "drop": {}}
    for value, cases in values.items():
        by_model: dict[str, list[_Seen]] = defaultdict(list)
        for case in cases:
            by_model[case.row.entry.label].append(case)
        squared = [_mean([case.squared for case in seen]) for seen in by_model.values()]
        drops = [-float(np.mean([case.change for case in seen])) for seen in by_model.values()]
        figures["squared sensitivity"][value] = np.array([s for s in squared if s is not None])
        figures["drop"][value] = np.array(drops)
    for figure, samples in figures.items():
        overall = kruskal(samples)
        if overall is not None:
            yield Test(
                factor=factor, figure=figure, overall=overall, pairs=tuple(mann_whitney(samples))
            )


def _repeated(subset: CommonSubset, leaderboard: Sequence[LeaderboardRow]) -> Iterator[Test]:
    """Test distances within tasks, since the same tasks are measured at each of them.

    A task is one block, averaged over the models. Models share tasks, so they add no blocks.
    """
    for figure in ("squared sensitivity", "drop"):
        blocks: dict[TaskKey, list[Floats]] = defaultdict(list)
        for row in leaderboard:
            for task in row.tasks:
                curve = task.changes if figure == "drop" else task.squared
                values = [curve[d] for d in subset.distances]
                if None not in values:
                    # The order of drops is the opposite of that of changes.
                    sign = -1.0 if figure == "drop" else 1.0
                    blocks[task.key].append(sign * np.array(values, dtype=np.float64))
        means = [np.mean(block, axis=0) for block in blocks.values()]
        overall = repeated(np.array(means)) if means else None
        if overall is not None:
            yield Test(factor="distance", figure=figure, overall=overall, pairs=())


def _cells(leaderboard: Sequence[LeaderboardRow]) -> dict[tuple[str, str], float]:
    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in leaderboard:
        size, family = row.entry.size_group, row.entry.family
        squared = row.ranked.figures["squared_sensitivity"]
        if size is not None and family is not None and squared is not None:
            cells[size, family].append(squared)
    return {key: float(np.mean(values)) for key, values in cells.items()}
