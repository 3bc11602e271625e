"""Coroutines of the check that a program awaits, run in an event loop of the check."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest.unpatched import __builtins__, asyncio

if TYPE_CHECKING:
    from collections.abc import Awaitable

_SLICE_SECONDS = 0.01
"""How long the program waits for one step. Its own tasks do not run meanwhile."""


class LentTasks:
    """The tasks of the coroutines that one program awaits."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._thread = ThreadPoolExecutor(1)

    def step(self, awaitable: Awaitable[Any], *, cancel: bool = False) -> list[Any]:
        """Run the task of `awaitable` for a moment, with all other tasks.

        Return its result in a list, or an empty list if it is not done. Exceptions of the task are
        raised as they are. If `cancel` is True, cancel it.
        """
        task = self._tasks.get(id(awaitable))
        # A new task only starts, so that the program can start others beside it.
        seconds = 0.0 if task is None else _SLICE_SECONDS
        if task is None:
            task = self._tasks[id(awaitable)] = self._loop.create_task(_result(awaitable))
        if cancel:
            task.cancel()
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._run(task, seconds)
        else:
            # The check's own event loop is blocked while it waits for the program.
            self._thread.submit(self._run, task, seconds).result()
        return [task.result()] if task.done() and not task.cancelled() else []

    def _run(self, task: asyncio.Task[Any], seconds: float = 0.0) -> None:
        self._loop.run_until_complete(asyncio.wait({task}, timeout=seconds))

    def close(self) -> None:
        """Cancel what is not done, and close the event loop."""
        for task in self._tasks.values():
            if not task.done():
                task.cancel()
                self._thread.submit(self._run, task).result()
        self._thread.shutdown(wait=False)
        self._loop.close()


async def _result(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
