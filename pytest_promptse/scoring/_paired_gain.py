"""The gain of one prompt over another, from the same variants under both."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

_LEVEL = 0.95


class Gain(NamedTuple):
    """A difference of pass rates with its 95 % interval."""

    value: float
    low: float
    high: float


def paired_gain(tasks: Sequence[ArrayLike]) -> Gain:
    """Return the mean gain over tasks, with a t interval that is stratified by task.

    The interval covers other variants and completions of the same tasks, and not other tasks. Its
    standard error is at least that of one variant that differs by 1, so that equal differences
    have an interval as well. Degrees of freedom are those of Welch and Satterthwaite.

    Parameters
    ----------
    tasks
        For each task, shape (K,), K >= 2: the pass rate of each variant under the new prompt minus
        that under the old one, in [-1, 1].

    Raises
    ------
    ValueError
        If there is no task, or a task has fewer than two variants.
    """
    gains = [np.asarray(task, dtype=np.float64) for task in tasks]
    if not gains or min(task.size for task in gains) < 2:  # noqa: PLR2004 - a variance
        raise ValueError("a gain needs tasks with at least two variants each")
    value = float(np.mean([task.mean() for task in gains]))
    parts = np.array([task.var(ddof=1) / task.size for task in gains]) / len(gains) ** 2
    sizes = np.array([task.size for task in gains])
    error = max(float(np.sqrt(parts.sum())), 1.0 / float(sizes.sum()))
    squares = float((parts**2 / (sizes - 1)).sum())
    freedom = float(parts.sum()) ** 2 / squares if squares else float((sizes - 1).sum())
    half = float(stats.t.isf((1.0 - _LEVEL) / 2.0, freedom)) * error
    return Gain(value, max(-1.0, value - half), min(1.0, value + half))


def rate_difference(new: Sequence[tuple[float, int]], old: Sequence[tuple[float, int]]) -> Gain:
    """Return the difference of the mean pass rates of two sets of prompts, by task.

    Half a pass and half a failure are added to each prompt for the error, so that prompts that
    always pass have one too. The interval covers other completions of the same prompts.

    Parameters
    ----------
    new, old
        The (pass rate, number of samples) of each task's prompt, in the same order.
    """
    value = float(np.mean([p for p, _ in new]) - np.mean([p for p, _ in old]))
    variance = 0.0
    for rate, n in (*new, *old):
        smoothed = (rate * n + 0.5) / (n + 1.0)
        variance += smoothed * (1.0 - smoothed) / n / len(new) ** 2
    half = float(stats.norm.isf((1.0 - _LEVEL) / 2.0)) * variance**0.5
    return Gain(value, max(-1.0, value - half), min(1.0, value + half))
