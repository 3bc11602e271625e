"""Which exceptions of a ``with`` block a program may suppress. Blocks are real statements."""

import asyncio
import contextlib

import pytest

PROGRAM = """
class f:
    def __enter__(self): return self
    def __exit__(self, *error): return True
    async def __aenter__(self): return self
    async def __aexit__(self, *error): return True
    def find(self, key): raise KeyError(key)
    async def fetch(self, key): raise KeyError(key)
    @property
    def size(self): raise KeyError("size")
"""


def literal(manager, _answer):
    with manager:
        1 / 0  # noqa: B018


def builtin(manager, _answer):
    with manager as _:
        int("x")


def function_at_the_end(manager, _answer):
    with manager:
        len(5)


def statement(manager, answer):
    with manager:
        str(answer)
        raise ValueError


def call_of_the_program(manager, _answer):
    with manager as opened:
        str(_answer)
        opened.find(
            "a",
        )


def call_in_a_chain(manager, _answer):
    with manager as opened:
        (
            opened
            .find("a")
        )  # fmt: skip


def attribute_of_the_program(manager, _answer):
    with manager as opened:
        opened.size  # noqa: B018


@pytest.mark.parametrize(
    "block",
    [
        literal, builtin, function_at_the_end, statement, call_of_the_program, call_in_a_chain,
        attribute_of_the_program,
    ],
)  # fmt: skip
def test_what_skips_nothing_may_be_suppressed(load, block):
    block(load(PROGRAM)(), {})


def condition(manager, answer):
    with manager:
        if answer != 1:
            raise ValueError


def lookup(manager, answer):
    with manager:
        answer["a"]


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


def return_or_raise(manager, answer):
    with manager:
        if answer == {}:
            return
        raise RuntimeError


def function_before_more(manager, _answer):
    with manager:
        stream = open("/nonexistent")  # noqa: PTH123, SIM115
        stream.close()


def call_before_more(manager, answer):
    with manager as opened:
        opened.find("a")
        str(answer)


def returned_call(manager, _answer):
    with manager as opened:
        return opened.find("a")


def appended_call(manager, answer):
    with manager as opened:
        answer.update(a=opened.find("a"))


def call_in_a_block(manager, _answer):
    with manager as opened, contextlib.nullcontext():
        opened.find("a")


def function_of_the_check(manager, _answer):
    def raise_():
        raise ValueError

    with manager:
        raise_()


@pytest.mark.parametrize(
    ("block", "answer"),
    [
        (condition, {}),
        (lookup, {}),
        (handler, {}),
        (lookup_or_raise, {"a": 1}),
        (return_or_raise, {"a": 1}),
        (function_before_more, {}),
        (call_before_more, {}),
        (returned_call, {}),
        (appended_call, {}),
        (call_in_a_block, {}),
        (function_of_the_check, {}),
    ],
)
def test_what_skips_a_part_of_the_check_may_not_be_suppressed(load, block, answer):
    with pytest.raises((ValueError, TypeError, LookupError, RuntimeError, OSError)):
        block(load(PROGRAM)(), answer)


def test_code_without_source_permits_nothing(load):
    names = {"candidate": load(PROGRAM)}
    with pytest.raises(ValueError, match="of the check"):
        exec("with candidate():\n    raise ValueError('of the check')", names)


def test_an_async_block_is_judged_in_the_same_way(load):
    candidate = load(PROGRAM)

    async def always():
        async with candidate():
            raise ValueError
        async with candidate() as opened:
            await opened.fetch("a")

    async def sometimes(answer):
        async with candidate():
            if answer != 1:
                raise ValueError

    asyncio.run(always())
    with pytest.raises(ValueError):  # noqa: PT011 - of the block
        asyncio.run(sometimes(2))
