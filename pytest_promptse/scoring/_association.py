"""Association of two figures over the same models or tasks: correlation and agreement.

They serve two of the paper's research questions: performance against stability (RQ1) and
PromptSELight against PromptSE (RQ3).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy import stats

from pytest_promptse.scoring._intervals import SIGNED, generator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import Interval

LEAST = 3
"""Smallest number of pairs with a coefficient. Two pairs always correlate perfectly."""
LEAST_FOR_INTERVAL = 5
"""Smallest number of pairs with an interval. With fewer, most resamples repeat one or two pairs."""
_RESAMPLES = 1999
# Values are rounded first, so that rounding errors do not break ties between ranks.
_DIGITS = 9
_DEALS = 9999

Coefficient: TypeAlias = Literal["Spearman", "Pearson", "Kendall"]


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """A coefficient of correlation between two figures of n pairs: ``value`` in [-1, 1].

    ``p_value`` is two-sided, for the null hypothesis of no correlation. ``ci95`` is the 95 %
    interval, or None if it was not requested or there are too few pairs.
    """

    coefficient: Coefficient
    n: int
    value: float
    p_value: float
    ci95: Interval | None


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The agreement of a figure with the one that it replaces, over n pairs.

    ``r2`` is 1 - (sum of squared differences) / (sum of squares about the mean). It is at most 1,
    below 0 if the mean would be closer, and None if all true figures are equal. ``smape``, in [0,
    2], is the symmetric mean absolute percentage error. ``drift`` is the mean and ``worst_drift``
    the largest absolute difference of ranks.
    """

    n: int
    mae: float
    rmse: float
    r2: float | None
    smape: float
    drift: float
    worst_drift: float


def correlations(
    x: ArrayLike, y: ArrayLike, *, seed: int = 0, intervals: bool = True
) -> list[Correlation]:
    """Return Spearman's, Pearson's and Kendall's coefficient of n pairs.

    Parameters
    ----------
    x, y
        The two figures, shape (n,) each.
    seed
        Seed of the permutations and resamples.
    intervals
        True to compute 95 % bootstrap intervals, for `LEAST_FOR_INTERVAL` pairs or more.

    Returns
    -------
    list of Correlation
        Empty if there are fewer than `LEAST` pairs, or if one of the figures does not vary.

    Notes
    -----
    p-values are two-sided. Those of Spearman's and Pearson's coefficient are by permutation, exact
    up to seven pairs; those of Kendall's are from scipy's ``kendalltau``. Intervals are percentiles
    of the bootstrap over pairs. Resamples in which one figure does not vary have no coefficient and
    are left out.
    """
    a: Floats = np.asarray(x, dtype=np.float64).round(_DIGITS)
    b: Floats = np.asarray(y, dtype=np.float64).round(_DIGITS)
    if a.size < LEAST or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return []
    coefficients: list[tuple[Coefficient, float, float]] = []
    inputs: dict[Coefficient, tuple[Floats, Floats]] = {
        "Spearman": (stats.rankdata(a), stats.rankdata(b)),
        "Pearson": (a, b),
    }
    for name, pair in inputs.items():
        method = stats.PermutationMethod(
            n_resamples=_DEALS, rng=generator(seed, "permutation", name)
        )
        result = stats.pearsonr(*pair, method=method)
        coefficients.append((name, float(result.statistic), float(result.pvalue)))
    tau = stats.kendalltau(a, b)
    coefficients.append(("Kendall", float(tau.statistic), float(tau.pvalue)))
    return [
        Correlation(
            coefficient=name,
            n=a.size,
            value=value,
            p_value=p,
            ci95=_interval(a, b, name, seed) if intervals else None,
        )
        for name, value, p in coefficients
    ]


def agreement(light: ArrayLike, full: ArrayLike) -> Agreement:
    """Measure how closely the figures `light` agree with the figures `full`, n >= 1 pairs.

    Parameters
    ----------
    light, full
        The two figures, shape (n,) each, with n >= 1: the approximation and the figure that it
        replaces.

    Raises
    ------
    ValueError
        If there is no pair, or the shapes differ.
    """
    a, b = np.asarray(light, dtype=np.float64), np.asarray(full, dtype=np.float64)
    if a.ndim != 1 or a.size == 0 or a.shape != b.shape:
        raise ValueError(f"{a.shape} figures against {b.shape}: give as many of both, at least one")
    gap = a - b
    spread = float(np.sum((b - b.mean()) ** 2))
    scale = np.abs(a) + np.abs(b)
    drift = np.abs(stats.rankdata(np.round(a, _DIGITS)) - stats.rankdata(np.round(b, _DIGITS)))
    return Agreement(
        n=a.size,
        mae=float(np.abs(gap).mean()),
        rmse=float(np.sqrt((gap**2).mean())),
        r2=1.0 - float(np.sum(gap**2)) / spread if spread > 0.0 else None,
        # Two zeros agree.
        smape=float(np.mean(2.0 * np.abs(gap) / np.where(scale > 0.0, scale, 1.0))),
        drift=float(drift.mean()),
        worst_drift=float(drift.max()),
    )


def _interval(a: Floats, b: Floats, name: Coefficient, seed: int) -> Interval | None:
    if a.size < LEAST_FOR_INTERVAL:
        return None
    picked = generator(seed, "bootstrap", name).integers(a.size, size=(_RESAMPLES, a.size))
    resampled, other = a[picked], b[picked]
    vary = (np.ptp(resampled, axis=1) > 0.0) & (np.ptp(other, axis=1) > 0.0)
    resampled, other = resampled[vary], other[vary]
    if name == "Kendall":
        draws = np.array(
            [stats.kendalltau(*pair).statistic for pair in zip(resampled, other, strict=True)]
        )
    else:
        if name == "Spearman":
            resampled, other = stats.rankdata(resampled, axis=1), stats.rankdata(other, axis=1)
        with warnings.catch_warnings():
            # The coefficient of a resample that hardly varies is dominated by rounding errors.
            warnings.simplefilter("ignore", stats.NearConstantInputWarning)
            draws = stats.pearsonr(resampled, other, axis=1).statistic
    low, high = np.quantile(draws, (0.025, 0.975))
    return (max(SIGNED[0], float(low)), min(SIGNED[1], float(high)))
