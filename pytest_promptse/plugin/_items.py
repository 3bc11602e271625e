"""Run an item: measure its variant, or decide its gate or comparison."""

from __future__ import annotations

import platform
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.errors import NotScoredError, NotStoredError
from pytest_promptse.plugin._baseline_items import ComparisonResult, compare_suite
from pytest_promptse.plugin._check_digest import source_digest
from pytest_promptse.plugin._checks import (
    CandidateProxy,
    FunctionCheck,
    ProgramProxy,
    check_process,
    door_of,
    run_body,
)
from pytest_promptse.plugin._invocation import invocation
from pytest_promptse.plugin._pytest_private import fixture_definitions
from pytest_promptse.plugin._results import (
    DETAILS,
    NOT_SCORED,
    NOTES,
    RESULT_WORD,
    end_item,
    outcome_of,
    report_gate,
)
from pytest_promptse.plugin._targets import TARGET, node_id_of, task_of
from pytest_promptse.run._judge import Check, CheckProcess, CheckResult
from pytest_promptse.run._plan import PlannedComparison, PlannedVariant
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.store._run_log import PlannedGate
from pytest_promptse.variants._variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.plugin._targets import ItemTarget
    from pytest_promptse.run._measuring import PassCount
    from pytest_promptse.run._plan import Suite
    from pytest_promptse.run._run import PromptseRun
    from pytest_promptse.runtimes._runtime import Door
    from pytest_promptse.sandbox._candidate import Candidate
    from pytest_promptse.scoring._scores import Gate
    from pytest_promptse.tasks._task import Task

# Part of the key of every verdict. Increase it when the judging changes.
_JUDGING = "judging/5"


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
        definitions[-1].func.__module__ for definitions in fixture_definitions(item).values()
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


def _run(item: pytest.Item, run: PromptseRun, target: ItemTarget, check: Check) -> None:
    node_of = partial(node_id_of, item, target)
    kept: tuple[pytest.StashKey[Any], ...] = (RESULT_WORD, NOT_SCORED, NOTES, DETAILS)
    for key in kept:
        # An item that is rerun has those of its last attempt.
        if key in item.stash:
            del item.stash[key]
    try:
        if isinstance(target.subject, PlannedGate) and run.settings.shard is not None:
            run.measuring.measure_share(target.suite, target.subject, check, node_of=node_of)
            pytest.skip(f"open in shard {run.settings.shard}; promptse merge decides it")
        elif isinstance(target.subject, PlannedGate):
            gate = run.measuring.decide(target.suite, target.subject, check, node_of=node_of)
        elif isinstance(target.subject, PlannedComparison):
            run.measuring.measure_for(target.suite, target.subject, check, node_of=node_of)
            result = _compare(item, run, target.suite)
            item.stash[RESULT_WORD] = f"PASSED ({result.word})"
            end_item(result.outcome)
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
        item.stash[NOT_SCORED] = str(error)
    if NOT_SCORED in item.stash:
        # Formatting a traceback takes long, and a run out of budget has hundreds of such items.
        # Outside of the handler, so that pytest does not show the message twice.
        pytest.fail(item.stash[NOT_SCORED], pytrace=False)
    report_gate(item, gate, target.suite.settings.inconclusive)


def _measure(
    item: pytest.Item,
    run: PromptseRun,
    target: ItemTarget,
    planned: PlannedVariant,
    check: Check,
) -> None:
    node_of = partial(node_id_of, item, target)
    end = run.measuring.end_before(target.suite, planned, check, node_of=node_of)
    if end is not None:
        reason = f"not needed: decided after {end.completions} of {end.max_completions} completions"
        raise pytest.skip.Exception(reason, _use_item_location=True)
    count = run.measuring.measure(target.suite, planned, check, node_of=node_of)
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
    outcome = outcome_of(gate, target.suite.settings.inconclusive)
    if outcome.kind == "failed":
        item.stash[DETAILS] = _details(item, run, target, planned)
    if outcome.is_open:
        item.stash[RESULT_WORD] = f"INCONCLUSIVE ({count.passes}/{count.n})"
    end_item(outcome)


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

    of_task = (variant for variant in target.suite.variants if variant.task is planned.task)
    original = next(variant for variant in of_task if variant.outline.distance == 0.0)
    measured = run.measuring.measured_prompt(target.suite, planned)
    writer = item.config.get_terminal_writer()
    return render_variant(
        original.variant.text,
        measured.variant,
        texts=measured.texts,
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
        reason = run.measuring.why_nothing_is_solved(suite)
        if reason is not None:
            raise NotScoredError(reason)
    return result
