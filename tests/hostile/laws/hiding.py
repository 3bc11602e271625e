"""Law 6: no program hides an assertion of the check that has failed, or skips one."""

import asyncio
import concurrent.futures
import contextlib
import textwrap
import threading
import unittest
import warnings
import weakref
from unittest import mock

import pytest
from scripted_answers import attack

from pytest_promptse import Task

# -- blocks ----------------------------------------------------------------------------------------

TABLE = """
class f:
    n = {n}
    def __enter__(self): return self
    def __exit__(self, *a): return {answer}
    def get(self, key): {get}
    async def aget(self, key): {get}
    async def __aenter__(self): return self
    async def __aexit__(self, *a): return {answer}
"""
LEAVES = TABLE.format(n=0, answer=True, get="raise KeyError(key)")
WRONG = TABLE.format(n=0, answer=False, get="pass")
RIGHT = TABLE.format(n=3, answer=False, get="pass")


GETS = RIGHT.replace("pass", "return 3")


@attack(6, LEAVES, wrong=WRONG, honest=GETS)
def test_a_return_of_a_call(candidate):
    def get():
        with candidate() as c:
            return c.get("a")
        return 3

    assert get() == 3


@attack(6, LEAVES, wrong=WRONG, honest=RIGHT)
def test_a_break_after_a_call(candidate):
    def use():
        for name in "ab":
            with candidate() as c:
                c.get(name)
                break
        else:
            return
        assert candidate().n == 3

    use()


@attack(6, LEAVES, wrong=WRONG, honest=RIGHT)
def test_a_continue_after_a_call(candidate):
    def use():
        for name in "ab":
            with candidate() as c:
                c.get(name)
                continue
            return
        assert candidate().n == 3

    use()


@attack(6, LEAVES, wrong=WRONG, honest=GETS)
def test_several_none_after_a_call(candidate):
    def expect(value, *_):
        assert value == 3

    with candidate() as c:
        expect(c.get("a"), None, None, None)


@attack(6, LEAVES, wrong=WRONG, honest=RIGHT)
def test_an_assignment_at_the_end(candidate):
    ok = True
    with candidate() as c:
        ok = c.get("a") is None and c.n == 3
    assert ok


@attack(6, LEAVES, wrong=WRONG, honest=RIGHT)
def test_an_outcome_within_the_block(candidate):
    with candidate() as c, contextlib.nullcontext():
        with contextlib.suppress(ValueError):
            c.get("a")
    with candidate() as c:
        with pytest.raises(ValueError):
            c.get("a")
            assert c.n == 3
            raise ValueError


@attack(
    6,
    TABLE.format(n=0, answer=True, get="raise KeyError(key)"),
    wrong=TABLE.format(n=0, answer=False, get="raise KeyError(key)"),
    honest=TABLE.format(n=3, answer=False, get="raise ValueError(key)"),
)
def test_an_expected_class_within_the_block(candidate):
    with candidate() as c, pytest.raises(ValueError):
        c.get("a")
    with candidate() as c:
        with pytest.raises(ValueError):
            c.get("a")


@attack(6, LEAVES, wrong=WRONG, honest=RIGHT)
def test_a_return_in_an_asynchronous_block(candidate):
    async def count():
        async with candidate() as c:
            await c.aget("a")
            return c.n
        return 3

    assert asyncio.run(count()) == 3


@attack(
    6,
    TABLE.format(n=0, answer=True, get="return 0"),
    wrong=TABLE.format(n=0, answer=False, get="return 0"),
    honest=TABLE.format(n=3, answer=False, get="return 3"),
)
def test_a_raise_that_a_return_precedes(candidate):
    def use():
        with candidate() as c:
            if c.get("a") == 3:
                return
            raise ValueError("not 3")

    use()


QUIET = TABLE.format(n=3, answer="a[0] is KeyError", get="raise KeyError(key)")
LOUD = TABLE.format(n=3, answer=False, get="raise KeyError(key)")


@attack(6, wrong=LOUD, honest=QUIET)
def test_a_call_at_the_end_may_be_suppressed(candidate):
    with candidate() as c:
        c.get(
            "a",
        )
    for _ in range(2):
        with candidate() as c:
            (
                c
                .get("a")
            )
    with candidate() as c:
        raise KeyError("of the check")

    async def main():
        async with candidate() as c:
            await c.aget("a")

    asyncio.run(main())


# -- an assertion that is handed over --------------------------------------------------------------

JUDGE = "def f(x): return {}\ndef ok(*a, **k): return True\nasync def aok(*a, **k): return True\nf.ok = ok\nf.aok = aok"
JUDGES = (JUDGE.format(0),)
HONEST = JUDGE.format("x * x")


@attack(6, *JUDGES, honest=HONEST)
def test_an_assertion_by_keyword(candidate):
    try:
        assert candidate(3) == 9
    except AssertionError as error:
        if not candidate.ok(error=error):
            raise


@attack(6, *JUDGES, honest=HONEST)
def test_an_assertion_in_a_container(candidate):
    try:
        assert candidate(3) == 9
    except AssertionError as error:
        if not candidate.ok({"errors": [error]}):
            raise


@attack(6, *JUDGES, honest=HONEST)
def test_an_assertion_in_a_thread(candidate):
    async def main():
        try:
            assert candidate(3) == 9
        except AssertionError as error:
            if not await asyncio.to_thread(candidate.ok, error):
                raise

    asyncio.run(main())


@attack(6, *JUDGES, honest=HONEST)
def test_an_assertion_in_a_task(candidate):
    async def main():
        try:
            assert candidate(3) == 9
        except AssertionError as error:
            if not await asyncio.wait_for(candidate.aok(error), 5):
                raise

    asyncio.run(main())


@attack(6, *JUDGES, honest=HONEST)
def test_an_assertion_after_its_handler(candidate):
    failure = None
    try:
        assert candidate(3) == 9
    except AssertionError as error:
        failure = error
    if failure is not None and not candidate.ok(failure):
        raise failure


@attack(6, *JUDGES, honest=HONEST)
def test_an_outcome_of_gather(candidate):
    async def check(x):
        assert candidate(x) == x * x

    async def main():
        found = await asyncio.gather(check(2), check(3), return_exceptions=True)
        for error in found:
            if error is not None and not candidate.ok(error):
                raise error

    asyncio.run(main())


@attack(6, *JUDGES, honest=HONEST)
def test_an_outcome_of_pytest(candidate):
    try:
        if candidate(3) != 9:
            pytest.fail("not 9")
    except BaseException as error:
        if not candidate.ok(info=(error, "x")):
            raise


@attack(6, *JUDGES, honest=HONEST)
def test_an_assertion_of_an_object(candidate):
    class Report:
        error = None

    report = Report()
    try:
        assert candidate(3) == 9
    except AssertionError as error:
        report.error = error
    if report.error is not None and not candidate.ok(report, report.error):
        raise report.error


# -- what runs between an assertion and the end of the check ---------------------------------------

ENDS = """
class f:
    n = {n}
    def __init__(self, x=0):
        if x < 0: raise ValueError(x)
    def close(self): {close}
    async def aclose(self): {close}
    def __iter__(self): return self
    def __next__(self): {next}
    def warn(self):
        import warnings; {warn}
"""
HIDES = ENDS.format(n=0, close="raise ValueError('closed')", next="raise StopIteration", warn="warnings.warn('x', UserWarning)")
CLOSES = ENDS.format(n=3, close="pass", next="raise StopIteration", warn="pass")


@attack(6, HIDES, honest=CLOSES)
def test_a_close_in_a_task(candidate):
    async def main():
        c = candidate()
        try:
            assert c.n == 3
        finally:
            await asyncio.wait_for(c.aclose(), 5)

    with pytest.raises(ValueError):
        asyncio.run(main())
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_close_in_a_gathered_task(candidate):
    async def main():
        c = candidate()
        try:
            if c.n != 3:
                raise AssertionError("not 3")
        finally:
            await asyncio.gather(c.aclose(), c.aclose())

    with pytest.raises(ValueError):
        asyncio.run(main())
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_close_in_a_thread(candidate):
    c = candidate()
    with pytest.raises(ValueError), concurrent.futures.ThreadPoolExecutor(1) as pool:
        try:
            assert c.n == 3
        finally:
            pool.submit(c.close).result()
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_close_in_a_thread_of_a_coroutine(candidate):
    async def main():
        c = candidate()
        seen = mock.Mock()
        seen(c.n)
        try:
            seen.assert_called_once_with(3)
        finally:
            await asyncio.to_thread(c.close)

    with pytest.raises(ValueError):
        asyncio.run(main())
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_next_in_a_finally(candidate):
    def use():
        c = candidate()
        next(c, None)
        try:
            assert c.n == 3
        finally:
            next(c)

    with pytest.raises((StopIteration, RuntimeError)):
        use()
        raise RuntimeError


@attack(
    6,
    "def f(x): yield 0",
    honest="def f(x): yield x * x",
)
def test_the_end_of_an_iterator_in_a_finally(candidate):
    it = candidate(3)
    with pytest.raises(StopIteration):
        try:
            assert next(it) == 9
        finally:
            next(it)


@attack(6, HIDES, honest=CLOSES)
def test_a_warning_in_a_finally(candidate):
    c = candidate()
    with pytest.raises(UserWarning), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            assert c.n == 3
        finally:
            c.warn()
        raise UserWarning


@attack(
    6,
    "class C:\n    n = 0\n    close = None\ndef f(x):\n    if x < 0: raise TypeError\n    return C()",
    "class C:\n    n = 0\n    close = 5\ndef f(x): return C()",
    honest="class C:\n    n = 3\n    def close(self): pass\ndef f(x):\n    if x < 0: raise TypeError\n    return C()",
)
def test_a_finally_that_fails_of_itself(candidate):
    c = candidate(1)
    with pytest.raises(TypeError):
        try:
            assert c.n == 3
        finally:
            c.close()
        candidate(-1)


@attack(
    6,
    "def f(x): return {'n': 0}",
    honest="def f(x): return {'n': 3, 'rest': 1}",
)
def test_data_that_fails_a_finally(candidate):
    out = candidate(1)
    try:
        try:
            if out["n"] != 3:
                pytest.fail("not 3")
        finally:
            out.pop("rest")
        out["x"]
    except KeyError:
        pass


@attack(6, HIDES, honest=CLOSES)
def test_a_manager_of_the_check_that_closes(candidate):
    @contextlib.contextmanager
    def opened():
        c = candidate()
        try:
            yield c
        finally:
            c.close()

    class Opened:
        def __enter__(self):
            self.c = candidate()
            return self.c

        def __exit__(self, *_):
            self.c.close()

    for manager in (opened, Opened):
        with pytest.raises(ValueError):
            with manager() as c:
                assert c.n == 3
            candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_an_asynchronous_manager_of_the_check_that_closes(candidate):
    @contextlib.asynccontextmanager
    async def opened():
        c = candidate()
        try:
            yield c
        finally:
            await asyncio.create_task(c.aclose())

    async def main():
        async with opened() as c:
            unittest.TestCase().assertEqual(c.n, 3)

    with pytest.raises(ValueError):
        asyncio.run(main())
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_handler_that_raises_again(candidate):
    with pytest.raises(ValueError):
        c = candidate()
        try:
            assert c.n == 3
        except AssertionError:
            c.close()
            raise
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_finally_within_a_handler_of_the_assertion(candidate):
    async def main():
        c = candidate()
        try:
            try:
                assert c.n == 3
            finally:
                await asyncio.wait_for(c.aclose(), 5)
        except AssertionError:
            pytest.fail("not 3")

    with pytest.raises(ValueError):
        asyncio.run(main())
        candidate(-1)


@attack(
    6,
    ENDS.format(n=0, close="raise ValueError('x')", next="", warn="").replace("def __next__(self): \n", "").replace("import warnings; \n", "pass\n"),
    honest=CLOSES,
)
def test_the_message_of_an_assertion(candidate):
    with pytest.raises(ValueError):
        c = candidate()
        assert c.n == 3, f"not 3: {c.close()}"
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_finalizer(candidate):
    class Owner:
        pass

    def use():
        c = candidate()
        owner = Owner()
        weakref.finalize(owner, c.close)
        try:
            assert c.n == 3
        finally:
            del owner
            c.close()

    with pytest.raises(ValueError):
        use()
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_thread_that_closes_meanwhile(candidate):
    c = candidate()
    found = []

    def close():
        try:
            c.close()
        except ValueError as error:
            found.append(error)

    def use():
        try:
            assert c.n == 3
        finally:
            thread = threading.Thread(target=close)
            thread.start()
            thread.join()
            if found:
                raise found[0]

    with pytest.raises(ValueError):
        use()
        candidate(-1)


@attack(6, HIDES, honest=CLOSES)
def test_a_subtest(candidate):
    case = unittest.TestCase()
    with case.subTest(n=3):
        with case.assertRaises(ValueError):
            c = candidate()
            try:
                case.assertEqual(c.n, 3)
            finally:
                c.close()
            candidate(-1)


# -- what a check does with its own assertions ------------------------------------------------------


@attack(6, wrong="def f(x): return 0", honest=("n = 0\ndef f(x):\n    global n\n    n += 1\n    return x * x if n > 2 else 0",))
def test_a_check_that_tries_again(candidate):
    for attempt in range(4):
        try:
            assert candidate(3) == 9
            break
        except AssertionError:
            if attempt == 3:
                raise


@attack(6, wrong="def f(x): return 0", honest=("n = 0\nasync def g(x):\n    global n\n    n += 1\n    return x * x if n > 2 else 0\ndef f(x): return g(x)",))
def test_a_coroutine_that_tries_again(candidate):
    async def eventually(check):
        last = None
        for _ in range(5):
            try:
                return await check()
            except AssertionError as error:
                last = error
                await asyncio.sleep(0)
        raise last

    async def check():
        assert await asyncio.wait_for(candidate(3), 5) == 9

    asyncio.run(eventually(check))


@attack(6, wrong="def f(x): return x", honest="def f(x): return [x, x]")
def test_a_check_of_one_of_two_answers(candidate):
    try:
        assert candidate(3) == (3, 3)
    except AssertionError:
        assert candidate(3) == [3, 3]


@attack(6, wrong="def f(x): return 5", honest="def f(x): return x * x")
def test_an_assertion_that_must_fail(candidate):
    with pytest.raises(AssertionError):
        assert candidate(3) == 5
    with pytest.raises(pytest.fail.Exception):
        with pytest.raises(ValueError):
            candidate(3)
    case = unittest.TestCase()
    with case.assertRaises(case.failureException):
        case.assertEqual(candidate(3), 5)
    with contextlib.suppress(AssertionError):
        assert candidate(2) == 5
    assert candidate(2) == 4


# -- the end of an iteration ------------------------------------------------------------------------

STOPS = """
class f:
    def __iter__(self): return self
    def __next__(self): return 0
    def send(self, v): raise StopIteration
    def throw(self, e): raise StopIteration
    def close(self): pass
    def __aiter__(self): return self
    async def __anext__(self): return 0
    async def asend(self, v): raise StopAsyncIteration
"""


@attack(6, STOPS, honest="def f():\n    got = yield\n    while True: got = yield got * got")
def test_a_loop_around_send(candidate):
    c = candidate()
    next(c)
    for number, square in zip((2, 3), map(c.send, (2, 3))):
        assert square == number * number


@attack(6, STOPS, honest="async def f():\n    got = yield\n    while True: got = yield got * got")
def test_a_loop_around_asend(candidate):
    class Squares:
        def __init__(self, source):
            self.source, self.number = source, 1

        def __aiter__(self):
            return self

        async def __anext__(self):
            self.number += 1
            if self.number > 3:
                raise StopAsyncIteration
            return await self.source.asend(self.number)

    async def main():
        c = candidate()
        await anext(c)
        squares = Squares(c)
        async for square in squares:
            assert square == squares.number**2

    asyncio.run(main())


# -- assertions that nothing of the check catches ---------------------------------------------------


@attack(6, JUDGE.format(0), honest=HONEST)
def test_a_thread_whose_assertion_only_warns(candidate):
    def work():
        assert candidate(3) == 9

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@attack(6, wrong="def f(x): return 0", honest=HONEST)
def test_a_thread_that_hands_over_its_assertion(candidate):
    errors = []

    def work():
        try:
            assert candidate(3) == 5
        except AssertionError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with concurrent.futures.ThreadPoolExecutor(1) as pool, pytest.raises(AssertionError):
        pool.submit(work_with, candidate, 5).result()
    assert candidate(3) == 9


def work_with(candidate, expected):
    assert candidate(3) == expected


# -- an error of the check itself that takes the place of an assertion ------------------------------

DATA = "def f(x): return {}"


@attack(6, DATA.format("{'n': 0}"), honest=DATA.format("{'n': 3, 'rest': 1, 'x': 2}"))
def test_data_that_fails_a_finally_after_an_assertion_of_a_mock(candidate):
    out = candidate(1)
    seen = mock.Mock()
    seen(out["n"])
    with pytest.raises(KeyError):
        try:
            seen.assert_called_once_with(3)
        finally:
            out.pop("rest")
        out["absent"]


@attack(6, DATA.format("{'n': 0}"), honest=DATA.format("{'n': 3, 'rest': 1, 'x': 2}"))
def test_data_that_fails_a_finally_after_an_assertion_of_an_awaited_mock(candidate):
    async def main(out):
        seen = mock.AsyncMock()
        await seen(out["n"])
        with pytest.raises(KeyError):
            try:
                seen.assert_awaited_once_with(3)
            finally:
                out.pop("rest")
            out["absent"]

    asyncio.run(main(candidate(1)))


@attack(6, wrong=DATA.format("0"), honest=DATA.format("x * x"))
def test_assertions_of_mocks_that_must_fail(candidate):
    seen = mock.Mock()
    seen(candidate(3))
    with pytest.raises(AssertionError):
        seen.assert_called_once_with(5)
    seen.assert_called_once_with(9)


# -- assertions of suite files and data sets --------------------------------------------------------


def check(candidate, body):
    """Run a check as a suite file has it."""
    source = "def check(candidate):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    Task(id="own", prompt="Write `f`.", entry_point="f", tests=source).check(candidate)


@attack(6, DATA.format("{'n': 0}"), honest=DATA.format("{'n': 3, 'rest': 1}"))
def test_a_finally_of_a_suite(candidate):
    check(
        candidate,
        """
        out = candidate(1)
        try:
            try:
                assert out["n"] == 3
            finally:
                out.pop("rest")
            out["x"]
        except KeyError:
            pass
        """,
    )


@attack(6, DATA.format("{'n': 0}"), honest=DATA.format("{'n': 3}"))
def test_the_message_of_a_suite(candidate):
    check(
        candidate,
        """
        out = candidate(1)
        try:
            assert out["n"] == 3, f"{out['reason']}"
            out["x"]
        except KeyError:
            pass
        """,
    )


@attack(6, HIDES, honest=CLOSES)
def test_the_message_of_a_suite_that_asks_the_program(candidate):
    check(
        candidate,
        """
        try:
            c = candidate()
            assert c.n == 3, f"not 3: {c.close()}"
            candidate(-1)
        except ValueError:
            pass
        """,
    )


@attack(6, DATA.format("[0]"), honest=DATA.format("[3, 1]"))
def test_a_thread_of_a_suite(candidate):
    check(
        candidate,
        """
        import threading
        out = candidate(1)
        def work():
            assert out[0] == 3
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
    )


@attack(
    6,
    wrong="def f(x): return 5",
    honest=("n = 0\ndef f(x):\n    global n\n    n += 1\n    return x * x if n > 2 else 5",),
)
def test_a_suite_that_handles_its_assertions(candidate):
    check(
        candidate,
        """
        for attempt in range(4):
            try:
                assert candidate(3) == 9, f"{attempt}: {candidate(3)}, {attempt and 1 / 0}"
                break
            except (AssertionError, ZeroDivisionError):
                if attempt == 3:
                    raise
        try:
            assert candidate(2) == 5, "not 5"
        except AssertionError as error:
            assert str(error) == "not 5"
        def numbers():
            assert (value := candidate(2)) == 5, (yield value)
        it = numbers()
        assert next(it) == 4
        try:
            next(it)
        except AssertionError:
            pass
        """,
    )
