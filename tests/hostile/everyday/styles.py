"""Checks in further styles: of unittest, of doctest, with outcomes, fixtures of all scopes, clocks."""

import array
import asyncio
import base64
import contextlib
import csv
import dataclasses
import datetime
import decimal
import doctest
import enum
import fractions
import functools
import hashlib
import inspect
import io
import itertools
import json
import logging
import math
import os
import pathlib
import re
import sqlite3
import statistics
import struct
import sys
import textwrap
import threading
import time
import types
import typing
import unittest
import warnings
import weakref
import zoneinfo
from concurrent import futures
from unittest import mock

import anyio
import hypothesis
import pytest
from hypothesis import strategies as st
from scripted_answers import answers

CASES = unittest.TestCase()


@answers("norm", right="def norm(v):\n    s = sum(x * x for x in v) ** 0.5\n    return [x / s for x in v]", wrong="def norm(v):\n    return [x / sum(v) for x in v]")
def test_approx_of_lists_and_dicts(candidate):
    assert candidate([3, 4]) == pytest.approx([0.6, 0.8], rel=1e-9)
    assert {"a": candidate([1])[0], "b": 0.1 + 0.2} == pytest.approx({"a": 1.0, "b": 0.3})
    assert candidate([3, 4])[0] != pytest.approx(0.75, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("a", 1, id="one word"),
        pytest.param("  a  b ", 2, id="spaces"),
        pytest.param("a\nb\tc", 3, id="lines", marks=pytest.mark.filterwarnings("error")),
    ],
)
@answers("count", right="def count(text): return len(text.split())", wrong="def count(text): return len(text.split(' '))")
def test_parameters_with_ids(candidate, text, expected):
    assert candidate(text) == expected


@pytest.fixture
def number(request):
    return int(request.param)


@pytest.mark.parametrize("number", ["1", "12", "255"], indirect=True)
@answers("to_hex", right="def to_hex(n): return f'{n:x}'", wrong="def to_hex(n): return hex(n)")
def test_indirect_parameters(candidate, number):
    assert int(candidate(number), 16) == number and candidate(number)[0] != "0"


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "b.txt").write_text("b")
    (folder / "a.txt").write_text("a")
    yield folder
    for path in folder.iterdir():
        path.unlink()
    assert not list(folder.iterdir())


@answers("join", right="def join(folder): return ''.join(p.read_text() for p in sorted(folder.glob('*.txt')))", wrong="def join(folder): return ''.join(p.read_text() for p in sorted(folder.glob('*.txt'), reverse=True))")
def test_a_fixture_that_cleans_up(candidate, inbox):
    assert candidate(inbox) == "ab"
    assert [p.name for p in sorted(inbox.iterdir())] == ["a.txt", "b.txt"]


@answers("save", right="import json\ndef save(path, data):\n    path.write_text(json.dumps(data, sort_keys=True))", wrong="def save(path, data):\n    path.write_text(str(data))")
def test_a_folder_of_the_factory(candidate, tmp_path_factory):
    path = tmp_path_factory.mktemp("data", numbered=False) / "x.json"
    candidate(path, {"b": 1, "a": [None, True]})
    assert json.loads(path.read_text()) == {"a": [None, True], "b": 1}


@answers("steps", right="import sys\ndef steps(n):\n    for i in range(n): print('step', i)\n    print('done', file=sys.stderr)", wrong="def steps(n):\n    for i in range(n): print('step', i)\n    print('done')")
def test_output_read_twice(candidate, capfd):
    candidate(1)
    assert capfd.readouterr() == ("step 0\n", "done\n")
    candidate(2)
    out, err = capfd.readouterr()
    assert out.splitlines() == ["step 0", "step 1"] and err == "done\n"


@answers("load", right="import logging\nlog = logging.getLogger('app.load')\ndef load(n):\n    log.debug('n=%d', n)\n    if n < 0: log.error('negative')", wrong="import logging\nlog = logging.getLogger('app.load')\ndef load(n):\n    log.info('n=%d', n)\n    if n < 0: log.error('negative')")
def test_record_tuples_at_a_level(candidate, caplog):
    with caplog.at_level(logging.DEBUG, logger="app.load"):
        candidate(-1)
    assert caplog.record_tuples == [
        ("app.load", logging.DEBUG, "n=-1"),
        ("app.load", logging.ERROR, "negative"),
    ]
    caplog.clear()
    candidate(3)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@answers("parse", right="import warnings\ndef parse(s):\n    if ',' in s: warnings.warn('comma', FutureWarning)\n    return float(s.replace(',', '.'))", wrong="def parse(s):\n    return float(s.replace(',', '.'))")
def test_a_warning_is_popped(candidate, recwarn):
    assert candidate("1.5") == 1.5
    assert len(recwarn) == 0
    assert candidate("1,5") == 1.5
    warning = recwarn.pop(FutureWarning)
    assert str(warning.message) == "comma" and issubclass(warning.category, FutureWarning)


@answers("area", right="import warnings\ndef area(r):\n    if r < 0: warnings.warn('negative radius', RuntimeWarning)\n    return 3 * r * r", wrong="import warnings\ndef area(r):\n    warnings.warn('negative radius', RuntimeWarning)\n    return 3 * r * r")
def test_warnings_as_errors(candidate):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert candidate(1) == 3
    with pytest.warns(RuntimeWarning, match="^negative"):
        candidate(-1)


@answers("poll", right="import time\ndef poll(ready, tries):\n    for n in range(tries):\n        if ready(): return n\n        time.sleep(2 ** n)\n    raise TimeoutError('gave up')", wrong="import time\ndef poll(ready, tries):\n    for n in range(tries):\n        if ready(): return n\n        time.sleep(1)\n    raise TimeoutError('gave up')")
def test_sleep_is_replaced(candidate, monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    with pytest.raises(TimeoutError, match="gave up"):
        candidate(lambda: False, 4)
    assert slept == [1, 2, 4, 8]


@answers("stamp", right="import time\ndef stamp(): return time.strftime('%Y-%m-%d', time.gmtime(time.time()))", wrong="import time\ndef stamp(): return time.strftime('%d-%m-%Y', time.gmtime(time.time()))")
def test_a_frozen_clock(candidate, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 86400.0 * 365)
    assert candidate() == "1971-01-01"


@answers("who", right="import os\ndef who(): return os.environ.get('APP_USER', 'nobody').upper()", wrong="import os\ndef who(): return os.environ.get('APP_USER', 'nobody')")
def test_the_environment_is_patched_by_mock(candidate):
    with mock.patch.dict(os.environ, {"APP_USER": "ann"}):
        assert candidate() == "ANN"
    assert candidate() == "NOBODY"


@dataclasses.dataclass
class Item:
    name: str
    price: float
    tags: list = dataclasses.field(default_factory=list)


@answers("cheapest", right="def cheapest(items): return min(items, key=lambda i: i.price)", wrong="def cheapest(items): return items[0]")
def test_dataclasses_of_the_check(candidate):
    items = [Item("a", 3.0), Item("b", 1.5, ["x"])]
    got = candidate(items)
    assert got is items[1] and got == Item("b", 1.5, ["x"])
    assert dataclasses.asdict(got) == {"name": "b", "price": 1.5, "tags": ["x"]}


VERSION = '''
from dataclasses import dataclass
@dataclass(order=True)
class Version:
    major: int
    minor: int = 0
    def bump(self):
        return Version(self.major, self.minor + 1)
def parse(text):
    return Version(*map(int, text.split(".")))
'''


@answers("parse", right=VERSION, wrong=VERSION.replace("self.minor + 1", "self.minor"), jail_only=True)
def test_dataclasses_of_the_program(candidate):
    version = candidate("1.2")
    assert version == candidate.module.Version(1, 2) and version < candidate("1.10")
    assert dataclasses.astuple(version.bump()) == (1, 3)
    assert [field.name for field in dataclasses.fields(version)] == ["major", "minor"]
    assert dataclasses.replace(version, major=2).major == 2


@pytest.mark.filterwarnings("error")
@answers("old_or_new", right="import warnings\ndef old_or_new(x):\n    if x < 0:\n        warnings.warn('old', DeprecationWarning)\n    return abs(x)", wrong="import warnings\ndef old_or_new(x):\n    warnings.warn('old', DeprecationWarning)\n    return abs(x)")
def test_the_mark_makes_warnings_errors(candidate):
    assert candidate(3) == 3
    with pytest.raises(DeprecationWarning, match="old"):
        candidate(-3)
    assert candidate(4) == 4


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


@answers("allowed", right="def allowed(user, needed): return needed in user", wrong="def allowed(user, needed): return bool(needed & user)")
def test_flags_of_the_check(candidate):
    assert candidate(Access.READ | Access.WRITE, Access.READ) is True
    assert candidate(Access.READ, Access.READ | Access.WRITE) is False


@answers("split", right="from decimal import Decimal\ndef split(total, n):\n    each = (total / n).quantize(Decimal('0.01'), rounding='ROUND_DOWN')\n    return [total - each * (n - 1)] + [each] * (n - 1)", wrong="def split(total, n): return [round(total / n, 2)] * n")
def test_decimals_add_up(candidate):
    parts = candidate(decimal.Decimal("100.00"), 3)
    assert sum(parts) == decimal.Decimal("100.00")
    assert max(parts) - min(parts) == decimal.Decimal("0.01")
    assert all(part.as_tuple().exponent == -2 for part in parts)


@answers("simplest", right="from fractions import Fraction\ndef simplest(x, most): return Fraction(x).limit_denominator(most)", wrong="from fractions import Fraction\ndef simplest(x, most): return Fraction(round(x * most), most)")
def test_fractions(candidate):
    assert candidate(3.14159265, 10) == fractions.Fraction(22, 7)
    assert candidate(0.333, 3) == fractions.Fraction(1, 3)


@answers("meeting", right="from datetime import datetime, timedelta\ndef meeting(start, zone): return (start + timedelta(hours=1)).astimezone(zone)", wrong="from datetime import datetime, timedelta\ndef meeting(start, zone): return (start + timedelta(hours=1)).replace(tzinfo=zone)")
def test_time_zones(candidate):
    start = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.UTC)
    got = candidate(start, zoneinfo.ZoneInfo("Europe/Berlin"))
    assert got.hour == 15 and got.utcoffset() == datetime.timedelta(hours=2)
    assert got - start == datetime.timedelta(hours=1)


@answers("sibling", right="def sibling(path, name): return path.parent / name", wrong="def sibling(path, name): return path / name")
def test_pure_paths(candidate):
    got = candidate(pathlib.PurePosixPath("/a/b/c.txt"), "d.md")
    assert got == pathlib.PurePosixPath("/a/b/d.md")
    assert (got.suffix, got.relative_to("/a").parts) == (".md", ("b", "d.md"))


@answers("find", right="import re\ndef find(text): return re.search(r'(?P<key>\\w+)=(?P<value>\\d+)', text)", wrong="import re\ndef find(text): return re.search(r'(?P<key>\\w+)=(?P<value>\\d)', text)")
def test_a_match_object(candidate):
    match = candidate("a b=42;")
    assert match is not None and match.group("value") == "42"
    assert match.groupdict() == {"key": "b", "value": "42"} and match.span() == (2, 6)
    assert candidate("none") is None


@answers("running", right="def running():\n    total = n = 0\n    mean = None\n    while True:\n        total += yield mean\n        n += 1\n        mean = total / n", wrong="def running():\n    total = n = 0\n    mean = None\n    while True:\n        total += yield mean\n        n += 1\n        mean = total")
def test_values_sent_to_a_generator(candidate):
    mean = candidate()
    assert inspect.isgenerator(mean) or hasattr(mean, "send")
    next(mean)
    assert [mean.send(value) for value in (2, 4, 9)] == [2, 3, 5]
    mean.close()
    with pytest.raises(StopIteration):
        next(mean)


@answers("fetch_all", right="import asyncio\nasync def fetch_all(fetch, names):\n    return dict(zip(names, await asyncio.gather(*map(fetch, names))))", wrong="async def fetch_all(fetch, names):\n    return {n: await fetch(n) for n in reversed(names)}")
def test_coroutines_under_anyio(candidate):
    async def fetch(name):
        await asyncio.sleep(0.001)
        return name.upper()

    async def main():
        got = await candidate(fetch, ["a", "b"])
        assert got == {"a": "A", "b": "B"}
        assert list(got) == ["a", "b"]

    anyio.run(main)


@answers("double_soon", right="import asyncio\nasync def double_soon(x):\n    await asyncio.sleep(0)\n    return 2 * x", wrong="import asyncio\nasync def double_soon(x):\n    await asyncio.sleep(0)\n    return x + 2")
def test_a_coroutine_with_a_timeout(candidate):
    async def main():
        assert await candidate(2) == 4
        async with asyncio.timeout(2), asyncio.TaskGroup() as group:
            tasks = [group.create_task(candidate(n)) for n in (1, 5)]
        assert [task.result() for task in tasks] == [2, 10]

    asyncio.run(main())


@answers("counter", right="import threading\ndef counter(n, workers, add):\n    ts = [threading.Thread(target=lambda: [add(1) for _ in range(n)]) for _ in range(workers)]\n    [t.start() for t in ts]\n    [t.join() for t in ts]", wrong="def counter(n, workers, add):\n    for _ in range(n): add(1)")
def test_threads_of_the_program_call_back(candidate):
    seen, lock = [], threading.Lock()

    def add(value):
        with lock:
            seen.append(value)

    candidate(5, 3, add)
    assert sum(seen) == 15


@answers("square", right="def square(x): return x * x", wrong="def square(x): return x * 2")
def test_a_pool_of_the_check(candidate):
    with futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(candidate, range(8))) == [n * n for n in range(8)]
        assert pool.submit(candidate, 9).result(timeout=5) == 81


@answers("to_csv", right="import csv, io\ndef to_csv(rows):\n    out = io.StringIO()\n    writer = csv.DictWriter(out, fieldnames=list(rows[0]))\n    writer.writeheader()\n    writer.writerows(rows)\n    return out.getvalue()", wrong="def to_csv(rows):\n    return '\\n'.join([','.join(rows[0]), *(','.join(map(str, r.values())) for r in rows)])")
def test_csv_is_read_back(candidate):
    rows = [{"name": 'A "b", c', "n": "1"}, {"name": "two\nlines", "n": "2"}]
    assert list(csv.DictReader(io.StringIO(candidate(rows), newline=""))) == rows


@answers("top", right="def top(db, n): return [r['name'] for r in db.execute('SELECT name FROM s ORDER BY points DESC, name LIMIT ?', (n,))]", wrong="def top(db, n): return [r['name'] for r in db.execute('SELECT name FROM s ORDER BY points LIMIT ?', (n,))]")
def test_a_database_with_rows_by_name(candidate):
    db = sqlite3.connect(":memory:")
    db.row_factory = sqlite3.Row
    db.executescript("CREATE TABLE s (name, points); INSERT INTO s VALUES ('a', 1), ('b', 9), ('c', 9);")
    assert candidate(db, 2) == ["b", "c"]


@answers("softmax", right="import numpy as np\ndef softmax(x):\n    e = np.exp(x - np.max(x, axis=-1, keepdims=True))\n    return e / e.sum(axis=-1, keepdims=True)", wrong="import numpy as np\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum()")
def test_arrays_with_numpy_testing(candidate):
    np = pytest.importorskip("numpy")
    got = candidate(np.array([[1.0, 2.0], [1000.0, 1000.0]]))
    np.testing.assert_allclose(got.sum(axis=1), np.ones(2))
    np.testing.assert_array_equal(got[1], [0.5, 0.5])
    assert got.shape == (2, 2) and got.dtype == np.float64


@hypothesis.settings(derandomize=True, max_examples=20, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=4))
@hypothesis.example({"a": 0, "b": 0})
@answers("invert", right="def invert(d):\n    out = {}\n    for k, v in d.items(): out.setdefault(v, []).append(k)\n    return out", wrong="def invert(d): return {v: [k] for k, v in d.items()}")
def test_a_property_with_an_example(candidate, mapping):
    hypothesis.assume(len(mapping) != 1 or "" in mapping)
    got = candidate(mapping)
    assert sorted(k for keys in got.values() for k in keys) == sorted(mapping)
    assert all(mapping[k] == v for v, keys in got.items() for k in keys)


@answers("divide", right="def divide(a, b):\n    if b == 0: raise ZeroDivisionError(f'{a} by zero')\n    return a / b", wrong="def divide(a, b):\n    return a / b if b else float('inf')")
def test_assertions_of_unittest(candidate):
    CASES.assertAlmostEqual(candidate(1, 3), 0.3333, places=3)
    CASES.assertIsInstance(candidate(4, 2), float)
    CASES.assertCountEqual([candidate(2, 1), 1], [1, 2.0])
    with CASES.assertRaisesRegex(ZeroDivisionError, "5 by zero"):
        candidate(5, 0)
    for divisor in (1, 2):
        with CASES.subTest(divisor=divisor):
            CASES.assertLessEqual(candidate(2, divisor), 2)


ROMAN = '''
def roman(n):
    """Return n in Roman numerals.

    >>> roman(4)
    'IV'
    >>> roman(2024)
    'MMXXIV'
    """
    out = ""
    for value, sign in PAIRS:
        while n >= value:
            out, n = out + sign, n - value
    return out
PAIRS = list(zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "M CM D CD C XC L XL X IX V IV I".split()))
'''


@answers("roman", right=ROMAN, wrong=ROMAN.replace(" IV I", " IIII I"), jail_only=True)
def test_examples_of_the_docstring(candidate):
    examples = doctest.DocTestParser().get_examples(inspect.cleandoc(candidate.__doc__) + "\n")
    assert len(examples) == 2
    for example in examples:
        assert repr(eval(example.source, {"roman": candidate})) + "\n" == example.want


class TestStack:
    """A class with a set-up of its own."""

    limit: typing.ClassVar[int] = 2

    def setup_method(self, method):
        self.seen = []

    def teardown_method(self):
        self.seen.clear()

    @answers("push", right="def push(stack, x, limit):\n    if len(stack) >= limit: raise OverflowError\n    stack.append(x)\n    return stack", wrong="def push(stack, x, limit):\n    stack.append(x)\n    return stack")
    def test_class_with_setup_method(self, candidate):
        assert candidate(self.seen, 1, self.limit) is self.seen
        candidate(self.seen, 2, self.limit)
        with pytest.raises(OverflowError):
            candidate(self.seen, 3, self.limit)
        assert self.seen == [1, 2]


@answers("is_prime", right="def is_prime(n): return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))", wrong="def is_prime(n): return n > 1 and n % 2 == 1")
def test_a_check_with_its_own_message(candidate):
    for n in (2, 9, 97):
        try:
            assert candidate(n) == (n in (2, 97))
        except AssertionError as error:
            pytest.fail(f"wrong for {n}: {error}")


@answers("report", right="def report(rows):\n    for name, n in rows: print(f'{name:<5}|{n:>3}')", wrong="def report(rows):\n    for name, n in rows: print(f'{name}|{n}')")
def test_output_that_is_redirected(candidate):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        candidate([("a", 1), ("bcd", 22)])
    assert out.getvalue() == textwrap.dedent("""\
        a    |  1
        bcd  | 22
    """)


@answers("Tee", right="class Tee:\n    def __init__(self): self.lines = []\n    def write(self, text): self.lines.append(text)\n    def flush(self): pass", wrong="class Tee:\n    def __init__(self): self.lines = []\n    def write(self, text): pass\n    def flush(self): pass")
def test_output_that_is_redirected_to_the_program(candidate):
    tee = candidate()
    with contextlib.redirect_stdout(tee):
        print("one")
    assert "".join(tee.lines) == "one\n"


@answers("noise", right="def noise(n): print('out', n)", wrong="def noise(n): print('out', n + 1)")
def test_a_stream_is_replaced_after_a_first_call(candidate, monkeypatch):
    candidate(1)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    candidate(2)
    candidate(3)
    assert out.getvalue() == "out 2\nout 3\n"


@answers("pack", right="import struct\ndef pack(kind, data): return struct.pack('>BH', kind, len(data)) + data", wrong="import struct\ndef pack(kind, data): return struct.pack('<BH', kind, len(data)) + data")
def test_bytes_are_unpacked(candidate):
    got = candidate(7, b"abc")
    assert struct.unpack(">BH", got[:3]) == (7, 3) and got[3:] == b"abc"
    assert base64.b16encode(got) == b"070003616263"
    assert hashlib.sha256(got).hexdigest().startswith(hashlib.sha256(b"\x07\x00\x03abc").hexdigest()[:8])


@answers("pairs", right="from itertools import count\ndef pairs():\n    for n in count():\n        for a in range(n + 1): yield a, n - a", wrong="from itertools import count\ndef pairs():\n    for n in count(): yield n, n")
def test_an_endless_iterator_is_sliced(candidate):
    assert list(itertools.islice(candidate(), 6)) == [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (2, 0)]
    assert next(pair for pair in candidate() if sum(pair) == 3) == (0, 3)


@answers("key", right="def key(word): return (len(word), word.casefold())", wrong="def key(word): return len(word)")
def test_a_program_as_a_key(candidate):
    assert sorted(["bb", "A", "b", "aa"], key=candidate) == ["A", "b", "aa", "bb"]
    assert max(["x", "zz", "yy"], key=candidate) == "zz"
    assert functools.reduce(lambda a, b: a if candidate(a) < candidate(b) else b, ["c", "a", "b"]) == "a"


NODES = '''
class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)
    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child
    def __contains__(self, value):
        return any(value == v for v in self)
'''


@answers("Node", right=NODES, wrong=NODES.replace("yield from child", "yield child.value"))
def test_a_tree_of_the_program(candidate):
    tree = candidate(1, [candidate(2, [candidate(3)]), candidate(4)])
    assert list(tree) == [1, 2, 3, 4] and 3 in tree and 9 not in tree
    reference = weakref.ref(tree)
    assert reference() is tree
    assert [child.value for child in tree.children] == [2, 4]


@answers("total", right="def total(rows):\n    return {k: sum(r['n'] for r in rows if r['k'] == k) for k in sorted({r['k'] for r in rows})}", wrong="def total(rows):\n    return {r['k']: r['n'] for r in rows}")
def test_records_of_a_frame(candidate):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"k": ["a", "b", "a"], "n": [1, 2, 3]})
    got = candidate(frame.to_dict("records"))
    pd.testing.assert_series_equal(pd.Series(got, name="n"), frame.groupby("k")["n"].sum(), check_names=False)


@pytest.fixture(scope="class")
def words():
    return ("kayak", "Abba", "no")


@pytest.mark.usefixtures("recwarn")
class TestPalindromes:
    @pytest.fixture(autouse=True)
    def _program(self, candidate):
        self.is_palindrome = candidate

    @answers("is_palindrome", right="def is_palindrome(s):\n    s = s.lower()\n    return s == s[::-1]", wrong="def is_palindrome(s): return s == s[::-1]")
    def test_program_of_an_automatic_fixture(self, words, candidate):
        assert [self.is_palindrome(word) for word in words] == [True, True, False]


@answers("make_adder", right="def make_adder(n):\n    def add(x, /, *, times: int = 1) -> int:\n        'Add n.'\n        return x + n * times\n    return add", wrong="def make_adder(n):\n    def add(x, /, *, times: int = 1) -> int:\n        'Add n.'\n        return x + n\n    return add")
def test_a_function_that_is_returned(candidate):
    add = candidate(3)
    assert callable(add) and add.__name__ == "add" and add.__doc__ == "Add n."
    assert list(inspect.signature(add).parameters) == ["x", "times"]
    assert add(1, times=2) == 7
    with pytest.raises(TypeError):
        add(x=1)


@answers("merge", right="def merge(a, b):\n    out = dict(a)\n    for k, v in b.items():\n        out[k] = merge(out[k], v) if isinstance(v, dict) and isinstance(out.get(k), dict) else v\n    return out", wrong="def merge(a, b): return {**a, **b}")
def test_a_golden_file(candidate, request, tmp_path):
    golden = tmp_path / f"{request.node.originalname}.json"
    golden.write_text('{\n  "a": {\n    "x": 1,\n    "y": 2\n  },\n  "b": 3\n}')
    got = candidate({"a": {"x": 1}, "b": 0}, {"a": {"y": 2}, "b": 3})
    assert json.dumps(got, indent=2, sort_keys=True) == golden.read_text()
    assert types.MappingProxyType(got)["b"] == 3


@answers("histogram", right="def histogram(xs, width):\n    out = {}\n    for x in xs: out[x // width * width] = out.get(x // width * width, 0) + 1\n    return out", wrong="def histogram(xs, width):\n    return {x: 1 for x in xs}")
def test_counts_against_statistics(candidate, record_property):
    xs = array.array("i", [1, 2, 2, 11, 15])
    got = candidate(list(xs), 10)
    record_property("bins", len(got))
    assert got == {0: 3, 10: 2} and sum(got.values()) == len(xs)
    assert statistics.mode(x // 10 * 10 for x in xs) == max(got, key=got.get)
    assert math.isclose(statistics.fmean(got.values()), 2.5) and sys.getsizeof(got) > 0
    assert re.fullmatch(r"\{0: 3, 10: 2\}", str(got))
