"""Test whether a code model still solves a task when the prompt comes in another tone.

``Task`` and ``Example`` describe tasks in a test module. ``Record`` reads the result of a run.
``pytest_promptse.tasks.humaneval`` has the tasks of HumanEval, `pytest_promptse.hookspecs` the
hooks for other plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_promptse.record._schema import Record
    from pytest_promptse.tasks._example import Example
    from pytest_promptse.tasks._task import Task

__all__ = ["Example", "Record", "Task"]
__version__: str


def __getattr__(name: str) -> object:
    # Every pytest session imports this package for the plugin, so it imports nothing by itself.
    if name == "Example":
        from pytest_promptse.tasks._example import Example

        return Example
    if name == "Record":
        from pytest_promptse.record._schema import Record

        return Record
    if name == "Task":
        from pytest_promptse.tasks._task import Task

        return Task
    if name == "__version__":
        from importlib.metadata import version

        return version("pytest-promptse")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
