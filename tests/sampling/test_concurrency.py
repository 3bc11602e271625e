from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.sampling._concurrency import AdaptiveLimit, RequestLimiter


class Server:
    """Answers a limit's requests, a whole window at a time, on a clock of its own."""

    def __init__(self, limit):
        self.limit = limit
        self.now = 0.0

    def answer(self, latency, windows=1):
        for _ in range(windows):
            began, self.now = self.now, self.now + latency
            for _ in range(self.limit.value):
                self.limit.answered(began=began, now=self.now)

    def refuse(self):
        began, self.now = self.now, self.now + 0.1
        for _ in range(self.limit.value):
            self.limit.overloaded(began=began, now=self.now)


def test_the_level_doubles_to_its_maximum_while_that_pays():
    limit = AdaptiveLimit(100, initial=8)
    server, reached = Server(limit), []
    for _ in range(6):
        reached.append(limit.value)
        server.answer(0.2)
    assert reached == [8, 16, 32, 64, 100, 100]


@pytest.mark.parametrize("room", [16, 64, 100])
def test_the_level_stays_near_what_a_server_has_room_for(room):
    """Beyond its room the server lets requests wait."""
    limit = AdaptiveLimit(1000, initial=16)
    server = Server(limit)
    reached = []
    for _ in range(40):
        server.answer(0.2 * max(1.0, limit.value / room))
        reached.append(limit.value)
    assert room <= limit.value
    assert max(reached[10:]) <= 2.25 * room


def test_what_was_sent_before_the_level_was_set_says_nothing_of_it():
    limit = AdaptiveLimit(100, initial=8)
    Server(limit).answer(0.2)
    for _ in range(50):
        limit.answered(began=0.1, now=0.3)
    assert limit.value == 16


def test_once_doubling_has_stopped_the_level_rises_slowly_where_latency_does_not():
    limit = AdaptiveLimit(1000, initial=8)
    server = Server(limit)
    server.answer(0.2)
    server.answer(0.5)
    assert limit.value == 10
    server.answer(0.5, windows=5)
    assert limit.value == 10
    server.answer(0.2, windows=2)
    assert limit.value == 12


def test_an_overload_halves_the_level_once_for_all_that_was_under_way():
    limit = AdaptiveLimit(64, initial=64)
    server = Server(limit)
    server.refuse()
    assert limit.value == 32
    server.refuse()
    assert limit.value == 16


def test_after_an_overload_the_level_rises_slowly():
    limit = AdaptiveLimit(64, initial=64)
    server = Server(limit)
    server.refuse()
    server.answer(0.2)
    assert limit.value == 36


def test_a_server_that_refuses_what_it_has_no_room_for_is_soon_left_in_peace():
    limit, room, refused, answered = AdaptiveLimit(128), 64, 0, 0
    server = Server(limit)
    for _ in range(100):
        if limit.value > room:
            refused += limit.value - room
            server.refuse()
        else:
            answered += limit.value
            server.answer(0.2)
    assert refused < answered / 50
    assert answered > 0.85 * 100 * room


@settings(deadline=None, max_examples=100)
@given(
    st.integers(1, 500),
    st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=300),
)
def test_the_level_never_leaves_its_bounds(maximum, events):
    limit = AdaptiveLimit(maximum)
    for now, latency in enumerate(events):
        if latency is None:
            limit.overloaded(began=now - 0.5, now=now)
        else:
            limit.answered(began=now, now=now + latency)
        assert 1 <= limit.value <= maximum


def test_no_more_slots_are_held_than_the_level_is_high_and_all_get_their_turn():
    async def run():
        limiter, held, most, turns = RequestLimiter(AdaptiveLimit(3)), 0, 0, []

        async def one(number):
            nonlocal held, most
            async with limiter:
                turns.append(number)
                held += 1
                most = max(most, held)
                await asyncio.sleep(0.001)
                held -= 1

        await asyncio.gather(*(one(number) for number in range(20)))
        return most, turns

    assert asyncio.run(run()) == (3, list(range(20)))


def test_whoever_rests_gives_the_slot_to_the_next():
    async def run():
        limiter, order = RequestLimiter(AdaptiveLimit(1)), []

        async def resting():
            async with limiter:
                order.append("rests")
                await limiter.rest(0.02)
                order.append("back")

        async def other():
            async with limiter:
                order.append("other")

        await asyncio.gather(resting(), other())
        return order

    assert asyncio.run(run()) == ["rests", "other", "back"]


def test_whoever_is_cancelled_while_waiting_leaves_the_slot_to_others():
    async def run():
        limiter = RequestLimiter(AdaptiveLimit(1))

        async def one():
            async with limiter:
                await asyncio.sleep(0.01)

        first, second, third = (asyncio.create_task(one()) for _ in range(3))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait_for(asyncio.gather(first, third), 60)

    asyncio.run(run())


def test_during_a_pause_nobody_gets_a_slot():
    async def run():
        limiter = RequestLimiter(AdaptiveLimit(4))
        began = time.monotonic()
        limiter.pause(0.05)
        async with limiter:
            return time.monotonic() - began

    assert asyncio.run(run()) >= 0.05
