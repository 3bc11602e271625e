"""The measure of distance, and the levels."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.errors import VariantError
from pytest_promptse.variants._distance import SHORTEST, compare, compare_words, words
from pytest_promptse.variants._library_files import load_library

SOME_WORDS = st.lists(st.sampled_from("abcdef"), max_size=70)


def longest_common(a, b):
    """The textbook recurrence, as an oracle."""
    row = [0] * (len(b) + 1)
    for x in a:
        previous = row[:]
        for n, y in enumerate(b):
            row[n + 1] = previous[n] + 1 if x == y else max(previous[n + 1], row[n])
    return row[-1]


@given(a=SOME_WORDS, b=SOME_WORDS)
@settings(max_examples=60, deadline=None)
def test_the_measure_is_one_minus_the_normalised_common_subsequence(a, b):
    every = max(len(a) + len(b), 2 * SHORTEST)
    assert compare_words(a, b).distance == pytest.approx(
        (len(a) + len(b) - 2 * longest_common(a, b)) / every, abs=1e-6
    )


@given(a=SOME_WORDS, b=SOME_WORDS)
@settings(max_examples=60, deadline=None)
def test_the_measure_is_symmetric_between_0_and_1_and_0_for_equal_texts(a, b):
    assert compare_words(a, b).distance == compare_words(b, a).distance
    assert 0 <= compare_words(a, b).distance <= 1
    assert compare_words(a, a).distance == 0


def test_two_texts_of_full_length_with_no_word_in_common_are_at_distance_1():
    assert compare_words(["a"] * SHORTEST, ["b"] * SHORTEST).distance == 1


def test_words_are_compared_without_case_and_punctuation():
    assert words("Well — *Return* the `list`!") == ["well", "return", "the", "`list`"]


def test_signs_without_blanks_are_words_of_their_own():
    assert words("写一个 f(x)\u3002") == ["写", "一", "个", "f(x"]


def test_added_replaced_and_moved_words_are_distinguished():
    change = compare("sort the numbers then print", "please print the numbers then order")
    assert change.added_share == pytest.approx(2 / 6, abs=1e-6)
    assert change.replaced_share == pytest.approx(1 / 5)
    assert change.moved_share == pytest.approx(1 / 5)
    assert change.length_ratio == pytest.approx(6 / 5)


@pytest.mark.parametrize("distances", [(0.1, 0.2, 0.3), (0.3, 0.1), (0.05,), (0.5,)])
def test_distances_of_different_levels_are_taken_in_any_order(distances):
    load_library().check_distances(distances)


@pytest.mark.parametrize("distances", [(0.1, 0.14), (0.1, 0.1), (0.0,), (0.04,), (0.51,), ()])
def test_distances_without_a_level_of_their_own_are_refused(distances):
    with pytest.raises(VariantError):
        load_library().check_distances(distances)
