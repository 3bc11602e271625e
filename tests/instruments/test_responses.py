from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.instruments._responses import (
    ItemIndex,
    clean,
    holds_word,
    is_refusal,
    split_entries,
)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("\x1b[1;31mfine\x1b[0m", "fine"),
        ("\x1b]8;;http://example.org\x07link\x1b]8;;\x07", "link"),
        ("１．Ａ：４", "1.A:4"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("ze\u200bro\u202ewidth", "zerowidth"),
        ("**bold** and `code`", "bold and code"),
        ("| 1 | word | 4 |", "1: word: 4"),
        ("nul\x00 and bell\x07", "nul and bell"),
    ],
)
def test_escapes_look_alikes_and_markup_are_removed(raw, cleaned):
    assert clean(raw) == cleaned


@given(st.text())
def test_cleaning_leaves_no_control_character(text):
    assert not [c for c in clean(text) if ord(c) < 32 and c not in "\n\t"]


@pytest.mark.parametrize(
    "text",
    [
        "As an AI language model, I do not have feelings.",
        "I’m sorry, but I can’t help with that.",
        "I cannot rate my emotions.",
        "作为一个人工智能，我没有情感。",
        "抱歉，我无法回答。",
    ],
)
def test_refusals_are_recognised(text):
    assert is_refusal(text)


@pytest.mark.parametrize("text", ["1. dishes - comedy", "Interested: 4", "Here are my answers:"])
def test_answers_are_no_refusals(text):
    assert not is_refusal(text)


def test_merged_entries_are_split_where_numbers_count_up():
    entries = split_entries("1. one: 3 2. two: 4 3. three: 5")
    assert [(entry.number, entry.body, entry.merged) for entry in entries] == [
        (1, "one: 3", True),
        (2, "two: 4", True),
        (3, "three: 5", True),
    ]


def test_a_decimal_is_no_entry_number():
    (entry,) = split_entries("3.5 points")
    assert entry.number is None


def test_a_word_is_held_as_a_whole_word_only():
    assert holds_word("the Comedy.", "comedy")
    assert not holds_word("comedian", "comedy")
    assert holds_word("是喜剧。", "喜剧")


def test_an_item_is_found_by_its_text_and_by_a_clear_prefix():
    index = ItemIndex(["Interested", "Irritable", "Inspired"])
    assert index.find("interested") == 0
    assert index.find("Irrit") == 1
    assert index.find("In") is None
    assert index.find("I feel Inspired now") == 2
    assert index.find("Interested and Inspired") is None
