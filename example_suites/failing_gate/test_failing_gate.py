"""A gate that fails: the program is right for the original and wrong for too many variants."""

import pytest


@pytest.mark.promptse(
    """Write `title_case(text: str) -> str`: capitalise the first letter of each word,
and put all other letters in lower case.
Join words by single spaces.""",
    reference="""
def title_case(text: str) -> str:
    return " ".join(word.capitalize() for word in text.split())
""",
    max_drop=0.1,
    samples=16,
)
def test_title_case(candidate):
    assert candidate("hello wORLD") == "Hello World"
    assert candidate("  two   spaces ") == "Two Spaces"
    assert candidate("don't") == "Don't"
    assert candidate("") == ""
