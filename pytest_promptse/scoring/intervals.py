"""95 % intervals: clustered on tasks, and for a single task from its samples.

The observations of a suite are its tasks: 90 variants of one task share that task's original and
its difficulty, and are not 90 observations. Every figure of a suite is a mean over tasks, each
of which brings all its samples along, so tasks alone are resampled. Resampling the samples within
them as well would count their noise twice, since it is already part of how tasks differ (Davison
and Hinkley, Bootstrap Methods and their Application, 1997, §3.8), and would push differences
away from 0: two resampled pass rates lie farther apart, on average, than those they came from.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, stdtrit
from scipy.stats import bootstrap

from pytest_promptse.scoring.elasticity import simpson_weights
from pytest_promptse.scoring.noise_floor import grouped_softexec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.scoring.samples import Bools, Floats
    from pytest_promptse.scoring.scores import Curve, Interval

UNIT = (0.0, 1.0)
SIGNED = (-1.0, 1.0)


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """Return a random generator that depends on `seed` and on what it is for, and nothing else.

    So a figure does not change with the order in which tasks are scored, nor with the machine.
    """
    text = "\x1f".join((str(seed), *purpose))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def task_values(curves: Sequence[Curve], distances: Sequence[float]) -> Floats | None:
    """Return one value per task whose mean is the area under the suite's mean curve.

    Where every task has every distance these are the tasks' own areas. Where some lack one, the
    area is a sum of means over different tasks, and the values are its linearisation: the
    suite's area plus each task's influence on it (Davison and Hinkley 1997, §2.7.2).

    Parameters
    ----------
    curves
        Per task its value at each distance, None where not measured.
    distances
        The D distances that the area is taken over.

    Returns
    -------
    ndarray of shape (n,), or None
        Over the n tasks that have any of the distances; None where no task has one of them.
    """
    rows = [[np.nan if (e := c[d]) is None else e for d in distances] for c in curves]
    table = np.array(rows, dtype=np.float64).reshape(len(curves), len(distances))
    known = ~np.isnan(table)
    table, known = table[known.any(axis=1)], known[known.any(axis=1)]
    if not known.any(axis=0).all():
        return None
    w = simpson_weights(distances)
    counts = known.sum(axis=0)
    means = np.where(known, table, 0.0).sum(axis=0) / counts
    influence = np.where(known, table - means, 0.0) * (len(table) / counts)
    return np.asarray(means @ w + influence @ w)


# Resampled values held in memory at once; how many changes nothing but the room they take.
_HELD = 200_000


def mean_interval(
    values: Floats,
    *,
    bounds: tuple[float, float] = UNIT,
    resamples: int = 9999,
    looks: int = 1,
    rng: np.random.Generator,
) -> Interval | None:
    """Return the 95 % interval of a mean over tasks.

    Parameters
    ----------
    values
        Shape (n,): one value per task.
    bounds
        What the mean can be at all; the interval is clipped to it.
    resamples
        Bootstrap resamples.
    looks
        How many such intervals of growing data are looked at; all of them together hold with
        95 % (see `sequential`).
    rng
        Source of the resamples.

    Returns
    -------
    tuple of float, or None
        Lower and upper limit; None for fewer than two tasks, of no width where all tasks agree.

    Notes
    -----
    The hull of two intervals: the BCa bootstrap (Efron, JASA 82, 1987) at the level that makes
    up for a bootstrap's narrowness with few observations (Hesterberg, The American Statistician
    69, 2015, §5.3), and Student's t. Elasticities of tasks are skewed, most near 1 and a few far
    below; there Student's lower limit and BCa's upper limit are each missed too often, and the
    other's holds. The coverage that was measured is in ``docs/explanation/gates.md``.
    """
    n = values.size
    if n < 2:  # noqa: PLR2004 - one value does not vary
        return None
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread < 1e-12:  # noqa: PLR2004 - rounding of equal values
        return (mean, mean)
    quantile = float(stdtrit(n - 1, 1.0 - 0.025 / looks))
    half = quantile * spread / math.sqrt(n)
    tail = float(ndtr(-math.sqrt(n / (n - 1)) * quantile))
    # No finer than that many resamples tell apart; with two or three tasks it would be.
    level = 1.0 - 2.0 * max(tail, 1.0 / resamples)
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
    return (max(bounds[0], low), min(bounds[1], high))


def shifted_interval(
    value: float, draws: Floats, *, bounds: tuple[float, float] = UNIT, looks: int = 1
) -> Interval:
    """Return the 95 % interval of an estimate from its bootstrap draws, moved onto it.

    `draws`, shape (R,), are estimates from resampled samples. Their mean lies off `value` by the
    bias that resampling puts on absolute differences, so only their spread is used. Taken are
    its 0.75 % and 99.25 % quantiles: with the few samples of a prompt, where the spread at the
    estimate stands in for the spread at the truth, the 2.5 % and 97.5 % quantiles were measured
    to cover as little as 90 % (calibration of the level, Davison and Hinkley 1997, §5.6).
    `looks` as in `mean_interval`.
    """
    tail = 0.0075 / looks
    low, high = np.quantile(draws - draws.mean(), (tail, 1.0 - tail))
    return (max(bounds[0], value + float(low)), min(bounds[1], value + float(high)))


def resampled_pass_rates(
    sizes: Sequence[int], passes: Sequence[int], resamples: int, rng: np.random.Generator
) -> Floats:
    """Return pass rates of G prompts whose samples are resampled within each, shape (R, G).

    Samples come from the rate (k + 1/2) / (m + 1), which keeps some doubt where all of few
    samples passed; a plain bootstrap would be certain (Jeffreys' prior; Brown, Cai and DasGupta,
    Statistical Science 16, 2001).
    """
    m = np.asarray(sizes)
    drawn = rng.binomial(m, (np.asarray(passes) + 0.5) / (m + 1), size=(resamples, m.size))
    return np.asarray(drawn / m, dtype=np.float64)


def resampled_softexec(
    z: Floats, passed: Bools, sizes: Sequence[int], resamples: int, rng: np.random.Generator
) -> Floats:
    """Return SoftExec of G prompts whose samples are resampled within each, shape (R, G).

    `z` and `passed`, shape (n,), hold the prompts one after another, `sizes` how many each has.
    One verdict in m + 1 is replaced by a coin's, which for equal weights is what
    `resampled_pass_rates` does.
    """
    m = np.asarray(sizes)
    each = np.repeat(m, m)
    starts = np.repeat(np.concatenate(([0], np.cumsum(m)[:-1])), m)
    step = max(1, 2_000_000 // z.size)
    parts = []
    for start in range(0, resamples, step):
        shape = (min(step, resamples - start), z.size)
        picked = starts + (rng.random(shape) * each).astype(np.int64)
        doubt = rng.random(shape) * (each + 1)
        verdict = np.where(doubt < 1.0, doubt < 0.5, passed[picked])  # noqa: PLR2004 - the coin
        parts.append(grouped_softexec(z[picked], verdict, m))
    return np.concatenate(parts)
