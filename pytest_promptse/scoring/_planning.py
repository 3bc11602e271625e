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
# Suites are simulated in parts, and each part has fewer if there are many tasks.
_PARTS = 8
_SUITES = 200
_HELD = 20_000
# Draws of the weights of tasks.
_DRAWS = 999
# Simulated runs of the same tasks.
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
        return float(np.mean(self._low(drop) > threshold))

    def passes(self, threshold: float) -> float:
        """Return the probability that the gate passes a model that loses nothing."""
        return float(np.mean(self._high(0.0) <= threshold))

    def detects(self, threshold: float) -> float | None:
        """Return the smallest drop that fails in 80 % of the runs, or None if no drop does."""
        low, high = math.floor(100 * threshold), math.floor(100 * self.pass_rate + 1e-9)
        if self.fails(high / 100, threshold) < POWER:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            is_detected = self.fails(middle / 100, threshold) >= POWER
            low, high = (low, middle) if is_detected else (middle, high)
        return high / 100

    def least_threshold(self) -> float | None:
        """Return the smallest threshold, in hundredths, that passes no loss in 80 % of the runs."""
        high = self._high(0.0)
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

    def _low(self, drop: float) -> Floats:
        """Return the lower limits of the drop in simulated suites that truly lose `drop`."""
        return self._limits(drop, sign=1.0)

    def _high(self, drop: float) -> Floats:
        """Return the upper limits of the drop in simulated suites that truly lose `drop`."""
        return -self._limits(drop, sign=-1.0)

    def _limits(self, drop: float, *, sign: float) -> Floats:
        """Return the lower limits of the drop times `sign`, 1 or -1, in simulated suites.

        Over tasks, each is the smallest of three: Student's, the BCa bootstrap's and the exact one.
        """
        if self.over_reruns:
            value, below = self._simulated_reruns(drop, sign)
            return value - below
        rng = generator(0, "drop plan", str(self.tasks))
        suites = max(_SUITES // 4, min(_SUITES, _HELD // self.tasks))
        # Suites of a part share the weights of their tasks. Few parts would share their error.
        parts = [sign * self._simulated_tasks(drop, suites, rng) for _ in range(_PARTS)]
        return np.concatenate([_lower_limits(part, sign, rng) for part in parts])

    def _simulated_tasks(self, drop: float, suites: int, rng: np.random.Generator) -> Floats:
        """Return measured drops of the n tasks of S suites, shape (S, n)."""
        shape = (suites, self.tasks)
        k = self.variants * self.samples
        original = rng.binomial(self.original_samples, self.pass_rate, shape)
        rates = self.pass_rate - drop - self.spread * rng.standard_normal(shape)
        variants = rng.binomial(k, np.clip(rates, 0.0, 1.0))
        return np.asarray(original / self.original_samples - variants / k)

    def _simulated_reruns(self, drop: float, sign: float) -> tuple[Floats, Floats]:
        """Return measured drops times `sign`, and how far below them their limits are.

        Both have shape (R,). Resamples are not drawn. Their quantile follows from their variance
        and skewness (Cornish and Fisher, Revue de l'Institut International de Statistique 5, 1938).
        """
        rng = generator(0, "drop plan", str(self.tasks), str(self.samples))
        n = self.tasks
        original, of_original = _resampled(self.original_samples, n, self.pass_rate, rng)
        variants, of_variants = _resampled(
            self.samples, n * self.variants, self.pass_rate - drop, rng
        )
        variance = of_original[0] + of_variants[0]
        skewness = sign * (of_original[1] - of_variants[1]) / variance**1.5
        z = _OVER_RERUNS
        quantile = z - skewness * (z**2 - 1.0) / 6.0 - skewness**2 * (2 * z**3 - 5 * z) / 36.0
        return sign * (original - variants), quantile * np.sqrt(variance)


def _lower_limits(values: Floats, sign: float, rng: np.random.Generator) -> Floats:
    """Return the lower limits of the means of S suites, shape (S,).

    `values` has shape (S, n): the drops of tasks times `sign`, 1 or -1.
    """
    n = values.shape[1]
    quantile = float(scipy.special.stdtrit(n - 1, 0.975))
    students = values.mean(axis=1) - quantile * values.std(axis=1, ddof=1) / math.sqrt(n)
    tail = max(scipy.special.ndtr(-math.sqrt(n / (n - 1)) * quantile), 1.0 / _DRAWS)
    resampled = values @ (rng.multinomial(n, np.full(n, 1.0 / n), _DRAWS) / n).T
    weight = rng.standard_exponential((_DRAWS, n + 1))
    weight /= weight.sum(axis=1, keepdims=True)
    # Unseen tasks, as in `_intervals.drop_bounds`.
    least = np.minimum(0.0, values.min(axis=1)) if sign > 0.0 else np.full(values.shape[0], -1.0)
    weighted = values @ weight[:, :-1].T + np.outer(least, weight[:, -1])
    # The rank of the limit among the draws, as in `_intervals.exact_interval`.
    rank = int(0.025 * (_DRAWS + 1))
    exact = np.partition(weighted, rank - 1, axis=1)[:, rank - 1]
    return np.asarray(np.min([students, _bca(values, resampled, tail), exact], axis=0))


def _bca(values: Floats, resampled: Floats, tail: float) -> Floats:
    """Return the lower BCa limits of the means of S suites, each of which is missed with `tail`.

    `values` has shape (S, n), and `resampled` the R means of their resamples, shape (S, R).
    """
    special = scipy.special
    mean = values.mean(axis=1, keepdims=True)
    apart = values - mean
    scale = np.maximum((apart**2).sum(axis=1), 1e-12) ** 1.5
    acceleration = (apart**3).sum(axis=1) / (6.0 * scale)
    below = (resampled < mean).mean(axis=1) + (resampled == mean).mean(axis=1) / 2.0
    shift = special.ndtri(np.clip(below, 1e-9, 1.0 - 1e-9))
    z = shift + special.ndtri(tail)
    level = special.ndtr(shift + z / (1.0 - acceleration * z))
    places = np.rint(level * (resampled.shape[1] - 1)).astype(int)
    return np.asarray(np.take_along_axis(np.sort(resampled, axis=1), places[:, None], axis=1)[:, 0])


def _resampled(
    m: int, prompts: int, rate: float, rng: np.random.Generator
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return mean pass rates of prompts in R runs, with two cumulants of their resamples.

    The cumulants are the variance and the third central moment, of shape (R,) like the means. A
    prompt with k passes in m samples is resampled at the rate (k + 1/2) / (m + 1), as in
    `_intervals.resampled_pass_rates`.

    Parameters
    ----------
    m
        Number of samples of each prompt, >= 1.
    prompts
        Number of prompts, >= 1.
    rate
        The true pass rate of every prompt, in [0, 1].
    rng
        Random generator of the runs.
    """
    passes = np.arange(m + 1)
    shares = np.diff(scipy.special.bdtr(passes, m, rate), prepend=0.0).clip(0.0)
    # How many of the prompts have k passes, shape (R, m + 1).
    counts = rng.multinomial(prompts, shares / shares.sum(), _RERUNS)
    q = (passes + 0.5) / (m + 1)
    variance, third = q * (1.0 - q) / m, q * (1.0 - q) * (1.0 - 2.0 * q) / m**2
    return (
        counts @ passes / (m * prompts),
        (counts @ variance / prompts**2, counts @ third / prompts**3),
    )


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
