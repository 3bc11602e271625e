from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_promptse.psychometrics.csi._prompts import make_batches
from pytest_promptse.psychometrics.csi._scoring import MISSING, encode, score, top_words

P, N, Z, X = 1, -1, 0, MISSING


def scores(*runs, resamples=0):
    codes = np.array(runs, dtype=np.int8)
    return score(codes, np.tile(np.arange(codes.shape[1]), (len(runs), 1)), resamples=resamples)


def test_scores_of_a_small_example_by_hand():
    found = scores([P, P, N, Z, N, P, Z, P], [P, P, N, Z, P, Z, Z, N])
    assert found.optimism.value == 2 / 8
    assert found.pessimism.value == 1 / 8
    assert found.neutrality.value == 5 / 8
    assert found.consistency.value == 5 / 8
    assert found.reluctancy.value == 5 / 16
    assert found.coverage.value == 1
    # Observed agreement 5/8; expected 4/8*4/8 ... by the margins of both runs.
    expected = (4 * 3 + 2 * 2 + 2 * 3) / 64
    assert found.kappa.value == pytest.approx((5 / 8 - expected) / (1 - expected))


def test_a_missing_label_is_neither_neutral_nor_consistent():
    found = scores([P, X, X, Z], [P, P, X, Z])
    assert found.optimism.value == 1 / 4
    assert found.consistency.value == 2 / 4
    assert found.coverage.value == 5 / 8
    assert found.reluctancy.value == 2 / 5


def test_nothing_labelled_has_no_scores_but_a_coverage_of_zero():
    found = scores([X, X], [X, X], resamples=100)
    assert found.coverage.value == 0
    for figure in (found.reluctancy, found.kappa, found.optimism, found.neutrality):
        assert figure.value is None
        assert figure.ci95 is None


@settings(max_examples=50)
@given(
    st.integers(1, 3).flatmap(
        lambda runs: st.lists(
            st.lists(st.sampled_from([P, N, Z, X]), min_size=runs, max_size=runs),
            min_size=1,
            max_size=30,
        )
    )
)
def test_shares_add_to_one_and_do_not_depend_on_order(columns):
    runs = np.array(columns, dtype=np.int8).T
    assume((runs != X).any())
    found = scores(*runs)
    assert found.optimism.value + found.pessimism.value + found.neutrality.value == pytest.approx(1)
    again = scores(*runs[:, ::-1])
    assert (again.optimism, again.consistency) == (found.optimism, found.consistency)


def test_intervals_of_batches_are_wider_than_those_of_words():
    # All words of a batch share their label, so that there are 20 observations and not 600.
    random = np.random.default_rng(0)
    batches = np.repeat(np.arange(20), 30)[None, :]
    codes = random.choice([P, Z], size=20).astype(np.int8)[batches]
    clustered = score(codes, batches).reluctancy.ci95
    single = score(codes, np.arange(600)[None, :]).reluctancy.ci95
    assert clustered[1] - clustered[0] > 3 * (single[1] - single[0])


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    covered = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        batches = np.repeat(np.arange(20), 10)[None, :]
        rate = np.clip(random.normal(0.3, 0.1, size=20), 0, 1)
        codes = (random.random(200) >= rate[batches[0]]).astype(np.int8)[None, :]
        low, high = score(codes, batches, resamples=400).reluctancy.ci95
        covered += low <= 0.3 <= high
    assert covered >= 50


def test_top_words_keep_the_order_of_the_list():
    codes = np.array([[P, N, P, Z, X], [P, N, N, Z, P]], dtype=np.int8)
    top = top_words(codes, ["a", "b", "c", "d", "e"], 2)
    assert top == {"positive": ("a",), "negative": ("b",), "neutral": ("c", "d")}


def test_labels_become_codes():
    assert list(encode(["positive", None, "neutral", "negative"])) == [1, MISSING, 0, -1]


@given(st.integers(1, 200), st.integers(1, 3), st.integers(1, 40))
def test_batches_hold_every_word_once_in_each_run(words, runs, size):
    batches = make_batches(words, runs=runs, words_per_prompt=size, seed=1)
    for run in range(runs):
        own = [batch for batch in batches if batch.run == run]
        assert sorted(p for batch in own for p in batch.positions) == list(range(words))
        assert all(len(batch.positions) == size for batch in own[:-1])


def test_batches_are_the_same_everywhere_and_differ_between_runs():
    batches = make_batches(60, runs=2, words_per_prompt=30, seed=7)
    assert batches == make_batches(60, runs=2, words_per_prompt=30, seed=7)
    assert batches[0].positions[:4] != batches[2].positions[:4]
