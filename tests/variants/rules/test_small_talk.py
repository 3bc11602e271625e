"""The small talk of the neutral control: as long as what it replaces, and about nothing of it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.variants._coherence import stem
from pytest_promptse.variants._distance import words
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants.invariance._vocabulary import vocabulary
from pytest_promptse.variants.rules._small_talk import SmallTalk

LANGUAGES = load_library().languages


def small_talk(code, prompt=""):
    language = LANGUAGES[code]
    return SmallTalk(talk=language.controls["neutral"], language=language, prompt=prompt)


@settings(deadline=None)
@given(st.lists(st.integers(3, 20), min_size=1, max_size=4), st.integers(0, 10**6))
def test_it_has_the_sentences_and_words_of_the_text(lengths, seed):
    text = " ".join(" ".join(["word"] * length) + "." for length in lengths)
    talk = small_talk("en").like(text, Random(seed))
    assert talk.count(".") == len(lengths)
    assert abs(len(words(talk)) - sum(lengths)) <= 1


@settings(deadline=None)
@given(st.lists(st.integers(1, 2), min_size=3, max_size=6), st.integers(0, 10**6))
def test_fragments_are_no_sentences_of_their_own(lengths, seed):
    text = " ".join(" ".join(["word"] * length) + "." for length in lengths)
    talk = small_talk("en").like(text, Random(seed))
    assert talk.count(".") <= len(lengths) / 2
    assert abs(len(words(talk)) - sum(lengths)) <= 1


@pytest.mark.parametrize("number", [2, 6, 14, 25, 40])
def test_a_chinese_text_is_matched_character_by_character(number):
    talk = small_talk("zh").like("字" * number + "。", Random(1))
    assert abs(len(words(talk)) - number) <= 1


@given(st.integers(1, 150), st.integers(0, 10**6))
@settings(deadline=None)
def test_it_has_any_length(n_words, seed):
    assert abs(len(words(small_talk("en").of_length(n_words, Random(seed)))) - n_words) <= 1


@given(st.integers(0, 10**6))
@settings(deadline=None)
def test_it_has_no_word_of_the_task_and_repeats_no_clause(seed):
    prompt = "Write `park(cars)`: the rain, the kettle and a neighbour's lunch on the streets."
    talk = small_talk("en", prompt)
    said = [talk.of_length(20, Random(seed + number)) for number in range(3)]
    named = {stem(word) for word in words(prompt) if len(word) > 3}
    assert named.isdisjoint(stem(word) for text in said for word in words(text))
    assert len({sentence for text in said for sentence in text.split(". ")}) >= 6


def test_no_clause_has_a_word_about_programs_or_a_number():
    lists = vocabulary("en")
    for topic in LANGUAGES["en"].controls["neutral"].topics:
        for clause in topic:
            assert lists.program.isdisjoint(map(lists.stem, words(clause))), clause
            assert not any(character.isdigit() for character in clause)
