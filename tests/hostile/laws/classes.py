"""Laws 1 and 6: classes and exceptions of a program, where the check uses them as its own."""

import asyncio
import contextlib
import threading

import pytest
from scripted_answers import attack

KINDS = ("AssertionError", "BaseException", "(ValueError, Exception)")


@attack(
    6,
    *(f"def f(x): return {kind} if x == 1 else 0" for kind in KINDS),
    honest="def f(x): return ValueError if x == 1 else x * x",
)
def test_a_returned_class_that_is_suppressed(candidate):
    kinds = candidate(1)
    with contextlib.suppress(*(kinds if isinstance(kinds, tuple) else (kinds,))):
        assert candidate(3) == 9


@attack(
    6,
    *(f"def f(x): return {{'errors': [{kind}]}} if x == 1 else 0" for kind in KINDS),
    honest="def f(x): return {'errors': [ValueError]} if x == 1 else x * x",
)
def test_a_class_within_an_answer(candidate):
    (kinds,) = candidate(1)["errors"]
    try:
        assert candidate(3) == 9
    except kinds:
        pass


@attack(
    6,
    *(f"def f(x): return 0\nf.Error = {kind}" for kind in KINDS),
    honest="class Error(ValueError): pass\ndef f(x):\n    if x < 0: raise Error\n    return x * x",
)
def test_a_class_that_is_expected(candidate):
    with pytest.raises(candidate.Error):
        candidate(-1)
        assert candidate(3) == 9
        pytest.fail("no error")
    assert candidate(3) == 9


@attack(
    6,
    "def f(use): return use(AssertionError)",
    "def f(use): return use(Exception) or 9",
    honest="def f(use): return use(KeyError)",
)
def test_a_class_that_is_given_to_a_function_of_the_check(candidate):
    def use(kind):
        with contextlib.suppress(kind):
            assert kind is KeyError
        return 9

    assert candidate(use) == 9


@attack(
    6,
    "async def one(): return 0\ndef f(x): return ExceptionGroup",
    honest="def f(x): return ValueError if x == 1 else x * x",
)
def test_a_class_of_groups(candidate):
    async def check(x):
        assert candidate(x) == x * x

    async def main():
        async with asyncio.TaskGroup() as group:
            for x in (2, 3):
                group.create_task(check(x))

    with contextlib.suppress(candidate(1)):
        asyncio.run(main())


ENDINGS = ("asyncio.CancelledError", "GeneratorExit", "KeyboardInterrupt")


def check_tasks(check):
    async def main():
        async with asyncio.TaskGroup() as group:
            for x in (2, 3):
                group.create_task(check(x))

    asyncio.run(main())


@attack(
    6,
    *(f"import asyncio\ndef f(x): return {kind}('x')" for kind in ENDINGS),
    honest="def f(x): return x * x",
)
def test_an_error_that_a_task_raises(candidate):
    async def check(x):
        got = candidate(x)
        if isinstance(got, BaseException):
            raise got
        assert got == x * x

    check_tasks(check)


@attack(
    6,
    *(f"import asyncio\ndef f(x): return {kind}" for kind in ENDINGS),
    honest="def f(x): return x * x",
)
def test_a_class_that_a_task_raises(candidate):
    async def check(x):
        got = candidate(x)
        if isinstance(got, type):
            raise got
        assert got == x * x

    check_tasks(check)


@attack(
    6,
    "import asyncio\nclass C(asyncio.CancelledError): pass\ndef f(x): return C()",
    "import asyncio\nclass C(asyncio.CancelledError): pass\ndef f(x): return C",
    "def f(x): return BaseExceptionGroup('x', [GeneratorExit(), KeyboardInterrupt()])",
    honest="def f(x): return x * x",
)
def test_an_own_class_that_a_task_raises(candidate):
    async def check(x):
        got = candidate(x)
        if isinstance(got, BaseException | type):
            raise got
        assert got == x * x

    check_tasks(check)


@attack(
    6,
    *(f"import asyncio\ndef f(x): return 0\nf.Error = {kind}" for kind in ENDINGS),
    honest="class Error(Exception): pass\ndef f(x): return x * x\nf.Error = Error",
)
def test_an_error_that_a_task_makes(candidate):
    async def check(x):
        if candidate(x) != x * x:
            raise candidate.Error(x)

    check_tasks(check)


@attack(
    6,
    "def f(x): return 0\nf.Error = StopIteration",
    "def f(x): return 0\nf.Error = SystemExit",
    honest="class Error(Exception): pass\ndef f(x): return x * x\nf.Error = Error",
)
def test_an_error_that_a_map_makes(candidate):
    def value(x):
        if candidate(x) != x * x:
            raise candidate.Error(x)
        return x * x

    for x, got in zip((1, 2, 3), map(value, (1, 2, 3))):
        assert got == x * x


@attack(
    6,
    "import asyncio\ndef f(x): return asyncio.CancelledError()",
    "class E(BaseException): pass\ndef f(x): return E()",
    honest="def f(x): return x * x",
)
def test_an_error_set_on_a_future(candidate):
    async def main():
        future = asyncio.get_running_loop().create_future()
        got = candidate(3)
        if isinstance(got, BaseException):
            future.set_exception(got)
        else:
            future.set_result(got)
        (value,) = await asyncio.gather(future, return_exceptions=False)
        assert value == 9

    asyncio.run(main())


CLOSING = """
class Resource:
    def __init__(self, value): self.value = value
    def read(self): return self.value
    def close(self): {close}
def f(value): return Resource(value)
"""


@attack(
    6,
    CLOSING.format(close="raise KeyError('closed')").replace("return self.value", "return None"),
    CLOSING.format(close="raise KeyError('x')").replace("return self.value", "return [1]"),
    honest="def f(value): raise KeyError('closed')",
)
def test_an_error_of_the_check_within_closing(candidate):
    with pytest.raises(KeyError), contextlib.closing(candidate(2)) as resource:
        assert resource.read() + 1 == 3


@attack(
    6,
    CLOSING.format(close="raise KeyError('closed')").replace("return self.value", "return None"),
    honest="def f(value): raise KeyError('closed')",
)
def test_an_error_of_the_check_within_a_manager_of_the_check(candidate):
    @contextlib.contextmanager
    def managed():
        resource = candidate(2)
        try:
            yield resource
        finally:
            resource.close()

    with pytest.raises(KeyError), managed() as resource:
        assert resource.read() + 1 == 3


@attack(
    6,
    CLOSING.format(close="raise KeyError('closed')").replace("return self.value", "return None"),
    honest="def f(value): raise KeyError('closed')",
)
def test_an_error_of_the_check_within_a_stack(candidate):
    with pytest.raises(KeyError), contextlib.ExitStack() as stack:
        resource = candidate(2)
        stack.callback(resource.close)
        assert resource.read() + 1 == 3


@attack(
    6,
    CLOSING.format(close="raise KeyError('closed')"),
    honest=CLOSING.format(close="self.value = None"),
)
def test_an_error_of_close_alone(candidate):
    with contextlib.closing(candidate(2)) as resource:
        assert resource.read() == 2
    assert resource.read() is None


@attack(
    6,
    CLOSING.format(close="raise RuntimeError('x')").replace("return self.value", "raise KeyError"),
    honest=CLOSING.format(close="raise RuntimeError('x')").replace(
        "return self.value", "raise ValueError('x')"
    ),
)
def test_an_error_of_the_program_is_replaced_by_another(candidate):
    with pytest.raises(RuntimeError) as caught, contextlib.closing(candidate(2)) as resource:
        resource.read()
    assert type(caught.value.__context__) is ValueError


@attack(
    6,
    "def f(x): return SystemExit(0)",
    "def f(x): return SystemExit",
    honest="def f(x): return x * x",
)
def test_a_thread_that_ends(candidate):
    seen = []

    def work():
        got = candidate(3)
        if isinstance(got, BaseException | type):
            raise got
        seen.append(got)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [9]
