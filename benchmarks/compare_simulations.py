"""Verdicts of comparisons of two simulated runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from simulated_models import DISTANCES, Rates, Sampling, measure, measured_rates

from pytest_promptse.scoring._compare import compare_runs
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._pairing import RecordedPrompt, RecordedTask

if TYPE_CHECKING:
    from pytest_promptse.scoring._samples import Floats


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """Shares of comparisons."""

    passes: float
    inconclusive: float
    fails: float


def models(n: int, loss: float, plan: Sampling, rng: np.random.Generator) -> tuple[Rates, Rates]:
    """Draw n tasks with the true rates of two models: a baseline, and one whose variants lost."""
    q = 0.4 + 0.6 * rng.beta(4, 1, n)
    shape = (n, len(DISTANCES), plan.variants)
    variants = np.clip(q[:, None, None] - 0.1 * rng.random(shape), 0, 1)
    return Rates(q, variants), Rates(q, np.clip(variants - loss, 0, 1))


def recorded(rates: Rates, plan: Sampling, rng: np.random.Generator) -> list[RecordedTask]:
    """Sample a model and return the pass rates as in a record."""
    p, v = measured_rates(rates, plan, rng)
    return [
        RecordedTask(
            task_id=f"task-{index}",
            original=_variant(p[index], 0.0, plan.original_samples),
            variants={
                f"d{d:g}-{k}": _variant(v[index, at, k], d, plan.samples)
                for at, d in enumerate(DISTANCES)
                for k in range(plan.variants)
            },
        )
        for index in range(p.size)
    ]


def _variant(rate: float, distance: float, n: int) -> RecordedPrompt:
    return RecordedPrompt(distance=distance, n=n, pass_rate=rate, score=rate, ess=float(n))


def true_loss(loss: float, plan: Sampling, size: int, *, seed: int) -> float:
    """Return the expected decrease of AUC-E if the variants lose `loss`."""
    rng = generator(seed, "true loss", str(loss), plan.name)
    pair = models(size, loss, plan, rng)
    values: list[Floats] = [measure(rates, plan, rng)["AUC-E"] for rates in pair]
    return float(values[0].mean() - values[1].mean())


def comparisons(
    loss: float,
    margin: float,
    n: int,
    plan: Sampling,
    *,
    suites: int,
    resamples: int,
    seed: int,
    metric: str = "auc_e",
) -> Verdicts:
    """Compare pairs of runs of n tasks, in which the current one lost `loss` on its variants."""
    rng = generator(seed, "compare", str(loss), str(margin), str(n), plan.name)
    found = []
    for number in range(suites):
        before, after = models(n, loss, plan, rng)
        verdict = compare_runs(
            recorded(after, plan, rng),
            recorded(before, plan, rng),
            metric,
            mode="promptse",
            distances=DISTANCES,
            margin=margin,
            seed=number,
            resamples=resamples,
        ).verdict
        found.append(verdict)
    return Verdicts(
        passes=found.count("pass") / suites,
        inconclusive=found.count("inconclusive") / suites,
        fails=found.count("fail") / suites,
    )
