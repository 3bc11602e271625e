"""The figures of a record, and the reduction of records to their common tasks and prompts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class RecordedPrompt:
    """One prompt of a record. ``ess`` and ``excess`` are None if the record does not have them.

    ``distance`` is 0 for the original. ``score`` is the figure that the run's mode compares.
    ``excess`` is the variant's own (see `_scores.VariantScore`).
    """

    distance: float = 0.0
    n: int
    pass_rate: float
    score: float
    ess: float | None = None
    excess: float | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedTask:
    """One task of a record. ``variants`` has its variants by id.

    ``original`` is None if it was not measured.
    """

    task_id: str
    original: RecordedPrompt | None
    variants: Mapping[str, RecordedPrompt]


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """The tasks of both runs, reduced to common prompts, and the tasks and prompts left out.

    Each pair is (current, baseline). Prompts left out are given as (task id, variant id).
    """

    tasks: tuple[tuple[RecordedTask, RecordedTask], ...]
    tasks_only_current: tuple[str, ...]
    tasks_only_baseline: tuple[str, ...]
    variants_only_current: tuple[tuple[str, str], ...]
    variants_only_baseline: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, current: Sequence[RecordedTask], baseline: Sequence[RecordedTask]) -> Pairs:
        """Pair two runs. Ids of tasks are unique in each run; their order does not matter.

        `current` is this run and `baseline` the one to compare with.
        """
        ours = {task.task_id: task for task in current}
        theirs = {task.task_id: task for task in baseline}
        shared = [(ours[name], theirs[name]) for name in sorted(ours.keys() & theirs.keys())]
        return cls(
            tasks=tuple((_reduced(a, b), _reduced(b, a)) for a, b in shared),
            tasks_only_current=tuple(sorted(ours.keys() - theirs.keys())),
            tasks_only_baseline=tuple(sorted(theirs.keys() - ours.keys())),
            variants_only_current=_surplus(shared),
            variants_only_baseline=_surplus([(b, a) for a, b in shared]),
        )


def is_solved(tasks: Iterable[RecordedTask]) -> bool:
    """Return whether a sample of an original passes.

    Otherwise variants have nothing to lose, and elasticity, excess and AUC-E say nothing.
    """
    return any(task.original is not None and task.original.pass_rate > 0.0 for task in tasks)


def shared(runs: Sequence[Sequence[RecordedTask]]) -> list[list[RecordedTask]]:
    """Reduce runs to the tasks and prompts that all of them have, each in the order of task ids.

    A task is left out if any run lacks its original.
    """
    by_id = [{task.task_id: task for task in run if task.original is not None} for run in runs]
    names = sorted(set.intersection(*(set(tasks) for tasks in by_id)))
    kept = {
        name: sorted(set.intersection(*(set(tasks[name].variants) for tasks in by_id)))
        for name in names
    }
    return [
        [
            replace(tasks[name], variants={v: tasks[name].variants[v] for v in kept[name]})
            for name in names
        ]
        for tasks in by_id
    ]


def _reduced(task: RecordedTask, other: RecordedTask) -> RecordedTask:
    kept = {name: task.variants[name] for name in sorted(task.variants.keys() & other.variants)}
    return replace(task, variants=kept)


def _surplus(pairs: Sequence[tuple[RecordedTask, RecordedTask]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (a.task_id, name) for a, b in pairs for name in sorted(a.variants.keys() - b.variants)
    )
