"""A gate that fails: the program is right when asked plainly and wrong in too many other voices."""

import pytest


@pytest.mark.promptse(
    """Write `title_case(text: str) -> str`: capitalise the first letter of each word and put all
other letters in lower case. Separate words by single spaces.""",
    reference="""
def title_case(text: str) -> str:
    return " ".join(word.capitalize() for word in text.split())
""",
    min_auc_e=0.8,
)
def test_title_case(candidate):
    assert candidate("hello wORLD") == "Hello World"
    assert candidate("  two   spaces ") == "Two Spaces"
    assert candidate("don't") == "Don't"
    assert candidate("") == ""
