"""What to raise in a check for an exception that the program raised in the jail."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

from pytest_promptse.sandbox.causes import ProgramError


@dataclass(frozen=True)
class Raised:
    """A program's exception as it was told; `bases` are its built-in ancestors, nearest first."""

    name: str
    is_builtin: bool
    bases: list[str]
    args: list[Any]
    message: str
    text: str

    def __post_init__(self) -> None:
        for value in (self.name, self.message, self.text):
            if type(value) is not str:
                raise TypeError("an exception is told in words")

    def exception(self) -> Exception | None:
        """Return the exception, None for an exit or interrupt, which no check may receive."""
        base = next((cls for cls in map(_builtin, self.bases) if cls is not None), None)
        if base is None:
            return None
        error = self._rebuild(base)
        if isinstance(error, ProgramError):
            error.type_name = self.name
            error.message = self.message
            error.traceback_text = self.text
        error.add_note(self.text)
        return error

    def _rebuild(self, base: type[Exception]) -> Exception:
        try:
            if self.is_builtin:
                return base(*self.args)
            return (ProgramError if base is Exception else _derived(base))(self.message)
        except (TypeError, ValueError, AttributeError):
            # A type whose constructor wants what is no plain data (UnicodeDecodeError, a group).
            return ProgramError(f"{self.name}: {self.message}")


def _builtin(name: Any) -> type[Exception] | None:
    kind = getattr(builtins, name, None) if type(name) is str else None
    return kind if isinstance(kind, type) and issubclass(kind, Exception) else None


_DERIVED: dict[type[Exception], type[ProgramError]] = {}


def _derived(base: type[Exception]) -> type[ProgramError]:
    """Return a kind of `ProgramError` that is a `base` too."""
    if base not in _DERIVED:
        _DERIVED[base] = type("ProgramError", (ProgramError, base), {"__str__": Exception.__str__})
    return _DERIVED[base]
