"""Change points in the course of a figure over repeated runs.

A course is tested after each run from the eighth on, and the error is spent over all of these
tests: the test after run n has a level of 7 alpha / (n (n - 1)), and these levels sum to alpha. So
a course in which nothing changes gets a change point with a probability of at most alpha, however
long it becomes.
Source of the spending idea: K. K. G. Lan and D. L. DeMets, Discrete sequential boundaries for
clinical trials, Biometrika 70 (1983), for an unlimited number of looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_FEWEST_BEFORE = 2
# With fewer runs only enormous changes could be shown, and their tests would cost later ones power.
_FIRST_TEST = 8


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """A change of the mean of a course.

    Attributes
    ----------
    start
        Index of the first run after the change.
    detected
        Index of the run after which the change was detected, at least `start`.
    before, after
        Means of the runs since the previous change, before `start` and from `start` to `detected`.
    """

    start: int
    detected: int
    before: float
    after: float


def change_points(
    values: Sequence[float], errors: Sequence[float], *, alpha: float, earlier: int = 0
) -> list[ChangePoint]:
    """Return the change points of a course, in order. Later runs never remove one.

    A change has to be larger than two kinds of noise explain: the sampling error of each run (a z
    test), and the scatter of the runs themselves (a t test). The second also covers causes that
    sampling does not, such as a server whose answers differ from day to day.

    Parameters
    ----------
    values
        The figure of each run, in order of time.
    errors
        The standard error of each value over repetitions of the same requests, above 0.
    alpha
        The largest probability, in (0, 1), that a course without a change gets a change point.
    earlier
        Number of runs of the same course that were tested before, on which a part of alpha is
        spent.
    """
    y, variances = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64) ** 2
    points: list[ChangePoint] = []
    begin = 0
    for end in range(1, len(y) + 1):
        segment, noise = y[begin:end], variances[begin:end]
        level = _level(earlier + end, alpha)
        if not level or not _has_changed(segment, noise, level=level):
            continue
        splits = range(_FEWEST_BEFORE, len(segment))
        cut = max(splits, key=lambda split: abs(_z(segment, noise, split)))
        points.append(
            ChangePoint(
                start=begin + cut,
                detected=end - 1,
                before=float(segment[:cut].mean()),
                after=float(segment[cut:].mean()),
            )
        )
        begin += cut
    return points


def _level(n: int, alpha: float) -> float:
    """Return the level of the test after run n. The sum over all n is `alpha`."""
    return alpha * (_FIRST_TEST - 1) / (n * (n - 1)) if n >= _FIRST_TEST else 0.0


def _has_changed(y: NDArray[np.float64], variances: NDArray[np.float64], *, level: float) -> bool:
    """Return whether the last 1, 2, 4, 8, ... runs differ from those before, at `level` in all."""
    splits = list(_splits(len(y)))
    if not splits:
        return False
    tail = level / len(splits) / 2.0
    z_limit = stats.norm.isf(tail)
    t_limit = stats.t.isf(tail, len(y) - 2)
    return any(
        abs(_z(y, variances, split)) > z_limit and abs(_t(y, split)) > t_limit for split in splits
    )


def _splits(n: int) -> Iterator[int]:
    recent = 1
    # The scatter needs one run more than the two means.
    while n > _FEWEST_BEFORE and n - recent >= _FEWEST_BEFORE:
        yield n - recent
        recent *= 2


def _z(y: NDArray[np.float64], variances: NDArray[np.float64], split: int) -> float:
    error = variances[:split].sum() / split**2 + variances[split:].sum() / (len(y) - split) ** 2
    return float((y[split:].mean() - y[:split].mean()) / np.sqrt(error))


def _t(y: NDArray[np.float64], split: int) -> float:
    before, after = y[:split], y[split:]
    gap = float(after.mean() - before.mean())
    squares = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
    scatter = np.sqrt(squares / (len(y) - 2) * (1.0 / len(before) + 1.0 / len(after)))
    # Runs without any scatter decide nothing here; their sampling error still has to be exceeded.
    return float(gap / scatter) if scatter > 0.0 else float(np.sign(gap)) * np.inf
