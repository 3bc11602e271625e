from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.errors import BudgetError, SettingsError
from pytest_promptse.models._base import Decoding, Prompt, Request, Usage
from pytest_promptse.sampling._budget import Account, Budget, upper_bound


def test_a_cost_limit_without_prices_is_refused():
    with pytest.raises(SettingsError, match=r"max_cost=5 .*--promptse-price"):
        Budget(max_cost=5)


def test_cost_is_by_the_million_tokens_of_each_kind():
    used = Usage(requests=9, prompt_tokens=2_000_000, completion_tokens=500_000)
    assert Budget(price=(0.4, 1.6)).cost(used) == pytest.approx(1.6)
    assert Budget().cost(used) is None


def test_the_worst_case_counts_every_sample_full_and_the_prompt_once():
    prompt, decoding = Prompt(user="ä" * 100, system="be brief"), Decoding(max_tokens=50)
    ask = Request(prompt=prompt, decoding=decoding, n=4)
    assert upper_bound(ask).completion_tokens == 200
    assert upper_bound(ask).prompt_tokens >= 208
    assert upper_bound(ask).requests == 1


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(1, 100), st.integers(1, 100)).map(lambda pair: (max(pair), *pair)),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 10),
    st.integers(0, 2000),
)
def test_what_is_paid_never_exceeds_the_limits(requests, max_requests, tokens):
    """Each request is known to take at most its worst case, and takes less."""
    budget = Budget(max_requests=max_requests, max_cost=tokens / 1e6, price=(0, 1))
    spent = []

    async def one(account, worst, really):
        worst = Usage(requests=1, prompt_tokens=1, completion_tokens=worst)
        async with account.request(worst) as slip:
            await asyncio.sleep(0)
            slip.paid = Usage(requests=1, prompt_tokens=1, completion_tokens=really)
        spent.append(really)

    async def run():
        account = Account(budget, spent=Usage())
        tasks = [one(account, worst, really) for worst, really, _ in requests]
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcome = asyncio.run(run())
    assert sum(spent) <= tokens
    assert len(spent) <= max_requests
    refused = [error for error in outcome if error is not None]
    assert all(isinstance(error, BudgetError) for error in refused)
    assert len(refused) + len(spent) == len(requests)


def test_a_request_waits_where_only_the_worst_case_of_others_stands_in_its_way():
    async def run():
        account = Account(Budget(max_cost=10e-6, price=(0, 1)), spent=Usage())
        worst = Usage(requests=1, prompt_tokens=1, completion_tokens=6)
        order = []

        async def one(name):
            async with account.request(worst) as slip:
                order.append(f"{name} sent")
                await asyncio.sleep(0.01)
                slip.paid = Usage(requests=1, prompt_tokens=1, completion_tokens=2)
                order.append(f"{name} answered")

        await asyncio.gather(one("a"), one("b"))
        return order

    assert asyncio.run(run()) == ["a sent", "a answered", "b sent", "b answered"]


def test_a_server_that_tells_no_usage_is_booked_with_the_worst_case():
    async def run():
        account = Account(Budget(max_cost=10e-6, price=(0, 1)), spent=Usage())
        worst = Usage(requests=1, prompt_tokens=1, completion_tokens=6)
        async with account.request(worst) as slip:
            slip.paid = Usage(requests=1)
        async with account.request(worst):
            pass

    with pytest.raises(BudgetError, match=r"max_cost=1e-05: 6e-06 is spent"):
        asyncio.run(run())


def test_a_request_that_was_turned_away_is_booked_without_tokens():
    async def run():
        account = Account(Budget(max_cost=10e-6, price=(0, 1)), spent=Usage())
        worst = Usage(requests=1, prompt_tokens=1, completion_tokens=6)
        for _ in range(3):
            async with account.request(worst) as slip:
                slip.refuse()

    asyncio.run(run())


def test_what_another_process_of_the_run_has_spent_counts():
    async def run():
        account = Account(Budget(max_requests=5), spent=Usage(requests=5))
        async with account.request(Usage(requests=1)):
            pass

    with pytest.raises(BudgetError, match="5 were sent"):
        asyncio.run(run())
