from __future__ import annotations

import numpy as np
import pytest

from pytest_promptse.scoring._copies import Answers, PromptAnswers, count_answers


def sampled(seed: int, *, copies: float, temperature: float, tokens: int = 20, m: int = 8):
    """Prompts whose answers are drawn token by token from two choices, some copied."""
    rng = np.random.default_rng(seed)
    prompts = []
    for _ in range(30):
        p = rng.uniform(0.6, 0.95, tokens)
        tempered = p ** (1 / temperature) / (p ** (1 / temperature) + (1 - p) ** (1 / temperature))
        picked = rng.random((m, tokens)) < tempered
        for i in range(1, m):
            if rng.random() < copies:
                picked[i] = picked[i - 1]
        logprobs = np.where(picked, np.log(p), np.log(1 - p)).sum(axis=1)
        labels = np.unique(picked, axis=0, return_inverse=True)[1].ravel()
        prompts.append(
            PromptAnswers(labels=labels.tolist(), logprobs=logprobs.tolist(), n_tokens=[tokens] * m)
        )
    return count_answers(prompts, temperature=temperature)


@pytest.mark.parametrize("temperature", [0.2, 0.7, 1.0])
def test_independent_answers_are_not_taken_for_copies(temperature):
    assert not any(sampled(seed, copies=0, temperature=temperature).copied for seed in range(10))


def test_copies_are_noticed():
    assert all(sampled(seed, copies=0.3, temperature=1.0).copied for seed in range(10))


def test_distinct_answers_and_equal_pairs_are_counted():
    prompts = [
        PromptAnswers(labels=[0, 0, 0, 1], logprobs=[None] * 4, n_tokens=[None] * 4),
        PromptAnswers(labels=[0, 1], logprobs=[None] * 2, n_tokens=[None] * 2),
    ]
    found = count_answers(prompts, temperature=0.5)
    assert (found.n, found.distinct, found.equal_pairs) == (6, 4, 3)
    assert found.expected_pairs is None
    assert not found.copied


@pytest.mark.parametrize(("pairs", "copied"), [(20, False), (21, True)])
def test_answers_are_copied_from_ten_pairs_beyond_twice_the_expected_ones_on(pairs, copied):
    answers = Answers(n=100, distinct=9, equal_pairs=pairs, expected_pairs=5.0)
    assert answers.copied == copied


def test_the_answers_of_all_prompts_are_counted_even_if_one_lacks_its_probabilities():
    known = PromptAnswers(labels=[0, 0], logprobs=[-1.0, -1.0], n_tokens=[2, 2])
    bare = PromptAnswers(labels=[0, 0], logprobs=[-1.0, None], n_tokens=[2, 2])
    tokenless = PromptAnswers(labels=[0, 0], logprobs=[-1.0, -1.0], n_tokens=[2, None])
    for other in (bare, tokenless):
        found = count_answers([other, known], temperature=1.0)
        assert (found.n, found.equal_pairs, found.expected_pairs) == (4, 2, None)
    # Each answer is as likely as exp(-1); a pair is equal with the mean of both.
    found = count_answers([known], temperature=1.0)
    assert found.expected_pairs == pytest.approx(np.exp(-1.0))


def test_greedy_answers_may_all_be_equal():
    prompts = [PromptAnswers(labels=[0] * 8, logprobs=[-20.0] * 8, n_tokens=[30] * 8)] * 20
    assert not count_answers(prompts, temperature=0.0).copied
    assert count_answers(prompts, temperature=1.0).copied


def test_certain_answers_are_expected_to_be_equal_and_impossible_ones_are_not():
    # The last probability is 0 as a number of 64 bits.
    for logprob, expected in ((0.0, 28.0), (-2000.0, 0.0)):
        prompts = [PromptAnswers(labels=[0] * 8, logprobs=[logprob] * 8, n_tokens=[2] * 8)]
        counted = count_answers(prompts, temperature=1.0)
        assert counted.expected_pairs == pytest.approx(expected, abs=1e-9)
