"""Error rates of confident gates for many kinds of models, with suites computed in bulk.

Every kind of model (a *truth*) draws tasks with the true pass rates of all their prompts. A gate's
threshold is exactly the estimand, so every verdict except *inconclusive* is wrong. The bulk
computation repeats the formulas of `scoring.intervals` for thousands of suites at once. For each
cell, one suite is also computed with the package itself, and the script stops if the two disagree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, stdtrit
from simulated_models import DISTANCES, Sampling

from pytest_promptse.scoring._copies import Answers
from pytest_promptse.scoring._elasticity import area_weights
from pytest_promptse.scoring._intervals import (
    WORST,
    drop_bounds,
    exact_interval,
    generator,
    largest_lower_limit,
    mean_interval,
    share_interval,
)
from pytest_promptse.scoring._noise_floor import null_gap
from pytest_promptse.scoring._robustness import squared_sensitivity, worst_case
from pytest_promptse.scoring._samples import Samples, TaskSamples

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.scoring._samples import Bools, Floats, Ints
    from pytest_promptse.scoring._scores import Estimate

EMOTIONS = 8
_RESAMPLES = 1999
_LOGIT = 1e-3


@dataclass(frozen=True)
class Drawn:
    """True pass rates of N tasks: originals (N,), variants (N, D, K); emotions (N, D, K).

    ``copies`` is the probability that a sample repeats the one before it.
    """

    original: Floats
    variants: Floats
    emotions: Ints
    copies: float = 0.0


def _shift(q: Floats, by: Floats) -> Floats:
    return np.asarray(expit(logit(np.clip(q, _LOGIT, 1 - _LOGIT))[:, None, None] + by))


def _emotions(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    return np.asarray(rng.integers(EMOTIONS, size=(n, *shape)))


def _happens(share: float, shape: tuple[int, ...], rng: np.random.Generator) -> Bools:
    return np.asarray(rng.random(shape) < share)


def stable(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Variants have no effect; pass rates from Beta(5, 1)."""
    q = rng.beta(5, 1, n)
    return Drawn(q, np.broadcast_to(q[:, None, None], (n, *shape)), _emotions(n, shape, rng))


def heavy_tailed(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Pass rates from Beta(2, 1). Each task has its own sensitivity, Pareto with index 1.5."""
    q = rng.beta(2, 1, n)
    spread = 0.2 * (1.0 + rng.pareto(1.5, n))
    noise = spread[:, None, None] * rng.normal(size=(n, *shape))
    return Drawn(q, _shift(q, noise), _emotions(n, shape, rng))


def catastrophic(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Pass rates from Beta(8, 1), but in 5 % of the tasks no variant ever passes."""
    q = rng.beta(8, 1, n)
    broken = _happens(0.05, (n, 1, 1), rng)
    v = np.where(broken, 0.0, np.broadcast_to(q[:, None, None], (n, *shape)))
    return Drawn(np.where(broken[:, 0, 0], 1.0, q), v, _emotions(n, shape, rng))


def emotion_effects(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Each of eight emotions moves all tasks alike, by fixed amounts of up to 1.2 logits."""
    effects = 0.8 * np.array([-1.5, -0.9, -0.5, -0.1, 0.1, 0.3, 0.6, 0.9])
    return _with_emotions(n, shape, rng, effects)


def one_emotion(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """One emotion of eight breaks every task; the others change nothing."""
    effects = np.zeros(EMOTIONS)
    effects[0] = -10.0
    return _with_emotions(n, shape, rng, effects)


def _with_emotions(
    n: int, shape: tuple[int, ...], rng: np.random.Generator, effects: Floats
) -> Drawn:
    q = rng.beta(5, 1, n)
    emotions = _emotions(n, shape, rng)
    return Drawn(q, _shift(q, effects[emotions]), emotions)


def extremes(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Pass rates near 0 or 1, from Beta(0.1, 0.1). Variants move them by 1 logit."""
    q = rng.beta(0.1, 0.1, n)
    return Drawn(q, _shift(q, rng.normal(size=(n, *shape))), _emotions(n, shape, rng))


def spotless(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """In 97 % of the tasks every prompt always passes; in 3 % no variant does."""
    broken = _happens(0.03, (n, 1, 1), rng)
    v = np.where(broken, 0.0, np.ones((n, *shape)))
    return Drawn(np.ones(n), v, _emotions(n, shape, rng))


def hardly_solved(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """In 95 % of the tasks nothing ever passes; the rest pass in half of the variants."""
    solved = _happens(0.05, (n,), rng)
    half = solved[:, None, None] & _happens(0.5, (n, *shape), rng)
    return Drawn(solved.astype(np.float64), half.astype(np.float64), _emotions(n, shape, rng))


def rare_gains(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Variants are 0.15 below the original, but in 10 % of the tasks they change nothing."""
    q = 0.3 + 0.7 * rng.beta(4, 1, n)
    spared = _happens(0.1, (n, 1, 1), rng)
    v = np.broadcast_to(q[:, None, None], (n, *shape))
    return Drawn(q, np.where(spared, v, v - 0.15), _emotions(n, shape, rng))


def rare_breaks(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """All at 0.97, but in one task of twelve half of the variants drop to 0.1."""
    broken = _happens(1 / 12, (n, 1, 1), rng) & _happens(0.5, (n, *shape), rng)
    return Drawn(np.full(n, 0.97), np.where(broken, 0.1, 0.97), _emotions(n, shape, rng))


def hard_tasks(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Pass rates from Beta(2, 1). Tasks below one half lose half of their rate, others nothing."""
    q = rng.beta(2, 1, n)
    kept = np.where(q < 0.5, 0.5, 1.0)  # noqa: PLR2004 - the hard half
    v = np.broadcast_to((q * kept)[:, None, None], (n, *shape))
    return Drawn(q, v, _emotions(n, shape, rng))


def half(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Pass rates from Beta(2, 1), and variants pass half as often: drops are skewed to the left."""
    q = rng.beta(2, 1, n)
    return Drawn(q, np.broadcast_to(q[:, None, None] / 2.0, (n, *shape)), _emotions(n, shape, rng))


def gains(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Pass rates from Beta(2, 1), and variants solve half of what the original fails."""
    q = rng.beta(2, 1, n)
    v = np.broadcast_to((0.5 + 0.5 * q)[:, None, None], (n, *shape))
    return Drawn(q, v, _emotions(n, shape, rng))


def one_voice(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """One emotion of eight breaks every task, but only with one trait in four."""
    q = rng.beta(5, 1, n)
    emotions = _emotions(n, shape, rng)
    hit = (emotions == 0) & _happens(0.25, (n, *shape), rng)
    return Drawn(q, np.where(hit, 0.05 * q[:, None, None], q[:, None, None]), emotions)


def middle_level(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Variants lose 0.2 at the middle distance, and nothing at the others."""
    q = 0.2 + 0.8 * rng.beta(5, 1, n)
    loss = np.zeros((1, shape[0], 1))
    loss[0, shape[0] // 2] = 0.2
    v = np.broadcast_to(q[:, None, None] - loss, (n, *shape))
    return Drawn(q, v, _emotions(n, shape, rng))


def copied(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Drawn:
    """Like *stable*, but 30 % of the samples repeat the one before."""
    drawn = stable(n, shape, rng)
    return Drawn(drawn.original, drawn.variants, drawn.emotions, copies=0.3)


TRUTHS: dict[str, Callable[[int, tuple[int, ...], np.random.Generator], Drawn]] = {
    "stable": stable,
    "heavy-tailed sensitivity": heavy_tailed,
    "5 % catastrophic": catastrophic,
    "emotion effects": emotion_effects,
    "one emotion breaks all": one_emotion,
    "p near 0 or 1": extremes,
    "97 % spotless": spotless,
    "hardly solved": hardly_solved,
    "rare gains": rare_gains,
    "rare breaks": rare_breaks,
    "copied samples": copied,
}


TRUE_RATES = {
    "stable at 0.6": lambda n, shape, rng: Drawn(
        np.full(n, 0.6), np.full((n, *shape), 0.6), _emotions(n, shape, rng)
    ),
    **{name: TRUTHS[name] for name in TRUTHS if name not in ("5 % catastrophic", "rare gains")},
    "hard tasks lose half": hard_tasks,
    "all tasks lose half": half,
    "gains": gains,
    "one emotion with one trait": one_voice,
    "only the middle distance": middle_level,
}
"""Kinds of models for thresholds based on true rates, with a stable model of a medium pass rate."""


def pass_rates(
    rates: Floats, m: int, copies: float, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Draw m samples of each prompt. Return pass rates and pairs of equal answers, shaped alike.

    Answers that are no copies differ.
    """
    if not copies:
        return np.asarray(rng.binomial(m, rates) / m), np.zeros(rates.shape, dtype=np.int64)
    sample = rng.random(rates.shape) < rates
    passes = sample.astype(np.int64)
    equal, pairs = np.zeros((2, *rates.shape), dtype=np.int64)
    for _ in range(m - 1):
        is_copy = rng.random(rates.shape) < copies
        sample = np.where(is_copy, sample, rng.random(rates.shape) < rates)
        passes += sample
        equal = np.where(is_copy, equal + 1, 0)
        pairs += equal
    return np.asarray(passes / m), pairs


def copied_answers(equal_pairs: int) -> bool:
    """Return whether so many pairs of equal answers are detected as copies."""
    return Answers(n=0, distinct=0, equal_pairs=equal_pairs, expected_pairs=0.0).copied


@lru_cache
def _null_table(m_p: int, m_v: int) -> Floats:
    return np.array([null_gap(m_p, m_v, k) for k in range(m_p + m_v + 1)])


# The figures of true rates, and their metrics.
TRUE_FIGURES = {
    "AUC-E": "auc_e",
    "drop": "drop",
    "squared sensitivity": "squared_sensitivity",
    "pass@1": "pass_at_1",
}
EQUAL_PAIRS = "equal pairs"
# The figures with an upper bound as their gate, and the smallest value of each if it is not 0.
LESS_IS_BETTER = ("excess", "drop", "squared sensitivity", "shortfall", "flips")
FIGURES = (
    "AUC-E",
    "E(0.3)",
    "light AUC-E",
    "excess",
    "drop",
    "squared sensitivity",
    "robust pass",
    "shortfall",
    "flips",
    "pass@1",
)


def task_figures(drawn: Drawn, plan: Sampling, rng: np.random.Generator) -> dict[str, Floats]:
    """Sample the model and return one value per task, shape (N,), of every figure."""
    p, v, equal_pairs = sampled(drawn, plan, rng)
    return figures_of(p, v, plan, equal_pairs)


def sampled(drawn: Drawn, plan: Sampling, rng: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Sample the model.

    Return pass rates of the shapes of `drawn.original` and its variants, and the number of pairs of
    equal answers of each task.
    """
    p, of_original = pass_rates(drawn.original, plan.original_samples, drawn.copies, rng)
    v, of_variants = pass_rates(drawn.variants, plan.samples, drawn.copies, rng)
    return p, v, of_original + of_variants.sum(axis=(1, 2))


def figures_of(p: Floats, v: Floats, plan: Sampling, equal_pairs: Ints) -> dict[str, Floats]:
    """Return one value per task, shape (N,), of every figure.

    `p` has the pass rates of the originals, shape (N,), and `v` those of K variants at each of D
    distances, shape (N, D, K). `equal_pairs`, shape (N,), counts pairs of equal answers.
    """
    m_p, m_v = plan.original_samples, plan.samples
    w = area_weights(DISTANCES)
    gaps = p[:, None, None] - v
    counts = np.rint(p * m_p).astype(int)[:, None, None] + np.rint(v * m_v).astype(int)
    null = _null_table(m_p, m_v)[counts]
    full = 1.0 - np.abs(gaps).mean(axis=-1)
    solved, still = p >= 0.5 - 1e-9, v.mean(axis=-1) >= 0.5 - 1e-9
    n_variants = v.shape[1] * v.shape[2]
    found = {
        "AUC-E": full @ w,
        "E(0.3)": full[:, -1],
        "light AUC-E": (1.0 - np.abs(gaps.mean(axis=-1))) @ w,
        "excess": (np.abs(gaps) - null).mean(axis=-1) @ w,
        "drop": gaps.mean(axis=(1, 2)),
        "area drop": gaps.mean(axis=-1) @ w,
        "squared sensitivity": np.stack(
            [
                squared_sensitivity(p, v[:, at], m_p=np.full(p.shape, m_p), m_v=np.array([m_v]))
                for at in range(v.shape[1])
            ],
            axis=1,
        )
        @ w,
        "robust pass": worst_case(v.reshape(p.size, -1), min(5, n_variants)),
        "flips": (solved[:, None] != still).any(axis=1).astype(np.float64),
        "pass@1": p,
        EQUAL_PAIRS: equal_pairs.astype(np.float64),
    }
    found["shortfall"] = (np.maximum(gaps, 0.0) - null / 2.0).mean(axis=-1) @ w
    return found


def bounds_of(figure: str, plan: Sampling) -> tuple[float, float]:
    """Return the least and the largest value that a task can have."""
    noise = float(_null_table(plan.original_samples, plan.samples).max())
    least = {
        "excess": -noise,
        "drop": -1.0,
        "area drop": -1.0,
        "area gain": -1.0,
        "shortfall": -noise / 2.0,
        "squared sensitivity": -0.25 / (plan.original_samples - 1) - 0.25 / (plan.samples - 1),
    }
    return (least.get(figure, 0.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class Misses:
    """Shares of suites in which a gate whose threshold is the estimand fails or passes.

    ``fails`` and ``passes`` are those of the gate, for which the resampled and the exact interval
    must agree. ``plain_fails`` and ``plain_passes`` are those of the resampled interval alone.
    """

    fails: float
    passes: float
    plain_fails: float
    plain_passes: float


@lru_cache
def truth_of(name: str, plan: Sampling, *, size: int, seed: int) -> dict[str, float]:
    """Return the estimand of every figure: its expectation over tasks, variants and samples."""
    rng = generator(seed, "truth", name, plan.name)
    parts: list[dict[str, Floats]] = []
    step = 20_000
    for _ in range(max(1, size // step)):
        drawn = TRUTHS[name](step, (len(DISTANCES), plan.variants), rng)
        parts.append(task_figures(drawn, plan, rng))
    joined = {figure: np.concatenate([part[figure] for part in parts]) for figure in FIGURES}
    result = {figure: float(values.mean()) for figure, values in joined.items()}
    worst = np.sort(joined["shortfall"])[::-1]
    result["shortfall"] = float(worst[: round(WORST * worst.size)].mean())
    return result


def misses(
    name: str, n: int, plan: Sampling, *, suites: int, size: int, seed: int = 0
) -> dict[str, Misses]:
    """Draw suites of n tasks and count the errors of each gate."""
    truth = truth_of(name, plan, size=size, seed=seed)
    rng = generator(seed, "suites", name, str(n), plan.name)
    found: dict[str, list[Floats]] = {figure: [] for figure in FIGURES}
    step = max(1, 40_000 // (n * plan.variants))
    for start in range(0, suites, step):
        count = min(step, suites - start)
        drawn = TRUTHS[name](count * n, (len(DISTANCES), plan.variants), rng)
        values = task_figures(drawn, plan, rng)
        for figure, parts in found.items():
            parts.append(values[figure].reshape(count, n))
    return {
        figure: judged(figure, np.concatenate(parts), truth[figure], plan, rng)
        for figure, parts in found.items()
    }


def judged(
    figure: str, values: Floats, truth: float, plan: Sampling, rng: np.random.Generator
) -> Misses:
    plain, both = _limits(figure, values, plan, rng)
    fails, passes = _decided(figure, both, truth).mean(axis=1)
    plain_fails, plain_passes = _decided(figure, plain, truth).mean(axis=1)
    return Misses(
        fails=float(fails),
        passes=float(passes),
        plain_fails=float(plain_fails),
        plain_passes=float(plain_passes),
    )


def decisions(
    figure: str,
    values: Floats,
    threshold: float,
    plan: Sampling,
    rng: np.random.Generator,
    *,
    looks: int = 1,
) -> Bools:
    """Return whether the gate of each of S suites fails and passes, shape (2, S).

    The rule that noise fails no gate on AUC-E is left out.

    Parameters
    ----------
    figure, values
        The figure and its values, shape (S, n), of n tasks.
    threshold
        The threshold of the gate.
    plan, rng
        The preset, and the source of resamples.
    looks
        As in `scoring._intervals.mean_interval`.
    """
    _, both = _limits(figure, values, plan, rng, looks=looks)
    return _decided(figure, both, threshold)


def _limits(
    figure: str, values: Floats, plan: Sampling, rng: np.random.Generator, *, looks: int = 1
) -> tuple[Floats, Floats]:
    """Return the resampled limits of S suites, and those of both intervals; shape (2, S) each."""
    bounds = bounds_of(figure, plan)
    if figure == "flips":
        n = values.shape[1]
        table = np.array([share_interval(k, n) for k in range(n + 1)])
        plain = exact = table[values.sum(axis=1).astype(int)].T
    elif figure == "shortfall":
        plain = exact = shortfall_limits(values, bounds, rng)
    else:
        exact = exact_limits(values, bounds, rng, looks=looks)
        plain = _moved(hull(values, bounds, rng, looks=looks), exact, values)
        if figure == "drop":
            least = np.minimum(0.0, values.min(axis=1))
            exact = exact_limits(values, (least, bounds[1]), rng, looks=looks)
        if looks == 1:
            unseen = drop_bounds(values[0]) if figure == "drop" else bounds
            _check(values[0], bounds, unseen, plain[:, 0], exact[:, 0])
    return plain, _joined(plain, exact)


def _decided(figure: str, limits: Floats, threshold: float) -> Bools:
    """Return whether a gate fails and passes, shape (2, S), by limits of shape (2, S)."""
    slack = 1e-9
    below, above = limits[1] < threshold - slack, limits[0] > threshold + slack
    return np.stack([above, below] if figure in LESS_IS_BETTER else [below, above])


def true_rate_misses(
    name: str, n: int, plan: Sampling, *, suites: int, size: int, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Return how often gates fail and pass if thresholds are figures of the true rates themselves.

    The threshold of AUC-E is that without any sampling noise.
    """
    rng = generator(seed, "true rates", name, str(n), plan.name)
    truth, found = _in_true_rates(name, n, plan, suites=suites, size=size, rng=rng)
    errors = {}
    for figure, value in truth.items():
        threshold = settable(value)
        fails = float(np.mean(gate_fails(figure, found, threshold, plan, rng)))
        passes = judged(figure, found[figure], threshold, plan, rng).passes
        errors[figure] = (fails, passes if threshold == value else 0.0)
    return errors


def settable(value: float) -> float:
    """Return the threshold nearest to a true figure that a user can set.

    A drop below 0 is a gain. Its gate has the threshold 0, and passes such a model rightly.
    """
    return max(0.0, value)


def any_fails(
    name: str, n: int, plan: Sampling, *, gates: int, level: float, runs: int, size: int, seed: int
) -> tuple[float, float]:
    """Return how many runs of several suites fail, each gate alone and with a level for the run.

    Each suite has gates on the four figures of `true_rate_misses`, whose thresholds are the true
    figures, so each failure is wrong.

    Parameters
    ----------
    gates
        Number of gates of a run, a multiple of 4.
    level
        The level of the run, ``promptse_family_level``.
    runs
        Number of runs.
    """
    rng = generator(seed, "family", name, str(n), plan.name)
    suites = runs * gates // 4
    truth, found = _in_true_rates(name, n, plan, suites=suites, size=size, rng=rng)
    shares = []
    for looks in (1, math.ceil(gates * 0.025 / level)):
        fails = np.stack(
            [
                gate_fails(figure, found, settable(value), plan, rng, looks=looks)
                for figure, value in truth.items()
            ]
        )
        shares.append(float(fails.any(axis=0).reshape(runs, -1).any(axis=1).mean()))
    return shares[0], shares[1]


def _in_true_rates(
    name: str, n: int, plan: Sampling, *, suites: int, size: int, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return the figures of the true rates, and those of sampled suites, of shape (suites, n)."""
    shape = (len(DISTANCES), plan.variants)
    truth = true_figures(TRUE_RATES[name](max(size // (plan.variants * 3), 20_000), shape, rng))
    drawn = TRUE_RATES[name](suites * n, shape, rng)
    found = task_figures(drawn, plan, rng)
    return truth, {figure: values.reshape(suites, n) for figure, values in found.items()}


def true_figures(drawn: Drawn) -> dict[str, float]:
    w = area_weights(DISTANCES)
    gaps = drawn.original[:, None, None] - drawn.variants
    return {
        "AUC-E": float((1.0 - np.abs(gaps).mean(axis=-1) @ w).mean()),
        "drop": float(gaps.mean()),
        "squared sensitivity": float(((gaps**2).mean(axis=-1) @ w).mean()),
        "pass@1": float(drawn.original.mean()),
    }


def decided_by(figure: str, estimate: Estimate, threshold: float) -> tuple[bool, bool]:
    """Return whether the interval of a suite of one task fails and passes the true figure.

    A limit that equals the threshold is no error.
    """
    if estimate.ci95 is None:
        return False, False
    limits = np.array(estimate.ci95)
    fails, passes = _decided(figure, limits, threshold)
    return bool(fails), bool(passes)


def simulated_task(
    drawn: Drawn, plan: Sampling, rng: np.random.Generator
) -> tuple[TaskSamples, bool]:
    """Draw the samples of one task, with equal log-probabilities, for uniform weights.

    The second value is True if copies are detected. All gates of one task are inconclusive then.
    """
    p, v, equal_pairs = sampled(drawn, plan, rng)

    def samples(rate: float, m: int) -> Samples:
        return Samples(np.arange(m) < round(m * rate), np.full(m, -1.0), np.ones(m, dtype=np.int64))

    task = TaskSamples(
        "task",
        samples(float(p[0]), plan.original_samples),
        {
            d: [samples(float(rate), plan.samples) for rate in v[0, at]]
            for at, d in enumerate(DISTANCES)
        },
    )
    return task, copied_answers(int(equal_pairs[0]))


def gate_fails(
    figure: str,
    found: dict[str, Floats],
    threshold: float,
    plan: Sampling,
    rng: np.random.Generator,
    *,
    looks: int = 1,
) -> Bools:
    """Return for each suite whether the gate fails, as `run._gates` decides it.

    The gate on AUC-E fails only if a lower limit of the true sensitivity is beyond the threshold.
    If copies are detected, the figures that subtract the noise of independent samples do not count.
    """
    values = found[figure]
    fails = decisions(figure, values, threshold, plan, rng, looks=looks)[0]
    copied = np.array([copied_answers(int(pairs)) for pairs in found[EQUAL_PAIRS].sum(axis=1)])
    if figure == "squared sensitivity":
        return np.asarray(fails & ~copied)
    if figure != "AUC-E" or not fails.any():
        return np.asarray(fails)
    subtracting = ("excess", "squared sensitivity")
    by_task = {
        **{name: found[name] for name in (*subtracting, "area drop")},
        "area gain": -found["area drop"],
    }
    lows = {
        name: _limits(name, figures, plan, rng, looks=looks)[0][0]
        for name, figures in by_task.items()
    }
    n = values.shape[1]
    least = [
        largest_lower_limit(
            [
                (float(by_task[name][at].mean()), float(low[at]))
                for name, low in lows.items()
                if not (copied[at] and name in subtracting)
            ],
            n=n,
        )
        for at in range(len(fails))
    ]
    return np.asarray(fails & (np.array(least) > 1.0 - threshold))


def _joined(one: Floats, other: Floats) -> Floats:
    return np.stack([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])


def _moved(plain: Floats, exact: Floats, values: Floats) -> Floats:
    """Move the resampled limits of S suites towards the exact ones where tasks agree."""
    n = values.shape[1]
    ordered = np.sort(np.round(values, 9), axis=1)
    run = most = np.ones(values.shape[0])
    for at in range(1, n):
        run = np.where(ordered[:, at] == ordered[:, at - 1], run + 1.0, 1.0)
        most = np.maximum(most, run)
    weight = np.clip(2.0 * (most - 1.0) / (n - 1.0) - 0.5, 0.0, 1.0)
    return np.asarray(plain + weight * (_joined(plain, exact) - plain))


def hull(
    values: Floats, bounds: tuple[float, float], rng: np.random.Generator, *, looks: int = 1
) -> Floats:
    """Return the hull of the BCa and Student's intervals of S suites, shape (2, S).

    `values` has shape (S, n). The suites share their resamples. `looks` divides the level.
    """
    suites, n = values.shape
    mean, spread = values.mean(axis=1), values.std(axis=1, ddof=1)
    quantile = float(stdtrit(n - 1, 1.0 - 0.025 / looks))
    half = quantile * spread / np.sqrt(n)
    tail = max(float(ndtr(-np.sqrt(n / (n - 1)) * quantile)), 1.0 / _RESAMPLES)
    weight = rng.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES) / n
    limits = np.stack([mean - half, mean + half])
    centred = values - mean[:, None]
    square = (centred**2).sum(axis=1)
    varies = spread > 1e-12  # noqa: PLR2004 - rounding of equal values
    acceleration = np.zeros(suites)
    acceleration[varies] = (centred**3).sum(axis=1)[varies] / (6.0 * square[varies] ** 1.5)
    for start in range(0, suites, 500):
        part = slice(start, start + 500)
        draws = weight @ values[part].T
        below = (draws < mean[part] - 1e-12).mean(axis=0)
        below += (np.abs(draws - mean[part]) <= 1e-12).mean(axis=0) / 2.0  # noqa: PLR2004
        shift = ndtri(np.clip(below, 1e-9, 1 - 1e-9))
        draws.sort(axis=0)
        for row, sign in ((0, -1.0), (1, 1.0)):
            z = shift + sign * -ndtri(tail)
            level = ndtr(shift + z / (1.0 - acceleration[part] * z))
            at = np.clip(np.nan_to_num(level) * (_RESAMPLES - 1), 0, _RESAMPLES - 1).astype(int)
            bca = draws[at, np.arange(draws.shape[1])]
            choose = np.minimum if row == 0 else np.maximum
            limits[row, part] = np.where(
                varies[part], choose(limits[row, part], bca), limits[row, part]
            )
    return np.asarray(np.clip(limits, *bounds))


def exact_limits(
    values: Floats,
    bounds: tuple[float | Floats, float],
    rng: np.random.Generator,
    *,
    looks: int = 1,
) -> Floats:
    """Return the limits of `intervals.exact_interval` for S suites, shape (2, S).

    The smallest possible value may differ from suite to suite, with shape (S,).
    """
    n = values.shape[1]
    weight = rng.standard_exponential((_RESAMPLES, n + 1))
    weight /= weight.sum(axis=1, keepdims=True)
    rank = max(1, int(0.025 / looks * (_RESAMPLES + 1)))
    least = np.broadcast_to(bounds[0], values.shape[:1])
    inside = np.clip(values, least[:, None], bounds[1])
    limits = np.empty((2, values.shape[0]))
    for start in range(0, values.shape[0], 500):
        part = slice(start, start + 500)
        seen = weight[:, :n] @ inside[part].T
        lows = np.sort(seen + weight[:, n:] * least[part], axis=0)
        highs = np.sort(seen + weight[:, n:] * bounds[1], axis=0)
        limits[:, part] = np.stack([lows[rank - 1], highs[_RESAMPLES - rank]])
    return limits


def shortfall_limits(
    values: Floats, bounds: tuple[float, float], rng: np.random.Generator
) -> Floats:
    """Return the limits of `intervals.shortfall_interval` for S suites, shape (2, S)."""
    n = values.shape[1]
    weight = rng.standard_exponential((499, n + 1))
    weight /= weight.sum(axis=1, keepdims=True)
    rank = int(0.025 * 500)
    limits = np.empty((2, values.shape[0]))
    for suite, own in enumerate(np.sort(np.clip(values, *bounds), axis=1)[:, ::-1]):
        for row, bound in enumerate(bounds):
            # The bound is the first or the last in the order of losses.
            ordered = np.append(own, bound) if row == 0 else np.append(bound, own)
            each = weight if row == 0 else weight[:, ::-1]
            before = np.cumsum(each, axis=1) - each
            inside = np.clip(WORST - before, 0.0, each)
            draws = np.sort(inside @ ordered / inside.sum(axis=1))
            limits[row, suite] = draws[rank - 1] if row == 0 else draws[499 - rank]
    return limits


def _check(
    values: Floats,
    bounds: tuple[float, float],
    unseen: tuple[float, float],
    plain: Floats,
    exact: Floats,
) -> None:
    """Stop if the bulk computation of a suite differs from the package's result."""
    rng = np.random.default_rng(0)
    own = mean_interval(values, bounds=bounds, resamples=_RESAMPLES, rng=rng)
    inside = np.clip(values, *unseen)
    sure = exact_interval(inside, bounds=unseen, resamples=_RESAMPLES, rng=rng)
    # Two sets of resamples differ. A limit far out is one of their most extreme means, which move
    # in steps: if one task of eight differs, a mean counts it five or six times.
    step = np.ptp(values) / values.size
    scale = 0.4 * max(np.ptp(plain), np.ptp(exact), 1e-6) + step
    for found, expected in ((plain, own), (exact, sure)):
        if expected is None or np.abs(np.asarray(expected) - found).max() > scale + 1e-6:
            raise SystemExit(f"the bulk limits {found} differ from the package's {expected}")
