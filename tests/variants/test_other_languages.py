"""Variants of prompts with code in other languages keep the code as it is."""

from __future__ import annotations

import pytest

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate

GO = """\
package main

// Sum returns the total of numbers. Write it so that it never panics.
func Sum(numbers []int) (total int, err error) {
\t// TODO: implement
}
"""
STUBS = {
    "typescript": """\
// Write the total of all numbers on standard input, please.
/* Implement this function and call it. */
export function total(numbers: number[]): number {
""",
    "sql": """\
-- Return the total per category.
-- Table: payments(category TEXT, amount INTEGER)
SELECT category,
""",
    "rust": """\
/// Returns the n-th Fibonacci number.
pub fn fib(n: u32) -> u64 {
    // your code
}
""",
    "bash": "#!/usr/bin/env bash\n# Print the sum of the arguments.\nsum() {\n",
}


def _variants(prompt, language):
    task = Task(id="t", prompt=prompt, language=language)
    return generate(task, Selection(per_distance=4)).variants


def test_code_in_a_fence_is_kept():
    prompt = (
        f"Write a Go program that completes this code:\n\n```go\n{GO}```\n\nIt prints the total."
    )
    variants = _variants(prompt, "go")
    assert variants
    for variant in variants:
        assert f"```go\n{GO}```" in variant.text


@pytest.mark.parametrize("language", STUBS)
def test_a_stub_is_kept(language):
    variants = _variants(STUBS[language], language)
    assert variants
    for variant in variants:
        assert STUBS[language].strip() in variant.text
