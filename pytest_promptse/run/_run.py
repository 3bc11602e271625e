"""One test run: its parts, its plan, the start of its sampling, its record and its end."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from random import Random
from typing import TYPE_CHECKING

from pytest_promptse.errors import (
    NotScoredError,
    NotStoredError,
    SandboxError,
    TaskError,
    VariantError,
)
from pytest_promptse.run._judge import CompletionJudge
from pytest_promptse.run._measuring import Measuring
from pytest_promptse.run._plan import plan_suite
from pytest_promptse.run._texts import TextRequests
from pytest_promptse.run._variant_making import VariantMaker
from pytest_promptse.runtimes._runtime import runtime_of
from pytest_promptse.runtimes._toolchains import NODE_PACKAGE
from pytest_promptse.sampling._budget import Budget
from pytest_promptse.sampling._cost_estimate import estimate_cost
from pytest_promptse.sampling._retry import RetryPolicy
from pytest_promptse.sampling._sampler import Sampler
from pytest_promptse.sandbox._checker import open_descriptors
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.store._run_log import (
    CachedRow,
    ErrorRow,
    RunLog,
    SuiteKey,
    SuiteRow,
)
from pytest_promptse.store._store import Store
from pytest_promptse.tasks._template import load_templates

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend, Completion
    from pytest_promptse.record._schema import InvocationRecord, Record
    from pytest_promptse.run._gates import Scores
    from pytest_promptse.run._measuring import ShowProgress
    from pytest_promptse.run._plan import PlannedVariant, Suite
    from pytest_promptse.run._shards import ShardPlan
    from pytest_promptse.runtimes._runtime import Door, Runtime
    from pytest_promptse.sampling._job import Job
    from pytest_promptse.sandbox._pool import SandboxPool
    from pytest_promptse.tasks._task import Task
    from pytest_promptse.tasks._template import Template
    from pytest_promptse.variants._generate import Rewriter
    from pytest_promptse.variants._library import Library


_DAY_SECONDS = 24 * 3600.0


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
    temporary
        Folders in which tests have temporary files, besides that of `tempfile`.
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
        temporary: tuple[str, ...] = (),
    ) -> None:
        self.settings = settings
        self._temporary = temporary
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
        # Those of the planned tasks, by the key of a verdict and by their folders.
        self._runtimes: dict[tuple[str, tuple[str, ...]], Runtime] = {}
        self._texts = TextRequests(
            store=lambda: self.store, run_log=lambda: self.run_log, sampler=lambda: self.sampler
        )
        self._backends: dict[str, Backend] = {}
        self._templates: dict[tuple[str, ...], tuple[Template, ...]] = {}
        self._show_progress = show_progress
        self._sampler: Sampler | None = None
        self._measuring: Measuring | None = None
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
            temporary=self._temporary,
        )
        try:
            for runtime in runtimes:
                runtime.check(sandbox)
        except SandboxError:
            sandbox.close()
            raise
        return sandbox

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

    @property
    def measuring(self) -> Measuring:
        """The part that measures variants and decides gates.

        Raises
        ------
        RuntimeError
            If the run was not started.
        """
        if self._measuring is None:
            raise RuntimeError("the run has not been started")
        return self._measuring

    def backend(self, spec: str) -> Backend:
        """Return the backend of a ``BACKEND:NAME``; it is created once and not started here."""
        if spec not in self._backends:
            self._backends[spec] = self._create_backend(spec)
        return self._backends[spec]

    @property
    def library(self) -> Library:
        """The library of emotions and personas, with the user's own entries."""
        return self._variant_maker.library

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
                runtime = runtime_of(
                    task.language or "python", task.reached_by(door), task.check_file
                )
                if runtime.guest != "python":
                    task.require_entry_point()
            except TaskError as error:
                raise TaskError(f"{suite_id}, task {task.id!r}: {error}") from None
            self._runtimes[runtime.key, runtime.folders] = runtime
        self._variant_maker.check(settings)
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
            planned_jobs += self._texts.expected_jobs(suite, planned)
        planned_jobs += self.with_age_limit(jobs)
        estimates = estimate_cost(planned_jobs, self.store, price=self.settings.price)
        bounded = {suite.model for suite, _ in selected if suite.in_rounds}
        bounded.update(self._variant_maker.models)
        return [estimate.line(at_most=estimate.model in bounded) for estimate in estimates]

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
        if shard is not None:
            self.run_log.add(shard.row)
            suites_with_gates = ()
        planned_all = tuple(selected)
        self._texts.select(planned_all)
        selected = [
            (suite, planned)
            for suite, planned in selected
            if not suite.in_rounds
            or suite.key not in suites_with_gates
            or suite.round_of(planned) == 0
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
                *(job for pair in selected for job in self._texts.next_jobs(*pair)),
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
            writers=self._variant_maker.models,
            retry_policy=RetryPolicy(attempts=self.settings.retries + 1),
        )
        self._measuring = Measuring(
            store=self.store,
            run_log=self.run_log,
            sampler=self._sampler,
            judge=CompletionJudge(self.store, lambda: self.sandbox),
            texts=self._texts,
            scores=lambda: self.scores,
            suites_with_gates=frozenset(suites_with_gates),
            shard_tasks=shard.own_tasks if shard is not None else {},
            show_progress=self._show_progress,
        )
        self.needed_descriptors |= open_descriptors()
        self._sampler.start()
        cached = self._sampler.progress().cached
        self.run_log.add(
            CachedRow(process=os.getpid(), cached=cached, oldest=oldest, batch_cost=batch_cost)
        )

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
        skipped = isinstance(error, NotStoredError)
        self.run_log.add(ErrorRow(where=where, message=str(error), skipped=skipped))

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
            emotions=self.library.emotions,
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
