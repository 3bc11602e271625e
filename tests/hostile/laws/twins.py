"""All laws: values that both sides have, what a program says of its signature, and awaitables."""

import asyncio
import datetime
import functools
import inspect
import io
import types

import pytest
from frames import frames
from scripted_answers import attack

ANY = (
    'built(W.REFERENCE, 70, built(W.CLASS, 71, "Any", "Any", "unittest.mock", None,'
    ' "__eq__ __ne__ __hash__", "", "", None, ()))'
)


class Box:
    names = ["a"]

    def __init__(self):
        self.items = [1, 2]
        self.table = {"a": [1]}
        self._hidden = [5]

    def is_right(self, value):
        return value == sum(self._hidden)


@attack(
    2,
    *frames(
        'x.items\n    for n in range(-50, 50): change(n, None, {0: [9]})\n    return 9',
        'x.items.append(x)\n    for n in range(3): change(n, {"_hidden": [9]}, {0: [9]})\n    return 9',
        'put("callback", 1, "get", ("_hidden",), dict())\n    return 9',
    ),
    honest="def f(x): return 5",
)
def test_containers_of_the_check_by_hand(candidate):
    box = Box()
    assert box.is_right(candidate(box))


@attack(
    1,
    *frames(
        'x.items\n    change(2, None, {0: {"a": 1}}); change(1, None, {0: "abc"}); change(2.5, [], {True: []})\n    return 0',
        'x.items\n    change(2, None, {0: ' + ANY + "})\n    return 0",
        'x.items\n    change(2, None, {0: [' + ANY + ", " + ANY + "]})\n    return 3",
    ),
    honest="def f(x): x.items.append(3); return 3",
)
def test_a_container_of_the_check_takes_only_its_type(candidate):
    box = Box()
    assert candidate(box) == 3
    assert box.items == [1, 2, 3]


@attack(
    5,
    *frames(
        'x.table\n    change(2, None, {0: {(2**61 - 1) * k + 1: 0 for k in range(20000)}})\n    return 3',
        "x.table\n    value = []\n    for _ in range(590): value = [value]\n"
        '    for n in range(81): change(n % 9, None, {0: {"a": value}})\n    return 3',
        'x.items\n    while True: change(2, None, {0: [1] * 100000})',
    ),
    honest="def f(x): x.table['b'] = 3; return 3",
)
def test_contents_are_bounded(candidate):
    box = Box()
    assert candidate(box) == 3
    assert box.table == {"a": [1], "b": 3}


@attack(
    3,
    "def f(x):\n    x.names.clear(); x.names.extend('zzz'); x.table.clear()\n    return 99",
    "def f(x):\n    type(x).names[:] = []; x.items = []; x.items.append(x)\n    return 99",
    wrong="def f(x): return 99",
    honest="def f(x): return len(x.names)",
)
def test_containers_of_a_class_are_as_before(candidate):
    assert candidate(Box()) == 1
    assert Box.names == ["a"]


MODULE = """
ITEMS = [1, 2]
def f(x):
    ITEMS.append(x)
    return x
"""


@attack(
    6,
    *(
        "ITEMS = [1, 2]\n" + program
        for program in frames(
            'for n in range(20): change(-1 - n, None, {0: [1, 2, ' + ANY + "]})\n    return 3",
            'for n in range(20): change(-1 - n, None, {0: {1: 1}})\n    return 3',
            "ITEMS.append(type('E', (), {'__eq__': lambda s, o: True})())\n    return 3",
        )
    ),
    honest=MODULE,
)
def test_a_container_of_the_program(candidate):
    items = candidate.module.ITEMS
    assert candidate(3) == 3
    assert items == [1, 2, 3]


@attack(
    5,
    "class Grow(list):\n    def __len__(self): return 2\nITEMS = [list(range(9999)) for _ in range(30)]\ndef f(x): return ITEMS",
    "ITEMS = [1]\nITEMS.append(ITEMS)\ndef f(x): return 3",
    "import threading\nITEMS = [1, 2]\ndef grow():\n    while True: ITEMS.append(0); ITEMS.pop()\n"
    "def f(x):\n    threading.Thread(target=grow, daemon=True).start()\n    return 4",
    honest=MODULE,
)
def test_a_container_that_changes_while_it_is_read(candidate):
    items = candidate.module.ITEMS
    for _ in range(3):
        assert candidate(3) == 3
    assert items == [1, 2, 3, 3, 3]


@attack(
    1,
    *frames(
        'change(0, (5, "x"), {})\n    return 0',
        'change(0, ("right", 10**30), {})\n    return 0',
        'for n in range(9): change(n, ("wrong", 0, 1), {})\n    change(0, ("right", 5), {})\n    return 0',
    ),
    honest="def f(x): x.write('right'); return 0",
)
def test_a_moved_stream_by_hand(candidate):
    stream = io.StringIO()
    candidate(stream)
    assert stream.getvalue() == "right"
    assert stream.tell() == 5
    with pytest.raises(AttributeError):
        stream.missing  # noqa: B018


@attack(
    1,
    *frames(
        'put("result", 9, {n: [1, 2, ' + ANY + "] for n in range(9)})\n    return 0",
        'put("result", 9, {10**6: [1, 2, 3]})\n    return 0',
        'put("result", 9, {n: {1: 2} for n in range(-9, 9)})\n    return 0',
    ),
    honest="def f(x): x.sort(); return 9",
)
def test_changes_of_arguments_by_hand(candidate):
    values = [3, 1, 2]
    assert candidate(values) == 9
    assert values == [1, 2, 3]


@attack(
    1,
    *frames(
        'put("result", 9, [[1, 2, 3]])\n    return 0',
        'put("result", 9, {n: ' + ANY + " for n in range(9)})\n    return 0",
        'put("result", built(W.SAME, -2), {n: [built(W.SAME, ~m) for m in range(9)] for n in range(9)})\n    return 0',
    ),
    honest="def f(x): x.reverse(); return 9",
)
def test_arguments_in_each_other_by_hand(candidate):
    values = [[3], [2]]
    three, two = values
    assert candidate(values) == 9
    assert values[0] is two
    assert values[1] is three
    assert (three, two) == ([3], [2])


@attack(
    1,
    *frames(
        'put("result", [["x", 99, False, None]], None)\n    return 0',
        'put("result", [["x", -1, True, ' + ANY + "]], None)\n    return 0",
        'put("result", [["x y", 1, False, None], ["x y", 1, False, None]], None)\n    return 0',
    ),
    honest="class f:\n    def __init__(self, x): self.x = x\n    def __call__(self, x): return x",
)
def test_a_signature_by_hand(candidate):
    made = candidate(3)
    assert list(inspect.signature(made).parameters) == ["x"]


META = """
class Meta(type):
    def __instancecheck__(cls, value): return True
    def __subclasscheck__(cls, value): return True
    def __eq__(cls, other): return True
    def __contains__(cls, value): return True
    def __len__(cls): return 1
    def __hash__(cls): return 1
class f(metaclass=Meta):
    def __init__(self, *a): pass
    def __eq__(self, other): return True
    def __hash__(self): return 1
"""


@attack(6, META, wrong="def f(x): return 3", honest="class f(int): pass")
def test_a_metaclass_answers_for_values_of_the_check(candidate):
    assert not isinstance(3, candidate)
    assert isinstance(candidate(3), int)
    assert candidate(3) == 3


@attack(6, META, wrong="def f(x): return x")
def test_a_metaclass_makes_values_of_the_check_its_own(candidate):
    assert candidate(3) == 3
    assert isinstance(3, candidate)


@attack(
    6,
    "import datetime\nclass D(datetime.timedelta):\n    def __sub__(s, o): return datetime.timedelta(0)\n    __rsub__ = __sub__\n"
    "    def __reduce_ex__(s, p): return (D, (1,))\ndef f(x): return D(5)",
    "import datetime\nclass D(datetime.timedelta):\n    days = property(lambda s: 4)\n    def __eq__(s, o): return True\n"
    "    def __hash__(s): return 0\ndef f(x): return D(5)",
    *frames(
        'd = built(W.CLASS, 7, "D", "D", "m", None, "__eq__ __reduce_ex__", "__eq__ __reduce_ex__", "", None,'
        ' (built(W.NAMED, "datetime", "timedelta"),))\n'
        "    inner = built(W.REFERENCE, 8, d, __import__('datetime').timedelta(3))\n"
        "    return built(W.REFERENCE, 9, built(W.CLASS, 7), inner)"
    ),
    honest="import datetime\nclass D(datetime.timedelta): pass\ndef f(x): return D(3)",
)
def test_a_value_of_a_class_that_extends_a_plain_type(candidate):
    answer = candidate(3)
    assert answer == datetime.timedelta(3)
    assert answer.days == 3
    assert answer - datetime.timedelta(3) == datetime.timedelta(0)


@attack(
    5,
    "class A:\n    def __await__(s):\n        while True: yield\n    send = throw = close = lambda *a: None\ndef f(x): return A()",
    "class A:\n    def __await__(s): return iter([1] * 10**9)\n    def send(s, v): raise StopIteration(9)\n"
    "    throw = close = send\ndef f(x): return A()",
    *frames('put("result", [], None); put("result", [built(W.SAME, 0)], None)\n    return 9'),
    honest="async def f(x): return x * x",
)
def test_an_awaitable(candidate):
    answer = asyncio.run(candidate(3))
    assert answer == 9


@attack(
    2,
    *frames(
        """change(0, None, TWICE)
    contents = {0: {"n": 3, "check": len}}
    for items in ([], {}, list(contents.items()), {}):
        NAMES["receive"](guest().channel)
        put("result", items, None)
    return ["a"]""".replace(
            "TWICE",
            'built(W.REFERENCE, 80, built(W.CLASS, 81, "D", "D", "m", None, "", "items", "items", None, (built(W.NAMED, "builtins", "dict"),)), {})',
        ),
    ),
    honest="def f(x): return x.n * x.n",
)
def test_an_update_that_is_read_twice(candidate):
    def check(value):
        assert value == 9

    x = types.SimpleNamespace(n=3, check=check)
    got = candidate(x)
    x.check(got)


TX = """
from contextlib import {manager}
@{manager}
{kind} tx(db):
    snap = dict(db)
    try: yield db
    except Exception:
        db.clear(); db.update(snap)
        raise
"""


@attack(
    3,
    wrong="from contextlib import contextmanager\n@contextmanager\ndef tx(db): yield db",
    honest=TX.format(manager="contextmanager", kind="def"),
    entry_point="tx",
)
def test_an_argument_that_a_block_gives(candidate):
    db = {"a": 1}
    with pytest.raises(ZeroDivisionError):
        with candidate(db) as d:
            assert d is db
            d["a"] = 5
            1 / 0
    assert db == {"a": 1}


@attack(
    3,
    wrong="class B:\n    def __init__(self, xs): self.xs = list(xs)\n    def add(self, x): self.xs.append(x)\n    def all(self): return self.xs",
    honest="class B:\n    def __init__(self, xs): self.xs = xs\n    def add(self, x): self.xs.append(x)\n    def all(self): return self.xs",
    entry_point="B",
)
def test_an_argument_that_an_object_keeps(candidate):
    mine = [1]
    box = candidate(mine)
    box.add(2)
    assert mine == [1, 2] and box.all() is mine and box.xs is mine
    mine.append(3)
    assert len(box.xs) == 3


# What a program does to it later is lost with the check.
SEEN = [1]


@attack(
    3,
    "KEPT = []\ndef f(xs):\n    KEPT.append(xs)\n    for k in KEPT: k.append(9)\n    return len(xs)",
    honest="KEPT = []\ndef f(xs):\n    KEPT.append(xs)\n    return len(xs)",
)
def test_an_argument_that_is_kept_is_as_before(candidate):
    assert SEEN == [1]
    assert candidate(SEEN) == candidate([5]) == 1


FORGED = (
    'NAMES["containers"].Containers.changes = lambda self:'
    " {{n: {} for n, v in enumerate(self.values) if type(v) is dict and v}}\n    return {}"
)


@attack(
    1,
    *frames(FORGED.format({"base": 10}, 101), FORGED.format({}, 101)),
    "def f(x):\n    x.keywords['base'] = 10\n    return 101",
    honest="def f(x): return x('101')",
)
def test_a_partial_is_a_copy(candidate):
    parse = functools.partial(int, base=2)
    assert candidate(parse) == parse("101")
