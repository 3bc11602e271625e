"""Running items: the body judges every distinct program, gates decide."""

from __future__ import annotations

import platform
import warnings
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.errors import NotScoredError, TaskError
from pytest_promptse.plugin.check_digest import source_digest
from pytest_promptse.plugin.session import bridge
from pytest_promptse.plugin.spot import SPOT
from pytest_promptse.run.judge import Check, Finding
from pytest_promptse.sandbox.candidate import ProgramStopped
from pytest_promptse.sandbox.limits import Limits
from pytest_promptse.tasks.example import shown
from pytest_promptse.variants.variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.plugin.collection import SuiteFileItem
    from pytest_promptse.plugin.spot import Spot
    from pytest_promptse.run.plan import GateSpot, Wording
    from pytest_promptse.sandbox.candidate import Candidate
    from pytest_promptse.scoring.gate import Gate
    from pytest_promptse.tasks.task import Task

TASK: pytest.StashKey[Task] = pytest.StashKey()
WORD: pytest.StashKey[str] = pytest.StashKey()
# Part of every verdict's key: raise it when judging itself changes.
_JUDGING = "judging/1"
_OWN_FIXTURES = ("candidate", "task", "request")


class CandidateProxy:
    """What a test body holds: each program in turn."""

    def __init__(self) -> None:
        self._program: Candidate | None = None
        self._asked = False

    def _bind(self, program: Candidate) -> None:
        self._program = program
        self._asked = False

    def _held(self) -> Candidate:
        if self._program is None:
            raise TaskError(
                "candidate can be asked in the test body only, not while fixtures are set up"
            )
        self._asked = True
        return self._program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._held()(*args, **kwargs)

    def __repr__(self) -> str:
        # What assertion rewriting shows: "where 5 = candidate(2)".
        return "candidate"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._held(), name)


def task_of(item: pytest.Item) -> Task:
    """Return the task whose program `item` is judging right now."""
    if TASK in item.stash:
        return item.stash[TASK]
    spot = item.stash.get(SPOT, None)
    if spot is None:
        raise TaskError(
            f"{item.nodeid}: takes 'task' but has no promptse mark; "
            "add @pytest.mark.promptse('the prompt')"
        )
    return spot.wording.task if spot.wording else spot.suite.tasks[0]


class _Body:
    """A test function as a check: its body, with fixtures as fresh as in any test."""

    def __init__(self, item: pytest.Function) -> None:
        self._item = item
        self._set_up_for: Task | None = task_of(item)
        fixtures = item._fixtureinfo.name2fixturedefs  # noqa: SLF001 - no public way
        self._has_own_fixtures = any(
            definitions[-1].scope == "function"
            for name, definitions in fixtures.items()
            if name not in _OWN_FIXTURES
        )

    def __call__(self, candidate: Candidate, task: Task) -> Finding:
        item = self._item
        item.stash[TASK] = task
        if self._has_own_fixtures and self._set_up_for is not task:
            _set_up_again(item)
        self._set_up_for = None
        if "task" in item.funcargs:
            item.funcargs["task"] = task
        proxy = item.funcargs["candidate"]
        assert isinstance(proxy, CandidateProxy)
        proxy._bind(candidate)  # noqa: SLF001 - the two are one
        arguments = {
            name: item.funcargs[name]
            for name in item._fixtureinfo.argnames  # noqa: SLF001 - as pytest itself calls it
        }
        return _find(lambda: item.obj(**arguments), candidate, lambda: proxy._asked, str(item.path))  # noqa: SLF001


def _set_up_again(item: pytest.Function) -> None:
    """Tear down and set up the item's own fixtures, leaving those of wider scope alone.

    The way of pytest-rerunfailures, for want of a public one:
    https://github.com/pytest-dev/pytest/issues/12596
    """
    state = item.session._setupstate  # noqa: SLF001
    state.teardown_exact(item.parent)  # type: ignore[arg-type]
    item._initrequest()  # noqa: SLF001
    state.setup(item)


_judging: ContextVar[bool] = ContextVar("judging", default=False)


def compared(op: str, left: object, right: object) -> list[str] | None:
    """Say in one bounded line what a failed comparison compared, while a program is judged.

    Programs answer with whatever they like, and pytest's own difference of two long texts takes
    minutes for some.
    """
    return [f"{shown(left)} {op} {shown(right)}"] if _judging.get() else None


def _find(body: Any, candidate: Candidate, asked: Any, path: str) -> Finding:
    """Run a check's body and tell a wrong program from a broken check."""
    token = _judging.set(True)
    try:
        body()
    except (ProgramStopped, NotScoredError):
        raise
    except pytest.skip.Exception as skipped:
        raise TaskError(
            f"the check skipped ({skipped.msg}); a check must pass or fail for every program"
        ) from None
    except (AssertionError, pytest.fail.Exception) as failed:
        return Finding("wrong_answer", f"{_line(failed, path)}{failed}")
    except Exception as error:  # a boundary: whatever a check raises is a finding about it
        if candidate.raised(error):
            return Finding("exception", f"{type(error).__name__}: {error}")
        if isinstance(error, NameError | ImportError | SyntaxError | TaskError) or not asked():
            raise
        return Finding(
            "wrong_answer", f"{_line(error, path)}{type(error).__name__} in the check: {error}"
        )
    finally:
        _judging.reset(token)
    return Finding("")


def _line(error: BaseException, path: str) -> str:
    """Return ``"line 12: "`` for the last line of the test file that `error` passed through."""
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = f"line {trace.tb_lineno}: "
        trace = trace.tb_next
    return line


def run_function(item: pytest.Function) -> bool | None:
    """Run a marked test function as what its spot says; leave any other to pytest."""
    spot = item.stash.get(SPOT, None)
    if spot is None:
        return None
    modules = {item.obj.__module__} | {
        definitions[-1].func.__module__
        for definitions in item._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001
    }
    sources = source_digest(modules, item.config.rootpath)
    own = (item.originalname, spot.suite.id.partition("::")[2], sources)
    _run(item, spot, _check(item, spot, own, _Body(item)))
    return True


def run_suite_file_item(item: SuiteFileItem) -> None:
    """Run an item of a suite file; the check is the task's own, so the task is its key."""

    def body(candidate: Candidate, task: Task) -> Finding:
        proxy = CandidateProxy()
        proxy._bind(candidate)  # noqa: SLF001 - the two are one
        return _find(lambda: task.check(proxy), candidate, lambda: proxy._asked, str(item.path))  # noqa: SLF001

    spot = item.stash[SPOT]
    _run(item, spot, _check(item, spot, ("suite file",), body))


def _check(item: pytest.Item, spot: Spot, own: tuple[str, ...], body: Any) -> Check:
    settings: Settings = spot.suite.settings
    limits = Limits(wall=settings.timeout, cpu=settings.timeout, memory=settings.memory)
    parts = (
        _JUDGING,
        platform.python_version(),
        bridge(item.config).run.sandbox.isolation_level,
        repr(settings.timeout),
        repr(settings.memory),
        *own,
    )
    return Check(key=text_hash("\x1f".join(parts)), run=body, limits=limits)


def _node(item: pytest.Item, spot: Spot, wording: Wording) -> str | None:
    """Return the node id of the item that measures `wording`, a wording of the item's suite."""
    own = spot.id_of(wording)
    if not isinstance(item, pytest.Function):
        return f"{spot.suite.id}::{wording.task.id}[{own}]"
    begin = f"{item.originalname}[{spot.id}"
    # pytest escapes what is not ASCII in an id, and then it cannot be told which part is ours.
    if not (item.name.startswith(begin) and own.isascii()):
        return None
    before = item.nodeid.removesuffix(item.name)
    return f"{before}{item.originalname}[{own}{item.name.removeprefix(begin)}"


def _run(item: pytest.Item, spot: Spot, check: Check) -> None:
    run = bridge(item.config).run
    try:
        if spot.gate is not None:
            _decide(item, spot, spot.gate, check)
            return
        assert spot.wording is not None
        node = partial(_node, item, spot)
        end = run.needless(spot.suite, spot.wording, check, node=node)
        if end is not None:
            reason = f"not needed: decided after {end.completions} of {end.most} completions"
            raise pytest.skip.Exception(reason, _use_item_location=True)
        row = run.measure(spot.suite, spot.wording, check, node=node)
    except NotScoredError as error:
        run.not_scored(item.nodeid, error)
        raise
    item.stash[WORD] = f"({row.passes}/{row.n})"
    rate = row.passes / row.n
    item.user_properties.append(("promptse_pass_rate", rate))
    floor = spot.suite.settings.min_pass_rate
    if floor is not None and rate < floor:
        pytest.fail(
            f"pass rate {rate:.2f} < {floor:g} ({row.passes} of {row.n} samples pass)",
            pytrace=False,
        )


def _decide(item: pytest.Item, spot: Spot, gate: GateSpot, check: Check) -> None:
    run = bridge(item.config).run
    decided = run.decide(spot.suite, gate, check, node=partial(_node, item, spot))
    item.stash[WORD] = f"({decided.message})"
    item.user_properties.extend(_properties(decided))
    for warning in decided.warnings:
        warnings.warn(pytest.PytestWarning(f"{item.nodeid}: {warning}"), stacklevel=2)
    if decided.value is None and decided.threshold is not None:
        pytest.fail(decided.message, pytrace=False)
    if decided.verdict == "fail":
        pytest.fail(decided.message, pytrace=False)
    if decided.verdict == "inconclusive":
        match spot.suite.settings.inconclusive:
            case "fail":
                pytest.fail(decided.message, pytrace=False)
            case "skip":
                pytest.skip(decided.message)
            case "pass":
                warnings.warn(
                    pytest.PytestWarning(f"{item.nodeid}: {decided.message}"), stacklevel=2
                )


def _properties(decided: Gate) -> Iterator[tuple[str, float]]:
    """Yield what JUnit reports and other readers of a gate's item learn beside its verdict."""
    low, high = decided.ci95 or (None, None)
    figures = {
        decided.name: decided.value,
        "ci95_low": low,
        "ci95_high": high,
        "excess": decided.excess,
    }
    for name, value in figures.items():
        if value is not None:
            yield f"promptse_{name}", value


def annotate(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Mark the report as ours, and one that could not be scored as an error, not a failure."""
    if SPOT not in item.stash:
        return
    report.promptse = item.stash.get(WORD, "")  # type: ignore[attr-defined]
    if call.excinfo is None or not isinstance(call.excinfo.value, NotScoredError | TaskError):
        return
    shown = call.excinfo.getrepr(style="value")
    if shown.reprcrash is not None:
        # In the short summary and in JUnit the message is what there is room for.
        shown.reprcrash.message = str(call.excinfo.value)
    report.longrepr = shown
    if isinstance(call.excinfo.value, NotScoredError):
        # A failed set-up is what pytest calls an error: in its counts, its exit code and JUnit.
        report.when = "setup"
