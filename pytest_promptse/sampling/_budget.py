"""The budget of a run, checked before each request."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.errors import BudgetError, SettingsError
from pytest_promptse.models._base import RequestUsage, Usage, token_cost
from pytest_promptse.sandbox.guest.unpatched import asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pytest_promptse.models._base import Request

# Tokens that a chat template and role markers add to a prompt: a few dozen in current models.
_TEMPLATE_TOKENS = 64


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The limits of one run. None means no limit.

    Parameters
    ----------
    max_requests
        The largest number of requests, including failed ones.
    max_cost
        The largest cost, in the currency of `price`.
    price
        Price of one million prompt tokens and of one million completion tokens.

    Raises
    ------
    SettingsError
        If `max_cost` is given without `price`.
    """

    max_requests: int | None = None
    max_cost: float | None = None
    price: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.max_cost is not None and self.price is None:
            raise SettingsError(
                f"max_cost={self.max_cost:g} needs prices to be checked; "
                "add --promptse-price INPUT,OUTPUT (per million tokens)"
            )

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of `usage`, or None without a price."""
        if self.price is None:
            return None
        return token_cost(self.price, usage.prompt_tokens, usage.completion_tokens)


def upper_bound(request: Request) -> Usage:
    """Return the largest usage that `request` can have.

    A token covers at least one byte, so a prompt has at most as many tokens as bytes.
    """
    text = request.prompt.user + (request.prompt.system or "")
    prompt_tokens = len(text.encode()) + _TEMPLATE_TOKENS
    return Usage(
        requests=1,
        prompt_tokens=prompt_tokens,
        completion_tokens=request.n * request.decoding.max_tokens,
    )


class Account:
    """The cost of a run so far, and an upper bound of the cost of its open requests.

    Parameters
    ----------
    budget
        The limits.
    spent
        Usage of earlier leaders of the same run.
    """

    def __init__(self, budget: Budget, *, spent: Usage) -> None:
        self._budget = budget
        self._spent = spent
        self._open: dict[RequestUsage, Usage] = {}
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def request(self, worst: Usage) -> AsyncIterator[RequestUsage]:
        """Reserve `worst` while a request is open, then add its actual usage to the account.

        If the budget is exceeded only by reservations of other requests, wait until these are
        settled.

        Raises
        ------
        BudgetError
            If the request alone could exceed the budget.
        """
        while (reason := self._excess_reason(worst)) is not None:
            if not self._open:
                raise BudgetError(reason)
            await self._settled.wait()
        usage = RequestUsage()
        self._open[usage] = worst
        try:
            yield usage
        finally:
            del self._open[usage]
            self._spent += usage.paid if usage.refused else _counted(usage.paid, worst)
            self._settled.set()
            self._settled = asyncio.Event()

    def _excess_reason(self, worst: Usage) -> str | None:
        limits = self._budget
        if limits.max_requests is None and limits.max_cost is None:
            return None
        total = sum(self._open.values(), start=self._spent + worst)
        if limits.max_requests is not None and total.requests > limits.max_requests:
            return (
                f"max_requests={limits.max_requests}: {self._spent.requests} were sent, and the "
                "next one would exceed the limit; raise --promptse-max-requests"
            )
        cost, spent = limits.cost(total), limits.cost(self._spent)
        if limits.max_cost is not None and cost is not None and cost > limits.max_cost:
            return (
                f"max_cost={limits.max_cost:g}: {spent:.4g} is spent and the next request may cost "
                f"up to {limits.cost(worst):.2g}; raise --promptse-max-cost"
            )
        return None


def _counted(paid: Usage, worst: Usage) -> Usage:
    """Return the upper bound if the server did not report token counts, else `paid`.

    `paid` is what the server reported, and `worst` the upper bound of the request.
    """
    if paid.requests and not paid.prompt_tokens and not paid.completion_tokens:
        return Usage(
            requests=paid.requests,
            prompt_tokens=worst.prompt_tokens,
            completion_tokens=worst.completion_tokens,
        )
    return paid
