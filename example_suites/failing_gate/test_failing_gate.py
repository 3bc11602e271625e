"""A gate that fails: the program is right for the original and wrong for too many variants."""

import pytest


@pytest.mark.promptse(
    """Write `running(numbers: list[int]) -> list[int]`: return the running total of the numbers,
    one entry per number. An empty list gives an empty list.""",
    reference="""
def running(numbers: list[int]) -> list[int]:
    return [sum(numbers[: i + 1]) for i in range(len(numbers))]
""",
    min_auc_e=0.9,
    samples=16,
)
def test_running(candidate):
    assert candidate([1, 2, 3]) == [1, 3, 6]
    assert candidate([5, -2, -4]) == [5, 3, -1]
    assert candidate([]) == []
