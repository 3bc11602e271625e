"""Judge completions: extract the program, run the check on it, and store the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import msgspec

from pytest_promptse.errors import NotScoredError, SandboxError, TaskError
from pytest_promptse.runtimes._runtime import passed_tests, runtime_of
from pytest_promptse.sandbox._candidate import CheckEnded, Failure, safe_text
from pytest_promptse.sandbox._checker import Checker, CheckerLost
from pytest_promptse.sandbox._failing import take_noted
from pytest_promptse.sandbox._limits import (
    Limits,
    check_seconds,
    cpu_limited,
    fit,
    needs_confirmation,
)
from pytest_promptse.sandbox.guest.unpatched import __builtins__, contextlib
from pytest_promptse.store._store import StoredVerdict
from pytest_promptse.tasks._prompt_examples import prompt_examples
from pytest_promptse.variants._variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from pytest_promptse.models._base import Capabilities, Completion
    from pytest_promptse.run._plan import PlannedVariant
    from pytest_promptse.runtimes._runtime import Door, Runtime
    from pytest_promptse.sandbox._candidate import Candidate
    from pytest_promptse.sandbox._pool import SandboxPool
    from pytest_promptse.store._store import Store
    from pytest_promptse.tasks._task import Task

_STORED_CHARS = 4000


class CheckResult(NamedTuple):
    """The result of one check of one program; ``cause`` is empty if the program passed.

    ``detail`` is the message of the failure, or empty.
    """

    cause: str
    detail: str = ""


class CheckError(Exception):
    """An error of the check itself, raised in its own process.

    ``str()`` is what pytest shows of it there, and ``line`` is the message with the error's class.
    """

    def __init__(self, line: str, text: str) -> None:
        super().__init__(text or line)
        self.line = line


@dataclass(frozen=True, kw_only=True)
class CheckProcess:
    """How a check uses processes of its own.

    Attributes
    ----------
    forks
        False to run the check in this process, for a debugger.
    prepare
        Sets up what the next program needs, in this process. Returns True if the program must have
        a process of its own, since the check has state that it may change.
    restore
        Puts back what the program or the check has changed on the disk, in this process.
    writable
        Returns the folders that the check may write to.
    needed
        Descriptors that the check needs (see `Checker`).
    explain
        Returns the text to show for an error of the check.
    collect
        Enters the block in which the check runs. Its value returns what the block had effect on,
        such as log records, as data for `replay`.
    replay
        Repeats these effects in this process.
    """

    forks: bool = True
    prepare: Callable[[Task], bool] = lambda _: False
    restore: Callable[[], None] = lambda: None
    writable: Callable[[], Iterable[str]] = tuple
    needed: Container[int] | None = None
    explain: Callable[[BaseException], str] = str
    collect: Callable[[], contextlib.AbstractContextManager[Callable[[], bytes]]] = lambda: (
        contextlib.nullcontext(bytes)
    )
    replay: Callable[[bytes], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Check:
    """The check of a suite.

    Attributes
    ----------
    key
        A hash of everything that the verdict depends on apart from the program and the task. A
        changed check has another key, so no verdict of the old check is used.
    run
        Calls the candidate and returns the result. An error in the check itself propagates.
    limits
        The limits of each program.
    process
        How the check uses processes of its own.
    door
        How the check reaches a program, or None if each task's own check decides that.
    """

    key: str
    run: Callable[[Candidate, Task], CheckResult]
    limits: Limits
    process: CheckProcess = field(default_factory=CheckProcess)
    door: Door | None = None

    def runtime_of(self, task: Task) -> Runtime:
        """Return the runtime of the programs of `task`."""
        return runtime_of(task.language or "python", task.reached_by(self.door), task.check_file)


@dataclass(frozen=True, kw_only=True)
class JudgedSample:
    """A completion with its verdict.

    Attributes
    ----------
    completion
        The completion of the model.
    program
        The extracted program, or None if the completion contains none.
    cause
        The cause of the failure, empty if the program passed.
    detail
        One example of the failure, such as the message of an assertion.
    """

    completion: Completion
    program: str | None
    cause: str
    detail: str


class _Request(msgspec.Struct, array_like=True):
    """What a checker is asked: to judge a program within some seconds, ``alone`` or not.

    ``shares`` is True if other programs are judged in the same process.
    """

    program: str
    wall: float
    cpu: float
    alone: bool
    shares: bool


class _Judgement(msgspec.Struct, array_like=True, kw_only=True):
    """What a checker replies.

    ``lends`` is True if the run was given up because it needs a process of its own. ``error`` is
    the kind of an error of the check, its line and its text, or None.
    """

    cause: str = ""
    detail: str = ""
    seconds: float = 0.0
    doubtful: bool = False
    lends: bool = False
    error: tuple[str, str, str] | None = None
    effects: bytes = b""


_MOST_BUILT = 64 * 2**20
"""Characters of all built programs that are kept."""

_AT_ANY_PLACE = ("timeout", "resource")


class _LoanMade(CheckEnded):
    """Ends a check that is about to lend an object to the program."""


_ERRORS: dict[str, type[BaseException]] = {
    error.__name__: error for error in (TaskError, SandboxError, NotScoredError, KeyboardInterrupt)
}


class CompletionJudge:
    """Judge completions, each distinct program once per check.

    Parameters
    ----------
    store
        The store, which keeps the verdicts.
    sandbox
        Returns the sandbox that programs run in. It is called when the first program must run.
    """

    def __init__(self, store: Store, sandbox: Callable[[], SandboxPool]) -> None:
        self._store = store
        self._sandbox = sandbox
        self._reference_limits: dict[tuple[str, str], Limits] = {}
        # Names of tests, by check, task and its digest.
        self._expected: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self._lending: set[tuple[str, str]] = set()
        self._shared: Checker | None = None
        # The last built programs, since several checks may judge the same ones.
        self._built: dict[tuple[str, int, str], str | Failure] = {}

    def judge(
        self,
        planned: PlannedVariant,
        completions: Sequence[Completion],
        capabilities: Capabilities,
        check: Check,
    ) -> tuple[JudgedSample, ...]:
        """Return the completions of one variant with their verdicts, in sample order.

        Parameters
        ----------
        planned
            The variant that the completions answer.
        completions
            Completions of the model for this variant.
        capabilities
            Capabilities of the model. Their ``form`` decides how a program is extracted.
        check
            The check of the suite.

        Raises
        ------
        NotScoredError
            If the sandbox fails, or if the task's own reference does not pass the check.
        """
        task = planned.task
        runtime = check.runtime_of(task)
        extracted = {
            (text, finish_reason): runtime.extract(
                text,
                prompt=task.prompt if task.is_stub else planned.task_text,
                entry_point=task.entry_point,
                form=capabilities.form,
                finish_reason=finish_reason,
            )
            for text, finish_reason in dict.fromkeys((c.text, c.finish_reason) for c in completions)
        }
        # In the order of the samples, since the order of a set differs between processes.
        programs = dict.fromkeys(
            extraction.program
            for extraction in extracted.values()
            if extraction.program is not None
        )
        if planned.programs > 1:
            passing = self._passing_examples(programs, task, check)
            completions = selected(
                completions,
                planned.programs,
                lambda completion: (
                    extracted[completion.text, completion.finish_reason].program in passing
                ),
            )
            programs = dict.fromkeys(
                program
                for completion in completions
                if (program := extracted[completion.text, completion.finish_reason].program)
                is not None
            )
        with self._shared_checker():
            verdicts = self._verdicts(programs, task, check)
        judged = []
        for completion in completions:
            extraction = extracted[completion.text, completion.finish_reason]
            if extraction.program is None:
                sample = JudgedSample(
                    completion=completion,
                    program=None,
                    cause=extraction.cause or "no_code",
                    detail="",
                )
            else:
                verdict = verdicts[extraction.program]
                sample = JudgedSample(
                    completion=completion,
                    program=extraction.program,
                    cause=verdict.cause,
                    detail=verdict.detail,
                )
            judged.append(sample)
        return tuple(judged)

    def _passing_examples(self, programs: Iterable[str], task: Task, check: Check) -> set[str]:
        """Return the programs that pass the examples in the prompt, which is none without any."""
        examples = prompt_examples(task.prompt, task.entry_point)
        if not examples:
            return set()
        # The reference of the task need not pass the examples: some prompts contradict their check.
        asked = replace(task, examples=examples, tests=None, check_file=None, reference=None)
        check_of_examples = Check(
            key=text_hash(f"prompt examples {check.key}"),
            run=_check_examples,
            limits=check.limits,
            process=CheckProcess(forks=check.process.forks),
        )
        with self._shared_checker():
            verdicts = self._verdicts(programs, asked, check_of_examples)
        return {program for program, verdict in verdicts.items() if not verdict.cause}

    def _verdicts(
        self, programs: Iterable[str], task: Task, check: Check
    ) -> dict[str, StoredVerdict]:
        runtime_key = check.runtime_of(task).key
        key = text_hash(f"{check.key}{runtime_key}:{task.id}:{task.check_digest}")
        check = replace(check, limits=self._fitted_limits(key, task, check))
        programs = list(programs)
        verdicts = dict(self._store.verdicts(key, programs))
        if not verdicts.keys() >= set(programs):
            task = self._with_expected_tests(task, check)
        for program in programs:
            if program not in verdicts:
                verdicts[program] = self._evaluate(program, task, check)
                self._store.add_verdict(key, program, verdicts[program])
        return verdicts

    def _fitted_limits(self, key: str, task: Task, check: Check) -> Limits:
        """Fit the limits to the time of the reference, which must pass the check.

        `key` identifies the check and its task. The limits are those of `check` if the task has no
        reference. NotScoredError is raised if the reference fails.
        """
        if task.reference is None:
            return check.limits
        if (key, task.id) not in self._reference_limits:
            stored = self._store.verdicts(key, [task.reference]).get(task.reference)
            verdict = stored or self._evaluate(task.reference, task, check)
            if stored is None:
                self._store.add_verdict(key, task.reference, verdict)
            if verdict.cause:
                raise NotScoredError(
                    f"task {task.id!r}: its own reference fails its check ({verdict.cause}: "
                    f"{verdict.detail.strip().splitlines()[0] if verdict.detail else 'no detail'})"
                    "; correct the check or the reference"
                )
            self._reference_limits[key, task.id] = fit(
                check.limits, reference_seconds=verdict.seconds
            )
        return self._reference_limits[key, task.id]

    def _with_expected_tests(self, task: Task, check: Check) -> Task:
        """Return the task with the tests that its reference passes, if it has a check file.

        Every program must pass them, so that none passes by making tests disappear.
        """
        if task.check_file is None or task.reference is None:
            return task
        key = check.key, task.id, task.check_digest
        if key not in self._expected:
            # No program is loaded in this process while a process of a check exists.
            self._end_shared()
            names = passed_tests(task.check_file, task.reference, self._sandbox(), check.limits)
            if isinstance(names, Failure):
                raise NotScoredError(
                    f"task {task.id!r}: its own reference does not run ({names.cause}: "
                    f"{names.detail}); correct the check or the reference"
                )
            self._expected[key] = names
        return replace(task, check_file=replace(task.check_file, expected=self._expected[key]))

    def _evaluate(self, program: str, task: Task, check: Check) -> StoredVerdict:
        for alone in (False, True):
            judgement = self._judgement(program, task, check, alone=alone)
            if not judgement.doubtful:
                break
        return StoredVerdict(
            cause=judgement.cause, detail=judgement.detail, seconds=judgement.seconds
        )

    def _judgement(self, program: str, task: Task, check: Check, *, alone: bool) -> _Judgement:
        """Judge a program once. `alone` runs it without other programs beside it."""
        limits = check.limits
        prepared = self._prepare(program, task, check.runtime_of(task), limits)
        if isinstance(prepared, Failure):
            return _Judgement(cause=prepared.cause, detail=_storable(prepared.detail))
        has_state = check.process.prepare(task)
        request = _Request(
            program=prepared,
            wall=limits.wall,
            cpu=limits.cpu,
            alone=alone,
            shares=not has_state and (check.key, task.id) not in self._lending,
        )
        try:
            if not check.process.forks:
                request.shares = False
                return _run_check(self._sandbox(), task, check, request)
            judgement = self._ask(request, task, check)
            if judgement.lends:
                self._lending.add((check.key, task.id))
                request.shares = False
                judgement = self._ask(request, task, check)
            return judgement
        finally:
            check.process.restore()

    def _prepare(self, program: str, task: Task, runtime: Runtime, limits: Limits) -> str | Failure:
        program = task.whole(program)
        prepare = partial(
            runtime.prepare, program, self._sandbox(), limits, entry_point=task.entry_point
        )
        if not runtime.builds:
            return prepare()
        key = runtime.key, limits.memory, program
        if key not in self._built:
            # No program is loaded in this process while a process of a check exists.
            self._end_shared()
            self._built[key] = prepare()
            while len(self._built) > 1 and _characters(self._built.values()) > _MOST_BUILT:
                del self._built[next(iter(self._built))]
        return self._built[key]

    def _ask(self, request: _Request, task: Task, check: Check) -> _Judgement:
        """Judge a program in a process of its own, or in one that judges several."""
        sandbox = self._sandbox()
        for last in (False, True):
            checker = self._shared if request.shares else None
            if checker is None:
                checker = _fork_checker(sandbox, task, check, shares=request.shares)
                self._shared = checker if request.shares else self._shared
            try:
                reply = checker.ask(msgspec.msgpack.encode(request), limits=check.limits)
            except CheckerLost as lost:
                self._end_shared()
                return _Judgement(cause=lost.cause, detail=str(lost), doubtful=lost.doubtful)
            finally:
                if not request.shares:
                    checker.close()
            judgement = msgspec.msgpack.decode(reply, type=_Judgement)
            # A limit may have ended the check at any place, even where it had changed something.
            if judgement.cause in _AT_ANY_PLACE or judgement.lends or judgement.error:
                self._end_shared()
            if judgement.lends:
                break
            check.process.replay(judgement.effects)
            if judgement.error is None:
                break
            if judgement.error[0] != SandboxError.__name__ or last:
                _raise(judgement.error)
        return judgement

    @contextlib.contextmanager
    def _shared_checker(self) -> Iterator[None]:
        """End the process that judges several programs after the block."""
        try:
            yield
        finally:
            self._end_shared()

    def _end_shared(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.close()


def selected(
    completions: Sequence[Completion], programs: int, passes: Callable[[Completion], bool]
) -> tuple[Completion, ...]:
    """Return one completion of each sample: the first that passes, else the first.

    Parameters
    ----------
    completions
        The completions in their order; those of a sample follow each other.
    programs
        Number of completions of each sample, at least 1.
    passes
        Whether the program in a completion passes.
    """
    samples = [completions[n : n + programs] for n in range(0, len(completions), programs)]
    return tuple(next(filter(passes, sample), sample[0]) for sample in samples)


def _check_examples(candidate: Candidate, task: Task) -> CheckResult:
    try:
        task.check(candidate)
    except AssertionError as error:
        return CheckResult("wrong_answer", safe_text(error))
    return CheckResult("")


def _characters(built: Iterable[str | Failure]) -> int:
    return sum(len(program) for program in built if isinstance(program, str))


def _fork_checker(sandbox: SandboxPool, task: Task, check: Check, *, shares: bool) -> Checker:
    def work(data: bytes) -> bytes:
        request = msgspec.msgpack.decode(data, type=_Request)
        limits = replace(check.limits, wall=request.wall, cpu=request.cpu)
        with cpu_limited(check_seconds(limits)), check.process.collect() as effects:
            try:
                judgement = _run_check(sandbox, task, replace(check, limits=limits), request)
            except MemoryError:
                judgement = _Judgement(cause="resource", detail="the check is out of memory")
            except BaseException as error:  # noqa: BLE001 - raised again in the other process
                judgement = _Judgement(error=_described(error, check))
            judgement.effects = effects()
        return msgspec.msgpack.encode(judgement)

    return Checker(
        work,
        pool=sandbox,
        ahead=shares,
        writable=check.process.writable(),
        needed=check.process.needed,
    )


def _run_check(sandbox: SandboxPool, task: Task, check: Check, request: _Request) -> _Judgement:
    """Run the check once in this process."""
    lends = False

    def before_loan() -> None:
        nonlocal lends
        lends = True
        raise _LoanMade

    runtime = check.runtime_of(task)
    limits = runtime.limits(check.limits)
    try:
        with sandbox.load(
            request.program,
            entry_point=task.entry_point,
            language=runtime.guest,
            limits=limits,
            alone=request.alone,
            before_loan=before_loan if request.shares else None,
        ) as candidate:
            try:
                result = check.run(candidate, task)
                noted = take_noted()
                if noted and not result.cause:
                    result = CheckResult("wrong_answer", noted[0])
            except BaseException as ended:
                if not (candidate.raised(ended) or isinstance(ended, CheckEnded)):
                    raise
                result = CheckResult("exception", safe_text(ended))
    except BaseException:
        if not lends:
            raise
    if lends:
        return _Judgement(lends=True)
    failure = candidate.failure
    if failure is not None:
        result = CheckResult(failure.cause, failure.detail)
    return _Judgement(
        cause=result.cause,
        detail=_storable(result.detail),
        seconds=candidate.seconds,
        doubtful=needs_confirmation(failure, cpu_seconds=candidate.cpu_seconds, limits=limits),
    )


def _described(error: BaseException, check: Check) -> tuple[str, str, str]:
    # By identity, since a program names its classes as it likes.
    kind = next(
        (cls.__name__ for cls in type(error).__mro__ if _ERRORS.get(cls.__name__) is cls), ""
    )
    line = safe_text(error) if kind else f"{type(error).__name__}: {safe_text(error)}"
    return kind, _storable(line), "" if kind else _encodable(check.process.explain(error))


def _raise(error: tuple[str, str, str]) -> NoReturn:
    """Raise an error that a check has raised in its own process."""
    kind, line, text = error
    if kind:
        raise _ERRORS[kind](line)
    raise CheckError(line, text)


def _storable(text: str) -> str:
    """Shorten a program's text and make it encodable."""
    if len(text) > _STORED_CHARS:
        half = _STORED_CHARS // 2
        text = f"{text[:half]} … {len(text) - 2 * half} characters … {text[-half:]}"
    return _encodable(text)


def _encodable(text: str) -> str:
    """Escape lone surrogates, which UTF-8 cannot encode."""
    return text.encode(errors="backslashreplace").decode()
