"""Tasks are assigned to shards by the plan alone, and the shards are balanced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from planned_suites import plan

from pytest_promptse.config._option_types import Shard
from pytest_promptse.run._shards import assign_shards, plan_shard

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


def test_the_heaviest_tasks_are_assigned_first() -> None:
    weights = {("t.py::test", f"task{weight}"): weight for weight in (1, 2, 3, 6)}
    shards = assign_shards(weights, 2)
    assert [shards["t.py::test", f"task{weight}"] for weight in (1, 2, 3, 6)] == [2, 2, 2, 1]


def test_the_assignment_is_the_same_on_every_machine() -> None:
    weights = {("t.py::test", f"task{number}"): 64 for number in range(8)}
    assert [index for _, index in sorted(assign_shards(weights, 3).items())] == [
        *(2, 3, 2, 3, 1, 1, 1, 2)
    ]


def test_a_shard_measures_its_tasks_and_knows_the_whole_plan() -> None:
    heavy = plan(["a", "b"], suite_id="heavy", samples=9, variants=2, control="neutral")
    light = plan(["c"], suite_id="light", samples=1, original_samples=1, variants=1)
    variants = [(s, v) for s in (heavy, light) for v in (*s.variants, *s.controls)]
    gates = [(suite, gate) for suite in (light, heavy) for gate in suite.gates]
    shards = [plan_shard(Shard(part, 2), variants, gates) for part in (1, 2)]
    assert [shard.n_tasks for shard in shards] == [3, 3]
    measured = [[shard.measures("heavy", task) for shard in shards] for task in "ab"]
    assert sorted(measured) == [[False, True], [True, False]]
    assert [shard.measures("light", "c") for shard in shards].count(True) == 1
    for shard in shards:
        assert shard.measures("heavy", None)
        assert not shard.measures("heavy", "c")
        assert not shard.measures("other", None)
        assert not shard.measures("other", "a")
        assert shard.row.count == 2
        [first, second] = shard.row.suites
        assert (first.suite, second.suite) == (heavy.row, light.row)
        assert first.gates == list(heavy.gates)
        # Controls are no variants of a suite.
        assert first.tasks == {
            task: [v.outline.id for v in heavy.variants if v.task.id == task] for task in "ab"
        }
    assert [shard.row.index for shard in shards] == [1, 2]
