"""Build exceptions of the program from the descriptions that the guest sends."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox._causes import ProgramError, ProgramInterrupt
from pytest_promptse.sandbox._handle import HandleType, Link
from pytest_promptse.sandbox.guest.decode import take
from pytest_promptse.sandbox.guest.standard import loaded, name_of
from pytest_promptse.sandbox.guest.unpatched import __builtins__, inspect
from pytest_promptse.sandbox.guest.wire import WireError

if TYPE_CHECKING:
    from pytest_promptse.sandbox._handle import ProgramOperations

_ERROR = (type(None), BaseException)
_CANCELLED = "concurrent.futures._base.CancelledError"
"""asyncio makes its own, silent ``CancelledError`` of an exception of exactly this class."""

_RESERVED = ("__", "promptse_")
"""Beginnings of names under which Python and this plugin keep their own data of an exception."""


def build_exception(owner: ProgramOperations, parts: list[Any]) -> BaseException:
    """Return the exception that a message describes, without running a constructor of the program.

    Raises
    ------
    WireError
        If the description is malformed.
    """
    sent, *rest, cause, context, suppressed = parts
    cls = real_class(sent)
    number, args, message, attributes = take(rest, int, tuple, str, dict)
    if not (isinstance(cls, type) and issubclass(cls, BaseException)):
        raise WireError("an exception of a class that is none")
    if not (isinstance(cause, _ERROR) and isinstance(context, _ERROR)):
        raise WireError("the cause of an exception is none")
    notes = attributes.pop("__notes__", [])
    if any(type(name) is not str or name.startswith(_RESERVED) for name in attributes):
        raise WireError("an exception has a malformed attribute")
    error = _mirrored(cls, parts) if isinstance(cls, HandleType) else _known(cls, args)
    _set_attributes(error, attributes)
    for note in take([notes], list)[0]:
        error.add_note(*take([note], str))
    if isinstance(error, ProgramError) and not {"message", "type_name"} <= attributes.keys():
        error.__dict__.setdefault("message", message)
        error.__dict__.setdefault("type_name", cls.__name__)
    if number >= 0:
        object.__setattr__(error, "promptse_link", Link(number, owner.requests))
    error.__cause__ = cause
    error.__context__ = context
    error.__suppress_context__ = bool(suppressed)
    return error


def _mirrored(cls: Any, parts: list[Any]) -> BaseException:
    args, message = parts[2], parts[3]
    base = next(kind for kind in cls.__mro__ if kind.__module__ == "builtins")
    error: BaseException = base.__new__(cls, *args)
    error.args = args
    error.__dict__["promptse_message"] = message
    return error


def _known(cls: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Return an exception of the standard library, or of the check."""
    if not is_silent(cls) and issubclass(cls, Exception):
        # A check may name its type in an except clause.
        cls = stand_in(cls)  # type: ignore[arg-type]
    try:
        if cls.__module__ == "builtins" or name_of(cls) is None:
            return cls(*args)
        error = cls.__new__(cls, *args)
    except (TypeError, ValueError):
        error = Exception.__new__(cls)
    error.args = args
    return error


def _set_attributes(error: BaseException, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        # Static, since a mirrored class would ask the program while its message is being read.
        defined = inspect.getattr_static(type(error), name, None)
        if name in ("filename", "filename2", "name", "path") and value is not None:
            setattr(error, name, value)
        elif not callable(defined) and not hasattr(defined, "__set__"):
            error.__dict__[name] = value


def interrupt(error: BaseException) -> ProgramInterrupt:
    """Return the exception to raise for a program's exception that is no `Exception`."""
    if isinstance(error, ProgramInterrupt):
        return error
    kind: Any = type(error)
    try:
        return _derived_interrupt(kind)(*error.args)
    except (TypeError, ValueError):  # arguments that the constructor of the type does not take
        return ProgramInterrupt(*error.args)


def is_silent(kind: type) -> bool:
    """Return whether an exception of this class ends a part of the check in silence.

    ``StopIteration`` itself would end a ``for`` loop, ``zip`` or ``all(map(...))`` of the
    check. The assertions after that point would not run (https://peps.python.org/pep-0479/). A
    ``GeneratorExit`` would do the same in a generator that is being closed, and a
    ``CancelledError`` in a task of an ``asyncio.TaskGroup``.
    """
    cancelled = loaded("asyncio.exceptions.CancelledError") or GeneratorExit
    return issubclass(kind, (StopIteration, StopAsyncIteration, GeneratorExit, cancelled))


def without_stop(error: BaseException) -> ProgramError:
    """Return the exception to give the check for one that `is_silent`."""
    name = type(error).__name__
    made = _derived_error(RuntimeError)(f"the program raised {name}")
    made.type_name = name
    made.message = f"the program raised {name}"
    return made


class _StandInType(type):
    """The metaclass of stand-ins. Each equals the class that it stands for, ``promptse_real``."""

    promptse_real: Any

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.promptse_real

    def __hash__(cls) -> int:
        return hash(cls.promptse_real)


@cache
def stand_in(kind: Any) -> Any:
    """Return what the check gets for a class that the program has named.

    A class that would catch a failed assertion of the check, or end a part of it if the check
    raised it, arrives as a stand-in, which catches only its own instances. So does the class that
    asyncio replaces by one that ends a task in silence. Others arrive as they are.
    """
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        return kind
    is_ending = is_silent(kind) or not issubclass(kind, Exception)
    if not is_ending and kind not in (
        *(AssertionError, Exception, ExceptionGroup, loaded(_CANCELLED)),
    ):
        return kind
    names = {"__module__": kind.__module__, "promptse_real": kind}
    return _StandInType(kind.__name__, (RuntimeError if is_ending else kind,), names)


def real_class(kind: Any) -> Any:
    """Return the class for which a stand-in stands, and other values as they are."""
    return kind.promptse_real if type(kind) is _StandInType else kind


@cache
def _derived_interrupt(base: type[BaseException]) -> type[ProgramInterrupt]:
    names = {"__init__": base.__init__, "__module__": base.__module__}
    return type(base.__name__, (ProgramInterrupt, base), names)


@cache
def _derived_error(base: type[Exception]) -> type[ProgramError]:
    return type("ProgramError", (ProgramError, base), {"__str__": Exception.__str__})
