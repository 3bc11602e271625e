from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._confidence_sequence import finite_population_limits

law = settings(deadline=None, max_examples=60)
populations = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


@law
@given(populations, st.data())
def test_the_limits_allow_for_whatever_is_left(values, data):
    n = data.draw(st.integers(0, values.size))
    low, high = finite_population_limits(values[:n], values.size, error=0.05)
    seen, left = values[:n].sum(), values.size - n
    assert seen / values.size - 1e-9 <= low <= high <= (seen + left) / values.size + 1e-9


@pytest.mark.parametrize("seen", [np.full(50, 0.3), np.linspace(0.0, 0.4, 40), np.zeros(8)])
def test_the_limits_of_the_opposite_are_the_opposite_limits(seen):
    low, high = finite_population_limits(seen, 60, error=0.05)
    opposite = finite_population_limits(1.0 - seen, 60, error=0.05)
    assert opposite == pytest.approx((1.0 - high, 1.0 - low), abs=1e-9)


@law
@given(populations)
def test_nothing_is_left_to_doubt_once_all_have_been_seen(values):
    mean = float(values.mean())
    assert finite_population_limits(values, values.size, error=0.05) == pytest.approx((mean, mean))


def test_values_that_all_agree_leave_doubt_about_the_rest():
    low, high = finite_population_limits(np.zeros(8), 30, error=0.05)
    assert low == 0.0
    assert 0.1 < high < 0.6
    more = finite_population_limits(np.zeros(16), 30, error=0.05)
    assert more[1] < high


def test_the_means_are_missed_at_any_look_no_more_often_than_allowed():
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(400):
        values = rng.permutation(np.where(rng.random(30) < 0.3, rng.random(30), 0.0))
        limits = [finite_population_limits(values[:n], 30, error=0.1) for n in (1, 2, 4, 8, 16)]
        missed += not all(low <= values.mean() <= high for low, high in limits)
    assert missed / 400 <= 0.1


@pytest.mark.parametrize(("values", "population"), [([0.5, 0.5], 1), ([1.1], 3), ([-0.1], 3)])
def test_what_is_no_part_of_such_a_population_is_refused(values, population):
    with pytest.raises(ValueError, match=r"each in \[0, 1\], were expected"):
        finite_population_limits(np.array(values), population, error=0.05)
