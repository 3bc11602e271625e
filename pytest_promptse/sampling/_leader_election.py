"""Leader election, and the event loop in which the leader samples for all processes of a run."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import IO, TYPE_CHECKING

from pytest_promptse.errors import BudgetError, ModelError
from pytest_promptse.sampling._budget import Account
from pytest_promptse.sampling._dispatcher import Dispatcher, DispatcherContext
from pytest_promptse.sampling._failures import FailureLog
from pytest_promptse.sampling._job import Job
from pytest_promptse.sandbox.guest.unpatched import asyncio, fcntl, threading, time
from pytest_promptse.store._leases import RENEW_SECONDS, Leases
from pytest_promptse.store._writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from pytest_promptse.models._base import Backend
    from pytest_promptse.sampling._budget import Budget
    from pytest_promptse.sampling._retry import RetryPolicy
    from pytest_promptse.store._store import Store

WANTED_JOB, WANTED_MODEL = "wanted job", "wanted model"
"""Kinds of the notes with which the other processes of a run send requests to the leader."""

POLL_SECONDS = 0.1
"""Seconds between two reads of such notes, and between two attempts to lease other runs' jobs."""


class Leadership:
    """A file lock of one process of a run. The system releases it when that process ends.

    Parameters
    ----------
    path
        The lock file, the same in all processes of the run, or None for a run of one process.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    @property
    def is_shared(self) -> bool:
        """True if the run may have other processes."""
        return self._path is not None

    def take(self) -> bool:
        """Try to become the leader. Return True on success, without waiting."""
        if self._path is None:
            return True
        if self._file is None:
            self._file = self._path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Let another process become the leader."""
        if self._file is not None:
            self._file.close()
            self._file = None


class SamplerCommands:
    """Commands from the thread of the tests to the sampling thread."""

    def __init__(self) -> None:
        self.jobs: deque[tuple[tuple[Job, ...], bool]] = deque()
        self.closing = threading.Event()
        self.grace = 0.0
        self.wake: Callable[[], object] = lambda: None

    def add(self, jobs: Iterable[Job], *, first: bool) -> None:
        """Request `jobs`, before or after those that have not been sent.

        With `first` they are sent before.
        """
        self.jobs.append((tuple(jobs), first))
        self.wake()

    def close(self, *, grace: float) -> None:
        """End sampling. Open requests have `grace` seconds to finish."""
        self.grace = grace
        self.closing.set()
        self.wake()


class Leader:
    """Samples for all processes of a run until it is closed.

    Parameters
    ----------
    store, run, concurrency, budget, retry_policy
        As for `pytest_promptse.sampling._sampler.Sampler`.
    backend
        Returns the model of a ``BACKEND:NAME``.
    n_missing
        Returns the number of planned samples that the store lacks.
    stored
        Called with a key and the number of its samples that were added to the store.
    changed
        Called after each write to the store.
    """

    def __init__(
        self,
        store: Store,
        run: str,
        *,
        backend: Callable[[str], Backend],
        concurrency: int | None,
        budget: Budget,
        retry_policy: RetryPolicy,
        n_missing: Callable[[], int],
        stored: Callable[[str, int], None],
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._run = run
        self._backend = backend
        self._concurrency = concurrency
        self._n_missing = n_missing
        self._failures = FailureLog(store, run)
        self._leases = Leases(store, run)
        self._dispatchers: dict[str, Dispatcher] = {}
        self._read_notes: dict[str, bytes] = {}
        self._budget_error: BudgetError | None = None
        self._budget_error_reported = False
        self._crash: BaseException | None = None
        self._wake = asyncio.Event()
        self._writer = Writer(store, written=changed, failed=self._set_crash)
        self._context = DispatcherContext(
            store=store,
            run=run,
            writer=self._writer,
            account=Account(budget, spent=store.usage(run)),
            leases=self._leases,
            failures=self._failures,
            retry_policy=retry_policy,
            starting=asyncio.Lock(),
            stored=stored,
            stop=self._stop,
            crash=self._set_crash,
        )

    async def lead(self, commands: SamplerCommands, plan: Sequence[Job]) -> None:
        """Request `plan` and the jobs that `commands` and other processes add, until closed.

        Raises
        ------
        StoreError
            If completions cannot be written.
        """
        loop = asyncio.get_running_loop()
        commands.wake = partial(loop.call_soon_threadsafe, self._wake.set)
        try:
            self._add(self._failures.without_failed(plan), first=False)
            renewed = time.monotonic()
            while not commands.closing.is_set():
                if self._crash is not None:
                    raise self._crash
                while commands.jobs:
                    jobs, first = commands.jobs.popleft()
                    self._add(jobs, first=first)
                self._read_new_notes()
                for dispatcher in self._dispatchers.values():
                    dispatcher.retry_leased()
                if time.monotonic() - renewed > RENEW_SECONDS:
                    renewed = time.monotonic()
                    if self._holds_leases:
                        self._writer.post(self._leases.renew)
                self._report_budget_error()
                await self._wait()
        finally:
            commands.wake = lambda: None
            await self._close(commands.grace)

    @property
    def _holds_leases(self) -> bool:
        return any(dispatcher.holds_leases for dispatcher in self._dispatchers.values())

    async def _wait(self) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), POLL_SECONDS)
        except TimeoutError:
            return
        self._wake.clear()

    async def _close(self, grace: float) -> None:
        try:
            await asyncio.gather(
                *(dispatcher.close(grace=grace) for dispatcher in self._dispatchers.values())
            )
        finally:
            self._writer.post(self._leases.release_all)
            await self._writer.close()

    def _read_new_notes(self) -> None:
        for model, _ in self._store.scan(self._run, WANTED_MODEL):
            dispatcher = self._dispatcher(model)
            if dispatcher is not None:
                dispatcher.start()
        wanted = []
        for key, value in self._store.scan(self._run, WANTED_JOB):
            # Another suite may need more samples of a variant that was requested before.
            if self._read_notes.get(key) != value:
                self._read_notes[key] = value
                wanted.append(Job.from_json(value))
        if wanted:
            self._add(wanted, first=True)

    def _add(self, jobs: Iterable[Job], *, first: bool) -> None:
        by_model: dict[str, list[Job]] = {}
        for job in jobs:
            by_model.setdefault(job.model, []).append(job)
        for model, its_jobs in by_model.items():
            dispatcher = self._dispatcher(model)
            if dispatcher is not None:
                dispatcher.add(its_jobs, first=first)

    def _dispatcher(self, model: str) -> Dispatcher | None:
        if model not in self._dispatchers:
            try:
                backend = self._backend(model)
            except ModelError as error:
                self._failures.add(error, model=model)
                return None
            self._dispatchers[model] = Dispatcher(
                backend, context=self._context, concurrency=self._concurrency
            )
        return self._dispatchers[model]

    def _stop(self, error: BudgetError) -> None:
        if self._budget_error is None:
            self._budget_error = error
            for dispatcher in self._dispatchers.values():
                dispatcher.drop()

    def _report_budget_error(self) -> None:
        """Report that the budget is used up, after all paid responses are stored."""
        error = self._budget_error
        if error is None or self._budget_error_reported or self._holds_leases:
            return
        self._budget_error_reported = True

        def report() -> None:
            missing = self._n_missing()
            self._failures.add(
                BudgetError(f"{error}; {missing} samples are missing, the others are stored")
            )

        self._writer.post(report)

    def _set_crash(self, error: BaseException) -> None:
        self._crash = self._crash or error
        self._wake.set()
