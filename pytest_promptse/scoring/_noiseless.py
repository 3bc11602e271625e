"""Limits of true figures, which contain no sampling noise: only real effects fail a gate.

Sampling noise lowers every elasticity. It also makes some tasks the worst ones, and turns majority
verdicts around, so shortfall and flips of a stable model are above 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring._elasticity import area_weights
from pytest_promptse.scoring._intervals import largest_lower_limit, share_interval, shortfall
from pytest_promptse.scoring._scores import Estimate
from pytest_promptse.scoring._task_drop import drop_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.scoring._scores import Interval, PromptScore, SuiteScore

_LEVEL = 0.025
_MAJORITY = 0.5


def least_sensitivity(
    excess: Estimate, score: SuiteScore, distances: Sequence[float]
) -> float | None:
    """Return the lower limit of the mean true difference between original and variants.

    The largest of several limits without sampling noise is taken, which hold together with 97.5 %.
    The drop and the gain are at most the true difference, since they are means of differences with
    their signs. Squared sensitivity is at most the true difference, since differences of rates are
    at most 1; it shows changes in both directions. The excess is at most the true difference, since
    by the triangle inequality a measured difference is at most the true one plus the noise. All are
    for tasks like the measured ones. The elasticity's own interval covers other tasks. Squared
    sensitivity compares variants one by one, so it is no limit of PromptSELight's difference, which
    is that of their mean. Over reruns, the excess is no limit: it is made of absolute differences,
    and resampled samples do not show how much these vary where the true difference is 0 (Andrews,
    Econometrica 68, 2000). If an original at 0.97 happens to pass in all 64 samples, all
    differences have one sign, and so have the resampled ones.

    Parameters
    ----------
    excess
        The excess over `distances`.
    score, distances
        The score of the suite, and the distances of the figure.
    """
    drop = score.drops[tuple(distances)]
    estimates = [drop]
    if drop.value is not None and drop.ci95 is not None:
        estimates.append(Estimate(value=-drop.value, ci95=(-drop.ci95[1], -drop.ci95[0])))
    # The other figures subtract the noise of independent samples, and copies vary more.
    if score.speaks_for != "reruns" and not score.copied:
        estimates.append(excess)
    if tuple(distances) == score.distances and score.mode != "light" and not score.copied:
        estimates.append(score.estimates["squared_sensitivity"])
    return largest_lower_limit(
        [(e.value, e.ci95[0]) for e in estimates if e.value is not None and e.ci95 is not None],
        n=None if score.speaks_for == "reruns" else score.n_tasks,
    )


def least_shortfall(score: SuiteScore) -> float | None:
    """Return the lower limit of the true shortfall of a suite, or None without a measured task.

    It is the larger of two limits, which hold together with 97.5 %. One is the shortfall of the
    tasks' own lower limits, which hold together by Bonferroni's method: true drops are at most the
    true one-sided drops. The other is that of the drop: the worst tasks lose at least as much as
    all of them.
    """
    measured = [
        (task.original, [task.variants[d] for d in score.distances])
        for task in score.tasks
        if task.original is not None and all(task.variants.get(d) for d in score.distances)
    ]
    if not measured:
        return None
    tail = _LEVEL / (2 * score.looks * len(measured))
    weights = area_weights(score.distances)
    lows = [drop_interval(*prompts, tail=tail, weights=weights)[0] for prompts in measured]
    limits = [shortfall(np.array(lows))]
    drop = score.drops[score.distances]
    if drop.value is not None and drop.ci95 is not None:
        n = None if score.speaks_for == "reruns" else score.n_tasks
        of_drop = largest_lower_limit([(drop.value, drop.ci95[0])], n=n, among=2)
        limits.append(-1.0 if of_drop is None else of_drop)
    return max(limits)


def least_flips(score: SuiteScore) -> float | None:
    """Return the lower limit of the true share of tasks that flip, or None without a measured task.

    It counts the tasks whose limits show a flip: the original solves the majority of its samples,
    and the variants of a distance do not, or the other way around. The exact limits of all pass
    rates hold together with 97.5 % (Bonferroni). The samples of all variants of a distance count as
    those of one prompt. If their true rates differ, the pooled rate varies less.
    """
    tasks = [
        (task.original, [group for group in task.variants.values() if group])
        for task in score.tasks
        if task.original is not None
    ]
    n_rates = sum(1 + len(groups) for _, groups in tasks)
    if not tasks:
        return None

    def limits(prompts: Sequence[PromptScore]) -> Interval:
        passes = sum(round(prompt.n * prompt.pass_rate) for prompt in prompts)
        n = sum(prompt.n for prompt in prompts)
        return share_interval(passes, n, looks=score.looks, comparisons=n_rates)

    def flips(original: Interval, variants: Interval) -> bool:
        low, high = original
        least, most = variants
        return (low >= _MAJORITY > most) or (high < _MAJORITY <= least)

    shown = [
        any(flips(limits([original]), limits(group)) for group in groups)
        for original, groups in tasks
    ]
    return float(np.mean(shown))
