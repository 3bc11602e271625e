"""The table of metrics, and what follows from it."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_suites import plan

from pytest_promptse.config._metrics import METRICS, metric_label
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.config._task_outcomes import PromptGroup, TaskOutcomes

GATED = [metric for metric in METRICS.values() if metric.option is not None]


@pytest.mark.parametrize("metric", GATED, ids=lambda metric: metric.name)
def test_every_option_of_the_table_exists_and_plans_the_gate_of_its_metric(metric):
    assert OPTIONS[metric.option].marker
    suite = plan(["inc"], distances="0.3", **{metric.option: 0.5})
    thresholds = {gate.name: gate.threshold for gate in suite.gates}
    assert thresholds[metric.gate_at(0.3) if metric.by_distance else metric.gate] == 0.5


@pytest.mark.parametrize("metric", GATED, ids=lambda metric: metric.name)
def test_the_option_says_which_side_is_good(metric):
    bound = "min_" if metric.direction == "at least" else "max_"
    assert metric.option == bound + metric.name


def test_labels_take_names_of_gates_and_fall_back_to_the_name():
    assert metric_label("squared-sensitivity") == "squared sensitivity"
    assert metric_label("squared-sensitivity", short=True) == "squared"
    assert metric_label("drop", short=True) == "drop"
    assert metric_label("elasticity", 0.3) == metric_label("elasticity-d0.3") == "E(0.3)"
    assert metric_label("of-another") == "of-another"


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 9))
def test_pass_hat_is_the_share_of_subsets_that_pass_whole(passes, n):
    counts = [min(c, n) for c in passes]
    group = PromptGroup(
        rates=np.array(counts) / n, n=np.full(len(counts), n), scores=np.zeros(len(counts))
    )
    task = TaskOutcomes(original=group, variants=group, by_distance={}, worst_of=1)
    value = METRICS["pass_hat_4"].figure(task)
    if n < 4:
        assert math.isnan(value)
        return
    subsets = list(combinations(range(n), 4))
    whole = [np.mean([max(subset) < c for subset in subsets]) for c in counts]
    assert value == pytest.approx(np.mean(whole))
