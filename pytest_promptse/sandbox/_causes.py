"""The causes of a program's failure, and the exceptions that report them to the check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_promptse.sandbox.guest.unpatched import __builtins__

Cause = Literal[
    "wrong_answer",
    "exception",
    "timeout",
    "resource",
    "syntax",
    "build",
    "no_code",
    "truncated",
    "interface",
]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The failure of a program: its cause, one line for users, and the program's own traceback.

    ``traceback`` is empty if there is none.
    """

    cause: Cause
    detail: str
    traceback: str = ""


class CheckEnded(BaseException):
    """Base class of what ends a check and is no outcome that the check may expect.

    It is not an `Exception`. So neither ``except Exception`` nor ``pytest.raises(ValueError)`` in a
    check can mistake it for an exception that it expects. An instance carries no verdict: the
    candidate keeps its own record of what happened, which no exception can change.
    """


class ProgramStopped(CheckEnded):
    """Raised in the check when the program cannot continue. Every further call raises it again."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.cause}: {failure.detail}")


class BrokenCheck(CheckEnded):
    """Raised in the check when it uses the program in a way that the sandbox cannot carry out.

    The program is not to blame. The item gets an error, even if the check catches this exception.
    """


class ProgramInterrupt(CheckEnded):
    """An exception of the program that is no `Exception`, such as ``SystemExit``.

    The raised exception also derives from the program's type, so that a check can expect it by
    ``pytest.raises(SystemExit)``. The program can continue afterwards.
    """


class ProgramError(Exception):
    """An exception of the program whose type is not built in.

    If the program's type derives from a built-in one, the raised exception derives from both. So
    ``pytest.raises(ValueError)`` also accepts a program's own subclass of `ValueError`.

    Attributes
    ----------
    type_name : str
        Name of the exception's class in the program.
    message : str
        ``str()`` of the exception.
    traceback_text : str
        The traceback as the program's interpreter printed it.
    """

    type_name: str = ""
    message: str = ""
    traceback_text: str = ""
