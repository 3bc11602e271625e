from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, fisher_exact

from pytest_promptse.scoring._noise_floor import (
    gap_p_value,
    grouped_softexec,
    null_gap,
    p_value,
    pair_gaps,
    pass_rate_draws,
    stable_gap,
    stable_softexec_gaps,
    summed_p_value,
)
from pytest_promptse.scoring._softexec import softexec, weights
from pytest_promptse.scoring._task_score import centred

law = settings(deadline=None, max_examples=60)
small = st.integers(1, 5)
logprob = st.one_of(st.floats(-3000, 0), st.just(-np.inf))
sample = st.tuples(logprob, st.booleans())


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
def test_the_expected_gap_has_no_bias_where_variant_does_not_matter(m_p, m_v, q):
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


@law
@given(st.lists(st.lists(sample, min_size=1, max_size=5), min_size=1, max_size=5))
def test_groups_score_what_each_scores_alone(groups):
    z = np.array([[lp for group in groups for lp, _ in group]])
    passed = np.array([[ok for group in groups for _, ok in group]])
    expected = [softexec([ok for _, ok in g], weights([lp for lp, _ in g])) for g in groups]
    sizes = np.array([len(g) for g in groups])
    assert grouped_softexec(z, passed, sizes)[0] == pytest.approx(np.array(expected))


@law
@given(st.lists(sample, min_size=2, max_size=5), st.data())
def test_shuffled_pairs_only_take_values_that_some_deal_gives(pool, data):
    m_p = data.draw(st.integers(1, len(pool) - 1))
    z = np.array([lp for lp, _ in pool])
    passed = np.array([ok for _, ok in pool])
    possible = []
    for ours in combinations(range(len(pool)), m_p):
        mask = np.isin(np.arange(len(pool)), ours)
        possible.append(
            abs(
                softexec(passed[mask], weights(z[mask]))
                - softexec(passed[~mask], weights(z[~mask]))
            )
        )
    drawn = pair_gaps(z[None], passed[None], m_p, 400, np.random.default_rng(0))[:, 0]
    nearest = np.abs(drawn[:, None] - np.array(possible)).min(axis=1)
    assert nearest.max() < 1e-9
    assert drawn.mean() == pytest.approx(np.mean(possible), abs=0.12)


def test_log_probabilities_thousands_of_nats_apart_keep_their_order():
    z = np.array([[0.0, -900.0, -1800.0, -1801.0]])
    passed = np.array([[False, False, True, False]])
    drawn = pair_gaps(z, passed, 2, 500, np.random.default_rng(0))
    # The pass leads only where it meets the last sample alone, and then by e : 1.
    lead = np.e / (1 + np.e)
    assert set(np.round(drawn.ravel(), 6)) == {0.0, round(lead, 6)}


def test_equal_log_probabilities_shuffle_like_pass_rates():
    z = np.full((1, 24), -7.0)
    passed = np.arange(24)[None] < 9
    drawn = pair_gaps(z, passed, 16, 20_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(null_gap(16, 8, 9), abs=0.005)


def test_dealt_pass_rates_keep_the_number_of_passes():
    sizes = [32, 8, 8, 5]
    rates = pass_rate_draws(sizes, 20, 300, np.random.default_rng(0))
    assert (rates @ np.array(sizes)) == pytest.approx(np.full(300, 20.0))


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4), min_size=2, max_size=4),
    st.floats(0.01, 1.0),
)
def test_the_p_value_of_a_sum_counts_all_sums_of_one_value_per_task(rows, unit):
    sums = [sum(values) for values in product(*rows)]
    expected = np.mean([total >= sum(row[0] for row in rows) for total in sums])
    found = summed_p_value(np.array(rows) * unit / 6.0)
    # Values are rounded to a 64th of their mean, so sums that nearly tie may change places.
    near = np.mean([abs(total - sum(row[0] for row in rows)) < 0.5 for total in sums])
    assert abs(found - expected) <= (1e-9 if len({x for r in rows for x in r}) < 3 else near + 1e-9)


def test_the_p_value_of_a_sum_of_many_tasks_is_far_smaller_than_shuffles_of_one_show():
    rng = np.random.default_rng(0)
    statistics = rng.random((30, 100))
    assert summed_p_value(statistics) > 1e-3
    statistics[:, 0] = 1.0
    assert summed_p_value(statistics) == 1e-12


def test_the_p_value_of_a_sum_is_uniform_without_an_effect():
    rng = np.random.default_rng(1)
    p_values = [summed_p_value(rng.random((5, 40)) ** 4) for _ in range(400)]
    assert np.mean(np.array(p_values) <= 0.1) == pytest.approx(0.1, abs=0.04)


def test_a_p_value_counts_the_observation_itself():
    draws = [0.1, 0.2, 0.3, 0.4]
    assert p_value(np.array([0.5, *draws])) == pytest.approx(1 / 5)
    assert p_value(np.array([0.3, *draws])) == pytest.approx(3 / 5)
    assert p_value(np.array([0.1 + 0.2, *draws])) == pytest.approx(3 / 5)
    assert p_value(np.array([0.0, *draws])) == 1.0


@law
@given(
    st.lists(st.tuples(st.floats(-60, 0), st.booleans()), min_size=4, max_size=8),
    st.floats(-50, 0),
    st.integers(1, 3),
)
def test_the_null_of_softexec_does_not_move_with_a_prompts_log_probability_level(pool, level, m_p):
    """SoftExec ignores a constant added to all log-probabilities of a prompt; so must its null."""
    z = np.array([lp for lp, _ in pool])
    passed = np.array([ok for _, ok in pool])
    moved = np.where(np.arange(z.size) < m_p, z, z + level)

    def gaps(of):
        row = np.concatenate(centred([of[:m_p], of[m_p:]], [passed[:m_p], passed[m_p:]]))
        return pair_gaps(row[None], passed[None], m_p, 200, np.random.default_rng(0))

    assert gaps(moved) == pytest.approx(gaps(z), abs=1e-6)


def test_impossible_samples_stay_impossible_when_centred():
    [own] = centred([np.array([-np.inf, -1.0, -3.0])], [np.array([False, True, True])])
    # Two deviations from their own mean have half the variance of the samples.
    assert own == pytest.approx([-np.inf, 2**0.5, -(2**0.5)])
    [own] = centred([np.array([-np.inf])], [np.array([True])])
    assert own == pytest.approx([-np.inf])


def test_what_passing_is_worth_is_no_part_of_a_prompts_level():
    """Two prompts of one level, in which passing is worth 2 nats, are not moved apart."""
    many, few = np.array([True, True, True, False]), np.array([True, False, False, False])
    levels = [-5.0 + 2.0 * many, -9.0 + 2.0 * few]
    assert centred(levels, [many, few]) == [pytest.approx(2.0 * many), pytest.approx(2.0 * few)]


@law
@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_the_gap_of_a_stable_model_is_that_of_two_binomial_rates(m_p, m_v, data):
    passed = data.draw(st.integers(0, m_p))
    rates_p = binom.pmf(range(m_p + 1), m_p, passed / m_p)
    rates_v = binom.pmf(range(m_v + 1), m_v, passed / m_p)
    expected = sum(
        a * b * abs(i / m_p - j / m_v) for i, a in enumerate(rates_p) for j, b in enumerate(rates_v)
    )
    assert stable_gap(m_p, m_v, passed) == pytest.approx(expected)
    assert (stable_gap(m_p, m_v, passed) == 0.0) == (passed in {0, m_p})


def test_the_gap_of_a_stable_model_in_softexec_agrees_with_that_of_pass_rates():
    passed = np.arange(32) < 20
    [gap] = stable_softexec_gaps(
        np.zeros(32), passed, [8, 8], 4000, np.random.default_rng(0)
    ).values()
    assert gap == pytest.approx(stable_gap(32, 8, 20), rel=0.05)
