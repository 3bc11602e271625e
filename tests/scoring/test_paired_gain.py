from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_promptse.scoring._paired_gain import paired_gain, rate_difference

gains = st.lists(st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=8), min_size=1, max_size=5)


@given(gains)
def test_the_gain_is_the_mean_over_tasks_and_lies_in_its_interval(tasks):
    gain = paired_gain(tasks)
    assert gain.value == pytest.approx(np.mean([np.mean(task) for task in tasks]))
    assert -1.0 <= gain.low <= gain.value + 1e-9
    assert gain.value - 1e-9 <= gain.high <= 1.0


@given(gains)
def test_the_opposite_comparison_has_the_opposite_gain(tasks):
    gain, opposite = paired_gain(tasks), paired_gain([[-value for value in task] for task in tasks])
    assert opposite == pytest.approx((-gain.value, -gain.high, -gain.low))


def test_equal_gains_have_an_interval():
    gain = paired_gain([[0.0] * 12])
    assert gain.low < 0.0 < gain.high
    assert paired_gain([[0.0] * 48]).high < gain.high


def test_the_interval_of_two_tasks_is_welchs():
    one, other = np.array([0.5, -0.25, 0.0, 0.75]), np.array([0.25, 0.5, -0.5])
    gain = paired_gain([one, other])
    welch = stats.ttest_ind(one, -other, equal_var=False).confidence_interval(0.95)
    assert (2 * gain.low, 2 * gain.high) == pytest.approx((welch.low, welch.high))


def test_a_single_variant_is_refused():
    with pytest.raises(ValueError, match="at least two variants"):
        paired_gain([[0.5]])
    with pytest.raises(ValueError, match="at least two variants"):
        paired_gain([])


def test_a_difference_of_rates_has_the_error_of_its_samples():
    few = rate_difference([(0.75, 8), (0.5, 8)], [(0.5, 8), (0.5, 8)])
    many = rate_difference([(0.75, 800), (0.5, 800)], [(0.5, 800), (0.5, 800)])
    assert few.value == many.value == pytest.approx(0.125)
    assert few.low < 0.0 < many.low < many.high < few.high
    assert rate_difference([(1.0, 8)], [(1.0, 8)]).low < 0.0
