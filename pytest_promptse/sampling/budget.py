"""What a run may spend, checked before each request rather than after."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.errors import BudgetError, SettingsError
from pytest_promptse.models.base import RequestUsage, Usage, token_cost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pytest_promptse.models.base import Request

# What chat templates and role markers add to a prompt: a few dozen tokens in current models.
_TEMPLATE_TOKENS = 64


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The limits of one run; None is no limit.

    Parameters
    ----------
    max_requests
        Requests sent, those that failed included.
    max_cost
        In the currency of `price`.
    price
        Of a million prompt tokens and of a million completion tokens.

    Raises
    ------
    SettingsError
        If `max_cost` comes without `price`.
    """

    max_requests: int | None = None
    max_cost: float | None = None
    price: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.max_cost is not None and self.price is None:
            raise SettingsError(
                f"max_cost={self.max_cost:g} cannot be kept to without prices; "
                "add --promptse-price INPUT,OUTPUT (per million tokens)"
            )

    def cost(self, usage: Usage) -> float | None:
        """Return what `usage` costs, None without a price."""
        if self.price is None:
            return None
        return token_cost(self.price, usage.prompt_tokens, usage.completion_tokens)


def most(request: Request) -> Usage:
    """Return the most that `ask` can use.

    A token stands for at least one byte, so a prompt has no more tokens than bytes.
    """
    text = request.prompt.user + (request.prompt.system or "")
    prompt_tokens = len(text.encode()) + _TEMPLATE_TOKENS
    return Usage(
        requests=1,
        prompt_tokens=prompt_tokens,
        completion_tokens=request.n * request.decoding.max_tokens,
    )


class Account:
    """What a run has spent and what its requests under way may still spend.

    Parameters
    ----------
    budget
        The limits.
    spent
        What the run had spent before, in a process that this one takes over from.
    """

    def __init__(self, budget: Budget, *, spent: Usage) -> None:
        self._budget = budget
        self._spent = spent
        self._under_way: dict[RequestUsage, Usage] = {}
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def request(self, worst: Usage) -> AsyncIterator[RequestUsage]:
        """Hold `worst` aside while a request is under way, then book what its slip says.

        Where only the worst case of other requests stands in the way, it waits for them.

        Raises
        ------
        BudgetError
            If the request could exceed the budget although nothing else is under way.
        """
        while (reason := self._objection(worst)) is not None:
            if not self._under_way:
                raise BudgetError(reason)
            await self._settled.wait()
        usage = RequestUsage()
        self._under_way[usage] = worst
        try:
            yield usage
        finally:
            del self._under_way[usage]
            self._spent += usage.paid if usage.refused else _counted(usage.paid, worst)
            self._settled.set()
            self._settled = asyncio.Event()

    def _objection(self, worst: Usage) -> str | None:
        limits = self._budget
        if limits.max_requests is None and limits.max_cost is None:
            return None
        total = sum(self._under_way.values(), start=self._spent + worst)
        if limits.max_requests is not None and total.requests > limits.max_requests:
            return (
                f"max_requests={limits.max_requests}: {self._spent.requests} are sent and the next "
                "would exceed it; raise --promptse-max-requests"
            )
        cost, spent = limits.cost(total), limits.cost(self._spent)
        if limits.max_cost is not None and cost is not None and cost > limits.max_cost:
            return (
                f"max_cost={limits.max_cost:g}: {spent:.4g} is spent and the next request may cost "
                f"up to {limits.cost(worst):.2g}; raise --promptse-max-cost"
            )
        return None


def _counted(paid: Usage, worst: Usage) -> Usage:
    """Book the worst case of an answer whose server does not say how many tokens it took."""
    if paid.requests and not paid.prompt_tokens and not paid.completion_tokens:
        return Usage(
            requests=paid.requests,
            prompt_tokens=worst.prompt_tokens,
            completion_tokens=worst.completion_tokens,
        )
    return paid
