"""One run: what is planned is asked, judged, written to the run log and decided upon."""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_promptse.run.deciding import decide
from pytest_promptse.run.judge import Judge
from pytest_promptse.run.plan import plan_suite
from pytest_promptse.run.rewording import Rewording
from pytest_promptse.run.rounds import Rounds
from pytest_promptse.run.rows import suite_row, wording_row
from pytest_promptse.sampling.budget import Budget
from pytest_promptse.sampling.cost_estimate import estimate_cost
from pytest_promptse.sampling.sampler import Sampler
from pytest_promptse.sandbox.isolation import open_sandbox
from pytest_promptse.scoring.sequential import may_stop
from pytest_promptse.store.run_log import (
    CachedRow,
    ErrorRow,
    GateRow,
    LookRow,
    RunLog,
    SuiteKey,
)
from pytest_promptse.store.store import Store
from pytest_promptse.tasks.template import load_templates

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.errors import NotScoredError
    from pytest_promptse.models.base import Backend, Usage
    from pytest_promptse.record.schema import InvocationRecord, Record
    from pytest_promptse.run.gates import Scores
    from pytest_promptse.run.judge import Check
    from pytest_promptse.run.plan import GateSpot, Suite, Wording
    from pytest_promptse.sandbox.pool import SandboxPool
    from pytest_promptse.scoring.gate import Gate
    from pytest_promptse.store.run_log import Progress
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.tasks.template import Template
    from pytest_promptse.variants.generate import Rewriter
    from pytest_promptse.variants.library import Emotion, Library


class Tally(NamedTuple):
    """How many of a wording's ``n`` samples pass."""

    passes: int
    n: int


Waiting: TypeAlias = (
    "Callable[[Callable[[], Progress]], AbstractContextManager[Callable[[], object]]]"
)


class Run:
    """The stations of one run, each opened when it is first needed.

    Parameters
    ----------
    settings
        Of the run as a whole; each suite brings its own on top.
    root
        Folder that relative paths in settings start from.
    id
        Name of the run, shared by all processes that take part in it.
    backend, rewriter
        What turns ``BACKEND:NAME`` into a backend and a rewriter's name into a rewriter.
    waiting
        Is told, by what tells progress, that something waits for completions, and gives what is
        called many times a second until they are there.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        root: Path,
        id: str,  # noqa: A002 - the field's name everywhere
        backend: Callable[[str], Backend],
        rewriter: Callable[[str, Library], Rewriter],
        waiting: Waiting,
    ) -> None:
        self.settings = settings
        self.root = root
        self.id = id
        self._make_backend = backend
        self._reword = Rewording(root, settings, rewriter)
        self._backends: dict[str, Backend] = {}
        self._templates: dict[tuple[str, ...], tuple[Template, ...]] = {}
        # By task and variant; the run log has the rest.
        self._measured: dict[SuiteKey, dict[tuple[str, str], Tally]] = defaultdict(dict)
        self._gated: Collection[SuiteKey] = ()
        self._waiting = waiting
        self._sampler: Sampler | None = None
        self.started = datetime.now(UTC)

    @cached_property
    def store(self) -> Store:
        return Store(self.root / self.settings.store)

    @cached_property
    def run_log(self) -> RunLog:
        return RunLog(self.store, self.id)

    @cached_property
    def scores(self) -> Scores:
        from pytest_promptse.run.gates import Scores  # noqa: PLC0415 - scipy takes its time

        return Scores(self.run_log)

    @cached_property
    def sandbox(self) -> SandboxPool:
        return open_sandbox(self.settings.sandbox)

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.store, lambda: self.sandbox)

    def backend(self, spec: str) -> Backend:
        """Return the backend for ``BACKEND:NAME``, made once and not yet started."""
        if spec not in self._backends:
            self._backends[spec] = self._make_backend(spec)
        return self._backends[spec]

    def plan(
        self, suite_id: str, tasks: Iterable[Task], settings: Settings, *, line: int | None = None
    ) -> list[Suite]:
        """Plan a suite, which begins in `line` of its file, for every model and template."""
        tasks = tuple(tasks)
        worded = {task.id: self._reword(task, settings) for task in tasks}
        templates: Sequence[Template | None] = self.templates(settings) or (None,)
        asked = {
            (task.id, template and template.name): self._reword.asked(
                task, settings, worded[task.id], template
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
                asked={task.id: asked[task.id, template and template.name] for task in tasks},
            )
            for model in self.settings.model
            for template in templates
        ]

    def templates(self, settings: Settings) -> tuple[Template, ...]:
        """Return the prompt templates that `settings` name, each read once."""
        if settings.template not in self._templates:
            self._templates[settings.template] = load_templates(settings.template, self.root)
        return self._templates[settings.template]

    def forecast(self, wanted: Sequence[tuple[Suite, Wording]]) -> list[str]:
        """Return in a line for each model what these wordings would ask for and cost."""
        jobs = [wording.job for _, wording in wanted]
        estimates = estimate_cost(jobs, self.store, price=self.settings.price)
        in_rounds = {suite.model for suite, _ in wanted if suite.in_rounds}
        return [each.line(at_most=each.model in in_rounds) for each in estimates]

    def start(
        self,
        wanted: Sequence[tuple[Suite, Wording]],
        *,
        alone: bool,
        gated: Collection[SuiteKey] = (),
    ) -> None:
        """Begin to sample: the whole plan is known, and is asked while items are judged.

        Of several processes of a run, that is if this one is not `alone`, one asks for all. The
        suites in `gated`, by model and id, have gates to decide; those of them that are drawn in
        rounds are asked for their first.
        """
        self._gated = frozenset(gated)
        wanted = [
            (suite, wording)
            for suite, wording in wanted
            if not self.is_adaptive(suite) or suite.round_of(wording) == 0
        ]
        self.sandbox  # noqa: B018 - a run that cannot judge must not ask
        if self._reword.usage.requests:
            self.store.add_usage(self.rewording_id, self._reword.usage)
        for suite in {id(suite): suite for suite, _ in wanted}.values():
            self.run_log.add(suite_row(suite))
        self._sampler = Sampler(
            self.store,
            [wording.job for _, wording in wanted],
            {model: partial(self.backend, model) for model in self.settings.model},
            run=self.id,
            concurrency=self.settings.concurrency,
            budget=Budget(
                max_requests=self.settings.max_requests,
                max_cost=self.settings.max_cost,
                price=self.settings.price,
            ),
            leader_lock=None if alone else self._leader_lock,
        )
        self._sampler.start()
        self.run_log.add(CachedRow(process=os.getpid(), cached=self._sampler.progress().cached))

    def is_adaptive(self, suite: Suite) -> bool:
        """Whether `suite` stops in this run once its gates are decided.

        Without any of its gates to decide, what was selected is measured.
        """
        return suite.in_rounds and suite.key in self._gated

    @cached_property
    def rounds(self) -> Rounds:
        return Rounds(self.run_log, self.sampler)

    @property
    def sampler(self) -> Sampler:
        assert self._sampler is not None, "the run has not been started"
        return self._sampler

    def measure(
        self, suite: Suite, wording: Wording, check: Check, *, node: Callable[[Wording], str | None]
    ) -> Tally:
        """Return how one wording fared, asking and judging what is not known yet.

        `node` says which pytest item measures a wording, to name it in reports.

        Raises
        ------
        NotScoredError
            If a completion cannot be had or the sandbox fails; the run log keeps the reason.
        """
        measured, name = self._measured[suite.key], wording.name
        if name not in measured:
            with self._waiting(self.sampler.progress) as tick:
                completions = self.sampler.wait(wording.job, tick=tick)
            judged = self.judge.judge(
                wording, completions, self.sampler.capabilities(suite.model), check
            )
            row = wording_row(
                suite,
                wording,
                judged,
                tokens=self.store.tokens(wording.job.key),
                node=node(wording),
            )
            self.run_log.add(row)
            measured[name] = Tally(row.passes, row.n)
        return measured[name]

    def needless(
        self,
        suite: Suite,
        wording: Wording,
        check: Check,
        *,
        node: Callable[[Wording], str | None],
    ) -> LookRow | None:
        """Return the look at which `suite` ended before `wording` was drawn, None if it did not.

        Measures what the looks before it need and is not known yet.
        """
        if not self.is_adaptive(suite):
            return None
        return self._end(suite, check, before=suite.round_of(wording), node=node)

    def not_scored(self, where: str, error: NotScoredError) -> None:
        """Keep in the run log that something could not be measured."""
        self.run_log.add(ErrorRow(where=where, message=str(error)))

    def decide(
        self, suite: Suite, spot: GateSpot, check: Check, *, node: Callable[[Wording], str | None]
    ) -> Gate:
        """Measure what a gate needs and is not known yet, then decide it."""
        if self.is_adaptive(suite):
            end = self._end(suite, check, before=len(suite.looks), node=node)
            assert end is not None, "a suite ends at its last look"
            needed = suite.drawn(end.look)
        else:
            needed = suite.needed(spot)
        self._gather(suite, needed, check, node=node)
        gate = self._gate(suite, spot)
        self.run_log.add(
            GateRow(
                place=suite.gates.index(spot),
                suite=suite.id,
                model=suite.model,
                template=suite.key.template,
                task=spot.task.id if spot.task else None,
                name=spot.name,
                threshold=gate.threshold,
                value=gate.value,
                verdict=gate.verdict,
                message=gate.message,
            )
        )
        return gate

    def _gather(
        self,
        suite: Suite,
        wordings: Sequence[Wording],
        check: Check,
        *,
        node: Callable[[Wording], str | None],
    ) -> None:
        """Measure what no process of the run has."""
        measured = self._measured[suite.key]
        unknown = []
        for wording in wordings:
            if wording.name in measured:
                continue
            row = self.run_log.wording(suite.key, *wording.name)
            if row is None:
                unknown.append(wording)
            else:
                measured[wording.name] = Tally(row.passes, row.n)
        self.sampler.request([wording.job for wording in unknown])
        for wording in unknown:
            self.measure(suite, wording, check, node=node)

    def _end(
        self,
        suite: Suite,
        check: Check,
        *,
        before: int,
        node: Callable[[Wording], str | None],
    ) -> LookRow | None:
        def decided(wordings: Sequence[Wording]) -> bool:
            self._gather(suite, wordings, check, node=node)
            together = self.scores.of(suite_row(suite))
            assert together is not None, "originals are drawn first"
            spots = [spot for spot in suite.gates if spot.threshold is not None]
            # Those of the whole suite, the last, are decided by one score, a task's by its own.
            gates = (self._gate(suite, spot) for spot in reversed(spots))
            return may_stop(gates, mode=together.mode)

        return self.rounds.end(suite, before=before, decided=decided)

    def _gate(self, suite: Suite, spot: GateSpot) -> Gate:
        row = suite_row(suite)
        found = self.scores.of_task(row, spot.task.id) if spot.task else self.scores.of(row)
        assert found is not None, "a gate needs the originals, and has measured them"
        return decide(spot, found, suite.settings)

    def record(self, invocation: InvocationRecord) -> Record:
        """Return what this run has found so far, whichever process measured it."""
        from pytest_promptse.run.recorded import record_of  # noqa: PLC0415 - as above

        return record_of(self, invocation)

    @property
    def emotions(self) -> Mapping[str, Emotion]:
        """The emotions that its wordings may have, by name."""
        return self._reword.library.emotions

    @property
    def rewording_usage(self) -> Usage:
        """What this process has paid for wordings."""
        return self._reword.usage

    @property
    def rewording_id(self) -> str:
        """Name under which the store books what wordings cost, apart from the run's own."""
        return f"{self.id}-rewording"

    def forget(self) -> None:
        """Drop this run's rows and lock from the store; completions and verdicts stay."""
        self.store.finish_run(self.id)
        self.store.finish_run(self.rewording_id)
        self._leader_lock.unlink(missing_ok=True)

    @property
    def _leader_lock(self) -> Path:
        return self.store.folder / f"run-{self.id}.lock"

    def close(self, *, grace: float = 0.0) -> None:
        """Give back the sampler's and the sandbox's processes and the store.

        What was asked for and is not answered yet has `grace` seconds to arrive.
        """
        self._reword.close()
        if self._sampler is not None:
            self._sampler.close(grace=grace)
        for name in ("sandbox", "store"):
            station = self.__dict__.pop(name, None)
            if station is not None:
                station.close()
