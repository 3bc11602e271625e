"""What a program can do while an assertion of the check is failing: nothing."""

import asyncio
import concurrent.futures
import contextlib
import threading

import pytest

PROGRAM = """
calls = []
def f(*args, **kwargs): calls.append(1)
def shut(): f(); raise ValueError("closed")
async def ashut(): shut()
f.calls, f.shut, f.ashut = calls, shut, ashut
"""


def fail():
    raise AssertionError("the check's")


@pytest.fixture
def candidate(load):
    return load(PROGRAM)


def in_the_same_thread(candidate):
    candidate.shut()


def in_another_thread(candidate):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(candidate.shut).result()


def in_a_task(candidate):
    async def use():
        try:
            fail()
        finally:
            await asyncio.wait_for(candidate.ashut(), 5)

    asyncio.run(use())


def in_a_thread_of_a_task(candidate):
    async def use():
        try:
            fail()
        finally:
            await asyncio.to_thread(candidate.shut)

    asyncio.run(use())


@pytest.mark.parametrize(
    "close", [in_the_same_thread, in_another_thread, in_a_task, in_a_thread_of_a_task]
)
def test_no_code_of_the_program_runs_in_a_finally(candidate, close):
    count = len(candidate.calls)
    with pytest.raises(AssertionError, match="the check's"):  # noqa: PT012 - what is tested
        try:
            fail()
        finally:
            close(candidate)
    assert len(candidate.calls) == count


@pytest.mark.parametrize("wrap", [lambda error: [error], lambda error: {"a": (error,)}])
def test_a_failed_assertion_is_never_sent(candidate, wrap):
    failed = None
    try:
        fail()
    except AssertionError as error:
        failed = error
    with pytest.raises(AssertionError, match="the check's"):
        candidate(wrap(failed))
    with pytest.raises(AssertionError, match="the check's"):
        candidate(key=wrap(failed))
    candidate(AssertionError("was not raised"))


def test_a_handler_may_use_the_program_but_not_be_left_by_its_exception(candidate):
    try:
        fail()
    except AssertionError:
        candidate()
        with pytest.raises(AssertionError, match="the check's"):
            candidate.shut()
    with pytest.raises(ValueError, match="closed"):
        candidate.shut()


def test_a_check_may_try_again_after_a_failed_assertion(candidate):
    for _ in range(3):
        with contextlib.suppress(AssertionError):
            assert candidate() is not None
    assert len(candidate.calls) == 3


def test_the_message_of_an_assertion_is_not_left_by_an_exception_of_the_program(candidate):
    with pytest.raises(AssertionError):
        assert candidate() is not None, candidate.shut()


def test_a_thread_that_has_ended_with_an_assertion_hides_nothing(candidate):
    errors = []

    def work():
        try:
            fail()
        except AssertionError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert candidate() is None
    assert len(errors) == 1
