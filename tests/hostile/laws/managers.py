"""Law 6: what a program is told of a failed assertion suppresses nothing."""

import asyncio
import contextlib
import unittest

from scripted_answers import attack


GEN = """
def f():
    try: yield 0
    except BaseException: pass
"""


@attack(
    6,
    GEN,
    """
def f():
    try: yield 0
    except BaseException as e: return e
""",
    """
def f():
    while True:
        try: yield 0
        except BaseException: pass
""",
    honest="def f(): yield 3",
)
def test_a_context_manager_of_a_generator(candidate):
    with contextlib.contextmanager(candidate)() as value:
        assert value == 3


@attack(
    6,
    GEN.replace("def f", "async def f"),
    """
async def f():
    while True:
        try: yield 0
        except BaseException: pass
""",
    honest="async def f(): yield 3",
)
def test_an_asynchronous_manager_of_a_generator(candidate):
    async def main():
        async with contextlib.asynccontextmanager(candidate)() as value:
            assert value == 3

    asyncio.run(main())


@attack(
    6,
    """
class f:
    n = 0
    def leave(self, *a): return True
""",
    honest="""
class f:
    n = 3
    def leave(self, *a): return False
""",
)
def test_an_exit_that_is_pushed(candidate):
    c = candidate()
    with contextlib.ExitStack() as stack:
        stack.push(c.leave)
        assert c.n == 3


@attack(
    6,
    """
def f(*a):
    return True if a else 0
""",
    honest="""
def f(*a):
    return False if a else 3
""",
)
def test_an_entry_point_that_is_pushed(candidate):
    with contextlib.ExitStack() as stack:
        stack.push(candidate)
        assert candidate() == 3


@attack(
    6,
    """
class f:
    n = 0
    async def leave(self, *a): return True
""",
    honest="""
class f:
    n = 3
    async def leave(self, *a): return False
""",
)
def test_an_asynchronous_exit_that_is_pushed(candidate):
    async def main():
        c = candidate()
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_exit(c.leave)
            assert c.n == 3

    asyncio.run(main())


LEAVE = """
def leave(*a): return True
f.leave = leave
def g():
    try: yield
    except BaseException: pass
f.g = g
"""
HONEST = "def f(x): return {'x': x * x}\ndef leave(*a): pass\nf.leave = leave\ndef g(): yield\nf.g = g"


@attack(
    6,
    "def f(x): return None" + LEAVE,
    "def f(x): raise KeyError" + LEAVE,
    "class E(Exception): pass\ndef f(x): raise E" + LEAVE,
    honest=HONEST,
)
def test_an_exit_that_is_told_of_any_exception(candidate):
    with contextlib.ExitStack() as stack:
        stack.push(candidate.leave)
        assert candidate(3)["x"] == 9


@attack(6, "def f(x): return None" + LEAVE, "def f(x): raise KeyError" + LEAVE, honest=HONEST)
def test_a_generator_that_is_told_of_any_exception(candidate):
    with contextlib.contextmanager(candidate.g)():
        assert candidate(3)["x"] == 9


ASYNC_LEAVE = LEAVE.replace("def", "async def")
ASYNC_HONEST = HONEST.replace("def leave", "async def leave").replace("def g", "async def g")


@attack(
    6,
    "def f(x): return None" + ASYNC_LEAVE,
    "def f(x): raise KeyError" + ASYNC_LEAVE,
    honest=ASYNC_HONEST,
)
def test_an_asynchronous_exit_that_is_told_of_any_exception(candidate):
    async def main():
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_exit(candidate.leave)
            assert candidate(3)["x"] == 9

    asyncio.run(main())


@attack(
    6,
    "def f(x): return None" + ASYNC_LEAVE,
    "def f(x): raise KeyError" + ASYNC_LEAVE,
    honest=ASYNC_HONEST,
)
def test_an_asynchronous_generator_that_is_told_of_any_exception(candidate):
    async def main():
        async with contextlib.asynccontextmanager(candidate.g)():
            assert candidate(3)["x"] == 9

    asyncio.run(main())


@attack(
    6,
    "def f(): return 0\nasync def leave(*a): f.log.append(1); return True\nf.leave = leave\nf.log = []",
    honest="def f(): return 3\nasync def leave(*a): f.log.append(1)\nf.leave = leave\nf.log = []",
)
def test_an_asynchronous_exit_that_runs(candidate):
    async def main():
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_exit(candidate.leave)
            assert candidate() == 3
            raise KeyError("no error")

    with contextlib.suppress(KeyError):
        asyncio.run(main())
    assert candidate.log == [1]


@attack(
    6,
    """
class f:
    n = 0
    def finish(self, error): return error is not None
""",
    honest="""
class f:
    n = 3
    def finish(self, error): return False
""",
)
def test_a_manager_of_the_check_that_asks(candidate):
    class Manager:
        def __enter__(self):
            self.c = candidate()
            return self.c

        def __exit__(self, kind, error, trace):
            return self.c.finish(error)

    with Manager() as c:
        assert c.n == 3


@attack(
    6,
    "def f(x):\n    import unittest; raise unittest.SkipTest('x')",
    "def f(x):\n    from unittest.case import _ShouldStop; raise _ShouldStop",
    "def f(x): raise SystemExit(0)",
    honest="def f(x): return x * x",
)
def test_a_suite_of_unittest(candidate):
    class T(unittest.TestCase):
        def test_a(self):
            self.assertEqual(candidate(2), 4)

        def test_b(self):
            for n in (1, 2):
                with self.subTest(n=n):
                    self.assertEqual(candidate(n), n * n)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(T).run(result)
    assert result.wasSuccessful() and result.testsRun == 2


@attack(
    6,
    "def f(x):\n    import unittest; raise unittest.SkipTest('x')",
    "def f(x):\n    import unittest\n    class S(unittest.SkipTest): pass\n    raise S",
    "def f(x): raise SystemExit(0)",
    honest="async def f(x): return x * x",
)
def test_an_asynchronous_suite_of_unittest(candidate):
    class T(unittest.IsolatedAsyncioTestCase):
        async def test_a(self):
            self.assertEqual(await candidate(2), 4)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(T).run(result)
    assert result.wasSuccessful() and not result.skipped
