"""How many requests are under way at once: a level that finds itself, and the slots it gives."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_TOLERANCE = 2.0
# What doubling must win in answers a second, and what is kept of it where it does not: the server
# has no more room then, and a few that wait at its door hide what lies between two requests.
_WORTH = 1.1
_MARGIN = 1.25
_LONGEST_HOLD = 64


class Level:
    """A start that doubles as long as that pays, then additive increase, and decrease on refusal.

    The level is judged after as many answers as it is high, among requests sent since it was set.
    Where doubling it brought hardly more answers a second, the server queues what it is sent, and
    the level goes back to a quarter more than before. Afterwards it rises slowly, unless the mean
    latency is more than twice the best mean yet. Where the server says that it is overloaded, the
    level goes back to the highest that the server bore, and rises again ever more seldom; if it is
    there already it halves. That is done once for all requests that were under way by then.

    Times are of one clock, in seconds.

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
        self._before, self._rate = self.value, 0.0
        self._set_at = self._last_cut = float("-inf")
        self._borne = 0
        self._hold = self._holding = 0

    def answered(self, *, began: float, now: float) -> None:
        """Take note of an answer to a request."""
        if began < self._set_at:
            return
        self._latencies.append(now - began)
        if len(self._latencies) < self.value:
            return
        mean = max(sum(self._latencies) / len(self._latencies), 1e-9)
        self._latencies.clear()
        self._best = min(self._best, mean)
        if self.value > self._borne:
            self._borne, self._hold = self.value, 0
        if self._doubling:
            self._double(rate=self.value / mean, now=now)
        elif self._holding:
            self._holding -= 1
        elif mean <= _TOLERANCE * self._best:
            self._set(self.value + max(1, self.value // 8), now)

    def overloaded(self, *, began: float, now: float) -> None:
        """Take note that a request was refused for overload."""
        self._doubling = False
        if began < self._last_cut:
            return
        self._last_cut = now
        if 0 < self._borne < self.value:
            self._hold = self._holding = min(max(1, 2 * self._hold), _LONGEST_HOLD)
            self._set(self._borne, now)
        else:
            self._borne = 0
            self._set(self.value // 2, now)

    def _double(self, *, rate: float, now: float) -> None:
        if rate < _WORTH * self._rate:
            self._doubling = False
            self._set(int(_MARGIN * self._before), now)
        elif self.value == self.maximum:
            self._doubling = False
        else:
            self._before, self._rate = self.value, rate
            self._set(2 * self.value, now)

    def _set(self, value: int, now: float) -> None:
        self._latencies.clear()
        value = min(max(1, value), self.maximum)
        if value != self.value:
            self.value, self._set_at = value, now


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

    def answered(self, *, began: float, now: float) -> None:
        """Tell the level of an response."""
        self.level.answered(began=began, now=now)
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
