from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.sampling.concurrency import Level, Slots


class Server:
    """Answers a level's requests, a whole window at a time, on a clock of its own."""

    def __init__(self, level):
        self.level = level
        self.now = 0.0

    def answer(self, latency, windows=1):
        for _ in range(windows):
            began, self.now = self.now, self.now + latency
            for _ in range(self.level.value):
                self.level.answered(began=began, now=self.now)

    def refuse(self):
        began, self.now = self.now, self.now + 0.1
        for _ in range(self.level.value):
            self.level.overloaded(began=began, now=self.now)


def test_the_level_doubles_to_its_maximum_while_that_pays():
    level = Level(100, initial=8)
    server, reached = Server(level), []
    for _ in range(6):
        reached.append(level.value)
        server.answer(0.2)
    assert reached == [8, 16, 32, 64, 100, 100]


@pytest.mark.parametrize("room", [16, 64, 100])
def test_the_level_stays_near_what_a_server_has_room_for(room):
    """Beyond its room the server lets requests wait."""
    level = Level(1000, initial=16)
    server = Server(level)
    reached = []
    for _ in range(40):
        server.answer(0.2 * max(1.0, level.value / room))
        reached.append(level.value)
    assert room <= level.value
    assert max(reached[10:]) <= 2.25 * room


def test_what_was_sent_before_the_level_was_set_says_nothing_of_it():
    level = Level(100, initial=8)
    Server(level).answer(0.2)
    for _ in range(50):
        level.answered(began=0.1, now=0.3)
    assert level.value == 16


def test_once_doubling_has_stopped_the_level_rises_slowly_where_latency_does_not():
    level = Level(1000, initial=8)
    server = Server(level)
    server.answer(0.2)
    server.answer(0.5)
    assert level.value == 10
    server.answer(0.5, windows=5)
    assert level.value == 10
    server.answer(0.2, windows=2)
    assert level.value == 12


def test_an_overload_halves_the_level_once_for_all_that_was_under_way():
    level = Level(64, initial=64)
    server = Server(level)
    server.refuse()
    assert level.value == 32
    server.refuse()
    assert level.value == 16


def test_after_an_overload_the_level_rises_slowly():
    level = Level(64, initial=64)
    server = Server(level)
    server.refuse()
    server.answer(0.2)
    assert level.value == 36


def test_a_server_that_refuses_what_it_has_no_room_for_is_soon_left_in_peace():
    level, room, refused, answered = Level(128), 64, 0, 0
    server = Server(level)
    for _ in range(100):
        if level.value > room:
            refused += level.value - room
            server.refuse()
        else:
            answered += level.value
            server.answer(0.2)
    assert refused < answered / 50
    assert answered > 0.85 * 100 * room


@settings(deadline=None, max_examples=100)
@given(
    st.integers(1, 500),
    st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=300),
)
def test_the_level_never_leaves_its_bounds(maximum, events):
    level = Level(maximum)
    for now, latency in enumerate(events):
        if latency is None:
            level.overloaded(began=now - 0.5, now=now)
        else:
            level.answered(began=now, now=now + latency)
        assert 1 <= level.value <= maximum


def test_no_more_slots_are_held_than_the_level_is_high_and_all_get_their_turn():
    async def run():
        slots, held, most, turns = Slots(Level(3)), 0, 0, []

        async def one(number):
            nonlocal held, most
            async with slots:
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
        slots, order = Slots(Level(1)), []

        async def resting():
            async with slots:
                order.append("rests")
                await slots.rest(0.02)
                order.append("back")

        async def other():
            async with slots:
                order.append("other")

        await asyncio.gather(resting(), other())
        return order

    assert asyncio.run(run()) == ["rests", "other", "back"]


def test_whoever_is_cancelled_while_waiting_leaves_the_slot_to_others():
    async def run():
        slots = Slots(Level(1))

        async def one():
            async with slots:
                await asyncio.sleep(0.01)

        first, second, third = (asyncio.create_task(one()) for _ in range(3))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait_for(asyncio.gather(first, third), 1)

    asyncio.run(run())


def test_during_a_pause_nobody_gets_a_slot():
    async def run():
        slots = Slots(Level(4))
        began = time.monotonic()
        slots.pause(0.05)
        async with slots:
            return time.monotonic() - began

    assert asyncio.run(run()) >= 0.05
