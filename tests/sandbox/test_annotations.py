"""Texts of annotations that a check may evaluate, and those that would run code of the program."""

from __future__ import annotations

import pytest

from pytest_promptse.sandbox._annotations import dangerous_annotation

TYPES = [
    "int",
    "list[int] | None",
    "dict[str, tuple[int, ...]]",
    "collections.abc.Callable[[int], str]",
    "Literal[-1, 'left']",
    "Optional['Node']",
    "Annotated[int, 'how many there are']",
]
CODE = [
    "f()",
    " f()",
    "\tf()",
    "\n(f())",
    "list[f()]",
    "Optional['f()']",
    "Optional[\"Optional['f()']\"]",
    "[x for x in y]",
    "lambda: 1",
    "(expected := 0)",
    "f'{x.y!r}'",
    "9**9**9**9",
    "*a,)[0], f(), (b",
    "f() if x else y",
    "x == y",
    "(yield)",
    "-" * 100_000 + "x",
]


@pytest.mark.parametrize("text", TYPES)
def test_types_are_harmless(text):
    assert dangerous_annotation({"x": "int", "return": text}) is None


@pytest.mark.parametrize("text", CODE)
def test_code_is_dangerous(text):
    assert dangerous_annotation({"x": "int", "return": text}) == text


@pytest.mark.parametrize("text", ["import os", "f(", "\0", "a b"])
def test_what_cannot_be_evaluated_is_harmless(text):
    assert dangerous_annotation({"x": text}) is None
    with pytest.raises((SyntaxError, ValueError)):
        eval(text)


def test_values_that_are_no_texts_are_harmless():
    assert dangerous_annotation({"x": int, "y": ["f()"]}) is None
