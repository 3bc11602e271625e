"""The candidate that a check calls: a proxy for a program that runs in the jail.

The module is long because requests, callbacks, answers and exceptions share one record: whether the
program or the check has failed, and of what.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pytest_promptse.errors import SandboxError, TaskError
from pytest_promptse.sandbox._annotations import dangerous_annotation
from pytest_promptse.sandbox._blocks import in_message, is_in_handler, may_suppress
from pytest_promptse.sandbox._causes import (
    BrokenCheck,
    Cause,
    CheckEnded,
    Failure,
    ProgramError,
    ProgramInterrupt,
    ProgramStopped,
)
from pytest_promptse.sandbox._check_objects import CheckObjects
from pytest_promptse.sandbox._extent import require_extent
from pytest_promptse.sandbox._failing import failed_assertion, is_assertion
from pytest_promptse.sandbox._handle import (
    NO_INFO,
    READ_NAMES,
    EntryPoint,
    Handle,
    HandleType,
    Module,
    is_of_program,
    mark_step,
    reference_of,
    refuse,
)
from pytest_promptse.sandbox._languages import (
    require_common_kind,
    require_common_operations,
    require_common_types,
)
from pytest_promptse.sandbox._lending import CannotCrossError, is_configured
from pytest_promptse.sandbox._program_objects import ProgramObjects, require_number
from pytest_promptse.sandbox._raised import (
    build_exception,
    interrupt,
    is_silent,
    stand_in,
    without_stop,
)
from pytest_promptse.sandbox._values import refresh
from pytest_promptse.sandbox.guest import objects, standard, wire
from pytest_promptse.sandbox.guest.containers import Containers, update
from pytest_promptse.sandbox.guest.decode import decode
from pytest_promptse.sandbox.guest.encode import encode
from pytest_promptse.sandbox.guest.twins import may_be_twin, of_program
from pytest_promptse.sandbox.guest.unpatched import __builtins__, contextlib, threading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_promptse.sandbox._execution import Execution
    from pytest_promptse.sandbox._surroundings import CheckSurroundings

__all__ = [
    "BrokenCheck",
    "Candidate",
    "Cause",
    "CheckEnded",
    "Failure",
    "Handle",
    "ProgramError",
    "ProgramStopped",
]
_OWN_REFERENCES = 4
"""Number of references, as ``sys`` counts them, to a container that only its twin refers to."""

_STOPS = (StopIteration, StopAsyncIteration)
_ENDINGS = (KeyboardInterrupt, SystemExit, GeneratorExit)


@dataclass(frozen=True, kw_only=True)
class ScriptResult:
    """The streams (bounded, undecodable bytes replaced) and the status of a run as a script.

    ``returncode`` is that of the process, negative for the signal that ended it.
    """

    stdout: str
    stderr: str
    returncode: int


class _Shared(NamedTuple):
    """A container of the program, and its number there."""

    number: int
    value: Any
    is_new: bool


class Candidate(EntryPoint):
    # The program's entry point, used in the jail; made by ``SandboxPool.load``.
    #
    # Calling a candidate calls the entry point. Any attribute that is not defined here is the entry
    # point's, or else a name of the program's module: ``candidate.cache_info()``,
    # ``candidate.MyError``. ``docs/reference/candidate.md`` lists the values that can be passed and
    # returned. This text is no docstring, since ``candidate.__doc__`` is the entry point's.

    def __init__(
        self,
        program: str,
        *,
        entry_point: str,
        start: Callable[..., Execution],
        language: str = "python",
        before_loan: Callable[[], None] | None = None,
        writable: tuple[str, ...] = ("/",),
    ) -> None:
        self._program = program
        self._writable = writable
        self._entry_point = entry_point
        self._language = language
        self._start = start
        self._before_loan = before_loan
        # That in which the program is loaded, and all, with those of runs as a script.
        self._execution: Execution | None = None
        self._executions: list[Execution] = []
        self._failure: Failure | None = None
        # Every exception that the program has sent, raised or as a value or a cause, and the
        # failure that it is if it ends the check, and the program's traceback.
        self._raised: dict[int, tuple[BaseException, Failure | None, str]] = {}
        self._check_objects = CheckObjects()
        self._program_objects = ProgramObjects()
        self._lock = threading.RLock()
        self._answers = 0
        # Number of `_Shared` in the message that is being read.
        self._marks = 0
        # The exceptions of that message which `_as_value` has replaced.
        self._silent: dict[int, BaseException] = {}
        # Number and message of each change that is not taken yet.
        self._updates: deque[tuple[int, bytes]] = deque()
        self._broken_check = ""
        self._surroundings: CheckSurroundings | None = None
        self._is_closed = False
        self._has_class = False
        # The assertions of the check that have failed, as far as they are known.
        self.failed: list[BaseException] = []
        self.requests = 0
        self.compared: dict[Any, list[Any]] = {}

    # -- what checks use ------------------------------------------------------------------------

    @property
    def promptse_owner(self) -> Candidate:
        return self

    def __getattr__(self, name: str) -> Any:
        is_private = name.startswith("_") and name not in READ_NAMES
        if is_private or "_lock" not in self.__dict__:
            raise AttributeError(f"a candidate has no {name!r}")
        return self.ask("find", name)

    @property
    def module(self) -> Any:
        """The program as a module: ``candidate.module.helper(3)``, ``candidate.module.Stack()``."""
        self._need_execution()
        return Module(self)

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.ask("find", "__doc__")

    def run(self, stdin: str = "", args: Sequence[str] = ()) -> ScriptResult:
        """Run the program as ``python program.py ARGS`` in a process of its own.

        Raises
        ------
        ProgramStopped
            If the program does not compile, or uses up its limits.
        """
        if self._failure is not None:
            self._stop(self._failure)
        if self._language != "python":
            self.break_check("candidate.run() is for Python; take the fixture 'program'")
        execution = self._start(stdin=stdin.encode("utf-8", "surrogateescape"), separate=True)
        self._executions.append(execution)
        try:
            execution.send(self._encode_program("script", list(args)))
            self._require_compiled(decode(execution.receive()))
            if execution.receive_to_end() is not None:
                self.fail("exception", "the program broke the protocol")
            code = execution.returncode()
        except ProgramStopped:
            self._stop(execution.exceeded)
        except wire.WireError as broken:
            self.fail("exception", f"the program broke the protocol: {broken}")
        finally:
            execution.close()
        self._answers += 1
        return ScriptResult(
            stdout=execution.output.text(), stderr=execution.errors.text(), returncode=code
        )

    @property
    def failure(self) -> Failure | None:
        """The first failure that stopped the program, even if the check caught the exception.

        A program that the check never used is loaded to find out whether it fails.
        """
        self.finish()
        return self._failure

    def raised(self, exc: BaseException) -> bool:
        """Return whether `exc`, which ended the check, came from the program.

        If `exc` is no `Exception`, or the `TypeError` of a call that does not fit the program's
        signature, the failure is final. In the second case the program's interface is not the one
        that the check expects.
        """
        known, failure, text = self._raised.get(id(exc), (None, None, ""))
        if failure is not None:
            self._failure = self._failure or failure
        if known is exc and text:
            # Not earlier, since the check may read the program's notes. ``add_note`` looks for the
            # notes by ``getattr``, which would ask the program.
            notes = exc.__dict__.setdefault("__notes__", [])
            notes += [] if text in notes else [text]
        return known is exc

    @property
    def used(self) -> bool:
        """True if the check has received anything of the loaded program, or it has printed."""
        return self._answers > 0 or bool(self.output)

    @property
    def output(self) -> str:
        """The standard output and error of the program so far, up to the limit."""
        streams: dict[Any, None] = {}
        for execution in self._executions:
            execution.drain_output()
            streams |= dict.fromkeys((execution.output, execution.errors))
        return "".join(stream.text() for stream in streams)

    @property
    def seconds(self) -> float:
        """Wall-clock seconds that the program itself used, without the time of the check."""
        return sum(execution.seconds for execution in self._executions)

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of the program and its child processes; known after the execution."""
        return sum(execution.cpu for execution in self._executions)

    # -- the life of the execution --------------------------------------------------------------

    def _need_execution(self) -> Execution:
        """Return the execution in which the program is loaded. It is loaded on first use."""
        if self._is_closed:
            raise BrokenCheck(
                "the check uses an object of a program whose verdict was given before; use "
                "candidate and what comes from it within one call of the test function"
            )
        if self._broken_check:
            raise BrokenCheck(self._broken_check)
        if self._failure is not None:
            self._stop(self._failure)
        if self._execution is None:
            captures = self._surroundings is not None and self._surroundings.captures
            self._execution = self._start(separate=captures)
            self._executions.append(self._execution)
            self._execution.send(self._encode_program("load", self._entry_point))
            try:
                # A guest of another language compiles the program itself, after this one has run.
                for _ in ("guest", "program") if self._language != "python" else ("program",):
                    self._require_compiled(decode(self._execution.receive()))
            except ProgramStopped:
                self._stop(self._execution.exceeded)
            except wire.WireError as broken:
                self.fail("exception", f"the program broke the protocol: {broken}")
            answer = self._await_result(self._execution, (), stops=False)
            if answer is not None and answer is not True:
                self.fail(*read_problem(answer, _LOAD_CAUSES))
            self._has_class = answer is True
            self._answers -= 1  # that it is loaded is no value of the program
        return self._execution

    def _require_compiled(self, answer: Any) -> None:
        """Read the first message of a program's process, which no code of the program precedes."""
        if answer != wire.COMPILED:
            problem = answer[1] if type(answer) is tuple and len(answer) > 1 else None
            self.fail(*read_problem(problem, _FIRST_CAUSES))

    def _encode_program(self, verb: str, detail: Any) -> bytes:
        try:
            return encode((verb, self._program, detail))
        except wire.WireError as error:
            self.fail("resource", f"the program cannot be sent: {error}")

    def finish(self) -> None:
        """Load the program if the check never used it, so that a broken program is detected.

        Raises
        ------
        SandboxError
            If the jail failed, even if the check caught the failure as an exception of the program.
        TaskError
            If the check used the program in a way that the sandbox cannot carry out, even if it
            caught the exception.
        """
        if self._broken_check:
            raise TaskError(self._broken_check)
        for execution in self._executions:
            if execution.broken is not None:
                raise execution.broken
        if not self._executions and self._failure is None:
            with contextlib.suppress(ProgramStopped):
                self._need_execution()
        if self._execution is not None and self._failure is None:
            # The program may have been stopped while the check ran, without a later request.
            self._failure = self._execution.exceeded
        compared, self.compared = self.compared, {}
        if self._failure is None and not self.failed:
            for comparison in compared.values():
                self._compare_again(*comparison)
                self._broken_check = ""

    def _compare_again(self, name: str, handle: Any, value: Any, has_answered: bool) -> None:
        """Compare with the true value, of which the program learns when the check has ended.

        What the comparison raises is a failure of the program. It is none if the value cannot be
        sent, or if the program has raised an exception in the check already.
        """
        is_sent = False
        try:
            is_sent = self.can_send(value)
            if is_sent and bool(self.ask("operate", name, handle, value)) is (name == "eq"):
                refuse(handle, "equality")
        except SandboxError:
            raise
        except (Exception, CheckEnded) as error:  # noqa: BLE001 - the program's, or of the check's value
            if is_sent and has_answered and not isinstance(error, BrokenCheck):
                text = f"a comparison raised {type(error).__name__}: {safe_text(error)}"
                self._failure = self._failure or Failure(cause="exception", detail=text)

    def close(self) -> None:
        """End the program and all its processes."""
        self._is_closed = True
        self._check_objects.close()
        # Tracebacks and mirrored classes lead back here. What only the collector can free would
        # take the memory of the next programs that the same process judges.
        self._raised.clear()
        self._program_objects = ProgramObjects()
        self._check_objects = CheckObjects()
        self.failed.clear()
        self.compared.clear()
        if self._execution is not None:
            self._execution.close()

    # -- requests -------------------------------------------------------------------------------

    def ask(self, verb: str, *operands: Any, stops: bool = False) -> Any:
        """Send a request to the program and return its result.

        `verb` names the request, such as ``get``, and `operands` are its values. Objects are
        handles, and other values are copied. Exceptions of the program are raised here, with
        `stops` the end of an iterator as it is.
        """
        with self._lock:
            result = self._request(verb, *operands, stops=stops)
            if verb in ("get", "find"):
                if operands[-1] == "__annotations__":
                    return self._annotations(result.value if type(result) is _Shared else result)
                if isinstance(result, HandleType):
                    self._annotate(result)
            return self._share(result) if type(result) is _Shared else result

    def _request(self, verb: str, *operands: Any, stops: bool = False) -> Any:
        execution = self._need_execution()
        passed = self._send(execution, (verb, *operands))
        return self._await_result(execution, passed, stops=stops)

    def _annotate(self, cls: HandleType) -> None:
        """Give a class of the program its annotations, which `typing` reads from ``__dict__``.

        Those that would run code of the program are left out.
        """
        for kind in cls.__mro__:
            if (
                isinstance(kind, HandleType)
                and kind.promptse_info is not NO_INFO
                and "__annotations__" not in vars(kind)
            ):
                kind.__annotations__ = {}
                try:
                    found = self._request("get", kind, "__annotations__")
                except Exception as error:
                    if not self.has_raised(error):  # an assertion of a function of the check
                        raise
                    continue
                if type(found) is dict and dangerous_annotation(found) is None:
                    kind.__annotations__ = found

    def _annotations(self, value: Any) -> dict[Any, Any]:
        """Return the annotations of an object as a copy, which the program cannot change later."""
        if type(value) is not dict:
            raise AttributeError("__annotations__ is no dict")
        text = dangerous_annotation(value)
        if text is not None:
            self.fail(
                "interface",
                f"the program's annotation {text[:100]!r} is more than a type; the check would run "
                "it, as typing.get_type_hints does",
            )
        return value

    def call(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, name: str = ""
    ) -> Any:
        """Call an object of the program, None for the entry point, or its method `name`.

        `args` and `kwargs` are copied to the program, and its changes to them are applied
        afterwards. An exception of the program is raised here. A traceback arrives as None, since
        its frames are those of the check. A callable that is told of the exception that ends a
        block returns None here, since `contextlib.ExitStack` asks it whether to suppress that.
        """
        leaving = sys.exception()
        told = leaving is not None and any(value is leaving for value in args)
        args = tuple(None if isinstance(value, TracebackType) else value for value in args)
        called = ("method", target, name) if name else ("call", target)
        # A class can claim to be Python's own generator, which may end at any value as well.
        is_generator = type(target).__module__ == "builtins"
        stops = name in ("send", "throw") and is_generator
        with self._lock:
            execution = self._need_execution()
            self._require_positional(kwargs)
            passed = self._send(execution, (*called, args, kwargs))
            result = self._await_result(execution, passed, stops=stops)
        if name and not isinstance(target, HandleType):
            refresh(target)
        is_guarded = name in ("__exit__", "__aexit__", "athrow")
        if leaving is not None and told and not is_guarded and not is_in_handler(leaving):
            return _without_result(result) if hasattr(type(result), "__await__") else None
        if name in ("asend", "athrow") and is_generator:
            mark_step(result)
        return self._share(result) if type(result) is _Shared else result

    def _require_positional(self, kwargs: dict[str, Any]) -> None:
        if kwargs and self._language != "python":
            self.break_check(
                f"a function in {self._language} takes no keyword arguments such as "
                f"{next(iter(kwargs))}=; pass a dict, which arrives as an object"
            )

    def can_send(self, value: Any) -> bool:
        """Return whether the program can be given `value`."""
        with self._lock:
            # Nothing is sent, so the objects that the encoder registers are dropped.
            registered, self._check_objects = self._check_objects, CheckObjects()
            try:
                encode(value, self._send_value)
            except wire.WireError:
                return False
            finally:
                self._check_objects = registered
        return True

    def has_class(self) -> bool:
        """Return whether the entry point is a class."""
        self._need_execution()
        return self._has_class

    def has_raised(self, error: BaseException) -> bool:
        """Return whether `error` is an exception of the program."""
        return self._raised.get(id(error), (None,))[0] is error

    def require_no_failure(self, *, in_handler: bool = False) -> None:
        """Raise an assertion of the check that has failed and counts, if there is one.

        `in_handler` is that of `failed_assertion`.
        """
        error = failed_assertion(self.failed, self.has_raised, in_handler=in_handler)
        if error is not None:
            raise error

    def break_check(self, text: str) -> NoReturn:
        """End the check because it does what the sandbox cannot carry out; `text` says what."""
        self._broken_check = self._broken_check or text
        raise BrokenCheck(self._broken_check)

    def fail(self, cause: Cause, detail: str, traceback: str = "") -> NoReturn:
        """End the check with a failure of the program.

        `cause` and `detail` are what the report shows, and `traceback` is the program's own.
        """
        self._stop(Failure(cause=cause, detail=detail, traceback=traceback))

    def _stop(self, failure: Failure | None) -> NoReturn:
        self._failure = (
            self._failure or failure or Failure(cause="exception", detail="the program has ended")
        )
        stop = ProgramStopped(self._failure)
        self._raised[id(stop)] = (stop, self._failure, "")
        raise stop

    def _send(self, execution: Execution, request: tuple[Any, ...]) -> list[Any]:
        """Send a request and return the values that it passes, by number."""
        self.require_no_failure()
        self._take_updates()
        self._hand_over(execution, request)
        passed: list[Any] = []
        message = self._encode(request, made=passed)
        self.requests += 1
        released = self._program_objects.take_released()
        if released:
            execution.send(encode(("release", released)))
        execution.send(message)
        return passed

    def _hand_over(self, execution: Execution, message: tuple[Any, ...]) -> None:
        """Send what the check has changed since the program ran.

        `message` is sent afterwards. It is encoded then, since the first mention of an object
        describes it.
        """
        self._send_surroundings(execution, message)
        self._send_twins(execution)

    def use_surroundings(self, surroundings: CheckSurroundings) -> None:
        """Hand over what the check sets up around the program, and take over its effects."""
        self._surroundings = surroundings

    def _send_surroundings(self, execution: Execution, request: tuple[Any, ...]) -> None:
        if self._surroundings is None:
            return
        if self._surroundings.starts_to_capture():
            self._surroundings.skip_output(execution)
        operands = [part for item in request for part in (item if type(item) is tuple else [item])]
        try:
            changes = self._surroundings.changes(operands)
        except wire.WireError as error:
            self._refuse_size(f"a temporary folder cannot be handed to the program: {error}")
        if self._language != "python":
            self._require_common_surroundings(changes, operands)
        self._require_writable(changes.get("folders_changed", ()))
        patches = changes.pop("patches", [])
        if changes:
            execution.send(self._encode(("surroundings", changes)))
        # A guest of another language has no standard library of Python.
        for module, path, values in patches if self._language == "python" else ():
            for value in values or ():
                is_own = isinstance(value, type) and standard.name_of(value) is None
                if is_own and not objects.CONTENT.keys().isdisjoint(value.__mro__):
                    self.break_check(
                        f"the patch of {module}.{path} is a class with a base whose values are "
                        "copied, so its methods do not reach the program; patch it by a class "
                        "without a base"
                    )
            with self._sending(f"the patch of {module}.{path}"):
                message = encode(
                    ("surroundings", {"patches": [(module, path, values)]}), self._send_value
                )
            execution.send(message)

    def _require_writable(self, folders: Iterable[str]) -> None:
        """Break the check if the jail cannot have one of its folders. The program is not asked."""
        for path in folders:
            if not path.startswith(self._writable):
                self.break_check(
                    f"the temporary folder {path} cannot be handed to the program at this level of "
                    "isolation; set TMPDIR and --basetemp to folders below /tmp, or with "
                    "--promptse-sandbox bwrap to any outside of /dev, /etc, /proc and /sys; or "
                    "pass the text"
                )

    def _require_common_surroundings(self, changes: dict[str, Any], operands: list[Any]) -> None:
        """Break the check if the program needs surroundings that its guest cannot set up."""
        folders = tuple(changes.pop("folders_changed", {}))
        names = [part for part in operands if type(part) is str and part.startswith(folders)]
        if (folders and names) or changes.keys() & {"directory", "stdin"}:
            self.break_check(
                "what the check sets up by tmp_path, chdir or sys.stdin cannot be handed to a "
                f"program in {self._language}; pass the text, or take the fixture 'program'"
            )

    def _share(self, shared: _Shared) -> Any:
        """Return a container of the program: the check's copy if it has one, with the content."""
        twins, number = self._check_objects.twins, of_program(shared.number)
        if shared.is_new and twins.parts(number) is not None:  # which may be the check's own
            self._announce_loan()
        self._program_objects.count(shared.number)
        return twins.add(number, shared.value, is_new=shared.is_new)

    def _send_twins(self, execution: Execution) -> None:
        """Send the program the check's changes to what both have, and drop unused containers."""
        twins = self._check_objects.twins
        with self._sending():
            for number, twin, change in twins.changes():
                message = self._encode(change, twin.parts.numbers)
                execution.send(encode(("update", number)))
                execution.send(message)
                twin.note()
                del twin, change
        for number in twins.numbers_of_program():
            if sys.getrefcount(twins.value(of_program(number))) <= _OWN_REFERENCES:
                twins.drop(of_program(number))
                self._program_objects.release(number)

    def _encode(self, request: Any, known: Any = None, made: list[Any] | None = None) -> bytes:
        with self._sending():
            message = encode(request, self._send_value, known, made)
            if self._language != "python":
                require_common_types(message, self._language)
        return message

    @contextlib.contextmanager
    def _sending(self, what: str = "an argument") -> Iterator[None]:
        """End the check if a value cannot be sent, and say whose fault it is.

        `what` names the value.
        """
        try:
            yield
        except wire.TooLargeError as error:
            self._refuse_size(f"{what} cannot be sent to the program: {error}")
        except wire.WireError as error:
            self.break_check(f"{what} cannot be sent to the program: {error}")

    def _refuse_size(self, text: str) -> NoReturn:
        """End the check because something is too large, and say whose fault it is.

        A program that has sent any value, even a small number, may have chosen the size.
        """
        if self.used:
            self.fail("resource", f"{text}; its size may depend on the program")
        self.break_check(text)

    def _send_value(self, value: Any) -> wire.Built:
        self._require_unraised(value)
        if is_of_program(value):
            if getattr(value, "promptse_owner", None) is not self:
                raise CannotCrossError("an object of another program cannot be sent to this one")
            reference = reference_of(value)
            if reference is not None:
                return wire.Built(wire.REFERENCE, reference)
            self.fail("interface", "a value of the program's class has no object there")
        if isinstance(value, EntryPoint) and value.promptse_owner is self:
            return wire.Built(wire.REFERENCE, (wire.ENTRY_NUMBER,))
        return self._lend(value)

    def _require_unraised(self, value: Any) -> None:
        """Raise a failed assertion of the check that would be sent to the program.

        The program could decide whether it counts.
        """
        is_raised = isinstance(value, BaseException) and value.__traceback__ is not None
        if is_raised and not self.has_raised(value) and is_assertion(value):
            raise value

    def _lend(self, value: Any) -> wire.Built:
        if self._language != "python":
            require_common_kind(value, self._language)
        self._announce_loan()
        return self._check_objects.describe(value)

    # -- answers ----------------------------------------------------------------------------------

    def _build(self, operation: int, parts: list[Any]) -> Any:  # noqa: PLR0911 - one for each
        if operation == wire.REFERENCE:
            return self._program_objects.build(self, parts)
        if operation == wire.PROXY:
            return self._check_objects.build(parts)
        if operation == wire.STANDARD:
            return standard.build(parts, in_program=False)
        if operation == wire.NAMED:
            return stand_in(standard.named(parts))
        if operation == wire.CLASS:
            return self._program_objects.build_class(self, parts)
        if operation == wire.EXCEPTION:
            error = build_exception(self, parts)
            if parts[1] >= 0:
                self._program_objects.count(parts[1])
            self._raised[id(error)] = (error, None, "")
            return self._as_value(error) if is_silent(type(error)) else error
        if operation == wire.ARRAY:
            return objects.build_array(parts)
        if operation == wire.SHARED:
            self._marks += 1
            require_number(parts[0])
            return _Shared(*parts)
        raise wire.WireError("an operation is unknown")

    def _as_value(self, error: BaseException) -> BaseException:
        """Return the exception to give the check for one that would end a part of it in silence.

        The check may raise what the program has returned.
        """
        value = without_stop(error)
        self._raised[id(value)] = (value, None, "")
        self._silent[id(value)] = error
        return value

    def _await_result(  # noqa: C901 - one for each kind of message
        self, execution: Execution, passed: Sequence[Any], *, stops: bool
    ) -> Any:
        """Return the program's answer. If `stops` is True, ``StopIteration`` is raised as it is.

        Requests of the program to use objects of the check are served meanwhile. `passed` are the
        values of the request, to which the program's changes are applied.
        """
        updated: set[int] = set()
        kept: list[Any] = []
        while True:
            made: list[Any] = []
            try:
                message = self._receive(execution, passed, made)
                if self._surroundings is not None and self._surroundings.captures:
                    self._surroundings.write_output(execution)
                match message:
                    case ("update", int(number)) if number not in updated:
                        updated.add(number)
                        self._updates.append((number, execution.receive()))
                        continue
                    case ("kept", list(kept)):
                        continue
                    case ("effects", dict(effects)) if self._surroundings is not None:
                        self._announce_loan()
                        failed = self._surroundings.apply(effects)
                        self.failed += [failed] if failed is not None else []
                        continue
                    case ("callback", _, _, _, _):
                        self._take_updates()
                        self._call_back(execution, message[1:], made)
                        updated.clear()
                        continue
                    case ("result", value, changed):
                        self._take_updates()
                        self._apply(passed, changed, kept)
                        return value
                    case (str(kind), BaseException() as error, str(text), changed):
                        error = self._silent.get(id(error), error)
                        self._take_updates()
                        self._apply(passed, changed, kept)
                    case _:
                        self.fail("exception", "the program broke the protocol")
            except ProgramStopped:
                self._stop(execution.exceeded)
            except (
                wire.WireError, ValueError, TypeError, LookupError, RecursionError, AttributeError
            ) as broken:  # fmt: skip
                self.fail("exception", f"the program's answer is no plain data: {broken}")
            try:
                raise self._as_raised(kind, error, text, stops=stops)
            finally:
                # Its traceback has this frame, so only the collector could free the exception.
                del message, error, made

    def _take_updates(self) -> None:
        """Take the changes of what both have, which may contain the check's own containers.

        They are read once the program answers requests again, since it computes the hash of its
        own objects where these are keys.
        """
        while self._updates:
            number, data = self._updates.popleft()
            self._announce_loan()
            change = self._decode(data, self._check_objects.twins.parts(number), [])
            try:
                self._check_objects.update(number, change)
            except wire.InUseError as error:
                self.break_check(
                    f"{error}; finish reading it (fetchall) before candidate is called"
                )

    def _receive(self, execution: Execution, known: Any, made: list[Any]) -> Any:
        return self._decode(execution.receive(), known, made)

    def _decode(self, data: bytes, known: Any, made: list[Any]) -> Any:
        self._answers += 1
        self._marks = 0
        self._silent.clear()
        if self._language != "python":
            require_common_operations(data, self._language)
        named: list[Any] = []
        try:
            message = decode(data, self._build, known, made, named)
            require_extent(message, known or (), is_repeating=len(named) > 1)
        except (MemoryError, wire.TooLargeError):
            self.fail("resource", "the program's answers are too large for the check's process")
        parts = message[1:2] if type(message) is tuple else ()
        if self._marks != sum(type(part) is _Shared for part in parts):
            raise wire.WireError("a part of an answer is what only a whole answer can be")
        return message

    def _apply(self, passed: Sequence[Any], changes: Any, kept: Sequence[Any]) -> None:
        if self.failed:
            self.require_no_failure()
        if changes:
            self._announce_loan()
            update(passed, changes)
        # Share arguments that the program has kept, so that each stays one object of both.
        for argument, number in kept:
            if may_be_twin(argument):
                self._program_objects.count(number)
                self._check_objects.twins.add(of_program(number), argument)

    def _announce_loan(self) -> None:
        """Call the hook before the check's state can change for the first time."""
        hook, self._before_loan = self._before_loan, None
        if hook is not None:
            hook()

    def _as_raised(
        self, kind: str, error: BaseException, text: str, *, stops: bool
    ) -> BaseException:
        """Return the exception to raise for one of the program's that a check may catch.

        `kind` is that of the message, and `text` the program's traceback. A failure that no check
        may catch, such as too much memory, ends the execution instead. `stops` is that of
        `_await_result`.
        """
        words = safe_text(error)  # which may be computed by a function of the check
        self.require_no_failure(in_handler=True)
        if in_message():
            raise AssertionError("the program raised an exception in the message of an assertion")
        leaving = sys.exception()
        if isinstance(leaving, Exception) and not (
            is_in_handler(leaving)
            or (self.has_raised(leaving) and not isinstance(error, _STOPS))
            or may_suppress(leaving, is_of_program=self.has_raised(leaving))
        ):
            # It would replace what is ending a block of the check, or suppress it as the end of a
            # generator.
            return leaving
        name = type(error).__name__
        failure = None
        if kind == "unsendable":
            self.fail("resource", f"the answer cannot be sent: {words}", text)
        if isinstance(error, MemoryError):
            self.fail("resource", "MemoryError: over the memory allowed", text)
        is_kept = stops if isinstance(error, _STOPS) else not self.has_raised(error)
        if is_silent(type(error)) and not is_kept:
            error = without_stop(error)
        elif not isinstance(error, Exception):
            error = interrupt(error)
            failure = Failure(cause="exception", detail=f"the program raised {name}: {words}")
        if isinstance(error, ProgramError):
            error.__dict__["traceback_text"] = text
            error.__dict__.setdefault("type_name", name)
        if kind == "interface":
            failure = Failure(
                cause="interface", detail=f"{self._entry_point}: {words}", traceback=text
            )
        self._raised[id(error)] = (error, failure, text)
        return error

    def _call_back(
        self, execution: Execution, request: tuple[Any, ...], made: Sequence[Any]
    ) -> None:
        """Perform the program's operation on an object of the check, and send back the result.

        `request` has the number of the object, what to do with it, such as ``get`` or ``call``, the
        arguments and the keyword arguments. All of these values come from the program and are not
        trusted. An exception of the object is sent back, and so are its changes of `made`, the
        values of the request.
        """
        passed = Containers(made)
        try:
            with execution.callback():
                result = self._check_objects.use(*request)
            self._hand_over(execution, ("return", result))
            value = self._check_objects.get(request[0])
            is_chosen = any(request[2:]) and not is_configured(value, request[1], result)
            message = self._encode_result(result, passed, is_chosen=is_chosen)
        except CannotCrossError as error:
            self.break_check(str(error))
        except wire.WireError:
            raise
        except (
            BaseException
        ) as error:  # an exception of the check's object, which is sent to the program
            if isinstance(error, ProgramStopped | BrokenCheck):
                raise
            if isinstance(error, _ENDINGS):
                # At the program's request, such as ``throw``: not the user's wish to stop pytest.
                self._raised[id(error)] = (error, None, "")
            if not isinstance(error, ProgramInterrupt) and is_assertion(error):
                self.failed.append(error)  # again, since the program may catch it
                error = RuntimeError("the check has failed")
            self._hand_over(execution, ("raise", error))
            message = self._encode(("raise", error, passed.changes()), passed.numbers)
        execution.send(message)

    def _encode_result(self, result: Any, passed: Containers, *, is_chosen: bool) -> bytes:
        """Return the message for the result of an operation of the program.

        With `is_chosen`, the program chose the arguments. A result that cannot be sent is then an
        exception in the program, which could otherwise choose an error of the item.
        """
        try:
            answer = ("return", result, passed.changes())
            return encode(answer, self._send_value, passed.numbers)
        except wire.TooLargeError as error:
            self.fail("resource", f"the result of a function of the check is too large: {error}")
        except CannotCrossError as error:
            if not is_chosen:
                self.break_check(f"a result cannot be sent to the program: {error}")
            raise TypeError(f"a result cannot be sent to the program: {error}") from None


async def _without_result(awaitable: Any) -> None:
    await awaitable


def safe_text(error: BaseException) -> str:
    """Return ``str(error)``, or an empty string if that raises."""
    try:
        return str(error)
    except (Exception, CheckEnded):  # noqa: BLE001 - what a program forged, a handle's text
        return ""


_FIRST_CAUSES: tuple[Cause, ...] = ("syntax",)
_LOAD_CAUSES: tuple[Cause, ...] = ("exception", "resource", "interface")


def read_problem(problem: Any, causes: tuple[Cause, ...]) -> tuple[Cause, str, str]:
    """Return cause, detail and traceback of what the guest says of loading the program.

    `causes` are those that it can know.
    """
    match problem:
        case (str(cause), str(detail), str(text)):
            for known in causes:
                if cause == known:
                    return known, detail, text
    return "exception", "the program broke the protocol", ""
