from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from pytest_promptse.scoring._multiplicity import benjamini_hochberg, combined

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(P_VALUES)
def test_benjamini_and_hochberg_adjust_as_scipy_does(p_values):
    assert benjamini_hochberg(p_values) == pytest.approx(list(false_discovery_control(p_values)))


@given(P_VALUES, P_VALUES)
def test_a_combined_p_value_is_small_if_a_test_of_the_whole_or_one_part_is(wholes, parts):
    k = 1 + len(wholes)
    found, rounding = combined(wholes, parts), 1.0 + 1e-9
    assert found <= rounding * min(1.0, k * min(wholes), k * len(parts) * min(parts))
    assert found * rounding >= min(1.0, k * min(*wholes, *parts))
    assert combined(wholes, []) == min(1.0, k * min(wholes))


@given(st.lists(st.none() | st.floats(0, 1), max_size=8))
def test_a_test_without_a_p_value_is_none(p_values):
    adjusted = benjamini_hochberg(p_values)
    assert [p is None for p in adjusted] == [p is None for p in p_values]
    tested = [p for p in p_values if p is not None]
    assert [p for p in adjusted if p is not None] == benjamini_hochberg(tested)


def test_benjamini_and_hochberg_of_a_worked_example():
    # Sorted 0.01, 0.03, 0.04 times 3/1, 3/2, 3/3: 0.03, 0.045, 0.04; from the end, none may exceed
    # the next: 0.03, 0.04, 0.04.
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
