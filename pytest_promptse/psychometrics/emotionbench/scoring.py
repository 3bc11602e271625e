"""Scores of EmotionBench: how affect changes from the default to the evoked measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_promptse.psychometrics.emotionbench.factors import EMOTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "ALPHA",
    "OVERALL",
    "AffectChange",
    "Arrow",
    "Evoked",
    "Summary",
    "compare",
    "compare_paired",
    "intraclass_correlation",
    "score_crowd",
    "score_table",
    "summarise",
]

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
    """Mean and standard deviation (n - 1) of `n` totals; None where there are too few."""

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
class AffectChange:
    """One cell of the table: a factor, an emotion or all against the default measure.

    Parameters
    ----------
    name
        A factor's id, an emotion, or ``Overall``.
    n_situations, n_runs
        What the figure is made of.
    delta
        Mean evoked total minus mean default total; None where one of them is missing.
    sd
        Standard deviation of the evoked totals (``paper``) or of the situations' means
        (``cluster``).
    ci95
        95 % interval of ``delta``, by the t-test that was used.
    p_value, test
        Of the two-sided test: Student's, Welch's or the paired one.
    arrow
        The sign of the change where it is significant at `ALPHA`.
    icc
        Intraclass correlation of the runs of one situation.
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
    """Return how `evoked` differs from `default`.

    Parameters
    ----------
    default
        The default totals, one for each run.
    method
        ``paper`` takes every run as one observation: an F-test of the larger over the smaller
        variance with its p doubled, then Student's t-test where p > 0.01 and Welch's elsewhere
        (section 4.1 and the authors' code). ``cluster`` takes the mean of each situation as one
        observation, because runs of one situation are alike, and uses Welch's test.
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
    """Return the change of subjects who answered before and after; the paired t-test.

    The human columns of the paper's Table 3.
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

    Emotions and all pool the observations of their factors; they are no means of factor means.
    """
    by_factor: dict[str, list[Evoked]] = {}
    for situation in evoked:
        by_factor.setdefault(situation.factor, []).append(situation)
    rows: list[AffectChange] = []
    for emotion in EMOTIONS:
        factors = [name for name in _in_order(by_factor) if name.rpartition("-")[0] == emotion]
        rows += [compare(name, default, by_factor[name], method=method) for name in factors]
        pooled = [situation for name in factors for situation in by_factor[name]]
        if pooled:
            rows.append(compare(emotion, default, pooled, method=method))
    if evoked:
        rows.append(compare(OVERALL, default, evoked, method=method))
    return tuple(rows)


def score_crowd(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]]
) -> tuple[AffectChange, ...]:
    """Return the changes of human subjects: each factor, each emotion and all.

    Parameters
    ----------
    before, after
        The totals of the subjects of each factor, in the same order.
    """
    rows: list[AffectChange] = []
    for emotion in EMOTIONS:
        factors = [name for name in _in_order(before) if name.rpartition("-")[0] == emotion]
        rows += [compare_paired(name, before[name], after[name]) for name in factors]
        if factors:
            rows.append(_pooled(emotion, factors, before, after))
    rows.append(_pooled(OVERALL, list(before), before, after))
    return tuple(rows)


def _pooled(
    name: str,
    factors: Sequence[str],
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
) -> AffectChange:
    return compare_paired(
        name,
        [total for factor in factors for total in before[factor]],
        [total for factor in factors for total in after[factor]],
    )


def intraclass_correlation(groups: Sequence[Sequence[float]]) -> float | None:
    """Return ICC(1), the share of variance between `groups`, by a one-way analysis of variance.

    None where it is not defined. Groups may differ in size; see Donner, International Statistical
    Review 54 (1986), 67-82, equation 2.2.
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
