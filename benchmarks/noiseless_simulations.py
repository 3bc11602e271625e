"""Errors of the gates on shortfall and flips, whose thresholds are figures of the true rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
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
from pytest_promptse.scoring._intervals import (
    WORST,
    generator,
    largest_lower_limit,
    share_interval,
    shortfall,
)
from pytest_promptse.scoring._robustness import majority_flips, one_sided_drop

if TYPE_CHECKING:
    from truth_simulations import Drawn

    from pytest_promptse.scoring._samples import Floats

FIGURES = ("shortfall", "flips")
_LEVEL = 0.025
_ROUNDING = 1e-9


def noiseless_misses(
    name: str, n: int, plan: Sampling, *, suites: int, size: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Return how often each gate fails and passes wrongly, in suites of n tasks."""
    rng = generator(seed, "noiseless", name, str(n), plan.name)
    shape = (len(DISTANCES), plan.variants)
    truth = true_figures(TRUE_RATES[name](max(size // (plan.variants * 3), 20_000), shape, rng))
    p, v, pairs = sampled(TRUE_RATES[name](suites * n, shape, rng), plan, rng)
    found = figures_of(p, v, plan, pairs)
    by_suite = {figure: values.reshape(suites, n) for figure, values in found.items()}
    least = noiseless_limits(p, v, by_suite["area drop"], plan, rng)
    copied = np.array([copied_answers(int(total)) for total in by_suite[EQUAL_PAIRS].sum(axis=1)])
    errors = {}
    for figure, threshold in truth.items():
        fails, passes = decisions(figure, by_suite[figure], threshold, plan, rng)
        fails = fails & (least[figure] > threshold + _ROUNDING)
        if figure == "shortfall":
            fails = fails & ~copied
        errors[figure] = (float(fails.mean()), float(passes.mean()))
    return errors


def true_figures(drawn: Drawn) -> dict[str, float]:
    """Return the figures of the true rates, as means over the drawn tasks."""
    by_distance = [
        one_sided_drop(drawn.original, drawn.variants[:, at]) for at in range(len(DISTANCES))
    ]
    lost = np.stack(by_distance, axis=1) @ area_weights(DISTANCES)
    flips = [majority_flips(drawn.original, drawn.variants[:, at]) for at in range(len(DISTANCES))]
    return {
        "shortfall": shortfall(lost, WORST),
        "flips": float(np.max(flips, axis=0).mean()),
    }


def noiseless_limits(
    p: Floats, v: Floats, area_drop: Floats, plan: Sampling, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the limits of `scoring._noiseless` of S suites of n tasks, shape (S,) each.

    Parameters
    ----------
    p, v
        Pass rates of the originals of all tasks, and of their variants.
    area_drop
        Shape (S, n): the drop of each task, with the weights of AUC-E.
    plan, rng
        The preset, and the source of resamples.
    """
    suites, n = area_drop.shape
    flips = _least_flips(p, v, plan, n=n).reshape(suites, n).mean(axis=1)
    return {"shortfall": _least_shortfall(p, v, area_drop, plan, rng), "flips": flips}


def _least_shortfall(
    p: Floats, v: Floats, area_drop: Floats, plan: Sampling, rng: np.random.Generator
) -> Floats:
    suites, n = area_drop.shape
    w = area_weights(DISTANCES)
    pooled = 1.0 / float((w**2).sum() / (plan.variants * plan.samples))
    reworded = v.mean(axis=2) @ w
    tail = _LEVEL / (2 * n)
    low, _ = _wilson(p, plan.original_samples, tail)
    _, most = _wilson(np.minimum(reworded, 1.0), pooled, tail)
    lows = np.maximum(-1.0, p - reworded - np.hypot(p - low, most - reworded)).reshape(suites, n)
    plain = hull(area_drop, bounds_of("area drop", plan), rng)[0]
    of_drop = [
        largest_lower_limit([(float(values.mean()), float(limit))], n=n, among=2)
        for values, limit in zip(area_drop, plain, strict=True)
    ]
    own = [shortfall(values, WORST) for values in lows]
    return np.maximum(np.array(of_drop, dtype=np.float64), own)


def _wilson(share: Floats, n: float, tail: float) -> tuple[Floats, Floats]:
    z = -ndtri(tail)
    centre = share + z**2 / (2 * n)
    half = z * np.sqrt(share * (1.0 - share) / n + (z / (2 * n)) ** 2)
    low, high = ((centre + sign * half) / (1.0 + z**2 / n) for sign in (-1.0, 1.0))
    return np.where(share > 0.0, low, 0.0), np.where(share < 1.0, high, 1.0)


def _least_flips(p: Floats, v: Floats, plan: Sampling, *, n: int) -> Floats:
    """Return whether the limits of each task show a flip, shape (N,)."""
    n_rates = n * (1 + len(DISTANCES))

    def limits(rates: Floats, m: int) -> Floats:
        table = np.array([share_interval(k, m, comparisons=n_rates) for k in range(m + 1)])
        return np.asarray(table[np.rint(rates * m).astype(int)])

    original = limits(p, plan.original_samples)[:, None]
    variants = limits(v.mean(axis=2), plan.variants * plan.samples)
    down = (original[..., 0] >= 0.5) & (variants[..., 1] < 0.5)  # noqa: PLR2004 - the majority
    up = (original[..., 1] < 0.5) & (variants[..., 0] >= 0.5)  # noqa: PLR2004 - likewise
    return np.asarray((down | up).any(axis=1), dtype=np.float64)
