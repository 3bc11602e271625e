"""Pytest items: their variants and gates, and the judging of programs by their test bodies."""

from __future__ import annotations

import dis
import inspect
import platform
import re
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest

from pytest_promptse.errors import NotScoredError, NotStoredError, TaskError
from pytest_promptse.plugin._baseline_items import ComparisonResult, compare_suite
from pytest_promptse.plugin._check_digest import source_digest
from pytest_promptse.plugin._effects import collect_effects, replay_effects
from pytest_promptse.plugin._invocation import invocation
from pytest_promptse.plugin._pytest_private import (
    argument_names,
    fixture_definitions,
    renew_instance,
    set_up_again,
    temporary_folder,
    torn_down_after,
)
from pytest_promptse.run._judge import Check, CheckError, CheckProcess, CheckResult
from pytest_promptse.run._plan import PlannedComparison, PlannedGate, PlannedVariant
from pytest_promptse.sandbox._candidate import ENTRY_NAMES, safe_text
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.sandbox._surroundings import CheckSurroundings
from pytest_promptse.sandbox.guest import landlock
from pytest_promptse.tasks._example import shown
from pytest_promptse.tasks._task import repeatable_random
from pytest_promptse.variants._variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.run._plan import Suite
    from pytest_promptse.run._run import PassCount, PromptseRun
    from pytest_promptse.sandbox._candidate import Candidate
    from pytest_promptse.scoring._gate import Gate
    from pytest_promptse.tasks._task import Task

_TASK: pytest.StashKey[Task] = pytest.StashKey()
RESULT_WORD: pytest.StashKey[str] = pytest.StashKey()
# Key of an item's remarks for the summary. As warnings, "filterwarnings = error" would turn them
# into failures.
_NOTES: pytest.StashKey[list[str]] = pytest.StashKey()
# Key of the reason why the item could not be scored.
_NOT_SCORED: pytest.StashKey[str] = pytest.StashKey()
_DETAILS: pytest.StashKey[str] = pytest.StashKey()
# Part of the key of every verdict. Increase it when the judging changes.
_JUDGING = "judging/3"
# The attributes of a candidate besides those of the program's entry point.
_OWN_NAMES = ("module", "run", "output")
_LINE_CHARS = 300
# Types of what a check can refer to without keeping anything from one program to the next.
_STATELESS = (
    *(type, FunctionType, BuiltinFunctionType, ModuleType, staticmethod, classmethod, property),
    *(str, bytes, int, float, complex, bool, NoneType, re.Pattern, pytest.MarkDecorator),
)
_OWN_FIXTURES = ("candidate", "task")


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
            task, name = (subject.task if self.task else None), subject.outline.id
        else:
            # The gate of a task has the task's name, even if other ids do not need it.
            task, name = subject.task, subject.name
        parts = (
            suite.key.model if self.model else None,
            suite.key.template if self.template else None,
            task.id if task else None,
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
        return self.subject.task

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


class CandidateProxy:
    # The value of the ``candidate`` fixture, which forwards to the program under test. This is no
    # docstring, since ``candidate.__doc__`` is the entry point's.

    promptse_candidate = True

    def __init__(self) -> None:
        self._program: Candidate | None = None
        self._was_used = False

    def _bind(self, program: Candidate) -> None:
        self._program = program
        self._was_used = False

    def _bound(self) -> Candidate:
        if self._program is None:
            raise TaskError(
                "candidate can be called in the test body only, not while fixtures are set up"
            )
        self._was_used = True
        return self._program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._bound()(*args, **kwargs)

    def __repr__(self) -> str:
        # Assertion rewriting shows this, as in "where 5 = candidate(2)".
        return "candidate"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and (name not in ENTRY_NAMES or self._program is None):
            raise AttributeError(name)
        program = self._bound()
        return getattr(program, name) if name in _OWN_NAMES else program.ask("find", name)

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return None if self._program is None else self._bound().__doc__

    @property
    def __signature__(self) -> Any:
        return self._bound().__signature__

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._bound())  # type: ignore[arg-type]

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._bound())  # type: ignore[arg-type]

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._bound().__mro_entries__(bases)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._bound())

    def __len__(self) -> int:
        return len(self._bound())

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        return self._bound()[key]

    def __contains__(self, item: object) -> bool:
        return item in self._bound()

    def __eq__(self, other: object) -> bool:
        return self is other or (self._program is not None and self._bound() == other)

    def __hash__(self) -> int:
        return id(self)


def task_of(item: pytest.Item) -> Task:
    """Return the task of the program that `item` judges at present.

    Raises
    ------
    TaskError
        If the item has no ``promptse`` mark.
    """
    if _TASK in item.stash:
        return item.stash[_TASK]
    target = item.stash.get(TARGET, None)
    if target is None:
        raise TaskError(
            f"{item.nodeid}: takes 'task' but has no promptse mark; "
            "add @pytest.mark.promptse('the prompt')"
        )
    return target.task or target.suite.tasks[0]


class _FunctionCheck:
    """The body of a test function as a check, with new fixtures for every program.

    Parameters
    ----------
    item
        The item whose function is called.
    """

    def __init__(self, item: pytest.Function) -> None:
        self._item = item
        # pytest has already set up the fixtures for the first program.
        self._set_up_for: Task | None = task_of(item)
        definitions = {
            name: own[-1]
            for name, own in fixture_definitions(item).items()
            if name not in _OWN_FIXTURES
        }
        self._has_state = bool(definitions) or _refers_to_state(item)
        # With ``request`` a body can set up any fixture.
        self._has_own_fixtures = "request" in argument_names(item) or any(
            definition.scope == "function" for definition in definitions.values()
        )

    def prepare(self, task: Task) -> bool:
        """Set up the fixtures for a program.

        Return True if there are any, or if the check refers to other objects that it may change.
        """
        self._item.stash[_TASK] = task
        if self._set_up_for is not task and self._has_own_fixtures:
            renew_instance(self._item)
            set_up_again(self._item)
        self._set_up_for = None
        return self._has_state or self._has_own_fixtures

    def __call__(self, candidate: Candidate, task: Task) -> CheckResult:
        item = self._item
        if not self._has_own_fixtures:
            renew_instance(item)
        if "task" in item.funcargs:
            item.funcargs["task"] = task
        proxy = item.funcargs["candidate"]
        if not isinstance(proxy, CandidateProxy):
            raise TaskError(
                f"{item.nodeid}: the project has a fixture named 'candidate' of its own; rename it"
            )
        arguments = {name: item.funcargs[name] for name in argument_names(item)}
        temporary = temporary_folder(item)

        def body() -> object:
            candidate.use_surroundings(CheckSurroundings(item.funcargs, temporary))
            return item.obj(**arguments)

        with torn_down_after(item.session):
            return _run_body(body, candidate, proxy, str(item.path))


def _refers_to_state(item: pytest.Function) -> bool:
    """Return whether the test function uses a container or an object of its module or class.

    Functions of the module that it calls count as well.
    """
    functions = [item.function]
    values: list[object] = [] if item.cls is None else list(vars(item.cls).values())
    seen = set()
    while functions:
        function = inspect.unwrap(functions.pop())
        code = getattr(function, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        names = {name for part in _code_objects(code) for name in part.co_names}
        used = [value for name, value in function.__globals__.items() if name in names]
        values += used
        functions += [
            value for value in used if getattr(value, "__module__", "") == item.module.__name__
        ]
    return not all(isinstance(value, _STATELESS) for value in values)


def _code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _code_objects(part)


def _process(
    item: pytest.Item, run: PromptseRun, prepare: Callable[[Task], bool] = lambda _: False
) -> CheckProcess:
    """Return how the check of `item` uses processes of its own.

    `prepare` is that of `CheckProcess`. A debugger needs the check in pytest's own process.
    """

    def explain(error: BaseException) -> str:
        return str(item.repr_failure(pytest.ExceptionInfo.from_exception(error)))

    return CheckProcess(
        forks=not (item.config.option.usepdb or item.config.option.trace),
        prepare=prepare,
        writable=lambda: _writable_folders(item),
        needed=run.needed_descriptors,
        explain=explain,
        collect=collect_effects,
        replay=replay_effects,
    )


def _writable_folders(item: pytest.Item) -> list[str]:
    """Return the temporary folders of the item's fixtures."""
    funcargs: dict[str, Any] = getattr(item, "funcargs", {})
    folders = [str(funcargs[name]) for name in ("tmp_path", "tmpdir") if name in funcargs]
    factories = [
        funcargs[name] for name in ("tmp_path_factory", "tmpdir_factory") if name in funcargs
    ]
    if "request" in funcargs:  # by which the body may use any of them
        factories.append(funcargs["request"].getfixturevalue("tmp_path_factory"))
    return [*folders, *(str(factory.getbasetemp()) for factory in factories)]


_is_judging: ContextVar[bool] = ContextVar("is_judging", default=False)


def explain_comparison(op: str, left: object, right: object) -> list[str] | None:
    """Return one short line for a failed comparison while a program is judged, otherwise None.

    Programs return arbitrary values, and pytest's own diff of two long texts can take minutes.
    """
    return [f"{shown(left)} {op} {shown(right)}"] if _is_judging.get() else None


def _run_body(
    body: Callable[[], object], candidate: Candidate, proxy: CandidateProxy, path: str
) -> CheckResult:
    """Run the body of a check on a program. Distinguish a wrong program from a broken check.

    `body` calls the test function, `proxy` is its handle of the program, and `path` is its file,
    for error messages. A failed assertion or an error of the program is a result. TaskError is
    raised if the check is broken.
    """
    proxy._bind(candidate)  # noqa: SLF001 - both classes work together
    token = _is_judging.set(True)
    try:
        # All programs of a check get the same inputs if it draws some. So verdicts can be compared
        # and do not change.
        with repeatable_random():
            returned = body()
    except NotScoredError:
        raise
    except (pytest.skip.Exception, pytest.xfail.Exception) as ended:
        name = "skipped" if isinstance(ended, pytest.skip.Exception) else "called pytest.xfail"
        raise TaskError(
            f"the check {name} ({ended.msg}); a check must pass or fail for every program"
        ) from None
    except (AssertionError, pytest.fail.Exception) as failed:
        if not proxy._was_used:  # noqa: SLF001 - both classes work together
            failed.add_note(
                "raised before the test used candidate, so the check or a fixture is broken"
            )
            raise
        return CheckResult("wrong_answer", f"{_line(failed, path)}{safe_text(failed)}")
    except Exception as error:  # noqa: BLE001 - a check may raise anything
        return _error_result(error, candidate, path)
    finally:
        _is_judging.reset(token)
    if returned is not None:
        raise TaskError(
            f"the check returned {shown(returned)} instead of None; write `assert`, not `return`"
        )
    if not proxy._was_used:  # noqa: SLF001 - both classes work together
        raise TaskError(
            "the check ended without using candidate, so every program would pass; call candidate"
        )
    return CheckResult("")


def _error_result(error: Exception, candidate: Candidate, path: str) -> CheckResult:
    """Return the result of a check that ended with `error`, or raise it if the check is broken.

    `path` is the check's file.
    """
    if candidate.raised(error):
        return CheckResult("exception", f"{type(error).__name__}: {safe_text(error)}")
    line = _line(error, path)
    if isinstance(error, PermissionError) and landlock.version():
        # Every program would fail, right or wrong.
        raise TaskError(
            f"{line}the check is refused a file or a connection ({error}); it can write only below "
            "tmp_path and to tempfile's files, and use no TCP; do the rest in a fixture"
        ) from None
    if not candidate.used or _is_of_check(error, path):
        raise error
    name = type(error).__name__
    return CheckResult("wrong_answer", f"{line}{name} in the check: {safe_text(error)}")


def _is_of_check(error: Exception, path: str) -> bool:
    """Return whether an error is a mistake of the check itself, independent of the program.

    A name that the test file does not define, or an ``import`` statement that fails, is a mistake
    of the check. The same errors from ``eval(answer)`` or ``import_module(answer)`` are not.
    """
    if isinstance(error, TaskError):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename != path:
        return False
    operation = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
    return (isinstance(error, NameError) and not isinstance(error, UnboundLocalError)) or (
        isinstance(error, ImportError) and operation.startswith("IMPORT")
    )


def _line(error: BaseException, path: str) -> str:
    """Return ``"line 12: "`` for the last line of the test file that `error` passed through.

    The result is empty if it passed through no line of `path`.
    """
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = f"line {trace.tb_lineno}: "
        trace = trace.tb_next
    return line


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
    body = _FunctionCheck(item)
    process = _process(item, run, body.prepare)
    _run(item, run, target, _check(run, target, own_key, body, process))
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
        proxy = CandidateProxy()
        return _run_body(lambda: task.check(proxy), candidate, proxy, str(item.path))

    target = item.stash[TARGET]
    _run(item, run, target, _check(run, target, ("suite file",), body, _process(item, run)))


def _check(
    run: PromptseRun,
    target: ItemTarget,
    own_key: tuple[str, ...],
    body: Callable[[Candidate, Task], CheckResult],
    process: CheckProcess,
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
    return Check(key=text_hash("\x1f".join(parts)), run=body, limits=limits, process=process)


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
            _report_comparison(item, _compare(item, run, target.suite))
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
    fails = gate.verdict == "fail" or (
        gate.verdict == "inconclusive" and target.suite.settings.inconclusive == "fail"
    )
    if fails:
        item.stash[_DETAILS] = _details(item, run, target, planned)
        pytest.fail(gate.message, pytrace=False)
    if gate.verdict == "inconclusive" and target.suite.settings.inconclusive == "skip":
        pytest.skip(gate.message)
    if gate.verdict == "inconclusive":
        item.stash[RESULT_WORD] = f"INCONCLUSIVE ({count.passes}/{count.n})"


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
        If a margin is on stability and the model solves nothing. Its AUC-E of 1 is no improvement.
    """
    result = compare_suite(item.config, run, suite)
    margins = {margin.metric for margin in run.settings.compare_fail}
    if not result.losses and margins - {"pass_at_1"}:
        reason = run.why_nothing_is_solved(suite)
        if reason is not None:
            raise NotScoredError(reason)
    return result


def _report_comparison(item: pytest.Item, result: ComparisonResult) -> None:
    item.stash[RESULT_WORD] = f"PASSED ({result.word})"
    if result.losses:
        pytest.fail("\n".join(result.losses), pytrace=False)


def report_gate(item: pytest.Item, gate: Gate, inconclusive: str) -> None:
    """Fail, skip or pass `item` by the verdict of `gate`, and show its figure.

    `inconclusive` is the setting for an inconclusive gate: ``fail``, ``skip``, or ``pass``,
    which adds a note.
    """
    verb = "MEASURED" if gate.threshold is None else "PASSED"
    if gate.verdict == "inconclusive":
        verb = "INCONCLUSIVE"
    item.stash[RESULT_WORD] = f"{verb} ({gate.message})"
    item.user_properties.extend(_properties(gate))
    item.stash[_NOTES] = list(gate.warnings)
    if gate.verdict == "fail" or (gate.value is None and gate.threshold is not None):
        pytest.fail(gate.message, pytrace=False)
    if gate.verdict == "inconclusive":
        message = f"inconclusive: {gate.message}"
        match inconclusive:
            case "fail":
                pytest.fail(message, pytrace=False)
            case "skip":
                pytest.skip(message)
            case "pass":
                item.stash[_NOTES].append(message)


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
    if isinstance(error, NotScoredError | pytest.skip.Exception):
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
    is_own = isinstance(error, NotScoredError | TaskError) and not item.config.option.fulltrace
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
