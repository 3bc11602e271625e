from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.variants._spans import GLUE, MARKS, interface_names, mask

# Prose has neither private-use characters nor the character that stands for a blank in a span.
PROSE = st.text(
    st.characters(exclude_categories=["Co", "Cs"], exclude_characters=GLUE), max_size=80
)
PIECES = st.sampled_from(
    [" ", "\n", "(", "`a b`", "{{ x }}", "f(a, b)", '"two words"', "https://a.b/c", "1.5", "words"]
)
MIXED = st.lists(st.one_of(PIECES, PROSE), max_size=8).map("".join)


@given(MIXED, st.sets(st.sampled_from(["words", "number", "x"])))
def test_a_masked_text_can_be_restored(text, names):
    masked = mask(text, names)
    assert masked.restore(masked.text).replace(GLUE, " ") == text


@given(MIXED)
def test_each_mark_stands_for_one_span(text):
    masked = mask(text)
    low, high = MARKS[0], MARKS[-1]
    assert len([letter for letter in masked.text if low <= letter <= high]) == len(masked.spans)


@pytest.mark.parametrize(
    ("text", "kind", "span"),
    [
        ("Fill {{ name }} in.", "placeholder", "{{ name }}"),
        ("Call `add(a, b)` twice.", "code", "`add(a, b)`"),
        ("See https://a.example/b?c=1.", "url", "https://a.example/b?c=1"),
        ('Return "no value" then.', "literal", '"no value"'),
        ("Read data/input.csv first.", "path", "data/input.csv"),
        ("Use read_all there.", "identifier", "read_all"),
        ("Keep the range (0 <= n).", "expression", "(0 <= n)"),
        ("Take the 2nd of them.", "number", "2nd"),
    ],
)
def test_what_must_stay_unchanged_is_a_span(text, kind, span):
    masked = mask(text)
    assert [(one.kind, one.text) for one in masked.spans] == [(kind, span)]
    assert span not in masked.text


def test_a_parameter_is_masked_where_it_stands_as_a_word():
    assert not mask("Sort the numbers.").spans
    [span] = mask("Sort the numbers.", {"numbers"}).spans
    assert (span.kind, span.text) == ("name", "numbers")


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("Write `merge(a, b)`: join both.", {"merge", "a", "b"}),
        ("def merge(left, *rest):\n    '''Join all.'''\n", {"merge", "left", "rest"}),
        ("Write `class Stack` and `push(x)`; the symbol `+` is no name.", {"merge", "push", "x"}),
    ],
)
def test_the_names_of_the_interface_are_those_that_a_caller_uses(prompt, names):
    assert interface_names(prompt, "merge") == names
