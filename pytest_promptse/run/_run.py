"""One test run: sample the planned variants, judge and log them, and decide the gates."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_promptse.errors import (
    ModelError,
    NotScoredError,
    SandboxError,
    TaskError,
    VariantError,
)
from pytest_promptse.run._judge import CompletionJudge, variant_row
from pytest_promptse.run._model_variants import ModelVariants, no_room
from pytest_promptse.run._plan import plan_suite
from pytest_promptse.run._rounds import Rounds
from pytest_promptse.run._variant_making import VariantMaker
from pytest_promptse.runtimes._runtime import runtime_of
from pytest_promptse.runtimes._toolchains import NODE_PACKAGE
from pytest_promptse.sampling._budget import Budget
from pytest_promptse.sampling._cost_estimate import estimate_cost
from pytest_promptse.sampling._job import Job
from pytest_promptse.sampling._retry import RetryPolicy
from pytest_promptse.sampling._sampler import Sampler
from pytest_promptse.sandbox._checker import open_descriptors
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.scoring._sequential import may_stop
from pytest_promptse.store._run_log import (
    CachedRow,
    ErrorRow,
    GateRow,
    LookRow,
    OutcomeRow,
    RunLog,
    SuiteKey,
    SuiteRow,
    VariantRow,
)
from pytest_promptse.store._store import Store
from pytest_promptse.tasks._template import load_templates

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend, Completion
    from pytest_promptse.record._schema import InvocationRecord, Record
    from pytest_promptse.run._gates import Scores
    from pytest_promptse.run._judge import Check
    from pytest_promptse.run._plan import PlannedComparison, PlannedVariant, Suite
    from pytest_promptse.run._shards import ShardPlan
    from pytest_promptse.runtimes._runtime import Door, Runtime
    from pytest_promptse.sandbox._pool import SandboxPool
    from pytest_promptse.scoring._scores import Gate
    from pytest_promptse.store._run_log import PlannedGate, Progress
    from pytest_promptse.tasks._task import Task
    from pytest_promptse.tasks._template import Template
    from pytest_promptse.variants._generate import Rewriter
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._variant import Variant


_DAY_SECONDS = 24 * 3600.0


class PassCount(NamedTuple):
    """Number of the ``n`` samples of a variant that pass."""

    passes: int
    n: int


class _Waiting(NamedTuple):
    """A variant whose texts were requested, with these requests."""

    suite: Suite
    planned: PlannedVariant
    jobs: list[Job]


_CHECK_SECONDS = 0.2
"""Seconds between two checks for texts that have arrived."""
_CHECK_SHARE = 9.0
"""Pause after a check, as a multiple of the duration of the check."""

ShowProgress: TypeAlias = (
    "Callable[[Callable[[], Progress]], AbstractContextManager[Callable[[], object]]]"
)
NodeOf: TypeAlias = "Callable[[PlannedVariant], str | None]"


class PromptseRun:
    """One run of one process. Its parts are opened when they are first needed.

    Parameters
    ----------
    settings
        Settings of the run. The settings of each suite extend them.
    root
        Folder that relative paths in settings start from.
    id
        Name of the run, the same in all processes that take part in it.
    create_backend
        Returns the backend of a ``BACKEND:NAME``.
    create_rewriter
        Returns the rewriter of a name, given the library.
    show_progress
        Called while the run waits for completions. Receives a progress getter and returns a
        context manager whose value is a callback to run on every poll.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        root: Path,
        id: str,  # noqa: A002 - the field's name everywhere
        create_backend: Callable[[str], Backend],
        create_rewriter: Callable[[str, Library], Rewriter],
        show_progress: ShowProgress,
    ) -> None:
        self.settings = settings
        self.root = root
        self.id = id
        self._create_backend = create_backend
        self._variant_maker = VariantMaker(
            root,
            settings,
            create_rewriter=create_rewriter,
            create_backend=self.backend,
            store=lambda: self.store,
        )
        # Those of the planned tasks, by the key of a verdict.
        self._runtimes: dict[str, Runtime] = {}
        self._model_variants = ModelVariants(lambda: self.store)
        self._waiting: dict[str, _Waiting] = {}
        self._checked = 0.0
        self._backends: dict[str, Backend] = {}
        self._templates: dict[tuple[str, ...], tuple[Template, ...]] = {}
        # Variants that this process measured. The run log has those of all processes.
        self._measured: dict[SuiteKey, dict[tuple[str, str], PassCount]] = defaultdict(dict)
        self._suites_with_gates: Collection[SuiteKey] = ()
        self._selected_controls: dict[SuiteKey, list[PlannedVariant]] = defaultdict(list)
        self._shard_tasks: Mapping[str, Collection[str]] = {}
        self._show_progress = show_progress
        self._sampler: Sampler | None = None
        # Opened before sampling began or by fixtures, as far as known.
        self.needed_descriptors: set[int] = set()
        self.started = datetime.now(UTC)

    @cached_property
    def store(self) -> Store:
        """The store of completions and verdicts."""
        return Store(self.root / self.settings.store)

    @cached_property
    def run_log(self) -> RunLog:
        """The log of this run, shared by all its processes."""
        return RunLog(self.store, self.id)

    @cached_property
    def scores(self) -> Scores:
        """The scores of what was measured so far."""
        from pytest_promptse.run._gates import Scores  # noqa: PLC0415 - scipy takes its time

        return Scores(self.run_log)

    @cached_property
    def sandbox(self) -> SandboxPool:
        """The sandbox that programs run in."""
        runtimes = self._runtimes.values()
        folders = dict.fromkeys(folder for runtime in runtimes for folder in runtime.folders)
        sandbox = open_sandbox(
            self.settings.sandbox,
            packages=("numpy", NODE_PACKAGE) if any(r.key for r in runtimes) else ("numpy",),
            folders=tuple(folders),
        )
        try:
            for runtime in runtimes:
                runtime.check(sandbox)
        except SandboxError:
            sandbox.close()
            raise
        return sandbox

    @cached_property
    def _judge(self) -> CompletionJudge:
        return CompletionJudge(self.store, lambda: self.sandbox)

    @cached_property
    def _rounds(self) -> Rounds:
        return Rounds(
            self.run_log, request=self._request_round, count_stored=self.sampler.count_stored
        )

    @cached_property
    def _since(self) -> float:
        """The time before which completions are too old for this run, in seconds since 1970."""
        settings = self.settings
        if not settings.fresh and settings.max_age is None:
            return 0.0
        # The first process of the run sets the time, so that all request the same completions.
        now = repr(time.time()).encode()
        began = float(self.store.put_if_absent(self.id, "began", "", now))
        return began if settings.fresh else began - (settings.max_age or 0.0) * _DAY_SECONDS

    @property
    def sampler(self) -> Sampler:
        """The sampler of the run.

        Raises
        ------
        RuntimeError
            If the run was not started.
        """
        if self._sampler is None:
            raise RuntimeError("the run has not been started")
        return self._sampler

    def backend(self, spec: str) -> Backend:
        """Return the backend of a ``BACKEND:NAME``; it is created once and not started here."""
        if spec not in self._backends:
            self._backends[spec] = self._create_backend(spec)
        return self._backends[spec]

    def plan(
        self,
        suite_id: str,
        tasks: Iterable[Task],
        settings: Settings,
        *,
        line: int | None = None,
        door: Door | None = None,
    ) -> list[Suite]:
        """Plan a suite for each model and each prompt template.

        Parameters
        ----------
        suite_id
            The node id of the test function or suite file.
        tasks
            The tasks of the suite.
        settings
            Settings of the suite.
        line
            The line in which the suite begins in its file.
        door
            How the check reaches a program, or None if each task's own check decides that.

        Raises
        ------
        TaskError, VariantError
            If a template or a setting is invalid, or a frozen variant is missing. Also if programs
            in the language of a task cannot be run here, or not be called by its check.
        """
        tasks = tuple(tasks)
        for task in tasks:
            try:
                runtime = runtime_of(task.language or "python", task.reached_by(door))
                if runtime.guest != "python":
                    task.require_entry_point()
            except TaskError as error:
                raise TaskError(f"{suite_id}, task {task.id!r}: {error}") from None
            self._runtimes[runtime.key] = runtime
        variants = {task.id: self._variant_maker.variants_of(task, settings) for task in tasks}
        templates: Sequence[Template | None] = self.templates(settings) or (None,)
        prompts = {
            (task.id, template and template.name): self._variant_maker.prompts_of(
                task, settings, variants[task.id], template
            )
            for task in tasks
            for template in templates
        }
        return [
            plan_suite(
                suite_id,
                tasks,
                settings,
                line=line,
                model=model,
                identity=self.backend(model).identity,
                template=template,
                prompts={task.id: prompts[task.id, template and template.name] for task in tasks},
                since=lambda: self._since,
            )
            for model in self.settings.model
            for template in templates
        ]

    def templates(self, settings: Settings) -> tuple[Template, ...]:
        """Return the prompt templates that `settings` name; each is read once."""
        if settings.template not in self._templates:
            self._templates[settings.template] = load_templates(settings.template, self.root)
        return self._templates[settings.template]

    def with_age_limit(self, jobs: Iterable[Job]) -> list[Job]:
        """Return `jobs` with the run's age limit; older completions are requested again."""
        return [replace(job, since=self._since) for job in jobs]

    def stored(self, job: Job) -> Completion | None:
        """Return the first stored sample of `job` if it is within the age limit, else None."""
        [job] = self.with_age_limit([job])
        return next(iter(self.store.completions(job.key, 1, since=job.since)), None)

    def make_variants(self, selected: Iterable[tuple[Suite, PlannedVariant]]) -> None:
        """Make the texts of variants, or read them from the store.

        Each process makes them in a different order and stores those of a task at once. So the
        processes of a run share this work without waiting for each other.

        Parameters
        ----------
        selected
            The variants that the selected items need, with their suites.

        Raises
        ------
        VariantError
            If texts cannot be made. The message has one line per task.
        """
        pairs = list(selected)
        Random(os.getpid()).shuffle(pairs)  # noqa: S311 - no secret
        problems: dict[str, Exception] = {}
        for suite, planned in pairs:
            try:
                planned.variant  # noqa: B018 - makes the text
            except (VariantError, TaskError) as error:
                problems[f"{suite.id}: {error}"] = error
        if problems:
            raise VariantError("\n".join(sorted(problems))) from next(iter(problems.values()))

    def estimate(
        self, selected: Sequence[tuple[Suite, PlannedVariant]], jobs: Sequence[Job] = ()
    ) -> list[str]:
        """Return one line per model: requests and cost of sampling `selected` and `jobs`.

        `selected` are the variants of the selected items, with their suites; `jobs` are further
        requests. Completions in the store cost nothing. A suite that is measured in rounds has an
        upper bound, and so has a model that writes or judges variants.
        """
        planned_jobs: list[Job] = []
        for suite, planned in selected:
            own = self._next_jobs(suite, planned)
            planned_jobs += own
            if planned.job.key in self._waiting:
                planned_jobs.append(planned.job)
            if planned.pending is not None:
                for pending in planned.pending.rewrites:
                    planned_jobs += self._model_variants.expected_jobs(pending)
        planned_jobs += self.with_age_limit(jobs)
        estimates = estimate_cost(planned_jobs, self.store, price=self.settings.price)
        bounded = {suite.model for suite, _ in selected if suite.in_rounds}
        bounded.update(self._variant_maker.models)
        return [each.line(at_most=each.model in bounded) for each in estimates]

    def start(
        self,
        selected: Sequence[tuple[Suite, PlannedVariant]],
        *,
        only_process: bool,
        suites_with_gates: Collection[SuiteKey] = (),
        shard: ShardPlan | None = None,
        jobs: Sequence[Job] = (),
        models: Collection[str] = (),
    ) -> None:
        """Start to sample in the background.

        Parameters
        ----------
        selected
            The variants that the selected items need, with their suites, in the order in which
            they will be judged.
        only_process
            False if other processes take part in the run. One of them samples for all.
        suites_with_gates
            The suites of which a gate is selected. Such a suite in rounds is sampled round by
            round; any other suite is sampled as a whole.
        shard
            The plan of a run in shards. Its gates stay open.
        jobs
            Further prompts to sample, whose completions are not programs.
        models
            Models to sample in addition to those of the settings.

        Raises
        ------
        SandboxError
            If no sandbox is available.
        SettingsError
            If a model cannot be sampled with these settings.
        """
        if shard is None:
            self._suites_with_gates = frozenset(suites_with_gates)
        else:
            self._shard_tasks = shard.own_tasks
            self.run_log.add(shard.row)
        planned_all = tuple(selected)
        for suite, planned in planned_all:
            if planned.control:
                self._selected_controls[suite.key].append(planned)
        selected = [
            (suite, planned)
            for suite, planned in selected
            if not self._stops_early(suite) or suite.round_of(planned) == 0
        ]
        if selected:
            self.sandbox  # noqa: B018 - opened before any request, since it may not be available
        for suite in {id(suite): suite for suite, _ in selected}.values():
            self.run_log.add(suite.row)
        keys = {planned.job.key for _, planned in planned_all} | {job.key for job in jobs}
        oldest = self.store.oldest(keys, since=self._since)
        batch_cost = self.store.batch_cost(keys)
        self._sampler = Sampler(
            self.store,
            [
                *(job for pair in selected for job in self._next_jobs(*pair)),
                *self.with_age_limit(jobs),
            ],
            {
                model: partial(self.backend, model)
                for model in (*self.settings.model, *models, *self._variant_maker.models)
            },
            run=self.id,
            concurrency=self.settings.concurrency,
            budget=Budget(
                max_requests=self.settings.max_requests,
                max_cost=self.settings.max_cost,
                price=self.settings.price,
            ),
            leader_lock=None if only_process else self._leader_lock,
            replay_only=self.settings.replay_only,
            retry_policy=RetryPolicy(attempts=self.settings.retries + 1),
        )
        self.needed_descriptors |= open_descriptors()
        self._sampler.start()
        cached = self._sampler.progress().cached
        self.run_log.add(
            CachedRow(process=os.getpid(), cached=cached, oldest=oldest, batch_cost=batch_cost)
        )

    def measure(
        self, suite: Suite, planned: PlannedVariant, check: Check, *, node_of: NodeOf
    ) -> PassCount:
        """Sample and judge a variant, unless this process has done so.

        Parameters
        ----------
        suite, planned
            The variant and its suite.
        check
            The check of the suite.
        node_of
            Returns the node id of the item that measures a variant, for reports.

        Raises
        ------
        NotScoredError
            If a completion is missing or the sandbox fails.
        """
        measured = self._measured[suite.key]
        if planned.key not in measured:
            with self._show_progress(self.sampler.progress) as show:
                tick = partial(self._tick, show)
                planned = self._with_text(planned, tick)
                self.sampler.wait(planned.job, tick=tick)
            job = planned.job
            completions = self.store.completions(job.key, job.n, since=job.since)
            judged = self._judge.judge(
                planned, completions, self.sampler.capabilities(suite.model), check
            )
            row = variant_row(
                suite,
                planned,
                judged,
                tokens=self.store.tokens(planned.job.key, programs=planned.programs),
                node=node_of(planned),
            )
            self.run_log.add(row)
            measured[planned.key] = PassCount(row.variant.passes, row.variant.n)
        return measured[planned.key]

    def measured_prompt(self, suite: Suite, planned: PlannedVariant) -> VariantRow:
        """Return a variant that was measured, with the texts that its samples refer to.

        Raises
        ------
        NotScoredError
            If the run log does not contain it.
        """
        row = self.run_log.variant(suite.key, *planned.key, VariantRow)
        if row is None:
            raise NotScoredError(f"{'-'.join(planned.key)} was not measured in this run")
        return row

    def end_before(
        self, suite: Suite, planned: PlannedVariant, check: Check, *, node_of: NodeOf
    ) -> LookRow | None:
        """Return the look that ended the suite before this variant was sampled, or None.

        Measures what the earlier looks need. The parameters are those of `measure`.

        Raises
        ------
        NotScoredError
            As `measure`.
        """
        if not self._stops_early(suite):
            return None
        decided = partial(self._all_decided, suite, check, node_of)
        return self._rounds.end_before(suite, suite.round_of(planned), decided=decided)

    def decide(self, suite: Suite, gate: PlannedGate, check: Check, *, node_of: NodeOf) -> Gate:
        """Measure the variants of a gate that no process has measured, and decide the gate.

        The parameters are those of `measure`.

        Raises
        ------
        NotScoredError
            As `measure`, and if the gate has a threshold but no original is solved.
        """
        self._measure_missing(suite, self._needed(suite, gate, check, node_of), check, node_of)
        decided = self.scores.decide_measured(suite.row, gate)
        self.run_log.add(
            GateRow(
                place=gate.place,
                suite=suite.id,
                model=suite.model,
                template=suite.key.template,
                gate=decided,
            )
        )
        return decided

    def measure_for(
        self, suite: Suite, comparison: PlannedComparison, check: Check, *, node_of: NodeOf
    ) -> None:
        """Measure the variants of a comparison that no process has measured.

        The parameters are those of `measure`.

        Raises
        ------
        NotScoredError
            As `measure`.
        """
        needed = self._needed(suite, comparison, check, node_of)
        self._measure_missing(suite, needed, check, node_of)

    def why_nothing_is_solved(self, suite: Suite) -> str | None:
        """Return why no sample of an original of a measured suite passes, or None if one does.

        Raises
        ------
        NotScoredError
            If no original was measured.
        """
        gate = next(gate for gate in suite.gates if gate.task is None)
        return self.scores.why_nothing_is_solved(suite.row, gate)

    def measure_share(
        self, suite: Suite, gate: PlannedGate, check: Check, *, node_of: NodeOf
    ) -> None:
        """Measure the variants of a gate in the tasks of this shard. The gate stays open.

        The parameters are those of `measure`.

        Raises
        ------
        NotScoredError
            As `measure`.
        """
        tasks = self._shard_tasks[suite.id]
        needed = [planned for planned in suite.needed_by(gate) if planned.task.id in tasks]
        self._measure_missing(suite, needed, check, node_of)

    def wait(self, jobs: Sequence[Job]) -> dict[str, Completion]:
        """Wait for `jobs` and return the completion of each by the job's key.

        Each job has one sample. Only completions that the store lacks are requested.

        Raises
        ------
        NotScoredError
            If a completion is missing.
        """
        jobs = self.with_age_limit(jobs)
        self.sampler.request(jobs)
        with self._show_progress(self.sampler.progress) as tick:
            return {job.key: self.sampler.completions(job, tick=tick)[0] for job in jobs}

    def log_error(self, where: str, error: NotScoredError) -> None:
        """Log that the item `where` could not be measured.

        `where` is a node id.
        """
        self.run_log.add(ErrorRow(where=where, message=str(error)))

    def record(self, invocation: InvocationRecord, *, suite_id: str | None = None) -> Record:
        """Return the record of what all processes of this run have measured so far.

        Parameters
        ----------
        invocation
            How pytest was called.
        suite_id
            The only suite to include, or None for all.
        """
        from pytest_promptse.run._record_builder import (  # noqa: PLC0415 - scipy takes its time
            RunFacts,
            build_record,
        )

        facts = RunFacts(
            started=self.started,
            root=self.root,
            sandbox=self._isolation_level,
            settings=self.settings,
            invocation=invocation,
            backends={spec: self.backend(spec) for spec in self.settings.model},
            emotions=self._variant_maker.library.emotions,
            usage=self.store.usage(self.id),
        )
        return build_record(self.run_log, self.scores, self.store, facts, suite_id=suite_id)

    def forget(self) -> None:
        """Remove the run log and the lock of this run; completions and verdicts stay."""
        self.store.finish_run(self.id)
        self._leader_lock.unlink(missing_ok=True)

    def stop_sampling(self, *, grace: float) -> None:
        """Send no more requests; what was measured can still be read.

        Parameters
        ----------
        grace
            Seconds that requests under way have to finish, in the background.
        """
        if self._sampler is not None:
            self._sampler.stop(grace=grace)

    def close(self, *, grace: float = 0.0) -> None:
        """Stop sampling and close the sandbox and the store.

        Parameters
        ----------
        grace
            Seconds that requests under way have to finish, unless `stop_sampling` has set others.
        """
        if self._sampler is not None:
            self._sampler.close(grace=grace)
        for name in ("sandbox", "store"):
            opened = self.__dict__.pop(name, None)
            if opened is not None:
                opened.close()

    @property
    def _isolation_level(self) -> str:
        """The isolation level of programs, or ``unused`` if the run has executed none."""
        judges = "sandbox" in self.__dict__ or any(True for _ in self.run_log.rows(SuiteRow))
        return self.sandbox.isolation_level if judges else "unused"

    @property
    def _leader_lock(self) -> Path:
        return self.store.folder / f"run-{self.id}.lock"

    def _needed(
        self,
        suite: Suite,
        subject: PlannedGate | PlannedComparison,
        check: Check,
        node_of: NodeOf,
    ) -> Sequence[PlannedVariant]:
        if not self._stops_early(suite):
            return suite.needed_by(subject)
        decided = partial(self._all_decided, suite, check, node_of)
        return suite.sampled_by(self._rounds.end(suite, decided=decided).look)

    # -- texts that a model writes ----------------------------------------------------------------

    def _next_jobs(self, suite: Suite, planned: PlannedVariant) -> list[Job]:
        """Return the next requests for a variant: for its texts, or then for its samples.

        The list is empty if the rewriter's model failed; the item of the variant reports that
        error.
        """
        if planned.pending is None:
            return [planned.job]
        try:
            steps = [self._model_variants.next_step(r) for r in planned.pending.rewrites]
        except ModelError:
            # The item that measures the variant reports the error.
            self._waiting.pop(planned.job.key, None)
            return []
        jobs = [step for step in steps if isinstance(step, Job)]
        if jobs:
            self._waiting[planned.job.key] = _Waiting(suite, planned, jobs)
            return jobs
        self._waiting.pop(planned.job.key, None)
        return [self._with_written(planned, steps).job]

    def _request(self, suite: Suite, variants: Sequence[PlannedVariant]) -> None:
        jobs = [job for planned in variants for job in self._next_jobs(suite, planned)]
        self.sampler.request(jobs)

    def _request_round(self, suite: Suite, variants: Sequence[PlannedVariant]) -> None:
        """Request the variants of the next round, and the selected controls beside them.

        A control variant belongs to the round of its variant.
        """
        rounds = {suite.round_of(planned) for planned in variants}
        controls = self._selected_controls.get(suite.key, ())
        beside = [planned for planned in controls if suite.round_of(planned) in rounds]
        self._request(suite, [*variants, *beside])

    def _tick(self, show: Callable[[], object]) -> None:
        """Show the progress and, at intervals, process the texts that have arrived.

        `show` is called each time.
        """
        show()
        began = time.monotonic()
        if not self._waiting or began < self._checked + _CHECK_SECONDS:
            return
        keys = {job.key: 1 for waiting in self._waiting.values() for job in waiting.jobs}
        missing = self.store.missing(keys)
        for waiting in list(self._waiting.values()):
            if not any(missing[job.key] for job in waiting.jobs):
                self._request(waiting.suite, [waiting.planned])
        # Checking many variants takes long, so a pause follows that leaves time for other work.
        now = time.monotonic()
        self._checked = now + _CHECK_SHARE * (now - began)

    def _with_text(self, planned: PlannedVariant, tick: Callable[[], object]) -> PlannedVariant:
        """Wait for the texts of a variant and return the variant with its texts.

        `tick` is called while it waits.

        Raises
        ------
        NotScoredError
            If a text is missing or every text was rejected.
        """
        if planned.pending is None:
            return planned
        written = []
        for rewrite in planned.pending.rewrites:
            try:
                while isinstance(step := self._model_variants.next_step(rewrite), Job):
                    self._wait_for_text(step, tick)
            finally:
                for row in self._model_variants.rows(rewrite):
                    self.run_log.add(row)
            written.append(step)
        return self._with_written(planned, written)

    def _wait_for_text(self, job: Job, tick: Callable[[], object]) -> None:
        try:
            self.sampler.wait(job, tick=tick)
        except ModelError as error:
            if message := no_room(error):
                raise ModelError(message) from error
            raise

    def _with_written(
        self, planned: PlannedVariant, steps: Sequence[Variant | Job]
    ) -> PlannedVariant:
        if planned.pending is None:
            return planned
        written = [step for step in steps if not isinstance(step, Job)]
        finish = planned.pending.finish
        return replace(planned, make=lambda: finish(written))

    def _stops_early(self, suite: Suite) -> bool:
        """Return whether the suite stops once its gates are decided.

        A suite without a gate is sampled completely.
        """
        return suite.in_rounds and suite.key in self._suites_with_gates

    def _all_decided(
        self, suite: Suite, check: Check, node_of: NodeOf, needed: Sequence[PlannedVariant]
    ) -> bool:
        """Measure `needed` and return whether every gate with a threshold is decided by it.

        `check` runs the user's check, and `node_of` returns the node id of a variant. The result is
        also True if no prompt is ever solved, as more variants then decide nothing.
        """
        self._measure_missing(suite, needed, check, node_of)
        score = self.scores.of(suite.row)
        if score is None:
            return False
        with_threshold = [gate for gate in suite.gates if gate.threshold is not None]
        if self.scores.why_nothing_is_solved(suite.row, with_threshold[-1]) is not None:
            # More variants of prompts that are never solved decide nothing.
            return True
        # The suite's own gates are last in the list. They share one score, so they are tried first.
        gates = (self.scores.decide(suite.row, gate) for gate in reversed(with_threshold))
        return may_stop(gates, mode=score.mode)

    def _measure_missing(
        self, suite: Suite, needed: Sequence[PlannedVariant], check: Check, node_of: NodeOf
    ) -> None:
        """Measure the variants that no process of the run has measured.

        `check` runs the user's check, and `node_of` returns the node id of a variant. Variants that
        another process measured are read from the run log.
        """
        measured = self._measured[suite.key]
        missing = []
        for planned in needed:
            if planned.key in measured:
                continue
            row = self.run_log.variant(suite.key, *planned.key, OutcomeRow)
            if row is None:
                missing.append(planned)
            else:
                measured[planned.key] = PassCount(row.variant.passes, row.variant.n)
        self._request(suite, missing)
        for planned in missing:
            self.measure(suite, planned, check, node_of=node_of)
