from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring.noise import null_gap
from pytest_promptse.scoring.permutation import (
    grouped_softexec,
    p_value,
    pair_gaps,
    pass_rate_draws,
    softexec_draws,
)
from pytest_promptse.scoring.softexec import softexec, weights

law = settings(deadline=None, max_examples=40)
logprob = st.one_of(st.floats(-3000, 0), st.just(-np.inf))
sample = st.tuples(logprob, st.booleans())


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


def test_softexec_of_equal_log_probabilities_is_dealt_like_pass_rates():
    sizes = [12, 4, 4]
    passed = np.arange(20) < 7
    scores = softexec_draws(np.zeros(20), passed, sizes, 300, np.random.default_rng(0))
    assert (scores @ np.array(sizes)) == pytest.approx(np.full(300, 7.0))


def test_shuffles_that_do_not_fit_in_memory_at_once_are_drawn_in_parts():
    z, passed = np.linspace(-5, 0, 4000), np.arange(4000) % 2 == 0
    scores = softexec_draws(z, passed, [2000, 2000], 700, np.random.default_rng(0))
    assert scores.shape == (700, 2)
    assert len(np.unique(scores[:, 0])) == 700


def test_a_p_value_counts_the_observation_itself():
    draws = np.array([0.1, 0.2, 0.3, 0.4])
    assert p_value(0.5, draws) == pytest.approx(1 / 5)
    assert p_value(0.3, draws) == pytest.approx(3 / 5)
    assert p_value(0.1 + 0.2, draws) == pytest.approx(3 / 5)
    assert p_value(0.0, draws) == 1.0
