"""Frequency with which the interval and the gate of the odds ratio miss the known true value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, stdtrit
from simulated_models import DISTANCES, Sampling
from truth_simulations import TRUE_RATES, exact_limits, figures_of, sampled

from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._odds_ratio import Counts, _shrunken_shifts, count, estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.scoring._samples import Floats, Ints

# The mean effect of a variant in logits, an odds ratio of 0.67. Originals have 1.5 logits (a pass
# rate of 0.82) on average. Variants of a task differ by 0.4 logits.
_EFFECT, _LEVEL, _DIFFICULTY, _VARIANT = -0.4, 1.5, 1.5, 0.4


def _catastrophic(ease: Floats, rng: np.random.Generator) -> Floats:
    return np.where(rng.random(ease.size) < 0.05, -5.7, 0.3)  # noqa: PLR2004 - a share


# Distributions of the tasks' differences from the mean effect, given the standard normal ease of
# each task. Each has mean 0.
SENSITIVITIES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "all alike": lambda ease, _: np.zeros(ease.size),
    "normal, sd 0.7": lambda ease, rng: 0.7 * rng.normal(size=ease.size),
    "Student with 3 degrees": lambda ease, rng: 0.5 * rng.standard_t(3, ease.size),
    "two groups at ±1": lambda ease, rng: rng.choice((-1.0, 1.0), ease.size),
    "skewed, exponential": lambda ease, rng: 0.8 * (1.0 - rng.standard_exponential(ease.size)),
    "5 % lose 6 logits": _catastrophic,
    "the harder, the more, r = 0.7": lambda ease, rng: (
        0.7 * (0.7 * ease + 0.714 * rng.normal(size=ease.size))
    ),
    "only the harder half loses": lambda ease, _: np.where(ease < 0.0, _EFFECT, -_EFFECT),
}


@dataclass(frozen=True, kw_only=True)
class OddsRatioMisses:
    """Shares of suites in which the interval is entirely below or above the true odds ratio.

    A gate whose threshold is the true value fails falsely in the first case, if the exact interval
    is below it too: ``fails``. In the second case it would pass falsely, if it did not also take
    unseen tasks into account. ``mean`` is the mean of the log odds ratio.
    """

    below: float
    fails: float
    above: float
    mean: float


def _counts(name: str, n: int, plan: Sampling, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return passes and samples of the prompts of n tasks, each of shape (n, 1 + J)."""
    n_variants = len(DISTANCES) * plan.variants
    ease = rng.normal(size=n)
    base = _LEVEL + _DIFFICULTY * ease
    shift = _EFFECT + SENSITIVITIES[name](ease, rng)
    own = _VARIANT * rng.normal(size=(n, n_variants))
    rates = expit(np.column_stack([base, (base + shift)[:, None] + own]))
    sizes = np.array([plan.original_samples] + [plan.samples] * n_variants)
    return rng.binomial(sizes, rates), np.broadcast_to(sizes, rates.shape)


def odds_ratio_misses(
    name: str, n: int, plan: Sampling, *, suites: int, seed: int
) -> OddsRatioMisses:
    """Fit the model to suites of n tasks."""
    rng = generator(seed, "odds ratio", name, str(n), plan.name)
    below = fails = above = 0
    logs = []
    for _ in range(suites):
        passes, samples = _counts(name, n, plan, rng)
        prompts = [list(zip(*pair, strict=True)) for pair in zip(passes, samples, strict=True)]
        found = estimate(count(prompts, emotions=None))
        if found.value is None or found.ci95 is None or found.exact is None:
            raise SystemExit("a suite without an odds ratio")
        logs.append(math.log(found.value))
        below += found.ci95[1] < math.exp(_EFFECT)
        fails += found.exact[1] < math.exp(_EFFECT)
        above += found.ci95[0] > math.exp(_EFFECT)
    return OddsRatioMisses(
        below=below / suites,
        fails=fails / suites,
        above=above / suites,
        mean=float(np.mean(logs)),
    )


UNDEFINED = ("97 % spotless", "hardly solved", "p near 0 or 1")
"""Kinds of models with pass rates that are 0 or 1 as numbers, so their odds are no numbers."""


def true_rate_failures(
    name: str, n: int, plan: Sampling, *, suites: int, size: int, seed: int
) -> float:
    """Return how often the gate fails in suites of n >= 2 tasks, with the true odds ratio.

    The true odds ratio is the mean difference of the logits of all true rates, exponentiated. A
    gate is about losses, so the threshold is at most 1, and it fails only if the drop is above 0.
    It never passes over tasks.
    """
    rng = generator(seed, "true odds ratio", name, str(n), plan.name)
    shape = (len(DISTANCES), plan.variants)
    drawn = TRUE_RATES[name](max(size // (plan.variants * 3), 20_000), shape, rng)
    shifts = logit(drawn.variants) - logit(drawn.original)[:, None, None]
    threshold = min(1.0, math.exp(float(shifts.mean())))
    p, v, equal_pairs = sampled(TRUE_RATES[name](suites * n, shape, rng), plan, rng)
    drops = figures_of(p, v, plan, equal_pairs)["drop"].reshape(suites, n)
    sizes = np.array([plan.original_samples] + [plan.samples] * (len(DISTANCES) * plan.variants))
    rates = np.column_stack([p, v.reshape(p.size, -1)])
    passes = np.rint(rates * sizes).reshape(suites, n, -1)
    # The model takes long to fit, and the gate fails only if this limit is below the threshold.
    of_task = _shrunken_shifts(_counts_of(passes.reshape(suites * n, -1), sizes))
    of_task = of_task.reshape(suites, n)
    half = stdtrit(n - 1, 0.975) * of_task.std(axis=1, ddof=1) / math.sqrt(n)
    may_fail = of_task.mean(axis=1) + half < math.log(threshold)
    least = np.minimum(0.0, drops.min(axis=1))
    may_fail &= exact_limits(drops, (least, 1.0), rng)[0] > 0.0
    fails = 0
    for of_suite in passes[may_fail]:
        exact = estimate(_counts_of(of_suite, sizes)).exact
        fails += exact is not None and exact[1] < threshold
    return fails / suites


def _counts_of(passes: Floats, sizes: Ints) -> Counts:
    return Counts(
        passes=passes,
        samples=np.broadcast_to(sizes, passes.shape).astype(np.float64),
        emotions=np.zeros((len(passes), sizes.size - 1), dtype=np.int64),
        n_emotions=0,
    )


def library_misses(name: str, n: int, plan: Sampling, *, suites: int, seed: int) -> OddsRatioMisses:
    """Fit the same model by variational Bayes with statsmodels.

    The function is ``BinomialBayesMixedGLM.fit_vb``. The interval is the posterior's mean plus and
    minus 1.96 standard deviations.
    """
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - only here
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM  # noqa: PLC0415

    rng = generator(seed, "odds ratio", name, str(n), plan.name)
    below = above = 0
    values = []
    for _ in range(suites):
        passes, samples = _counts(name, n, plan, rng)
        prompt = np.repeat(np.arange(passes.size), samples.ravel())
        outcome = np.concatenate(
            [np.arange(m) < k for k, m in zip(passes.ravel(), samples.ravel(), strict=True)]
        ).astype(float)
        task, column = np.divmod(prompt, passes.shape[1])
        variant = (column > 0).astype(float)
        rows = np.arange(prompt.size)

        def columns(values: Floats, at: Ints, rows: Ints = rows) -> csr_matrix:
            return csr_matrix((values, (rows, at)))

        parts = [
            columns(np.ones(rows.size), task),
            columns(variant, task),
            columns(variant, prompt),
        ]
        model = BinomialBayesMixedGLM(
            outcome,
            np.column_stack([np.ones(rows.size), variant]),
            csr_matrix(np.hstack([part.toarray() for part in parts])),
            np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts]),
            vcp_p=1.0,
            fe_p=10.0,
        )
        found = model.fit_vb()
        middle, half = float(found.fe_mean[1]), 1.96 * float(found.fe_sd[1])
        values.append(middle)
        below += middle + half < _EFFECT
        above += middle - half > _EFFECT
    return OddsRatioMisses(
        below=below / suites,
        fails=below / suites,
        above=above / suites,
        mean=float(np.mean(values)),
    )
