"""Law 6: no program skips an assertion of the check, or ends a loop or block before it."""

import asyncio
import contextlib

from frames import frames
from scripted_answers import attack

POOL = """
class Step(Exception): pass
class Inner:
    def __enter__(self): return self
    def __exit__(self, *a): return False
    def query(self, n): {query}
class f:
    free = {free}
    def __enter__(self): return self
    def __exit__(self, *a): return {answer}
    def acquire(self): return Inner()
    def step(self): {query}
"""
LEAVES = POOL.format(query="raise Step('x')", free=0, answer=True)
RIGHT = POOL.format(query="pass", free=1, answer=False)
WRONG = POOL.format(query="pass", free=0, answer=False)


def awaited(program):
    for name in ("__enter__", "__exit__", "query", "step"):
        program = program.replace(f"def {name}", f"async def {name.replace('__e', '__ae')}")
    return program


@attack(6, LEAVES, wrong=WRONG, honest=RIGHT)
def test_what_follows_an_inner_block_of_the_program(candidate):
    with candidate() as pool:
        with pool.acquire() as connection:
            connection.query("x")
        assert pool.free == 1


@attack(6, LEAVES, wrong=WRONG, honest=RIGHT)
def test_what_follows_an_inner_block_of_the_check(candidate):
    with candidate() as pool:
        with contextlib.nullcontext():
            pool.step()
        assert pool.free == 1


@attack(6, awaited(LEAVES), wrong=awaited(WRONG), honest=awaited(RIGHT))
def test_what_follows_an_inner_asynchronous_block(candidate):
    async def main():
        async with candidate() as pool:
            async with pool.acquire() as connection:
                await connection.query("x")
            assert pool.free == 1

    asyncio.run(main())


TABLE = """
class f:
    def __enter__(self): return self
    def __exit__(self, *a): return {answer}
    def find(self, key): {find}
"""


@attack(6, TABLE.format(answer=True, find="pass"), honest=TABLE.format(answer=False, find="raise KeyError(key)"))
def test_a_raise_where_the_program_should_have_raised(candidate):
    with candidate() as table:
        try:
            table.find("x")
            raise AssertionError("no KeyError")
        except KeyError:
            pass


@attack(6, TABLE.format(answer=True, find="pass"), honest=TABLE.format(answer=False, find="raise KeyError(key)"))
def test_a_raise_in_an_else(candidate):
    with candidate() as table:
        try:
            table.find("x")
        except KeyError:
            pass
        else:
            raise AssertionError("no KeyError")


@attack(6, TABLE.format(answer=True, find="pass"), honest=TABLE.format(answer=False, find="raise KeyError(key)"))
def test_a_raise_in_a_block_that_suppresses(candidate):
    with candidate() as table:
        with contextlib.suppress(KeyError):
            table.find("x")
            raise AssertionError("no KeyError")


FILE = """
class f:
    def __init__(self, path): self.path = path
    def __enter__(self): {enter}
    def __exit__(self, *a): return {answer}
"""


@attack(
    6,
    FILE.format(enter="return self", answer=True),
    wrong=FILE.format(enter="open(self.path, 'w').write('other')", answer=False),
    honest=FILE.format(enter="open(self.path, 'w').write('kept')", answer=False),
)
def test_a_builtin_that_depends_on_what_the_program_has_done(candidate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with candidate(str(tmp_path / "a.txt")):
        stream = open("a.txt")
        assert stream.read() == "kept"


@attack(
    6,
    "async def f(n):\n    raise StopAsyncIteration",
    "async def f(n):\n    raise StopIteration",
    *frames('put("raised", error("builtins", "StopAsyncIteration", dict()), "t", None)'),
    honest="async def f(n): return n",
)
def test_an_await_that_ends_a_loop_of_the_check(candidate):
    class Source:
        number = 0

        def __aiter__(self):
            return self

        async def __anext__(self):
            self.number += 1
            if self.number > 3:
                raise StopAsyncIteration
            return await candidate(self.number)

    async def main():
        got = []
        async for value in Source():
            got.append(value)
            assert value == len(got)

    asyncio.run(main())


NAMED = "Invalid = {kind}\ndef f(n): return (n, Invalid)[0]"
CLASS = "class f:\n    Invalid = {kind}\n    def __init__(self, n): {body}"
OWN = "class Invalid(ValueError): pass\ndef f(n): raise Invalid(n)"


@attack(
    6,
    NAMED.format(kind="AssertionError"),
    NAMED.format(kind="BaseException"),
    NAMED.format(kind="(KeyError, (Exception,))"),
    honest=OWN,
)
def test_a_name_that_catches_the_assertion(candidate):
    try:
        candidate(-1)
        assert False, "nothing was raised"
    except candidate.Invalid:
        pass


@attack(
    6,
    CLASS.format(kind="Exception", body="pass"),
    CLASS.format(kind="AssertionError", body="pass"),
    wrong=CLASS.format(kind="ValueError", body="pass"),
    honest=CLASS.format(kind="ValueError", body="raise ValueError(n)"),
)
def test_an_attribute_that_suppresses_the_assertion(candidate):
    with contextlib.suppress(candidate.Invalid):
        candidate(-1)
        assert False, "nothing was raised"


@attack(
    1,
    "import asyncio\ndef f(fail):\n    return asyncio.run(fail(KeyboardInterrupt)) or 6",
    "import asyncio\ndef f(fail):\n    return asyncio.run(fail(SystemExit)) or 6",
    "def f(fail):\n    fail(ValueError).throw(KeyboardInterrupt); return 6",
    honest="import asyncio\ndef f(fail):\n    try: asyncio.run(fail(ValueError))\n    except ValueError: return 6",
)
def test_a_coroutine_of_the_check_that_raises_what_it_gets(candidate):
    async def fail(kind):
        raise kind("x")

    assert candidate(fail) == 6
