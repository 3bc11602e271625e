"""What a gate on the drop can decide with a planned number of tasks, variants and samples.

The answers are for a simple model: every original has one true pass rate, and every variant a lower
one by the drop. Suites are simulated with a fixed seed, and their intervals are approximated, so no
measured data are needed. ``benchmarks/planning.py`` compares them with the intervals themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy

from pytest_promptse.scoring._intervals import generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_promptse.scoring._samples import Floats

POWER = 0.8
# The quantile of the spread that `_intervals.shifted_interval` takes.
_OVER_RERUNS = float(-scipy.special.ndtri(0.0075))
# Simulated suites.
_SIMULATED = 400
# Draws of the weights of tasks.
_DRAWS = 1999
_RERUNS = 4000
_MOST_TASKS = 2000
_MOST_SAMPLES = 1024


@dataclass(frozen=True, kw_only=True)
class DropPlan:
    """The size of a suite and the model that its gate on the drop is planned for.

    Attributes
    ----------
    tasks
        Number of tasks, >= 1.
    variants
        Number of variants of a task over all distances, >= 1.
    samples, original_samples
        Number of samples of a variant and of an original, >= 1.
    reruns
        True for intervals over reruns, which a suite of one task always has.
    pass_rate
        The true pass rate of the originals, in (0, 1].
    spread
        Standard deviation over tasks of the true drop. It matters for intervals over tasks only.
    """

    tasks: int
    variants: int
    samples: int
    original_samples: int
    reruns: bool
    pass_rate: float = 0.95
    spread: float = 0.0

    @property
    def completions(self) -> int:
        """Number of completions that the plan requests."""
        return self.tasks * (self.original_samples + self.variants * self.samples)

    @property
    def over_reruns(self) -> bool:
        """True if the intervals do not cover other tasks."""
        return self.reruns or self.tasks == 1

    def fails(self, drop: float, threshold: float) -> float:
        """Return the probability that the gate fails a model that truly loses `drop`."""
        if drop > self.pass_rate or drop <= threshold:
            return 0.0
        low, _ = self._limits(drop)
        return float(np.mean(low > threshold))

    def passes(self, threshold: float) -> float:
        """Return the probability that the gate passes a model that loses nothing."""
        _, high = self._limits(0.0)
        return float(np.mean(high <= threshold))

    def detects(self, threshold: float) -> float | None:
        """Return the smallest drop that fails in 80 % of the runs, or None if no drop does."""
        low, high = math.floor(100 * threshold), math.floor(100 * self.pass_rate + 1e-9)
        if self.fails(high / 100, threshold) < POWER:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            found = self.fails(middle / 100, threshold) >= POWER
            low, high = (low, middle) if found else (middle, high)
        return high / 100

    def least_threshold(self) -> float | None:
        """Return the smallest threshold, in hundredths, that passes no loss in 80 % of the runs."""
        _, high = self._limits(0.0)
        steps = (step / 100 for step in range(1, 100))
        return next((value for value in steps if np.mean(high <= value) >= POWER), None)

    def larger(self, threshold: float) -> Iterator[tuple[Literal["tasks", "samples"], DropPlan]]:
        """Yield plans that pass a model without a loss in 80 % of the runs, by what they raise.

        At most one plan has more tasks, and one more samples of the original and of each variant.
        """
        more_tasks = _smallest(
            lambda n: replace(self, tasks=n), self.tasks, _MOST_TASKS, threshold=threshold
        )
        if more_tasks is not None:
            yield "tasks", more_tasks
        ratio = self.original_samples / self.samples
        more_samples = _smallest(
            lambda m: replace(self, samples=m, original_samples=round(ratio * m)),
            self.samples,
            _MOST_SAMPLES,
            threshold=threshold,
        )
        if more_samples is not None:
            yield "samples", more_samples

    def _limits(self, drop: float) -> tuple[Floats, Floats]:
        """Return the limits of the drop in simulated suites that truly lose `drop`.

        Each has shape (S,). Over tasks, they are those of three intervals together: Student's, the
        BCa bootstrap and the exact one.
        """
        if self.over_reruns:
            drops, errors = self._simulated_reruns(drop)
            return drops - _OVER_RERUNS * errors, drops + _OVER_RERUNS * errors
        n = self.tasks
        by_task = self._simulated_tasks(drop)
        mean = by_task.mean(axis=1)
        quantile = float(scipy.special.stdtrit(n - 1, 0.975))
        half = quantile * by_task.std(axis=1, ddof=1) / math.sqrt(n)
        rng = generator(0, "weights", str(n))
        tail = max(scipy.special.ndtr(-math.sqrt(n / (n - 1)) * quantile), 1.0 / _DRAWS)
        resampled = by_task @ (rng.multinomial(n, np.full(n, 1.0 / n), _DRAWS) / n).T
        bca_low, bca_high = _bca(by_task, resampled, tail)
        weight = rng.standard_exponential((_DRAWS, n + 1))
        weight /= weight.sum(axis=1, keepdims=True)
        seen = by_task @ weight[:, :-1].T
        least, most = np.minimum(0.0, by_task.min(axis=1)), 1.0
        # The ranks of the limits among the draws, as in `_intervals.exact_interval`.
        rank = int(0.025 * (_DRAWS + 1))
        lows = np.partition(seen + np.outer(least, weight[:, -1]), rank - 1, axis=1)
        highs = np.partition(seen + most * weight[:, -1], _DRAWS - rank, axis=1)
        return (
            np.min([mean - half, bca_low, lows[:, rank - 1]], axis=0),
            np.max([mean + half, bca_high, highs[:, _DRAWS - rank]], axis=0),
        )

    def _simulated_tasks(self, drop: float) -> Floats:
        """Return measured drops of the n tasks of suites, shape (S, n)."""
        rng = generator(0, "drop plan", str(self.tasks))
        shape = (_SIMULATED, self.tasks)
        k = self.variants * self.samples
        original = rng.binomial(self.original_samples, self.pass_rate, shape)
        rates = self.pass_rate - drop - self.spread * rng.standard_normal(shape)
        variants = rng.binomial(k, np.clip(rates, 0.0, 1.0))
        return np.asarray(original / self.original_samples - variants / k)

    def _simulated_reruns(self, drop: float) -> tuple[Floats, Floats]:
        """Return measured drops and the standard errors of their resamples, shape (R,) each."""
        rng = generator(0, "drop plan", str(self.tasks), str(self.samples))
        n = self.tasks * self.original_samples
        k = self.tasks * self.variants * self.samples
        original = rng.binomial(n, self.pass_rate, _RERUNS) / n
        variants = rng.binomial(k, self.pass_rate - drop, _RERUNS) / k
        variance = _resampled_variance(original, self.original_samples, alone=self.tasks == 1)
        variance += _resampled_variance(variants, self.samples) / self.variants
        return original - variants, np.sqrt(variance / self.tasks)


def _bca(values: Floats, resampled: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the BCa limits of the means of S samples, each of which is missed with `tail`.

    `values` has shape (S, n), and `resampled` the R means of their resamples, shape (S, R).
    """
    special = scipy.special
    mean = values.mean(axis=1, keepdims=True)
    apart = values - mean
    scale = np.maximum((apart**2).sum(axis=1), 1e-12) ** 1.5
    acceleration = (apart**3).sum(axis=1) / (6.0 * scale)
    below = (resampled < mean).mean(axis=1) + (resampled == mean).mean(axis=1) / 2.0
    shift = special.ndtri(np.clip(below, 1e-9, 1.0 - 1e-9))
    ordered = np.sort(resampled, axis=1)
    limits = []
    for z in (special.ndtri(tail), -special.ndtri(tail)):
        level = special.ndtr(shift + (shift + z) / (1.0 - acceleration * (shift + z)))
        places = np.rint(level * (resampled.shape[1] - 1)).astype(int)
        limits.append(np.take_along_axis(ordered, places[:, None], axis=1)[:, 0])
    return limits[0], limits[1]


def _resampled_variance(rates: Floats, n: int, *, alone: bool = False) -> Floats:
    """Return the expected variance of resampled pass rates of prompts with `n` samples.

    Resamples come from the rate (k + 1/2) / (n + 1), as in `_intervals.resampled_pass_rates`.

    Parameters
    ----------
    rates
        Shape (R,): mean pass rates of the prompts.
    alone
        True if a rate is that of one prompt, and False if it is a mean over prompts whose numbers
        of passes k vary.
    """
    if alone:
        drawn = (rates * n + 0.5) / (n + 1)
        return np.asarray(drawn * (1.0 - drawn) / n)
    # E k = n q and E k^2 = n q (1 - q) + (n q)^2 in (n + 1)^2 E drawn (1 - drawn).
    k, k2 = n * rates, n * rates * (1.0 - rates) + (n * rates) ** 2
    return np.asarray(((k + 0.5) * (n + 1) - (k2 + k + 0.25)) / ((n + 1) ** 2 * n))


def _smallest(
    sized: Callable[[int], DropPlan], start: int, most: int, *, threshold: float
) -> DropPlan | None:
    """Return the smallest plan of `sized` from `start` to `most` that passes, or None."""

    def is_enough(size: int) -> bool:
        return sized(size).passes(threshold) >= POWER

    low, high = start - 1, start
    while not is_enough(high):
        if high >= most:
            return None
        low, high = high, min(most, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return sized(high)
