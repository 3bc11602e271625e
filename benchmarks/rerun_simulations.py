"""Errors of the gate on the drop with intervals over reruns: the tasks and variants are fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gate_simulations import Misses
from simulated_models import DISTANCES
from truth_simulations import TRUTHS, copied_answers, sampled

from pytest_promptse.scoring._intervals import (
    SIGNED,
    generator,
    resampled_pass_rates,
    shifted_interval,
)

if TYPE_CHECKING:
    from simulated_models import Sampling

    from pytest_promptse.scoring._samples import Floats

_RESAMPLES = 1999


def drop_over_reruns(p: Floats, v: Floats, plan: Sampling, seed: int) -> tuple[float, float]:
    """Return the interval over reruns of the drop of a suite of n tasks.

    Parameters
    ----------
    p, v
        Pass rates of the originals, shape (n,), and of the variants, shape (n, D, K).
    """
    rng = generator(seed, "resamples")
    sizes = [plan.original_samples] + [plan.samples] * v[0].size
    draws = np.zeros(_RESAMPLES)
    for original, variants in zip(p, v, strict=True):
        rates = np.array([original, *variants.ravel()])
        passes = np.rint(rates * sizes).astype(int).tolist()
        drawn = resampled_pass_rates(sizes, passes, _RESAMPLES, rng)
        draws += (drawn[:, 0] - drawn[:, 1:].mean(axis=1)) / p.size
    value = float((p - v.mean(axis=(1, 2))).mean())
    return shifted_interval(value, draws, bounds=SIGNED)


def misses_over_reruns(name: str, n: int, plan: Sampling, *, suites: int, seed: int) -> Misses:
    """Measure how often the gate is wrong if its threshold is the true drop of the n tasks.

    If copies are detected, the gate is inconclusive.
    """
    rng = generator(seed, "over reruns", name, str(n), plan.name)
    fails = passes = 0
    for number in range(suites):
        drawn = TRUTHS[name](n, (len(DISTANCES), plan.variants), rng)
        truth = float((drawn.original - drawn.variants.mean(axis=(1, 2))).mean())
        p, v, equal_pairs = sampled(drawn, plan, rng)
        if copied_answers(int(equal_pairs.sum())):
            continue
        low, high = drop_over_reruns(p, v, plan, seed + number)
        fails += low > truth + 1e-12
        passes += high < truth - 1e-12
    return Misses(fails=fails / suites, passes=passes / suites)
