"""What a gate on the drop can decide with a planned number of tasks, variants and samples.

The answers are for a simple model: every original has one true pass rate, and every variant a lower
one by the drop. They follow from normal approximations of the intervals that the gate takes, with a
fixed seed, so they need no measured data. ``benchmarks/planning.py`` compares them with simulated
suites.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy

from pytest_promptse.scoring._intervals import SIGNED, drop_bounds, exact_interval, generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_promptse.scoring._samples import Floats

POWER = 0.8
# The quantile of the spread that `_intervals.shifted_interval` takes.
_OVER_RERUNS = float(-scipy.special.ndtri(0.0075))
# Simulated suites.
_SIMULATED = 200
# Draws of the weights of unseen tasks, and the rank of the limit among them.
_DRAWS, _RANK = 999, 25
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
        if self.over_reruns:
            drops, errors = self._simulated_reruns(drop)
            return float(np.mean(drops - _OVER_RERUNS * errors > threshold))
        by_task, half = self._simulated_tasks(drop)
        rng = generator(0, "unseen tasks", str(self.tasks))
        # The rank of the limit among the draws, as in `_intervals.exact_interval`.
        weight = rng.standard_exponential((_DRAWS, self.tasks + 1))
        seen = by_task @ weight[:, :-1].T
        worst = np.minimum(0.0, by_task.min(axis=1))
        lows = (seen + np.outer(worst, weight[:, -1])) / weight.sum(axis=1)
        exact = np.partition(lows, _RANK - 1, axis=1)[:, _RANK - 1]
        return float(np.mean(np.minimum(by_task.mean(axis=1) - half, exact) > threshold))

    def passes(self, threshold: float) -> float:
        """Return the probability that the gate passes a model that loses nothing."""
        if self.over_reruns:
            drops, errors = self._simulated_reruns(0.0)
            return float(np.mean(drops + _OVER_RERUNS * errors <= threshold))
        by_task, half = self._simulated_tasks(0.0)
        rng = generator(0, "drop plan", str(self.tasks))
        met = by_task.mean(axis=1) + half <= threshold
        for at in np.flatnonzero(met):
            values = np.clip(by_task[at], *SIGNED)
            bounds = drop_bounds(values)
            exact = exact_interval(values, bounds=bounds, resamples=999, rng=rng)
            met[at] = exact is not None and exact[1] <= threshold
        return float(met.mean())

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
        steps = (step / 100 for step in range(1, 100))
        return next((value for value in steps if self.passes(value) >= POWER), None)

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

    def _error(self, drop: float) -> float:
        """Return the standard error of the drop over tasks."""
        lower = self.pass_rate - drop
        variance = self.pass_rate * (1.0 - self.pass_rate) / self.original_samples
        variance += lower * (1.0 - lower) / (self.samples * self.variants)
        return math.sqrt((variance + self.spread**2) / self.tasks)

    def _simulated_tasks(self, drop: float) -> tuple[Floats, Floats]:
        """Return measured drops of the tasks of suites, and half the width of their intervals.

        The drops have shape (S, n), and the half-widths of Student's intervals shape (S,).
        """
        rng = generator(0, "drop plan", str(self.tasks))
        spread = self._error(drop) * math.sqrt(self.tasks)
        by_task = drop + rng.standard_normal((_SIMULATED, self.tasks)) * spread
        quantile = float(scipy.special.stdtrit(self.tasks - 1, 0.975))
        return by_task, quantile * by_task.std(axis=1, ddof=1) / math.sqrt(self.tasks)

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
