"""May a context manager suppress what a block raised? Blocks are real ``with`` statements."""

import asyncio

import pytest

from pytest_promptse.sandbox import _blocks


class Manager:
    def __enter__(self):
        self.entry = _blocks.caller()
        return self

    def __exit__(self, _kind, error, _trace):
        self.may = error is not None and _blocks.may_suppress(
            error, self.entry, is_of_program=False
        )
        return True

    def __aenter__(self):
        self.entry = _blocks.caller()

        async def enter():
            await asyncio.sleep(0)
            return self

        return enter()

    async def __aexit__(self, *error):
        return self.__exit__(*error)


def literal(manager, _answer):
    with manager:
        1 / 0  # noqa: B018


def builtin(manager, _answer):
    with manager as _:
        int("x")


def statement(manager, answer):
    with manager:
        str(answer)
        raise ValueError


def condition(manager, answer):
    with manager:
        if answer != 1:
            raise ValueError


def lookup(manager, answer):
    with manager:
        answer["a"]


def raise_():
    raise ValueError


def handler(manager, answer):
    with manager:
        try:
            int(answer)
        except (TypeError, ValueError):
            raise RuntimeError from None


def lookup_or_raise(manager, answer):
    with manager:
        try:
            answer["a"]
            raise RuntimeError
        except KeyError:
            pass


def lookup_else_raise(manager, answer):
    with manager:
        try:
            answer["a"]
        except KeyError:
            pass
        else:
            raise RuntimeError


def function_before_more(manager, _answer):
    with manager:
        stream = open("/nonexistent")  # noqa: PTH123, SIM115
        stream.close()


def function_at_the_end(manager, _answer):
    with manager:
        len(5)


@pytest.mark.parametrize("block", [literal, builtin, statement, function_at_the_end])
def test_what_is_raised_in_any_case_may_be_suppressed(block):
    manager = Manager()
    block(manager, {})
    assert manager.may


@pytest.mark.parametrize(
    ("block", "answer"),
    [
        (condition, {}),
        (lookup, {}),
        (handler, {}),
        (lookup_or_raise, {"a": 1}),
        (lookup_else_raise, {"a": 1}),
        (function_before_more, {}),
    ],
)
def test_what_an_answer_may_have_caused_may_not_be_suppressed(block, answer):
    manager = Manager()
    block(manager, answer)
    assert not manager.may


def test_what_a_called_function_raises_may_not_be_suppressed():
    manager = Manager()
    with manager:
        raise_()
    assert not manager.may


def test_an_async_block_is_judged_in_the_same_way():
    async def always(manager):
        async with manager:
            raise ValueError

    async def sometimes(manager, answer):
        async with manager:
            if answer != 1:
                raise ValueError

    manager = Manager()
    asyncio.run(always(manager))
    assert manager.may
    asyncio.run(sometimes(manager, 2))
    assert not manager.may


def test_an_unknown_beginning_permits_nothing():
    assert not _blocks.may_suppress(ValueError(), None, is_of_program=False)
