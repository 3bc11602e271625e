"""First form: a prompt over an ordinary test function, which gets the program as `candidate`."""

import pytest


@pytest.mark.promptse(
    """Write `slugify(title: str) -> str`: lower-case the title, keep only letters and digits,
    join the words with single hyphens. If no word is left, return an empty string.""",
    reference="""
import re

def slugify(title: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))
""",
    min_auc_e=0.6,
)
def test_slugify(candidate):
    assert candidate("Hello,  World!") == "hello-world"
    assert candidate("  Ten 10 -- tens ") == "ten-10-tens"
    assert candidate("snake_case") == "snake-case"
    assert candidate("?!") == ""


@pytest.mark.promptse(
    """Write `clamp(value: float, low: float, high: float) -> float`: limit the value to the
    range from low to high, both included. If low is greater than high, raise ValueError.""",
    reference="""
def clamp(value: float, low: float, high: float) -> float:
    if low > high:
        raise ValueError("low is above high")
    return max(low, min(value, high))
""",
    min_auc_e=0.8,
)
def test_clamp(candidate):
    assert candidate(5, 1, 10) == 5
    assert candidate(-5, 1, 10) == 1
    assert candidate(50, 1, 10) == 10
    assert candidate(2.5, 2.5, 2.5) == 2.5
    with pytest.raises(ValueError):
        candidate(5, 10, 1)


@pytest.mark.promptse(
    """Write `mean(values: list[float]) -> float`: return the arithmetic mean of the values.
    If the list is empty, return 0.0.""",
    reference="""
def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
""",
    min_auc_e=0.8,
)
def test_mean(candidate):
    assert candidate([0.1, 0.2, 0.3]) == pytest.approx(0.2)
    assert candidate([7]) == pytest.approx(7)
    assert candidate([1, 2, 9]) == pytest.approx(4)
    assert candidate([]) == 0.0


@pytest.mark.promptse(
    """Write `chunk(items: list, size: int) -> list`: split the items into lists of size
    elements, in order. Keep the last list even if it is shorter.""",
    reference="""
def chunk(items: list, size: int) -> list:
    return [items[i : i + size] for i in range(0, len(items), size)]
""",
    min_auc_e=0.8,
)
def test_chunk(candidate):
    assert candidate([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]
    assert candidate(["a", "b", "c"], 2) == [["a", "b"], ["c"]]
    assert candidate([1], 5) == [[1]]
    assert candidate([], 3) == []


@pytest.mark.promptse(
    """Write `unique(items: list) -> list`: remove duplicate items but keep the order.
    Of equal items, keep the first one.""",
    reference="""
def unique(items: list) -> list:
    return list(dict.fromkeys(items))
""",
    min_auc_e=0.5,
)
def test_unique(candidate):
    assert candidate([3, 1, 3, 2, 1]) == [3, 1, 2]
    assert candidate(["b", "a", "b"]) == ["b", "a"]
    assert candidate([]) == []


@pytest.mark.promptse(
    """Write `second_largest(numbers: list[int]) -> int`: return the second largest of the
    distinct numbers. If there are fewer than two distinct numbers, return None.""",
    reference="""
def second_largest(numbers: list[int]) -> int:
    ranked = sorted(set(numbers), reverse=True)
    return ranked[1] if len(ranked) > 1 else None
""",
    min_auc_e=0.8,
)
def test_second_largest(candidate):
    assert candidate([1, 5, 3]) == 3
    assert candidate([4, 9, 9, 2]) == 4
    assert candidate([-1, -2]) == -2
    assert candidate([7, 7]) is None
    assert candidate([]) is None


@pytest.mark.promptse(
    """Write `is_palindrome(text: str) -> bool`: tell whether the text reads the same backwards.
    Ignore case and everything except letters and digits.""",
    reference="""
def is_palindrome(text: str) -> bool:
    letters = [c for c in text.lower() if c.isalnum()]
    return letters == letters[::-1]
""",
    min_auc_e=0.65,
)
def test_is_palindrome(candidate):
    assert candidate("Never odd, or even!") is True
    assert candidate("Level 1 levee") is False
    assert candidate("ab1ba") is True
    assert candidate("nearly") is False
    assert candidate("") is True
