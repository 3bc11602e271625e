from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._samples import Samples
from pytest_promptse.scoring._softexec import (
    effective_sample_size,
    log_weights,
    pass_at_k,
    pass_rate,
    softexec,
    weights,
)

law = settings(deadline=None, max_examples=40)
logprobs = st.lists(st.floats(-2000, 0), min_size=1, max_size=12).map(np.array)


def test_two_samples_by_hand():
    # e^-1 : e^-2 = e : 1, so the likelier sample weighs e / (1 + e).
    w = weights([-1.0, -2.0])
    assert w == pytest.approx([math.e / (1 + math.e), 1 / (1 + math.e)])
    assert softexec([True, False], w) == pytest.approx(math.e / (1 + math.e))


def test_mean_divides_by_the_tokens_before_the_softmax():
    w = weights([-10.0, -10.0], n_tokens=[10, 5], weighting="mean")
    assert w == pytest.approx([math.e / (1 + math.e), 1 / (1 + math.e)])


def test_uniform_reads_nothing_but_the_number_of_samples():
    assert weights([-1.0, -900.0, -np.inf, -3.0], weighting="uniform") == pytest.approx([0.25] * 4)


def test_an_impossible_sample_weighs_nothing():
    assert weights([-np.inf, -5.0]) == pytest.approx([0.0, 1.0])


def test_samples_that_are_all_impossible_weigh_the_same():
    assert weights([[-np.inf, -np.inf], [-1.0, -1.0]]) == pytest.approx(np.full((2, 2), 0.5))


def test_an_empty_answer_has_its_log_probability_as_mean():
    assert weights([0.0, 0.0], n_tokens=[0, 7], weighting="mean") == pytest.approx([0.5, 0.5])


def test_one_sample_is_its_own_score():
    assert weights([-123.0]) == pytest.approx([1.0])
    assert effective_sample_size(weights([-123.0])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: weights([np.nan, -1.0]), "NaN"),
        (lambda: weights([np.inf]), "inf"),
        (lambda: weights([]), "no samples"),
        (lambda: weights([-1.0], weighting="mean"), "n_tokens"),
        (lambda: weights([-1.0], weighting="median"), "unknown weighting 'median'"),
        (lambda: log_weights(Samples([True]), "sum"), "mode='light'"),
        (lambda: log_weights(Samples([True], logprob=[-1.0]), "mean"), "n_tokens"),
    ],
)
def test_what_is_missing_is_named_and_never_made_up(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@law
@given(logprobs)
def test_weights_are_the_softmax_of_scipy(logprob):
    assert weights(logprob) == pytest.approx(scipy.special.softmax(logprob))


@law
@given(logprobs, st.floats(-500, 500))
def test_only_differences_of_log_probabilities_matter(logprob, shift):
    assert weights(logprob + shift) == pytest.approx(weights(logprob), abs=1e-9)


@law
@given(logprobs, st.data())
def test_softexec_is_bounded_and_monotone_in_the_verdicts(logprob, data):
    passed = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(logprob), max_size=len(logprob)))
    )
    more = passed | np.array(
        data.draw(st.lists(st.booleans(), min_size=len(logprob), max_size=len(logprob)))
    )
    w = weights(logprob)
    assert 0.0 <= softexec(passed, w) <= softexec(more, w) + 1e-12 <= 1.0 + 1e-12
    assert softexec(np.zeros_like(passed), w) == 0.0
    assert softexec(np.ones_like(passed), w) == pytest.approx(1.0)
    assert softexec(passed, w) + softexec(~passed, w) == pytest.approx(1.0)


@law
@given(logprobs, st.data())
def test_the_order_of_samples_does_not_matter(logprob, data):
    passed = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(logprob), max_size=len(logprob)))
    )
    order = np.array(data.draw(st.permutations(range(len(logprob)))))
    assert softexec(passed[order], weights(logprob[order])) == pytest.approx(
        float(softexec(passed, weights(logprob)))
    )


@law
@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_softexec_under_uniform_weights_is_the_pass_rate(passed):
    w = weights(np.zeros(len(passed)), weighting="uniform")
    assert softexec(passed, w) == pytest.approx(pass_rate(passed))


@law
@given(logprobs)
def test_the_effective_sample_size_lies_between_one_and_m(logprob):
    ess = effective_sample_size(weights(logprob))
    assert 1.0 - 1e-9 <= ess <= len(logprob) + 1e-9
    uniform = weights(logprob, weighting="uniform")
    assert effective_sample_size(uniform) == pytest.approx(len(logprob))


@law
@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_k_subsets_with_a_pass(n, data):
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def test_pass_at_1_is_the_pass_rate_and_large_n_does_not_overflow():
    assert pass_at_k([10, 10_000], [3, 5_000], 1) == pytest.approx([0.3, 0.5])
    assert pass_at_k(10_000, 1, 5_000) == pytest.approx(0.5)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (3, -1, 1)])
def test_pass_at_k_refuses_what_it_cannot_estimate(n, c, k):
    with pytest.raises(ValueError, match="pass"):
        pass_at_k(n, c, k)
