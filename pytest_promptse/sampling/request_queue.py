"""What one model has yet to be asked, and whose turn is next."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pytest_promptse.models.base import Request, derive_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_promptse.sampling.job import Job
    from pytest_promptse.store.leases import Leases
    from pytest_promptse.store.writer import Writer


class RequestQueue:
    """Jobs in the order given, the next few claimed so that none waits for its claim.

    Those that another run has under way are put by until `revive`.

    Parameters
    ----------
    leases, writer
        By which jobs are claimed.
    kept
        Told of a wording that turns out to be complete, with its number of samples.
    """

    def __init__(self, *, leases: Leases, writer: Writer, kept: Callable[[str, int], None]) -> None:
        self._leases = leases
        self._writer = writer
        self._kept = kept
        self._pending: OrderedDict[str, Job] = OrderedDict()
        self._claimed: deque[tuple[Job, list[int]]] = deque()
        self._elsewhere: dict[str, Job] = {}
        self._taken: dict[str, Job] = {}
        self._claiming: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._pending) + len(self._claimed)

    @property
    def taken(self) -> bool:
        """Whether any job is claimed and not done."""
        return bool(self._taken)

    def add(self, jobs: Iterable[Job], *, first: bool) -> None:
        """Put jobs at the end or, with `first`, at the front; what is taken stays where it is."""
        for job in reversed(list(jobs)) if first else jobs:
            taken = self._taken.get(job.key)
            if taken is not None and taken.n >= job.n:
                continue
            known = self._pending.get(job.key) or self._elsewhere.pop(job.key, None)
            self._pending[job.key] = known if known is not None and known.n > job.n else job
            if first:
                self._pending.move_to_end(job.key, last=False)

    async def take(self, *, ahead: int) -> tuple[Job, list[int]] | None:
        """Return the next job with the samples it lacks, None where nothing is left to do now.

        Keeps up to `ahead` more of them claimed.
        """
        self._claim_ahead(ahead)
        while not self._claimed:
            if self._claiming is None:
                return None
            await asyncio.wait({self._claiming})
            self._claim_ahead(ahead)
        following = self._claimed.popleft()
        self._claim_ahead(ahead)
        return following

    def done(self, job: Job) -> None:
        """Take note that a job which was taken is answered and kept, or given up."""
        del self._taken[job.key]

    def revive(self) -> None:
        """Look again, and first, at what another run had under way."""
        self.add(list(self._elsewhere.values()), first=True)

    def drop(self) -> None:
        """Forget what has not been taken."""
        unsent = [job.key for job, _ in self._claimed]
        self._writer.post(partial(self._leases.release, unsent))
        for key in unsent:
            del self._taken[key]
        self._pending.clear()
        self._claimed.clear()
        self._elsewhere.clear()

    async def close(self) -> None:
        """Forget what has not been taken and claim nothing more."""
        self.drop()
        if self._claiming is not None:
            self._claiming.cancel()
            await asyncio.wait({self._claiming})

    def _claim_ahead(self, ahead: int) -> None:
        if self._claiming is None and self._pending and len(self._claimed) < ahead:
            self._claiming = asyncio.create_task(self._claim(ahead))

    async def _claim(self, count: int) -> None:
        try:
            batch = [
                self._pending.popitem(last=False)[1] for _ in range(min(count, len(self._pending)))
            ]
            # Of a wording under way a bigger number of samples waits until that is answered.
            self._elsewhere |= {job.key: job for job in batch if job.key in self._taken}
            free = {job.key: job for job in batch if job.key not in self._taken}
            claimed = await self._writer.post(
                partial(self._leases.take, {key: job.n for key, job in free.items()})
            )
        finally:
            self._claiming = None
        for key, job in free.items():
            missing = claimed.get(key)
            if missing is None:
                self._elsewhere[key] = job
            elif missing:
                self._taken[key] = job
                self._claimed.append((job, missing))
            else:
                self._kept(key, job.n)


class Order:
    """One wording under way.

    ``left`` counts the samples that are neither in the store nor given up.
    """

    def __init__(self, job: Job, missing: Sequence[int]) -> None:
        self.job = job
        self.left = len(missing)


@dataclass(frozen=True)
class Portion:
    """Samples ``first … first + n - 1`` of a wording, asked for in one request."""

    order: Order
    first: int
    n: int

    @property
    def samples(self) -> range:
        """The samples' numbers."""
        return range(self.first, self.first + self.n)

    @property
    def request(self) -> Request:
        """The request.

        Its seed depends on the wording and the first sample alone, so a sample that is asked for
        by itself has the same seed whenever and after whatever it is asked for.
        """
        job = self.order.job
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


class Portions:
    """What is to be asked next, in the order of the wordings.

    Parameters
    ----------
    one_by_one
        Whether the model takes one sample a request only; may be set at any time.
    """

    def __init__(self, *, one_by_one: bool = False) -> None:
        self.one_by_one = one_by_one
        self._waiting: deque[Portion] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, order: Order, samples: Sequence[int], *, first: bool = False) -> None:
        """Put samples of a wording at the end or at the front, adjacent ones together."""
        portions = [Portion(order, start, n) for start, n in _runs(samples)]
        if first:
            self._waiting.extendleft(reversed(portions))
        else:
            self._waiting.extend(portions)

    def next(self) -> Portion:
        """Take off what one request asks for."""
        portion = self._waiting.popleft()
        if self.one_by_one and portion.n > 1:
            self._waiting.appendleft(Portion(portion.order, portion.first + 1, portion.n - 1))
            return Portion(portion.order, portion.first, 1)
        return portion

    def drop(self, unwanted: Callable[[Order], bool]) -> list[Portion]:
        """Take off everything of the `unwanted` wordings and return it."""
        dropped = [portion for portion in self._waiting if unwanted(portion.order)]
        self._waiting = deque(each for each in self._waiting if not unwanted(each.order))
        return dropped


def _runs(samples: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and length of each run of adjacent numbers."""
    first = 0
    for place, sample in enumerate(samples):
        if place + 1 == len(samples) or samples[place + 1] != sample + 1:
            yield samples[first], place + 1 - first
            first = place + 1
