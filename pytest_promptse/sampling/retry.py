"""How often and after what pause a request is sent again."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from pytest_promptse.models.base import FatalError, TransientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """The bounds of trying again.

    Parameters
    ----------
    attempts
        The most times one request is sent.
    first, longest
        The pause before the second attempt, in seconds, and the bound that doubling it runs
        into. Each pause is shortened by up to half at random, so that requests which failed
        together do not come back together.
    longest_wish
        The longest pause asked for by a server that is waited for, in seconds; beyond it the
        request is given up at once.
    """

    attempts: int = 6
    first: float = 1.0
    longest: float = 30.0
    longest_wish: float = 120.0

    def pause(self, attempt: int, wish: float | None) -> float | None:
        """Return the seconds to wait after failed `attempt` (from 0), None to give up.

        A server's `wish` is a floor: it is never asked again earlier.
        """
        if attempt + 1 >= self.attempts or self.exceeded(wish):
            return None
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret
        return (wish or 0.0) + jitter * min(self.first * 2.0**attempt, self.longest)

    def exceeded(self, wish: float | None) -> bool:
        """Whether a server asks for a longer pause than is waited for."""
        return (wish or 0.0) > self.longest_wish


async def with_retries(
    action: Callable[[], Awaitable[_T]],
    *,
    retry_policy: RetryPolicy,
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> _T:
    """Return what `action` returns, trying again with `rest` between where a failure may pass.

    Raises
    ------
    TransientError
        If patience has run out; whatever else `action` raises goes through at once.
    FatalError
        If the server is overloaded and wants nothing for longer than that is waited for.
    """
    for attempt in count():
        try:
            return await action()
        except TransientError as error:
            pause = retry_policy.pause(attempt, error.retry_after)
            if pause is None:
                tried = f"tried {attempt + 1} times" if attempt else "tried once"
                wish = f", server asks to wait {error.retry_after:g} s" if error.retry_after else ""
                hopeless = error.overloaded and retry_policy.exceeded(error.retry_after)
                kind = FatalError if hopeless else TransientError
                raise kind(f"{error} ({tried}{wish})") from error
        await rest(pause)
    raise AssertionError  # count() does not end
