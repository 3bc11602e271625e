"""Laws 1 and 6: control never comes from the program, and assertions are the check's."""

import asyncio
import copy
import json
import math
import pickle

import pytest
from scripted_answers import attack

FORGED = '''
class Cause:
    cause = ""
    detail = ""
    traceback = ""

class Stop({base}):
    def __init__(self):
        super().__init__("x")
        for name in ("failure", "cause", "exceeded", "broken", "result", "verdict", "outcome"):
            try:
                setattr(self, name, {value})
            except Exception:
                pass

def f(*args):
    raise Stop()
'''


@attack(
    1,
    FORGED.format(base="BaseException", value="Cause()"),
    FORGED.format(base="KeyboardInterrupt", value="Cause()"),
    FORGED.format(base="SystemExit", value='""'),
    FORGED.format(base="GeneratorExit", value="None"),
)
def test_an_exception_with_a_cause_of_its_own(candidate):
    assert candidate(1) == 2


@attack(
    1,
    "def f(x):\n    raise SystemExit(0)",
    "def f(x):\n    import os; os._exit(0)",
    "def f(x):\n    raise StopIteration(2)",
    "import asyncio\ndef f(x):\n    raise asyncio.CancelledError('x')",
)
def test_endings_that_harnesses_take_for_success(candidate):
    assert candidate(1) == 2


@attack(
    1,
    "import _pytest.outcomes as o\ndef f(x):\n    raise o.Skipped('x')",
    "def f(x):\n    import unittest; raise unittest.SkipTest('x')",
    "class Skipped(BaseException):\n    msg = 'x'; pytrace = True; allow_module_level = True\n"
    "Skipped.__module__ = 'builtins'\nSkipped.__qualname__ = 'Skipped'\ndef f(x):\n    raise Skipped()",
    "class Exit(BaseException):\n    returncode = 0; msg = ''\nExit.__module__ = '_pytest.outcomes'\n"
    "def f(x):\n    raise Exit()",
)
def test_outcomes_of_pytest(candidate):
    assert candidate(1) == 2


@attack(
    1,
    "def f(x):\n    return x",
    "def f(x):\n    return None",
    "def f(x):\n    raise ValueError('no')",
)
def test_a_wrong_program_is_not_saved_by_an_argument_that_cannot_cross(candidate):
    with pytest.raises(TypeError):
        candidate(object.__new__(type("Odd", (), {"__slots__": ()})))
    assert candidate(1) == 2


@attack(
    1,
    "def f(x):\n    return 5",
    "def f(x):\n    return len(x)",
    may_break=True,
)
def test_a_cyclic_argument_is_no_value_error_of_the_program(candidate):
    items = [1]
    items.append(items)
    with pytest.raises(ValueError):
        candidate(items)


DEEP = "def f(n):\n    x = []\n    for _ in range(100_000):\n        x = [x]\n    return x"


@attack(1, DEEP, "def f(n):\n    return {}", "def f(n):\n    raise KeyError(n)")
def test_too_deep_an_answer_is_no_error_that_the_check_expects(candidate):
    with pytest.raises((RecursionError, ValueError, TypeError, OverflowError)):
        candidate(3)


THING = "class T:\n    def __init__(self, v): self.v = v\n{more}\ndef f(v):\n    return T(v)"


@attack(1, THING.format(more=""), THING.format(more="    def __lt__(self, o): return True"))
def test_an_object_that_cannot_be_ordered_raises_no_accepted_error(candidate):
    with pytest.raises(TypeError):
        candidate(1) < 5  # noqa: B015
    assert candidate(1).v == 2


@attack(1, THING.format(more=""))
def test_pickling_a_handle_is_no_accepted_error(candidate):
    with pytest.raises((TypeError, pickle.PicklingError)):
        pickle.dumps(candidate(1))
    assert candidate(1).v == 2


@attack(1, "class f:\n    pass", "class f:\n    def __init_subclass__(cls): pass", may_break=True)
def test_deriving_from_a_class_is_no_accepted_error(candidate):
    with pytest.raises(TypeError):

        class Derived(candidate):
            pass


LIAR = '''
class L{base}:
    def __eq__(self, o): return True
    def __ne__(self, o): return False
    def __hash__(self): return {hash}
    def __bool__(self): return True
    def __len__(self): return 2
    def __contains__(self, o): return True
    def __iter__(self): return iter([1, 2])
    def __getitem__(self, k): return 2
    def __lt__(self, o): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __getattr__(self, n): return L()
    def __call__(self, *a, **k): return L()
    def __int__(self): return 2
    __index__ = __int__
    def __float__(self): return 2.0
    def __str__(self): return "2"
    __repr__ = __str__
    def __format__(self, s): return "2"
    def __sub__(self, o): return 0
    __rsub__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__
    def __abs__(self): return 0
    def __round__(self, n=0): return 2
    @property
    def __class__(self): return int
def f(*a):
    return L({arg})
'''
LIARS = (
    LIAR.format(base="", hash="hash(2)", arg=""),
    LIAR.format(base="(int)", hash="hash(2)", arg="7"),
    LIAR.format(base="(list)", hash="1", arg="[7]"),
    LIAR.format(base="(str)", hash="hash('2')", arg="'7'"),
)


@attack(6, *LIARS)
def test_equal_to_a_number(candidate):
    assert candidate(1) == 2


@attack(6, *LIARS)
def test_equal_from_the_right(candidate):
    assert 2 == candidate(1)  # noqa: SIM300


@attack(6, *LIARS)
def test_in_a_list(candidate):
    assert [candidate(1)] == [2]
    assert candidate(1) in [2]


@attack(6, *LIARS)
def test_in_a_set_and_a_dict(candidate):
    assert candidate(1) in {2}
    assert {candidate(1): "x"} == {2: "x"}


@attack(6, *LIARS)
def test_approximately(candidate):
    assert candidate(1) == pytest.approx(2)


@attack(6, *LIARS)
def test_isclose(candidate):
    assert math.isclose(candidate(1), 2.0)
    assert candidate(1) == 2


@attack(6, *LIARS)
def test_sorted_with_others(candidate):
    assert sorted([3, candidate(1), 1]) == [1, 2, 3]


@attack(6, *LIARS)
def test_as_json(candidate):
    assert json.loads(json.dumps({"a": candidate(1)})) == {"a": 2}


@attack(6, *LIARS)
def test_a_difference(candidate):
    assert abs(candidate(1) - 2) == 0
    assert candidate(1) == 2


@attack(6, *LIARS)
def test_is_instance_and_equal(candidate):
    value = candidate(1)
    assert isinstance(value, int)
    assert value == 2


@attack(6, *LIARS)
def test_a_copy(candidate):
    assert copy.deepcopy(candidate(1)) == 2


EXITS = '''
class H:
    def __enter__(self): return self
    def __exit__(self, *a): return True
    async def __aenter__(self): return self
    async def __aexit__(self, *a): return True
    def value(self): return 1
def f(*a):
    return H()
'''


@attack(6, EXITS)
def test_exit_does_not_swallow_an_assertion(candidate):
    with candidate(1) as handle:
        assert handle.value() == 2


@attack(6, EXITS)
def test_exit_does_not_swallow_an_error_of_the_check(candidate):
    with candidate(1) as handle:
        if handle.value() != 2:
            raise ValueError("wrong")


@attack(6, EXITS)
def test_exit_does_not_swallow_a_library_error(candidate):
    with candidate(1) as handle:
        [1, 2].index(handle.value() + 5)
        raise AssertionError


@attack(6, EXITS)
def test_exit_inside_raises(candidate):
    with pytest.raises(ZeroDivisionError), candidate(1) as handle:
        handle.value()
    assert candidate(1).value() == 2


@attack(6, EXITS)
def test_async_exit_does_not_swallow_an_assertion(candidate):
    async def use():
        async with candidate(1) as handle:
            assert handle.value() == 2

    asyncio.run(use())


ERRORS = '''
class E({base}):
    def __eq__(self, o): return True
    def __str__(self): return "bad input 3"
    args = ("bad input 3",)
def f(x):
    raise E()
'''


@attack(6, ERRORS.format(base="Exception"), ERRORS.format(base="BaseException"))
def test_another_type_is_no_value_error(candidate):
    with pytest.raises(ValueError, match="bad input"):
        candidate(3)


@attack(
    6,
    "class M(type):\n    def __instancecheck__(c, o): return True\n    def __subclasscheck__(c, o): return True\n"
    "class ValueError(Exception, metaclass=M): pass\ndef f(x):\n    raise ValueError('bad')",
    "class E(Exception):\n    pass\nE.__name__ = E.__qualname__ = 'ValueError'\nE.__module__ = 'builtins'\n"
    "def f(x):\n    raise E('bad')",
)
def test_a_type_of_that_name_is_no_value_error(candidate):
    with pytest.raises(ValueError):
        candidate(3)


STOPS = "def f(n):\n    yield 1\n    raise {error}\n"


@attack(
    6,
    "class I:\n    def __iter__(self): return self\n    def __next__(self): raise StopIteration\ndef f(n):\n    return I()",
    "def f(n):\n    return iter(())",
    "class I:\n    def __iter__(self): return iter(())\n    def __len__(self): return 3\ndef f(n):\n    return I()",
)
def test_an_empty_iterable_is_not_all_right(candidate):
    values = candidate(3)
    assert all(value > 0 for value in values)
    assert sum(candidate(3)) == 6


@attack(1, "def f(g):\n    try:\n        g()\n    except BaseException:\n        pass\n    return 2")
def test_an_assertion_in_a_callback_counts(candidate):
    def verify():
        raise AssertionError("called wrongly")

    assert candidate(verify) == 2
