"""What the check can send to programs in other languages than Python."""

from __future__ import annotations

import json
import types
from typing import Any

from pytest_promptse.sandbox._check_objects import CannotCrossError
from pytest_promptse.sandbox.guest import wire

# What programs in other languages than Python have nothing for.
_TYPES_OF_PYTHON = {
    wire.COMPLEX: "complex",
    wire.DECIMAL: "Decimal",
    wire.FRACTION: "Fraction",
    wire.TIME: "time",
    wire.TIMEDELTA: "timedelta",
}


def require_common_kind(value: Any, language: str) -> None:
    """Raise CannotCrossError unless `value` is of a kind that programs in all languages know."""
    is_error = isinstance(value, type) and issubclass(value, BaseException)
    # Such as the ``append`` of a list. Functions of modules are those of Python alone.
    is_of_object = isinstance(value, types.BuiltinMethodType) and not isinstance(
        value.__self__, types.ModuleType
    )
    kinds = types.FunctionType | types.MethodType | BaseException
    if not (is_error or is_of_object or isinstance(value, kinds)):
        raise CannotCrossError(
            f"a value of type {type(value).__name__} cannot be sent to a program in {language}; "
            "pass plain data or a function of the test"
        )


def require_common_types(message: bytes, language: str) -> None:
    """Raise CannotCrossError if an encoded message has a value that only Python has."""
    steps = json.loads(message[1 : message.index(b"]") + 1])
    for operation in steps[::2]:
        if operation in _TYPES_OF_PYTHON:
            raise CannotCrossError(
                f"a value of type {_TYPES_OF_PYTHON[operation]} cannot be sent to a program in "
                f"{language}; pass a number or a text"
            )
