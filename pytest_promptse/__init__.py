"""Tests whether a code model still solves the task when somebody tired or junior asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_promptse.record.schema import Record
    from pytest_promptse.tasks.task import Task

__all__ = ["Record", "Task"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Every pytest session imports this package for the plugin, so it imports nothing heavy.
    if name == "Task":
        from pytest_promptse.tasks.task import Task

        return Task
    if name == "Record":
        from pytest_promptse.record.schema import Record

        return Record
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
