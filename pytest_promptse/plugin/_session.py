"""The session object, with all hooks for a session with ``promptse`` items."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import replace
from traceback import format_exception
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import pytest
from msgspec.structs import replace as replace_fields

from pytest_promptse.compare._baseline import Baselines
from pytest_promptse.errors import (
    ModelError,
    NoBaselineError,
    PromptseError,
    RecordError,
    SettingsError,
    StoreError,
)
from pytest_promptse.plugin._checks import (
    explain_comparison,
    folders_noted,
    refuse_soft_assertions,
)
from pytest_promptse.plugin._instrument_items import (
    InstrumentItem,
    instrument_records,
    log_suites,
)
from pytest_promptse.plugin._invocation import (
    REFUSAL,
    given_settings,
    invocation,
    run_id,
)
from pytest_promptse.plugin._items import run_function
from pytest_promptse.plugin._progress import TerminalProgress, WorkerProgress
from pytest_promptse.plugin._pytest_private import note_patches, temporary_roots
from pytest_promptse.plugin._results import annotate, notes_in, seconds_waited, why_unmeasured
from pytest_promptse.plugin._targets import TARGET, needed_by, unselected
from pytest_promptse.plugin._termination import handle_signals
from pytest_promptse.record._files import LAST_RUN, baseline_command
from pytest_promptse.record._files import write as write_record
from pytest_promptse.record._instruments import with_baseline
from pytest_promptse.record._verdicts import remedy
from pytest_promptse.reports.terminal._summary import render
from pytest_promptse.run._extensions import Extensions, model_options
from pytest_promptse.run._plan import PlannedComparison
from pytest_promptse.run._run import PromptseRun
from pytest_promptse.run._shards import plan_shard
from pytest_promptse.sandbox._checker import open_descriptors
from pytest_promptse.sandbox._surroundings import note_environment, note_patch
from pytest_promptse.sandbox.guest import landlock
from pytest_promptse.store._run_log import PlannedGate

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from pytest_promptse.models._base import Backend
    from pytest_promptse.plugin._targets import ItemTarget
    from pytest_promptse.record._schema import Record
    from pytest_promptse.run._plan import PlannedVariant, Suite
    from pytest_promptse.run._shards import ShardPlan
    from pytest_promptse.sampling._job import Job
    from pytest_promptse.store._run_log import Progress, SuiteKey
    from pytest_promptse.variants._generate import Rewriter
    from pytest_promptse.variants._library import Library

NAME = "promptse-session"
"""The name under which the session object is registered with the plugin manager."""

_GRACE_SECONDS = 5.0
_WORKER_GRACE_SECONDS = 30.0
_LEAST_WAIT_SECONDS = 0.01


def promptse_session(config: pytest.Config) -> PromptseSession:
    """Return the session object. The first call creates and registers it.

    Raises
    ------
    SettingsError
        If a setting cannot be used.
    """
    registered = config.pluginmanager.get_plugin(NAME)
    if isinstance(registered, PromptseSession):
        return registered
    session = PromptseSession(config)
    config.pluginmanager.register(session, NAME)
    config.pluginmanager.register(session.repeated_errors, f"{NAME}-errors")
    return session


class PromptseSession:
    """One pytest session with ``promptse`` items: starts the run, reports it and closes it.

    Parameters
    ----------
    config
        The configuration of the session.

    Attributes
    ----------
    given
        The settings of the session.
    run
        The run of this session.
    jobs
        The samples that the selected items need, set after collection.
    repeated_errors
        Shortens pytest's section of errors.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.given = given_settings(config)
        self.repeated_errors = RepeatedErrors()
        self._config = config
        self._extensions = Extensions(config.hook)
        self._is_worker = hasattr(config, "workerinput")
        self._suites_with_own_id: dict[tuple[int, str], Suite] = {}
        self._headlines: list[str] = []
        self._refusal: str | None = None
        # An xdist controller, by -n or by --tx, starts no run but reports that of its workers.
        self._reports = bool(config.getoption("tx", None)) and not self._is_worker
        self.jobs: list[Job] = []
        self._shard: ShardPlan | None = None
        self._record: Record | None = None
        self._problems: list[str] = []
        self._notices: list[str] = []
        self._failures: list[str] = []
        self._baselines = Baselines(config.rootpath, here=config.invocation_params.dir)
        settings = self.given.settings
        self.run = PromptseRun(
            settings,
            root=config.rootpath,
            id=run_id(config),
            create_backend=self._create_backend,
            create_rewriter=self._create_rewriter,
            show_progress=self._waiting,
            temporary=temporary_roots(config),
        )
        self._progress = (
            WorkerProgress(lambda: self.run.run_log)
            if self._is_worker
            else TerminalProgress(config, price=settings.price)
        )
        # Seconds that the present phase of an item has waited for completions.
        self._waited = 0.0
        # The item that pytest-timeout watches, and its timeout.
        self._timeout: tuple[pytest.Item, Any] | None = None

    # -- used by collection ---------------------------------------------------------------------

    @property
    def has_models(self) -> bool:
        """True if there is a model to plan for.

        A model that cannot be opened counts as none here. It ends the session after collection.
        """
        try:
            for spec in self.run.settings.model:
                self.run.backend(spec).identity  # noqa: B018 - reads the model's files
        except (ModelError, SettingsError) as error:
            self._refusal = str(error)
            return False
        return bool(self.run.settings.model)

    def suite_with_id(self, suite: Suite, suite_id: str) -> Suite:
        """Return `suite` with another id.

        Every call with equal arguments returns the same object.
        """
        key = (id(suite), suite_id)
        if key not in self._suites_with_own_id:
            self._suites_with_own_id[key] = replace(suite, id=suite_id)
        return self._suites_with_own_id[key]

    @property
    def shard(self) -> ShardPlan | None:
        """The plan of the shard that this session runs, or None without shards."""
        return self._shard

    # -- hooks ----------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect the items of other shards."""
        shard = self.run.settings.shard
        if shard is None or self._refusal is not None:
            return
        targets = {item: item.stash.get(TARGET, None) for item in items}
        planned = [target for target in targets.values() if target is not None]
        gates = [(t.suite, t.subject) for t in planned if isinstance(t.subject, PlannedGate)]
        self._shard = plan_shard(shard, needed_by(planned), gates)
        others = {item for item, target in targets.items() if not self._is_own(item, target)}
        if others:
            self._config.hook.pytest_deselected(items=[i for i in items if i in others])
            items[:] = [item for item in items if item not in others]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Start to sample the prompts of the selected items."""
        note_environment()
        note_patches(note_patch)
        if self._refusal is not None:
            self._refuse(self._refusal)
        settings = self.run.settings
        if settings.require_model and not settings.model:
            self._refuse(
                "promptse_require_model: these tests need a model and none is given; add "
                "--promptse-model or promptse_model in the ini file"
            )
        if self._config.option.collectonly:
            return
        targets = [
            target for item in session.items if (target := item.stash.get(TARGET, None)) is not None
        ]
        selected = [
            (suite, planned)
            for suite, planned in needed_by(targets)
            if self._shard is None or self._shard.measures(suite.id, planned.task.id)
        ]
        measured = [
            item
            for item in session.items
            if isinstance(item, InstrumentItem) and item.suite is not None
        ]
        if not selected and not measured and self._shard is None:
            return
        suites_with_gates = {
            target.suite.key for target in targets if isinstance(target.subject, PlannedGate)
        }
        if settings.save is not None and not settings.save_incomplete:
            left_out, planned_all = unselected(targets)
            if left_out:
                self._refuse(
                    f"{self.given.place_of('save')} {settings.save}: {left_out} of {planned_all} "
                    "variants are not selected, and a baseline has all of a suite; take out -k, "
                    "--lf and node ids, or give --promptse-save-incomplete"
                )
        not_compared = self._not_compared(targets)
        try:
            self.run.make_variants(selected)
            self.jobs = [planned.job for _, planned in selected]
            self.jobs += self.run.with_age_limit(job for item in measured for job in item.jobs)
            self._start(selected, suites_with_gates, measured)
            self._headlines += not_compared
        except PromptseError as error:
            trace = format_exception(error) if self._config.option.fulltrace else []
            self._refuse("\n".join([str(error), *trace]))

    def pytest_report_collectionfinish(self) -> list[str]:
        return self._headlines

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run no test in a dry run."""
        return True if self.run.settings.dry_run and not session.testsfailed else None

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Note the descriptors that a fixture opens. The check in its own process needs them.

        A fixture of soft assertions is refused, which a test may take by ``getfixturevalue``.
        """
        if TARGET in request.node.stash:
            refuse_soft_assertions(fixturedef, request.node.nodeid)
        before = open_descriptors()
        with folders_noted(request):
            value = yield
        self.run.needed_descriptors |= open_descriptors() - before
        return value

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        return run_function(pyfuncitem, self.run)

    @pytest.hookimpl(tryfirst=True)
    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        return explain_comparison(op, left, right)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        error = why_unmeasured(item, call)
        try:
            if error is not None:
                self.run.log_error(item.nodeid, error)
        except StoreError as unusable:
            item.session.shouldstop = str(unusable)
        if call.excinfo is not None and isinstance(call.excinfo.value, StoreError):
            item.session.shouldstop = str(call.excinfo.value)
        annotate(item, call, report)
        if self._waited >= _LEAST_WAIT_SECONDS:
            # The item that runs first waits for the model longest. Its own time is the rest.
            report.duration = max(0.0, report.duration - self._waited)
            wait = ("promptse_wait_seconds", round(self._waited, 3))
            # JUnit files take the properties of the last phase.
            item.user_properties.append(wait)
            report.user_properties.append(wait)
            report.promptse_waited = self._waited  # type: ignore[attr-defined]
        self._waited = 0.0
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, with the comparison, and save the baseline."""
        if not self._is_worker or session.exitstatus == pytest.ExitCode.INTERRUPTED:
            # No further item needs a completion. Responses to open requests may still arrive while
            # the reports are written.
            self.run.stop_sampling(grace=_GRACE_SECONDS)
        if not self._reports:
            return
        complete = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        try:
            self._finish(interrupted=session.exitstatus not in complete)
        except StoreError as error:
            self._problems.append(str(error))
        if self._shard is not None and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
        if self._failures and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        hidden = self.repeated_errors.hidden
        if hidden:
            terminalreporter.write_line(
                f"promptse: {hidden} more {'item has' if hidden == 1 else 'items have'} the same "
                "errors",
                red=True,
            )
        if self._record is not None:
            self._summarise(self._record, terminalreporter)
        else:
            # The store may be unusable before there is a record.
            self._show_problems(terminalreporter)
        waited = seconds_waited(terminalreporter.stats)
        if waited and self._config.option.durations is not None:
            terminalreporter.write_line(
                f"promptse: tests waited {waited:.1f} s for completions, besides their durations"
            )

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> None:
        """Store the timeout of an item. pytest-timeout starts the timer afterwards.

        `settings` are those of pytest-timeout.
        """
        self._timeout = (item, settings)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_cancel_timer(self) -> None:
        self._timeout = None

    def pytest_unconfigure(self) -> None:
        # A worker whose items are done may still sample for the other workers.
        self.run.close(grace=_WORKER_GRACE_SECONDS if self._is_worker else 0.0)

    # -- waiting for completions ----------------------------------------------------------------

    @contextmanager
    def _waiting(self, progress: Callable[[], Progress]) -> Iterator[Callable[[], object]]:
        """Show progress. The wait counts neither for pytest-timeout nor as the item's time."""
        timeout, hook = self._timeout, self._config.hook
        if timeout is not None:
            hook.pytest_timeout_cancel_timer(item=timeout[0])
        began = time.perf_counter()
        try:
            with self._progress(progress) as tick:
                yield tick
        finally:
            self._waited += time.perf_counter() - began
            if timeout is not None:
                item, settings = timeout
                hook.pytest_timeout_set_timer(item=item, settings=settings)

    # -- start ----------------------------------------------------------------------------------

    def _is_own(self, item: pytest.Item, target: ItemTarget | None) -> bool:
        """Return whether this shard runs an item. The first shard runs those of instruments.

        `target` is None for items without a suite. Without shards the result is True.
        """
        if self._shard is None:
            return True
        if target is None:
            return self._shard.row.index == 1 or not isinstance(item, InstrumentItem)
        task = target.task
        return self._shard.measures(target.suite.id, None if task is None else task.id)

    def _create_backend(self, spec: str) -> Backend:
        return self._extensions.backend(spec, model_options(self.run.settings))

    def _create_rewriter(self, spec: str, library: Library) -> Rewriter:
        return self._extensions.rewriter(spec, library=library, backend=self.run.backend)

    def _start(
        self,
        selected: list[tuple[Suite, PlannedVariant]],
        suites_with_gates: set[SuiteKey],
        measured: list[InstrumentItem],
    ) -> None:
        run = self.run
        jobs = list({job.key: job for item in measured for job in item.jobs}.values())
        if run.settings.dry_run:
            from pytest_promptse.run._outlook import outlooks  # noqa: PLC0415 - scipy

            lines = run.estimate(selected, jobs)
            suites = list({suite.key: suite for suite, _ in selected}.values())
            self._headlines = [f"promptse: plan for {line}" for line in (*lines, *outlooks(suites))]
            return
        log_suites(run, measured)
        run.start(
            selected,
            only_process=not self._is_worker,
            suites_with_gates=suites_with_gates,
            shard=self._shard,
            jobs=jobs,
            models={model for item in measured for model in item.models},
        )
        models = ", ".join(run.settings.model)
        sandbox = f"; sandbox {run.sandbox.description}" if selected else ""
        if selected and not landlock.version():
            sandbox += "; this kernel has no Landlock, so checks can write files anywhere"
        self._headlines = [f"promptse: {models}{sandbox}"]
        if self._shard is not None:
            n_own = sum(map(len, self._shard.own_tasks.values()))
            self._headlines.append(
                f"promptse: shard {run.settings.shard} with {n_own} of {self._shard.n_tasks} "
                "tasks; promptse merge decides the gates"
            )
        self._headlines += run.store.warnings
        self._reports = not self._is_worker
        handle_signals(self._config)

    def _not_compared(self, targets: Sequence[ItemTarget]) -> list[str]:
        """Return a line that names the suites which the baseline does not have, or nothing.

        They are measured nonetheless: their record is the next baseline.
        """
        compared = {t.suite.key for t in targets if isinstance(t.subject, PlannedComparison)}
        if not compared:
            return []
        from pytest_promptse.record._comparison import without_counterpart  # noqa: PLC0415 - scipy

        settings, name = self.run.settings, str(self.run.settings.compare)
        try:
            alone = without_counterpart(list(compared), self._baselines.load(name))
        except NoBaselineError:
            # The check of the settings has allowed this.
            return []
        if not alone:
            return []
        suites = ", ".join(sorted(f"{suite.id} ({suite.model})" for suite in alone))
        fails = settings.compare_missing == "fail"
        line = (
            f"promptse: the baseline {name!r} does not have {suites}; the comparison "
            f"{'fails' if fails else 'leaves this out'}. Renew it with: {baseline_command(name)}"
        )
        return [line]

    def _refuse(self, reason: str) -> NoReturn:
        if self._is_worker:
            self._config.workeroutput[REFUSAL] = reason  # type: ignore[attr-defined]
        raise pytest.UsageError(reason) from None

    # -- end ------------------------------------------------------------------------------------

    def _finish(self, *, interrupted: bool) -> None:
        record = self.run.record(invocation(self._config))
        record = replace_fields(record, instruments=instrument_records(self.run, self._config))
        # A shard without a task writes its record too, so that the merge is complete.
        is_shard = record.shard is not msgspec.UNSET
        if not record.suites and not record.instruments and not is_shard:
            return
        self._record = compared = self._compared(record)
        try:
            # `promptse show` reads this file.
            write_record(compared, self.run.store.folder / LAST_RUN)
        except RecordError as error:
            self._problems.append(str(error))
        # A baseline does not contain the comparison of its own run.
        self._save(record, interrupted=interrupted)
        # The writer of another package may raise anything, and the record is saved before it does.
        for report in self.run.settings.report:
            try:
                self._extensions.write_report(
                    compared, report, folder=self._config.invocation_params.dir
                )
            except PromptseError as error:
                self._problems.append(str(error))
        self.run.forget()

    def _compared(self, record: Record) -> Record:
        settings = self.run.settings
        if settings.compare is None:
            return record
        from pytest_promptse.record._comparison import compare_records  # noqa: PLC0415 - scipy

        try:
            baseline = self._baselines.load(settings.compare)
        except RecordError as error:
            # The comparison items have failed already, unless a missing baseline is allowed.
            self._notices.append(str(error))
            return record
        comparisons = compare_records(
            record, baseline, name=settings.compare, margins=settings.compare_fail
        )
        instruments = with_baseline(record.instruments, baseline.instruments, name=settings.compare)
        return replace_fields(record, comparisons=comparisons, instruments=instruments)

    def _save(self, record: Record, *, interrupted: bool) -> None:
        name = self.run.settings.save
        if name is None:
            return
        if interrupted:
            self._notices.append(f"not saved as baseline {name!r}: the run was interrupted")
            return
        missing = sum(suite.n_missing for suite in record.suites)
        planned = sum(suite.n_variants for suite in record.suites)
        if missing and not self.run.settings.save_incomplete:
            self._failures.append(
                f"not saved as baseline {name!r}: {missing} of {planned} variants were not "
                "measured; run all tests again, or give --promptse-save-incomplete"
            )
            return
        from pytest_promptse.compare._history import append as append_to_history  # noqa: PLC0415 - only here

        try:
            path = self._baselines.save(name, record)
            append_to_history(name, record, self._config.rootpath)
        except RecordError as error:
            self._failures.append(str(error))
            return
        shown = os.path.relpath(path, self._config.invocation_params.dir)
        notice = f"saved as baseline {name!r} in {shown}"
        if missing:
            notice += f", without {missing} of {planned} variants, which were not measured"
        self._notices += [notice, f"see the course of its figures with: promptse history {name}"]
        # The summary has the command already if a suite fails.
        if not remedy(record) and (command := remedy(record, of_losses=True)):
            self._notices.append(f"look for a prompt that loses less with: {' '.join(command)}")

    # -- summary --------------------------------------------------------------------------------

    def _summarise(self, record: Record, terminal: Any) -> None:
        writer = self._config.get_terminal_writer()
        terminal.section("promptse")
        text = render(
            record,
            width=writer.fullwidth,
            colours=writer.hasmarkup,
            verbosity=self._config.option.verbose,
        )
        terminal.write_line(text)
        if record.environment.get("sandbox") == "none":
            terminal.write_line(f"sandbox {self.run.sandbox.description}", yellow=True)
        self._show_problems(terminal)
        self._summarise_comparison(record, terminal)

    def _show_problems(self, terminal: Any) -> None:
        for problem in self._problems:
            terminal.write_line(problem, red=True)

    def _summarise_comparison(self, record: Record, terminal: Any) -> None:
        if record.comparisons:
            from pytest_promptse.reports.terminal._comparison import (  # noqa: PLC0415 - only here
                render_comparisons,
            )

            about = record.comparisons[0].baseline
            writer = self._config.get_terminal_writer()
            terminal.section(f"promptse: compared with {about.name}")
            text = render_comparisons(
                record,
                width=writer.fullwidth,
                colours=writer.hasmarkup,
                verbosity=self._config.option.verbose,
            )
            terminal.write_line(text)
        _write_lines(terminal, self._notices, yellow=True)
        _write_lines(terminal, notes_in(terminal.stats), yellow=True)
        _write_lines(terminal, self._failures, red=True)


class RepeatedErrors:
    """Show each reason why items were not scored only once in pytest's summaries.

    Attributes
    ----------
    hidden
        The number of hidden reports. pytest counts them nonetheless.
    """

    def __init__(self) -> None:
        self.hidden = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        """Hide repeated errors while pytest prints its sections and the short summary."""
        every = terminalreporter.stats.get("error")
        if every is None:
            return (yield)
        seen: set[str] = set()
        shown = [
            report
            for report in every
            if _is_first(getattr(report, "promptse_not_scored", None), seen)
        ]
        self.hidden = len(every) - len(shown)
        terminalreporter.stats["error"] = shown
        try:
            return (yield)
        finally:
            terminalreporter.stats["error"] = every


def _is_first(reason: str | None, seen: set[str]) -> bool:
    if reason is None:
        return True
    first = reason not in seen
    seen.add(reason)
    return first


def _write_lines(terminal: Any, lines: Sequence[str], **markup: bool) -> None:
    for line in lines:
        terminal.write_line(f"promptse: {line}", **markup)
