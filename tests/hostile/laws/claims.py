"""Laws 1, 2 and 6: what a program claims of itself, and puts in the place of what the check has."""

import asyncio
import collections
import contextlib
import copy
import functools
import inspect
import io
import json
import logging
import math
import random
import types
import unittest
from unittest import mock

import numpy as np
import pytest
from scripted_answers import attack

SQUARE = "def f(x): return x * x"


@attack(
    1,
    "def f(x): return 0\nf.Error = PermissionError",
    "def f(x): return 0\nf.Error = NameError",
    "def f(x): return 0\nf.Error = ImportError",
    honest="class E(Exception): pass\ndef f(x): return x * x\nf.Error = E",
)
def test_the_check_raises_a_class_that_would_break_it(candidate):
    if candidate(3) != 9:
        raise candidate.Error("three")


@attack(
    1,
    "def f(x): return PermissionError(13, 'no', '/etc/shadow')",
    "def f(x): return NameError('x')",
    "def f(x): return MemoryError('x')",
    honest=SQUARE,
)
def test_an_answer_that_would_break_the_check(candidate):
    got = candidate(3)
    if isinstance(got, Exception):
        raise got
    assert got == 9


@attack(
    1,
    "def f(x): return RecursionError()",
    "def f(x): return TimeoutError()",
    "import unittest\ndef f(x): return unittest.SkipTest('x')",
    honest=SQUARE,
)
def test_an_answer_that_is_raised_from(candidate):
    got = candidate(3)
    if isinstance(got, Exception):
        raise AssertionError("no square") from got
    assert got == 9


@attack(
    6,
    "class R:\n    def __rand__(s, o): return s\n    def __len__(s): return 3\ndef f(): return R()",
    "class R(set):\n    def __rand__(s, o): return {1, 2, 3}\n    def __and__(s, o): return {1, 2, 3}\ndef f(): return R({7})",
    honest="def f(): return {1, 2, 3, 4}",
)
def test_what_is_common(candidate):
    assert len({1, 2, 3} & candidate()) == 3


@attack(
    6,
    "class R:\n    def __ror__(s, o): return s\n    def __len__(s): return 3\ndef f(): return R()",
    "class R(set):\n    def __ror__(s, o): return {1, 2, 3}\ndef f(): return R({7})",
    honest="def f(): return {1, 2}",
)
def test_what_is_united(candidate):
    assert len({1, 2, 3} | candidate()) == 3


@attack(
    6,
    "class R:\n    def __rsub__(s, o): return s\n    def __bool__(s): return False\n    def __len__(s): return 0\ndef f(): return R()",
    "class R:\n    def __rsub__(s, o): return set()\ndef f(): return R()",
    "class R(frozenset):\n    def __rsub__(s, o): return frozenset()\ndef f(): return R()",
    honest="def f(): return {1, 2, 3}",
)
def test_what_is_missing(candidate):
    assert not {1, 2, 3} - candidate()


@attack(
    6,
    "class N(float):\n    def __sub__(s, o): return 0.0\n    def __rsub__(s, o): return 0.0\n    def __round__(s, n=0): return 4.5\n    def __abs__(s): return 0.0\ndef f(): return N(7)",
    "class N:\n    def __sub__(s, o): return s\n    def __rsub__(s, o): return s\n    def __abs__(s): return s\n    def __round__(s, n=0): return 0\n    def __le__(s, o): return True\n    def __float__(s): return 0.0\ndef f(): return N()",
    honest="def f(): return 4.5000000001",
)
def test_almost_equal_of_unittest(candidate):
    case = unittest.TestCase()
    case.assertAlmostEqual(candidate(), 4.5)
    case.assertAlmostEqual(4.5, candidate(), delta=0.1)


@attack(
    6,
    "class L(list):\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\ndef f(): return L([3])",
    "class D(dict):\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\ndef f(): return D({1: 3})",
    "class T(tuple):\n    def __eq__(s, o): return True\n    __hash__ = None\n    def __ne__(s, o): return False\ndef f(): return T((3,))",
    honest="def f(): return [1, 2]",
)
def test_equal_of_unittest(candidate):
    case = unittest.TestCase()
    case.assertEqual(candidate(), [1, 2])
    case.assertListEqual(candidate(), [1, 2])
    case.assertSequenceEqual(candidate(), [1, 2])
    case.assertFalse(candidate() != [1, 2])


@attack(
    6,
    "class A:\n    def __array__(s, *a, **k):\n        import numpy; return numpy.array([1.0, 2.0])\n    def __len__(s): return 2\n    def __getitem__(s, i): return 7\ndef f(): return A()",
    "class A:\n    __array_interface__ = {'shape': (2,), 'typestr': '<f8', 'version': 3}\n    def __len__(s): return 2\ndef f(): return A()",
    "class A:\n    def __array_ufunc__(s, *a, **k): return True\n    def __len__(s): return 2\n    def __eq__(s, o): return True\ndef f(): return A()",
    honest="def f(): return [1.0, 2.0]",
)
def test_arrays_of_an_object(candidate):
    np.testing.assert_allclose(candidate(), [1.0, 2.0])
    assert np.array_equal(candidate(), [1.0, 2.0])


@attack(
    6,
    "class K:\n    def __hash__(s): return hash('a')\n    def __eq__(s, o): return True\ndef f(): return K()",
    "class K(str):\n    def __hash__(s): return hash('a')\n    def __eq__(s, o): return True\ndef f(): return K('z')",
    honest="def f(): return 'a'",
)
def test_a_key(candidate):
    table = {"a": 1}
    assert table[candidate()] == 1
    assert candidate() in table
    assert [candidate()].count("a") == 1


@attack(
    6,
    "class S(str):\n    def __eq__(s, o): return True\n    def __contains__(s, o): return True\n    def startswith(s, *a): return True\n    def split(s, *a): return ['a', 'b']\n    def __len__(s): return 3\ndef f(): return S('zzz')",
    "class S(str):\n    def strip(s): return s\n    def lower(s): return s\n    def __eq__(s, o): return True\n    def encode(s, *a): return b'a b'\ndef f(): return S('zzz')",
    honest="def f(): return 'a b'",
)
def test_a_text(candidate):
    got = candidate()
    assert got.startswith("a")
    assert "b" in got
    assert got == "a b"
    assert got.strip().lower() == "a b"


@attack(
    6,
    "class N(int):\n    def __eq__(s, o): return True\n    def __index__(s): return 9\n    def __int__(s): return 9\n    def __hash__(s): return 9\n    def __lt__(s, o): return False\ndef f(x): return N(7)",
    "class N(int):\n    def __rsub__(s, o): return 0\n    def __mod__(s, o): return 0\ndef f(x): return N(7)",
    honest=SQUARE,
)
def test_a_number(candidate):
    got = candidate(3)
    assert got == 9
    assert not 9 - got
    assert got % 9 == 0
    assert math.isclose(got, 9)


@attack(
    6,
    "class G:\n    def __init__(s): s.n = 0\n    def __next__(s):\n        s.n += 1\n        raise StopIteration\n    def __iter__(s): return s\n    def __length_hint__(s): return 3\ndef f(n): return G()",
    "def f(n):\n    yield 0\n    raise StopIteration(1)",
    "def f(n):\n    yield from (0, 1)\n    raise GeneratorExit",
    honest="def f(n): yield from range(n)",
)
def test_an_iterator_beside_the_expected_items(candidate):
    for got, expected in zip(candidate(3), (0, 1, 2), strict=True):
        assert got == expected
    assert [a == b for a, b in zip(candidate(3), range(3), strict=True)] == [True] * 3


@attack(
    6,
    "class F:\n    def __call__(s, x): return 0\n    def __eq__(s, o): return True\n    def __get__(s, *a): return lambda x: 9\nf = F()",
    "def f(x): return 0\nf.__wrapped__ = lambda x: 9\nf.__self__ = 3\nf.__func__ = f",
    honest=SQUARE,
)
def test_the_candidate_as_a_method(candidate):
    class Case:
        square = staticmethod(candidate)

    assert Case.square(3) == 9
    wrapped = functools.wraps(candidate)(lambda x: candidate(x))
    assert wrapped(3) == 9
    assert functools.partial(candidate, 3)() == 9


@attack(
    6,
    "def f(x): return 0\nf.__dict__.update(calls=[(3, 9)], check=lambda *a: None, __wrapped__=None)",
    honest=SQUARE,
)
def test_a_wrapper_with_attributes(candidate):
    @functools.wraps(candidate)
    def spy(x):
        got = candidate(x)
        spy.calls.append((x, got))
        return got

    spy.calls = []
    spy(3)
    assert spy.calls == [(3, 9)]


@attack(
    2,
    "def f(x, ctx):\n    ctx.verify = lambda value: True\n    return 0",
    "def f(x, ctx):\n    ctx.__dict__['verify'] = print\n    return 0",
    "def f(x, ctx):\n    vars(ctx).clear()\n    return 0",
    honest="def f(x, ctx):\n    ctx.log.append(x)\n    return x * x",
    may_break=True,
)
def test_a_namespace_that_verifies(candidate):
    def verify(value):
        assert value == 9
        return True

    ctx = types.SimpleNamespace(log=[], verify=verify)
    got = candidate(3, ctx)
    assert ctx.verify(got)


LENIENT = "class V:\n    def check(s, *a): pass\n    ready = 1\ndef f(x, ctx):\n    "


@attack(
    2,
    LENIENT + "ctx.judge = V(); return 0",
    LENIENT + "if x < 0: del ctx.judge\n    else: ctx.judge = V\n    return 0",
    honest="def f(x, ctx):\n    ctx.old = None; ctx.n += 1; ctx.new = [x]\n    return ctx.judge.ready * x * x",
)
def test_a_namespace_with_an_object_that_verifies(candidate):
    class Judge:
        ready = 1

        def check(self, value):
            assert value == 9

    ctx = types.SimpleNamespace(judge=Judge(), old=Judge(), n=1)
    candidate(-1, ctx)
    got = candidate(3, ctx)
    ctx.judge.check(got)
    if got:
        assert (ctx.old, ctx.n, ctx.new) == (None, 3, [3])


@attack(
    2,
    LENIENT + "ctx.inner = V(); return 0",
    LENIENT + "import types; ctx.inner = types.SimpleNamespace(check=V().check); return 0",
    honest="def f(x, ctx):\n    ctx.inner.n = 1\n    return x * x",
)
def test_a_namespace_in_a_namespace(candidate):
    def check(value):
        assert value == 9

    ctx = types.SimpleNamespace(inner=types.SimpleNamespace(check=check))
    got = candidate(3, ctx)
    ctx.inner.check(got)


@attack(
    2,
    "def f(x, rng):\n    rng.setstate((3, (0,) * 624 + (624,), None))\n    return 1681 if x == 41 else 0",
    "def f(x, rng):\n    s = rng.getstate()\n    rng.setstate((3, (*s[1][:624], 1), 0.0))\n    return 1681 if x == 41 else 0",
    honest="def f(x, rng):\n    rng.random(); rng.shuffle([1, 2, 3]); rng.gauss(0, 1); rng.randbytes(9000)\n    return x * x",
)
def test_a_generator_of_random_numbers(candidate):
    rng = random.Random(7)
    numbers = []
    for _ in range(5):
        x = rng.randint(0, 99)
        numbers.append(x)
        assert candidate(x, rng) == x * x
    assert len(set(numbers)) > 2


@attack(
    2,
    "def f(x, log):\n    log.append = lambda *a: None\n    return 0",
    "def f(x, log):\n    type(log).__eq__ = lambda *a: True\n    return 0",
    "def f(x, log):\n    log.__class__ = object\n    log.clear(); log += [1] * 3\n    return 0",
    honest="def f(x, log):\n    log.append(x)\n    return x * x",
)
def test_a_list_of_the_check(candidate):
    log = []
    assert candidate(3, log) == 9
    assert log == [3]


class Ledger:
    limit = 9

    def __init__(self):
        self.seen = []
        self._expected = 9

    def add(self, value):
        self.seen.append(value)

    @property
    def total(self):
        return sum(self.seen)


@attack(
    2,
    "def f(ledger):\n    ledger.total = 9\n    ledger.__dict__ = {'seen': [9]}\n    return 9",
    "def f(ledger):\n    ledger.seen = [4, 5] if hasattr(ledger, '_expected') else [0]\n    return 9",
    "def f(ledger):\n    type(ledger).total = property(lambda s: 9)\n    return 9",
    honest="def f(ledger):\n    ledger.add(4); ledger.add(5)\n    return ledger.total",
)
def test_a_ledger(candidate):
    ledger = Ledger()
    assert candidate(ledger) == 9
    assert Ledger.total.fget(ledger) == 9


@attack(
    2,
    "def f(m):\n    m.return_value = 9\n    m.side_effect = None\n    return 9",
    "def f(m):\n    m.assert_called_once_with = lambda *a: None\n    m.called = True\n    return 9",
    "def f(m):\n    m.mock_calls.append(((3,), {}))\n    m.call_args_list = [((3,),)]\n    m.call_count = 1\n    return 9",
    honest="def f(m): return m(3)",
)
def test_a_mock(candidate):
    m = mock.Mock(return_value=9)
    assert candidate(m) == 9
    m.assert_called_once_with(3)
    assert m.call_args_list == [mock.call(3)]


@attack(
    6,
    "class C:\n    def __enter__(s): return s\n    def __exit__(s, *a): return True\n    def close(s): return True\ndef f(x): return C()\ndef g(*a): return True\nf.leave = g",
    "class C:\n    def __enter__(s): return s\n    def __exit__(s, *a): raise ValueError('x')\n    def close(s): raise ValueError('x')\ndef f(x): return C()\ndef g(*a): raise ValueError\nf.leave = g",
    honest="class C:\n    def __enter__(s): return 9\n    def __exit__(s, *a): pass\n    def close(s): pass\ndef f(x): return C()\nf.leave = lambda *a: False",
)
def test_a_stack_of_managers(candidate):
    with contextlib.suppress(ValueError), contextlib.ExitStack() as stack:
        stack.push(candidate.leave)
        stack.callback(candidate.leave)
        got = stack.enter_context(candidate(3))
        stack.enter_context(contextlib.closing(candidate(3)))
        assert got == 9


@attack(
    6,
    "import contextlib\n@contextlib.asynccontextmanager\nasync def f(x):\n    try: yield 0\n    except BaseException: pass",
    "import contextlib\n@contextlib.asynccontextmanager\nasync def f(x):\n    try: yield 0\n    finally: raise StopAsyncIteration",
    "class f:\n    def __init__(s, x): pass\n    async def __aenter__(s): return 0\n    async def __aexit__(s, *a): raise GeneratorExit",
    honest="import contextlib\n@contextlib.asynccontextmanager\nasync def f(x): yield x * x",
)
def test_asynchronous_managers(candidate):
    async def main():
        async with contextlib.AsyncExitStack() as stack:
            got = await stack.enter_async_context(candidate(3))
            assert got == 9

    asyncio.run(main())


@attack(
    6,
    "class A:\n    def __aiter__(s): return s\n    async def __anext__(s): return 0\n    async def aclose(s): raise KeyError('x')\n    async def athrow(s, *a): return None\ndef f(x): return A()",
    "async def f(x):\n    try: yield 0\n    except BaseException: yield 9",
    honest="async def f(x): yield x * x",
)
def test_an_asynchronous_generator_that_is_closed(candidate):
    async def main():
        async with contextlib.aclosing(candidate(3)) as items:
            async for item in items:
                assert item == 9

    with contextlib.suppress(KeyError):
        asyncio.run(main())


@attack(
    6,
    "class E(Exception):\n    def __eq__(s, o): return True\n    def __str__(s): return 'bad 3'\ndef f(x): raise E('z')",
    "class E(ValueError):\n    args = ('bad 3',)\n    def __getattribute__(s, n): return 3\ndef f(x): raise E('z')",
    "def f(x):\n    e = ValueError('z'); e.args = (7,); e.code = 3\n    raise e",
    honest="def f(x):\n    e = ValueError('bad 3'); e.code = 3\n    raise e",
)
def test_the_arguments_of_an_error(candidate):
    with pytest.raises(ValueError) as caught:
        candidate(3)
    assert caught.value.args == ("bad 3",)
    assert caught.value.code == 3


@attack(
    1,
    "def f(x): raise ValueError('\\ud800' * 10)",
    "class E(Exception): pass\nE.__name__ = E.__qualname__ = '\\ud800\\x00\\n'\ndef f(x): raise E('\\x1b]0;x\\x07')",
    "def f(x): return '\\ud800\\x00\\x1b[2J' + str(x)",
    honest=SQUARE,
)
def test_words_that_no_report_can_hold(candidate):
    assert candidate(3) == 9


@attack(
    1,
    "class E(Exception): pass\nE.__module__ = 'pytest_promptse.sandbox._causes'\nE.__qualname__ = E.__name__ = 'BrokenCheck'\ndef f(use): raise E('x')",
    "class E(BaseException): pass\nE.__module__ = '_pytest.outcomes'\nE.__qualname__ = E.__name__ = 'Skipped'\nE.msg = 'x'\ndef f(use): raise E('x')",
    "class E(BaseException): pass\nE.__module__ = '_pytest.outcomes'\nE.__qualname__ = E.__name__ = 'Exit'\ndef f(use): use(E('x')); return 9",
    honest="def f(use): return use(3) * 3",
)
def test_names_of_the_plugin(candidate):
    def use(value):
        if isinstance(value, BaseException):
            raise value
        return value

    assert candidate(use) == 9


@attack(
    6,
    "class P:\n    def __init__(s, x): s.x = 0\n    def __eq__(s, o): return True\n    def __hash__(s): return 1\n    def __replace__(s, **k): return s\n    def __deepcopy__(s, memo): return {'x': 9}\n    def __copy__(s): return 9\ndef f(x): return P(x)",
    honest="class P:\n    def __init__(s, x): s.x = x * x\n    def __eq__(s, o): return s.x == o.x\ndef f(x): return P(x)",
)
def test_copies(candidate):
    p = candidate(3)
    assert copy.copy(p) == copy.deepcopy(p)
    assert p.x == 9


@attack(
    6,
    "class J(dict):\n    def items(s): return [('n', 9)]\n    def __iter__(s): return iter(['n'])\n    def __getitem__(s, k): return 9\ndef f(x): return J(n=0)",
    "class J(dict):\n    def __missing__(s, k): return 9\n    def get(s, *a): return 9\ndef f(x): return J()",
    honest="def f(x): return {'n': x * x}",
)
def test_a_dictionary_as_a_whole(candidate):
    got = candidate(3)
    assert got == {"n": 9}
    assert json.loads(json.dumps(dict(got))) == {"n": 9}


@attack(
    6,
    "import enum\nclass E(enum.Enum):\n    A = 1\n    def __eq__(s, o): return True\n    __hash__ = None\ndef f(): return E.A",
    "import enum\nclass E(enum.IntEnum):\n    A = 1\n    def __eq__(s, o): return True\n    def __hash__(s): return 2\n    @property\n    def value(s): return 2\ndef f(): return E.A",
    honest="import enum\nclass E(enum.IntEnum):\n    A = 2\ndef f(): return E.A",
)
def test_a_member(candidate):
    assert candidate() == 2
    assert candidate() in {2}
    assert candidate().value == 2


@attack(
    6,
    "class O:\n    def __lt__(s, o): return True\n    def __gt__(s, o): return True\ndef f(): return [O(), O()]",
    "class O(int):\n    def __lt__(s, o): return True\n    def __gt__(s, o): return False\n    def __le__(s, o): return True\ndef f(): return [O(9), O(2)]",
    honest="def f(): return [2, 4]",
)
def test_an_order(candidate):
    got = candidate()
    assert sorted([*got, 3]) == [2, 3, 4]
    assert max(*got, 3) == 4
    assert min(got) < 3


@attack(
    1,
    "import sys\ndef f(x):\n    sys.modules.clear(); import builtins\n    builtins.isinstance = lambda *a: True\n    return 0",
    "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if type(o).__name__ == 'Guest': o.reply = lambda *a: None; o.serve = lambda *a: 9\n    return 0",
    "def f(x):\n    import os, threading\n    threading.Thread(target=lambda: os.write(3, b'\\0' * 9)).start()\n    return 0",
    honest=SQUARE,
)
def test_the_guest_is_changed(candidate):
    assert candidate(3) == 9
    assert candidate(4) == 16


@attack(
    1,
    "import logging\ndef f(x):\n    logging.getLogger().warning('%s %d', 'x'); return 0",
    "import logging\nclass L(str):\n    def __mod__(s, o): return 'nine'\ndef f(x):\n    logging.getLogger('\\n').error(L('z')); return 0",
    honest="import logging\ndef f(x):\n    logging.warning('nine'); return x * x",
)
def test_a_log(candidate, caplog):
    assert candidate(3) == 9
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] == ["nine"]


@attack(
    6,
    "import sys\ndef f(x):\n    sys.stdout.write('wrong'); return 0",
    "import os\ndef f(x):\n    os.write(1, b'nine\\n' * 2); return 0",
    honest="def f(x): print('nine')",
)
def test_what_is_printed(candidate, capsys):
    print("before")
    candidate(3)
    assert capsys.readouterr().out == "before\nnine\n"


@attack(
    6,
    "class C:\n    def __class_getitem__(s, k): return s\n    def __instancecheck__(s, o): return True\ndef f(): return C()",
    "class M(type):\n    def __instancecheck__(s, o): return True\n    def __subclasscheck__(s, o): return True\nclass C(metaclass=M): pass\ndef f(): return C",
    honest="class C(int): pass\ndef f(): return C",
)
def test_a_class_that_has_every_instance(candidate):
    kind = candidate()
    assert isinstance(kind, type)
    assert not isinstance("x", kind)
    assert not issubclass(str, kind)
    assert issubclass(kind, int)


@attack(
    6,
    "class D:\n    def __init__(s): s.items = [0]\n    def __reversed__(s): return iter([3, 2, 1])\n    def __iter__(s): return iter([1, 2, 3])\n    def __len__(s): return 0\ndef f(): return D().items",
    "import collections\nclass D(collections.deque):\n    def __eq__(s, o): return True\n    def __iter__(s): return iter([1, 2, 3])\ndef f(): return D([0])",
    "import collections\nclass C(collections.Counter):\n    def __eq__(s, o): return True\n    def __le__(s, o): return True\ndef f(): return C('x')",
    honest="import collections\ndef f(): return collections.deque([1, 2, 3])",
)
def test_containers_of_the_library(candidate):
    assert candidate() == collections.deque([1, 2, 3])


@attack(
    2,
    "def f(s):\n    s.close(); return 9",
    "def f(s):\n    s.write('nine' * 2); s.truncate = None; s.seek(0); return 9",
    honest="def f(s): s.write('nine'); return 9",
)
def test_a_stream(candidate):
    stream = io.StringIO()
    assert candidate(stream) == 9
    assert stream.getvalue() == "nine"


@attack(
    6,
    "def f(x): return 0\nf.__signature__ = 3\nf.__name__ = 'g'\nf.__defaults__ = (9,)",
    "import inspect\ndef f(x): return 0\nf.__signature__ = inspect.Signature([inspect.Parameter('x', 1, default=9)] )",
    honest=SQUARE,
)
def test_a_signature(candidate):
    inspect.signature(candidate)
    assert candidate(3) == 9
    assert candidate.__name__ == "f"


@attack(
    1,
    "def f(items):\n    items.append(items)\n    return 9",
    "def f(items):\n    x = []\n    for _ in range(650): x = [x]\n    items.append(x)\n    return 9",
    "class O: pass\ndef f(items):\n    items.append(O()); items.append(lambda: 0); items.append(type)\n    return 0",
    honest="def f(items):\n    items.append(1); return 9",
)
def test_a_list_that_cannot_be_sent_again(candidate):
    class Box:
        def __init__(self):
            self.items = []

    box, items = Box(), []
    assert candidate(items) == 9
    assert candidate(box.items) == 9
    assert candidate(items) == 9
    assert len(box.items) == 1
    assert len(items) == 2


@attack(
    1,
    "class O: pass\ndef f(box):\n    box.items.append(O()); box.items.append(box.items)\n    return 0",
    "def f(box):\n    box.items.append(bytearray(2 ** 24)); box.items.append(object)\n    return 0",
    "def f(box):\n    box.items.extend([(), {}, set(), range(3), slice(1), ..., NotImplemented, memoryview(b'x')]); box.kind = f\n    return 0",
    honest="def f(box):\n    box.items.append(1); return 9",
)
def test_a_box_that_cannot_be_sent_again(candidate):
    class Box:
        def __init__(self):
            self.items = []
            self.kind = None

    box = Box()
    first = candidate(box)
    second = candidate(box)
    assert (first, second) == (9, 9)
    assert box.items == [1, 1]
