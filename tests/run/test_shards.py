"""Tasks are assigned to shards by the plan alone, and the shards are balanced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.run._shards import assign_shards

if TYPE_CHECKING:
    import random

WEIGHTS = st.dictionaries(
    st.tuples(st.sampled_from(["a.py::t", "b.py::t"]), st.text(min_size=1, max_size=4)),
    st.integers(1, 200),
    max_size=40,
)


@given(WEIGHTS, st.integers(1, 9), st.randoms())
def test_every_task_is_in_one_shard_whatever_the_order_of_collection(
    weights: dict[tuple[str, str], int], count: int, order: random.Random
) -> None:
    shards = assign_shards(weights, count)
    assert shards.keys() == weights.keys()
    assert set(shards.values()) <= set(range(1, count + 1))
    keys = list(weights)
    order.shuffle(keys)
    assert assign_shards({key: weights[key] for key in keys}, count) == shards


@given(WEIGHTS, st.integers(1, 9))
def test_no_shard_exceeds_the_mean_by_more_than_one_task(
    weights: dict[tuple[str, str], int], count: int
) -> None:
    totals = [0] * count
    for key, index in assign_shards(weights, count).items():
        totals[index - 1] += weights[key]
    assert max(totals) <= sum(weights.values()) / count + max(weights.values(), default=0)


def test_the_assignment_is_the_same_on_every_machine() -> None:
    weights = {("t.py::test", f"task{number}"): 64 for number in range(8)}
    assert [index for _, index in sorted(assign_shards(weights, 3).items())] == [
        *(2, 3, 2, 3, 1, 1, 1, 2)
    ]
