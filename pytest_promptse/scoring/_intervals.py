r"""95 % intervals: clustered on tasks, or for a single task from its samples.

The observations of a suite are its tasks. The 90 variants of one task share its original and its
difficulty, so they are not 90 independent observations. Every figure of a suite is a mean over
tasks, so only tasks are resampled, each with all its samples. Resampling the samples within tasks
as well would count their noise twice, since it is already part of how tasks differ (Davison and
Hinkley, Bootstrap Methods and their Application, 1997, §3.8). It would also bias absolute
differences upwards: two resampled pass rates differ more, on average, than the original ones.

A resample of the measured tasks contains no other tasks. Suppose that 20 tasks are all stable. Up
to 1 - 0.025^(1/20) = 17 % of the tasks in their population may still break completely.
`exact_interval` covers that: its limits hold for every population of tasks.
"""

from __future__ import annotations

import hashlib
import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import scipy

from pytest_promptse.scoring._elasticity import area_weights
from pytest_promptse.scoring._noise_floor import grouped_softexec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.scoring._elasticity import Weights
    from pytest_promptse.scoring._samples import Bools, Floats
    from pytest_promptse.scoring._scores import Curve, Interval

UNIT = (0.0, 1.0)
SIGNED = (-1.0, 1.0)
WORST = 0.1
"""The share of tasks over which the expected shortfall is the mean."""


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """Return a random generator that depends only on `seed` and `purpose`.

    So a figure depends neither on the order in which tasks are scored, nor on the machine.
    """
    text = "\x1f".join((str(seed), *purpose))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def task_values(
    curves: Sequence[Curve],
    distances: Sequence[float],
    *,
    weights: Weights = area_weights,
) -> Floats | None:
    """Return one value per task; their mean is the area under the suite's mean curve.

    If every task has every distance, these are the tasks' own areas. If some tasks lack a distance,
    the area is a sum of means over different tasks. The values are then its linearisation: the
    suite's area plus each task's influence on it (Davison and Hinkley 1997, §2.7.2).

    Parameters
    ----------
    curves
        For each task its value at each distance, None where not measured.
    distances
        The D distances of the area, ascending.
    weights
        The weights of the distances, which add up to 1.

    Returns
    -------
    ndarray of shape (n,), or None
        Over the n tasks that have any of the distances. None if no task has one.
    """
    rows = [[np.nan if (e := c[d]) is None else e for d in distances] for c in curves]
    table = np.array(rows, dtype=np.float64).reshape(len(curves), len(distances))
    measured = ~np.isnan(table)
    table, measured = table[measured.any(axis=1)], measured[measured.any(axis=1)]
    if not measured.any(axis=0).all():
        return None
    w = weights(distances)
    counts = measured.sum(axis=0)
    means = np.where(measured, table, 0.0).sum(axis=0) / counts
    influence = np.where(measured, table - means, 0.0) * (len(table) / counts)
    return np.asarray(means @ w + influence @ w)


# Number of resampled values in memory at once. It affects memory only, not results.
_HELD = 200_000
# Number of draws needed beyond a quantile to estimate it.
_IN_TAIL = 5
# Limit on the total number of weights for an exact interval, which bounds the time of large suites.
_CELLS = 20_000_000


def mean_interval(
    values: Floats,
    *,
    bounds: tuple[float, float] = UNIT,
    resamples: int = 9999,
    looks: int = 1,
    widen: bool = True,
    rng: np.random.Generator,
) -> Interval | None:
    """Return the 95 % interval of a mean over tasks.

    Parameters
    ----------
    values
        Shape (n,): one value per task.
    bounds
        The smallest and the largest possible mean; the interval is clipped to them.
    resamples
        Number of bootstrap resamples.
    looks
        Number of intervals that are computed as data are added. All of them together hold with 95 %
        (see `_sequential`).
    widen
        True to move the limits towards those of `exact_interval` by `_weight_of_exact` if these are
        wider. The more tasks have the same value, the less variation resampling shows.
    rng
        Random generator of the resamples.

    Returns
    -------
    tuple of float, or None
        Lower and upper limit; None for fewer than two tasks.

    Notes
    -----
    The result is the hull of two intervals. One is the BCa bootstrap (Efron, JASA 82, 1987), at a
    level that corrects its narrowness for few observations (Hesterberg, The American Statistician
    69, 2015, §5.3). The other is Student's t. Elasticities of tasks are skewed: most are near 1, a
    few far below. Student's lower limit and BCa's upper limit are then each missed too often, but
    the other interval's limit holds. ``docs/explanation/gates.md`` has the measured coverage.
    """
    n = values.size
    if n < 2:  # noqa: PLR2004 - one value does not vary
        return None
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    exact = None
    weight = _weight_of_exact(values) if widen else 0.0
    if weight:
        exact = exact_interval(
            np.clip(values, *bounds), bounds=bounds, resamples=resamples, looks=looks, rng=rng
        )
    if spread < 1e-12:  # noqa: PLR2004 - rounding of equal values
        return exact or (mean, mean)
    quantile = float(scipy.special.stdtrit(n - 1, 1.0 - 0.025 / looks))
    half = quantile * spread / math.sqrt(n)
    tail = float(scipy.special.ndtr(-math.sqrt(n / (n - 1)) * quantile))
    # A level finer than the resamples can resolve would be wrong; it occurs with two or three
    # tasks.
    level = 1.0 - 2.0 * max(tail, 1.0 / resamples)
    from scipy.stats import bootstrap  # noqa: PLC0415 - scipy.stats takes its time

    result = bootstrap(
        (values,),
        np.mean,
        confidence_level=level,
        n_resamples=resamples,
        method="BCa",
        vectorized=True,
        rng=rng,
        batch=max(1, _HELD // n),
    ).confidence_interval
    low = min(mean - half, float(result.low))
    high = max(mean + half, float(result.high))
    hull = (max(bounds[0], low), min(bounds[1], high))
    if exact is None:
        return hull
    return (
        hull[0] + weight * min(0.0, exact[0] - hull[0]),
        hull[1] + weight * max(0.0, exact[1] - hull[1]),
    )


def _weight_of_exact(values: Floats) -> float:
    """Return how far an interval is moved towards the exact one, in [0, 1].

    The weight follows from the share of tasks that have the same value as a task with the most
    frequent one. It rises in a straight line from 0 for a quarter of the other tasks to 1 for three
    quarters, so no interval jumps because one more task agrees.

    Parameters
    ----------
    values
        Shape (n,), n >= 2: one value per task.
    """
    _, counts = np.unique(np.round(values, 9), return_counts=True)
    share = (float(counts.max()) - 1.0) / (values.size - 1.0)
    return min(1.0, max(0.0, 2.0 * share - 0.5))


def exact_interval(
    values: Floats,
    *,
    bounds: tuple[float, float] = UNIT,
    resamples: int = 9999,
    looks: int = 1,
    rng: np.random.Generator,
) -> Interval | None:
    r"""Return 95 % limits of a mean over tasks that hold for every population of tasks.

    Parameters
    ----------
    values
        Shape (n,): one value per task, drawn independently.
    bounds
        The smallest and the largest possible value of a task.
    resamples
        Number of draws of the weights; very large suites use fewer. The limits hold for any number.
    looks
        As in `mean_interval`.
    rng
        Random generator of the weights.

    Returns
    -------
    tuple of float, or None
        Lower and upper limit. The mean is beyond each with a probability of at most 2.5 % /
        `looks`. None for fewer than two tasks.

    Raises
    ------
    ValueError
        If a value is outside `bounds`.

    Notes
    -----
    The lower limit is the 2.5 % quantile of :math:`\sum_i D_i x_i + D_{n+1} a`. Here a is the
    smallest possible value, and D is uniform on the simplex (Dirichlet of n + 1 ones). The share
    :math:`D_{n+1}` stands for unseen tasks, which all count as the worst possible. The upper limit
    is the mirror image.

    If all n values are 1, the lower limit is 0.025^(1/n). If each task is either 0 or 1, the limits
    are those of Clopper and Pearson. Source: Gaffke, Metrika 2005; Learned-Miller and Thomas,
    arXiv:1905.06208. The latter test the coverage for all bounded distributions; it is proved for
    two values and conjectured otherwise.
    """
    n = values.size
    if n < 2:  # noqa: PLR2004 - a single task is resampled in another way
        return None
    least, most = bounds
    if (values < least - 1e-9).any() or (values > most + 1e-9).any():
        raise ValueError(f"values in [{values.min():g}, {values.max():g}] leave {bounds}")
    if float(np.ptp(values)) < 1e-12:  # noqa: PLR2004 - rounding of equal values
        value, unseen = float(values[0]), unseen_share(n, looks=looks)
        return (value - (value - least) * unseen, value + (most - value) * unseen)
    draws = min(resamples, max(999, _CELLS // n))
    lows, highs = np.empty(draws), np.empty(draws)
    step = max(1, _HELD // n)
    for start in range(0, draws, step):
        part = slice(start, min(draws, start + step))
        weight = rng.standard_exponential((part.stop - part.start, n + 1))
        seen, total = weight[:, :n] @ values, weight.sum(axis=1)
        lows[part] = (seen + weight[:, n] * least) / total
        highs[part] = (seen + weight[:, n] * most) / total
    # These order statistics keep the level for any number of draws.
    rank = int(0.025 / looks * (draws + 1))
    if rank < 1:
        return bounds
    low = float(np.partition(lows, rank - 1)[rank - 1])
    high = float(np.partition(highs, draws - rank)[draws - rank])
    return (max(least, low), min(most, high))


def drop_bounds(values: Floats) -> Interval:
    """Return the smallest and the largest drop that unseen tasks may have.

    They gain at most as much as the task that gained most, and may lose everything. If they might
    gain everything, a suite of few tasks could never show a loss. Tasks that lose alike by chance,
    such as three of a model that loses half of every pass rate, do not show it either: Student's
    interval alone misses the mean of such a skewed figure too often.

    Parameters
    ----------
    values
        Shape (n,), n >= 1: the drops of the measured tasks.
    """
    return (min(0.0, float(values.min())), 1.0)


def unseen_share(n: int, *, looks: int = 1) -> float:
    """Return the largest share of deviating tasks that n tasks may all miss.

    This is the upper 97.5 % limit of Clopper and Pearson for a share that occurs in none of n
    draws: 1 - 0.025^(1/n), in (0, 1), for one look.

    Parameters
    ----------
    n
        Number of measured tasks, >= 1.
    looks
        As in `mean_interval`.
    """
    return 1.0 - float((0.025 / looks) ** (1.0 / n))


def joined(one: Interval | None, other: Interval | None) -> Interval | None:
    """Return the smallest interval that contains both. If one is None, return the other.

    The result is None if both are None.
    """
    if one is None or other is None:
        return other if one is None else one
    return (min(one[0], other[0]), max(one[1], other[1]))


def crossed(
    value: float, one: Interval, other: Interval, *, bounds: tuple[float, float]
) -> Interval:
    """Return the interval of an estimate that varies over two crossed factors.

    Parameters
    ----------
    value
        The estimate.
    one, other
        Its interval over each factor alone, such as tasks and emotions.
    bounds
        The smallest and the largest possible estimate.

    Notes
    -----
    The squared distances of the limits from the estimate are added, like variances of independent
    effects (MOVER: Zou and Donner, Statistics in Medicine 27, 2008). The interaction of the factors
    is counted twice, which makes the interval wider, not narrower. Cameron, Gelbach and Miller
    (Journal of Business and Economic Statistics 29, 2011) subtract it once.
    """
    low = value - math.hypot(value - one[0], value - other[0])
    high = value + math.hypot(one[1] - value, other[1] - value)
    return (max(bounds[0], low), min(bounds[1], high))


def largest_lower_limit(
    estimates: Sequence[tuple[float, float]], *, n: int | None, among: int | None = None
) -> float | None:
    """Return the largest lower limit of several estimates, all of which hold together with 97.5 %.

    The level is shared among the limits (Bonferroni): the distance of each from its estimate grows
    by the ratio of the quantiles of Student's t. The result is None without an estimate.

    Parameters
    ----------
    estimates
        Each estimate with its own lower limit, which holds with 97.5 %.
    n
        Number of tasks that the limits are from, >= 2. None for limits over reruns, which have the
        quantiles of a normal distribution.
    among
        Number of limits that share the level, if there are others than those of `estimates`.
    """
    if not estimates:
        return None
    shared, alone = 1.0 - 0.025 / (among or len(estimates)), 1.0 - 0.025
    if n is None:
        ratio = float(scipy.special.ndtri(shared) / scipy.special.ndtri(alone))
    else:
        ratio = float(scipy.special.stdtrit(n - 1, shared) / scipy.special.stdtrit(n - 1, alone))
    return max(value - ratio * (value - limit) for value, limit in estimates)


def shortfall(values: Floats, share: float = WORST) -> float:
    """Return the mean of the largest `share` of n >= 1 values, shape (n,).

    The task at the border of the share counts in part. With fewer than 1 / share tasks, the result
    is the largest value. Source: expected shortfall, Acerbi and Tasche, Journal of Banking and
    Finance 26, 2002.

    Parameters
    ----------
    values
        Shape (n,), n >= 1: one value per task.
    share
        The share of the largest values, in (0, 1].
    """
    return float(
        _weighted_shortfall(values, np.full((1, values.size), 1.0 / values.size), share)[0]
    )


def shortfall_interval(
    values: Floats,
    *,
    bounds: tuple[float, float],
    resamples: int = 9999,
    looks: int = 1,
    rng: np.random.Generator,
) -> Interval | None:
    """Return 95 % limits of `shortfall` over tasks that hold for every population of tasks.

    The method is that of `exact_interval`, with the expected shortfall of the weighted values
    instead of their mean. With fewer than 36 tasks the upper limit is the largest possible value,
    since they show too little of the worst tenth. None for fewer than two tasks.

    Parameters
    ----------
    values
        Shape (n,): one value per task.
    bounds
        The smallest and the largest possible value of a task.
    resamples
        Number of draws of the weights.
    looks
        As in `mean_interval`.
    rng
        Random generator of the weights.
    """
    n = values.size
    if n < 2:  # noqa: PLR2004 - one value does not vary
        return None
    draws = min(resamples, max(999, _CELLS // (4 * n)))
    step = max(1, _HELD // n)
    kept: tuple[list[float], list[float]] = ([], [])
    for start in range(0, draws, step):
        weight = rng.standard_exponential((min(step, draws - start), n + 1))
        weight /= weight.sum(axis=1, keepdims=True)
        for shortfalls, bound in zip(kept, bounds, strict=True):
            shortfalls.extend(_weighted_shortfall(np.append(values, bound), weight, WORST))
    rank = int(0.025 / looks * (draws + 1))
    if rank < 1:
        return bounds
    return (float(np.sort(kept[0])[rank - 1]), float(np.sort(kept[1])[draws - rank]))


def _weighted_shortfall(values: Floats, weight: Floats, share: float) -> Floats:
    """Return the mean of the largest `share` of weighted values, for weights of shape (R, n).

    `values` has shape (n,), each row of `weight` adds up to 1, and `share` is in (0, 1]. A weight
    at the limit of the share counts in part. The result has shape (R,).
    """
    order = np.argsort(-values)
    sorted_weight = weight[:, order]
    before = np.cumsum(sorted_weight, axis=1) - sorted_weight
    inside = np.clip(share - before, 0.0, sorted_weight)
    return np.asarray(inside @ values[order] / inside.sum(axis=1))


def share_interval(count: int, n: int, *, looks: int = 1, comparisons: int = 1) -> Interval:
    """Return the exact 95 % interval of Clopper and Pearson for the share `count` / `n`.

    Source: Biometrika 26, 1934.

    Parameters
    ----------
    count
        Number of draws with the property, in [0, n].
    n
        Number of draws, >= 1.
    looks
        As in `mean_interval`.
    comparisons
        Number of shares that are judged together. The level is divided by it (Bonferroni), so
        that all intervals hold together with 95 %.
    """
    tail = 0.025 / (looks * comparisons)
    if count in (0, n):  # The limit has a closed form, and a run of one item needs no SciPy.
        return (0.0, 1.0 - tail ** (1 / n)) if count == 0 else (tail ** (1 / n), 1.0)
    low = scipy.special.betaincinv(count, n - count + 1, tail)
    high = scipy.special.betaincinv(count + 1, n - count, 1.0 - tail)
    return (float(low), float(high))


def wilson_limits(share: float, n: float, *, tail: float) -> Interval:
    """Return the limits of Wilson for a share, each of which is missed with `tail`.

    Source: Journal of the American Statistical Association 22, 1927.

    Parameters
    ----------
    share
        The measured share, in [0, 1].
    n
        The number of draws, > 0. It need not be whole, for a weighted mean of several shares.
    tail
        The probability beyond each limit, in (0, 1/2).
    """
    # SciPy's quantile is as exact, but every run has this interval and few need SciPy otherwise.
    z = -NormalDist().inv_cdf(tail)
    centre = share + z**2 / (2 * n)
    half = z * math.sqrt(share * (1.0 - share) / n + (z / (2 * n)) ** 2)
    low, high = ((centre + side * half) / (1.0 + z**2 / n) for side in (-1.0, 1.0))
    return (low if share > 0.0 else 0.0, high if share < 1.0 else 1.0)


def shifted_interval(
    value: float, draws: Floats, *, bounds: tuple[float, float] = UNIT, looks: int = 1
) -> Interval:
    """Return the 95 % interval of an estimate from its bootstrap draws, centred on it.

    The mean of the draws differs from `value` by the bias of resampled absolute differences, so
    only their spread is used. The limits are the 0.75 % and 99.25 % quantiles of that spread. With
    few samples per prompt, the spread at the estimate differs from the spread at the true value.
    The 2.5 % and 97.5 % quantiles then cover as little as 90 % in simulations (calibration of the
    level, Davison and Hinkley 1997, §5.6).

    Parameters
    ----------
    value
        The estimate.
    draws
        Shape (R,): estimates from resampled samples.
    bounds
        The smallest and the largest possible estimate.
    looks
        As in `mean_interval`.
    """
    tail = 0.0075 / looks
    spread = draws - draws.mean()
    low, high = np.quantile(spread, (tail, 1.0 - tail))
    if tail * draws.size < _IN_TAIL:
        # There are hardly any draws so far out. A normal tail with their variance is used there.
        half = float(-scipy.special.ndtri(tail) * spread.std())
        low, high = min(low, -half), max(high, half)
    return (max(bounds[0], value + float(low)), min(bounds[1], value + float(high)))


def resampled_pass_rates(
    sizes: Sequence[int], passes: Sequence[int], resamples: int, rng: np.random.Generator
) -> Floats:
    """Return pass rates of G prompts whose samples are resampled within each, shape (R, G).

    Samples come from the rate (k + 1/2) / (m + 1), so uncertainty remains if all of few samples
    passed; a plain bootstrap would show none. Source: Jeffreys' prior; Brown, Cai and DasGupta,
    Statistical Science 16, 2001.

    Parameters
    ----------
    sizes, passes
        Number of samples of each of the G prompts, and number of those that passed.
    resamples
        Number of resamples R.
    rng
        Random generator of the resamples.
    """
    m = np.asarray(sizes)
    drawn = rng.binomial(m, (np.asarray(passes) + 0.5) / (m + 1), size=(resamples, m.size))
    return np.asarray(drawn / m, dtype=np.float64)


def resampled_softexec(
    z: Floats, passed: Bools, sizes: Sequence[int], resamples: int, rng: np.random.Generator
) -> Floats:
    """Return SoftExec of G prompts whose samples are resampled within each, shape (R, G).

    One verdict in m + 1 is replaced by a fair coin's. For equal weights this is the method of
    `resampled_pass_rates`.

    Parameters
    ----------
    z, passed
        Shape (n,): log-weights and verdicts of the samples, all prompts one after another.
    sizes
        Number of samples of each of the G prompts; they add up to n.
    resamples
        Number of resamples R.
    rng
        Random generator of the resamples.
    """
    m = np.asarray(sizes)
    size_of_prompt = np.repeat(m, m)
    starts = np.repeat(np.concatenate(([0], np.cumsum(m)[:-1])), m)
    step = max(1, 2_000_000 // z.size)
    parts = []
    for start in range(0, resamples, step):
        shape = (min(step, resamples - start), z.size)
        picked = starts + (rng.random(shape) * size_of_prompt).astype(np.int64)
        doubt = rng.random(shape) * (size_of_prompt + 1)
        verdict = np.where(doubt < 1.0, doubt < 0.5, passed[picked])  # noqa: PLR2004 - the coin
        parts.append(grouped_softexec(z[picked], verdict, m))
    return np.concatenate(parts)
