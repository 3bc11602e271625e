"""Comparison of two runs by a test of non-inferiority.

The runs are paired by task and by prompt, so variation between tasks and prompts cancels. The
difference of a figure is a mean over tasks of the tasks' own differences, with an interval
clustered on tasks.

In small runs, "no significant difference" is no evidence that nothing got worse. A comparison
therefore passes only if the interval excludes a loss as large as the margin. Source: Piaggio et
al., CONSORT extension for noninferiority trials, JAMA 308, 2012.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.config._metrics import METRICS, metric_label
from pytest_promptse.config._task_outcomes import PromptGroup, TaskOutcomes
from pytest_promptse.scoring._elasticity import (
    area_weights,
    auc_e,
    elasticity,
    equal_weights,
    light_elasticity,
)
from pytest_promptse.scoring._intervals import (
    SIGNED,
    exact_interval,
    generator,
    mean_interval,
    shifted_interval,
    task_values,
)
from pytest_promptse.scoring._noise_floor import light_null_gap
from pytest_promptse.scoring._pairing import Pairs, is_solved
from pytest_promptse.scoring._robustness import (
    BY_DISTANCE,
    WORST_OF,
    figure_of,
    figure_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.scoring._elasticity import Weights
    from pytest_promptse.scoring._pairing import RecordedPrompt, RecordedTask
    from pytest_promptse.scoring._samples import Floats, Mode
    from pytest_promptse.scoring._scores import Curve, Interval, Verdict

# Number of random permutations behind a null mean that has no exact form.
_DRAWS = 499
# The key of the original's pass rate in a curve.
_ORIGINAL = 0.0

ELASTICITIES = ("auc_e", "elasticity", "excess")
"""Metrics whose figures depend on the mode. They are not measured if no original is solved."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One figure of two runs, over the tasks and prompts that both have.

    ``difference`` is `current` - `baseline`. ``ci95`` covers further tasks like the compared ones.
    ``exact`` covers any further tasks, and is None for a single task. ``verdict`` is ``pass`` if
    both intervals exclude a loss of ``margin`` or more, and ``fail`` if ``ci95`` excludes any
    smaller loss. Otherwise it is ``inconclusive``, and None without a margin or without a figure in
    both runs. A figure that depends on the number of samples is inconclusive if the runs differ in
    that number. Tasks and prompts that only one run has are listed: tasks by id, prompts as (task
    id, prompt id).
    """

    metric: str
    distance: float | None
    current: float | None
    baseline: float | None
    difference: float | None
    ci95: Interval | None
    exact: Interval | None
    margin: float | None
    verdict: Verdict | None
    message: str
    n_tasks: int
    tasks_only_current: tuple[str, ...]
    tasks_only_baseline: tuple[str, ...]
    variants_only_current: tuple[tuple[str, str], ...]
    variants_only_baseline: tuple[tuple[str, str], ...]


def compare_runs(
    current: Sequence[RecordedTask],
    baseline: Sequence[RecordedTask],
    metric: str,
    *,
    mode: Mode,
    distances: Sequence[float],
    distance: float | None = None,
    margin: float | None = None,
    relative: bool = False,
    seed: int = 0,
    resamples: int = 9999,
) -> Comparison:
    """Compare one figure of two runs, paired by task and prompt.

    Parameters
    ----------
    current, baseline
        The two runs. Ids of tasks are unique in each; their order does not matter.
    metric
        The name of a metric that can be compared, such as ``"auc_e"``, or ``"elasticity"`` (at
        `distance`).
    mode
        The metric of both runs: PromptSE's elasticity or PromptSELight's.
    distances
        The distances of the current run, ascending.
    distance
        The distance of the elasticity to compare, in (0, 1).
    margin
        The loss that is not acceptable, > 0: in units of the figure, or as a share of the
        baseline's figure if `relative`. None shows the difference without a verdict.
    seed, resamples
        Seed and number of the random draws. The same seed gives the same interval.

    Returns
    -------
    Comparison
        If the runs have one task in common, the interval comes from resampling its prompts' scores.
        These vary like pass rates of ``ess`` samples, or of ``n`` samples if ``ess`` is None. With
        more tasks, the interval comes from the tasks.

    Raises
    ------
    ValueError
        If `margin` is not positive. Also if `distance` is missing for ``"elasticity"``, given for
        another metric, or not among `distances`.
    """
    if margin is not None and not margin > 0:
        raise ValueError(f"the margin is {margin}: a loss to exclude is greater than 0")
    over = _compared_distances(metric, distance, distances)
    pairs = Pairs.of(current, baseline)
    paired = [
        _known_in_both(*(task_curve(task, metric, mode, over, seed) for task in pair))
        for pair in pairs.tasks
    ]
    weights = weights_of(metric)
    ours = task_values([a for a, _ in paired], over, weights=weights)
    theirs = task_values([b for _, b in paired], over, weights=weights)
    now, then, gap, ci95, exact = None, None, None, None, None
    missing = "the runs have nothing in common that could be compared"
    unsolved = _unsolved(pairs) if metric in ELASTICITIES else ""
    if unsolved and ours is not None:
        ours = theirs = None
        missing = f"{unsolved} solved no original, so there is nothing to lose"
    if ours is not None and theirs is not None:
        now, then = float(ours.mean()), float(theirs.mean())
        gap = now - then
        names = ("compare", metric, f"{distance}")
        if ours.size == 1:
            measured = next(
                pair
                for pair, (a, _) in zip(pairs.tasks, paired, strict=True)
                if any(e is not None for e in a.values())
            )
            rng = generator(seed, *names)
            a, b = (
                _resampled(task, metric, mode, over, resamples=resamples, rng=rng)
                for task in measured
            )
            ci95 = shifted_interval(gap, a - b, bounds=SIGNED)
        else:
            ci95, exact = _gap_intervals(ours - theirs, seed, names, resamples=resamples)
    if margin is not None and relative and then is not None:
        margin *= abs(then)
    sizes = None if METRICS[metric].is_unbiased else sample_sizes(pairs)
    verdict = _verdict(gap, ci95, exact, margin, less_is_better=METRICS[metric].less_is_better)
    if verdict is not None and sizes is not None:
        verdict = "inconclusive"
    label = metric_label(metric, distance if metric == "elasticity" else None)
    return Comparison(
        metric=metric,
        distance=distance,
        current=now,
        baseline=then,
        difference=gap,
        ci95=ci95,
        exact=exact,
        margin=margin,
        verdict=verdict,
        message=(
            f"{label}: {missing}"
            if now is None or then is None
            else _message(
                label,
                (now, then),
                intervals=(ci95, exact),
                margin=margin,
                verdict=verdict,
                sizes=sizes,
            )
        ),
        n_tasks=0 if ours is None else ours.size,
        tasks_only_current=pairs.tasks_only_current,
        tasks_only_baseline=pairs.tasks_only_baseline,
        variants_only_current=pairs.variants_only_current,
        variants_only_baseline=pairs.variants_only_baseline,
    )


def _compared_distances(
    metric: str, distance: float | None, distances: Sequence[float]
) -> tuple[float, ...]:
    if (metric == "elasticity") != (distance is not None):
        raise ValueError("give a distance for 'elasticity' and for no other metric")
    if distance is not None and distance not in distances:
        raise ValueError(f"distance {distance:g} is not among {list(distances)}")
    if distance is not None:
        return (distance,)
    return figure_distances(metric, distances)


def figure_distances(metric: str, distances: Sequence[float]) -> tuple[float, ...]:
    """Return the distances of the curve of a metric: one, 0, for a single figure of each task."""
    return tuple(distances) if figure_of(METRICS[metric]) is None else (_ORIGINAL,)


def weights_of(metric: str) -> Weights:
    """Return the weights of the distances in a metric: equal for the drop, else those of AUC-E."""
    return equal_weights if metric == "drop" else area_weights


def _unsolved(pairs: Pairs) -> str:
    """Return the names of the runs in which no sample of an original passed."""
    names = ("this run", "the baseline")
    return " and ".join(
        name
        for place, name in enumerate(names)
        if not is_solved(pair[place] for pair in pairs.tasks)
    )


def _gap_intervals(
    gaps: Floats, seed: int, names: tuple[str, ...], *, resamples: int
) -> tuple[Interval | None, Interval | None]:
    """Return both intervals of the mean of several tasks' differences."""
    ci95 = mean_interval(
        gaps, bounds=SIGNED, resamples=resamples, widen=False, rng=generator(seed, *names)
    )
    exact = exact_interval(
        np.clip(gaps, *SIGNED),
        bounds=SIGNED,
        resamples=resamples,
        rng=generator(seed, *names, "exact"),
    )
    return ci95, exact


def with_itself(comparison: Comparison) -> Comparison:
    """Return a comparison of two runs that have the same completions of the same prompts.

    Nothing can have got worse then, whatever the number of tasks.
    """
    if comparison.difference is None:
        return comparison
    return replace(
        comparison,
        ci95=(0.0, 0.0),
        exact=(0.0, 0.0),
        verdict=None if comparison.margin is None else "pass",
        message=f"{comparison.message.partition(' [')[0]}, the same completions",
    )


def task_curve(
    task: RecordedTask, metric: str, mode: Mode, over: Sequence[float], seed: int
) -> Curve:
    """Return one task's figure at each distance in `over`, None where it was not measured.

    Parameters
    ----------
    task
        The task of a record.
    metric
        The figure to compute.
    mode
        The metric of the run: PromptSE's elasticity or PromptSELight's.
    over
        The distances, ascending; 0 stands for the original.
    seed
        Seed of the permutations behind a noise floor without an exact form.
    """
    curve: Curve = dict.fromkeys(over)
    if task.original is None:
        return curve
    prompts = [task.original, *task.variants.values()]
    outcomes = _outcomes(
        prompts,
        rates=np.array([prompt.pass_rate for prompt in prompts]),
        scores=np.array([prompt.score for prompt in prompts]),
    )
    if figure_of(METRICS[metric]) is not None:
        value = figure_value(METRICS[metric], outcomes)
        return {_ORIGINAL: None if value is None else float(value)}
    for d in over:
        variants = [w for w in task.variants.values() if w.distance == d]
        if not variants:
            continue
        if metric == "excess":
            curve[d] = _excess(task, task.original, variants, mode, seed)
            continue
        value = _curve_figure(metric, mode)(outcomes.original, outcomes.by_distance[d])
        curve[d] = None if math.isnan(value) else float(value)
    return curve


def _curve_figure(metric: str, mode: Mode) -> Callable[[PromptGroup, PromptGroup], Floats]:
    """Return the figure of one distance that a metric is the area of, excess apart."""
    if metric in BY_DISTANCE:
        return BY_DISTANCE[metric]
    if mode == "light":
        return lambda original, group: light_elasticity(original.rates[..., 0], group.rates)
    return lambda original, group: elasticity(original.scores[..., 0], group.scores)


def _outcomes(prompts: Sequence[RecordedPrompt], *, rates: Floats, scores: Floats) -> TaskOutcomes:
    """Return the outcomes of a task.

    `prompts` are the original and its variants. `rates` and `scores` have a column for each of
    them, and may be resampled.
    """
    n = np.array([prompt.n for prompt in prompts])

    def group(columns: list[int]) -> PromptGroup:
        return PromptGroup(rates=rates[..., columns], n=n[columns], scores=scores[..., columns])

    places = range(1, len(prompts))
    return TaskOutcomes(
        original=group([0]),
        variants=group(list(places)),
        by_distance={
            d: group([at for at in places if prompts[at].distance == d])
            for d in sorted({variant.distance for variant in prompts[1:]})
        },
        worst_of=max(1, min(WORST_OF, len(places))),
    )


def _excess(
    task: RecordedTask,
    original: RecordedPrompt,
    variants: Sequence[RecordedPrompt],
    mode: Mode,
    seed: int,
) -> float | None:
    if mode == "promptse":
        excesses = [w.excess for w in variants if w.excess is not None]
        return float(np.mean(excesses)) if len(excesses) == len(variants) else None
    sizes = [original.n, *(w.n for w in variants)]
    passed = sum(round(w.n * w.pass_rate) for w in (original, *variants))
    rng = generator(seed, "compare", task.task_id, f"d{variants[0].distance:g}")
    null = light_null_gap(sizes, passed, draws=_DRAWS, rng=rng)
    return abs(original.pass_rate - float(np.mean([w.pass_rate for w in variants]))) - null


def _known_in_both(a: Curve, b: Curve) -> tuple[Curve, Curve]:
    common = [d for d in a if a[d] is not None and b[d] is not None]
    return (
        {d: a[d] if d in common else None for d in a},
        {d: b[d] if d in common else None for d in b},
    )


def _resampled(
    task: RecordedTask,
    metric: str,
    mode: Mode,
    over: Sequence[float],
    *,
    resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the figure of one task, up to a constant, with its scores resampled: shape (R,).

    Parameters
    ----------
    over
        Distances of the curve.
    resamples, rng
        Number R of draws, and their source.
    metric, mode
        As in `compare_runs`.

    Raises
    ------
    ValueError
        If the task has no original.
    """
    if task.original is None:
        raise ValueError(f"task {task.task_id!r} has no original, so it has no figure")
    figure = METRICS[metric]
    of_mode = metric in ELASTICITIES
    prompts = [task.original, *(task.variants.values() if figure.needs_variants else ())]
    scores = rates = _beta(prompts, mode if of_mode else "light", resamples, rng)
    if not of_mode and mode != "light":
        scores = _beta(prompts, mode, resamples, rng)
    outcomes = _outcomes(prompts, rates=rates, scores=scores)
    value = figure_value(figure, outcomes)
    if value is not None:
        return value
    of_distance = _curve_figure(metric, mode)
    curve = [of_distance(outcomes.original, outcomes.by_distance[d]) for d in over]
    if metric == "drop":
        return np.stack(curve, axis=1) @ equal_weights(over)
    area = auc_e(np.stack(curve, axis=1), over)
    # The noise ceiling varies far less than the elasticity and is not resampled.
    return -area if metric == "excess" else area


def _beta(
    prompts: Sequence[RecordedPrompt], mode: Mode, resamples: int, rng: np.random.Generator
) -> Floats:
    """Draw scores that vary like pass rates of as many samples (Jeffreys' posterior).

    The result has shape (`resamples`, number of prompts). In mode ``light`` a prompt counts as its
    number of samples, else as its effective sample size.
    """
    score = np.array([w.pass_rate if mode == "light" else w.score for w in prompts])
    size = np.array([w.n if mode == "light" or w.ess is None else w.ess for w in prompts])
    shape = (resamples, len(prompts))
    return rng.beta(score * size + 0.5, (1.0 - score) * size + 0.5, size=shape)


def sample_sizes(pairs: Pairs) -> tuple[int, int] | None:
    """Return the two sample counts of the first prompt on which the runs differ.

    Only prompts that both runs have are compared. None means that all counts are equal.
    """
    for ours, theirs in pairs.tasks:
        prompts = [(ours.original, theirs.original)]
        prompts += [(variant, theirs.variants[name]) for name, variant in ours.variants.items()]
        for prompt, other in prompts:
            if prompt is not None and other is not None and prompt.n != other.n:
                return (prompt.n, other.n)
    return None


def _verdict(
    gap: float | None,
    ci95: Interval | None,
    exact: Interval | None,
    margin: float | None,
    *,
    less_is_better: bool,
) -> Verdict | None:
    if gap is None or margin is None:
        return None
    if ci95 is None:
        return "inconclusive"
    sign = -1.0 if less_is_better else 1.0
    low, high = sorted(sign * end for end in ci95)
    # A pass means that nothing got worse for tasks outside the suite either.
    surely = low if exact is None else min(low, *(sign * end for end in exact))
    if surely > -margin:
        return "pass"
    return "fail" if high <= -margin else "inconclusive"


def _message(
    label: str,
    values: tuple[float, float],
    *,
    intervals: tuple[Interval | None, Interval | None],
    margin: float | None,
    verdict: Verdict | None,
    sizes: tuple[int, int] | None,
) -> str:
    now, then = values
    ci95, exact = intervals
    text = f"{label} {now:.3f}, baseline {then:.3f}: {now - then:+.3f}"
    if ci95 is not None:
        text += f" [{ci95[0]:+.3f}, {ci95[1]:+.3f}]"
    if margin is None:
        return text
    if sizes is not None:
        return (
            f"{text}, not comparable between {sizes[0]} and {sizes[1]} samples; compare drop "
            "or squared sensitivity"
        )
    if verdict == "pass":
        return f"{text}, no worse by {margin:.3f}"
    if verdict == "fail":
        return f"{text}, worse by {margin:.3f} or more"
    text += f", does not decide whether it is worse by {margin:.3f}"
    if exact is not None:
        text += f"; tasks not seen leave [{exact[0]:+.3f}, {exact[1]:+.3f}]"
    return text
