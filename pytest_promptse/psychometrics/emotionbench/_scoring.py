"""Scores of EmotionBench: the change of affect from the default to the evoked measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from pytest_promptse.psychometrics.emotionbench._factors import EMOTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "ALPHA",
    "OVERALL",
    "AffectChange",
    "Arrow",
    "Evoked",
    "HumanChange",
    "Summary",
    "compare",
    "compare_paired",
    "intraclass_correlation",
    "score_contrasts",
    "score_crowd",
    "score_table",
    "summarise",
]

_Observed = TypeVar("_Observed")
Method = Literal["paper", "cluster"]
Arrow = Literal["up", "down", "none"]

ALPHA = 0.01
"""The significance level of the paper's tests (section 4.1)."""

OVERALL = "Overall"

# The authors add this to standard deviations, so that a constant measure can be tested.
_EPSILON = 1e-8
_FEWEST = 2


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Mean and standard deviation (n - 1) of `n` totals, or None if there are too few."""

    n: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True, kw_only=True)
class Evoked:
    """The evoked totals of one situation, one for each run that could be scored."""

    factor: str
    situation: str
    totals: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class HumanChange:
    """Mean and standard deviation of the change over the subjects of the paper's study."""

    delta: float
    sd: float


@dataclass(frozen=True, kw_only=True)
class AffectChange:
    """One cell of the table: a factor, an emotion or all, compared with the default measure.

    Parameters
    ----------
    name
        A factor's id, an emotion, or ``Overall``.
    n_situations, n_runs
        Numbers of situations and of runs behind the figure.
    delta
        Mean evoked total minus mean default total, or None if one of them is missing.
    sd
        Standard deviation of the evoked totals (``paper``) or of the situations' means
        (``cluster``).
    ci95
        95 % interval of ``delta``, by the t-test that was used.
    p_value, test
        p-value and kind of the two-sided test: Student's, Welch's or the paired t-test.
    arrow
        The sign of the change if it is significant at `ALPHA`.
    icc
        Intraclass correlation of the runs of one situation.
    human
        The human norm of the same row, for PANAS.
    """

    name: str
    n_situations: int
    n_runs: int
    delta: float | None
    sd: float | None
    ci95: tuple[float, float] | None
    p_value: float | None
    test: Literal["student", "welch", "paired"] | None
    arrow: Arrow
    icc: float | None = None
    human: HumanChange | None = None


def summarise(totals: Sequence[float]) -> Summary:
    """Return the mean and the standard deviation of `totals`."""
    values = np.asarray(totals, dtype=float)
    return Summary(
        n=len(values),
        mean=float(values.mean()) if len(values) else None,
        sd=float(values.std(ddof=1)) if len(values) >= _FEWEST else None,
    )


def compare(
    name: str, default: Sequence[float], evoked: Sequence[Evoked], *, method: Method = "cluster"
) -> AffectChange:
    """Return the difference of `evoked` from `default`.

    Parameters
    ----------
    default
        The default totals, one for each run.
    method
        ``paper`` treats every run as one observation. An F-test of the larger over the smaller
        variance, with its p doubled, selects Student's t-test if p > 0.01 and Welch's otherwise
        (section 4.1 and the authors' code). ``cluster`` treats the mean of each situation as one
        observation, since runs of one situation are similar, and uses Welch's test.
    name
        A factor's id, an emotion, or ``Overall``.
    """
    runs = [total for situation in evoked for total in situation.totals]
    situations = [situation for situation in evoked if situation.totals]
    base = AffectChange(
        name=name,
        n_situations=len(situations),
        n_runs=len(runs),
        delta=None,
        sd=None,
        ci95=None,
        p_value=None,
        test=None,
        arrow="none",
        icc=intraclass_correlation([situation.totals for situation in situations]),
    )
    if method == "paper":
        values = np.asarray(runs, dtype=float)
    else:
        values = np.asarray([np.mean(situation.totals) for situation in situations], dtype=float)
    reference = np.asarray(default, dtype=float)
    if not len(values) or not len(reference):
        return base
    base = replace(base, delta=float(values.mean() - reference.mean()))
    if min(len(values), len(reference)) < _FEWEST:
        return base
    first, second = values.std(ddof=1) + _EPSILON, reference.std(ddof=1) + _EPSILON
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    equal = method == "paper" and _variances_equal(first, len(values), second, len(reference))
    result = stats.ttest_ind_from_stats(
        values.mean(), first, len(values), reference.mean(), second, len(reference), equal_var=equal
    )
    p_value = float(result.pvalue)
    return replace(
        base,
        sd=float(values.std(ddof=1)),
        ci95=_interval(values, first, reference, second, equal=equal),
        p_value=p_value,
        test="student" if equal else "welch",
        arrow=_arrow(float(result.statistic), p_value),
    )


def compare_paired(name: str, before: Sequence[float], after: Sequence[float]) -> AffectChange:
    """Return the change of subjects who answered before and after, by the paired t-test.

    These are the human columns of the paper's Table 3.

    Parameters
    ----------
    name
        A factor's id, an emotion, or ``Overall``.
    before, after
        Totals of the subjects, in the same order.
    """
    differences = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    n = len(differences)
    base = AffectChange(
        name=name,
        n_situations=0,
        n_runs=n,
        delta=float(differences.mean()) if n else None,
        sd=None,
        ci95=None,
        p_value=None,
        test=None,
        arrow="none",
    )
    if n < _FEWEST or np.ptp(differences) == 0:
        return base
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    result = stats.ttest_rel(after, before)
    interval = result.confidence_interval(0.95)
    return replace(
        base,
        sd=float(differences.std(ddof=1)),
        ci95=(float(interval.low), float(interval.high)),
        p_value=float(result.pvalue),
        test="paired",
        arrow=_arrow(float(result.statistic), float(result.pvalue)),
    )


def score_table(
    default: Sequence[float], evoked: Sequence[Evoked], *, method: Method = "cluster"
) -> tuple[AffectChange, ...]:
    """Return the changes of each factor, each emotion and all, in the order of the paper's tables.

    Emotions and all pool the observations of their factors. They are not means of factor means.

    Parameters
    ----------
    default
        The default totals, one for each run.
    evoked
        The evoked totals of the situations of all factors.
    method
        As in `compare`.
    """
    return _rows(_by_factor(evoked), lambda name, part: compare(name, default, part, method=method))


def score_crowd(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]]
) -> tuple[AffectChange, ...]:
    """Return the changes of human subjects: each factor, each emotion and all.

    Parameters
    ----------
    before, after
        The totals of the subjects of each factor, in the same order.
    """
    pairs = {name: tuple(zip(before[name], after[name], strict=True)) for name in before}
    return _rows(
        pairs,
        lambda name, part: compare_paired(
            name, [first for first, _ in part], [two for _, two in part]
        ),
    )


def score_contrasts(
    situations: Sequence[Evoked], counterparts: Sequence[Evoked], *, method: Method = "cluster"
) -> tuple[AffectChange, ...]:
    """Return the changes from situations to their positive counterparts.

    This is the comparison of the paper's Table 6 (section 5.1). Situations and counterparts without
    a scored partner are left out.

    Parameters
    ----------
    situations, counterparts
        Scored runs, paired by factor and situation.
    method
        ``paper`` treats every run as one observation, as `compare` does. ``cluster`` treats the
        difference of each pair as one observation, by the paired t-test.
    """
    originals = {
        (evoked.factor, evoked.situation): evoked for evoked in situations if evoked.totals
    }
    pairs = [
        (originals[evoked.factor, evoked.situation], evoked)
        for evoked in counterparts
        if evoked.totals and (evoked.factor, evoked.situation) in originals
    ]
    by_factor: dict[str, list[tuple[Evoked, Evoked]]] = {}
    for pair in pairs:
        by_factor.setdefault(pair[0].factor, []).append(pair)
    return _rows(by_factor, lambda name, part: _contrast(name, part, method))


def _contrast(name: str, pairs: Sequence[tuple[Evoked, Evoked]], method: Method) -> AffectChange:
    if method == "paper":
        runs = [total for original, _ in pairs for total in original.totals]
        return compare(name, runs, [counterpart for _, counterpart in pairs], method=method)
    means = [tuple(float(np.mean(evoked.totals)) for evoked in pair) for pair in pairs]
    change = compare_paired(name, [pair[0] for pair in means], [pair[1] for pair in means])
    n_runs = sum(len(counterpart.totals) for _, counterpart in pairs)
    return replace(change, n_situations=len(pairs), n_runs=n_runs)


def _by_factor(evoked: Sequence[Evoked]) -> dict[str, list[Evoked]]:
    by_factor: dict[str, list[Evoked]] = {}
    for situation in evoked:
        by_factor.setdefault(situation.factor, []).append(situation)
    return by_factor


def _rows(
    by_factor: Mapping[str, Sequence[_Observed]],
    row: Callable[[str, Sequence[_Observed]], AffectChange],
) -> tuple[AffectChange, ...]:
    """Return a row for each factor, for each emotion and for all, in published order.

    `by_factor` has the observations of each factor. `row` computes a row from its name and its
    observations.
    """
    rows: list[AffectChange] = []
    for emotion in EMOTIONS:
        factors = [name for name in _in_order(by_factor) if name.rpartition("-")[0] == emotion]
        rows += [row(name, by_factor[name]) for name in factors]
        if factors:
            rows.append(
                row(emotion, [observed for name in factors for observed in by_factor[name]])
            )
    if by_factor:
        rows.append(row(OVERALL, [observed for part in by_factor.values() for observed in part]))
    return tuple(rows)


def intraclass_correlation(groups: Sequence[Sequence[float]]) -> float | None:
    """Return ICC(1), the share of variance between `groups`, by a one-way analysis of variance.

    The result is None if it is not defined. Groups may differ in size; see Donner, International
    Statistical Review 54 (1986), 67-82, equation 2.2.
    """
    arrays = [np.asarray(group, dtype=float) for group in groups if len(group)]
    k, n = len(arrays), sum(len(group) for group in arrays)
    if k < _FEWEST or n <= k:
        return None
    everything = np.concatenate(arrays)
    between = sum(len(g) * (g.mean() - everything.mean()) ** 2 for g in arrays) / (k - 1)
    within = sum(((g - g.mean()) ** 2).sum() for g in arrays) / (n - k)
    size = (n - sum(len(g) ** 2 for g in arrays) / n) / (k - 1)
    total = between + (size - 1) * within
    return float((between - within) / total) if total > 0 else None


def _in_order(factors: Mapping[str, object]) -> list[str]:
    return sorted(factors, key=lambda name: int(name.rpartition("-")[2]))


def _variances_equal(first: float, n_first: int, second: float, n_second: int) -> bool:
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    larger, smaller = (first, n_first), (second, n_second)
    if larger[0] < smaller[0]:
        larger, smaller = smaller, larger
    ratio = larger[0] ** 2 / smaller[0] ** 2
    return bool(2 * stats.f.sf(ratio, larger[1] - 1, smaller[1] - 1) > ALPHA)


def _interval(
    values: NDArray[np.float64],
    first: float,
    reference: NDArray[np.float64],
    second: float,
    *,
    equal: bool,
) -> tuple[float, float]:
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    n, m = len(values), len(reference)
    a, b = first**2 / n, second**2 / m
    if equal:
        pooled = ((n - 1) * first**2 + (m - 1) * second**2) / (n + m - 2)
        error, freedom = float(np.sqrt(pooled * (1 / n + 1 / m))), float(n + m - 2)
    else:
        error = float(np.sqrt(a + b))
        freedom = float((a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)))
    half = float(stats.t.ppf(0.975, freedom)) * error
    delta = float(values.mean() - reference.mean())
    return delta - half, delta + half


def _arrow(statistic: float, p_value: float) -> Arrow:
    if p_value > ALPHA:
        return "none"
    return "up" if statistic > 0 else "down"
