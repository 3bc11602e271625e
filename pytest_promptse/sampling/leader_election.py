"""The sampling thread's side: one event loop that samples for all processes of a run."""

from __future__ import annotations

import asyncio
import fcntl
import threading
import time
from collections import deque
from functools import partial
from typing import IO, TYPE_CHECKING

from pytest_promptse.errors import BudgetError, ModelError
from pytest_promptse.sampling.budget import Account
from pytest_promptse.sampling.dispatcher import Dispatcher, DispatcherContext
from pytest_promptse.sampling.failures import FailureLog
from pytest_promptse.sampling.job import Job
from pytest_promptse.store.leases import RENEW_SECONDS, Leases
from pytest_promptse.store.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from pytest_promptse.models.base import Backend
    from pytest_promptse.sampling.budget import Budget
    from pytest_promptse.sampling.retry import RetryPolicy
    from pytest_promptse.store.store import Store

WANTED_JOB, WANTED_MODEL = "wanted job", "wanted model"
"""Kinds of the notes by which other processes of a run ask its leader."""

# How often the leader looks at such notes and at what other runs had under way.
ROUND_SECONDS = 0.1


class Leadership:
    """A lock that one process of a run holds; the system frees it when that process dies.

    Parameters
    ----------
    path
        The lock file, the same for all processes of a run; None where there is only one.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether there may be other processes."""
        return self._path is not None

    def take(self) -> bool:
        """Try to become the leader, without waiting."""
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
        """Leave the lead to another."""
        if self._file is not None:
            self._file.close()
            self._file = None


class SamplerCommands:
    """What the caller's thread wants of the sampling thread."""

    def __init__(self) -> None:
        self.jobs: deque[tuple[tuple[Job, ...], bool]] = deque()
        self.closing = threading.Event()
        self.grace = 0.0
        self.wake: Callable[[], object] = lambda: None

    def ask(self, jobs: Iterable[Job], *, first: bool) -> None:
        """Ask for `jobs`, before or after those that have not been sent."""
        self.jobs.append((tuple(jobs), first))
        self.wake()

    def close(self, *, grace: float) -> None:
        """Have sampling end, giving requests under way `grace` seconds."""
        self.grace = grace
        self.closing.set()
        self.wake()


class Leader:
    """Samples until it is told to close.

    Parameters
    ----------
    store, run, concurrency, budget, retry_policy
        As the sampler's.
    backend
        Makes or finds the model of a ``BACKEND:NAME``.
    lacking
        Says how many samples of the plan the store lacks.
    kept
        Told which wording has how many more of its samples in the store.
    changed
        Called when something was written that somebody may wait for.
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
        lacking: Callable[[], int],
        kept: Callable[[str, int], None],
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._run = run
        self._backend = backend
        self._concurrency = concurrency
        self._lacking = lacking
        self._failures = FailureLog(store, run)
        self._leases = Leases(store, run)
        self._dispatchers: dict[str, Dispatcher] = {}
        self._noticed: dict[str, bytes] = {}
        self._used_up: BudgetError | None = None
        self._told = False
        self._crash: BaseException | None = None
        self._turn = asyncio.Event()
        self._writer = Writer(store, written=changed, failed=self._break_off)
        self._context = DispatcherContext(
            store=store,
            run=run,
            writer=self._writer,
            account=Account(budget, spent=store.usage(run)),
            leases=self._leases,
            failures=self._failures,
            retry_policy=retry_policy,
            starting=asyncio.Lock(),
            kept=kept,
            stop=self._stop,
            crash=self._break_off,
        )

    async def lead(self, orders: SamplerCommands, plan: Sequence[Job]) -> None:
        """Ask for `plan` and for whatever `orders` and other processes want, until closed.

        Raises
        ------
        StoreError
            If answers cannot be kept.
        """
        loop = asyncio.get_running_loop()
        orders.wake = partial(loop.call_soon_threadsafe, self._turn.set)
        try:
            self._ask(self._failures.spare(plan), first=False)
            renewed = time.monotonic()
            while not orders.closing.is_set():
                if self._crash is not None:
                    raise self._crash
                self._obey(orders)
                self._listen()
                for dispatcher in self._dispatchers.values():
                    dispatcher.revive()
                if time.monotonic() - renewed > RENEW_SECONDS:
                    renewed = time.monotonic()
                    if any(dispatcher.busy for dispatcher in self._dispatchers.values()):
                        self._writer.post(self._leases.renew)
                self._tell_of_the_end()
                await self._next_round()
        finally:
            orders.wake = lambda: None
            await self._close(orders.grace)

    async def _next_round(self) -> None:
        try:
            await asyncio.wait_for(self._turn.wait(), ROUND_SECONDS)
        except TimeoutError:
            return
        self._turn.clear()

    async def _close(self, grace: float) -> None:
        try:
            await asyncio.gather(
                *(dispatcher.close(grace=grace) for dispatcher in self._dispatchers.values())
            )
        finally:
            self._writer.post(self._leases.release_all)
            await self._writer.close()

    def _obey(self, orders: SamplerCommands) -> None:
        while orders.jobs:
            jobs, first = orders.jobs.popleft()
            self._ask(jobs, first=first)

    def _listen(self) -> None:
        for model, _ in self._store.scan(self._run, WANTED_MODEL):
            self._start(model)
        wanted = []
        for key, value in self._store.scan(self._run, WANTED_JOB):
            # Another suite may want more samples of a wording that was wanted before.
            if self._noticed.get(key) != value:
                self._noticed[key] = value
                wanted.append(Job.from_json(value))
        if wanted:
            self._ask(wanted, first=True)

    def _start(self, model: str) -> None:
        dispatcher = self._dispatcher(model)
        if dispatcher is not None:
            dispatcher.start()

    def _ask(self, jobs: Iterable[Job], *, first: bool) -> None:
        by_model: dict[str, list[Job]] = {}
        for job in jobs:
            by_model.setdefault(job.model, []).append(job)
        for model, its_jobs in by_model.items():
            dispatcher = self._dispatcher(model)
            if dispatcher is not None:
                dispatcher.ask(its_jobs, first=first)

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
        if self._used_up is None:
            self._used_up = error
            for dispatcher in self._dispatchers.values():
                dispatcher.drop()

    def _tell_of_the_end(self) -> None:
        """Say that the budget is used up once what it paid for is in the store."""
        error = self._used_up
        if (
            error is None
            or self._told
            or any(dispatcher.busy for dispatcher in self._dispatchers.values())
        ):
            return
        self._told = True

        def tell() -> None:
            missing = self._lacking()
            self._failures.add(
                BudgetError(f"{error}; {missing} samples are missing, the others are kept")
            )

        self._writer.post(tell)

    def _break_off(self, error: BaseException) -> None:
        self._crash = self._crash or error
        self._turn.set()
