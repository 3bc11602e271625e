"""Only what a prompt states as a call and its whole result is an example."""

from __future__ import annotations

import pytest

from pytest_promptse.tasks._prompt_examples import prompt_examples


@pytest.mark.parametrize(
    ("prompt", "examples"),
    [
        ("`slug('a b')` returns `'a-b'`.", [("slug('a b')", "a-b")]),
        ("slug('x') == 'x', slug('y') == 'y'.", [("slug('x')", "x"), ("slug('y')", "y")]),
        ("slug('A (b)') → [1, 2] for short.", [("slug('A (b)')", [1, 2])]),
        ("slug(1) -> (2, 3)", [("slug(1)", (2, 3))]),
        ("    >>> slug([1])\n    [2]\n", [("slug([1])", [2])]),
        ("slug(5) = 9 - 4", []),
        ("Write `slug(text: str) -> str`.", []),
        ("slug(name) == 3", []),
        ("other(1) == 3", []),
        ("  >>> slug(1)\n 2", []),
    ],
)
def test_examples_of(prompt, examples):
    assert [(e.call, e.expect) for e in prompt_examples(prompt, "slug")] == examples


def test_an_exception_in_a_doctest_is_an_example():
    prompt = ">>> slug(None)\nTraceback (most recent call last):\n    ...\nTypeError: no text\n"
    [example] = prompt_examples(prompt, "slug")
    assert example.raises == "TypeError"
