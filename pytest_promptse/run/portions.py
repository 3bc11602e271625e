"""How a wording's samples are asked for: in as few requests as its model bears."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.models.base import Request, derive_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_promptse.sampling.job import Job


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
