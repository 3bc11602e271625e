"""Laws 1 and 6: what a program has sent, and the classes that it names, in the check's own code."""

import asyncio
import concurrent.futures
import contextlib
import unittest

import pytest
from scripted_answers import attack

@attack(
    1,
    "def f(x, save):\n    save('a', 'x' * 9_000_000); return 0",
    "def f(x, save):\n    for i in range(1100): save(f'{i:07}', '')\n    return 0",
    wrong="def f(x, save): return 0",
    honest="def f(x, save):\n    save('a', 'x'); return x * x",
)
def test_a_folder_that_the_check_fills(candidate, tmp_path):
    def save(name, text):
        (tmp_path / name).write_text(text)

    first, second = candidate(3, save), candidate(4, save)
    assert (first, second) == (9, 16)


@attack(
    1,
    "def f(x): return 'x' * 9_000_000 if x == 3 else ''",
    honest="def f(x): return str(x * x)",
)
def test_an_answer_that_fills_a_folder(candidate, tmp_path):
    (tmp_path / "a").write_text(candidate(3))
    (tmp_path / "b").write_text(candidate(4))
    assert (tmp_path / "b").read_text() == "16"


META = """
class M(type):
    def __subclasscheck__(c, k): return True
    def __instancecheck__(c, k): return True
    def __eq__(c, k): return True
    def __hash__(c): return 1
class Error(Exception, metaclass=M): pass
def f(x): return 0
f.Error = Error
"""
OWN = "class Error(ValueError): pass\ndef f(x):\n    if x < 0: raise Error\n    return x * x\nf.Error = Error"


@attack(6, META, "def f(x): return 0\nf.Error = Exception", honest=OWN)
def test_an_expected_class(candidate):
    with pytest.raises(candidate.Error):
        candidate(-1)
        assert candidate(3) == 9
        raise TypeError("no error")


@attack(6, META, "def f(x): return 0\nf.Error = AssertionError", honest=OWN)
def test_an_expected_class_of_unittest(candidate):
    case = unittest.TestCase()
    with case.assertRaises(candidate.Error):
        candidate(-1)
        case.assertEqual(candidate(3), 9)
        case.fail("no error")


@attack(6, META, "def f(x): return 0\nf.Error = (AssertionError,)", honest=OWN)
def test_an_excepted_class(candidate):
    with contextlib.suppress(candidate.Error):
        assert candidate(3) == 9
    try:
        assert candidate(3) == 9
    except candidate.Error:
        pass


@attack(6, META, "def f(x): return 0\nf.Error = Exception", honest=OWN)
def test_an_excepted_group(candidate):
    async def check(x):
        assert candidate(x) == x * x

    async def main():
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(check(2))
                group.create_task(check(3))
        except* candidate.Error:
            pass

    asyncio.run(main())


@attack(
    6,
    "def f(x): return 0\nf.Error = Exception",
    "class Error(AssertionError): pass\ndef f(x): return 0\nf.Error = Error",
    honest="class Error(Exception): pass\ndef f(x): return x * x\nf.Error = Error",
)
def test_a_class_that_the_check_raises_and_excepts(candidate):
    def value(x):
        if x < 0:
            raise candidate.Error(x)
        return candidate(x)

    with pytest.raises(candidate.Error):
        value(-1)
    try:
        assert value(3) == 9
    except candidate.Error:
        pass


@attack(
    6,
    "import asyncio\nclass E(asyncio.CancelledError, KeyError): pass\ndef f(x): return E",
    "class E(Exception, GeneratorExit): pass\ndef f(x): return E",
    "class A(StopIteration): pass\nclass E(A, ValueError): pass\ndef f(x): return E()",
    honest="def f(x): return x * x",
)
def test_classes_of_several_kinds(candidate):
    async def check(x):
        got = candidate(x)
        if isinstance(got, BaseException | type):
            raise got
        assert got == x * x

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(check(2))

    asyncio.run(main())
    for x, got in zip((1, 2), map(candidate, (1, 2))):
        assert got == x * x


@attack(
    6,
    "class C:\n    def __enter__(s): return s\n    def __exit__(s, *a): raise KeyError\n    n = None\ndef f(x): return C()",
    honest="class C:\n    def __enter__(s): return s\n    def __exit__(s, *a): pass\n    n = 2\ndef f(x):\n    if x < 0: raise KeyError\n    return C()",
)
def test_an_error_of_the_check_within_a_stack_in_a_block(candidate):
    with pytest.raises(KeyError), contextlib.ExitStack() as stack:
        stack.enter_context(candidate(-1))
        assert stack.enter_context(candidate(1)).n + 1 == 3
        raise AssertionError("no error")


CANCELLED = "import concurrent.futures\ndef f(x): {} concurrent.futures.CancelledError('a')"


@attack(6, CANCELLED.format("raise"), CANCELLED.format("return"), wrong="def f(x): return 0", honest="def f(x): return x * x")
def test_a_thread_that_is_said_to_be_cancelled(candidate):
    def value(x):
        got = candidate(x)
        if isinstance(got, Exception):
            raise got
        return got

    async def check(x):
        assert await asyncio.to_thread(value, x) == x * x

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(check(2))
            group.create_task(check(3))

    asyncio.run(main())


@attack(
    6,
    "def f(x): return 0\nf.Error = ValueError",
    honest=CANCELLED.format("raise") + "\nf.Error = concurrent.futures.CancelledError",
)
def test_a_future_that_was_cancelled(candidate):
    for kind in (concurrent.futures.CancelledError, candidate.Error):
        with pytest.raises(kind) as raised:
            candidate(3)
    assert candidate.Error == type(raised.value) == concurrent.futures.CancelledError
    assert raised.value.args == ("a",)


CAUGHT = "def f(use):\n    try: use(0)\n    except BaseException: pass\n    return 9"


@attack(6, CAUGHT, honest="def f(use):\n    use(3)\n    return 9")
def test_a_group_of_assertions_in_a_callback(candidate):
    def use(x):
        async def check():
            assert x == 3

        async def main():
            async with asyncio.TaskGroup() as group:
                group.create_task(check())

        asyncio.run(main())

    assert candidate(use) == 9


ENDS = """
class C:
    n = {}
    def close(self): {}
def f(x):
    if x < 0: raise ValueError
    return C()
"""


@attack(6, ENDS.format(0, "raise ValueError"), honest=ENDS.format(9, "pass"))
def test_a_group_of_assertions_before_a_finally(candidate):
    async def check(c):
        assert c.n == 9

    async def main(c):
        async with asyncio.TaskGroup() as group:
            group.create_task(check(c))

    with pytest.raises(ValueError):
        c = candidate(3)
        try:
            asyncio.run(main(c))
        finally:
            c.close()
        candidate(-1)


TEXT = """
n = 0
class Text:
    def __init__(self, use): self.use = use
    def __str__(self):
        global n
        n += 1
        if n == LATER: self.use(0)
        return ""
    __repr__ = __str__
def f(use): raise ValueError(Text(use))
"""


@attack(
    6,
    *(TEXT.replace("LATER", str(n)) for n in (1, 2, 3)),
    honest="def f(use):\n    use(9)\n    raise ValueError('negative')",
)
def test_an_assertion_that_fails_in_the_text_of_an_exception(candidate):
    calls = []

    def use(x):
        calls.append(x)
        assert x == 9

    with pytest.raises(ValueError):
        candidate(use)
    assert len(calls) == 1


@attack(
    6,
    "def f(group): return 1",
    honest="def f(group): return sum(f(e) if isinstance(e, ExceptionGroup) else 1 for e in group.exceptions)",
)
def test_a_group_as_an_argument(candidate):
    inner = ExceptionGroup("inner", [KeyError(1), AssertionError("no")])
    assert candidate(ExceptionGroup("outer", [ValueError(1), inner])) == 3
