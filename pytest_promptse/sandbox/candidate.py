"""The proxy that a check calls: a program in the jail that looks like a function."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_promptse.sandbox.causes import Cause, Failure, ProgramError, ProgramStopped
from pytest_promptse.sandbox.changes import apply_changes, may_change
from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.decode import decode
from pytest_promptse.sandbox.guest.encode import encode
from pytest_promptse.sandbox.handle import Handle, ProgramIterator
from pytest_promptse.sandbox.raised import Raised

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.errors import SandboxError
    from pytest_promptse.sandbox.execution import Execution

__all__ = ["Candidate", "Cause", "Failure", "Handle", "ProgramError", "ProgramStopped"]
_MODULE = -1


@dataclass(frozen=True, kw_only=True)
class ScriptResult:
    """What a run as a script left: its streams (bounded, undecodable bytes replaced) and status.

    ``returncode`` is that of the process, negative for the signal that ended it.
    """

    stdout: str
    stderr: str
    returncode: int


class Candidate:
    """The program's entry point, called in the jail; made by ``SandboxPool.load``.

    Arguments and results are plain data (see ``docs/explanation/sandbox.md`` for what becomes of
    which type). Lists, dicts, sets and bytearrays that the program changes in place are changed
    here too; functions given as arguments are called back here.
    """

    def __init__(
        self,
        program: str,
        *,
        entry_point: str,
        start: Callable[..., Execution],
    ) -> None:
        self._program = program
        self._entry_point = entry_point
        self._start = start
        self._execution: Execution | None = None
        self._failure: Failure | None = None
        self._raised: list[BaseException] = []
        self._callbacks: list[Callable[..., Any]] = []
        self._lock = threading.RLock()
        self._was_run = False
        self._broken: SandboxError | None = None
        self._failed_assertion: AssertionError | None = None
        self._script_output = ""
        self._script_seconds = 0.0
        self._script_cpu = 0.0

    # -- what checks use ------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call_object(None, args, kwargs)

    @property
    def module(self) -> Handle:
        """The program as a module: ``candidate.module.helper(3)``, ``candidate.module.Stack()``."""
        self._need_execution()
        return Handle(self, _MODULE, "module")

    def run(self, stdin: str = "", args: Sequence[str] = ()) -> ScriptResult:
        """Run the program as ``python program.py ARGS`` in a process of its own.

        Raises
        ------
        ProgramStopped
            When it does not compile, or uses up its limits.
        """
        if self._failure is not None:
            self._stop(self._failure)
        self._was_run = True
        execution = self._start(stdin=stdin.encode("utf-8", "surrogateescape"), separate=True)
        try:
            execution.send(self._encode_program("script", list(args)))
            problem = execution.receive_to_end()
            if problem is not None:
                self._fail(*read_problem(decode(problem)))
            code = execution.returncode()
        except ProgramStopped as stop:
            self._stop(stop.failure)
        except wire.WireError as broken:
            self._fail("exception", f"the program broke the protocol: {broken}")
        finally:
            self._broken = self._broken or execution.broken
            execution.close()
            self._script_output += execution.output.text() + execution.errors.text()
            self._script_seconds += execution.seconds
            self._script_cpu += execution.cpu
        return ScriptResult(
            stdout=execution.output.text(), stderr=execution.errors.text(), returncode=code
        )

    @property
    def failure(self) -> Failure | None:
        """The first thing that stopped the program for good, whatever the check did with it.

        A program that the check never used is loaded to find out.
        """
        self.finish()
        return self._failure

    def raised(self, exc: BaseException) -> bool:
        """Return whether `exc` came out of the program and not out of the check."""
        return any(exc is known for known in self._raised)

    @property
    def output(self) -> str:
        """What the program wrote to its standard output and error so far, up to the limit."""
        if self._execution is None:
            return self._script_output
        self._execution.drain_output()
        return self._execution.output.text() + self._script_output

    @property
    def seconds(self) -> float:
        """Wall-clock seconds that the program itself used; the check's own time is not in it."""
        return (self._execution.seconds if self._execution else 0.0) + self._script_seconds

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of the program and what it started; known once its execution has ended."""
        return (self._execution.cpu if self._execution else 0.0) + self._script_cpu

    # -- the life of the execution --------------------------------------------------------------

    def _need_execution(self) -> Execution:
        """Return the execution in which the program is loaded; it is loaded on first use."""
        if self._failure is not None:
            self._stop(self._failure)
        if self._execution is None:
            self._execution = self._start()
            self._execution.send(self._encode_program("load", self._entry_point))
            problem = self._await_result(self._execution, (), {})
            if problem is not None:
                self._fail(*read_problem(("result", problem, None)))
        return self._execution

    def _encode_program(self, verb: str, detail: Any) -> bytes:
        try:
            return encode((verb, self._program, detail))
        except wire.WireError as error:
            self._fail("resource", f"the program cannot be sent: {error}")

    def finish(self) -> None:
        """Load the program if the check never used it, so that a broken one is found out.

        Raises
        ------
        SandboxError
            When the jail failed, even if the check took that for an exception of the program.
        """
        broken = self._broken
        if broken is None and self._execution is not None:
            broken = self._execution.broken
        if broken is not None:
            raise broken
        if self._execution is None and not self._was_run and self._failure is None:
            with contextlib.suppress(ProgramStopped):
                self._need_execution()

    def close(self) -> None:
        """End the program and all it started."""
        if self._execution is not None:
            self._execution.close()

    # -- requests -------------------------------------------------------------------------------

    def ask(self, verb: str, *operands: Any) -> Any:
        """Have the program do something; its result."""
        with self._lock:
            execution = self._need_execution()
            execution.send(self._encode((verb, *operands)))
            return self._await_result(execution, (), {})

    def call_object(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an object of the program, None for the entry point."""
        with self._lock:
            execution = self._need_execution()
            track = any(map(may_change, args)) or any(map(may_change, kwargs.values()))
            execution.send(self._encode(("call", target, args, kwargs, track)))
            return self._await_result(execution, args, kwargs)

    def _stop(self, failure: Failure) -> NoReturn:
        self._failure = self._failure or failure
        stop = ProgramStopped(self._failure)
        self._raised.append(stop)
        raise stop

    def _fail(self, cause: Cause, detail: str, traceback: str = "") -> NoReturn:
        self._stop(Failure(cause=cause, detail=detail, traceback=traceback))

    def _encode(self, request: Any) -> bytes:
        try:
            return encode(request, self._send_value)
        except wire.WireError as error:
            raise TypeError(f"an argument cannot be sent to the program: {error}") from None

    def _send_value(self, value: Any) -> Any:
        if isinstance(value, Handle) and value._candidate is self:  # noqa: SLF001
            return wire.Built(wire.REFERENCE, (value._number,))  # noqa: SLF001
        if isinstance(value, ProgramIterator):
            return self._send_value(value._handle)  # noqa: SLF001
        if callable(value):
            self._callbacks.append(value)
            return wire.Built(wire.CALLBACK, (len(self._callbacks) - 1,))
        if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
            return value.tolist()
        raise wire.WireError(f"a value of type {type(value).__name__} is not plain data")

    def _build(self, operation: int, parts: list[Any]) -> Any:
        if operation == wire.REFERENCE:
            number, kind, name = parts
            if type(number) is int and type(name) is str:
                handle = Handle(self, number, name)
                return ProgramIterator(handle) if kind == "iterator" else handle
        raise wire.WireError("a reference is malformed")

    def _await_result(
        self, execution: Execution, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        while True:
            try:
                match decode(execution.receive(), self._build):
                    case ("callback", number, callback_args, callback_kwargs):
                        function = self._callbacks[number]
                        self._call_back(execution, function, callback_args, callback_kwargs)
                        continue
                    case ("result", value, changed):
                        apply_changes(args, kwargs, changed)
                        self._raise_failed_assertion()
                        return value
                    case (str(kind), raised, changed):
                        apply_changes(args, kwargs, changed)
                        told = Raised(*raised)
                    case _:
                        self._fail("exception", "the program broke the protocol")
            except ProgramStopped as stop:
                self._stop(stop.failure)
            except (wire.WireError, ValueError, TypeError, LookupError) as broken:
                self._fail("exception", f"the program's answer is no plain data: {broken}")
            self._raise_failed_assertion()
            raise self._as_exception(kind, told)

    def _as_exception(self, kind: str, told: Raised) -> Exception:
        """Return what to raise for an exception of the program that a check may catch."""
        if kind == "interface":
            self._fail("interface", f"{self._entry_point}: {told.message}", told.text)
        if kind == "unsayable":
            self._fail("resource", f"the answer cannot be sent: {told.message}", told.text)
        if told.name == "MemoryError":
            self._fail("resource", "MemoryError: over the memory allowed", told.text)
        error = told.exception()
        if error is None:
            self._fail("exception", f"the program raised {told.name}: {told.message}", told.text)
        self._raised.append(error)
        return error

    def _raise_failed_assertion(self) -> None:
        """Raise what a callback asserted in vain, which the program may have caught."""
        error, self._failed_assertion = self._failed_assertion, None
        if error is not None:
            raise error

    def _call_back(
        self, execution: Execution, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> None:
        try:
            message = self._encode(("return", function(*args, **kwargs)))
        except Exception as error:  # noqa: BLE001 - the check's own function; told to the program
            if isinstance(error, AssertionError):
                self._failed_assertion = error
            name = type(error).__name__ if type(error).__module__ == "builtins" else "RuntimeError"
            message = encode(("raise", name, [str(error)]))
        execution.send(message)


_LOAD_CAUSES: tuple[Cause, ...] = ("syntax", "exception", "resource", "interface")


def read_problem(answer: Any) -> tuple[Cause, str, str]:
    """Return cause, detail and traceback of what the program's side says about loading."""
    match answer:
        case ("result", (str(cause), str(detail), str(text)), _):
            for known in _LOAD_CAUSES:
                if cause == known:
                    return known, detail, text
    return "exception", "the program broke the protocol", ""
