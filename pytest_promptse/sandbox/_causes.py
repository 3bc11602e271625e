"""Why a program failed, and how its end reaches the check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cause = Literal[
    "wrong_answer",
    "exception",
    "timeout",
    "resource",
    "syntax",
    "no_code",
    "truncated",
    "interface",
]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The failure of a program: its cause, one line for users, and the program's own traceback."""

    cause: Cause
    detail: str
    traceback: str = ""


class ProgramStopped(BaseException):
    """Raised into the check when the program cannot go on; every further call raises it again.

    It is no `Exception`, so that neither ``except Exception`` nor ``pytest.raises(Exception)``
    in a check can take a time-out for the exception it hoped for.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.cause}: {failure.detail}")
        self.failure = failure


class ProgramInterrupt(ProgramStopped):
    """An exception of the program that is no `Exception`: ``SystemExit`` and the like.

    What is raised derives from the program's type too, so that a check can expect it by
    ``pytest.raises(SystemExit)``. The program can go on afterwards.
    """


class ProgramError(Exception):
    """An exception of the program whose type is not built in.

    Where the program's type derives from a built-in one, what is raised derives from both, so
    that ``pytest.raises(ValueError)`` also sees a program's own kind of `ValueError`.

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
