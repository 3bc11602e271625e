"""Score one task: its prompts, their difference from the original, and the noise floor."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring import _causes as split
from pytest_promptse.scoring._elasticity import (
    area_weights,
    auc_e,
    elasticity,
    light_elasticity,
)
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._multiplicity import combined
from pytest_promptse.scoring._noise_floor import (
    gap_p_value,
    null_gap,
    p_value,
    pair_gaps,
    pass_rate_draws,
    stable_gap,
    stable_softexec_gaps,
)
from pytest_promptse.scoring._scores import Curve, Figures, PromptScore, TaskScore, VariantScore
from pytest_promptse.scoring._softexec import (
    effective_sample_size,
    log_weights,
    pass_rate,
    softexec,
    weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.scoring._samples import (
        Bools,
        Floats,
        Mode,
        Samples,
        TaskSamples,
        Weighting,
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The parameters of scoring a suite, the same for all of its tasks.

    ``permutations`` is the number of permutations of each test. ``looks`` is the number of times
    that a run in rounds may test the results.
    """

    distances: tuple[float, ...]
    mode: Mode
    weighting: Weighting
    permutations: int
    seed: int
    looks: int


@dataclass(frozen=True, kw_only=True)
class NullDraws:
    """The test statistic of one task, as measured and with its samples shuffled.

    Arrays have shape (1 + R,) by distance: the measured statistic, then R shuffles as if variants
    had no effect. It is the mean squared difference of the pass rates from that of the original,
    and for PromptSELight the loss 1 - E. ``apart`` shuffles the original with the variants of that
    distance. ``joint`` shuffles it with those of all distances at once, as the area under the curve
    needs.
    """

    apart: Mapping[float, Floats] = field(default_factory=dict)
    joint: Mapping[float, Floats] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LevelFigures:
    """The figures of one distance, as in `Figures`."""

    elasticity: float
    null: float
    excess: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class TaskMeasurement:
    """A task's score, with the null draws that the suite's p-values are computed from.

    ``emotions`` are those of the task's samples.
    """

    score: TaskScore
    draws: NullDraws
    light_draws: NullDraws
    emotions: Mapping[float, Sequence[str]] | None


@dataclass(frozen=True)
class ScoredPrompt:
    """One prompt's samples with their score.

    ``z`` are the log-weights, up to a constant, or None for pass rates.
    """

    samples: Samples
    score: PromptScore
    z: Floats | None
    weight: Floats

    @property
    def passes(self) -> int:
        """Number of samples that passed."""
        return int(np.count_nonzero(self.samples.passed))


def loss(scores: Floats) -> Floats:
    """Return 1 - E of the full metric for scores of shape (R, 1 + K), original first."""
    return np.asarray(np.abs(scores[:, :1] - scores[:, 1:]).mean(axis=1))


def squared_gap(rates: Floats) -> Floats:
    """Return the mean squared difference from the original, the statistic of the full metric.

    `rates` has shape (R, 1 + K), original first. The mean absolute difference would be no test of
    a few broken variants: shuffled failures differ as much from an original that always passes.
    """
    return np.asarray(np.square(rates[:, :1] - rates[:, 1:]).mean(axis=1))


def light_loss(scores: Floats) -> Floats:
    """Return 1 - E of the light metric for pass rates of shape (R, 1 + K), original first.

    The result has shape (R,).
    """
    return np.asarray(np.abs(scores[:, 0] - scores[:, 1:].mean(axis=1)))


def centred(log_weights: Sequence[Floats], passed: Sequence[Bools]) -> list[Floats]:
    """Return the log-weights of a task's prompts with the same level and spread for each prompt.

    Parameters
    ----------
    log_weights, passed
        One array of shape (m,) for each prompt. ``-inf`` stays as it is.

    Notes
    -----
    SoftExec does not change when a constant is added to all log-probabilities of a prompt. The
    prompts of a task differ in such a constant, since a longer prompt may make every answer more
    or less probable. A shuffle that mixes samples of different levels would let that constant
    decide which sample gets the weight.

    A prompt's level is its mean log-weight after subtracting the effect of passing. That effect is
    the slope of log-weights on passing, pooled within prompts (analysis of covariance). The plain
    mean is not the level: if a model is more confident of programs that pass, the mean rises with
    the number of passes. Subtracting it would lower the weight of passes just where there are many.

    Deviations from an estimated level are too small: with m samples, their variance is 1 - 1 / m
    of the true one. They are scaled by the square root of m / (m - 1), so that a shuffle does not
    make the weights more equal than they were.
    """
    product = square = 0.0
    rows = [(z, ok, np.isfinite(z)) for z, ok in zip(log_weights, passed, strict=True)]
    for z, ok, finite in rows:
        if finite.any():
            apart = ok[finite] - ok[finite].mean()
            product += float(apart @ z[finite])
            square += float(apart @ apart)
    slope = product / square if square > 0.0 else 0.0
    return [_spread(z, np.where(ok, slope, 0.0), finite) for z, ok, finite in rows]


def _spread(z: Floats, by_passing: Floats, finite: Bools) -> Floats:
    m = int(np.count_nonzero(finite))
    if m == 0:
        return z
    deviation = z - by_passing
    deviation = deviation - float(deviation[finite].mean())
    return np.asarray(by_passing + deviation * math.sqrt(m / max(1, m - 1)))


def _all_centred(prompts: Sequence[ScoredPrompt]) -> list[ScoredPrompt]:
    measured = [prompt.z for prompt in prompts if prompt.z is not None]
    if len(measured) < len(prompts):
        return list(prompts)
    levelled = centred(measured, [prompt.samples.passed for prompt in prompts])
    return [replace(prompt, z=z) for prompt, z in zip(prompts, levelled, strict=True)]


def score_prompt(samples: Samples, plan: Plan, place: str) -> ScoredPrompt:
    """Score one prompt. Errors name `place` if the prompt lacks what the plan needs.

    Parameters
    ----------
    samples
        The samples of the prompt.
    plan
        How the suite is scored.
    place
        The name of the prompt for error messages.
    """
    m = len(samples)
    rate = pass_rate(samples.passed)
    if plan.mode == "light":
        score = PromptScore(n=m, pass_rate=rate, soft_exec=None, score=rate, ess=None)
        return ScoredPrompt(samples, score, None, np.full(m, 1.0 / m))
    try:
        z = log_weights(samples, plan.weighting)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    weight = np.full(m, 1.0 / m) if z is None else weights(z)
    soft = rate if z is None else float(softexec(samples.passed, weight))
    ess = float(effective_sample_size(weight))
    score = PromptScore(n=m, pass_rate=rate, soft_exec=soft, score=soft, ess=ess)
    return ScoredPrompt(samples, score, z, weight)


def measure_task(task: TaskSamples, plan: Plan) -> TaskMeasurement:
    """Score one task.

    Parameters
    ----------
    task
        The samples of the task.
    plan
        How the suite is scored.

    Raises
    ------
    ValueError
        If a sample lacks a log-probability that the plan needs. Also if the task has variants at a
        distance that is not among the plan's.
    """
    stray = sorted(set(task.variants) - set(plan.distances))
    if stray:
        raise ValueError(
            f"task {task.task_id!r} has variants at distance {stray[0]:g}, which is not among "
            f"{[float(d) for d in plan.distances]}"
        )
    original = None
    if task.original is not None:
        original = score_prompt(task.original, plan, f"task {task.task_id!r}, original")
    z = None if original is None else original.z
    variants = {
        d: [
            score_prompt(samples, plan, f"task {task.task_id!r}, d{d:g} variant {index}")
            for index, samples in enumerate(task.variants.get(d, ()))
        ]
        for d in plan.distances
    }
    draws, light_draws = NullDraws(), NullDraws()
    if original is not None and any(variants.values()):
        together = [original, *(w for group in variants.values() for w in group)]
        original, *others = _all_centred(together)
        rest = iter(others)
        variants = {d: [next(rest) for _ in group] for d, group in variants.items()}
        draws, light_draws = _null_draws(task.task_id, original, variants, plan)
    gaps = {d: _gaps(task.task_id, d, original, variants[d], plan) for d in plan.distances}
    tests = [p for group in gaps.values() for _, p in group]
    pooled = _pooled_p_value(original, [w for group in variants.values() for w in group])
    light = _figures(
        original,
        variants,
        light_draws,
        plan,
        partial(_light_level, draws=light_draws),
        pooled=pooled,
        tests=tests,
    )
    if plan.mode == "light":
        figures = light
    else:
        figures = _figures(
            original,
            variants,
            draws,
            plan,
            partial(_full_level, gaps=gaps, draws=draws, plan=plan, z=z),
            pooled=pooled,
            tests=tests,
        )
    score = TaskScore(
        **vars(figures),
        task_id=task.task_id,
        p_adjusted=None,
        original=None if original is None else original.score,
        variants={
            d: tuple(
                _variant_score(original, prompt, gap)
                for prompt, gap in zip(variants[d], gaps[d], strict=True)
            )
            for d in plan.distances
        },
        causes=_causes(original, variants, plan),
        light=light,
        controls={
            d: tuple(
                score_prompt(samples, plan, f"task {task.task_id!r}, d{d:g} control {index}").score
                for index, samples in enumerate(group)
            )
            for d, group in task.controls.items()
        },
    )
    main = light_draws if plan.mode == "light" else draws
    return TaskMeasurement(score=score, draws=main, light_draws=light_draws, emotions=task.emotions)


def _pooled_p_value(original: ScoredPrompt | None, variants: Sequence[ScoredPrompt]) -> float:
    """Return the exact p-value of the difference of the pass rate of all variants together."""
    if original is None or not variants:
        return 1.0
    n = sum(len(w.samples) for w in variants)
    passes = sum(w.passes for w in variants)
    return gap_p_value(len(original.samples), original.passes, n, passes)


def _null_draws(
    task_id: str, original: ScoredPrompt, variants: dict[float, list[ScoredPrompt]], plan: Plan
) -> tuple[NullDraws, NullDraws]:
    apart: dict[float, Floats] = {}
    joint: dict[float, Floats] = {}
    light_apart: dict[float, Floats] = {}
    light_joint: dict[float, Floats] = {}
    measured = [d for d in plan.distances if variants[d]]
    groups: list[tuple[tuple[float, ...], str]] = [((d,), f"d{d:g}") for d in measured]
    if len(measured) > 1:
        groups.append((tuple(measured), "joint"))
    for distances, purpose in groups:
        prompts = [original, *(w for d in distances for w in variants[d])]
        rng = generator(plan.seed, task_id, "rates", purpose)
        sizes = [len(w.samples) for w in prompts]
        measured_rates = np.array([[w.score.pass_rate for w in prompts]])
        passes = sum(w.passes for w in prompts)
        rates = np.vstack([measured_rates, pass_rate_draws(sizes, passes, plan.permutations, rng)])
        start = 1
        for d in distances:
            columns = np.r_[0, start : start + len(variants[d])]
            start += len(variants[d])
            full, light = squared_gap(rates[:, columns]), light_loss(rates[:, columns])
            if purpose != "joint":
                apart[d], light_apart[d] = full, light
            if purpose == "joint" or len(measured) == 1:
                joint[d], light_joint[d] = full, light
    return (
        NullDraws(apart=apart, joint=joint),
        NullDraws(apart=light_apart, joint=light_joint),
    )


def _gaps(
    task_id: str,
    d: float,
    original: ScoredPrompt | None,
    variants: Sequence[ScoredPrompt],
    plan: Plan,
) -> list[tuple[float, float]]:
    """Return for each variant the expected difference under the null and the p-value.

    Each pair belongs to one of `variants`, all at distance `d`. The first number is about the
    absolute difference of its score from that of the original. The second is exact, from the passes
    of both: shuffles would have a smallest p-value, which no adjustment for many variants survives.
    Both numbers are NaN if `original` is None.
    """
    if original is None:
        return [(np.nan, np.nan)] * len(variants)
    m_p = len(original.samples)
    tests = [gap_p_value(m_p, original.passes, len(w.samples), w.passes) for w in variants]
    if original.z is None:
        return [
            (null_gap(m_p, len(w.samples), original.passes + w.passes), p)
            for w, p in zip(variants, tests, strict=True)
        ]
    result = [(np.nan, np.nan)] * len(variants)
    for m_v in sorted({len(w.samples) for w in variants}):
        chosen = [index for index, w in enumerate(variants) if len(w.samples) == m_v]
        z = np.stack([np.concatenate((original.z, _z(variants[i]))) for i in chosen])
        passed = np.stack(
            [np.concatenate((original.samples.passed, variants[i].samples.passed)) for i in chosen]
        )
        rng = generator(plan.seed, task_id, f"d{d:g}", str(m_v))
        null = pair_gaps(z, passed, m_p, plan.permutations, rng)
        for column, index in enumerate(chosen):
            result[index] = (float(null[:, column].mean()), tests[index])
    return result


def _z(prompt: ScoredPrompt) -> Floats:
    if prompt.z is None:
        raise ValueError("the original has log-probabilities, and one of its variants has none")
    return prompt.z


def _variant_score(
    original: ScoredPrompt | None, prompt: ScoredPrompt, gap: tuple[float, float]
) -> VariantScore:
    score = asdict(prompt.score)
    if original is None:
        return VariantScore(**score, delta=None, excess=None, p_value=None, p_adjusted=None)
    delta = prompt.score.score - original.score.score
    return VariantScore(
        **score, delta=delta, excess=abs(delta) - gap[0], p_value=gap[1], p_adjusted=None
    )


def _figures(
    original: ScoredPrompt | None,
    variants: dict[float, list[ScoredPrompt]],
    draws: NullDraws,
    plan: Plan,
    level: Callable[[float, ScoredPrompt, list[ScoredPrompt]], LevelFigures],
    *,
    pooled: float,
    tests: Sequence[float],
) -> Figures:
    """Return the figures of a task. `level` computes those of one distance.

    `variants` maps each distance to its variants, and `draws` has the shuffled statistics. `tests`
    has the p-values of all variants, and `pooled` is that of all of them together. A distance
    without variants, or a task without an original, has None in its curves.
    """
    levels = {
        d: level(d, original, variants[d])
        for d in plan.distances
        if original is not None and variants[d]
    }
    shuffled = [draws.joint[d] for d in plan.distances if d in draws.joint]
    p_values = [pooled]
    if len(shuffled) == len(plan.distances):
        p_values.append(p_value(area_weights(plan.distances) @ np.stack(shuffled)))
    # A shuffled mean over many variants hardly shows that one of them breaks, and its p-value is
    # no smaller than the number of shuffles allows. So two exact tests are combined with it.
    return assemble(levels, plan.distances, p_value=combined(p_values, tests))


def _full_level(
    d: float,
    original: ScoredPrompt,
    variants: list[ScoredPrompt],
    *,
    gaps: dict[float, list[tuple[float, float]]],
    draws: NullDraws,
    plan: Plan,
    z: Floats | None,
) -> LevelFigures:
    e = float(elasticity(original.score.score, [w.score.score for w in variants]))
    noise = float(np.mean([gap for gap, _ in gaps[d]]))
    if z is None:
        m_p = len(original.samples)
        stable = [stable_gap(m_p, len(w.samples), original.passes) for w in variants]
    else:
        sizes = [len(w.samples) for w in variants]
        rng = generator(plan.seed, f"d{d:g}", "stable")
        by_size = stable_softexec_gaps(z, original.samples.passed, sizes, plan.permutations, rng)
        stable = [by_size[m_v] for m_v in sizes]
    return LevelFigures(
        elasticity=e,
        null=1.0 - float(np.mean(stable)),
        excess=1.0 - noise - e,
        p_value=p_value(draws.apart[d]),
    )


def _light_level(
    d: float, original: ScoredPrompt, variants: list[ScoredPrompt], *, draws: NullDraws
) -> LevelFigures:
    rates = [w.score.pass_rate for w in variants]
    e = float(light_elasticity(original.score.pass_rate, rates))
    sizes = [len(w.samples) for w in variants]
    m_p, m_v, passes = len(original.samples), sum(sizes), sum(w.passes for w in variants)
    if len(set(sizes)) == 1:
        # The mean of rates over equal numbers of samples equals the pooled rate.
        noise = null_gap(m_p, m_v, original.passes + passes)
        p = gap_p_value(m_p, original.passes, m_v, passes)
    else:
        noise = float(draws.apart[d][1:].mean())
        p = p_value(draws.apart[d])
        # As many samples in one prompt have the variance of the mean of these rates.
        m_v = round(len(sizes) ** 2 / sum(1.0 / m for m in sizes))
    return LevelFigures(
        elasticity=e,
        null=1.0 - stable_gap(m_p, m_v, original.passes),
        excess=1.0 - noise - e,
        p_value=p,
    )


def assemble(
    levels: Mapping[float, LevelFigures], distances: Sequence[float], *, p_value: float
) -> Figures:
    """Combine curves with the areas under them. The area is None if a distance is missing.

    Parameters
    ----------
    levels
        The figures of each distance that was measured.
    distances
        The distances of AUC-E.
    p_value
        The p-value of AUC-E, for the case that all distances were measured.
    """
    curve: Curve = {d: levels[d].elasticity if d in levels else None for d in distances}
    null: Curve = {d: levels[d].null if d in levels else None for d in distances}
    excess: Curve = {d: levels[d].excess if d in levels else None for d in distances}
    value = area(curve, distances)
    return Figures(
        elasticity=curve,
        elasticity_null=null,
        elasticity_excess=excess,
        elasticity_p_value={d: levels[d].p_value if d in levels else None for d in distances},
        auc_e=value,
        auc_e_null=area(null, distances),
        excess=area(excess, distances),
        p_value=None if value is None else p_value,
    )


def area(curve: Curve, distances: Sequence[float]) -> float | None:
    """Return the area under a curve as for AUC-E, or None if a distance was not measured."""
    values = [value for d in distances if (value := curve[d]) is not None]
    return float(auc_e(values, distances)) if len(values) == len(distances) else None


def _causes(
    original: ScoredPrompt | None, variants: dict[float, list[ScoredPrompt]], plan: Plan
) -> dict[float, dict[str, split.CauseShare]]:
    prompts = [w for group in variants.values() for w in group]
    if (
        original is None
        or not prompts
        or not all(w.samples.causes or w.samples.passed.all() for w in (original, *prompts))
    ):
        return {}

    def shares(prompt: ScoredPrompt) -> split.FailureShares:
        causes = prompt.samples.causes
        return split.failure_shares(causes, prompt.weight[: len(causes)])

    return {
        d: split.split_by_cause(
            shares(original), [shares(w) for w in variants[d]], light=plan.mode == "light"
        )
        for d in plan.distances
        if variants[d]
    }
