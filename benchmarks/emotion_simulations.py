"""Coverage of intervals over tasks, and over tasks and emotions, for other emotions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gate_simulations import Misses
from scipy.special import expit, logit
from simulated_models import DISTANCES, Rates, Sampling, measure

from pytest_promptse.scoring._estimates import Resampling, variant_elasticity
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._task_score import Plan, measure_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.scoring._samples import Floats, Ints

EMOTIONS = 8


def _none(n: int, rng: np.random.Generator) -> Floats:  # noqa: ARG001 - one of several populations
    return np.zeros(n)


def _normal(n: int, rng: np.random.Generator) -> Floats:
    return 0.8 * rng.normal(size=n)


def _rare(n: int, rng: np.random.Generator) -> Floats:
    return np.where(rng.random(n) < 1 / 8, -10.0, 0.0)


# The effects of emotions in logits, which all tasks share.
EFFECTS: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "emotions do not matter": _none,
    "normal effects, sd 0.8": _normal,
    "one emotion in eight breaks all": _rare,
}


def _rates(n: int, effects: Floats, emotions: Ints, rng: np.random.Generator) -> Rates:
    q = np.clip(rng.beta(5, 1, n), 1e-3, 1.0 - 1e-3)
    return Rates(q, np.asarray(expit(logit(q)[:, None, None] + effects[emotions])))


def _truth(name: str, plan: Sampling, size: int, rng: np.random.Generator) -> float:
    """Return the expectation of AUC-E over tasks, emotions and samples."""
    shape = (size, len(DISTANCES), plan.variants)
    effects = EFFECTS[name](size * len(DISTANCES) * plan.variants, rng)
    rates = _rates(size, effects, np.arange(effects.size).reshape(shape), rng)
    return float(measure(rates, plan, rng)["AUC-E"].mean())


def _samples(rate: float, m: int, rng: np.random.Generator) -> Samples:
    return Samples(rng.random(m) < rate)


def over_emotions(
    name: str, n: int, plan: Sampling, *, suites: int, size: int, resamples: int, seed: int
) -> dict[str, Misses]:
    """Score suites of n tasks, each suite with eight new random emotions.

    Returns
    -------
    dict
        For the intervals ``tasks`` and ``tasks+emotions``, how often a confident gate on AUC-E
        fails or passes. Its threshold is the expectation over tasks and emotions.
    """
    how = Plan(
        distances=DISTANCES,
        mode="promptse",
        weighting="uniform",
        permutations=1,
        seed=seed,
        looks=1,
    )
    rng = generator(seed, "over emotions", name, str(n), plan.name)
    truth = _truth(name, plan, size, rng)
    wrong = {"tasks": [0, 0], "tasks+emotions": [0, 0]}
    for number in range(suites):
        effects = EFFECTS[name](EMOTIONS, rng)
        emotions = rng.integers(EMOTIONS, size=(n, len(DISTANCES), plan.variants))
        rates = _rates(n, effects, emotions, rng)
        tasks = [
            TaskSamples(
                f"task-{index}",
                _samples(rates.original[index], plan.original_samples, rng),
                {
                    d: [_samples(rate, plan.samples, rng) for rate in rates.variants[index, at]]
                    for at, d in enumerate(DISTANCES)
                },
                {d: [str(e) for e in emotions[index, at]] for at, d in enumerate(DISTANCES)},
            )
            for index in range(n)
        ]
        scores = [measure_task(task, how).score for task in tasks]
        names = {task.task_id: task.emotions for task in tasks if task.emotions is not None}
        for scope, counts in wrong.items():
            score = Resampling(
                resamples=resamples,
                seed=number,
                looks=1,
                emotions=names if scope == "tasks+emotions" else None,
            ).estimate(
                ("auc_e",),
                [one.elasticity for one in scores],
                DISTANCES,
                by_variant=(scores, variant_elasticity),
            )
            if score.ci95 is None or score.exact is None:
                raise SystemExit(f"a suite of {n} tasks without intervals")
            counts[0] += max(score.ci95[1], score.exact[1]) < truth
            counts[1] += min(score.ci95[0], score.exact[0]) > truth
    return {
        scope: Misses(fails=fails / suites, passes=passes / suites)
        for scope, (fails, passes) in wrong.items()
    }
