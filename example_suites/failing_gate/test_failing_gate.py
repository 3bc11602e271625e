"""A gate that fails: the program is right for the original and wrong for too many variants."""

import pytest


@pytest.mark.promptse(
    """Write `chunk(items: list, size: int) -> list`: split the items into lists of size
    elements, in order. Keep the last list even if it is shorter.""",
    reference="""
def chunk(items: list, size: int) -> list:
    return [items[i : i + size] for i in range(0, len(items), size)]
""",
    min_auc_e=0.9,
)
def test_chunk(candidate):
    assert candidate([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]
    assert candidate(["a", "b", "c"], 2) == [["a", "b"], ["c"]]
    assert candidate([1], 5) == [[1]]
    assert candidate([], 3) == []
