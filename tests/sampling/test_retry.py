from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.models._base import FatalError, TransientError
from pytest_promptse.sampling._retry import RetryPolicy, attempts

wishes = st.none() | st.floats(0, 120)


@given(st.integers(0, 20), wishes)
def test_pauses_double_up_to_a_bound_and_never_undercut_the_servers_wish(attempt, wish):
    retry_policy = RetryPolicy(attempts=100, first=1.0, longest=30.0, longest_retry_after=120.0)
    pause = retry_policy.pause(attempt, wish)
    unjittered = min(2.0**attempt, 30.0)
    assert pause is not None
    assert unjittered / 2 <= pause - (wish or 0.0) <= unjittered + 1e-9


def run(action, *, retry_policy, rest=asyncio.sleep):
    async def repeat():
        async for attempt in attempts(retry_policy=retry_policy, rest=rest):
            with attempt:
                result = await action()
        return result

    return asyncio.run(repeat())


async def no_rest(_seconds):
    pass


@given(st.integers(1, 8), wishes)
def test_attempts_are_bounded_whatever_the_server_says(most, wish):
    sent = 0

    async def fail():
        nonlocal sent
        sent += 1
        raise TransientError("HTTP 503", retry_after=wish)

    with pytest.raises(TransientError, match=r"HTTP 503 \(tried"):
        run(fail, retry_policy=RetryPolicy(attempts=most), rest=no_rest)
    assert sent == most


@given(st.integers(0, 5))
def test_the_first_success_is_the_result(failures):
    sent = 0

    async def succeed():
        nonlocal sent
        sent += 1
        if sent <= failures:
            raise TransientError("HTTP 503")
        return sent

    assert run(succeed, retry_policy=RetryPolicy(attempts=6), rest=no_rest) == failures + 1


def test_what_will_not_pass_is_not_tried_again():
    sent = 0

    async def fail():
        nonlocal sent
        sent += 1
        raise FatalError("HTTP 401")

    with pytest.raises(FatalError, match=r"^HTTP 401$"):
        run(fail, retry_policy=RetryPolicy())
    assert sent == 1
