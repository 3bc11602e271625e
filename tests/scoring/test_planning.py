"""What a gate on the drop can decide with planned numbers of tasks and samples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_promptse.scoring._planning import POWER, DropPlan

CI = DropPlan(tasks=4, variants=12, samples=8, original_samples=32, reruns=True)


@pytest.mark.parametrize("plan", [CI, replace(CI, tasks=50, reruns=False), replace(CI, tasks=1)])
def test_a_larger_plan_decides_more(plan):
    larger = replace(plan, samples=32, original_samples=128)
    assert larger.detects(0.1) <= plan.detects(0.1)
    assert larger.least_threshold() <= plan.least_threshold()
    assert plan.fails(plan.detects(0.1), 0.1) >= POWER
    assert plan.passes(plan.least_threshold()) >= POWER


def test_probabilities_are_those_of_simulated_gates():
    """The shares are of 2000 and 1200 suites with the intervals of `benchmarks/planning.py`."""
    assert replace(CI, tasks=1).passes(0.1) == pytest.approx(0.39, abs=0.04)
    over_tasks = replace(CI, tasks=8, reruns=False, pass_rate=0.8)
    assert over_tasks.fails(0.21, 0.1) == pytest.approx(0.754, abs=0.04)


def test_nothing_above_the_pass_rate_can_be_lost():
    plan = replace(CI, pass_rate=0.3)
    assert plan.detects(0.25) is None
    assert plan.fails(0.4, 0.1) == 0.0
    assert plan.fails(0.3, 0.1) > 0.0
    # Nor is a loss no larger than the threshold too large.
    assert plan.fails(0.1, 0.1) == 0.0


def test_a_plan_counts_its_completions_and_one_task_is_compared_with_itself():
    assert replace(CI, tasks=2, reruns=False).completions == 2 * (32 + 12 * 8)
    over_reruns = [replace(CI, tasks=n, reruns=False).over_reruns for n in (1, 2)]
    assert (over_reruns, CI.over_reruns) == ([True, False], True)


def test_few_tasks_cannot_pass_for_other_tasks():
    """With 20 tasks, 17 % of the others may break unseen, whatever the samples are."""
    plan = replace(CI, tasks=20, reruns=False)
    assert plan.passes(0.1) == 0.0
    larger = dict(plan.larger(0.1))
    assert list(larger) == ["tasks"]
    assert larger["tasks"].tasks > 35


def test_what_it_takes_is_the_smallest_plan_that_passes():
    plan = replace(CI, tasks=1)
    larger = dict(plan.larger(0.1))
    assert larger["samples"].passes(0.1) >= POWER
    assert replace(plan, samples=8).passes(0.1) < POWER
    assert larger["samples"].original_samples == 4 * larger["samples"].samples
    assert larger["samples"].completions > plan.completions


def test_a_threshold_is_found_even_if_only_a_total_loss_is_above_it():
    plan = DropPlan(tasks=1, variants=2, samples=1, original_samples=2, reruns=True)
    assert plan.passes(0.98) < POWER <= plan.passes(0.99)
    assert plan.least_threshold() == 0.99


def test_a_spread_over_tasks_hides_a_drop_from_intervals_over_tasks_only():
    over_tasks = replace(CI, tasks=20, reruns=False)
    assert replace(over_tasks, spread=0.3).detects(0.1) > over_tasks.detects(0.1)
    assert replace(CI, spread=0.3).detects(0.1) == CI.detects(0.1)
