"""Tests for differences between groups of observations, overall and by pairs.

The tests are those of the paper for RQ2 and RQ4: Kruskal-Wallis, Mann-Whitney and
Kolmogorov-Smirnov. All treat observations as independent. For dependent observations, such as the
distances of one task, use `repeated`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from pytest_promptse.scoring._multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.scoring._samples import Floats

_PAIR = 2
# Values are rounded first, so that rounding errors do not break ties between ranks.
_DIGITS = 9


@dataclass(frozen=True, kw_only=True)
class Overall:
    """The test of whether any of k groups of n observations together differs.

    ``effect`` is epsilon squared, H / (n - 1), for Kruskal-Wallis and Kendall's W for Friedman.
    Both are in [0, 1].

    ``statistic`` is H or chi squared, with ``df`` degrees of freedom.
    """

    test: str
    groups: int
    n: int
    statistic: float
    df: int
    p_value: float
    effect: float


@dataclass(frozen=True, kw_only=True)
class Pairwise:
    """The test of one pair of groups.

    ``n`` has the number of observations in each group. ``effect`` of Mann-Whitney is Cliff's delta
    in [-1, 1], which is positive if the values of ``one`` tend to be larger. ``effect`` of
    Kolmogorov-Smirnov is its statistic in [0, 1], the largest distance between the two distribution
    functions. ``p_adjusted`` is adjusted by the method of Benjamini and Hochberg over all pairs
    that were tested together.
    """

    test: str
    one: str
    other: str
    n: tuple[int, int]
    statistic: float
    p_value: float
    p_adjusted: float
    effect: float


def kruskal(groups: Mapping[str, Floats]) -> Overall | None:
    """Test whether any group differs (Kruskal-Wallis).

    The result is None for fewer than two groups, or if no value differs.
    """
    filled = [np.round(values, _DIGITS) for values in groups.values() if values.size]
    if len(filled) < _PAIR or np.ptp(np.concatenate(filled)) == 0.0:
        return None
    result = stats.kruskal(*filled)
    n = sum(values.size for values in filled)
    return Overall(
        test="Kruskal-Wallis",
        groups=len(filled),
        n=n,
        statistic=float(result.statistic),
        df=len(filled) - 1,
        p_value=float(result.pvalue),
        effect=float(result.statistic) / (n - 1),
    )


def repeated(blocks: Floats) -> Overall | None:
    """Test whether k conditions differ, each measured in every block (Friedman).

    Parameters
    ----------
    blocks
        Shape (n, k): one row for each block, such as a task.

    Returns
    -------
    Overall or None
        None for fewer than three conditions or two blocks, or if no row varies.
    """
    n, k = blocks.shape
    blocks = np.round(blocks, _DIGITS)
    if k < _PAIR + 1 or n < _PAIR or not np.ptp(blocks, axis=1).any():
        return None
    result = stats.friedmanchisquare(*blocks.T)
    statistic = float(result.statistic)
    return Overall(
        test="Friedman",
        groups=k,
        n=n,
        statistic=statistic,
        df=k - 1,
        p_value=float(result.pvalue),
        effect=statistic / (n * (k - 1)),
    )


def mann_whitney(groups: Mapping[str, Floats]) -> list[Pairwise]:
    """Test all pairs of groups, two-sided. Cliff's delta is 2 U / (n m) - 1."""
    tests = []
    for first, other in combinations([name for name in groups if groups[name].size], 2):
        a, b = np.round(groups[first], _DIGITS), np.round(groups[other], _DIGITS)
        result = stats.mannwhitneyu(a, b, alternative="two-sided")
        u = float(result.statistic)
        tests.append((first, other, u, float(result.pvalue), 2.0 * u / (a.size * b.size) - 1.0))
    return _adjusted("Mann-Whitney U", groups, tests)


def kolmogorov_smirnov(groups: Mapping[str, Floats]) -> list[Pairwise]:
    """Test all pairs of groups for a difference between their distributions."""
    tests = []
    for first, other in combinations([name for name in groups if groups[name].size], 2):
        a, b = np.round(groups[first], _DIGITS), np.round(groups[other], _DIGITS)
        with warnings.catch_warnings():
            # The exact sum may overflow a float. scipy then uses the asymptotic p-value.
            warnings.simplefilter("ignore", RuntimeWarning)
            result = stats.ks_2samp(a, b, method="auto")
        size = float(result.statistic)
        tests.append((first, other, size, float(result.pvalue), size))
    return _adjusted("Kolmogorov-Smirnov", groups, tests)


def _adjusted(
    test: str,
    groups: Mapping[str, Floats],
    tests: Sequence[tuple[str, str, float, float, float]],
) -> list[Pairwise]:
    together = benjamini_hochberg([p for *_, p, _ in tests])
    return [
        Pairwise(
            test=test,
            one=first,
            other=other,
            n=(groups[first].size, groups[other].size),
            statistic=statistic,
            p_value=p,
            p_adjusted=q,
            effect=effect,
        )
        for (first, other, statistic, p, effect), q in zip(tests, together, strict=True)
    ]
