"""Retries: the number of attempts of a request, and the pauses between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from pytest_promptse.models._base import FatalError, TransientError
from pytest_promptse.sandbox.guest.unpatched import asyncio, random

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Limits of retries: exponential backoff with jitter.

    Parameters
    ----------
    attempts
        The largest number of attempts per request, at least 1.
    first, longest
        The pause before the second attempt and the longest pause, in seconds. The pause doubles
        with every attempt. Each pause is shortened by a random share of up to one half, so that
        requests that failed together are not sent again together.
    longest_retry_after
        The longest pause, in seconds, that a server may request. If a server requests a longer
        pause, the request fails at once.
    """

    attempts: int = 6
    first: float = 1.0
    longest: float = 30.0
    longest_retry_after: float = 120.0

    def pause(self, attempt: int, retry_after: float | None) -> float | None:
        """Return the pause in seconds after the failed `attempt`, or None to give up.

        Parameters
        ----------
        attempt
            Number of the attempt, from 0.
        retry_after
            The pause in seconds that the server requested, or None. The result is never shorter.
        """
        if attempt + 1 >= self.attempts or self.exceeded(retry_after):
            return None
        jitter = random.uniform(0.5, 1.0)
        return (retry_after or 0.0) + jitter * min(self.first * 2.0**attempt, self.longest)

    def exceeded(self, retry_after: float | None) -> bool:
        """Return whether a server requests a longer pause than `longest_retry_after`."""
        return (retry_after or 0.0) > self.longest_retry_after


class Attempt:
    """One attempt. As a context manager, it suppresses and keeps a transient error of its body."""

    def __init__(self) -> None:
        self.error: TransientError | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if isinstance(error, TransientError):
            self.error = error
        return self.error is not None


async def attempts(
    *,
    retry_policy: RetryPolicy,
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
    failed: Callable[[TransientError], object] = lambda _error: None,
) -> AsyncIterator[Attempt]:
    """Yield attempts until the body of one succeeds.

    ::

        async for attempt in attempts(retry_policy=policy):
            with attempt:
                response = await request()

    Parameters
    ----------
    retry_policy
        Number of attempts and length of the pauses.
    rest
        Waits a number of seconds between two attempts.
    failed
        Called with the error of each attempt that fails.

    Raises
    ------
    TransientError
        If the last attempt failed. Every other error of a body is raised at once.
    FatalError
        If the server is overloaded and requests a longer pause than the policy allows.
    """
    for number in count():
        attempt = Attempt()
        yield attempt
        error = attempt.error
        if error is None:
            return
        failed(error)
        pause = retry_policy.pause(number, error.retry_after)
        if pause is None:
            tried = f"tried {number + 1} times" if number else "tried once"
            wish = f", server asks to wait {error.retry_after:g} s" if error.retry_after else ""
            hopeless = error.overloaded and retry_policy.exceeded(error.retry_after)
            kind = FatalError if hopeless else TransientError
            raise kind(f"{error} ({tried}{wish})") from error
        await rest(pause)
