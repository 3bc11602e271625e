"""Tests whether a code model still solves the task when somebody tired or junior asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_promptse.tasks.task import Task

__all__ = ["Task"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Every pytest session imports this package for the plugin; only suites need tasks.
    if name == "Task":
        from pytest_promptse.tasks.task import Task

        return Task
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
