from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, fisher_exact

from pytest_promptse.scoring.noise import gap_p_value, null_gap

law = settings(deadline=None, max_examples=60)
small = st.integers(1, 5)


def dealt(m_p: int, m_v: int, passed: int) -> list[float]:
    """Every way of dealing the passes out, and the difference of pass rates it leaves."""
    gaps = []
    for winners in combinations(range(m_p + m_v), passed):
        first = sum(w < m_p for w in winners)
        gaps.append(abs(first / m_p - (passed - first) / m_v))
    return gaps


@law
@given(small, small, st.data())
def test_the_expected_gap_is_the_mean_over_all_deals(m_p, m_v, data):
    passed = data.draw(st.integers(0, m_p + m_v))
    assert null_gap(m_p, m_v, passed) == pytest.approx(np.mean(dealt(m_p, m_v, passed)))


@law
@given(small, small, st.data())
def test_the_p_value_is_the_share_of_deals_at_least_as_far_apart(m_p, m_v, data):
    a, b = data.draw(st.integers(0, m_p)), data.draw(st.integers(0, m_v))
    gaps = np.array(dealt(m_p, m_v, a + b))
    observed = abs(a / m_p - b / m_v)
    assert gap_p_value(m_p, a, m_v, b) == pytest.approx(np.mean(gaps >= observed - 1e-9))


@law
@given(st.integers(1, 16), st.data())
def test_equal_sample_sizes_give_fishers_exact_test(m, data):
    a, b = data.draw(st.integers(0, m)), data.draw(st.integers(0, m))
    assert gap_p_value(m, a, m, b) == pytest.approx(fisher_exact([[a, m - a], [b, m - b]]).pvalue)


@law
@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_both_prompts_are_treated_alike_and_so_are_passes_and_failures(m_p, m_v, data):
    passed = data.draw(st.integers(0, m_p + m_v))
    gap = null_gap(m_p, m_v, passed)
    assert 0.0 <= gap <= 1.0
    assert gap == pytest.approx(null_gap(m_v, m_p, passed))
    assert gap == pytest.approx(null_gap(m_p, m_v, m_p + m_v - passed))


@pytest.mark.parametrize(("m_p", "m_v"), [(1, 1), (16, 16), (64, 16)])
def test_there_is_no_noise_where_all_or_none_passed(m_p, m_v):
    assert null_gap(m_p, m_v, 0) == 0.0
    assert null_gap(m_p, m_v, m_p + m_v) == 0.0
    assert gap_p_value(m_p, 0, m_v, 0) == 1.0
    assert gap_p_value(m_p, m_p, m_v, m_v) == 1.0


def test_one_sample_each_tells_nothing():
    assert null_gap(1, 1, 1) == 1.0
    assert gap_p_value(1, 1, 1, 0) == 1.0


def test_sixteen_samples_of_a_coin_differ_by_a_seventh_on_average():
    # A perfectly stable model with a true pass rate of 1/2 everywhere "scores" 0.86.
    counts = np.arange(17)
    weight = binom.pmf(counts, 16, 0.5)
    expected = sum(
        weight[a] * weight[b] * null_gap(16, 16, int(a + b)) for a, b in product(counts, counts)
    )
    raw = sum(weight[a] * weight[b] * abs(a - b) / 16 for a, b in product(counts, counts))
    assert expected == pytest.approx(raw)
    assert 1 - expected == pytest.approx(0.86, abs=0.001)


@pytest.mark.parametrize("q", [0.05, 0.3, 0.9])
@pytest.mark.parametrize(("m_p", "m_v"), [(32, 8), (8, 2), (5, 7)])
def test_the_expected_gap_has_no_bias_where_wording_does_not_matter(m_p, m_v, q):
    a, b = np.arange(m_p + 1), np.arange(m_v + 1)
    weight = np.outer(binom.pmf(a, m_p, q), binom.pmf(b, m_v, q))
    gap = np.abs(a[:, None] / m_p - b / m_v)
    null = np.array([[null_gap(m_p, m_v, int(i + j)) for j in b] for i in a])
    assert (weight * (gap - null)).sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: null_gap(0, 3, 1), "need a sample"),
        (lambda: null_gap(3, 3, 7), "cannot have passed"),
        (lambda: gap_p_value(3, 4, 3, 0), "between 0 and m"),
    ],
)
def test_counts_that_cannot_be_are_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
