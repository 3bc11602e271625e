"""Variants of prompts with code in other languages keep the code as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._document import read_document
from pytest_promptse.variants._generate import Selection, generate

STUBS = yaml.safe_load(Path(__file__).with_name("stubs.yaml").read_text("utf-8"))
SIGNS = {"bash": "#", "ruby": "#", "sql": "--"}
GO = """\
package main

// Sum returns the total of numbers. Write it so that it never panics.
func Sum(numbers []int) (total int, err error) {
\t// TODO: implement
}
"""


def _variants(prompt, language, **choice):
    task = Task(id="t", prompt=prompt, language=language)
    return generate(task, Selection(**choice)).variants


def test_code_in_a_fence_is_kept():
    prompt = (
        f"Write a Go program that completes this code:\n\n```go\n{GO}```\n\nIt prints the total."
    )
    variants = _variants(prompt, "go", per_distance=4)
    assert variants
    for variant in variants:
        assert f"```go\n{GO}```" in variant.text


@pytest.mark.parametrize("language", STUBS)
@settings(max_examples=8, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10_000))
def test_a_variant_of_a_stub_adds_comments_only(language, data, seed):
    stub = data.draw(st.sampled_from(STUBS[language]))
    sign = SIGNS.get(language, "//")
    variants = _variants(stub, language, per_distance=1, seed=seed)
    assert len(variants) == 3
    for variant in variants:
        added = variant.text.splitlines()
        for line in reversed(stub.splitlines()):
            last = len(added) - 1 - added[::-1].index(line)
            del added[last]
        assert added, "the variant is the stub"
        assert all(line.startswith(f"{sign} ") for line in added if line), variant.text
        # What must be in the first line stays there.
        if stub.startswith(("#!", "<?php")):
            assert variant.text.splitlines()[0] == stub.splitlines()[0]
        order = [line for line in variant.text.splitlines() if line in stub.splitlines()]
        assert order == stub.splitlines()


@pytest.mark.parametrize(
    "prompt",
    [
        "Write a Go program that prints\nthe sum of its input.",
        "end\nof the line: write a function that trims it.",
        "function names are given. Write them\nin capitals.",
        "SELECT a winner\nat random with a program.",
        "set -e is missing in my script.\nWhy does it go on after an error?",
        "class Stack\nis what I need, in Ruby, with push and pop.",
    ],
)
def test_prose_with_words_of_code_is_prose(prompt):
    assert not read_document(prompt).is_stub
