"""Processes that are forked and confined while the program before them runs.

A spare process waits on its channel for its program and runs no program code until then. It is in
another jail than the running program. So the two cannot see each other, and resource use is counted
separately.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox._execution import Execution

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.sandbox._limits import Limits
    from pytest_promptse.sandbox._worker import Worker


class PreforkPool:
    """Spare processes, each waiting for its program; at most one for each worker.

    Only the thread that has acquired a worker may take or make its spare process.
    """

    def __init__(self) -> None:
        self._waiting: dict[Worker, Execution] = {}

    def among(self, workers: Iterable[Worker]) -> Worker | None:
        """Return one of `workers` that has a spare process, or None."""
        return next((worker for worker in workers if worker in self._waiting), None)

    def make(self, worker: Worker, limits: Limits, *, folder: str) -> None:
        """Start a spare process in `worker`. If that fails, the pool continues without it.

        `limits` are those that the process starts with, and `folder` is its working folder.
        """
        with contextlib.suppress(SandboxError):
            self._waiting[worker] = Execution(worker, limits, folder=folder)

    def take(self, worker: Worker, limits: Limits) -> Execution | None:
        """Return the spare process of `worker`, if it is alive and can take `limits`.

        A process can take limits that differ in their times only (see `Execution.adopt`). The
        result is None if there is no such process.
        """
        execution = self._waiting.get(worker)
        if execution is None or not execution.adopt(limits):
            return None
        return self._waiting.pop(worker)

    def drop(self, worker: Worker) -> None:
        """End the spare process of `worker`, if there is one."""
        execution = self._waiting.pop(worker, None)
        if execution is not None:
            with contextlib.suppress(SandboxError):
                execution.close()

    def close(self) -> None:
        """End all spare processes."""
        for worker in [*self._waiting]:
            self.drop(worker)
