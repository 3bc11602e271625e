"""Frequency with which each gate finds a loss, in all tasks or in some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from noiseless_simulations import noiseless_limits
from simulated_models import DISTANCES, Sampling
from truth_simulations import FIGURES, Drawn, figures_of, gate_fails, judged, sampled, task_figures

from pytest_promptse.scoring._intervals import WORST, generator

if TYPE_CHECKING:
    from pytest_promptse.scoring._samples import Bools


def power_of(
    drop: float, broken: float, n: int, plan: Sampling, *, suites: int, size: int, seed: int = 0
) -> dict[str, float]:
    """Return how often each gate fails if a share of tasks loses `drop` in every variant.

    The threshold of each gate is the score of the same model without the loss, so every failure is
    right. Originals have true rates of 0.2 + 0.8 Beta(4, 1).

    Parameters
    ----------
    drop
        Decrease of the true pass rate of the variants of a broken task.
    broken
        The share of tasks that break.
    """
    rng = generator(seed, "power", str(drop), str(broken), str(n), plan.name)
    shape = (len(DISTANCES), plan.variants)

    def draw(count: int, share: float) -> Drawn:
        q = 0.2 + 0.8 * rng.beta(4, 1, count)
        hit = rng.random((count, 1, 1)) < share
        v = np.broadcast_to(q[:, None, None], (count, *shape))
        return Drawn(q, np.where(hit, np.clip(v - drop, 0.0, 1.0), v), np.zeros(0, dtype=np.int64))

    before = task_figures(draw(max(20_000, size // plan.variants), 0.0), plan, rng)
    limits = {figure: float(values.mean()) for figure, values in before.items()}
    worst = np.sort(before["shortfall"])[::-1]
    limits["shortfall"] = float(worst[: round(WORST * worst.size)].mean())
    p, v, equal_pairs = sampled(draw(suites * n, broken), plan, rng)
    after = {
        figure: values.reshape(suites, n)
        for figure, values in figures_of(p, v, plan, equal_pairs).items()
    }
    least = noiseless_limits(p, v, after["area drop"], plan, rng)

    def fails(figure: str) -> Bools:
        by_limits = gate_fails(figure, after, limits[figure], plan, rng)
        return np.asarray(by_limits & (least.get(figure, np.inf) > limits[figure]))

    alone = judged("AUC-E", after["AUC-E"], limits["AUC-E"], plan, rng).fails
    found = {f: float(np.mean(fails(f))) for f in FIGURES if f not in ("AUC-E", "pass@1")}
    return {**found, "AUC-E": alone, "AUC-E's gate": float(np.mean(fails("AUC-E")))}
