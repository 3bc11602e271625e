"""The plan: which wordings of which tasks are asked of which model, and which gates follow."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_promptse.errors import TaskError
from pytest_promptse.models.base import Decoding, completion_key, derive_seed
from pytest_promptse.sampling.job import Job
from pytest_promptse.scoring.sequential import planned_looks
from pytest_promptse.store.run_log import SuiteKey
from pytest_promptse.variants.variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.run.asking import Asked
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.tasks.template import Template
    from pytest_promptse.variants.variant import Variant


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """One prompt that is asked: a task in one voice, with the job that samples it.

    ``spoken`` is the task as it is worded in the prompt, without a template around it.
    """

    task: Task
    variant: Variant
    job: Job
    spoken: str

    @property
    def name(self) -> tuple[str, str]:
        """The ids of its task and variant, by which a suite knows it."""
        return (self.job.task_id, self.job.variant_id)


@dataclass(frozen=True, kw_only=True)
class GateSpot:
    """One gate of a suite, and of one of its tasks where ``task`` is given.

    ``name`` is ``auc-e``, ``elasticity-d0.3`` or ``excess``; ``distances`` are those whose
    wordings it needs; ``threshold`` is None where the gate only measures.
    """

    name: str
    threshold: float | None
    distances: tuple[float, ...]
    task: Task | None = None


@dataclass(frozen=True, kw_only=True)
class Suite:
    """One test function or suite file, asked of one model: the level at which gates decide.

    ``template`` is the prompt template that it is asked through, None for none.
    """

    id: str
    model: str
    settings: Settings
    tasks: tuple[Task, ...]
    wordings: tuple[Wording, ...]
    template: Template | None = None
    line: int | None = None

    @property
    def key(self) -> SuiteKey:
        """What tells it from the other suites of a run."""
        return SuiteKey(self.model, self.template.name if self.template else None, self.id)

    @cached_property
    def gates(self) -> tuple[GateSpot, ...]:
        """The gates of the tasks that have one, then those of the whole suite."""
        chosen = self.settings
        per_task = (
            GateSpot(
                name="auc-e",
                threshold=chosen.min_task_auc_e,
                distances=chosen.distances,
                task=task,
            )
            for task in self.tasks
            if chosen.min_task_auc_e is not None
        )
        curve = (
            GateSpot(
                name=f"elasticity-d{distance:g}",
                threshold=chosen.floor(distance),
                distances=(distance,),
            )
            for distance in chosen.distances
        )
        whole = [GateSpot(name="auc-e", threshold=chosen.min_auc_e, distances=chosen.distances)]
        if chosen.max_excess is not None:
            whole.append(
                GateSpot(name="excess", threshold=chosen.max_excess, distances=chosen.distances)
            )
        return (*per_task, *curve, *whole)

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """How many variants per distance there are at each look; one look unless in rounds."""
        chosen = self.settings
        if chosen.adaptive and any(gate.threshold is not None for gate in self.gates):
            return planned_looks(chosen.variants)
        return (chosen.variants,)

    @property
    def in_rounds(self) -> bool:
        """Whether the wordings are drawn in rounds, for gates to stop at."""
        return len(self.looks) > 1

    def round_of(self, wording: Wording) -> int:
        """Return the round in which `wording` is drawn, from 0; originals are in the first."""
        if not wording.variant.distance:
            return 0
        return bisect(self.looks, wording.variant.index)

    def drawn(self, look: int) -> tuple[Wording, ...]:
        """Return the wordings of all rounds up to that of `look`."""
        return tuple(wording for wording in self.wordings if self.round_of(wording) <= look)

    def needed(self, gate: GateSpot) -> tuple[Wording, ...]:
        """Return the wordings that `gate` must know, originals included.

        In rounds a suite stops as a whole, so that its gates and its figures belong together.
        """
        if self.in_rounds:
            return self.wordings
        distances = {0.0, *gate.distances}
        return tuple(
            wording
            for wording in self.wordings
            if wording.variant.distance in distances
            and (gate.task is None or wording.task.id == gate.task.id)
        )


def check_ids(tasks: Sequence[Task], where: str) -> None:
    """Refuse a suite in which two tasks share an id.

    Raises
    ------
    TaskError
        Naming the id and `where` the suite stands.
    """
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise TaskError(f"{where}: two tasks have the id {task.id!r}; give each its own")
        seen.add(task.id)


def plan_suite(
    suite_id: str,
    tasks: Iterable[Task],
    settings: Settings,
    *,
    model: str,
    identity: Mapping[str, str],
    asked: Mapping[str, Sequence[Asked]],
    template: Template | None = None,
    line: int | None = None,
) -> Suite:
    """Plan every wording of every task, which `asked` gives by task id, for a model and template.

    The seed of a wording is hashed from task, distance and index alone, so that all models and
    templates are asked under the same seeds.
    """
    decoding = Decoding(
        temperature=settings.temperature, top_p=settings.top_p, max_tokens=settings.max_tokens
    )
    tasks = tuple(tasks)
    check_ids(tasks, suite_id)
    wordings = []
    for task in tasks:
        asks = identity
        if identity.get("backend") == "reference":
            # What it answers is the task's, so another reference is another answer.
            asks = {**identity, "reference": text_hash(task.reference or "")}
        for own in asked[task.id]:
            variant, prompt = own.variant, own.prompt
            seed = derive_seed(settings.seed, task.id, variant.distance, variant.index)
            samples = settings.samples if variant.distance else settings.original_samples
            job = Job(
                key=completion_key(asks, prompt, decoding, seed),
                model=model,
                prompt=prompt,
                decoding=decoding,
                n=samples,
                seed=seed,
                task_id=task.id,
                variant_id=variant.id,
                reference=task.reference,
                template=template.name if template else None,
            )
            wordings.append(Wording(task=task, variant=variant, job=job, spoken=own.spoken))
    suite = Suite(
        id=suite_id,
        model=model,
        settings=settings,
        tasks=tasks,
        wordings=tuple(wordings),
        template=template,
        line=line,
    )
    # Items are in the order of the rounds, so that each is judged before the next is asked for.
    return replace(suite, wordings=tuple(sorted(suite.wordings, key=suite.round_of)))
