r"""The noise floor: the differences that sampling alone produces if variants have no effect.

Two prompts that a model solves equally well still get different pass rates. Suppose that the
samples of p and v come from the same distribution. Given the total number of passes, the number
among the :math:`m_p` samples of p is then hypergeometric, for any distribution. So the expected
difference and the p-value of the observed one are known exactly. This is Fisher's exact test with
:math:`|\hat q_p - \hat q_v|` as its statistic (Fisher, Statistical Methods for Research Workers,
5th ed. 1934, §21.02; Agresti, Categorical Data Analysis, 2002, §3.5).

These exact tables cover one pair of pass rates. Two kinds of figures need permutations instead:
SoftExec, whose weights depend on the other samples of a prompt, and figures over many prompts that
share one original. The samples are shuffled among the prompts (Good, Permutation, Parametric and
Bootstrap Tests of Hypotheses, 3rd ed. 2005, ch. 3).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.scoring._samples import Bools, Floats, Ints

# Differences that are equal in exact arithmetic count as equal despite rounding.
TIE = 1e-9
# Terms of a softmax below exp(-600) of its largest one do not change a result. And exp(-600) itself
# is still far from where doubles lose precision (exp(-708)).
_SPAN = 600.0
# Sums over tasks are taken on a grid: cells of a mean value, and of all of the largest values.
_CELLS_OF_MEAN, _CELLS_OF_ALL = 64, 2**17
# Sums of probabilities are exact to about this size.
_LEAST_P = 1e-12


def null_gap(m_p: int, m_v: int, passed: int) -> float:
    """Return the expected absolute difference of two pass rates if variants have no effect.

    Parameters
    ----------
    m_p, m_v
        Numbers of samples of the two prompts, each >= 1.
    passed
        Number of the ``m_p + m_v`` samples that passed.

    Returns
    -------
    float
        In [0, 1]; 0 if none or all passed. With ``m_p = m_v = 1`` and one pass it is 1, since a
        single sample shows nothing. Its mean over data without an effect of variants is the mean
        observed difference. Excess sensitivity therefore has no bias under the null.

    Raises
    ------
    ValueError
        If a prompt has no sample, or `passed` is out of range.
    """
    gaps, probabilities = _null(m_p, m_v, passed)
    return float(gaps @ probabilities)


@lru_cache(maxsize=65536)
def stable_gap(m_p: int, m_v: int, passed: int) -> float:
    """Return the expected absolute difference of two pass rates of a stable model.

    The true rate of both is that of an observed original, so the result is 0 for an original that
    always or never passes. `null_gap` uses the passes of the variant as well, which a model that is
    not stable lacks.

    Parameters
    ----------
    m_p, m_v
        Numbers of samples of the two prompts, each >= 1.
    passed
        Number of the original's `m_p` samples that passed.
    """
    rate = passed / m_p
    rates_p, rates_v = np.arange(m_p + 1) / m_p, np.arange(m_v + 1) / m_v
    gaps = np.abs(rates_p[:, None] - rates_v)
    return float(_binomial(m_p, rate) @ gaps @ _binomial(m_v, rate))


def _binomial(m: int, rate: float) -> Floats:
    k = np.arange(m + 1)
    special = scipy.special
    logs = special.xlogy(k, rate) + special.xlog1py(m - k, -rate) - special.betaln(k + 1, m - k + 1)
    probabilities = np.exp(logs - logs.max())
    return np.asarray(probabilities / probabilities.sum())


def stable_softexec_gaps(
    z: Floats, passed: Bools, sizes: Sequence[int], draws: int, rng: np.random.Generator
) -> dict[int, float]:
    """Return the expected absolute SoftExec differences of a stable model, by size of the variant.

    Both prompts draw from the samples of an observed original, as `stable_gap` does.

    Parameters
    ----------
    z, passed
        Shape (m_p,): log-weights and verdicts of the original.
    sizes
        Numbers of samples of its variants.
    draws
        Number of random draws behind each difference.
    rng
        The source of the draws.
    """
    gaps = {}
    for m_v in sorted(set(sizes)):
        chosen = rng.integers(z.size, size=(draws, z.size + m_v))
        scores = grouped_softexec(z[chosen], passed[chosen], np.array([z.size, m_v]))
        gaps[m_v] = float(np.abs(scores[:, 0] - scores[:, 1]).mean())
    return gaps


def gap_p_value(m_p: int, passed_p: int, m_v: int, passed_v: int) -> float:
    """Return the probability of a difference at least as large if variants have no effect.

    The p-value is two-sided and exact, in (0, 1]. It is 1 if none or all passed, and that of
    Fisher's exact test if ``m_p = m_v``.

    Parameters
    ----------
    m_p, passed_p
        Samples of the original, >= 1, and number of those that passed.
    m_v, passed_v
        Samples of the variant, >= 1, and number of those that passed.

    Raises
    ------
    ValueError
        If a prompt has no sample, or a count is out of range.
    """
    if not (0 <= passed_p <= m_p and 0 <= passed_v <= m_v):
        raise ValueError("the number of passing samples must lie between 0 and m")
    gaps, probabilities = _null(m_p, m_v, passed_p + passed_v)
    observed = abs(passed_p / m_p - passed_v / m_v)
    return float(min(1.0, probabilities[gaps >= observed - TIE].sum()))


@lru_cache(maxsize=65536)
def _null(m_p: int, m_v: int, passed: int) -> tuple[Floats, Floats]:
    if m_p < 1 or m_v < 1:
        raise ValueError(f"m_p is {m_p} and m_v is {m_v}: both prompts need a sample")
    if not 0 <= passed <= m_p + m_v:
        raise ValueError(f"{passed} of {m_p + m_v} samples cannot have passed")
    first = np.arange(max(0, passed - m_v), min(m_p, passed) + 1)
    gaps = np.abs(first / m_p - (passed - first) / m_v)
    # The hypergeometric distribution, up to a factor.
    betaln = scipy.special.betaln
    logs = -betaln(first + 1, m_p - first + 1) - betaln(
        passed - first + 1, m_v - passed + first + 1
    )
    probabilities = np.exp(logs - logs.max())
    return gaps, probabilities / probabilities.sum()


def p_value(statistic: Floats) -> float:
    """Return the permutation p-value of a statistic whose large values contradict the null.

    The p-value is the share of all values that are at least as large as the observed one. It is in
    (0, 1] and valid for any R (Phipson and Smyth, Statistical Applications in Genetics and
    Molecular Biology 9, 2010).

    Parameters
    ----------
    statistic
        Shape (1 + R,): the observed statistic, then its values under R permutations. A value that
        is lower by rounding alone counts as equal.
    """
    return float(np.mean(statistic >= statistic[0] - TIE))


def summed_p_value(statistics: Floats) -> float:
    r"""Return the permutation p-value of the sum of one statistic per task.

    Tasks are shuffled independently of each other. So under the null hypothesis, all
    :math:`(1 + R)^n` sums of one value per task are equally likely, and the p-value is the share of
    them that is at least as large as the sum of the measured values. It is exact, and it can be as
    small as :math:`(1 + R)^{-n}`, at least 1e-12. The shares follow from the product of the Fourier
    transforms of the tasks' distributions.

    Parameters
    ----------
    statistics
        Shape (n, 1 + R): for each task the measured statistic, then R shuffles. Values are rounded
        to a grid that does not depend on which of them is the measured one, so the p-value is
        exact for the rounded values.
    """
    if len(statistics) == 1:
        return p_value(statistics[0])
    above = statistics - statistics.min(axis=1, keepdims=True)
    above = above[above.max(axis=1) > TIE]
    if not above.size:
        return 1.0
    cell = max(above.mean() / _CELLS_OF_MEAN, above.max(axis=1).sum() / _CELLS_OF_ALL)
    places = np.rint(above / cell).astype(np.int64)
    # A power of two, which no sum of the largest places reaches.
    size = 1 << int(places.max(axis=1).sum() + 1).bit_length()
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for of_task in places:
        product *= np.fft.rfft(np.bincount(of_task, minlength=size) / of_task.size)
    shares = np.fft.irfft(product, size)
    return float(np.clip(shares[places[:, 0].sum() :].sum(), _LEAST_P, 1.0))


def pass_rate_draws(
    sizes: Sequence[int], passed: int, draws: int, rng: np.random.Generator
) -> Floats:
    """Return pass rates of G prompts after assigning `passed` passes to samples at random.

    The result has shape (draws, G). All rates are equal if none or all passed.

    Parameters
    ----------
    sizes
        Number of samples of each of the G prompts.
    passed
        Number of all these samples that passed.
    draws
        Number of random assignments.
    rng
        Random generator of the assignments.
    """
    counts = rng.multivariate_hypergeometric(list(sizes), passed, size=draws)
    return np.asarray(counts / np.asarray(sizes), dtype=np.float64)


def light_null_gap(
    sizes: Sequence[int], passed: int, *, draws: int, rng: np.random.Generator
) -> float:
    """Return the expected PromptSELight loss 1 - E if variants have no effect, in [0, 1].

    The result is exact if the variants have equal numbers of samples, since the mean of their rates
    is then one pass rate. Otherwise it is the mean over random assignments of passes to samples.

    Parameters
    ----------
    sizes
        Number of samples of the original and of each of its K variants.
    passed
        Number of all these samples that passed.
    draws
        Number of random assignments.
    rng
        Random generator of the assignments.
    """
    if len(set(sizes[1:])) == 1:
        return null_gap(sizes[0], sum(sizes[1:]), passed)
    rates = pass_rate_draws(sizes, passed, draws, rng)
    return float(np.abs(rates[:, 0] - rates[:, 1:].mean(axis=1)).mean())


def grouped_softexec(z: Floats, passed: Bools, sizes: Ints) -> Floats:
    """Return SoftExec of G neighbouring groups of the last axis.

    The result has shape (R, G).

    Parameters
    ----------
    z, passed
        Shape (R, n): log-weights and verdicts of the samples.
    sizes
        Shape (G,): number of samples of each group; they add up to n.
    """
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    top = np.maximum.reduceat(z, starts, axis=1)
    impossible = np.isneginf(top)
    shifted = z - np.repeat(np.where(impossible, 0.0, top), sizes, axis=1)
    if impossible.any():
        shifted[np.repeat(impossible, sizes, axis=1)] = 0.0
    terms = np.exp(shifted)
    total = np.add.reduceat(terms, starts, axis=1)
    good = np.add.reduceat(terms * passed, starts, axis=1)
    return np.asarray(np.minimum(good / total, 1.0))


def pair_gaps(z: Floats, passed: Bools, m_p: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return absolute SoftExec differences of K pairs of prompts after shuffling each pair.

    Parameters
    ----------
    z, passed
        Shape (K, m_p + m_v): each row has the samples of the original, then those of one variant.
    m_p
        Number of samples of the original. Every variant has m_v samples.
    draws
        Number of shuffles R; the K pairs share them.
    rng
        The source of the shuffles.

    Returns
    -------
    ndarray of shape (R, K)
    """
    template = np.arange(z.shape[1]) < m_p
    to_original = rng.permuted(np.tile(template, (draws, 1)), axis=1)
    ours = _masked_softexec(z, passed, to_original)
    theirs = _masked_softexec(z, passed, ~to_original)
    return np.asarray(np.abs(ours - theirs))


def _masked_softexec(z: Floats, passed: Bools, chosen: Bools) -> Floats:
    """Return SoftExec of R subsets of the samples of K rows, shape (R, K).

    Two matrix products replace one softmax per subset and take a fraction of its time. If the
    largest term of a subset vanishes beside the row's largest, a further round scales to that
    subset. Subsets that contain only ``-inf`` are weighted equally.

    `z`, shape (K, n), has logarithms of weights, and `passed`, shape (K, n), whether the sample
    passed. `chosen`, shape (R, n), has the samples of each subset.
    """
    member = chosen.astype(np.float64)
    result = member @ passed.T.astype(np.float64) / member.sum(axis=1, keepdims=True)
    open_ = np.ones(result.shape, dtype=bool)
    scale = z.max(axis=1, keepdims=True)
    while open_.any() and not np.isneginf(scale).all():
        usable = (z <= scale) & ~np.isneginf(scale)
        terms = np.exp(np.where(usable, z - np.where(np.isneginf(scale), 0.0, scale), -np.inf))
        total = member @ terms.T
        good = member @ (terms * passed).T
        solved = open_ & (total >= np.exp(-_SPAN))
        result[solved] = np.minimum(good[solved] / total[solved], 1.0)
        open_ &= ~solved
        scale = np.where(z < scale - _SPAN, z, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(result)
