"""Errors of gates on excess, E(0.3), robust pass and pass^4 whose thresholds are true figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from simulated_models import DISTANCES, Sampling
from truth_simulations import (
    EQUAL_PAIRS,
    TRUE_RATES,
    bounds_of,
    copied_answers,
    decisions,
    figures_of,
    hull,
    sampled,
)

from pytest_promptse.scoring._elasticity import area_weights
from pytest_promptse.scoring._intervals import generator, largest_lower_limit
from pytest_promptse.scoring._noise_floor import null_gap
from pytest_promptse.scoring._robustness import worst_case

if TYPE_CHECKING:
    from truth_simulations import Drawn

    from pytest_promptse.scoring._samples import Bools, Floats

FIGURES = ("excess", "E(0.3)", "robust pass", "pass^4")
_ATTEMPTS = 4


def other_misses(
    name: str, n: int, plan: Sampling, *, suites: int, size: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Return how often each gate fails and passes wrongly, in suites of n tasks.

    The threshold of excess is 1 minus the AUC-E of a model with infinitely many samples. There is
    no pass^4 with fewer than four samples.
    """
    rng = generator(seed, "other gates", name, str(n), plan.name)
    shape = (len(DISTANCES), plan.variants)
    truth = true_figures(TRUE_RATES[name](max(size // (plan.variants * 3), 20_000), shape, rng))
    p, v, pairs = sampled(TRUE_RATES[name](suites * n, shape, rng), plan, rng)
    found = {**figures_of(p, v, plan, pairs), "pass^4": _pass_hat(v, plan.samples)}
    by_suite = {figure: values.reshape(suites, n) for figure, values in found.items()}
    copied = np.array([copied_answers(int(total)) for total in by_suite[EQUAL_PAIRS].sum(axis=1)])
    errors = {}
    for figure, threshold in truth.items():
        if figure == "pass^4" and plan.samples < _ATTEMPTS:
            continue
        fails, passes = decisions(figure, by_suite[figure], threshold, plan, rng)
        if figure == "excess":
            fails = fails & ~copied
        if figure == "pass^4":
            passes = passes & ~copied
        if figure == "E(0.3)" and fails.any():
            least = _least_sensitivity(p, v, by_suite[figure], copied=copied, plan=plan, rng=rng)
            fails = fails & (least > 1.0 - threshold)
        errors[figure] = (float(fails.mean()), float(passes.mean()))
    return errors


def true_figures(drawn: Drawn) -> dict[str, float]:
    """Return the figures of the true rates, as means over the drawn tasks."""
    changes = np.abs(drawn.original[:, None, None] - drawn.variants).mean(axis=-1)
    rates = drawn.variants.reshape(drawn.original.size, -1)
    return {
        "excess": float((changes @ area_weights(DISTANCES)).mean()),
        "E(0.3)": 1.0 - float(changes[:, -1].mean()),
        "robust pass": float(worst_case(rates, min(5, rates.shape[1])).mean()),
        "pass^4": float((rates**_ATTEMPTS).mean()),
    }


def _pass_hat(v: Floats, samples: int) -> Floats:
    """Return pass^4 of each task: C(c, 4) / C(n, 4) for c passes of n samples of a variant."""
    passes = np.rint(v * samples)
    share = np.ones_like(v)
    for attempt in range(min(_ATTEMPTS, samples)):
        share = share * np.maximum(passes - attempt, 0.0) / (samples - attempt)
    return np.asarray(share.mean(axis=(1, 2)))


def _least_sensitivity(
    p: Floats,
    v: Floats,
    elasticity: Floats,
    *,
    copied: Bools,
    plan: Sampling,
    rng: np.random.Generator,
) -> Floats:
    """Return the limits of `scoring._noiseless.least_sensitivity` of E(0.3), shape (S,)."""
    m_p, m_v = plan.original_samples, plan.samples
    null = np.array([null_gap(m_p, m_v, k) for k in range(m_p + m_v + 1)])
    counts = np.rint(p * m_p).astype(int)[:, None] + np.rint(v[:, -1] * m_v).astype(int)
    floor = null[counts].mean(axis=-1).reshape(elasticity.shape).mean(axis=1)
    drop = (p - v[:, -1].mean(axis=-1)).reshape(elasticity.shape)
    low, high = hull(drop, bounds_of("area drop", plan), rng)
    most = hull(elasticity, bounds_of("E(0.3)", plan), rng)[1]
    limits = []
    for at in range(len(drop)):
        mean = float(drop[at].mean())
        estimates = [(mean, float(low[at])), (-mean, -float(high[at]))]
        if not copied[at]:
            excess = 1.0 - float(elasticity[at].mean()) - float(floor[at])
            # The noise floor varies far less than the elasticity and has no interval.
            estimates.append((excess, 1.0 - float(most[at]) - float(floor[at])))
        limits.append(largest_lower_limit(estimates, n=drop.shape[1]))
    return np.array(limits, dtype=np.float64)
