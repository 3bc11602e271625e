"""Shards: parts of one run that measure different tasks, on different machines.

Every shard plans the whole run and measures its own tasks. The assignment of tasks to shards
depends only on the plan, so all machines compute the same one. `promptse merge` joins the records
of all shards and decides the gates.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.store._run_log import ShardRow, ShardSuiteRow
from pytest_promptse.variants._variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_promptse.config._option_types import Shard
    from pytest_promptse.run._plan import PlannedVariant, Suite
    from pytest_promptse.store._run_log import PlannedGate, SuiteKey


@dataclass(frozen=True, kw_only=True)
class ShardPlan:
    """The plan of one shard.

    Attributes
    ----------
    row
        The plan of the whole run, for the run log.
    own_tasks
        The ids of the tasks that this shard measures, by suite id.
    n_tasks
        The number of tasks in all shards.
    """

    row: ShardRow
    own_tasks: Mapping[str, frozenset[str]]
    n_tasks: int

    def measures(self, suite_id: str, task_id: str | None) -> bool:
        """Return whether this shard measures a task, or any task if `task_id` is None.

        Ids that are not in the plan belong to no shard.
        """
        tasks = self.own_tasks.get(suite_id, frozenset())
        return bool(tasks) if task_id is None else task_id in tasks


def assign_shards(weights: Mapping[tuple[str, str], int], count: int) -> dict[tuple[str, str], int]:
    """Return the shard of each task, balanced by weight.

    Tasks are assigned in descending order of weight, each to the shard with the lowest total so far
    (longest processing time first; Graham 1969, SIAM Journal on Applied Mathematics 17(2)). Equal
    weights are ordered by a hash. Neighbours, which often take similar time, are then in different
    shards.

    Parameters
    ----------
    weights
        Planned completions of each (suite id, task id).
    count
        The number of shards, at least 1.

    Returns
    -------
    dict
        A number from 1 to `count` for each key of `weights`.
    """
    totals = [0] * count
    shards = {}
    for key in sorted(weights, key=lambda key: (-weights[key], text_hash("\x1f".join(key)))):
        lightest = min(range(count), key=lambda index: (totals[index], index))
        totals[lightest] += weights[key]
        shards[key] = lightest + 1
    return shards


def plan_shard(
    shard: Shard,
    variants: Iterable[tuple[Suite, PlannedVariant]],
    gates: Sequence[tuple[Suite, PlannedGate]],
) -> ShardPlan:
    """Plan one shard of a run.

    Parameters
    ----------
    shard
        The shard.
    variants
        The variants that the run measures, in all shards together, with their suites.
    gates
        The gates that the run decides, with their suites.
    """
    weights: dict[tuple[str, str], int] = defaultdict(int)
    planned: dict[SuiteKey, dict[str, list[str]]] = {}
    suites: dict[SuiteKey, Suite] = {}
    for suite, variant in variants:
        suites[suite.key] = suite
        weights[suite.id, variant.task.id] += variant.n
        tasks = planned.setdefault(suite.key, {})
        if not variant.control:
            tasks.setdefault(variant.task.id, []).append(variant.outline.id)
    own_tasks: dict[str, set[str]] = defaultdict(set)
    for (suite_id, task_id), index in assign_shards(weights, shard.parts).items():
        if index == shard.part:
            own_tasks[suite_id].add(task_id)
    rows = [
        ShardSuiteRow(
            suite=suite.row,
            tasks=planned[key],
            gates=[gate for other, gate in gates if other.key == key],
        )
        for key, suite in suites.items()
    ]
    return ShardPlan(
        row=ShardRow(index=shard.part, count=shard.parts, suites=rows),
        own_tasks={suite_id: frozenset(tasks) for suite_id, tasks in own_tasks.items()},
        n_tasks=len(weights),
    )
