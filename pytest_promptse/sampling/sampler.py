"""The sampler: asks for a whole plan in the background while its answers are judged."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_promptse.errors import ModelError, PromptseError
from pytest_promptse.models.base import Remote
from pytest_promptse.sampling.budget import Budget
from pytest_promptse.sampling.dispatcher import STARTED
from pytest_promptse.sampling.failures import FailureLog
from pytest_promptse.sampling.job import Job
from pytest_promptse.sampling.leader_election import (
    ROUND_SECONDS,
    WANTED_JOB,
    WANTED_MODEL,
    Leader,
    Leadership,
    SamplerCommands,
)
from pytest_promptse.sampling.retry import RetryPolicy
from pytest_promptse.store.run_log import Progress
from pytest_promptse.store.store import capabilities_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.models.base import Backend, Capabilities, Completion
    from pytest_promptse.store.store import Store

__all__ = ["Budget", "Job", "Progress", "RetryPolicy", "Sampler"]

# How long a waiter sleeps at most before it looks again, and with it how late it sees Ctrl-C
# and what other processes have written.
_GLANCE_SECONDS = 0.025


class Sampler:
    """Fills the store with the samples of a plan.

    Of all processes of a run the first samples for all, and another takes over if it dies; the
    rest find its answers in the store. Of two runs on one store neither asks for what the other
    has under way. Nothing that was answered is held in memory.

    Parameters
    ----------
    store
        Where completions are looked up, kept and waited for.
    jobs
        The plan, in the order in which it will be judged. The same wording may come twice; it
        is asked for once, with the larger number of samples.
    backends
        Makes the model of each ``BACKEND:NAME`` that jobs name.
    run
        Names the run; the same in all of its processes.
    concurrency
        The most requests to one model under way at once; None leaves it to the backend.
    budget
        What the run may spend.
    leader_lock
        A file that all processes of the run lock in turn; None where there is only one.
    retry_policy
        How often a failed request is sent again.
    """

    def __init__(
        self,
        store: Store,
        jobs: Sequence[Job],
        backends: Mapping[str, Callable[[], Backend]],
        *,
        run: str,
        concurrency: int | None = None,
        budget: Budget = Budget(),  # noqa: B008 - frozen
        leader_lock: Path | None = None,
        retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008 - frozen
    ) -> None:
        self._store = store
        self._run = run
        self._concurrency = concurrency
        self._budget = budget
        self._retry_policy = retry_policy
        self._factories = backends
        self._backends: dict[str, Backend] = {}
        self._failures = FailureLog(store, run)
        self._leadership = Leadership(leader_lock)
        self._orders = SamplerCommands()
        self._changed = threading.Condition()
        self._plan: dict[str, Job] = {}
        self._lacking: dict[str, int] = {}
        self._arrived = 0
        self._began = time.monotonic()
        self._leading = False
        self._thread: threading.Thread | None = None
        self._crash: BaseException | None = None
        self._extend(jobs)

    def start(self) -> None:
        """Begin to ask for what the store lacks; where it lacks nothing, do nothing.

        Raises
        ------
        SettingsError
            If it is plain before any request that a model cannot be asked.
        """
        self._lacking = self._count_lacking(self._plan.values())
        for model in dict.fromkeys(self._plan[key].model for key in self._lacking):
            backend = self._backend(model)
            if isinstance(backend, Remote):
                backend.check()
        if self._lacking:
            self._launch()

    def request(self, jobs: Sequence[Job]) -> None:
        """Ask for more than the plan, before what has not been sent yet.

        Of several processes of a run the one that samples is told.
        """
        self._extend(jobs)
        fresh = {job.key: self._plan[job.key] for job in jobs}
        # Under the lock, so that what is answered meanwhile is not counted as lacking again.
        with self._changed:
            lacking = self._count_lacking(fresh.values())
            self._lacking |= lacking
        self._orders.ask([fresh[key] for key in lacking], first=True)
        if not lacking:
            return
        self._launch()
        if self._leadership.is_shared and not self._leading:
            with self._store.transaction():
                for key in lacking:
                    self._store.put(self._run, WANTED_JOB, key, fresh[key].to_json())

    def count_stored(self, jobs: Sequence[Job]) -> int:
        """Return how many samples of `jobs` that are not in the plan yet the store has."""
        fresh = {job.key: job for job in jobs if job.key not in self._plan}
        total = sum(job.n for job in fresh.values())
        return total - sum(self._count_lacking(fresh.values()).values())

    def wait(
        self, job: Job, n: int | None = None, *, tick: Callable[[], object] = lambda: None
    ) -> tuple[Completion, ...]:
        """Return the first `n` samples of a wording, all of them by default, once they are there.

        Until then `tick` is called many times a second.

        Raises
        ------
        NotScoredError
            If they cannot be had: a ModelError or BudgetError that says why.
        StoreError
            If what was answered cannot be kept.
        """
        wanted = job if n is None else replace(job, n=n)
        asked = False
        while self._store.missing({wanted.key: wanted.n})[wanted.key]:
            self._raise_failure(key=wanted.key, model=wanted.model)
            if not asked:
                self.request([wanted])
                asked = True
            tick()
            self._glance()
        return self._store.completions(wanted.key, wanted.n)

    def form(self, model: str) -> Capabilities:
        """Return what a model honours, starting it only if the store does not know.

        Where this run asks it for anything, the answer is what this run found.

        Raises
        ------
        NotScoredError
            If the model cannot be started.
        """
        with self._changed:
            will_start = any(self._plan[key].model == model for key in self._lacking)
        told = False
        while (note := self._store.get(self._run, STARTED, model)) is None:
            if not will_start:
                known = self._store.capabilities(self._backend(model).identity)
                if known is not None:
                    return known
            self._raise_failure(model=model)
            if not told:
                self._store.put(self._run, WANTED_MODEL, model, b"")
                self._launch()
                told = True
            self._glance()
        return capabilities_from_json(note)

    def progress(self) -> Progress:
        """Return how far sampling has come."""
        total = self._total()
        with self._changed:
            at_first = lacking = sum(self._lacking.values())
            at_first += self._arrived
        if self._thread is not None and not self._leading:
            lacking = self._still_lacking()
        elapsed = time.monotonic() - self._began
        rate = (at_first - lacking) / elapsed if elapsed > 0 else 0.0
        return Progress(
            done=total - lacking,
            total=total,
            cached=total - at_first,
            rate=rate,
            eta=lacking / rate if rate > 0 else None,
            usage=self._store.usage(self._run),
        )

    def close(self, *, grace: float = 0.0) -> None:
        """Ask for nothing more, end what is under way and give the models back.

        Parameters
        ----------
        grace
            Seconds that requests under way may still take. Without it they are ended at once,
            and what they would have brought is asked for again on the next run, or by the
            process that takes over.
        """
        self._orders.close(grace=grace)
        if self._thread is not None:
            self._thread.join()

    # -- the plan ------------------------------------------------------------------------------

    def _extend(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            known = self._plan.get(job.key)
            if known is None or known.n < job.n:
                self._plan[job.key] = job

    def _total(self) -> int:
        return sum(job.n for job in self._plan.values())

    def _count_lacking(self, jobs: Iterable[Job]) -> dict[str, int]:
        missing = self._store.missing({job.key: job.n for job in jobs})
        return {key: len(samples) for key, samples in missing.items() if samples}

    def _still_lacking(self) -> int:
        return sum(self._count_lacking(list(self._plan.values())).values())

    def _kept(self, key: str, samples: int) -> None:
        with self._changed:
            lacking = self._lacking.pop(key, 0)
            self._arrived += min(samples, lacking)
            if samples < lacking:
                self._lacking[key] = lacking - samples

    # -- waiting -------------------------------------------------------------------------------

    def _glance(self) -> None:
        with self._changed:
            self._changed.wait(_GLANCE_SECONDS)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _raise_failure(self, *, key: str = "", model: str) -> None:
        failure = self._failures.find(key=key, model=model)
        if failure is not None:
            raise failure
        if isinstance(self._crash, PromptseError):
            raise self._crash
        if self._crash is not None:
            raise ModelError(f"{model}: sampling broke off: {self._crash!r}") from self._crash
        if self._orders.closing.is_set():
            raise ModelError(f"{model}: sampling was ended before this was answered; run again")

    # -- the sampling thread -------------------------------------------------------------------

    def _launch(self) -> None:
        if self._thread is None and not self._orders.closing.is_set():
            self._began = time.monotonic()
            self._thread = threading.Thread(target=self._main, name="promptse-sampler", daemon=True)
            self._thread.start()

    def _main(self) -> None:
        try:
            while not self._orders.closing.is_set():
                if self._leadership.take():
                    asyncio.run(self._lead())
                    return
                self._orders.closing.wait(ROUND_SECONDS)
        except BaseException as error:  # noqa: BLE001 - a thread's boundary: raised by `wait`
            self._crash = error
        finally:
            self._leading = False
            self._leadership.release()
            self._notify()

    async def _lead(self) -> None:
        leader = Leader(
            self._store,
            self._run,
            backend=self._backend,
            concurrency=self._concurrency,
            budget=self._budget,
            retry_policy=self._retry_policy,
            lacking=self._still_lacking,
            kept=self._kept,
            changed=self._notify,
        )
        plan = dict(self._plan)
        lacking = self._count_lacking(plan.values())
        with self._changed:
            later = {key: left for key, left in self._lacking.items() if key not in plan}
            self._lacking = lacking | later
        self._leading = True
        await leader.lead(self._orders, [plan[key] for key in lacking])

    def _backend(self, model: str) -> Backend:
        if model not in self._backends:
            self._backends[model] = self._factories[model]()
        return self._backends[model]
