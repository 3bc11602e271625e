"""The plan of a run: the variants of each task, the model for each, and the gates."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from pytest_promptse.config._metrics import METRICS
from pytest_promptse.errors import TaskError, VariantError
from pytest_promptse.models._base import Decoding, Prompt, completion_key, derive_seed
from pytest_promptse.sampling._job import Job
from pytest_promptse.scoring._sequential import planned_looks
from pytest_promptse.store._run_log import PlannedGate, SuiteKey, SuiteRow
from pytest_promptse.variants._variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.run._variant_prompts import (
        Answer,
        PendingAnswers,
        PlannedPrompt,
        VariantPrompt,
    )
    from pytest_promptse.tasks._task import Task
    from pytest_promptse.tasks._template import Template
    from pytest_promptse.variants._variant import Variant


@dataclass(frozen=True, kw_only=True)
class PlannedVariant:
    """The original or a variant of a task, with the job that samples it.

    It is drawn when its id is first needed, and its text is made when that is first needed. So
    variants that no selected item needs are never made.

    Attributes
    ----------
    task
        The task of the variant.
    distance, index
        As in `Variant`. The distance is 0 for the original.
    n
        Number of samples to draw, at least 1.
    draw
        Returns the variant without its text.
    make
        Returns the prompt.
    create_job
        Returns the job of `job_for`, given the task and the variant's id as well.
    control
        True for a control variant, which is measured beside the variants and is part of no gate.
    programs
        Number of completions of each sample, of which one is judged.
    first_key
        The key of the answered first request, if the template has two requests.
    """

    task: Task
    distance: float
    index: int
    n: int
    draw: Callable[[], Variant]
    make: Callable[[], VariantPrompt]
    create_job: Callable[..., Job]
    control: bool = False
    programs: int = 1
    first_key: str | None = None

    @property
    def n_completions(self) -> int:
        """Number of completions to request."""
        return self.n * self.programs

    @cached_property
    def outline(self) -> Variant:
        """The variant without its text."""
        return self.draw()

    @cached_property
    def _made(self) -> VariantPrompt:
        return self.make()

    @property
    def key(self) -> tuple[str, str]:
        """The task's id and the variant's id, which identify it in its suite."""
        return (self.task.id, self.outline.id)

    @property
    def variant(self) -> Variant:
        """The variant of the task or template.

        Raises
        ------
        VariantError, TaskError
            If the text cannot be made. `job`, `task_text` and `pending` raise the same errors.
        """
        return self._made.variant

    @cached_property
    def job(self) -> Job:
        """The samples to draw.

        While answers are pending, its prompt has the original's text in their place, and no stored
        completion has its key.
        """
        job = self.job_for(self._made.prompt)
        return replace(job, key=f"pending-{job.key}") if self.pending else job

    def job_for(self, prompt: Prompt, *, first: bool = False) -> Job:
        """Return the job that samples a prompt.

        Parameters
        ----------
        prompt
            The prompt.
        first
            True for a prompt that the model answers before that of the variant.
        """
        return self.create_job(prompt, first=first, task=self.task, variant_id=self.outline.id)

    @property
    def task_text(self) -> str:
        """The text of the task in the prompt, without the template around it."""
        return self._made.task_text

    @property
    def pending(self) -> PendingAnswers | None:
        """The answers that the prompt still needs, or None if the variant has its prompt."""
        return self._made.pending

    def given(self, answers: Sequence[Answer]) -> PlannedVariant:
        """Return the variant with the answers that `pending` needs, in their order."""
        if self.pending is None:
            return self
        first = [needed for needed in self.pending.needed if isinstance(needed, Prompt)]
        first_key = self.job_for(first[0], first=True).key if first else None
        return replace(self, make=partial(self.pending.finish, answers), first_key=first_key)


@dataclass(frozen=True, kw_only=True)
class PlannedComparison:
    """The comparison of a suite with a baseline.

    Attributes
    ----------
    baseline
        The name or path of the baseline.
    """

    baseline: str
    task: None = None

    @property
    def name(self) -> str:
        """``compare-`` and the name of the baseline, or of its file without the suffix."""
        return f"compare-{PurePath(self.baseline).stem}"


@dataclass(frozen=True, kw_only=True)
class Suite:
    """One test function or suite file for one model and at most one prompt template.

    Gates decide at this level.

    Attributes
    ----------
    id
        The node id of the test function or suite file.
    model
        The model as ``BACKEND:NAME``.
    settings
        The settings of the run with those of the mark or file on top.
    tasks
        The tasks in the order of the mark or file.
    variants
        The originals and variants of all tasks, in the order in which they are judged.
    controls
        The control variants of all tasks, which no gate needs.
    template
        The prompt template around the task, or None.
    line
        The line in which the suite begins in its file.
    """

    id: str
    model: str
    settings: Settings
    tasks: tuple[Task, ...]
    variants: tuple[PlannedVariant, ...]
    controls: tuple[PlannedVariant, ...] = ()
    template: Template | None = None
    line: int | None = None

    @property
    def key(self) -> SuiteKey:
        """Model, template name and id, which identify the suite in its run."""
        return SuiteKey(self.model, self.template.name if self.template else None, self.id)

    @cached_property
    def row(self) -> SuiteRow:
        """The entry that describes the suite in the run log."""
        chosen = self.settings
        source = (self.template.place, self.template.source) if self.template else None
        return SuiteRow(
            id=self.id,
            model=self.model,
            template=self.key.template,
            template_source=source,
            tasks=[task.id for task in self.tasks],
            n_variants=len(self.variants),
            n_controls=len(self.controls),
            n_gates=sum(gate.threshold is not None for gate in self.gates),
            distances=list(chosen.distances),
            mode=chosen.mode,
            weighting=chosen.weighting,
            seed=chosen.seed,
            settings=chosen.as_json_values(),
            line=self.line,
            looks=list(self.looks),
            shares_process=any(task.shares_process for task in self.tasks),
        )

    @cached_property
    def gates(self) -> tuple[PlannedGate, ...]:
        """The gates of single tasks, then those of the whole suite."""
        chosen = self.settings
        planned: list[tuple[str, float | None, tuple[float, ...], str | None]] = []
        if chosen.min_task_auc_e is not None:
            planned += [
                (METRICS["auc_e"].gate, chosen.min_task_auc_e, chosen.distances, task.id)
                for task in self.tasks
            ]
        # A metric with a gate for each distance comes first, since it explains the others.
        for metric in sorted(METRICS.values(), key=lambda metric: not metric.by_distance):
            for distance in chosen.distances if metric.by_distance else (None,):
                threshold = chosen.threshold(metric, distance)
                if threshold is None and not metric.gate_without_threshold:
                    continue
                name = metric.gate if distance is None else metric.gate_at(distance)
                needed = chosen.distances if distance is None else (distance,)
                planned.append((name, threshold, needed, None))
        return tuple(
            PlannedGate(place=place, name=name, threshold=threshold, distances=needed, task=task)
            for place, (name, threshold, needed, task) in enumerate(planned)
        )

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """Number of variants per distance at each interim analysis ("look").

        A suite whose samples are not ``auto`` has one look at all variants.
        """
        chosen = self.settings
        if chosen.adaptive and any(gate.threshold is not None for gate in self.gates):
            return planned_looks(chosen.variants)
        return (chosen.variants,)

    @property
    def in_rounds(self) -> bool:
        """True if the variants are sampled in rounds, with a look after each."""
        return len(self.looks) > 1

    def round_of(self, planned: PlannedVariant) -> int:
        """Return the round that samples a variant, counted from 0; originals are in round 0."""
        if not planned.distance:
            return 0
        return bisect(self.looks, planned.index)

    def sampled_by(self, look: int) -> tuple[PlannedVariant, ...]:
        """Return the variants of all rounds up to and including that of `look`."""
        return tuple(planned for planned in self.variants if self.round_of(planned) <= look)

    @property
    def comparison(self) -> PlannedComparison | None:
        """The comparison with a baseline, or None.

        In a shard it is None, since the merge compares.
        """
        if self.settings.compare is None or self.settings.shard is not None:
            return None
        return PlannedComparison(baseline=self.settings.compare)

    def needed_by(self, gate: PlannedGate | PlannedComparison) -> tuple[PlannedVariant, ...]:
        """Return the variants that a gate or comparison needs, including originals.

        A suite in rounds stops as a whole, so each of its gates needs all variants.
        """
        if self.in_rounds or isinstance(gate, PlannedComparison):
            return self.variants
        distances = {0.0, *gate.distances}
        return tuple(
            planned
            for planned in self.variants
            if planned.distance in distances and gate.task in (None, planned.task.id)
        )


def check_ids(tasks: Sequence[Task], where: str) -> None:
    """Check that no two tasks share an id.

    Parameters
    ----------
    tasks
        The tasks of one suite.
    where
        The place of the suite, for the error.

    Raises
    ------
    TaskError
        If an id occurs twice.
    """
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise TaskError(f"{where}: two tasks have the id {task.id!r}; give each its own")
        seen.add(task.id)


def _identity_for(task: Task, identity: Mapping[str, str]) -> Mapping[str, str]:
    """Return what identifies completions for a task, besides prompt, decoding and seed.

    `identity` is that of the model. The result differs from it only for the reference backend.
    """
    if identity.get("backend") == "reference":
        # The reference backend returns the task's solution, so its completions depend on it.
        return {**identity, "reference": text_hash(task.reference or "")}
    return identity


def plan_suite(
    suite_id: str,
    tasks: Iterable[Task],
    settings: Settings,
    *,
    model: str,
    identity: Mapping[str, str],
    prompts: Mapping[str, Sequence[PlannedPrompt]],
    template: Template | None = None,
    line: int | None = None,
    since: Callable[[], float] = lambda: 0.0,
) -> Suite:
    """Plan all variants of all tasks for one model and template.

    The seed of a variant depends only on the task, the distance and the index. So all models and
    templates are sampled with the same seeds.

    Parameters
    ----------
    suite_id
        The node id of the test function or suite file.
    tasks, settings, model, template, line
        As in `Suite`.
    identity
        The values with which the backend identifies the model in the store.
    prompts
        For each task id, the prompts of the original and of the variants.
    since
        Returns the value of `Job.since` for all jobs.

    Raises
    ------
    TaskError
        If two tasks share an id.
    VariantError
        If a control variant has the id of a variant.
    """
    decoding = Decoding(
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens * (template.max_tokens_times if template else 1),
    )
    programs = template.programs if template else 1
    tasks = tuple(tasks)
    check_ids(tasks, suite_id)
    variants = []
    for task in tasks:
        identity_for_task = _identity_for(task, identity)
        for prompt in prompts[task.id]:
            n = settings.samples if prompt.distance else settings.original_samples
            # A control variant has a seed of its own, so its samples are independent.
            kind = (settings.control,) if prompt.control else ()
            variants.append(
                PlannedVariant(
                    task=task,
                    distance=prompt.distance,
                    index=prompt.index,
                    n=n,
                    draw=prompt.draw,
                    make=prompt.make,
                    create_job=partial(
                        _job,
                        identity=identity_for_task,
                        model=model,
                        decoding=decoding,
                        n=n * programs,
                        seed_parts=(settings.seed, task.id, prompt.distance, prompt.index, *kind),
                        template=template.name if template else None,
                        since=since,
                    ),
                    control=prompt.control,
                    programs=programs,
                )
            )
    if settings.variants_dir:
        _check_variant_ids(suite_id, variants)
    suite = Suite(
        id=suite_id,
        model=model,
        settings=settings,
        tasks=tasks,
        variants=tuple(planned for planned in variants if not planned.control),
        controls=tuple(planned for planned in variants if planned.control),
        template=template,
        line=line,
    )
    # Judge each round before the next one is requested.
    return replace(
        suite,
        variants=tuple(sorted(suite.variants, key=suite.round_of)),
        controls=tuple(sorted(suite.controls, key=suite.round_of)),
    )


def _check_variant_ids(suite_id: str, variants: Sequence[PlannedVariant]) -> None:
    """Raise VariantError if a control variant has the id of a frozen variant.

    `suite_id` is for the message, which names the remedy.
    """
    keys = {planned.key for planned in variants if not planned.control}
    for planned in variants:
        if planned.control and planned.key in keys:
            raise VariantError(
                f"{suite_id}: task {planned.task.id!r} has a variant {planned.outline.id}, and "
                "its control variant has the same name; give control none, since the variants have "
                "no emotion or persona"
            )


def _job(
    prompt: Prompt,
    *,
    first: bool,
    task: Task,
    variant_id: str,
    identity: Mapping[str, str],
    model: str,
    decoding: Decoding,
    n: int,
    seed_parts: tuple[str | float, ...],
    template: str | None,
    since: Callable[[], float],
) -> Job:
    if first:
        # One answer serves all samples, as if it were a part of the prompt.
        n, decoding = 1, Decoding(temperature=0.0, max_tokens=decoding.max_tokens)
    seed = derive_seed(*seed_parts)
    return Job(
        key=completion_key(identity, prompt, decoding, seed),
        model=model,
        prompt=prompt,
        decoding=decoding,
        n=n,
        seed=seed,
        task_id=task.id,
        variant_id=variant_id,
        reference=task.reference,
        template=template,
        since=since(),
    )
