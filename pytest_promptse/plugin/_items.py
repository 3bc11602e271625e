"""Pytest items: their variants and gates, and the outcome of each."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest

from pytest_promptse.errors import NotScoredError, NotStoredError, StoreError, TaskError
from pytest_promptse.plugin._baseline_items import ComparisonResult, compare_suite
from pytest_promptse.plugin._check_digest import source_digest
from pytest_promptse.plugin._checks import (
    TASK,
    CandidateProxy,
    FunctionCheck,
    ProgramProxy,
    check_process,
    door_of,
    run_body,
)
from pytest_promptse.plugin._invocation import invocation
from pytest_promptse.plugin._pytest_private import fixture_definitions
from pytest_promptse.run._judge import Check, CheckError, CheckProcess, CheckResult
from pytest_promptse.run._plan import PlannedComparison, PlannedVariant
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.store._run_log import PlannedGate
from pytest_promptse.variants._variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.record._outcomes import Inconclusive, Outcome
    from pytest_promptse.run._plan import Suite
    from pytest_promptse.run._run import PassCount, PromptseRun
    from pytest_promptse.runtimes._runtime import Door
    from pytest_promptse.sandbox._candidate import Candidate
    from pytest_promptse.scoring._scores import Gate
    from pytest_promptse.tasks._task import Task

RESULT_WORD: pytest.StashKey[str] = pytest.StashKey()
# Key of an item's remarks for the summary. As warnings, "filterwarnings = error" would turn them
# into failures.
_NOTES: pytest.StashKey[list[str]] = pytest.StashKey()
# Key of the reason why the item could not be scored.
_NOT_SCORED: pytest.StashKey[str] = pytest.StashKey()
_DETAILS: pytest.StashKey[str] = pytest.StashKey()
# Part of the key of every verdict. Increase it when the judging changes.
_JUDGING = "judging/4"
_LINE_CHARS = 300


Subject: TypeAlias = PlannedVariant | PlannedGate | PlannedComparison
"""The variant that an item measures, or the gate or comparison that it decides."""


class IdParts(NamedTuple):
    """The optional parts of an item's id before the name of its variant or gate.

    A field is True if the part is needed to tell items apart.
    """

    model: bool
    template: bool
    task: bool

    @classmethod
    def needed_for(cls, suites: Sequence[Suite], *, task: bool) -> IdParts:
        """Return the parts that distinguish the items of `suites`.

        Parameters
        ----------
        suites
            The suites of one test function or suite file.
        task
            True if the name of the task is a part of the id.
        """
        keys = [suite.key for suite in suites]
        return cls(
            model=len({key.model for key in keys}) > 1,
            template=len({key.template for key in keys}) > 1,
            task=task,
        )

    def id_of(self, suite: Suite, subject: Subject) -> str:
        """Return the id of the item of a variant, gate or comparison of `suite`.

        The parts are joined by ``-``.
        """
        if isinstance(subject, PlannedVariant):
            task, name = (subject.task.id if self.task else None), subject.outline.id
        else:
            # The gate of a task has the task's name, even if other ids do not need it.
            task, name = subject.task, subject.name
        parts = (
            suite.key.model if self.model else None,
            suite.key.template if self.template else None,
            task,
            name,
        )
        return "-".join(part for part in parts if part is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemTarget:
    """The variant or gate of a pytest item.

    Attributes
    ----------
    id
        The part of the item's name in brackets.
    suite
        The suite of the variant or gate.
    id_parts
        The optional parts of the ids in the suite.
    subject
        The variant that the item measures, or the gate or comparison that it decides.
    """

    id: str
    suite: Suite
    id_parts: IdParts
    subject: Subject

    @property
    def task(self) -> Task | None:
        """The task of the variant or gate, or None for a gate of the whole suite."""
        if isinstance(self.subject, PlannedVariant):
            return self.subject.task
        ids = {task.id: task for task in self.suite.tasks}
        return None if self.subject.task is None else ids[self.subject.task]

    def needed(self) -> tuple[PlannedVariant, ...]:
        """Return the variants that must be measured for this item."""
        if isinstance(self.subject, PlannedVariant):
            return (self.subject,)
        return self.suite.needed_by(self.subject)


TARGET: pytest.StashKey[ItemTarget] = pytest.StashKey()
"""Key of the target in an item's stash."""


def targets_of(suite: Suite, id_parts: IdParts) -> Iterator[ItemTarget]:
    """Yield a target for each variant and control, then for each gate and the comparison.

    `id_parts` defines the ids of the targets.
    """
    comparison = suite.comparison
    subjects: list[Subject] = [*suite.variants, *suite.controls, *suite.gates]
    if comparison is not None:
        subjects.append(comparison)
    for subject in subjects:
        own = id_parts.id_of(suite, subject)
        yield ItemTarget(id=own, suite=suite, id_parts=id_parts, subject=subject)


def task_of(item: pytest.Item) -> Task:
    """Return the task of the program that `item` judges at present.

    Raises
    ------
    TaskError
        If the item has no ``promptse`` mark.
    """
    if TASK in item.stash:
        return item.stash[TASK]
    target = item.stash.get(TARGET, None)
    if target is None:
        raise TaskError(
            f"{item.nodeid}: takes 'task' but has no promptse mark; "
            "add @pytest.mark.promptse('the prompt')"
        )
    return target.task or target.suite.tasks[0]


def run_function(item: pytest.Function, run: PromptseRun) -> bool | None:
    """Run a marked test function on the programs of its target.

    Parameters
    ----------
    item
        Any test function.
    run
        The run of the session.

    Returns
    -------
    None if the function has no target, so that pytest calls it as usual; otherwise True.

    Raises
    ------
    pytest.fail.Exception
        If a gate, a comparison or a minimum pass rate fails. Also if the target could not be
        measured; the report then counts the item as an error.
    NotScoredError
        Instead of that, if the target could not be measured, with ``--full-trace``.
    """
    target = item.stash.get(TARGET, None)
    if target is None:
        return None
    modules = {item.obj.__module__} | {
        own[-1].func.__module__ for own in fixture_definitions(item).values()
    }
    sources = source_digest(modules, item.config.rootpath)
    own_key = (item.originalname, target.suite.id.partition("::")[2], sources)
    body = FunctionCheck(item, task_of(item))
    process = check_process(item, run, body.prepare, body.restore)
    door = door_of(item.fixturenames)
    _run(item, run, target, _check(run, target, own_key, body, process, door=door))
    return True


def run_suite_file_item(item: pytest.Item, run: PromptseRun) -> None:
    """Run an item of a suite file, whose tasks have their own checks.

    Parameters
    ----------
    item
        An item with a target.
    run
        The run of the session.

    Raises
    ------
    pytest.fail.Exception
        If a gate, a comparison or a minimum pass rate fails. Also if the target could not be
        measured; the report then counts the item as an error.
    NotScoredError
        Instead of that, if the target could not be measured, with ``--full-trace``.
    """

    def body(candidate: Candidate, task: Task) -> CheckResult:
        proxy = ProgramProxy() if task.door == "program" else CandidateProxy()
        return run_body(lambda: task.check(proxy), candidate, proxy, str(item.path))

    target = item.stash[TARGET]
    process = check_process(item, run, lambda task: task.may_change_modules)
    _run(item, run, target, _check(run, target, ("suite file",), body, process))


def _check(
    run: PromptseRun,
    target: ItemTarget,
    own_key: tuple[str, ...],
    body: Callable[[Candidate, Task], CheckResult],
    process: CheckProcess,
    *,
    door: Door | None = None,
) -> Check:
    settings: Settings = target.suite.settings
    limits = Limits(wall=settings.timeout, cpu=settings.timeout, memory=settings.memory)
    parts = (
        _JUDGING,
        platform.python_version(),
        run.sandbox.isolation_level,
        repr(settings.timeout),
        repr(settings.memory),
        *own_key,
    )
    key = text_hash("\x1f".join(parts))
    return Check(key=key, run=body, limits=limits, process=process, door=door)


def _node_of(item: pytest.Item, target: ItemTarget, planned: PlannedVariant) -> str | None:
    """Return the node id of the item that measures `planned`, a variant of the same suite.

    `item` is the item of `target`. The result is None if the id cannot be derived from that of
    `item`.
    """
    own = target.id_parts.id_of(target.suite, planned)
    if not isinstance(item, pytest.Function):
        return f"{target.suite.id}::{planned.task.id}[{own}]"
    begin = f"{item.originalname}[{target.id}"
    # pytest escapes non-ASCII characters in an id. The part of the id from this plugin is then
    # unknown.
    if not (item.name.startswith(begin) and own.isascii()):
        return None
    before = item.nodeid.removesuffix(item.name)
    return f"{before}{item.originalname}[{own}{item.name.removeprefix(begin)}"


def _run(item: pytest.Item, run: PromptseRun, target: ItemTarget, check: Check) -> None:
    node_of = partial(_node_of, item, target)
    kept: tuple[pytest.StashKey[Any], ...] = (RESULT_WORD, _NOT_SCORED, _NOTES, _DETAILS)
    for key in kept:
        # An item that is rerun has those of its last attempt.
        if key in item.stash:
            del item.stash[key]
    try:
        if isinstance(target.subject, PlannedGate) and run.settings.shard is not None:
            run.measure_share(target.suite, target.subject, check, node_of=node_of)
            pytest.skip(f"open in shard {run.settings.shard}; promptse merge decides it")
        elif isinstance(target.subject, PlannedGate):
            gate = run.decide(target.suite, target.subject, check, node_of=node_of)
        elif isinstance(target.subject, PlannedComparison):
            run.measure_for(target.suite, target.subject, check, node_of=node_of)
            result = _compare(item, run, target.suite)
            item.stash[RESULT_WORD] = f"PASSED ({result.word})"
            _end(result.outcome)
            return
        else:
            _measure(item, run, target, target.subject, check)
            return
    except NotStoredError as error:
        run.log_error(item.nodeid, error)
        pytest.skip(str(error))
    except NotScoredError as error:
        run.log_error(item.nodeid, error)
        if item.config.option.fulltrace:
            raise
        item.stash[_NOT_SCORED] = str(error)
    if _NOT_SCORED in item.stash:
        # Formatting a traceback takes long, and a run out of budget has hundreds of such items.
        # Outside of the handler, so that pytest does not show the message twice.
        pytest.fail(item.stash[_NOT_SCORED], pytrace=False)
    report_gate(item, gate, target.suite.settings.inconclusive)


def _measure(
    item: pytest.Item,
    run: PromptseRun,
    target: ItemTarget,
    planned: PlannedVariant,
    check: Check,
) -> None:
    node_of = partial(_node_of, item, target)
    end = run.end_before(target.suite, planned, check, node_of=node_of)
    if end is not None:
        reason = f"not needed: decided after {end.completions} of {end.most} completions"
        raise pytest.skip.Exception(reason, _use_item_location=True)
    count = run.measure(target.suite, planned, check, node_of=node_of)
    rate = count.passes / count.n
    item.user_properties.append(("promptse_pass_rate", rate))
    # The minimum pass rate does not apply to control variants.
    floor = None if planned.control else target.suite.settings.min_pass_rate
    # Without a minimum pass rate, a variant passes even if all its programs have failed.
    verb = "MEASURED" if floor is None else "PASSED"
    item.stash[RESULT_WORD] = f"{verb} ({count.passes}/{count.n})"
    if floor is None:
        return
    gate = _pass_rate_gate(target.suite, count, floor)
    outcome = _outcome_of(gate, target.suite.settings.inconclusive)
    if outcome.kind == "failed":
        item.stash[_DETAILS] = _details(item, run, target, planned)
    if outcome.is_open:
        item.stash[RESULT_WORD] = f"INCONCLUSIVE ({count.passes}/{count.n})"
    _end(outcome)


def _pass_rate_gate(suite: Suite, count: PassCount, floor: float) -> Gate:
    from pytest_promptse.scoring._gate import judge_pass_rate  # noqa: PLC0415 - scipy takes its time

    return judge_pass_rate(
        count.passes,
        count.n,
        floor,
        kind=suite.settings.gate,
        comparisons=len(suite.variants),
    )


def _details(
    item: pytest.Item, run: PromptseRun, target: ItemTarget, planned: PlannedVariant
) -> str:
    """Return the section of a failed variant in the report: changes, a failure and its command.

    `target` is the target of `item`.
    """
    from pytest_promptse.reports.terminal._details import render_variant  # noqa: PLC0415 - rich

    own = (one for one in target.suite.variants if one.task is planned.task)
    original = next(one for one in own if one.outline.distance == 0.0)
    prompt, texts = run.measured_prompt(target.suite, planned)
    writer = item.config.get_terminal_writer()
    return render_variant(
        original.variant.text,
        prompt,
        texts=texts,
        invocation=invocation(item.config),
        width=writer.fullwidth,
        colours=writer.hasmarkup,
        most=1,
    )


def _compare(item: pytest.Item, run: PromptseRun, suite: Suite) -> ComparisonResult:
    """Compare a measured suite with the baseline.

    Raises
    ------
    NotScoredError
        If a margin is on stability and the model solves nothing, so that it has no AUC-E.
    """
    result = compare_suite(item.config, run, suite)
    margins = {margin.metric for margin in run.settings.compare_fail}
    if not result.has_worsened and margins - {"pass_at_1"}:
        reason = run.why_nothing_is_solved(suite)
        if reason is not None:
            raise NotScoredError(reason)
    return result


def _outcome_of(gate: Gate, inconclusive: Inconclusive) -> Outcome:
    from pytest_promptse.record._outcomes import gate_outcome  # noqa: PLC0415 - scipy takes its time

    return gate_outcome(gate, inconclusive)


def _end(outcome: Outcome) -> None:
    """Fail or skip the item of an outcome, or let it pass."""
    if outcome.kind == "failed":
        pytest.fail(
            outcome.reason if outcome.is_open else "\n".join(outcome.reasons), pytrace=False
        )
    if outcome.kind == "skipped":
        pytest.skip(outcome.reason)


def report_gate(item: pytest.Item, gate: Gate, inconclusive: Inconclusive) -> None:
    """Show the figure of `gate`, and fail or skip `item` if the gate has that outcome.

    `inconclusive` is the setting for an inconclusive gate, which always adds a note.
    """
    outcome = _outcome_of(gate, inconclusive)
    verb = "MEASURED" if gate.threshold is None else "PASSED"
    item.stash[RESULT_WORD] = f"{'INCONCLUSIVE' if outcome.is_open else verb} ({gate.message})"
    item.user_properties.extend(_properties(gate))
    item.stash[_NOTES] = list(gate.warnings)
    if outcome.is_open and outcome.kind != "failed":
        item.stash[_NOTES].append(outcome.reason)
    _end(outcome)


def _properties(gate: Gate) -> Iterator[tuple[str, float]]:
    """Yield the figures of a gate that JUnit files show in addition to its verdict."""
    low, high = gate.ci95 or (None, None)
    figures = {
        gate.name: gate.value,
        "ci95_low": low,
        "ci95_high": high,
        "excess": gate.excess,
    }
    for name, value in figures.items():
        if value is not None:
            yield f"promptse_{name}", value


def why_unmeasured(item: pytest.Item, call: pytest.CallInfo[None]) -> NotScoredError | None:
    """Return why an item's fixtures or check kept it from being measured, or None.

    An error of the model or the sandbox is logged where it occurs, and None is returned for it.
    """
    if TARGET not in item.stash or call.excinfo is None or call.when == "teardown":
        return None
    if RESULT_WORD in item.stash or _NOT_SCORED in item.stash:
        return None
    error = call.excinfo.value
    if isinstance(error, NotScoredError | StoreError | pytest.skip.Exception):
        return None
    if isinstance(error, CheckError):
        text = error.line
    else:
        text = str(error) if isinstance(error, TaskError) else f"{type(error).__name__}: {error}"
    return NotScoredError(f"the check is broken: {text.strip().splitlines()[0][:_LINE_CHARS]}")


def annotate(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Add this plugin's data to the report of an item with a target.

    The report gets the pass rate or the gate's figure. An item that could not be scored becomes
    an error instead of a failure, with its message instead of a traceback.
    """
    if TARGET not in item.stash and RESULT_WORD not in item.stash:
        return
    report.promptse = item.stash.get(RESULT_WORD, "")  # type: ignore[attr-defined]
    if call.when == "call":
        report.promptse_notes = item.stash.get(_NOTES, [])  # type: ignore[attr-defined]
    if report.when == "call" and report.failed and _DETAILS in item.stash:
        report.sections.append(("promptse", item.stash[_DETAILS]))
    if call.excinfo is None:
        return
    not_scored = item.stash.get(_NOT_SCORED, None)
    if not_scored is not None or isinstance(call.excinfo.value, NotScoredError):
        # pytest counts a failed set-up as an error: in its counts, its exit code and JUnit.
        report.when = "setup"
    if not_scored is not None:
        report.promptse_not_scored = not_scored  # type: ignore[attr-defined]
        _set_summary_line(report.longrepr, not_scored)
    error = call.excinfo.value
    is_own = (
        isinstance(error, NotScoredError | StoreError | TaskError)
        and not item.config.option.fulltrace
    )
    if is_own or isinstance(error, CheckError):
        message = call.excinfo.getrepr(style="value")
        _set_summary_line(message, error.line if isinstance(error, CheckError) else str(error))
        report.longrepr = message


def _set_summary_line(longrepr: Any, message: str) -> None:
    """Set the line in the short summary and JUnit.

    By default it begins with the exception's class.
    """
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = message


def notes_in(stats: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the notes on all items of a session, each with the node id.

    Parameters
    ----------
    stats
        All reports by category, as pytest's terminal reporter keeps them.
    """
    return [
        f"{report.nodeid}: {note}"
        for reports in stats.values()
        for report in reports
        for note in getattr(report, "promptse_notes", ())
    ]


def seconds_waited(stats: Mapping[str, Sequence[Any]]) -> float:
    """Return how many seconds all items of a session have waited for completions.

    Parameters
    ----------
    stats
        As for `notes_in`.
    """
    return sum(
        getattr(report, "promptse_waited", 0.0) for reports in stats.values() for report in reports
    )
