"""The plan of a run: which variants of which tasks each model is sent, and which gates follow."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from pytest_promptse.errors import TaskError, VariantError
from pytest_promptse.models.base import Decoding, completion_key, derive_seed
from pytest_promptse.sampling.job import Job
from pytest_promptse.scoring.sequential import planned_looks
from pytest_promptse.store.run_log import GatePlanRow, GateRow, SuiteKey, SuiteRow
from pytest_promptse.variants.variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.run.variant_making import PendingTexts, VariantPrompt
    from pytest_promptse.scoring.gate import Gate
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.tasks.template import Template
    from pytest_promptse.variants.variant import Variant


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedVariant:
    """The original or a variant of a task, with the job that samples it.

    Attributes
    ----------
    task
        The task that the prompt asks for.
    variant
        What was reworded, and how; its distance is 0 for the original.
    job
        The samples to take of it.
    task_text
        The task as the prompt words it, without the template around it.
    control
        Whether it is a control variant: measured beside the variants, and part of no gate.
    pending
        The texts that a model has still to write; None for a variant that has its text. Until
        they are written, `job` has the original's prompt and a key that no completion has.
    """

    task: Task
    variant: Variant
    job: Job
    task_text: str
    control: bool = False
    pending: PendingTexts | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The task's id and the variant's id, which identify it in its suite."""
        return (self.job.task_id, self.job.variant_id)


@dataclass(frozen=True, kw_only=True)
class PlannedGate:
    """A gate of a suite.

    Attributes
    ----------
    name
        ``auc-e``, ``elasticity-d0.3``, ``excess``, ``loss``, ``squared-sensitivity``,
        ``robust-pass``, ``shortfall`` or ``flips``.
    threshold
        None if the gate only reports its figure.
    distances
        The distances whose variants the figure needs.
    task
        The task that the gate decides, or None for the whole suite.
    """

    name: str
    threshold: float | None
    distances: tuple[float, ...]
    task: Task | None = None


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
            n_wordings=len(self.variants),
            n_controls=len(self.controls),
            distances=list(chosen.distances),
            mode=chosen.mode,
            weighting=chosen.weighting,
            seed=chosen.seed,
            settings=chosen.as_json_values(),
            line=self.line,
            looks=list(self.looks),
        )

    def gate_row(self, gate: PlannedGate) -> GatePlanRow:
        """Return the row of one of the gates of the suite."""
        return GatePlanRow(
            place=self.gates.index(gate),
            name=gate.name,
            threshold=gate.threshold,
            distances=list(gate.distances),
            task=gate.task.id if gate.task else None,
        )

    @cached_property
    def gates(self) -> tuple[PlannedGate, ...]:
        """The gates of single tasks, then those of the whole suite."""
        chosen = self.settings
        per_task = (
            PlannedGate(
                name="auc-e",
                threshold=chosen.min_task_auc_e,
                distances=chosen.distances,
                task=task,
            )
            for task in self.tasks
            if chosen.min_task_auc_e is not None
        )
        per_distance = (
            PlannedGate(
                name=f"elasticity-d{distance:g}",
                threshold=chosen.floor(distance),
                distances=(distance,),
            )
            for distance in chosen.distances
        )
        whole = [PlannedGate(name="auc-e", threshold=chosen.min_auc_e, distances=chosen.distances)]
        further = {
            "excess": chosen.max_excess,
            "loss": chosen.max_loss,
            "squared-sensitivity": chosen.max_squared_sensitivity,
            "robust-pass": chosen.min_robust_pass,
            "shortfall": chosen.max_shortfall,
            "flips": chosen.max_flips,
        }
        whole += [
            PlannedGate(name=name, threshold=threshold, distances=chosen.distances)
            for name, threshold in further.items()
            if threshold is not None
        ]
        return (*per_task, *per_distance, *whole)

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
        """Whether the variants are sampled in rounds, with a look after each."""
        return len(self.looks) > 1

    def round_of(self, planned: PlannedVariant) -> int:
        """Return the round that samples a variant, counted from 0; originals are in round 0."""
        if not planned.variant.distance:
            return 0
        return bisect(self.looks, planned.variant.index)

    def sampled_by(self, look: int) -> tuple[PlannedVariant, ...]:
        """Return the variants of all rounds up to and including that of `look`."""
        return tuple(planned for planned in self.variants if self.round_of(planned) <= look)

    @property
    def comparison(self) -> PlannedComparison | None:
        """The comparison with a baseline, if there is one; shards leave it to the merge."""
        if self.settings.compare is None or self.settings.shard is not None:
            return None
        return PlannedComparison(baseline=self.settings.compare)

    def needed_by(self, gate: PlannedGate | PlannedComparison) -> tuple[PlannedVariant, ...]:
        """Return the variants that a gate or comparison needs measured, originals included.

        A suite in rounds stops as a whole, so each of its gates needs all variants.
        """
        if self.in_rounds or isinstance(gate, PlannedComparison):
            return self.variants
        distances = {0.0, *gate.distances}
        return tuple(
            planned
            for planned in self.variants
            if planned.variant.distance in distances
            and (gate.task is None or planned.task.id == gate.task.id)
        )


def decided_gate(suite: SuiteRow, plan: GatePlanRow, found: Gate) -> GateRow:
    """Return the row of a gate of `suite` that was decided as `found`."""
    return GateRow(
        place=plan.place,
        suite=suite.id,
        model=suite.model,
        template=suite.template,
        task=plan.task,
        name=plan.name,
        threshold=found.threshold,
        value=found.value,
        verdict=found.verdict,
        message=found.message,
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


def with_text(
    planned: PlannedVariant, made: VariantPrompt, identity: Mapping[str, str]
) -> PlannedVariant:
    """Return a pending variant with the text that was written for it.

    Parameters
    ----------
    planned
        The pending variant.
    made
        Its text and prompt.
    identity
        What identifies the model that is sent the prompt.
    """
    job = planned.job
    identity = _identity_for(planned.task, identity)
    return replace(
        planned,
        variant=made.variant,
        task_text=made.task_text,
        pending=None,
        job=replace(
            job,
            key=completion_key(identity, made.prompt, job.decoding, job.seed),
            prompt=made.prompt,
        ),
    )


def _identity_for(task: Task, identity: Mapping[str, str]) -> Mapping[str, str]:
    """Return what the completions for a task depend on besides prompt, decoding and seed."""
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
    prompts: Mapping[str, Sequence[VariantPrompt]],
    template: Template | None = None,
    line: int | None = None,
) -> Suite:
    """Plan all variants of all tasks for one model and template.

    The seed of a variant depends on the task, the distance and the index only, so all models and
    templates are sampled with the same seeds.

    Parameters
    ----------
    suite_id
        The node id of the test function or suite file.
    tasks, settings, model, template, line
        As in `Suite`.
    identity
        What identifies the model in the store, from its backend.
    prompts
        For each task id the prompts of the original and of the variants.

    Raises
    ------
    TaskError
        If two tasks share an id.
    VariantError
        If a control variant has the id of a variant.
    """
    decoding = Decoding(
        temperature=settings.temperature, top_p=settings.top_p, max_tokens=settings.max_tokens
    )
    tasks = tuple(tasks)
    check_ids(tasks, suite_id)
    variants = []
    for task in tasks:
        for own in prompts[task.id]:
            variant, prompt = own.variant, own.prompt
            # A control variant has a seed of its own, so its samples are independent.
            kind = (settings.control,) if own.control else ()
            seed = derive_seed(settings.seed, task.id, variant.distance, variant.index, *kind)
            key = completion_key(_identity_for(task, identity), prompt, decoding, seed)
            job = Job(
                key=key if own.pending is None else f"pending-{key}",
                model=model,
                prompt=prompt,
                decoding=decoding,
                n=settings.samples if variant.distance else settings.original_samples,
                seed=seed,
                task_id=task.id,
                variant_id=variant.id,
                reference=task.reference,
                template=template.name if template else None,
            )
            variants.append(
                PlannedVariant(
                    task=task,
                    variant=variant,
                    job=job,
                    task_text=own.task_text,
                    control=own.control,
                    pending=own.pending,
                )
            )
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
    """Raise VariantError if a control variant has the id of a variant, as frozen ones may."""
    known = {planned.key for planned in variants if not planned.control}
    for planned in variants:
        if planned.control and planned.key in known:
            raise VariantError(
                f"{suite_id}: task {planned.task.id!r} has a variant {planned.variant.id}, which "
                "is what a control variant is called; give control none, since the variants have "
                "no emotion or persona"
            )
