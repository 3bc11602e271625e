r"""Figures of robustness that a mean of absolute differences does not show.

*Squared sensitivity* has no bias from sampling, so it can be compared between runs with
different numbers of samples. With pass rates p of the original and v of a variant,

.. math:: (p - v)^2 - \frac{p (1 - p)}{m_p - 1} - \frac{v (1 - v)}{m_v - 1}

is an unbiased estimate of the squared difference of the true rates, since each subtracted term
is the unbiased estimate of that rate's sampling variance.

*Drop* is the mean of :math:`p - v` over the variants, the pass rate of the original minus that of
the variant. It has no bias from sampling either, whatever the number of samples. It is positive if
variants are solved less often. Gains of some variants balance drops of others, so its size is at
most the mean absolute difference of the true rates.

The *one-sided drop* of a task is the amount by which variants score below the original,
:math:`\max(0, S(p) - S(v))`, minus the amount that sampling alone produces. The latter is half of
the noise floor, since the difference has mean 0 under the null. A variant that scores better than
the original counts as 0.

*Robust pass* is the worst case over s variants, from ReCode (see below). *Flips* is the share of
tasks whose majority verdict changes: the original passes in at least half of its samples and the
variants of some distance do not, or the reverse. The *shortfall* is the mean one-sided drop
of the worst tenth of the tasks.

ReCode (Wang et al., 2022, arXiv:2212.10264, §3.3) takes the worst case over s perturbed prompts,
sample by sample. Samples of different prompts are not paired, so the worst case is taken in
expectation here. The probability that all s variants of a subset are solved is :math:`\prod_v q_v`,
and the product of the pass rates is an unbiased estimate of it. It is averaged over all subsets of
s variants, by elementary symmetric polynomials.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.config._task_outcomes import PromptGroup, TaskOutcomes
from pytest_promptse.errors import NotScoredError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from pytest_promptse.config._metrics import Figure, Metric
    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import PromptScore, TaskScore, VariantScore

WORST_OF = 5
"""Number of variants in a worst case, for tasks that have at least as many."""

_MAJORITY = 0.5
# Sums that are 1/2 in exact arithmetic count as 1/2 despite rounding.
_TIE = 1e-9
# Below this pass rate of the originals, a relative drop is mostly noise.
_LEAST_NOMINAL = 0.05


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """Worst-case figures over s variants, means over ``n_tasks`` tasks.

    ``rp`` (robust pass, in [0, 1]) is the probability that all s variants are solved. ``rd``
    (robust drop, at most 1) is ``(nominal - rp) / nominal``, or None if the nominal pass rate is
    below 0.05. ``rr`` (robust relative, in [0, 2]) adds two probabilities: that the original is
    solved and some variant is not, and the reverse.
    """

    s: int
    n_tasks: int
    nominal: float
    rp: float
    rd: float | None
    rr: float


def robustness(
    original: ArrayLike, variants: Sequence[ArrayLike], *, s: int = 5
) -> Robustness | None:
    """Return RP, RD and RR at s.

    Parameters
    ----------
    original
        Shape (n,): pass rate of each task's original.
    variants
        For each of the n tasks the pass rates of its variants, shape (K,).
    s
        Number of variants in each subset, >= 1. With s = 1, RP is the variants' mean pass rate.

    Returns
    -------
    Robustness or None
        Over the tasks that have at least s variants, or None if there is none. If all passed, RP is
        1 and RD and RR are 0. If none passed, RP and RR are 0 and RD is None.

    Raises
    ------
    ValueError
        If s < 1, the lengths differ, or a rate is outside [0, 1].
    """
    if s < 1:
        raise ValueError(f"s is {s}: the worst case is over at least one variant")
    rates = [np.asarray(v, dtype=np.float64) for v in variants]
    q = np.asarray(original, dtype=np.float64)
    if q.shape != (len(rates),):
        raise ValueError(f"original has shape {q.shape} for {len(rates)} tasks")
    if not all(((x >= 0) & (x <= 1)).all() for x in (q, *rates)):
        raise ValueError("pass rates lie in [0, 1] and are never NaN")
    kept = [(p, v) for p, v in zip(q, rates, strict=True) if v.size >= s]
    if not kept:
        return None
    nominal = float(np.mean([p for p, _ in kept]))
    all_solved = np.array([worst_case(v, s) for _, v in kept])
    none_solved = np.array([worst_case(1.0 - v, s) for _, v in kept])
    p = np.array([p for p, _ in kept])
    rp = float(all_solved.mean())
    return Robustness(
        s=s,
        n_tasks=len(kept),
        nominal=nominal,
        rp=rp,
        rd=(nominal - rp) / nominal if nominal >= _LEAST_NOMINAL else None,
        rr=float((p * (1.0 - all_solved) + (1.0 - p) * (1.0 - none_solved)).mean()),
    )


def task_robustness(tasks: Sequence[TaskScore], *, s: int = 5) -> Robustness | None:
    """Return `robustness` over the variants of all distances of scored tasks.

    `s` >= 1 is the number of variants in each subset. Tasks without an original are left out.
    """
    scored = [
        (task.original.pass_rate, [v.pass_rate for group in task.variants.values() for v in group])
        for task in tasks
        if task.original is not None
    ]
    return robustness([p for p, _ in scored], [v for _, v in scored], s=s)


def squared_sensitivity(
    original: ArrayLike, variants: ArrayLike, *, m_p: ArrayLike, m_v: ArrayLike
) -> Floats:
    """Return the unbiased squared difference of true pass rates, averaged over variants.

    Parameters
    ----------
    original
        Shape (...): pass rate of the original, in [0, 1].
    variants
        Shape (..., K), K >= 1: pass rates of its variants, in [0, 1].
    m_p, m_v
        Samples of the original, shape (...), and of the variants, shape (..., K), each >= 2.

    Returns
    -------
    ndarray of shape (...)
        At most 1. Single values may be below 0, since the subtracted noise is an estimate. The
        expectation is 0 if variants have no effect, for any number of samples.

    Raises
    ------
    ValueError
        If a prompt has fewer than two samples, so that its noise cannot be estimated.
    """
    p, v = np.asarray(original, dtype=np.float64)[..., None], np.asarray(variants, dtype=np.float64)
    n_p, n_v = np.asarray(m_p)[..., None], np.asarray(m_v)
    if (n_p < 2).any() or (n_v < 2).any():  # noqa: PLR2004 - a variance
        raise ValueError("squared sensitivity needs at least 2 samples of every prompt")
    noise = p * (1.0 - p) / (n_p - 1) + v * (1.0 - v) / (n_v - 1)
    return np.asarray(((p - v) ** 2 - noise).mean(axis=-1))


def drop(original: ArrayLike, variants: ArrayLike) -> Floats:
    """Return the pass rate of the original minus the mean of its variants, in [-1, 1].

    Parameters
    ----------
    original
        Shape (...): pass rate of the original, in [0, 1].
    variants
        Shape (..., K), K >= 1: pass rates of its variants, in [0, 1].
    """
    p, v = np.asarray(original, dtype=np.float64), np.asarray(variants, dtype=np.float64)
    return np.asarray(p - v.mean(axis=-1))


def one_sided_drop(original: ArrayLike, variants: ArrayLike) -> Floats:
    """Return the mean amount by which the variants score below the original; gains count as 0.

    The result is in [0, 1].

    Parameters
    ----------
    original
        Shape (...): score of the original, in [0, 1].
    variants
        Shape (..., K), K >= 1: scores of its variants, in [0, 1].
    """
    p, v = np.asarray(original, dtype=np.float64), np.asarray(variants, dtype=np.float64)
    return np.asarray(np.maximum(0.0, p[..., None] - v).mean(axis=-1))


def majority_flips(original: ArrayLike, variants: ArrayLike) -> Floats:
    """Return 1 if the variants' mean pass rate is on the other side of 1/2, else 0.

    A rate of exactly 1/2 counts as solved.

    Parameters
    ----------
    original
        Shape (...): pass rate of the original, in [0, 1].
    variants
        Shape (..., K), K >= 1: pass rates of its variants, in [0, 1].
    """
    p, v = np.asarray(original, dtype=np.float64), np.asarray(variants, dtype=np.float64)
    solved, still = p >= _MAJORITY - _TIE, v.mean(axis=-1) >= _MAJORITY - _TIE
    return np.asarray(solved != still, dtype=np.float64)


def outcomes_of(task: TaskScore, *, worst_of: int) -> TaskOutcomes | None:
    """Return the outcomes of a scored task, or None if its original was not measured.

    `worst_of` is the number of variants in a worst case.
    """
    if task.original is None:
        return None
    return TaskOutcomes(
        original=_group([task.original]),
        variants=_group([variant for group in task.variants.values() for variant in group]),
        by_distance={d: _group(group) for d, group in task.variants.items() if group},
        worst_of=worst_of,
    )


def _group(prompts: Sequence[PromptScore]) -> PromptGroup:
    return PromptGroup(
        rates=np.array([prompt.pass_rate for prompt in prompts]),
        n=np.array([prompt.n for prompt in prompts]),
        scores=np.array([prompt.score for prompt in prompts]),
    )


def _drop(original: PromptGroup, variants: PromptGroup) -> Floats:
    return drop(original.rates[..., 0], variants.rates)


def _squared(original: PromptGroup, variants: PromptGroup) -> Floats:
    if min(original.n.min(), variants.n.min()) < 2:  # noqa: PLR2004 - a variance
        return np.asarray(math.nan)
    return squared_sensitivity(
        original.rates[..., 0], variants.rates, m_p=original.n[0], m_v=variants.n
    )


def _one_sided_drop(original: PromptGroup, variants: PromptGroup) -> Floats:
    return one_sided_drop(original.scores[..., 0], variants.scores)


def _robust_pass(task: TaskOutcomes) -> Floats:
    if task.variants.n.size < task.worst_of:
        return np.asarray(math.nan)
    return worst_case(task.variants.rates, task.worst_of)


def _flips(task: TaskOutcomes) -> Floats:
    p = task.original.rates[..., 0]
    flips = [majority_flips(p, group.rates) for group in task.by_distance.values()]
    return np.asarray(np.max(flips, axis=0))


BY_DISTANCE: Mapping[str, Callable[[PromptGroup, PromptGroup], Floats]] = {
    "drop": _drop,
    "squared_sensitivity": _squared,
    "shortfall": _one_sided_drop,
}
"""Figures of the original and the variants of one distance, by the metric's name. The figure of a
task is a weighted mean over distances. NaN means that it cannot be computed."""
_OF_TASK: Mapping[str, Figure] = {"robust_pass": _robust_pass, "flips": _flips}


def figure_of(metric: Metric) -> Figure | None:
    """Return the function that computes the figure of a task from its outcomes.

    None means that the metric has no such function: it is made of curves over distances, or of
    a model of the whole suite.
    """
    return metric.figure or _OF_TASK.get(metric.name)


def figure_value(metric: Metric, task: TaskOutcomes) -> Floats | None:
    """Return the figure of a task, or None if the task has none.

    The result has the axes that the outcomes have in front of the prompts.

    Raises
    ------
    NotScoredError
        If the figure is outside the bounds of the metric. The plugin that adds it is wrong.
    """
    figure = figure_of(metric)
    if figure is None or (metric.needs_variants and not task.variants.n.size):
        return None
    value = np.asarray(figure(task), dtype=np.float64)
    if np.isnan(value).any():
        return None
    low, high = metric.bounds
    if (value < low - _TIE).any() or (value > high + _TIE).any():
        raise NotScoredError(
            f"the metric {metric.name} is {value.min():g} to {value.max():g} in a task, and its "
            f"bounds are {low:g} and {high:g}; correct the plugin that adds it"
        )
    return value


def null_gap_of(variant: VariantScore) -> float:
    """Return the expected absolute difference that sampling alone produces for a variant.

    Raises
    ------
    ValueError
        If the original was not measured.
    """
    if variant.delta is None or variant.excess is None:
        raise ValueError("a variant without its original has no noise floor")
    return abs(variant.delta) - variant.excess


def subset_size(tasks: Sequence[TaskScore]) -> int:
    """Return the number of variants in a worst case: 5, or the number that every task has."""
    counts = [sum(map(len, task.variants.values())) for task in tasks if task.original is not None]
    return max(1, min([WORST_OF, *(count for count in counts if count)]))


def worst_case(rates: ArrayLike, s: int) -> Floats:
    """Return the probability that all of s variants are solved, averaged over subsets of s.

    The result has shape (...). It is the mean, over all subsets of s variants, of the product of
    their pass rates, by elementary symmetric polynomials. It is unbiased, since samples of
    different variants are independent.

    Parameters
    ----------
    rates
        Shape (..., K), K >= s: pass rates of the variants, in [0, 1].
    s
        Number of variants in a subset, >= 1.

    Raises
    ------
    ValueError
        If there are fewer than s variants.
    """
    values = np.asarray(rates, dtype=np.float64)
    k = values.shape[-1]
    if k < s:
        raise ValueError(f"a worst case over {s} variants needs as many, there are {k}")
    polynomial = np.zeros((*values.shape[:-1], s + 1))
    polynomial[..., 0] = 1.0
    for at in range(k):
        polynomial[..., 1:] += values[..., at : at + 1] * polynomial[..., :-1]
    return np.asarray(np.minimum(1.0, polynomial[..., s] / comb(k, s)))
