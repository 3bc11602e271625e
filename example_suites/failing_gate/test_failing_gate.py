"""A gate that fails: the program is right for the original and wrong for too many variants."""

import pytest


@pytest.mark.promptse(
    """Write `unique(items: list) -> list`: remove duplicate items but keep the order.
    Of equal items, keep the first one.""",
    reference="""
def unique(items: list) -> list:
    return list(dict.fromkeys(items))
""",
    min_auc_e=0.95,
)
def test_unique(candidate):
    assert candidate([3, 1, 3, 2, 1]) == [3, 1, 2]
    assert candidate(["b", "a", "b"]) == ["b", "a"]
    assert candidate([]) == []
