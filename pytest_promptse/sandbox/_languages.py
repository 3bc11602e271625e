"""What the check and programs in other languages than Python can send each other."""

from __future__ import annotations

from typing import Any

from pytest_promptse.sandbox._lending import CannotCrossError
from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.unpatched import __builtins__, inspect, json, types

# What programs in other languages than Python have nothing for.
_TYPES_OF_PYTHON = {
    wire.COMPLEX: "complex",
    wire.DECIMAL: "Decimal",
    wire.FRACTION: "Fraction",
    wire.TIME: "time",
    wire.TIMEDELTA: "timedelta",
}
# What their guests send. A check can send all of it back.
_OPERATIONS = frozenset(
    (
        *(wire.ATOMS, wire.LIST, wire.TUPLE, wire.SET, wire.DICT, wire.INT, wire.BYTES),
        *(wire.DATETIME, wire.REFERENCE, wire.PROXY, wire.NAMED, wire.CLASS, wire.EXCEPTION),
        wire.SAME,
    )
)


def require_common_kind(value: Any, language: str) -> None:
    """Raise CannotCrossError unless `value` is of a kind that programs in all languages know."""
    is_error = isinstance(value, type) and issubclass(value, BaseException)
    # Such as the ``append`` of a list. Functions of modules are those of Python alone.
    is_of_object = isinstance(value, types.BuiltinMethodType) and not isinstance(
        value.__self__, types.ModuleType
    )
    # A coroutine is a promise there.
    is_of_test = is_of_object or inspect.iscoroutine(value)
    kinds = types.FunctionType | types.MethodType | BaseException
    if not (is_error or is_of_test or isinstance(value, kinds)):
        raise CannotCrossError(
            f"a value of type {type(value).__name__} cannot be sent to a program in {language}; "
            "pass plain data or a function of the test"
        )


def require_common_types(message: bytes, language: str) -> None:
    """Raise CannotCrossError if an encoded message has a value that only Python has."""
    for operation in _operations(message):
        if operation in _TYPES_OF_PYTHON:
            raise CannotCrossError(
                f"a value of type {_TYPES_OF_PYTHON[operation]} cannot be sent to a program in "
                f"{language}; pass a number or a text"
            )


def require_common_operations(message: bytes, language: str) -> None:
    """Raise WireError if a message of a program, which is not trusted, has what only Python has."""
    if not _OPERATIONS.issuperset(_operations(message)):
        raise wire.WireError(f"a message of a program in {language} has a value of Python")


def _operations(message: bytes) -> list[int]:
    steps: list[int] = json.loads(message[1 : message.index(b"]") + 1])
    return steps[::2]
