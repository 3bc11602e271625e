"""Laws 1, 5 and 6: what a value, an exception or a context of the program says of itself."""

import copy

import pytest
from scripted_answers import attack


@attack(1, '''
def f(x):
    if x == 2: raise GeneratorExit
    return 1
''', honest='def f(x): return x * x')
def test_a_generator_exit_in_a_context_manager(candidate):
    import contextlib
    @contextlib.contextmanager
    def session():
        yield candidate(1)
        assert candidate(2) == 4
    with session() as s:
        assert s == 1


@attack(1, 'async def f(x): raise GeneratorExit', honest='async def f(x): return x * x')
def test_a_generator_exit_in_a_group_of_tasks(candidate):
    import asyncio
    async def main():
        async def one(): assert await candidate(2) == 4
        async with asyncio.timeout(5):
            async with asyncio.TaskGroup() as g:
                g.create_task(one()); g.create_task(one())
    asyncio.run(main())


@attack(1, 'def f(x): raise SystemExit(0)', honest='def f(x): return x * x')
def test_an_exit_in_a_pool_of_the_check(candidate):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(candidate, [1, 2, 3]))
    assert results == [1, 4, 9]


@attack(6, '''
class N:
    def __init__(self): self.k = 0
    def __float__(self): return 4.0
    def __add__(self, o): return self
    __radd__ = __add__
    def __eq__(self, o): return True
def f(x): return N()
''', honest='def f(x): return x * x')
def test_a_number_that_is_close_to_all(candidate):
    import math
    assert math.isclose(candidate(2), 4)
    assert sum([candidate(2), -4]) == 0


@attack(6, '''
class N:
    def __lt__(self, o): return False
    def __gt__(self, o): return False
    def __eq__(self, o): return True
def f(x): return N()
''', honest='def f(x): return x * x')
def test_an_extreme_that_is_never_less(candidate):
    assert max(candidate(2), 4) == 4 and min(candidate(2), 4) == 4
    assert sorted([candidate(3), 9, 1])[1:] == [9, 9]


@attack(6, '''
class K(set):
    def __rsub__(self, o): return set()
    def __xor__(self, o): return set()
    __rxor__ = __xor__
    def __ge__(self, o): return True
    def __le__(self, o): return True
class D(dict):
    def items(self): return K()
    def keys(self): return K()
def f(x): return D()
''', honest="def f(x): return {1: 'a', 2: 'b'}")
def test_views_that_contain_all(candidate):
    expected = {1: 'a', 2: 'b'}
    got = candidate(2)
    assert got.items() >= expected.items()
    assert not set(expected) - got.keys()
    assert not got.keys() ^ expected.keys()


@attack(6, '''
from collections import Counter
class M(Counter):
    def __missing__(self, k): return 10**9
    def __getitem__(self, k): return 10**9
    def items(self): return []
    def __eq__(self, o): return True
def f(x): return M()
''', honest='''
from collections import Counter
def f(x): return Counter(x)
''')
def test_a_counter_of_endless_counts(candidate):
    from collections import Counter
    assert not Counter('aab') - candidate('aab')
    assert Counter('aab') == candidate('aab')


@attack(6, '''
class N:
    def __array__(self, dtype=None, copy=None):
        return 4
    def __array_ufunc__(self, *a, **k): return True
    def __array_function__(self, *a, **k): return True
    def __sub__(self, o): return self
    __rsub__ = __sub__
    def __abs__(self): return self
    def __le__(self, o): return True
    def __lt__(self, o): return True
    def __eq__(self, o): return True
    def __bool__(self): return True
def f(x): return N()
''', honest='def f(x): return x * x')
def test_an_operand_of_numpy(candidate):
    import numpy as np
    np.testing.assert_allclose(candidate(2), 4)
    assert np.array_equal(candidate(2), np.array(4))


@attack(6, '''
from decimal import Decimal
class N(float):
    def __sub__(self, o): return 0.0
    def __rsub__(self, o): return 0.0
    def __eq__(self, o): return True
    def __abs__(self): return 0.0
    def __le__(self, o): return True
def f(x): return N(7)
''', honest='def f(x): return x * x')
def test_a_float_without_a_difference(candidate):
    assert candidate(2) == pytest.approx(4)
    assert [candidate(2)] == pytest.approx([4])
    assert {'a': candidate(2)} == pytest.approx({'a': 4})


@attack(6, '''
class N(int):
    def __eq__(self, o): return True
    def __hash__(self): return hash(4)
    def __sub__(self, o): return 0
    __rsub__ = __sub__
    def __ne__(self, o): return False
def f(x): return N(5)
''', honest='def f(x): return x * x')
def test_an_integer_under_unittest(candidate):
    import unittest
    t = unittest.TestCase()
    t.assertEqual(candidate(2), 4)
    t.assertAlmostEqual(candidate(2), 4)
    t.assertCountEqual([candidate(2)], [4])
    t.assertIn(candidate(2), [4])


@attack(6, '''
class S(str):
    def replace(self, *a): return ''
    def __eq__(self, o): return True
    def __len__(self): return 3
    def __hash__(self): return str.__hash__(self)
def f(x): return S('zzz')
''', honest='def f(x): return x[::-1]')
def test_a_text_that_replaces_itself(candidate):
    got = candidate('abc')
    assert got.replace('cba', '') == '' and len(got) == 3
    assert got == 'cba'


@attack(6, '''
class N:
    def __eq__(self, o): return True
    def __len__(self): return 2
    def __getitem__(self, i): return [1, 2][i]
def f(x): return N()
''', honest='def f(x): return x * x')
def test_a_subject_of_match(candidate):
    match candidate(2):
        case 4: pass
        case _: assert False
    match candidate(3):
        case {'a': 1}: assert False
        case [1, 2]: assert False
        case 9: pass
        case _: assert False


@attack(6, '''
class I(int):
    def __repr__(self): return '4'
    __str__ = __repr__
    def __format__(self, s): return '4'
def f(x): return I(77)
''', honest='def f(x): return x * x')
def test_an_integer_that_json_prints(candidate):
    import json
    assert json.dumps(candidate(2)) == '4'
    assert json.dumps({'a': candidate(2)}, sort_keys=True) == '{"a": 4}'


@attack(6, '''
class N:
    def __eq__(self, o): return True
    def __hash__(self): return 4
def f(x): return N()
''', honest='def f(x): return x * x')
def test_a_key_that_equals_all(candidate):
    from dataclasses import dataclass
    @dataclass
    class P:
        x: int
    assert P(candidate(2)) == P(4)
    assert (candidate(2), 1) == (4, 1)
    assert {candidate(2): 1} == {4: 1}
    assert [candidate(2)].index(4) == 0 and [4].count(candidate(2)) == 1


@attack(6, '''
from datetime import datetime, timedelta
class D(datetime):
    def __sub__(self, o): return timedelta(days=1) if o.day == 1 else timedelta(0)
    def __rsub__(self, o): return timedelta(0)
def f(x): return D(1999, 1, 1)
''', honest='''
from datetime import timedelta
def f(x): return x + timedelta(days=1)
''')
def test_a_moment_with_its_own_difference(candidate):
    from datetime import datetime, timedelta
    got = candidate(datetime(2024, 1, 1))
    assert got - datetime(2024, 1, 1) == timedelta(days=1)
    assert abs((got - datetime(2024, 1, 2)).total_seconds()) < 1


@attack(6, '''
class S:
    def push(self, x): pass
    def pop(self): return 2
    def __iter__(self):
        class E(list):
            def __eq__(self, o): return True
        return iter([E(), E()])
    def __len__(self): return 2
    def __contains__(self, x): return True
    def __eq__(self, o): return True
def f(): return S()
''', honest='''
class S:
    def __init__(self): self.i = []
    def push(self, x): self.i.append(x)
    def pop(self): return self.i.pop()
    def __iter__(self): return iter(list(self.i))
    def __len__(self): return len(self.i)
    def __contains__(self, x): return x in self.i
def f(): return S()
''')
def test_a_stack_that_agrees(candidate):
    s = candidate()
    s.push(1); s.push(2)
    assert list(s) == [1, 2]
    assert len(s) == 2 and 2 in s and s.pop() == 2


@attack(1, '''
class M:
    value = 6
    def __enter__(self): return self
    def __exit__(self, *a): return True
def f(): return M()
''', honest='''
class M:
    value = 5
    def __enter__(self): return self
    def __exit__(self, *a): return False
def f(): return M()
''')
def test_a_context_that_suppresses_all(candidate):
    import contextlib
    with contextlib.ExitStack() as stack:
        cm = stack.enter_context(candidate())
        assert cm.value == 5
    with candidate() as c:
        x = c.value
        assert x == 5
        y = 1


@attack(1, '''
class M:
    value = 6
    async def __aenter__(self): return self
    async def __aexit__(self, *a): return True
    def __aiter__(self): return self
    async def __anext__(self): raise StopAsyncIteration
def f(): return M()
''', honest='''
class M:
    value = 5
    def __init__(self): self.n = 0
    async def __aenter__(self): return self
    async def __aexit__(self, *a): return False
    def __aiter__(self): return self
    async def __anext__(self):
        self.n += 1
        if self.n > 2: raise StopAsyncIteration
        return 1
def f(): return M()
''')
def test_an_asynchronous_context_that_suppresses_all(candidate):
    import asyncio
    async def main():
        async with candidate() as c:
            assert c.value == 5
        async for item in candidate():
            assert item == 1
    asyncio.run(main())


@attack(1, '''
class D:
    def __getitem__(self, k): raise KeyError(k)
    __hash__ = None
    def __eq__(self, o): return True
def f(x): return D()
''', honest='def f(x): return dict(x)')
def test_a_mapping_that_equals_all(candidate):
    with pytest.raises(KeyError):
        candidate({})['missing']
    assert candidate({'a': 1})['a'] == 1
    with pytest.raises(TypeError):
        hash(candidate({}))


@attack(1, '''
class Any:
    def __eq__(self, o): return True
    def __ne__(self, o): return False
def f(m): m.save(Any())
''', honest='def f(m): m.save(4)')
def test_an_argument_of_a_mock_that_equals_all(candidate):
    from unittest.mock import Mock
    m = Mock()
    candidate(m)
    m.save.assert_called_once_with(4)
    assert m.save.call_args.args == (4,)
    assert m.method_calls[0].args[0] == 4


@attack(1, '''
class A:
    items = [1]
    def __deepcopy__(self, memo): return self
    def __eq__(self, o): return True
def f(): return A()
''', honest='''
class A:
    def __init__(self): self.items = []
    def __eq__(self, o): return self.items == o.items
def f(): return A()
''')
def test_a_copy_that_is_the_original(candidate):
    import pickle, copy
    a = candidate()
    b = copy.deepcopy(a)
    assert a == b and a is not b
    b.items.append(1)
    assert a.items == []


@attack(1, '''
def f(x):
    e = ValueError('x')
    for i in range(500):
        n = ValueError('y' * 10000); n.__cause__ = e; e = n
        e.add_note('n' * 10000)
    raise e
''', honest='def f(x): return 4')
def test_a_long_chain_of_causes(candidate):
    assert candidate(2) == 4


@attack(1, '''
def f(x):
    a = ValueError('a'); b = ValueError('b')
    a.__cause__ = b; b.__cause__ = a; a.__context__ = a
    raise ExceptionGroup('g' , [a, b, ExceptionGroup('h', [a])])
''', honest='def f(x): return 4')
def test_a_circle_of_causes(candidate):
    assert candidate(2) == 4


FLOAT = 'def f(x): return float(x * x)'


@attack(6,
    'class N(float):\n    def __abs__(s): return 1e300\ndef f(x): return N(7)',
    'from fractions import Fraction\nclass N(Fraction):\n    def __abs__(s): return 10 ** 300\ndef f(x): return N(7)',
    'class N(complex):\n    def __abs__(s): return N(1e300)\ndef f(x): return N(7)',
    honest=FLOAT)
def test_a_tolerance_of_the_value(candidate):
    assert 9.0 == pytest.approx(candidate(3))
    assert pytest.approx(candidate(3)) == 9.0


@attack(6,
    'class N(float):\n    def __abs__(s): return N(1e300)\ndef f(x): return N(7)',
    'class N(int):\n    def __pos__(s): return 10 ** 9\n    def __neg__(s): return -10 ** 9\n    def __float__(s): return 1e9\ndef f(x): return N(7)',
    'class N(float):\n    def __round__(s, *n): return 10 ** 9\n    def __trunc__(s): return 10 ** 9\n    def __floor__(s): return 10 ** 9\ndef f(x): return N(7)',
    honest=FLOAT)
def test_a_bound_that_the_value_gives(candidate):
    import math
    got = candidate(3)
    bounds = [abs(got), +got, -got, float(got), round(got), math.trunc(got), math.floor(got)]
    assert abs(9.0 - got) <= max(map(abs, bounds)) * 1e-6


@attack(6,
    'from fractions import Fraction\nclass N(Fraction):\n    def _richcmp(s, o, op): return True\ndef f(x): return N(7)',
    'from fractions import Fraction\nclass N(Fraction):\n    numerator = property(lambda s: 9)\ndef f(x): return N(7)',
    honest='from fractions import Fraction\ndef f(x): return Fraction(x * x)')
def test_a_fraction_with_parts_of_its_own(candidate):
    got = candidate(3)
    assert got >= 9 and 9.5 - got < 1 and float(got) == 9.0


@attack(6,
    honest=(
        'from decimal import Decimal\nclass M(Decimal):\n    def __neg__(s): return M(Decimal.__neg__(s))\n    def __abs__(s): return M(Decimal.__abs__(s))\ndef f(x): return M(x)',
        'import enum\nclass P(enum.IntFlag):\n    a = 1\n    b = 2\ndef f(x): return [None, P.a, P.b, P.a | P.b][x]',
    ))
def test_a_value_that_says_what_its_content_says(candidate):
    got = candidate(3)
    assert -got == -3 and abs(got) == 3 and int(got) == 3 and round(got) == 3


@attack(
    5,
    "def f():\n    b = []\n    for _ in range(60): b = [b, b]\n    return b",
    "def f():\n    b = {}\n    for _ in range(60): b = {'x': b, 'y': b}\n    return b",
    "def f():\n    b = ()\n    for _ in range(40): b = ([b], [b])\n    return [b, [b]]",
    honest="def f(): return [[]]",
)
def test_a_value_that_has_itself_in_two_places_at_each_level(candidate):
    out = candidate()
    assert str(out)[:10] == "[[]]"
    assert copy.deepcopy(out) == [[]]
