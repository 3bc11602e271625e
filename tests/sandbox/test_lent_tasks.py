"""Coroutines that a program awaits make progress step by step, together, and end."""

import asyncio

import pytest

from pytest_promptse.sandbox._lent_tasks import LentTasks


@pytest.fixture
def tasks():
    made = LentTasks()
    yield made
    made.close()


def finish(tasks, awaitable):
    while not (done := tasks.step(awaitable)):
        pass
    return done[0]


async def after(seconds, value):
    await asyncio.sleep(seconds)
    return value


@pytest.mark.parametrize("is_in_a_loop", [False, True])
def test_a_coroutine_runs_to_its_result(tasks, is_in_a_loop):
    async def run():
        return finish(tasks, after(0.03, 3))

    assert (asyncio.run(run()) if is_in_a_loop else finish(tasks, after(0.03, 3))) == 3


def test_a_step_does_not_wait_for_the_result(tasks):
    assert tasks.step(after(60, 1)) == []


def test_all_coroutines_make_progress_while_one_is_awaited(tasks):
    gate = asyncio.Event()

    async def open_gate():
        gate.set()

    async def wait_for_gate():
        await gate.wait()
        return "open"

    opener = open_gate()
    waiter = wait_for_gate()
    tasks.step(opener)
    assert finish(tasks, waiter) == "open"


def test_an_exception_is_raised_as_it_is(tasks):
    async def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        finish(tasks, fail())


def test_a_cancelled_coroutine_is_told(tasks):
    told = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            told.append(1)

    coroutine = work()
    tasks.step(coroutine)
    assert tasks.step(coroutine, cancel=True) == []
    assert told == [1]
