"""Simulated models whose true pass rates are known for every variant of every task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from pytest_promptse.scoring._elasticity import auc_e, elasticity, light_elasticity
from pytest_promptse.scoring._noise_floor import null_gap
from pytest_promptse.scoring._samples import Samples, TaskSamples

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.scoring._samples import Floats

DISTANCES = (0.1, 0.2, 0.3)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The numbers of a preset: variants per distance, samples of a variant, of the original."""

    name: str
    variants: int
    samples: int
    original_samples: int


SMOKE = Sampling(name="smoke", variants=1, samples=2, original_samples=8)
CI = Sampling(name="ci", variants=4, samples=8, original_samples=32)
PAPER = Sampling(name="paper", variants=30, samples=16, original_samples=64)
PRESETS = (SMOKE, CI, PAPER)


def stable(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Variants have no effect; tasks differ in difficulty."""
    q = rng.beta(5, 1, n)
    return q, np.broadcast_to(q[:, None, None], (n, *shape))


def middling(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Tasks of medium difficulty, in which every variant has its own effect."""
    q = rng.beta(2, 2, n)
    return q, _shifted(q, 0.8, shape, rng)


def mixed(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Half of the tasks always solved, a fifth never, the rest anywhere in between."""
    kind = rng.choice(3, n, p=(0.5, 0.2, 0.3))
    q = np.choose(kind, (np.full(n, 0.99), np.full(n, 0.02), rng.random(n)))
    return q, _shifted(q, 0.8, shape, rng)


def rare(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Nearly all tasks are solved in any variant; one in twelve breaks in half of its variants."""
    q = np.full(n, 0.97)
    broken = rng.binomial(1, 1 / 12, (n, 1, 1)) * rng.binomial(1, 1 / 2, (n, *shape))
    return q, np.where(broken == 1, 0.1, 0.97)


def _shifted(q: Floats, spread: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    noise = spread * rng.normal(size=(q.size, *shape))
    return np.asarray(expit(logit(np.clip(q, 1e-3, 1 - 1e-3))[:, None, None] + noise))


POPULATIONS: dict[str, Callable[..., tuple[Floats, Floats]]] = {
    "stable": stable,
    "middling": middling,
    "mixed": mixed,
    "rare breaks": rare,
}


@dataclass(frozen=True)
class Rates:
    """True pass rates of n tasks: originals (n,), variants (n, D, K)."""

    original: Floats
    variants: Floats


def draw_tasks(population: str, plan: Sampling, n: int, rng: np.random.Generator) -> Rates:
    """Draw n tasks with the true pass rates of all their variants."""
    return Rates(*POPULATIONS[population](n, (len(DISTANCES), plan.variants), rng))


def measured_rates(rates: Rates, plan: Sampling, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Sample the model and return pass rates, of the shapes of `rates`."""
    p = rng.binomial(plan.original_samples, rates.original) / plan.original_samples
    return p, rng.binomial(plan.samples, rates.variants) / plan.samples


def measure(rates: Rates, plan: Sampling, rng: np.random.Generator) -> dict[str, Floats]:
    """Sample the model and return one value per task, shape (n,), of every figure."""
    p, v = measured_rates(rates, plan, rng)
    passes_p = np.rint(p * plan.original_samples).astype(int)
    passes_v = np.rint(v * plan.samples).astype(int)
    full = elasticity(p[:, None], v)
    light = light_elasticity(p[:, None], v)
    table = _null_table(plan.original_samples, plan.samples)
    null = 1.0 - table[passes_p[:, None, None] + passes_v].mean(axis=-1)
    pooled = _null_table(plan.original_samples, plan.variants * plan.samples)
    light_null = 1.0 - pooled[passes_p[:, None] + passes_v.sum(axis=-1)]
    return {
        "AUC-E": auc_e(full, DISTANCES),
        "E(0.3)": full[:, -1],
        "excess": auc_e(null - full, DISTANCES),
        "light AUC-E": auc_e(light, DISTANCES),
        "light excess": auc_e(light_null - light, DISTANCES),
        "null": auc_e(null, DISTANCES),
        "pass@1": p,
    }


def _null_table(m_p: int, m_v: int) -> Floats:
    return np.array([null_gap(m_p, m_v, k) for k in range(m_p + m_v + 1)])


def simulated_suite(rates: Rates, plan: Sampling, rng: np.random.Generator) -> list[TaskSamples]:
    """Sample a model that is more confident of programs that pass. Return the input of scoring."""

    def samples(rate: float, m: int) -> Samples:
        passed = rng.random(m) < rate
        n_tokens = rng.integers(30, 90, m)
        per_token = np.where(passed, -0.25, -0.35) + 0.1 * rng.normal(size=m)
        logprob = np.asarray(np.minimum(per_token, 0.0) * n_tokens, dtype=np.float64)
        return Samples(passed, logprob, n_tokens)

    return [
        TaskSamples(
            f"task-{index}",
            samples(rates.original[index], plan.original_samples),
            {
                d: [samples(rate, plan.samples) for rate in rates.variants[index, at]]
                for at, d in enumerate(DISTANCES)
            },
        )
        for index in range(rates.original.size)
    ]
