"""The door of scoring: the samples of a suite in, all of its figures out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import false_discovery_control

from pytest_promptse.scoring.causes import mean_split
from pytest_promptse.scoring.elasticity import simpson_weights
from pytest_promptse.scoring.finite_population import finite_population_correction
from pytest_promptse.scoring.intervals import (
    SIGNED,
    UNIT,
    generator,
    mean_interval,
    task_values,
)
from pytest_promptse.scoring.noise_floor import p_value
from pytest_promptse.scoring.scores import (
    Curve,
    Figures,
    Interval,
    PromptScore,
    SuiteFigures,
    SuiteScore,
    TaskScore,
)
from pytest_promptse.scoring.single_task import single_task_intervals
from pytest_promptse.scoring.task_score import (
    NullDraws,
    Plan,
    assemble,
    measure_task,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.scoring.samples import Floats, Mode, TaskSamples, Weighting

# Below this many effective samples per prompt SoftExec is close to a single sample's verdict.
_COLLAPSED = 2.0
# Fewer resamples cannot tell 2.5 % tails from chance.
_LEAST_RESAMPLES = 100
# Below this many tasks the interval's coverage was measured to fall short
# (docs/explanation/gates.md).
_FEW_TASKS = 10


def score_suite(
    tasks: Iterable[TaskSamples],
    *,
    distances: Sequence[float],
    mode: Mode,
    weighting: Weighting = "sum",
    seed: int = 0,
    resamples: int = 9999,
    permutations: int = 499,
    interval: bool = True,
    looks: int = 1,
    planned: int | None = None,
) -> SuiteScore:
    """Score a suite: elasticities, AUC-E, noise floor, p-values and intervals, and why.

    Parameters
    ----------
    tasks
        n >= 1 tasks with distinct ids, each of which is let go of once it is measured. Their order
        changes no figure.
    distances
        The D >= 1 distances of the run, increasing.
    mode
        ``"promptse"`` compares SoftExec variant by variant, ``"light"`` the original's pass
        rate with the variants' mean pass rate. `SuiteScore.light` has the latter either way.
    weighting
        What SoftExec's softmax is taken of; see `softexec.weights`. Not read in mode ``light``.
    seed
        Of permutations and bootstrap. Same input, same output, bit for bit.
    resamples
        Bootstrap resamples of each interval.
    permutations
        Shuffles R behind each null and p-value that has no exact form; no p-value is below
        1 / (R + 1).
    interval
        Whether to compute intervals at all; without them they are None.
    looks
        How often the suite is scored while its samples come in, this time included; the
        intervals of all looks together hold with 95 % (see `sequential`).
    planned
        How many variants per distance the last of these looks has. With few tasks, what is not
        there yet counts as uncertainty (see `finite_population`).

    Returns
    -------
    SuiteScore
        E(d) is the mean over the tasks that have it and AUC-E needs all distances. What was not
        measured is None. With one task the intervals come from its samples, and a warning says
        so. Where all passed, or none, every elasticity and every ceiling is 1.

    Raises
    ------
    ValueError
        If there is no task, two have one id, the distances do not increase, a task has variants
        at another distance, a log-probability is missing that the mode and weighting need, or
        there are fewer than 1 permutation, 100 resamples or 1 look.
    """
    plan = Plan(
        distances=tuple(distances),
        mode=mode,
        weighting=weighting,
        permutations=permutations,
        seed=seed,
        looks=looks,
    )
    simpson_weights(plan.distances)
    if permutations < 1 or resamples < _LEAST_RESAMPLES or looks < 1:
        raise ValueError(
            f"permutations is {permutations}, resamples is {resamples} and looks is {looks}: "
            f"give at least 1, {_LEAST_RESAMPLES} and 1"
        )
    measured = []
    for task in tasks:
        measured.append(measure_task(task, plan))
    ids = [m.score.task_id for m in measured]
    _check_ids(ids)
    # Sums of floats depend on their order, so it is fixed here and not by the caller.
    measured.sort(key=lambda m: m.score.task_id)
    scores = _adjusted([m.score for m in measured])
    samples = resamples if interval else 0
    light = _figures(
        [m.score.light for m in measured], [m.light_draws for m in measured], plan, samples, "light"
    )
    main = light
    if mode != "light":
        main = _figures([m.score for m in measured], [m.draws for m in measured], plan, samples, "")
    rates = np.array([s.original.pass_rate for s in scores if s.original is not None])
    rates_ci = None
    if samples and rates.size:
        rng = generator(seed, "pass_at_1")
        rates_ci = mean_interval(rates, resamples=samples, looks=looks, rng=rng)
    if samples and len(ids) == 1 and task.original is not None:
        own = single_task_intervals(task, plan, resamples=samples)
        rates_ci = own.pass_at_1
        light = own.light(light)
        main = light if mode == "light" else own.full(main)
    if samples and planned is not None and len(ids) < _FEW_TASKS:
        light = finite_population_correction(light, scores, planned=planned, light=True)
        main = (
            light
            if mode == "light"
            else finite_population_correction(main, scores, planned=planned, light=False)
        )
    by_id = {s.task_id: s for s in scores}
    return SuiteScore(
        **vars(main),
        n_tasks=len(ids),
        mode=mode,
        weighting=weighting,
        distances=plan.distances,
        pass_at_1=float(rates.mean()) if rates.size else None,
        pass_at_1_ci95=rates_ci,
        ess_median=_ess_median(scores),
        light=light,
        causes={
            d: mean_split(splits)
            for d in plan.distances
            if (splits := [s.causes[d] for s in scores if d in s.causes])
        },
        warnings=_warnings(scores, plan),
        tasks=tuple(by_id[task_id] for task_id in ids),
    )


def _check_ids(ids: Sequence[str]) -> None:
    if not ids:
        raise ValueError("a suite without tasks has no score: give at least one")
    task_id, times = Counter(ids).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{times} tasks have the id {task_id!r}: ids are unique in a suite")


def _adjusted(scores: list[TaskScore]) -> list[TaskScore]:
    """Fill in the p-values adjusted over all variants, and over all tasks."""
    variants = [v for s in scores for group in s.variants.values() for v in group]
    adjusted = iter(_benjamini_hochberg([v.p_value for v in variants]))
    tasks = _benjamini_hochberg([s.p_value for s in scores])
    return [
        replace(
            score,
            p_adjusted=p,
            variants={
                d: tuple(replace(v, p_adjusted=next(adjusted)) for v in group)
                for d, group in score.variants.items()
            },
        )
        for score, p in zip(scores, tasks, strict=True)
    ]


def _benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    known = [p for p in p_values if p is not None]
    adjusted = iter(false_discovery_control(known) if known else ())
    return [None if p is None else float(next(adjusted)) for p in p_values]


def _figures(
    tasks: Sequence[Figures],
    draws: Sequence[NullDraws],
    plan: Plan,
    resamples: int,
    purpose: str,
) -> SuiteFigures:
    distances = plan.distances
    curve: Curve = dict.fromkeys(distances)
    null: Curve = dict.fromkeys(distances)
    p: Curve = dict.fromkeys(distances)
    joint: dict[float, Floats] = {}
    for d in distances:
        values = [e for t in tasks if (e := t.elasticity[d]) is not None]
        if not values:
            continue
        curve[d] = float(np.mean(values))
        null[d] = float(np.mean([e for t in tasks if (e := t.elasticity_null[d]) is not None]))
        apart = np.mean([n.apart[d] for n in draws if d in n.apart], axis=0)
        p[d] = p_value(1.0 - float(np.mean(values)), apart)
        joint[d] = np.mean([n.joint[d] for n in draws if d in n.joint], axis=0)
    figures = assemble(curve, null, p, joint, distances)

    def interval(
        name: str, curves: Sequence[Curve], over: Sequence[float], bounds: tuple[float, float]
    ) -> Interval | None:
        values = task_values(curves, over)
        if values is None or not resamples:
            return None
        rng = generator(plan.seed, purpose, name)
        return mean_interval(values, bounds=bounds, resamples=resamples, looks=plan.looks, rng=rng)

    curves = [t.elasticity for t in tasks]
    excesses = [t.elasticity_excess for t in tasks]
    return SuiteFigures(
        **vars(figures),
        elasticity_ci95={d: interval(f"d{d:g}", curves, (d,), UNIT) for d in distances},
        ci95=interval("auc_e", curves, distances, UNIT),
        excess_ci95=interval("excess", excesses, distances, SIGNED),
    )


def _ess_median(scores: Sequence[TaskScore]) -> float | None:
    values = [w.ess for s in scores for w in _prompts(s) if w.ess is not None]
    return float(np.median(values)) if values else None


def _prompts(score: TaskScore) -> list[PromptScore]:
    originals = [] if score.original is None else [score.original]
    return [*originals, *(v for group in score.variants.values() for v in group)]


def _warnings(scores: Sequence[TaskScore], plan: Plan) -> tuple[str, ...]:
    lines = []
    n = len(scores)
    ess = _ess_median(scores)
    sizes = [w.n for s in scores for w in _prompts(s)]
    if (
        plan.mode != "light"
        and plan.weighting != "uniform"
        and ess is not None
        and ess < _COLLAPSED < float(np.median(sizes))
    ):
        lines.append(
            f"the weights of SoftExec collapsed: half of the prompts rest on at most {ess:.1f} "
            f"effective samples of {np.median(sizes):g}; use weighting 'mean' or 'uniform'"
        )
    if n == 1:
        lines.append("one task: the interval covers the sampling of its answers, not other tasks")
    elif n < _FEW_TASKS:
        lines.append(f"{n} tasks are few: an interval over so few covers less than it says")
    lines += [
        f"{missing} of {n} tasks have no E({d:g}): they do not count in it"
        for d in plan.distances
        if (missing := sum(s.elasticity[d] is None for s in scores))
    ]
    return tuple(lines)
