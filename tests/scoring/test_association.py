from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._association import agreement, correlations


def test_the_coefficients_of_a_worked_example():
    # Ranks 1 2 3 4 5 against 1 2 3 5 4. Spearman: the squared rank differences sum to 2, so
    # 1 - 6 * 2 / (5 * 24) = 0.9. Of 120 orders, the 5 with a sum of at most 2 (the same order and
    # its 4 swaps of neighbours) are as extreme, and their 5 mirrors: p = 10 / 120.
    # Pearson of ranks is Spearman. Kendall: 1 of 10 pairs is discordant, (9 - 1) / 10 = 0.8, and
    # the same 10 orders are as extreme.
    spearman, pearson, kendall = correlations([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
    assert [c.coefficient for c in (spearman, pearson, kendall)] == [
        "Spearman",
        "Pearson",
        "Kendall",
    ]
    assert (spearman.value, pearson.value, kendall.value) == pytest.approx((0.9, 0.9, 0.8))
    assert (spearman.p_value, pearson.p_value, kendall.p_value) == pytest.approx((1 / 12,) * 3)
    assert spearman.n == 5


def test_intervals_hold_the_value_and_are_the_same_every_time():
    rng = np.random.default_rng(1)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    for found, again in zip(correlations(x, y), correlations(x, y), strict=True):
        low, high = found.ci95
        assert -1 <= low < found.value < high <= 1
        assert found == again


def test_few_pairs_have_no_interval_and_fewer_nothing():
    assert len(correlations([1, 2, 3], [2, 1, 3])) == 3
    assert [c.ci95 for c in correlations([1, 2, 3, 4], [2, 1, 3, 4])] == [None] * 3
    assert correlations([1, 2], [1, 2]) == []
    assert correlations([1, 1, 1], [1, 2, 3]) == correlations([1, 2, 3], [1, 1, 1]) == []
    five = [1, 2, 3, 4, 5], [2, 1, 3, 4, 5]
    assert all(c.ci95 is not None for c in correlations(*five))
    assert [c.ci95 for c in correlations(*five, intervals=False)] == [None] * 3


def test_resamples_in_which_one_side_does_not_vary_are_left_out():
    rare, all_differ = [0, 0, 0, 0, 1], [2, 1, 3, 4, 5]
    for sides in ((rare, all_differ), (all_differ, rare)):
        for found in correlations(*sides):
            assert -1.0 <= found.ci95[0] < found.ci95[1] <= 1.0


def test_equal_figures_agree_even_if_they_are_zero_or_do_not_vary():
    found = agreement([0.0, 0.0], [0.0, 0.0])
    assert (found.smape, found.r2, found.mae) == (0.0, None, 0.0)
    assert agreement([0.0, 1.0], [0.0, 0.5]).smape == pytest.approx((0.0 + 2 / 3) / 2)
    one = agreement([0.5], [0.25])
    assert (one.n, one.r2, one.rmse) == (1, None, 0.25)


def test_the_agreement_of_a_worked_example():
    # Light 0.9 0.8 0.6 for full 1.0 0.8 0.7: differences 0.1 0 0.1.
    # MAE 0.2 / 3; RMSE sqrt(0.02 / 3). The full figures lie 1/6, -1/30 and -4/30 off their mean,
    # with squares that sum to (25 + 1 + 16) / 900 = 42 / 900: R2 = 1 - 0.02 / (42 / 900) = 4 / 7.
    # sMAPE (0.2 / 1.9 + 0 + 0.2 / 1.3) / 3. The ranks are the same.
    found = agreement([0.9, 0.8, 0.6], [1.0, 0.8, 0.7])
    assert found.mae == pytest.approx(0.2 / 3)
    assert found.rmse == pytest.approx((0.02 / 3) ** 0.5)
    assert found.r2 == pytest.approx(4 / 7)
    assert found.smape == pytest.approx((0.2 / 1.9 + 0.2 / 1.3) / 3)
    assert (found.n, found.drift, found.worst_drift) == (3, 0.0, 0.0)


def test_ranks_drift_where_light_orders_otherwise():
    # Ranks 3 2 1 for 1 2 3: they are 2, 0 and 2 off.
    found = agreement([0.3, 0.2, 0.1], [0.1, 0.2, 0.3])
    assert (found.drift, found.worst_drift) == (pytest.approx(4 / 3), 2.0)


def test_where_all_are_equal_there_is_no_r2_and_zeros_agree():
    found = agreement([0.0, 0.0], [0.0, 0.0])
    assert (found.r2, found.smape) == (None, 0.0)


def test_figures_that_do_not_pair_are_refused():
    with pytest.raises(ValueError, match="give as many of both"):
        agreement([1.0], [1.0, 2.0])


VALUES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=3, max_size=8)


@settings(deadline=None, max_examples=50)
@given(VALUES)
def test_what_agrees_with_itself_has_no_error(values):
    found = agreement(values, values)
    assert found.mae == found.rmse == found.smape == found.drift == 0.0
    assert found.r2 in (1.0, None)


def test_rounding_makes_no_correlation():
    assert correlations([1.0, 2.0, 3.0], [0.1 + 0.2, 0.3, 0.3]) == []
    assert agreement([0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]).worst_drift == 0.0
