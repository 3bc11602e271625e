from __future__ import annotations

import asyncio
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.run.concurrency import Level, Slots


def answer(level, latency, windows=1):
    for _ in range(windows):
        for _ in range(level.value):
            level.answered(latency)


def test_the_level_doubles_to_its_maximum_while_latency_holds():
    level = Level(100, initial=8)
    reached = []
    for _ in range(5):
        reached.append(level.value)
        answer(level, 0.2)
    assert reached == [8, 16, 32, 64, 100]


def test_the_level_stays_where_latency_more_than_doubles():
    level = Level(1000, initial=8)
    answer(level, 0.2, windows=3)
    assert level.value == 64
    answer(level, 0.5, windows=10)
    assert level.value == 64
    answer(level, 0.2)
    assert level.value == 72


def test_an_overload_halves_the_level_once_for_all_that_was_under_way():
    level = Level(64, initial=64)
    for _ in range(64):
        level.overloaded(began=1.0, now=1.2)
    assert level.value == 32
    level.overloaded(began=1.3, now=1.4)
    assert level.value == 16


def test_after_an_overload_the_level_rises_slowly():
    level = Level(64, initial=64)
    level.overloaded(began=1.0, now=1.2)
    answer(level, 0.2)
    assert level.value == 36


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
            level.answered(latency)
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
