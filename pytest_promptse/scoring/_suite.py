"""Score a suite: from the samples of its tasks to all figures, intervals and warnings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.config._metrics import METRICS
from pytest_promptse.scoring._causes import mean_split
from pytest_promptse.scoring._elasticity import area_weights, equal_weights, uses_trapezoid
from pytest_promptse.scoring._estimates import (
    Resampling,
    drop_at,
    noisiest,
    suite_estimates,
    variant_elasticity,
    variant_excess,
    variant_light_elasticity,
    variant_light_excess,
)
from pytest_promptse.scoring._finite_population import (
    drop_correction,
    finite_population_correction,
)
from pytest_promptse.scoring._intervals import unseen_share
from pytest_promptse.scoring._length_control import length_control
from pytest_promptse.scoring._multiplicity import benjamini_hochberg, combined
from pytest_promptse.scoring._noise_floor import summed_p_value
from pytest_promptse.scoring._reruns import MOST_DRAWS, RerunIntervals, TaskDraws, task_draws
from pytest_promptse.scoring._scores import (
    Curve,
    Estimate,
    Figures,
    PromptScore,
    SpeaksFor,
    SuiteFigures,
    SuiteScore,
    TaskScore,
)
from pytest_promptse.scoring._task_score import (
    LevelFigures,
    NullDraws,
    Plan,
    assemble,
    measure_task,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_promptse.scoring._estimates import Emotions
    from pytest_promptse.scoring._samples import Mode, TaskSamples, Weighting
    from pytest_promptse.scoring._scores import Interval

# Below this number of effective samples per prompt, SoftExec is close to a single sample's verdict.
_COLLAPSED = 2.0
# Fewer resamples cannot estimate tails of 2.5 %.
_LEAST_RESAMPLES = 100
# With fewer tasks than this, variants that are not measured yet count as uncertain at early looks.
_FEW_TASKS = 10
# From this number of tasks on, the share of tasks that may break unnoticed is below 8 %.
_ENOUGH_TASKS = 50
# Below this pass@1, nearly all tasks are stable because they are never solved.
_HARDLY_SOLVED = 0.05


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
    speaks_for: SpeaksFor = "tasks",
    looks: int = 1,
    planned: int | None = None,
) -> SuiteScore:
    """Compute all figures of a suite: elasticities, noise floor, p-values, intervals, warnings.

    Parameters
    ----------
    tasks
        n >= 1 tasks with distinct ids. Each task is released from memory after it is measured.
        Their order changes no figure.
    distances
        The D >= 1 distances of the run, ascending.
    mode
        ``"promptse"`` compares SoftExec variant by variant. ``"light"`` compares the original's
        pass rate with the variants' mean pass rate. `SuiteScore.light` has the latter in both
        modes.
    weighting
        The input of SoftExec's softmax; see `_softexec.weights`. Not used in mode ``light``.
    seed
        Seed of permutations and bootstrap. The same input gives the same output, bit for bit.
    resamples
        Number of bootstrap resamples of each interval, >= 100.
    permutations
        Number of shuffles R behind each null and p-value that has no exact form, >= 1. No p-value
        of a distance of one task is below 1 / (R + 1).
    interval
        True to compute intervals; otherwise they are None.
    speaks_for
        What the intervals cover: other tasks with the same emotions, other tasks and other
        emotions, or another run of the same prompts. For ``"tasks+emotions"``, every task must name
        the emotion of each variant. A suite of one task always has ``"reruns"``.
    looks
        Number of times that the suite is scored while its samples arrive, including this time. The
        intervals of all looks together hold with 95 % (see `_sequential`).
    planned
        Number of variants per distance at the last of these looks. With few tasks, missing variants
        count as uncertainty (see `_finite_population`).

    Returns
    -------
    SuiteScore
        E(d) is the mean over the tasks that have it. AUC-E needs all distances. A figure that was
        not measured is None. With one task, the intervals come from its samples, with a warning. If
        all samples passed, every elasticity and every ceiling is 1. If no sample of an original
        passed, variants have nothing to lose: elasticities, AUC-E and their companions are None.

    Raises
    ------
    ValueError
        If there is no task, two tasks have the same id, or the distances do not increase. Also if a
        task has variants at another distance, a needed log-probability is missing, or there are
        fewer than 1 permutation, 100 resamples or 1 look.
    """
    plan = Plan(
        distances=tuple(distances),
        mode=mode,
        weighting=weighting,
        permutations=permutations,
        seed=seed,
        looks=looks,
    )
    area_weights(plan.distances)
    if permutations < 1 or resamples < _LEAST_RESAMPLES or looks < 1:
        raise ValueError(
            f"permutations is {permutations}, resamples is {resamples} and looks is {looks}: "
            f"give at least 1, {_LEAST_RESAMPLES} and 1"
        )
    measured = _measure(tasks, plan, reruns=resamples if interval else 0, speaks_for=speaks_for)
    ids = [score.task_id for score in measured.scores]
    _check_ids(ids)
    # The order of a float sum changes its last digits, so it is fixed here and not by the caller.
    scores = _adjusted(sorted(measured.scores, key=lambda score: score.task_id))
    over = Resampling(
        resamples=resamples if interval else 0,
        seed=seed,
        looks=looks,
        emotions=_emotions_of(ids, measured.emotions) if speaks_for == "tasks+emotions" else None,
    )
    light = _figures(
        [score.light for score in scores],
        measured.light_draws,
        scores,
        plan,
        over,
        light=True,
    )
    main = light
    if mode != "light":
        main = _figures(scores, measured.draws, scores, plan, over, light=False)
    extra = suite_estimates(scores, plan.distances, over)
    control = length_control(scores, plan.distances, over)
    if len(scores) == 1 and scores[0].original is not None:
        speaks_for = "reruns"
    if measured.reruns:
        reruns = RerunIntervals(tasks=measured.reruns, distances=plan.distances, looks=looks)
        light = reruns.light(light)
        main = light if mode == "light" else reruns.full(main)
        extra = reruns.estimates(extra)
        control = None if control is None else reruns.length_control(control)
    few = len(ids) < _FEW_TASKS or speaks_for == "reruns"
    if interval and planned is not None and few:
        light = finite_population_correction(light, scores, planned=planned, light=True)
        main = (
            light
            if mode == "light"
            else finite_population_correction(main, scores, planned=planned, light=False)
        )
        for name, of, weights in (
            ("drop", plan.distances, equal_weights),
            ("area_drop", plan.distances, area_weights),
            *((drop_at(d), (d,), area_weights) for d in plan.distances),
        ):
            extra[name] = drop_correction(
                extra[name], scores, planned=planned, distances=of, weights=weights
            )
    by_id = {s.task_id: s for s in scores}
    if extra["pass_at_1"].value == 0.0:
        main = light = _no_suite_figures(plan.distances)
        nothing = _no_task_figures(plan.distances)
        by_id = {
            name: replace(score, **vars(nothing), p_adjusted=None, light=nothing)
            for name, score in by_id.items()
        }
    extra["auc_e"] = Estimate(value=main.auc_e, ci95=main.ci95, exact=main.exact)
    extra["excess"] = Estimate(value=main.excess, ci95=main.excess_ci95, exact=main.excess_exact)
    return SuiteScore(
        **vars(main),
        n_tasks=len(ids),
        mode=mode,
        weighting=weighting,
        distances=plan.distances,
        estimates={name: extra[name] for name in METRICS if name in extra},
        drops={
            **{(d,): extra[drop_at(d)] for d in plan.distances},
            plan.distances: extra["area_drop"],
        },
        speaks_for=speaks_for,
        length_control=control,
        ess_median=_ess_median(scores),
        light=light,
        causes={
            d: mean_split(splits)
            for d in plan.distances
            if (splits := [s.causes[d] for s in scores if d in s.causes])
        },
        warnings=_warnings(
            scores,
            plan,
            extra["pass_at_1"].value,
            emotions=over.emotions,
            speaks_for=speaks_for,
        ),
        tasks=tuple(by_id[task_id] for task_id in ids),
        looks=looks,
    )


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """The arrays that are kept of the measured tasks of a suite.

    ``reruns`` has the draws of the tasks for intervals over reruns, in the order of their ids.
    """

    scores: list[TaskScore]
    emotions: Emotions
    draws: list[NullDraws]
    light_draws: list[NullDraws]
    reruns: Sequence[TaskDraws]


def _measure(
    tasks: Iterable[TaskSamples], plan: Plan, *, reruns: int, speaks_for: SpeaksFor
) -> _Measured:
    """Measure the tasks, with `reruns` resamples of each if the intervals are over reruns.

    `reruns` is 0 for no intervals. A suite of one task always has intervals over reruns.
    """
    scores: list[TaskScore] = []
    emotions: dict[str, Mapping[float, Sequence[str]]] = {}
    draws: dict[str, tuple[NullDraws, NullDraws]] = {}
    by_task: dict[str, TaskDraws] = {}
    only: TaskSamples | None = None
    for task in tasks:
        only = None if scores else task
        measured = measure_task(task, plan)
        scores.append(measured.score)
        draws[task.task_id] = (measured.draws, measured.light_draws)
        if measured.emotions is not None:
            emotions[task.task_id] = measured.emotions
        if speaks_for == "reruns" and reruns and task.original is not None:
            n = min(reruns, MOST_DRAWS)
            by_task[task.task_id] = task_draws(task, plan, measured.score, resamples=n)
    if only is not None and only.original is not None and reruns:
        by_task = {only.task_id: task_draws(only, plan, scores[0], resamples=reruns)}
    return _Measured(
        scores=scores,
        emotions=emotions,
        draws=[full for _, (full, _) in sorted(draws.items())],
        light_draws=[light for _, (_, light) in sorted(draws.items())],
        reruns=[by_task[task_id] for task_id in sorted(by_task)],
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
    adjusted = iter(benjamini_hochberg([v.p_value for v in variants]))
    tasks = benjamini_hochberg([s.p_value for s in scores])
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


def _figures(
    tasks: Sequence[Figures],
    draws: Sequence[NullDraws],
    scores: Sequence[TaskScore],
    plan: Plan,
    over: Resampling,
    *,
    light: bool,
) -> SuiteFigures:
    distances = plan.distances
    measured = [d for d in distances if any(t.elasticity[d] is not None for t in tasks)]
    levels = {
        d: LevelFigures(
            elasticity=_mean_at(d, [t.elasticity for t in tasks]),
            null=_mean_at(d, [t.elasticity_null for t in tasks]),
            excess=_mean_at(d, [t.elasticity_excess for t in tasks]),
            p_value=summed_p_value(np.stack([t.apart[d] for t in draws if d in t.apart])),
        )
        for d in measured
    }
    figures = assemble(levels, distances, p_value=_p_value(tasks, draws, scores, distances))
    elasticity = (scores, variant_light_elasticity if light else variant_elasticity)
    excesses = (scores, variant_light_excess if light else variant_excess)
    purpose = "light" if light else ""
    curves = [t.elasticity for t in tasks]
    area = over.estimate((purpose, "auc_e"), curves, distances, by_variant=elasticity)
    by_distance = {
        d: over.estimate((purpose, f"d{d:g}"), curves, (d,), by_variant=elasticity)
        for d in distances
    }
    excess = over.estimate(
        (purpose, "excess"),
        [t.elasticity_excess for t in tasks],
        distances,
        bounds=(-noisiest(tasks), 1.0),
        by_variant=excesses,
    )
    return SuiteFigures(
        **vars(figures),
        elasticity_ci95={d: estimate.ci95 for d, estimate in by_distance.items()},
        elasticity_exact={d: estimate.exact for d, estimate in by_distance.items()},
        ci95=area.ci95,
        exact=area.exact,
        excess_ci95=excess.ci95,
        excess_exact=excess.exact,
    )


def _p_value(
    tasks: Sequence[Figures],
    draws: Sequence[NullDraws],
    scores: Sequence[TaskScore],
    distances: Sequence[float],
) -> float:
    """Return the p-value of AUC-E, from shuffles of all tasks and from the tests of all variants.

    That of a single task has been computed with its figures.
    """
    if len(tasks) == 1 and tasks[0].p_value is not None:
        return tasks[0].p_value
    shuffled = [task.joint for task in draws if task.joint]
    if not shuffled:
        return 1.0
    # A distance is averaged over the tasks that have it.
    weights = {
        d: weight / max(1, sum(d in joint for joint in shuffled))
        for d, weight in zip(distances, area_weights(distances), strict=True)
    }
    rows = [sum(weights[d] * values for d, values in joint.items()) for joint in shuffled]
    variants = [v for s in scores for group in s.variants.values() for v in group]
    tests = [v.p_value for v in variants if v.p_value is not None]
    return combined([summed_p_value(np.stack(rows))], tests)


def _mean_at(d: float, curves: Sequence[Curve]) -> float:
    return float(np.mean([value for curve in curves if (value := curve[d]) is not None]))


def _no_task_figures(distances: Sequence[float]) -> Figures:
    """Return the figures of a task without anything that a variant could lose: all None."""
    curve: Curve = dict.fromkeys(distances)
    return Figures(
        elasticity=curve,
        elasticity_null=curve,
        elasticity_excess=curve,
        elasticity_p_value=curve,
        auc_e=None,
        auc_e_null=None,
        excess=None,
        p_value=None,
    )


def _no_suite_figures(distances: Sequence[float]) -> SuiteFigures:
    """Return the figures of a suite without anything that a variant could lose: all None."""
    intervals: dict[float, Interval | None] = dict.fromkeys(distances)
    return SuiteFigures(
        **vars(_no_task_figures(distances)),
        elasticity_ci95=intervals,
        elasticity_exact=intervals,
        ci95=None,
        exact=None,
        excess_ci95=None,
        excess_exact=None,
    )


def _ess_median(scores: Sequence[TaskScore]) -> float | None:
    values = [w.ess for s in scores for w in _prompts(s) if w.ess is not None]
    return float(np.median(values)) if values else None


def _prompts(score: TaskScore) -> list[PromptScore]:
    originals = [] if score.original is None else [score.original]
    return [*originals, *(v for group in score.variants.values() for v in group)]


def _emotions_of(ids: Sequence[str], emotions: Emotions) -> Emotions:
    missing = sorted(set(ids) - emotions.keys())
    if missing:
        raise ValueError(
            f"task {missing[0]!r} names no emotions: intervals over emotions need that of each "
            "variant"
        )
    return emotions


def _warnings(
    scores: Sequence[TaskScore],
    plan: Plan,
    pass_at_1: float | None,
    *,
    emotions: Emotions | None,
    speaks_for: SpeaksFor,
) -> tuple[str, ...]:
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
    if uses_trapezoid(plan.distances):
        listed = ", ".join(f"{d:g}" for d in plan.distances)
        lines.append(
            f"Simpson's rule gives a negative weight to one of the distances {listed}: AUC-E uses "
            "the trapezoid rule"
        )
    if pass_at_1 == 0.0:
        lines.append(
            "no sample of an original passes, so variants have nothing to lose: there is no AUC-E"
        )
    elif pass_at_1 is not None and pass_at_1 < _HARDLY_SOLVED:
        lines.append(
            f"pass@1 is {pass_at_1:.2f}: tasks that are never solved have elasticity 1, so AUC-E "
            "says nothing about stability here"
        )
    if 1 < n < _ENOUGH_TASKS and speaks_for != "reruns":
        lines.append(
            f"{n} tasks are few: up to {100 * unseen_share(n):.0f} % of other tasks may behave in "
            "another way, with nothing to show it here (95 % confidence). Add tasks, or set "
            "interval = reruns if no other tasks matter to you"
        )
    if emotions is not None:
        names = {e for of_task in emotions.values() for group in of_task.values() for e in group}
        if len(names) < 2:  # noqa: PLR2004 - one emotion does not vary
            lines.append("one emotion: there is no interval over emotions")
    lines += [
        f"{missing} of {n} tasks have no E({d:g}): they do not count in it"
        for d in plan.distances
        if (missing := sum(s.elasticity[d] is None for s in scores))
    ]
    return tuple(lines)
