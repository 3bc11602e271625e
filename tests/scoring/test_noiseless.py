"""Limits of true figures: sampling noise alone never raises them above 0."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_promptse.scoring._elasticity import area_weights
from pytest_promptse.scoring._intervals import largest_lower_limit, share_interval
from pytest_promptse.scoring._noiseless import least_flips, least_sensitivity, least_shortfall
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._scores import Estimate
from pytest_promptse.scoring._suite import score_suite
from pytest_promptse.scoring._task_drop import drop_interval

D = (0.1, 0.2)


def task(name, original, *variants, n=64):
    """Return a task of which so many of `n` samples pass; None was not measured."""

    def samples(passes):
        return Samples(np.arange(n) < passes)

    return TaskSamples(
        name,
        None if original is None else samples(original),
        {d: [samples(k) for k in group] for d, group in zip(D, variants, strict=True)},
    )


def score(*tasks, mode="light", **options):
    options = {"permutations": 1, "resamples": 100, "weighting": "uniform"} | options
    return score_suite(tasks, distances=D, mode=mode, **options)


FLIPS = task("a", 64, [0], [64])
TURNS_UP = task("b", 0, [0], [64])
STAYS = task("c", 64, [64], [64])


def test_a_flip_counts_if_the_limits_of_both_sides_show_it_at_any_distance():
    found = score(FLIPS, TURNS_UP, STAYS, task("d", 64, [0], [0]), task("e", None, [0], [0]))
    assert least_flips(found) == pytest.approx(3 / 4)
    assert least_flips(score(STAYS)) == 0.0
    # Chance explains a minority of three samples.
    assert least_flips(score(task("a", 2, [1], [1], n=3))) == 0.0
    assert least_flips(score(task("e", None, [0], [0]))) is None


@pytest.mark.parametrize("looks", [1, 4])
def test_the_limits_of_flips_hold_together_for_all_pooled_rates(looks):
    """Two tasks have six pooled rates. The variants of a distance count as one prompt."""

    def most(passes):
        return share_interval(2 * passes + 1, 128, looks=looks, comparisons=6)[1]

    last = max(passes for passes in range(64) if most(passes) < 0.5)
    for passes, share in ((last, 0.5), (last + 1, 0.0)):
        tasks = [task("a", 64, [passes, passes + 1], [64]), STAYS]
        assert least_flips(score(*tasks, looks=looks)) == share


@pytest.mark.parametrize(("looks", "among"), [(1, 3), (3, 3)])
def test_the_shortfall_is_at_least_that_of_the_limits_of_the_tasks(looks, among):
    found = score(
        *(task(f"t{n}", 64, [lost], [lost]) for n, lost in enumerate((0, 64, 64))), looks=looks
    )
    broken = found.tasks[0]
    tail = 0.025 / (2 * looks * among)
    groups = [broken.variants[d] for d in D]
    low, _ = drop_interval(broken.original, groups, tail=tail, weights=area_weights(D))
    # The worst tenth of three tasks is the worst task.
    assert least_shortfall(found) == pytest.approx(low)


def test_the_shortfall_is_at_least_the_drop_of_all_tasks():
    found = score(*(task(f"t{n}", 8, [0] * 2, [0] * 2, n=8) for n in range(40)))
    drop = found.drops[D]
    of_drop = largest_lower_limit([(drop.value, drop.ci95[0])], n=40, among=2)
    assert least_shortfall(found) == of_drop > 0.7


def test_a_task_that_lacks_a_distance_or_the_original_has_no_shortfall():
    assert least_shortfall(score(task("a", 64, [0], []), task("b", None, [0], [0]))) is None


BREAKS_MORE = [task(f"t{n}", 60, [20], [30 + n % 3]) for n in range(20)]


def limit(found, estimates, n):
    pairs = [(e.value, e.ci95[0]) for e in estimates]
    return largest_lower_limit(pairs, n=n)


def turned(drop):
    return Estimate(value=-drop.value, ci95=(-drop.ci95[1], -drop.ci95[0]))


@pytest.mark.parametrize("mode", ["promptse", "light"])
@pytest.mark.parametrize("distances", [D, (0.2,)])
def test_a_difference_over_tasks_is_at_least_the_largest_of_its_limits(mode, distances):
    found = score(*BREAKS_MORE, mode=mode)
    drop = found.drops[distances]
    excess = Estimate(value=0.4, ci95=(0.3, 0.5))
    estimates = [drop, turned(drop), excess]
    if mode == "promptse" and distances == D:
        estimates.append(found.estimates["squared_sensitivity"])
    assert least_sensitivity(excess, found, distances) == limit(found, estimates, 20)
    high = Estimate(value=0.95, ci95=(0.9, 1.0))
    assert least_sensitivity(high, found, distances) > least_sensitivity(excess, found, distances)


def test_the_excess_is_no_limit_over_reruns():
    found = score(*BREAKS_MORE, speaks_for="reruns")
    drop = found.drops[D]
    high = Estimate(value=0.95, ci95=(0.9, 1.0))
    assert least_sensitivity(high, found, D) == limit(found, [drop, turned(drop)], None)


def test_an_estimate_without_an_interval_is_no_limit():
    found = score(*BREAKS_MORE, interval=False)
    assert least_sensitivity(Estimate(value=0.4), found, D) is None
