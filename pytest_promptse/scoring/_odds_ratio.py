r"""The odds ratio of variants against originals, by a logistic mixed model.

Sample i of prompt j of task t passes with a probability whose logit is

.. math:: \alpha + u_t + [j \text{ is a variant}] (\beta + s_t + e_{k(t,j)} + w_{tj})

The effects are normal with mean 0. They are the task's difficulty u, its sensitivity to variants
s, the variant w, and the emotion e, which is crossed with tasks. The odds ratio is
:math:`\exp \beta`. Without s, the interval would treat all tasks as equally sensitive and be too
narrow (Barr, Levy, Scheepers and Tily, Journal of Memory and Language 68, 2013). The emotion is
only part of the model for intervals that also cover other emotions.

u and s are correlated, since variants often harm hard tasks most. Without the correlation, the
model takes a loss in tasks that fail anyway for a loss in all. The other effects are independent.

The variances maximise Laplace's approximation of the likelihood with alpha and beta integrated out
(Breslow and Clayton, JASA 88, 1993). Integrating out the fixed effects corresponds to REML in
linear models. Prompts enter as counts of passes. So each Newton step can eliminate the effects of
one variant, then those of its task. A fit of 164 tasks with 90 variants each takes seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from pytest_promptse.scoring._scores import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.scoring._samples import Floats, Ints
    from pytest_promptse.scoring._scores import TaskScore

# Normal priors of alpha and beta with standard deviations of 10 and 2.5 logits. They matter only if
# all or none of the originals or of the variants pass. The likelihood then has no maximum.
_PRECISION = np.array([0.01, 0.16])
# Standard deviations of random effects, in logits: start and upper limit of the search.
_START, _LARGEST = 0.5, 5.0
# Precision of the search.
_EXACT = 0.01
# More tasks change the variances little and cost time.
_ENOUGH_TASKS = 500
_STEPS = 100
_CONVERGED = 1e-8


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Passes and samples of n tasks, shape (n, 1 + J), with the original in column 0.

    Tasks with fewer than J variants have columns with 0 samples. ``emotions``, shape (n, J), has
    the index of each variant's emotion among ``n_emotions``. ``n_emotions`` is 0 for a model
    without an effect of the emotion.
    """

    passes: Floats
    samples: Floats
    emotions: Ints
    n_emotions: int


@dataclass(frozen=True, kw_only=True)
class MixedModel:
    """A fitted model.

    ``log_odds_ratio`` is beta and ``error`` its standard error. The other fields are the standard
    deviations of the random effects, in logits.

    ``emotion`` is 0 for a model without an effect of the emotion.
    """

    log_odds_ratio: float
    error: float
    task: float
    sensitivity: float
    variant: float
    emotion: float


@dataclass
class _Effects:
    """The effects of the model: the position of Newton's method, or one of its steps.

    ``fixed`` has alpha and beta, in logits, then e for each emotion. ``task``, shape (n, 2), has u
    and s, and ``variant``, shape (n, J), has w. All but alpha and beta are in units of their
    standard deviations.
    """

    fixed: Floats
    task: Floats
    variant: Floats


def odds_ratio(
    scores: Sequence[TaskScore],
    *,
    emotions: Mapping[str, Mapping[float, Sequence[str]]] | None,
    interval: bool,
    looks: int,
) -> Estimate:
    """Return the odds ratio of variants against originals with its interval.

    Parameters
    ----------
    scores
        The tasks. Tasks without an original or without variants are left out.
    emotions
        The emotion of each variant by task id and distance, for an interval that also covers other
        emotions. None for an interval over tasks alone.
    interval
        True to compute the intervals.
    looks
        As in `_intervals.mean_interval`.

    Returns
    -------
    Estimate
        See `estimate`.
    """
    prompts = []
    names: list[list[str]] = []
    for score in scores:
        group = [variant for at_distance in score.variants.values() for variant in at_distance]
        if score.original is None or not group:
            continue
        prompts.append(
            [(round(prompt.n * prompt.pass_rate), prompt.n) for prompt in (score.original, *group)]
        )
        if emotions is not None:
            names.append([name for d in score.variants for name in emotions[score.task_id][d]])
    if not prompts:
        return Estimate()
    counts = count(prompts, emotions=names if emotions is not None else None)
    return estimate(counts, interval=interval, looks=looks)


def estimate(counts: Counts, *, interval: bool = True, looks: int = 1) -> Estimate:
    """Return the odds ratio with its interval from counts of passes.

    Parameters
    ----------
    counts
        Passes and samples of the prompts of all tasks.
    interval
        True to compute the intervals.
    looks
        As in `_intervals.mean_interval`.

    Returns
    -------
    Estimate
        The value is below 1 if variants pass less often than originals. ``ci95`` is the 95 %
        interval of the odds ratio: Student's interval of its logarithm beta, exponentiated. Its
        degrees of freedom are the number of tasks less one, or the number of emotions less one if
        that is smaller. ``exact`` has the lower limit 0: without an assumption such as normal
        effects, the data cannot exclude that variants of unseen tasks never pass. Its upper limit
        is that of ``ci95``, or the limit of the mean `_shrunken_shifts` if that is higher: tasks
        that nearly always pass hardly show their odds, so the model takes them from harder tasks.
        For one task the interval covers another run of its prompts, and ``exact`` is None.
    """
    model = fit(counts)
    # If all samples pass, or none, beta follows from its prior alone.
    equal = counts.passes.sum() in (0.0, counts.samples.sum())
    value = 1.0 if equal else math.exp(model.log_odds_ratio)
    if not interval:
        return Estimate(value=value)
    n, tail = len(counts.passes), 1.0 - 0.025 / looks
    units = min(n, counts.n_emotions) if model.emotion else n
    special = scipy.special
    quantile = float(special.ndtri(tail) if n == 1 else special.stdtrit(max(1, units - 1), tail))
    low, high = (
        math.exp(model.log_odds_ratio + sign * quantile * model.error) for sign in (-1.0, 1.0)
    )
    if n == 1:
        return Estimate(value=value, ci95=(low, high))
    shifts = _shrunken_shifts(counts)
    half = float(special.stdtrit(n - 1, tail)) * float(shifts.std(ddof=1)) / math.sqrt(n)
    sure = max(high, math.exp(float(shifts.mean()) + half))
    return Estimate(value=value, ci95=(low, high), exact=(0.0, sure))


def _shrunken_shifts(counts: Counts) -> Floats:
    """Return each task's change of the log odds from its original to its variants, shape (n,).

    The posterior mode of each task by itself, with a normal prior of mean 0 and a standard
    deviation of 1 logit. A task whose samples show little counts as hardly changed, whatever other
    tasks show. So the mean understates a loss, for any relation between harm and difficulty.
    """
    passes = np.stack([counts.passes[:, 0], counts.passes[:, 1:].sum(axis=1)], axis=1)
    samples = np.stack([counts.samples[:, 0], counts.samples[:, 1:].sum(axis=1)], axis=1)
    precision = np.array([_PRECISION[0], 1.0])
    # The level of the original and the shift of the variants, in logits.
    effects = np.zeros_like(passes)
    for _ in range(_STEPS):
        rate = scipy.special.expit(np.cumsum(effects, axis=1))
        residual = passes - samples * rate
        curvature = samples * rate * (1.0 - rate)
        slope = np.stack([residual.sum(axis=1), residual[:, 1]], axis=1) - precision * effects
        hessian = curvature[:, 1, None, None] + precision * np.eye(2)
        hessian[:, 0, 0] += curvature[:, 0]
        step = np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        # A full step may leave the region in which Newton's method converges.
        step /= np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
        effects += step
        if np.abs(step).max() < _CONVERGED:
            break
    return effects[:, 1]


def count(
    prompts: Sequence[Sequence[tuple[int, int]]], *, emotions: Sequence[Sequence[str]] | None
) -> Counts:
    """Return counts from the (passes, samples) of each task's original and of its variants.

    Parameters
    ----------
    prompts
        For each task the (passes, samples) of its original, then of its variants.
    emotions
        The emotion of each variant by task, or None for a model without an effect of the
        emotion.
    """
    width = max(map(len, prompts)) - 1
    passes, samples = np.zeros((2, len(prompts), 1 + width))
    index = np.zeros((len(prompts), width), dtype=np.int64)
    for at, counted in enumerate(prompts):
        passes[at, : len(counted)], samples[at, : len(counted)] = np.array(counted).T
    numbers: dict[str, int] = {}
    for at, names in enumerate(emotions or ()):
        index[at, : len(names)] = [numbers.setdefault(name, len(numbers)) for name in names]
    # A single emotion does not vary, so its effect cannot be separated from beta.
    n_emotions = len(numbers) if len(numbers) > 1 else 0
    return Counts(passes=passes, samples=samples, emotions=index, n_emotions=n_emotions)


def fit(counts: Counts) -> MixedModel:
    """Fit the model by Laplace's approximation.

    For a single task all variances are 0: the odds of its variants are pooled. With more than 500
    tasks, the variances are those of 500 evenly spaced ones.
    """
    spreads = np.zeros(5)
    if len(counts.passes) > 1:
        free = 5 if counts.n_emotions else 4
        spreads[:free] = _variances(_thinned(counts), free)
    effects = _at_zero(counts)
    _, covariance = _laplace(counts, spreads, effects)
    return MixedModel(
        log_odds_ratio=float(effects.fixed[1]),
        error=math.sqrt(float(covariance[1, 1])),
        task=float(spreads[0]),
        sensitivity=math.hypot(spreads[1], spreads[2]),
        variant=float(spreads[3]),
        emotion=float(spreads[4]),
    )


def _variances(counts: Counts, free: int) -> Floats:
    """Return the first `free` of the spreads of `_laplace`. The others are 0.

    The maximum of the marginal likelihood (Laplace approximation) is found by the Nelder-Mead
    method.
    """
    effects = _at_zero(counts)

    def objective(chosen: Floats) -> float:
        spreads = np.zeros(5)
        spreads[:free] = chosen
        return _laplace(counts, spreads, effects)[0]

    start = np.full(free, _START)
    start[1] = 0.0
    lowest = np.zeros(free)
    lowest[1] = -_LARGEST
    from scipy.optimize import minimize  # noqa: PLC0415 - takes its time

    minimum = minimize(
        objective,
        start,
        method="Nelder-Mead",
        bounds=[(low, _LARGEST) for low in lowest],
        options={
            "initial_simplex": np.vstack([start, start + _START * np.eye(free)]),
            "xatol": _EXACT,
            "fatol": _EXACT,
            "maxfev": 400,
        },
    )
    return np.where(np.abs(minimum.x) < _EXACT, 0.0, minimum.x)


def _thinned(counts: Counts) -> Counts:
    n = len(counts.passes)
    if n <= _ENOUGH_TASKS:
        return counts
    kept = np.linspace(0, n - 1, _ENOUGH_TASKS).round().astype(int)
    return Counts(
        passes=counts.passes[kept],
        samples=counts.samples[kept],
        emotions=counts.emotions[kept],
        n_emotions=counts.n_emotions,
    )


def _at_zero(counts: Counts) -> _Effects:
    return _Effects(
        fixed=np.zeros(2 + counts.n_emotions),
        task=np.zeros((len(counts.passes), 2)),
        variant=np.zeros((len(counts.passes), counts.passes.shape[1] - 1)),
    )


def _laplace(counts: Counts, spreads: Floats, effects: _Effects) -> tuple[float, Floats]:
    """Move `effects`, in place, to the mode of the posterior for given `spreads`.

    Return Laplace's approximation of -2 log marginal likelihood, up to a constant, and the
    covariance of ``effects.fixed``. `spreads`, shape (5,), in logits, are the standard deviation of
    task u, the change of sensitivity s per standard deviation of u, the standard deviation of the
    rest of s, and those of variant w and emotion e.
    """
    height = _log_posterior(counts, spreads, effects)
    for _ in range(_STEPS):
        step, log_det, covariance = _newton_step(counts, spreads, effects)
        size, moved = 1.0, effects
        while size > _CONVERGED:
            moved = _Effects(
                fixed=effects.fixed + size * step.fixed,
                task=effects.task + size * step.task,
                variant=effects.variant + size * step.variant,
            )
            reached = _log_posterior(counts, spreads, moved)
            if reached >= height - _CONVERGED:
                break
            size /= 2.0
        gained, height = reached - height, reached
        effects.fixed, effects.task, effects.variant = moved.fixed, moved.task, moved.variant
        if gained < _CONVERGED:
            break
    return -2.0 * height + log_det, covariance


def _logits(counts: Counts, spreads: Floats, effects: _Effects) -> Floats:
    task, follows, sensitivity, variant, emotion = spreads
    base = effects.fixed[0] + task * effects.task[:, 0]
    by_task = effects.task @ np.array([follows, sensitivity])
    shift = effects.fixed[1] + by_task[:, None] + variant * effects.variant
    if counts.n_emotions:
        shift = shift + emotion * effects.fixed[2:][counts.emotions]
    return np.concatenate([base[:, None], base[:, None] + shift], axis=1)


def _log_posterior(counts: Counts, spreads: Floats, effects: _Effects) -> float:
    logits = _logits(counts, spreads, effects)
    likelihood = counts.passes * logits - counts.samples * np.logaddexp(0.0, logits)
    prior = (_PRECISION * effects.fixed[:2] ** 2).sum() + (effects.fixed[2:] ** 2).sum()
    prior += (effects.task**2).sum() + (effects.variant**2).sum()
    return float(likelihood.sum() - prior / 2.0)


def _newton_step(
    counts: Counts, spreads: Floats, effects: _Effects
) -> tuple[_Effects, float, Floats]:
    """Return Newton's step, the log determinant of the Hessian and its inverse's fixed block.

    The Hessian has the shape of an arrow: variants within tasks within fixed effects and emotions.
    Variants are eliminated first, then the two effects of each task.

    `spreads` are those of `_laplace`.
    """
    rate = scipy.special.expit(_logits(counts, spreads, effects))
    residual = counts.passes - counts.samples * rate
    curvature = counts.samples * rate * (1.0 - rate)
    task, follows, sensitivity, variant, emotion = spreads
    both = task + follows

    inner = 1.0 + variant**2 * curvature[:, 1:]
    slope = variant * residual[:, 1:] - effects.variant
    weight = curvature[:, 1:] / inner
    pull = residual[:, 1:] - variant * weight * slope

    # The coefficients of each fixed effect in a task's variants: alpha, beta, then the emotions.
    n_fixed = 2 + counts.n_emotions
    by_effect = np.empty((len(weight), n_fixed))
    pull_on = np.empty(n_fixed)
    by_effect[:, :2] = weight.sum(axis=1)[:, None]
    pull_on[:2] = pull.sum()
    for at in range(counts.n_emotions):
        of_emotion = counts.emotions == at
        by_effect[:, 2 + at] = emotion * np.where(of_emotion, weight, 0.0).sum(axis=1)
        pull_on[2 + at] = emotion * pull[of_emotion].sum()
    weights, first = by_effect[:, 1], curvature[:, 0]
    hessian = np.zeros((n_fixed, n_fixed))
    hessian[:2] = hessian[:, :2].T[:2] = by_effect.sum(axis=0)
    hessian[:, :2] = hessian[:2].T
    hessian[2:, 2:] = emotion * np.diag(by_effect[:, 2:].sum(axis=0))
    hessian[0, 0] += first.sum()
    precision = np.concatenate([_PRECISION, np.ones(counts.n_emotions)])
    hessian += np.diag(precision)
    pull_on[0] += residual[:, 0].sum()
    pull_on -= precision * effects.fixed

    local = np.empty((len(weight), 2, 2))
    local[:, 0, 0] = 1.0 + task**2 * first + both**2 * weights
    local[:, 0, 1] = local[:, 1, 0] = both * sensitivity * weights
    local[:, 1, 1] = 1.0 + sensitivity**2 * weights
    cross = np.stack([both * by_effect, sensitivity * by_effect], axis=1)
    cross[:, 0, 0] += task * first
    pull_in_task = np.stack(
        [
            task * residual[:, 0] + both * pull.sum(axis=1) - effects.task[:, 0],
            sensitivity * pull.sum(axis=1) - effects.task[:, 1],
        ],
        axis=1,
    )
    solved = np.linalg.solve(local, np.concatenate([cross, pull_in_task[:, :, None]], axis=2))
    schur = hessian - np.einsum("nif,nig->fg", cross, solved[:, :, :-1])
    covariance = np.linalg.inv(schur)
    fixed = covariance @ (pull_on - np.einsum("nif,ni->f", cross, solved[:, :, -1]))
    in_task = solved[:, :, -1] - solved[:, :, :-1] @ fixed
    shift = fixed[0] + fixed[1] + (in_task @ np.array([both, sensitivity]))[:, None]
    if counts.n_emotions:
        shift = shift + emotion * fixed[2:][counts.emotions]
    in_variant = (slope - variant * curvature[:, 1:] * shift) / inner
    log_det = float(
        np.log(inner).sum() + np.linalg.slogdet(local)[1].sum() + np.linalg.slogdet(schur)[1]
    )
    return _Effects(fixed=fixed, task=in_task, variant=in_variant), log_det, covariance
