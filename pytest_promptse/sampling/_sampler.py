"""The sampler: requests the plan in the background while completions are judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_promptse.errors import ModelError, NotStoredError, PromptseError
from pytest_promptse.models._base import Remote
from pytest_promptse.sampling._budget import Budget
from pytest_promptse.sampling._dispatcher import STARTED
from pytest_promptse.sampling._failures import FailureLog
from pytest_promptse.sampling._job import Job
from pytest_promptse.sampling._leader_election import (
    POLL_SECONDS,
    WANTED_JOB,
    WANTED_MODEL,
    Leader,
    Leadership,
    SamplerCommands,
)
from pytest_promptse.sampling._retry import RetryPolicy
from pytest_promptse.sandbox.guest.unpatched import asyncio, threading, time
from pytest_promptse.store._run_log import Progress
from pytest_promptse.store._store import capabilities_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.models._base import Backend, Capabilities, Completion
    from pytest_promptse.store._store import Store

__all__ = ["Budget", "Job", "Progress", "RetryPolicy", "Sampler"]

# The poll interval of a waiting thread in seconds. After this delay the thread notices Ctrl-C and
# completions that other processes have stored.
_POLL_SECONDS = 0.025
# The longest pause between two attempts in seconds, plus a margin.
_ERROR_SECONDS = 60.0


class Sampler:
    """Request the completions of a plan and store them.

    One process of a run, the leader, requests completions for all of them. The others read the
    completions from the store. If the leader ends, another process takes over. Two runs with one
    store do not request the same samples concurrently. Completions are not kept in memory.

    Parameters
    ----------
    store
        The store of completions.
    jobs
        The plan, in the order in which it will be judged. A variant may occur twice; it is
        requested once, with the larger number of samples.
    backends
        Functions that create the model of each ``BACKEND:NAME`` in `jobs`.
    run
        Name of the run, the same in all of its processes.
    concurrency
        The largest number of concurrent requests to one model, or None for the backend's own limit.
    budget
        The limits of what the run may spend.
    leader_lock
        The file that the leader locks, or None for a run of one process.
    retry_policy
        Number of attempts of a failed request, and the pauses.
    replay_only
        True to request nothing, and raise NotStoredError for what the store lacks.
    writers
        The models whose texts others are sent later.
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
        replay_only: bool = False,
        writers: Collection[str] = (),
    ) -> None:
        self._store = store
        self._run = run
        self._concurrency = concurrency
        self._budget = budget
        self._retry_policy = retry_policy
        self._replay_only = replay_only
        self._writers = frozenset(writers)
        self._factories = backends
        self._backends: dict[str, Backend] = {}
        self._failures = FailureLog(store, run)
        self._leadership = Leadership(leader_lock)
        self._commands = SamplerCommands()
        self._changed = threading.Condition()
        self._plan: dict[str, Job] = {}
        self._missing: dict[str, int] = {}
        self._arrived = 0
        self._began = time.monotonic()
        self._leading = False
        self._thread: threading.Thread | None = None
        self._crash: BaseException | None = None
        self._extend(jobs)

    def start(self) -> None:
        """Start to request the samples that the store lacks. Do nothing if it lacks none.

        Raises
        ------
        SettingsError
            If the settings of a model prevent every request, for example a missing key.
        """
        self._missing = self._count_missing(self._plan.values())
        if self._replay_only:
            return
        models = dict.fromkeys(self._plan[key].model for key in self._missing)
        if self._writers & models.keys():
            # What they write is paid in vain if the models that need it cannot be used.
            models = dict.fromkeys(self._factories)
        for model in models:
            backend = self._backend(model)
            if isinstance(backend, Remote):
                backend.check()
        if self._missing:
            self._launch()

    def request(self, jobs: Sequence[Job]) -> None:
        """Request `jobs` in addition to the plan, before all unsent requests."""
        self._extend(jobs)
        fresh = {job.key: self._plan[job.key] for job in jobs}
        # Under the lock, so that a completion that arrives meanwhile does not count as missing.
        with self._changed:
            missing = self._count_missing(fresh.values())
            self._missing |= missing
        if self._replay_only:
            return
        self._commands.add([fresh[key] for key in missing], first=True)
        if not missing:
            return
        self._launch()
        if self._leadership.is_shared and not self._leading:
            with self._store.transaction():
                for key in missing:
                    self._store.put(self._run, WANTED_JOB, key, fresh[key].to_json())

    def count_stored(self, jobs: Sequence[Job]) -> int:
        """Return the number of stored samples of those `jobs` that are not in the plan."""
        fresh = {job.key: job for job in jobs if job.key not in self._plan}
        total = sum(job.n for job in fresh.values())
        return total - sum(self._count_missing(fresh.values()).values())

    def wait(
        self, job: Job, n: int | None = None, *, tick: Callable[[], object] = lambda: None
    ) -> None:
        """Wait until the store has the first `n` samples of `job`, all of them by default.

        Parameters
        ----------
        job
            The job. It is requested if it is not in the plan.
        n
            Number of samples, or None for ``job.n``.
        tick
            Called on every poll, about 40 times a second.

        Raises
        ------
        ModelError
            If the model cannot answer.
        BudgetError
            If the budget is used up.
        NotStoredError
            If samples are missing and ``replay_only`` is set.
        StoreError
            If the completions cannot be written or read.
        """
        wanted = job if n is None else replace(job, n=n)
        requested = False
        while missing := self._count_missing([wanted]):
            if self._replay_only:
                raise NotStoredError(
                    f"{wanted.model}: {missing[wanted.key]} of {wanted.n} completions are not in "
                    "the store, and --promptse-replay-only requests none"
                )
            try:
                self._raise_failure(key=wanted.key, model=wanted.model)
            except PromptseError:
                # Completions that arrived before the failure were written before it.
                if self._count_missing([wanted]):
                    raise
                return
            if not requested:
                self.request([wanted])
                requested = True
            tick()
            self._poll()

    def completions(
        self, job: Job, n: int | None = None, *, tick: Callable[[], object] = lambda: None
    ) -> tuple[Completion, ...]:
        """Wait as `wait` does, then return the samples. Parameters and errors are the same.

        `n` is the number of samples, by default that of `job`. `tick` is called while it waits.
        """
        self.wait(job, n, tick=tick)
        return self._store.completions(job.key, job.n if n is None else n, since=job.since)

    def capabilities(self, model: str) -> Capabilities:
        """Return the capabilities of a model. Start it only if the store does not have them.

        If this run requests completions from the model, the capabilities are those found in this
        run.

        Raises
        ------
        NotScoredError
            If the model cannot be started.
        """
        with self._changed:
            will_start = not self._replay_only and any(
                self._plan[key].model == model for key in self._missing
            )
        requested = False
        while (note := self._store.get(self._run, STARTED, model)) is None:
            if not will_start:
                stored = self._store.capabilities(self._backend(model).identity)
                if stored is not None:
                    return stored
            if self._replay_only:
                raise NotStoredError(
                    f"{model}: the store has no completion of this model, and "
                    "--promptse-replay-only requests none"
                )
            self._raise_failure(model=model)
            if not requested:
                self._store.put(self._run, WANTED_MODEL, model, b"")
                self._launch()
                requested = True
            self._poll()
        return capabilities_from_json(note)

    def progress(self) -> Progress:
        """Return the progress of sampling."""
        total = self._total()
        with self._changed:
            at_first = missing = sum(self._missing.values())
            at_first += self._arrived
        if self._thread is not None and not self._leading:
            missing = self._still_missing()
        elapsed = time.monotonic() - self._began
        rate = (at_first - missing) / elapsed if elapsed > 0 else 0.0
        return Progress(
            done=total - missing,
            total=total,
            cached=total - at_first,
            rate=rate,
            eta=missing / rate if rate > 0 else None,
            usage=self._store.usage(self._run),
            last_error=self._failures.last_attempt(within=_ERROR_SECONDS),
        )

    def stop(self, *, grace: float) -> None:
        """Send no more requests, without waiting for open ones.

        Parameters
        ----------
        grace
            Seconds that open requests have to finish. Later requests are cancelled, and the next
            run or leader sends them again.
        """
        self._commands.close(grace=grace)

    def close(self, *, grace: float = 0.0) -> None:
        """End sampling and close the models, unless `stop` has begun to do so.

        Parameters
        ----------
        grace
            As for `stop`.
        """
        if not self._commands.closing.is_set():
            self.stop(grace=grace)
        if self._thread is not None:
            self._thread.join()

    # -- the plan ------------------------------------------------------------------------------

    def _extend(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            planned = self._plan.get(job.key)
            if planned is None or planned.n < job.n:
                self._plan[job.key] = job

    def _total(self) -> int:
        return sum(job.n for job in self._plan.values())

    def _count_missing(self, jobs: Iterable[Job]) -> dict[str, int]:
        jobs = list(jobs)
        missing = self._store.missing(
            {job.key: job.n for job in jobs}, since={job.key: job.since for job in jobs}
        )
        return {key: len(samples) for key, samples in missing.items() if samples}

    def _still_missing(self) -> int:
        return sum(self._count_missing(list(self._plan.values())).values())

    def _stored(self, key: str, samples: int) -> None:
        with self._changed:
            missing = self._missing.pop(key, 0)
            self._arrived += min(samples, missing)
            if samples < missing:
                self._missing[key] = missing - samples

    # -- waiting -------------------------------------------------------------------------------

    def _poll(self) -> None:
        with self._changed:
            self._changed.wait(_POLL_SECONDS)

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
            raise ModelError(
                f"{model}: unexpected error while sampling: {self._crash!r}"
            ) from self._crash
        if self._commands.closing.is_set():
            raise ModelError(f"{model}: sampling ended before this was answered; run again")
        if self._thread is not None and not self._thread.is_alive():
            raise ModelError(f"{model}: the thread that samples has ended; run again")

    # -- the sampling thread -------------------------------------------------------------------

    def _launch(self) -> None:
        if self._thread is None and not self._commands.closing.is_set():
            self._began = time.monotonic()
            self._thread = threading.Thread(target=self._main, name="promptse-sampler", daemon=True)
            self._thread.start()

    def _main(self) -> None:
        try:
            while not self._commands.closing.is_set():
                if self._leadership.take():
                    asyncio.run(self._lead())
                    return
                self._commands.closing.wait(POLL_SECONDS)
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
            n_missing=self._still_missing,
            stored=self._stored,
            changed=self._notify,
        )
        plan = dict(self._plan)
        missing = self._count_missing(plan.values())
        with self._changed:
            later = {key: left for key, left in self._missing.items() if key not in plan}
            self._missing = missing | later
        self._leading = True
        await leader.lead(self._commands, [plan[key] for key in missing])

    def _backend(self, model: str) -> Backend:
        if model not in self._backends:
            self._backends[model] = self._factories[model]()
        return self._backends[model]
