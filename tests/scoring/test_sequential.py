from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._elasticity import light_elasticity
from pytest_promptse.scoring._gate import judge_gate
from pytest_promptse.scoring._intervals import mean_interval, shifted_interval
from pytest_promptse.scoring._sequential import may_stop, planned_looks

law = settings(deadline=None, max_examples=40)


def gate(low: float, high: float, threshold: float = 0.8):
    middle = (low + high) / 2
    return judge_gate("auc-e", middle, threshold, ci95=(low, high), kind="confident")


def test_looks_double_up_to_the_plan():
    assert planned_looks(1) == (1,)
    assert planned_looks(4) == (1, 2, 4)
    assert planned_looks(30) == (1, 2, 4, 8, 16, 30)


def test_a_plan_without_variants_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        planned_looks(0)


def test_a_suite_stops_once_every_gate_is_decided():
    assert may_stop([gate(0.85, 0.9), gate(0.5, 0.6)], mode="promptse")
    assert not may_stop([gate(0.85, 0.9), gate(0.7, 0.9)], mode="promptse")


def test_a_gate_without_a_verdict_and_a_suite_without_gates_keep_it_going():
    assert not may_stop([judge_gate("auc-e", None, 0.8, kind="confident")], mode="promptse")
    assert not may_stop([], mode="promptse")


def test_a_light_suite_stops_early_only_for_floors_that_pass():
    assert may_stop([gate(0.85, 0.9)], mode="light")
    assert not may_stop([gate(0.5, 0.6)], mode="light")
    excess = judge_gate(
        "excess", 0.0, 0.1, ci95=(-0.02, 0.02), kind="confident", direction="at most"
    )
    assert may_stop([excess], mode="promptse")
    assert not may_stop([excess], mode="light")


@law
@given(st.floats(0, 1), st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_fewer_variants_lower_the_light_elasticity_on_average(p, v):
    fewer = [float(light_elasticity(p, np.delete(v, i))) for i in range(len(v))]
    assert np.mean(fewer) <= float(light_elasticity(p, v)) + 1e-9


def test_more_looks_widen_every_interval():
    values = np.random.default_rng(0).beta(8, 2, 30)
    once = mean_interval(values, rng=np.random.default_rng(1))
    often = mean_interval(values, looks=5, rng=np.random.default_rng(1))
    assert often[0] < once[0] < once[1] < often[1]
    draws = np.linspace(0.4, 0.6, 10_001)
    assert shifted_interval(0.5, draws, looks=5)[0] < shifted_interval(0.5, draws)[0]


@pytest.mark.parametrize("name", ["shortfall", "robust-pass", "flips"])
def test_a_figure_that_depends_on_the_number_of_variants_needs_them_all(name):
    sure = judge_gate(name, 0.5, 0.5, ci95=(0.5, 0.5), kind="confident")
    assert sure.verdict == "pass"
    assert not may_stop([gate(0.85, 0.9), sure], mode="promptse")
