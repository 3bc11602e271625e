"""The assertions of a check that have failed, in whichever thread or task they are.

While one of them counts, the program is not asked for anything: what it does cannot matter to its
verdict, and could only hide the assertion.
"""

from __future__ import annotations

import sys
from ast import NodeTransformer
from types import AsyncGeneratorType, CoroutineType, GeneratorType, TracebackType
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox import _blocks
from pytest_promptse.sandbox._causes import CheckEnded
from pytest_promptse.sandbox._watch import Watchdog
from pytest_promptse.sandbox.guest import standard
from pytest_promptse.sandbox.guest.unpatched import __builtins__, ast, gc, threading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from types import CodeType, FrameType

FAILURE = "promptse_failure"
"""The name of `failure` in the namespace of code that `compiled` has made."""

_FRAMES = {CoroutineType: "cr_frame", GeneratorType: "gi_frame", AsyncGeneratorType: "ag_frame"}
_STEPS = frozenset({"async_generator_asend", "async_generator_athrow", "coroutine_wrapper"})
_CONTROL = (CheckEnded, KeyboardInterrupt, SystemExit, GeneratorExit)


def note(error: BaseException) -> None:
    """Note an assertion that fails. Another function takes its place while a check runs."""


def failure() -> Callable[..., AssertionError]:
    """Note the assertion that fails in the caller, and return what gives it its message.

    Computing the message may raise an exception, which a block of the check may expect.
    """
    error = AssertionError()
    frame = sys._getframe(1)  # noqa: SLF001 - the only way to the caller
    error.__traceback__ = TracebackType(None, frame, frame.f_lasti, frame.f_lineno)
    note(error)

    def with_message(*args: object) -> AssertionError:
        error.args = args
        return error.with_traceback(None)

    return with_message


def take_noted() -> list[str]:
    """Return the failures that libraries of soft assertions have noted, and make these forget them.

    Hooks of the libraries report such failures after the test, in another process than the check's.
    """
    noted: list[str] = []
    pytest_check: Any = sys.modules.get("pytest_check.check_log")
    if pytest_check is not None:
        noted += pytest_check.get_failures()
        pytest_check.clear_failures()
    assumptions: Any = sys.modules.get("pytest_assume.plugin")
    if assumptions is not None:
        noted += [failed.entry for failed in assumptions._FAILED_ASSUMPTIONS]  # noqa: SLF001
        assumptions._FAILED_ASSUMPTIONS.clear()  # noqa: SLF001 - no public name
    return noted


class _Noting(NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        made = ast.Call(ast.Call(ast.Name(FAILURE, ast.Load()), [], []), [], [])
        made.args += [node.msg] if node.msg is not None else []
        branch = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Raise(made)], [])
        return ast.fix_missing_locations(ast.copy_location(branch, node))


def compiled(source: str, path: str) -> CodeType:
    """Compile the source of a check so that its assertions are noted when they fail."""
    return compile(_Noting().visit(ast.parse(source)), path, "exec")


def is_assertion(error: BaseException) -> bool:
    """Return whether `error` is a failed assertion, or an outcome of pytest such as a failure.

    A group of exceptions is one if it contains one.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_assertion, error.exceptions))
    cancelled = standard.loaded("asyncio.exceptions.CancelledError") or GeneratorExit
    return isinstance(error, AssertionError) or not isinstance(
        error, (Exception, cancelled, *_CONTROL)
    )


def in_flight() -> Collection[BaseException]:
    """Return the exceptions that are handled at present, in this and other threads and tasks.

    Those that they have interrupted, as in a ``finally``, are among them.
    """
    asyncio: Any = sys.modules.get("asyncio")
    loop = asyncio and asyncio._get_running_loop()  # noqa: SLF001 - the public one raises without
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()} if loop is not None else None
    # Also the threads that `threading` does not know. A frame that refers to itself would keep its
    # callers, and the exceptions that they raise.
    others = sys._current_frames().keys() - {threading.get_ident(), Watchdog.ident}  # noqa: SLF001
    if not (tasks or others or sys.exception()):
        return []  # the common case
    errors = list(map(_exception, sys._current_exceptions().values()))  # noqa: SLF001
    if asyncio is not None and others:
        tasks = (tasks or set()).union(*map(asyncio.all_tasks, _loops_elsewhere()))
    errors += _in_tasks(task.get_coro() for task in tasks or ())
    by_id: dict[int, BaseException] = {}
    for error in errors:
        interrupted = error
        while interrupted is not None and id(interrupted) not in by_id:
            by_id[id(interrupted)] = interrupted
            interrupted = interrupted.__context__
    return by_id.values()


def _exception(handled: Any) -> Any:
    return handled[1] if isinstance(handled, tuple) else handled  # a tuple up to Python 3.11


def _loops_elsewhere() -> Iterator[Any]:
    """Yield the event loops of `asyncio` that run in other threads."""
    tops = sys._current_frames()  # noqa: SLF001 - no other way
    del tops[threading.get_ident()]
    for top in tops.values():
        frame: FrameType | None = top
        while frame is not None:
            names = frame.f_globals.get("__name__"), frame.f_code.co_name
            if names == ("asyncio.base_events", "run_forever"):
                yield frame.f_locals["self"]
            frame = frame.f_back


def _in_tasks(coroutines: Iterable[Any]) -> Iterator[BaseException]:
    """Yield the exceptions that suspended coroutines are handling."""
    waiting = list(coroutines)
    for awaited in waiting:
        if not _is_suspended(awaited):  # such as an awaitable of the program
            continue
        for value in gc.get_referents(awaited):
            if isinstance(value, BaseException):
                frame = getattr(awaited, _FRAMES.get(type(awaited), "none"), None)
                if frame is None or not any(value is one for one in frame.f_locals.values()):
                    yield value
            elif _is_suspended(value) and not any(value is one for one in waiting):
                waiting.append(value)


def _is_suspended(value: Any) -> bool:
    return type(value) in _FRAMES or type(value).__name__ in _STEPS


def failed_assertion(
    failed: list[BaseException],
    is_of_program: Callable[[BaseException], bool],
    *,
    in_handler: bool,
) -> BaseException | None:
    """Return an assertion of the check that has failed and counts, if there is one.

    It counts unless a block of the check names a class that catches it, and has caught it.

    Parameters
    ----------
    failed
        The known failed assertions. Those that are seen here are added, and those that do not count
        are removed.
    is_of_program
        Returns whether an exception came from the program.
    in_handler
        Whether an assertion counts that a block of the check is handling.
    """
    handled = in_flight()
    if not (handled or failed):
        return None
    failing = [error for error in handled if is_assertion(error) and not is_of_program(error)]
    if in_handler and failing:
        return failing[0]
    failed += [error for error in failing if not any(error is noted for noted in failed)]
    for error in list(failed):
        trace = error.__traceback__
        if trace is None or _blocks.in_message(trace.tb_frame):  # made, and not raised yet
            continue
        block = _blocks.catcher(error)
        is_handled = any(error is other for other in failing)
        if block is None or (is_handled and _blocks.is_being_left(error, block)):
            return error
        if not is_handled:
            failed.remove(error)
    return None
