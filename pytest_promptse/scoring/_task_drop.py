r"""The drop of each task: its interval, its equivalence with the original, a shrunken estimate.

The drop d of one task has a large sampling error, and the largest of many drops contains the most
of it. The *shrunken* estimate has a smaller mean squared error. It lies between d and the mean of
the suite. With a larger sampling variance v of the task, it lies nearer to the mean,

.. math::

    \hat d = \bar d + \frac{\tau^2}{\tau^2 + v} (d - \bar d), \qquad
    \tau^2 = \max\bigl(0, s^2 - \bar v\bigr).

Here :math:`\bar d` and :math:`s^2` are mean and variance of the drops of all tasks, and
:math:`\bar v` is the mean of their sampling variances. So :math:`\tau^2` estimates the variance of
the true drops between tasks. Source: Morris, Parametric empirical Bayes
inference, JASA 78, 1983; the estimate of :math:`\tau^2` is that of Hedges, Psychological Bulletin
93, 1983.

A task is *equivalent* to its original if two one-sided tests at 5 % exclude a drop and a gain as
large as the margin, so if the 90 % interval lies between both (Schuirmann, Journal of
Pharmacokinetics and Biopharmaceutics 15, 1987). The interval combines those of Wilson of the two
pass rates (Newcombe, Statistics in Medicine 17, 1998, method 10). It covers other completions of
the same prompts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring._elasticity import equal_weights
from pytest_promptse.scoring._intervals import wilson_limits
from pytest_promptse.scoring._robustness import drop
from pytest_promptse.scoring._scores import TaskDrop

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.scoring._pairing import RecordedPrompt
    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import Interval, PromptScore, TaskScore

MARGIN = 0.1
"""The margin of a suite without a threshold for the drop."""


def task_drops(tasks: Sequence[TaskScore], *, margin: float = MARGIN) -> dict[str, TaskDrop]:
    """Return the drop of each task of a suite that has an original and a variant, by its id.

    `margin` is the smallest drop that matters, > 0.
    """
    measured = {
        task.task_id: (task.original, groups)
        for task in tasks
        if task.original is not None and (groups := [g for g in task.variants.values() if g])
    }
    if not measured:
        return {}
    drops = np.array([_value(*prompts) for prompts in measured.values()])
    variances = np.array([drop_variance(*prompts) for prompts in measured.values()])
    return {
        task_id: TaskDrop(
            value=float(value),
            ci95=drop_interval(*measured[task_id], tail=0.025),
            shrunken=float(estimate),
            margin=margin,
            equivalent=is_equivalent(*measured[task_id], margin=margin),
        )
        for task_id, value, estimate in zip(
            measured, drops, shrunken(drops, variances), strict=True
        )
    }


def is_equivalent(
    original: PromptScore, groups: Sequence[Sequence[PromptScore]], *, margin: float
) -> bool:
    """Return whether two one-sided tests exclude a drop and a gain of `margin` or more.

    `groups` are the variants of each measured distance, at least one group, each with at least one.
    """
    low, high = drop_interval(original, groups, tail=0.05)
    return -margin < low and high < margin


def drop_interval(
    original: PromptScore,
    groups: Sequence[Sequence[PromptScore]],
    *,
    tail: float,
    weights: Floats | None = None,
) -> Interval:
    """Return the limits of a task's drop over reruns, each of which is missed with `tail`.

    `groups` are the variants of each measured distance, at least one group, each with at least one.
    `weights` are those of the groups, which add up to 1. None is for equal weights.
    """
    shares = equal_weights(range(len(groups))) if weights is None else weights
    by_variant = [
        share / len(group) for share, group in zip(shares, groups, strict=True) for _ in group
    ]
    variants = [variant for group in groups for variant in group]
    reworded = math.fsum(w * v.pass_rate for w, v in zip(by_variant, variants, strict=True))
    # As many samples of one prompt would have this variance, if all variants had one pass rate. If
    # they do not, the variance is smaller.
    n = 1.0 / math.fsum(w**2 / v.n for w, v in zip(by_variant, variants, strict=True))
    rate = original.pass_rate
    low, high = wilson_limits(rate, original.n, tail=tail)
    least, most = wilson_limits(min(1.0, reworded), n, tail=tail)
    value = rate - reworded
    return (
        max(-1.0, value - math.hypot(rate - low, most - reworded)),
        min(1.0, value + math.hypot(high - rate, reworded - least)),
    )


def _value(original: PromptScore, groups: Sequence[Sequence[PromptScore]]) -> float:
    rates = [float(drop(original.pass_rate, [v.pass_rate for v in group])) for group in groups]
    return math.fsum(rates) / len(rates)


def shrunken(values: Floats, variances: Floats) -> Floats:
    """Return estimates between each value and the mean of all, by empirical Bayes.

    Parameters
    ----------
    values, variances
        Shape (n,), n >= 1: the estimates and their sampling variances, >= 0.

    Returns
    -------
    ndarray of shape (n,)
        A value without sampling variance is returned unchanged. All are the mean if sampling alone
        explains how they differ.
    """
    mean = values.mean()
    observed = values.var(ddof=1) if values.size > 1 else 0.0
    between = max(0.0, float(observed - variances.mean()))
    total = between + variances
    share = np.divide(between, total, out=np.ones_like(total), where=variances > 0.0)
    return np.asarray(mean + share * (values - mean))


def drop_variance(
    original: PromptScore | RecordedPrompt,
    groups: Iterable[Sequence[PromptScore | RecordedPrompt]],
) -> float:
    """Return the variance of a task's drop from sampling completions.

    `groups` are the variants of each measured distance, at least one group, each with at least one.
    """
    variances = [mean_variance(group) for group in groups]
    return rate_variance(original) + math.fsum(variances) / len(variances) ** 2


def mean_variance(prompts: Sequence[PromptScore | RecordedPrompt]) -> float:
    """Return the variance of the mean pass rate of at least one prompt from sampling."""
    return math.fsum(map(rate_variance, prompts)) / len(prompts) ** 2


def rate_variance(prompt: PromptScore | RecordedPrompt) -> float:
    """Return the variance of a measured pass rate from sampling.

    Half a pass and half a failure are added (Jeffreys' prior), so that a prompt that always passes
    has a variance as well.
    """
    rate = (prompt.pass_rate * prompt.n + 0.5) / (prompt.n + 1.0)
    return rate * (1.0 - rate) / prompt.n
