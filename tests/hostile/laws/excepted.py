"""Laws 1 and 6: what a program has sent, and the classes that it names, in the check's own code."""

import asyncio
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
