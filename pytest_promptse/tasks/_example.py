"""Examples: calls of the program with their expected results, compared outside the sandbox."""

from __future__ import annotations

import ast
import builtins
import math
import reprlib
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import PromptseError, TaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType


class _Unset(Enum):
    UNSET = "unset"


UNSET: Final = _Unset.UNSET
"""The value of a field that was not given. None cannot be used, since a call may return None."""

_MAX_PRINTED_INT_BITS = 1_000

_BUILTIN_ERRORS = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception)
}


@dataclass(frozen=True, kw_only=True)
class Example:
    """A call with the value that it must return or the exception that it must raise.

    Parameters
    ----------
    call
        A call to the entry point, as in ``'title_case("a b")'``. Its arguments are Python
        expressions. These expressions may use built-in functions, except functions that access
        files, code or attributes by name. The arguments are evaluated outside the sandbox, again
        for each program.
    expect
        The value that the call must return. The values are compared with ``==``: ``1``, ``1.0`` and
        ``True`` are equal, but a list never equals a tuple.
    raises
        Name of the built-in exception that the call must raise. Subclasses are accepted too.
    approx
        Relative and absolute tolerance for numbers, in (0, 1). The tolerance applies at any depth
        of lists, tuples and dictionary values. Without a tolerance, floats must be equal.

    Raises
    ------
    TaskError
        If `call` is not a call whose arguments can be evaluated, or if not exactly one of `expect`
        and `raises` is given. The error is also raised if `expect` contains a NaN, or if
        `raises` or `approx` has an invalid value.
    """

    call: str
    expect: Any = UNSET
    raises: str | None = None
    approx: float | None = None

    def __post_init__(self) -> None:
        if (self.expect is UNSET) == (self.raises is None):
            raise TaskError(f"example {self.call!r}: give what it returns or what it raises, once")
        if self.raises is not None and self.raises not in _BUILTIN_ERRORS:
            raise TaskError(
                f"example {self.call!r}: {self.raises!r} is not a built-in exception"
                f"{nearest(self.raises, _BUILTIN_ERRORS)}"
            )
        if any(leaf != leaf for leaf in _leaves(self.expect)):  # noqa: PLR0124 - only NaN differs from itself
            raise TaskError(f"example {self.call!r}: NaN equals nothing; use a check with isnan")
        if self.approx is not None:
            if self.expect is UNSET:
                raise TaskError(f"example {self.call!r}: approx needs a value to compare with")
            if not 0 < self.approx < 1:
                raise TaskError(f"example {self.call!r}: approx {self.approx!r} is not in (0, 1)")
        code = self._parsed[1]
        try:
            _arguments(code)
        except Exception as error:  # noqa: BLE001 - whatever the user's own expression raises
            raise TaskError(
                f"example {self.call!r}: its arguments cannot be evaluated: "
                f"{type(error).__name__}: {error}"
            ) from None

    @property
    def name(self) -> str:
        """The name of the function that the example calls."""
        return self._parsed[0]

    @property
    def canonical(self) -> str:
        """The example as text. Sets are sorted, so that the text is the same in every process."""
        return f"{self.call} {self.raises} {self.approx} {_canonical(self.expect)}"

    @cached_property
    def _parsed(self) -> tuple[str, CodeType]:
        try:
            node = ast.parse(self.call.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise TaskError(f"example {self.call!r} is not Python: {error}") from None
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise TaskError(
                f"example {self.call!r}: write one call, as in 'name(1, 2)'; "
                "for anything else use a check"
            )
        name = node.func.id
        _refuse_powers(node, self.call)
        # The arguments are evaluated before the call, so an error in them is never taken for an
        # error of the program.
        node.func.id = "__collect__"
        return name, compile(ast.Expression(node), f"<example {self.call}>", "eval")

    def check(self, candidate: Callable[..., Any]) -> None:
        """Call `candidate` and compare its result with ``expect`` or ``raises``.

        Parameters
        ----------
        candidate
            The program's entry point, which is called once.

        Raises
        ------
        AssertionError
            If the result differs, or if the expected exception is not raised. The message shows
            the call, the actual and the expected result.
        PromptseError
            Passed on without a note, if the call raises it.
        Exception
            Any other unexpected exception raised by the call. A note names the example.
        """
        args, kwargs = _arguments(self._parsed[1])
        try:
            got = candidate(*args, **kwargs)
        except PromptseError:
            raise
        except Exception as error:
            if self.raises is not None and isinstance(error, _BUILTIN_ERRORS[self.raises]):
                return
            error.add_note(f"in the example {self.call}, where {self._wanted} was expected")
            raise
        if self.raises is not None or not equal(got, self.expect, tolerance=self.approx):
            raise AssertionError(f"{self.call} returned {shown(got)}, expected {self._wanted}")

    @property
    def _wanted(self) -> str:
        if self.raises is not None:
            return self.raises
        tolerance = "" if self.approx is None else f" ± {self.approx:g}"
        return shown(self.expect) + tolerance


# Collection evaluates the arguments, and a suite file may come from others.
_POWERS = frozenset(
    {"__import__", "breakpoint", "compile", "delattr", "eval", "exec", "exit", "getattr"}
    | {"globals", "help", "input", "locals", "open", "quit", "setattr", "vars"}
)
# Frames of generators and coroutines lead to all built-ins.
_INTERNAL = ("_", "ag_", "cr_", "f_", "gi_", "tb_")


def _refuse_powers(node: ast.Call, call: str) -> None:
    """Raise TaskError for an argument that could read files or run code while it is evaluated."""
    for argument in (*node.args, *node.keywords):
        for part in ast.walk(argument):
            if isinstance(part, ast.Name) and (part.id in _POWERS or part.id.startswith("__")):
                name = part.id
            elif isinstance(part, ast.Attribute) and part.attr.startswith(_INTERNAL):
                name = part.attr
            else:
                name = None
            if name is not None:
                raise TaskError(f"example {call!r}: {name!r} is not for arguments; use a check")


def _arguments(code: CodeType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def collect(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    arguments: tuple[tuple[Any, ...], dict[str, Any]] = eval(code, {"__collect__": collect})  # noqa: S307 - the user's own suite
    return arguments


def equal(got: Any, expected: Any, *, tolerance: float | None = None) -> bool:
    """Return whether `got` equals `expected`, with numbers compared within `tolerance` if given.

    The tolerance applies to the elements of lists, tuples and dictionary values. Containers must
    have the same type and length, and dictionaries the same keys.
    """
    if tolerance is None:
        return bool(got == expected)
    if _is_number(got) and _is_number(expected):
        try:
            return math.isclose(got, expected, rel_tol=tolerance, abs_tol=tolerance)
        except OverflowError:  # an integer too large for a float
            return bool(got == expected)
    if type(got) is type(expected) and isinstance(expected, list | tuple):
        return len(got) == len(expected) and all(
            equal(element, other, tolerance=tolerance)
            for element, other in zip(got, expected, strict=True)
        )
    if type(got) is type(expected) is dict:
        return got.keys() == expected.keys() and all(
            equal(got[key], value, tolerance=tolerance) for key, value in expected.items()
        )
    return bool(got == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _canonical(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, set | frozenset):
        return f"{kind}({', '.join(sorted(map(_canonical, value)))})"
    if isinstance(value, list | tuple):
        return f"{kind}({', '.join(map(_canonical, value))})"
    if isinstance(value, dict):
        pairs = (f"{_canonical(key)}: {_canonical(item)}" for key, item in value.items())
        return f"{kind}({', '.join(pairs)})"
    return repr(value)


class _Printer(reprlib.Repr):
    """A `repr` of bounded length, for values that a program returns."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 200
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 20

    def repr_int(self, value: int, _level: int) -> str:
        # Python refuses to print integers of more than 4300 digits.
        # https://docs.python.org/3/library/stdtypes.html#int-max-str-digits
        if value.bit_length() > _MAX_PRINTED_INT_BITS:
            return f"<an int of {value.bit_length()} bits>"
        return repr(value)


def shown(value: Any) -> str:
    """Return a repr of `value` short enough for one message."""
    return _Printer().repr(value)
