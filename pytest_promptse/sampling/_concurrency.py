"""Adaptive limit of concurrent requests to one model."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Self

from pytest_promptse.sandbox.guest.unpatched import asyncio

if TYPE_CHECKING:
    from types import TracebackType

_TOLERANCE = 2.0
# The factor by which a doubled limit must raise the responses per second. If the gain is smaller,
# the server is saturated. The limit then becomes the previous one plus a quarter, since a few
# queued requests hide the latency between two requests.
_WORTH = 1.1
_MARGIN = 1.25
_LONGEST_HOLD = 64


class AdaptiveLimit:
    """Slow start, then additive increase and decrease on overload, as in TCP congestion control.

    The limit is adjusted each time when as many responses have arrived as the limit allows
    requests. Only responses to requests sent after the last adjustment count. During slow start the
    limit doubles. If doubling gains few responses per second, the server queues the requests. Slow
    start then ends with the last useful limit plus a quarter. Afterwards the limit rises slowly
    while the mean latency stays below twice the best mean.

    If the server reports overload, the limit falls to the highest value that worked. If it has that
    value already, it is halved. It rises again after a pause that doubles every time. All requests
    that were open at that time count as one report.

    All times are in seconds of one clock.

    Parameters
    ----------
    maximum
        The largest limit, at least 1.
    initial
        The first limit. The default suits servers with a small allowance. One or two doublings
        reach the limits of large servers.
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
        """Record a response to a request that was sent at `began`.

        `began` and `now` are times of the monotonic clock in seconds. A request that began before
        the last change of the limit is ignored.
        """
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
        """Record that the server refused a request because of overload.

        `began` and `now` are times of the monotonic clock in seconds. The limit is lowered once for
        all requests that were in flight together.
        """
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


class RequestLimiter:
    """Limits the number of concurrent requests. Requests start in the order of their arrival.

    Use it as an asynchronous context manager around each request.
    """

    def __init__(self, limit: AdaptiveLimit) -> None:
        self.limit = limit
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
        """Let other requests go first for `seconds`, then continue."""
        self._release()
        try:
            await asyncio.sleep(seconds)
        finally:
            await self._acquire()

    def pause(self, seconds: float) -> None:
        """Start no request for `seconds`."""
        self._closed_until = max(self._closed_until, self._loop.time() + seconds)
        self._loop.call_later(seconds, self._start_waiting)

    def answered(self, *, began: float, now: float) -> None:
        """Record a response to a request sent at `began`, and start waiting requests.

        `began` and `now` are times of the monotonic clock in seconds.
        """
        self.limit.answered(began=began, now=now)
        self._start_waiting()

    async def _acquire(self) -> None:
        turn = self._loop.create_future()
        self._waiting.append(turn)
        self._start_waiting()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        self._busy -= 1
        self._start_waiting()

    def _start_waiting(self) -> None:
        if self._loop.time() < self._closed_until:
            return
        while self._waiting and self._busy < self.limit.value:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self._busy += 1
                turn.set_result(None)
