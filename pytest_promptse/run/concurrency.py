"""How many requests are under way at once: a level that finds itself, and the slots it gives."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_TOLERANCE = 2.0


class Level:
    """Additive increase, multiplicative decrease, after a start that doubles.

    The level rises after as many answers as it is high, unless their mean latency is more than
    twice the best mean yet: then the server queues what it is sent and more would win nothing.
    It halves when the server says that it is overloaded, once for all requests that were under
    way by then.

    Parameters
    ----------
    maximum
        The highest level, at least 1.
    initial
        Where it starts: polite to a server with a small allowance, and one or two doublings
        from what a large one can take.
    """

    def __init__(self, maximum: int, *, initial: int = 32) -> None:
        self.maximum = max(1, maximum)
        self.value = min(max(1, initial), self.maximum)
        self._doubling = True
        self._latencies: list[float] = []
        self._best = float("inf")
        self._last_cut = float("-inf")

    def answered(self, latency: float) -> None:
        """Take note of an answer that took `latency` seconds."""
        self._latencies.append(latency)
        if len(self._latencies) < self.value:
            return
        mean = sum(self._latencies) / len(self._latencies)
        self._latencies.clear()
        self._best = min(self._best, mean)
        if mean > _TOLERANCE * self._best:
            self._doubling = False
            return
        step = self.value if self._doubling else max(1, self.value // 8)
        self.value = min(self.maximum, self.value + step)

    def overloaded(self, *, began: float, now: float) -> None:
        """Take note that a request that `began` then was refused `now` (same clock, seconds)."""
        self._doubling = False
        if began < self._last_cut:
            return
        self._last_cut = now
        self._latencies.clear()
        self.value = max(1, self.value // 2)


class Slots:
    """As many slots as the level is high, given in the order they are asked for.

    An asynchronous context manager: inside it, one slot is held.
    """

    def __init__(self, level: Level) -> None:
        self.level = level
        self._loop = asyncio.get_running_loop()
        self._busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed_until = float("-inf")

    async def __aenter__(self) -> Self:
        await self._acquire()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._release()

    async def rest(self, seconds: float) -> None:
        """Give the held slot to others for that long, then hold one again."""
        self._release()
        try:
            await asyncio.sleep(seconds)
        finally:
            await self._acquire()

    def pause(self, seconds: float) -> None:
        """Give no slot for that long."""
        self._closed_until = max(self._closed_until, self._loop.time() + seconds)
        self._loop.call_later(seconds, self._hand_out)

    def answered(self, latency: float) -> None:
        """Tell the level of an answer, in seconds."""
        self.level.answered(latency)
        self._hand_out()

    async def _acquire(self) -> None:
        turn = self._loop.create_future()
        self._waiting.append(turn)
        self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        self._busy -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        if self._loop.time() < self._closed_until:
            return
        while self._waiting and self._busy < self.level.value:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self._busy += 1
                turn.set_result(None)
