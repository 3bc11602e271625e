"""The unanswered jobs of one model, and the requests into which they are split."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pytest_promptse.models._base import Request, derive_seed
from pytest_promptse.sandbox.guest.unpatched import asyncio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_promptse.sampling._job import Job
    from pytest_promptse.store._leases import Leases
    from pytest_promptse.store._writer import Writer


class RequestQueue:
    """Jobs in the order of the plan. The next few are leased in advance.

    A job that another run has leased is set aside until `retry_leased`.

    Parameters
    ----------
    leases, writer
        Objects for leasing jobs.
    stored
        Called with a key and a number of samples if a job turns out to be complete.
    """

    def __init__(
        self, *, leases: Leases, writer: Writer, stored: Callable[[str, int], None]
    ) -> None:
        self._leases = leases
        self._writer = writer
        self._stored = stored
        self._pending: OrderedDict[str, Job] = OrderedDict()
        self._ready: deque[tuple[Job, list[int]]] = deque()
        self._leased_elsewhere: dict[str, Job] = {}
        self._active: dict[str, Job] = {}
        self._leasing: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._pending) + len(self._ready)

    @property
    def holds_leases(self) -> bool:
        """True if any job is leased and not finished."""
        return bool(self._active)

    def add(self, jobs: Iterable[Job], *, first: bool) -> None:
        """Add jobs at the end or, with `first`, at the front. Active jobs keep their place.

        A job that is queued twice is kept once, with the larger number of samples.
        """
        for job in reversed(list(jobs)) if first else jobs:
            active = self._active.get(job.key)
            if active is not None and active.n >= job.n:
                continue
            waiting = self._pending.get(job.key) or self._leased_elsewhere.pop(job.key, None)
            self._pending[job.key] = waiting if waiting is not None and waiting.n > job.n else job
            if first:
                self._pending.move_to_end(job.key, last=False)

    async def take(self, *, ahead: int) -> tuple[Job, list[int]] | None:
        """Return the next job and the samples it lacks, or None if nothing can be sent now.

        Parameters
        ----------
        ahead
            Number of further jobs to keep leased, so that jobs need not wait for their leases.
        """
        self._lease_ahead(ahead)
        while not self._ready:
            if self._leasing is None:
                return None
            await asyncio.wait({self._leasing})
            self._lease_ahead(ahead)
        following = self._ready.popleft()
        self._lease_ahead(ahead)
        return following

    def finish(self, job: Job) -> None:
        """Remove an active job whose samples are stored or failed."""
        del self._active[job.key]

    def retry_leased(self) -> None:
        """Queue the jobs that another run had leased at the front again."""
        self.add(list(self._leased_elsewhere.values()), first=True)

    def drop(self) -> None:
        """Discard every job that is not active."""
        unsent = [job.key for job, _ in self._ready]
        self._writer.post(partial(self._leases.release, unsent))
        for key in unsent:
            del self._active[key]
        self._pending.clear()
        self._ready.clear()
        self._leased_elsewhere.clear()

    async def close(self) -> None:
        """Discard every job that is not active and stop leasing."""
        self.drop()
        if self._leasing is not None:
            self._leasing.cancel()
            await asyncio.wait({self._leasing})

    def _lease_ahead(self, ahead: int) -> None:
        if self._leasing is None and self._pending and len(self._ready) < ahead:
            self._leasing = asyncio.create_task(self._lease(ahead))

    async def _lease(self, count: int) -> None:
        try:
            jobs = [
                self._pending.popitem(last=False)[1] for _ in range(min(count, len(self._pending)))
            ]
            # More samples of an active job wait until that job is finished.
            self._leased_elsewhere |= {job.key: job for job in jobs if job.key in self._active}
            free = {job.key: job for job in jobs if job.key not in self._active}
            keys = {key: job.n for key, job in free.items()}
            since = {key: job.since for key, job in free.items()}
            leased = await self._writer.post(partial(self._leases.take, keys, since=since))
        finally:
            self._leasing = None
        for key, job in free.items():
            missing = leased.get(key)
            if missing is None:
                self._leased_elsewhere[key] = job
            elif missing:
                self._active[key] = job
                self._ready.append((job, missing))
            else:
                self._stored(key, job.n)


class ActiveJob:
    """A job whose samples are being requested.

    ``left`` counts the samples that are neither stored nor failed.
    """

    def __init__(self, job: Job, missing: Sequence[int]) -> None:
        self.job = job
        self.left = len(missing)


@dataclass(frozen=True)
class Batch:
    """Samples ``first … first + n - 1`` of a job, requested together."""

    active: ActiveJob
    first: int
    n: int

    @property
    def samples(self) -> range:
        """The indices of the samples within the job, from 0."""
        return range(self.first, self.first + self.n)

    @property
    def request(self) -> Request:
        """The request for these samples.

        The seed depends only on the job and the first sample. A sample that is requested by itself
        therefore always has the same seed.
        """
        job = self.active.job
        return Request(
            prompt=job.prompt,
            decoding=job.decoding,
            n=self.n,
            first=self.first,
            seed=derive_seed(job.seed, self.first),
            task_id=job.task_id,
            variant_id=job.variant_id,
            template=job.template,
            reference=job.reference,
        )


class BatchQueue:
    """Batches of samples to request next, in the order of their jobs.

    Attributes
    ----------
    one_by_one
        True if the model takes only one sample per request. May be set at any time.
    """

    def __init__(self) -> None:
        self.one_by_one = False
        self._waiting: deque[Batch] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, active: ActiveJob, samples: Sequence[int], *, first: bool = False) -> None:
        """Add samples at the end or at the front. Adjacent samples form one batch.

        `samples` are numbers of samples of the job. With `first` they are added at the front.
        """
        batches = [Batch(active, start, n) for start, n in _adjacent(samples)]
        if first:
            self._waiting.extendleft(reversed(batches))
        else:
            self._waiting.extend(batches)

    def next(self) -> Batch:
        """Remove and return the batch for the next request."""
        batch = self._waiting.popleft()
        if self.one_by_one and batch.n > 1:
            self._waiting.appendleft(Batch(batch.active, batch.first + 1, batch.n - 1))
            return Batch(batch.active, batch.first, 1)
        return batch

    def drop(self, unwanted: Callable[[ActiveJob], bool]) -> list[Batch]:
        """Remove and return every batch of the `unwanted` jobs."""
        dropped = [batch for batch in self._waiting if unwanted(batch.active)]
        self._waiting = deque(queued for queued in self._waiting if not unwanted(queued.active))
        return dropped


def _adjacent(samples: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first number and the length of each run of adjacent numbers."""
    first = 0
    for place, sample in enumerate(samples):
        if place + 1 == len(samples) or samples[place + 1] != sample + 1:
            yield samples[first], place + 1 - first
            first = place + 1
