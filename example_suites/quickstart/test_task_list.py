"""Second form: a list of tasks, made in code or read from anywhere, over one test function."""

import pytest

from pytest_promptse import Task

TASKS = [
    Task(
        id="rotate",
        prompt="Write `rotate(items: list, steps: int) -> list`: move the items to the right by "
        "the given number of steps. Items that fall off one end come back at the other. An empty "
        "list stays empty.",
        reference="""
def rotate(items: list, steps: int) -> list:
    cut = len(items) - steps % len(items) if items else 0
    return items[cut:] + items[:cut]
""",
        tests="""
def check(candidate):
    assert candidate([1, 2, 3, 4], 1) == [4, 1, 2, 3]
    assert candidate(["a", "b", "c"], 5) == ["b", "c", "a"]
    assert candidate([1, 2, 3], 0) == [1, 2, 3]
    assert candidate([1, 2, 3], -1) == [2, 3, 1]
    assert candidate([], 3) == []
""",
    ),
    Task(
        id="running",
        prompt="Write `running(numbers: list[int]) -> list[int]`: return the running total of the "
        "numbers, one entry per number. An empty list gives an empty list.",
        reference="""
def running(numbers: list[int]) -> list[int]:
    return [sum(numbers[: i + 1]) for i in range(len(numbers))]
""",
        tests="""
def check(candidate):
    assert candidate([1, 2, 3]) == [1, 3, 6]
    assert candidate([5, -2, -4]) == [5, 3, -1]
    assert candidate([]) == []
""",
    ),
    Task(
        id="flatten",
        prompt="Write `flatten(rows: list[list]) -> list`: join the rows into one flat list, in "
        "order. Leave out items that are None.",
        reference="""
def flatten(rows: list[list]) -> list:
    return [item for row in rows for item in row if item is not None]
""",
        tests="""
def check(candidate):
    assert candidate([[3, 1], [2]]) == [3, 1, 2]
    assert candidate([["a", None], [], [None, "b"]]) == ["a", "b"]
    assert candidate([[0, ""], [False]]) == [0, "", False]
    assert candidate([]) == []
""",
    ),
    Task(
        id="common",
        prompt="Write `common(a: int, b: int) -> int`: return the greatest common divisor of the "
        "two numbers. Assume that both are positive.",
        reference="""
from math import gcd

def common(a: int, b: int) -> int:
    return gcd(a, b)
""",
        tests="""
def check(candidate):
    assert candidate(12, 18) == 6
    assert candidate(35, 64) == 1
    assert candidate(9, 3) == 3
""",
    ),
    Task(
        id="divisors",
        prompt="Write `divisors(n: int) -> list[int]`: list all positive divisors of n in "
        "ascending order. Include n itself.",
        reference="""
def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]
""",
        tests="""
def check(candidate):
    assert candidate(12) == [1, 2, 3, 4, 6, 12]
    assert candidate(7) == [1, 7]
    assert candidate(1) == [1]
""",
    ),
    Task(
        id="fizz",
        prompt="Write `fizz(n: int) -> list[str]`: list the numbers from 1 to n as strings. "
        "Replace multiples of 3 by 'fizz'.",
        reference="""
def fizz(n: int) -> list[str]:
    return ["fizz" if i % 3 == 0 else str(i) for i in range(1, n + 1)]
""",
        tests="""
def check(candidate):
    assert candidate(7) == ["1", "2", "fizz", "4", "5", "fizz", "7"]
    assert candidate(1) == ["1"]
    assert candidate(0) == []
""",
    ),
    Task(
        id="median",
        prompt="Write `median(values: list[float]) -> float`: return the median of the values. "
        "For an even number, take the lower of the two middle values.",
        reference="""
import statistics

def median(values: list[float]) -> float:
    return statistics.median_low(values)
""",
        tests="""
def check(candidate):
    assert candidate([5, 1, 3]) == 3
    assert candidate([4, 1, 3, 2]) == 2
    assert candidate([2.5, 0.5]) == 0.5
    assert candidate([10, 9, 8, 100, 1]) == 9
""",
    ),
]


@pytest.mark.promptse(TASKS, min_auc_e=0.4)
def test_tasks(task, candidate):
    task.check(candidate)
