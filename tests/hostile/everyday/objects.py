"""Checks of classes, exceptions, callbacks, coroutines and libraries, in the styles of pytest."""

import abc
import argparse
import asyncio
import concurrent.futures
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import enum
import functools
import io
import json
import operator
import queue
import sqlite3
import struct
import textwrap
import threading
import time
import types
import typing
import unittest
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scripted_answers import answers

STACK = '''
class Stack:
    def __init__(self, items=()):
        self._items = list(items)
    def push(self, item):
        self._items.append(item)
        return self
    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty stack")
        return self._items.pop()
    def peek(self):
        return self._items[-1] if self._items else None
    def __len__(self):
        return len(self._items)
    def __iter__(self):
        return iter(reversed(self._items))
    def __contains__(self, item):
        return item in self._items
    def __bool__(self):
        return bool(self._items)
    def __repr__(self):
        return f"Stack({self._items!r})"
'''


class TestStack:
    """A class of tests with a set-up method."""

    def setup_method(self):
        self.items = [1, 2, 3]

    @answers("Stack", right=STACK, wrong=STACK.replace("_items.pop()", "_items.pop(0)"))
    def test_last_in_first_out(self, candidate):
        stack = candidate(self.items)
        assert [stack.pop() for _ in self.items] == [3, 2, 1]
        assert not stack
        self.items.append(4)

    @answers("Stack", right=STACK, wrong=STACK.replace("reversed(self._items)", "self._items"))
    def test_protocols(self, candidate):
        stack = candidate()
        assert stack.push(1).push(2) is stack
        assert len(stack) == 2 and 2 in stack and 5 not in stack
        assert list(stack) == [2, 1]
        assert repr(stack) == "Stack([1, 2])"
        with pytest.raises(IndexError, match="empty"):
            candidate().pop()


class TestFixturesOfAClass:
    """Automatic fixtures, a fixture with parameters, and the request."""

    @pytest.fixture(autouse=True)
    def _counts(self):
        self.calls = []
        yield
        self.calls.clear()

    @pytest.fixture(params=[2, 3], ids=["two", "three"])
    def factor(self, request):
        return request.param

    @answers("scale", right="def scale(xs, by): return [x * by for x in xs]",
             wrong="def scale(xs, by): return [x * 2 for x in xs]")
    def test_scales_by_a_factor(self, candidate, factor):
        self.calls.append(factor)
        assert candidate([1, 2], factor) == [factor, 2 * factor]
        assert self.calls == [factor]

    @pytest.mark.parametrize("factor", [5], indirect=True)
    @answers("scale", right="def scale(xs, by): return [x * by for x in xs]",
             wrong="def scale(xs, by): return [x * 2 for x in xs]")
    def test_scales_by_an_indirect_factor(self, candidate, factor, request):
        assert candidate([1], request.getfixturevalue("factor")) == [5]


class TestInTheStyleOfUnittest:
    @pytest.fixture(autouse=True)
    def _assertions(self):
        self.case = unittest.TestCase()
        self.case.maxDiff = None

    @answers("fizzbuzz", right='''
def fizzbuzz(n):
    return ["FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i)
            for i in range(1, n + 1)]
''', wrong='''
def fizzbuzz(n):
    return ["Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i) for i in range(1, n + 1)]
''')
    def test_fizzbuzz(self, candidate):
        self.case.assertEqual(candidate(15)[-1], "FizzBuzz")
        self.case.assertListEqual(candidate(3), ["1", "2", "Fizz"])
        self.case.assertIn("Buzz", candidate(5))
        self.case.assertCountEqual(candidate(2), ["2", "1"])

    @answers("solve", right='''
def solve(a, b):
    if a == 0:
        raise ZeroDivisionError("no solution")
    return -b / a
''', wrong="def solve(a, b):\n    return b / a")
    def test_linear_equation(self, candidate):
        self.case.assertAlmostEqual(candidate(3, 1), -1 / 3)
        self.case.assertIsInstance(candidate(1, 1), float)
        with self.case.assertRaisesRegex(ZeroDivisionError, "no solution"):
            candidate(0, 1)


SHAPES = '''
import abc, math
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
    def __lt__(self, other):
        return self.area() < other.area()
    def describe(self):
        return f"{type(self).__name__} of {self.area():.2f}"
class Circle(Shape):
    def __init__(self, r):
        if r < 0:
            raise ValueError(f"negative radius: {r}")
        self.r = r
    def area(self):
        return math.pi * self.r ** 2
class Square(Shape):
    def __init__(self, a):
        self.a = a
    def area(self):
        return self.a ** 2
'''


@answers("Shape", right=SHAPES, wrong=SHAPES.replace("self.a ** 2", "4 * self.a"), jail_only=True)
def test_abstract_classes(candidate):
    circle, square = candidate.module.Circle(1), candidate.module.Square(3)
    assert isinstance(circle, candidate) and issubclass(candidate.module.Square, candidate)
    assert square.describe() == "Square of 9.00"
    assert sorted([square, circle])[0] is circle
    with pytest.raises(TypeError, match="abstract"):
        candidate()
    with pytest.raises(ValueError, match=r"negative radius: -1"):
        candidate.module.Circle(-1)


POINT = '''
from dataclasses import dataclass, field
@dataclass(frozen=True, order=True)
class Point:
    x: float
    y: float = 0.0
    tags: tuple = field(default=(), compare=False)
    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)
    def __abs__(self):
        return (self.x ** 2 + self.y ** 2) ** 0.5
    @property
    def swapped(self):
        return Point(self.y, self.x)
    @classmethod
    def parse(cls, text):
        return cls(*map(float, text.split(",")))
    @staticmethod
    def origin():
        return Point(0, 0)
'''


@answers("Point", right=POINT, wrong=POINT.replace("Point(self.y, self.x)", "self"))
def test_frozen_dataclass(candidate):
    point = candidate(3, 4)
    assert point == candidate(3, 4, tags=("a",)) and point != candidate(4, 3)
    assert abs(point) == pytest.approx(5)
    assert dataclasses.asdict(point) == {"x": 3, "y": 4, "tags": ()}
    assert dataclasses.replace(point, x=0) == candidate(0, 4)
    assert (point + candidate.parse("1,1")).x == 4
    assert point.swapped == candidate(4, 3)
    assert {point: "a"}[candidate(3, 4)] == "a"
    assert max(candidate.origin(), point) is point
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 9
    assert [field.name for field in dataclasses.fields(point)] == ["x", "y", "tags"]


@answers("Colour", right='''
import enum
class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"
    @classmethod
    def parse(cls, text):
        try:
            return cls[text.strip().upper()]
        except KeyError:
            raise ValueError(f"unknown colour {text!r}") from None
    @property
    def is_warm(self):
        return self is Colour.RED
''', wrong='''
import enum
class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"
    @classmethod
    def parse(cls, text):
        return cls.RED
    @property
    def is_warm(self):
        return self is Colour.RED
''')
def test_enum(candidate):
    assert candidate.parse(" green ") is candidate.GREEN
    assert candidate("r") is candidate.RED and candidate["RED"].value == "r"
    assert [colour.name for colour in candidate] == ["RED", "GREEN"]
    assert candidate.RED.is_warm and not candidate.GREEN.is_warm
    with pytest.raises(ValueError, match="unknown colour 'blue'") as caught:
        candidate.parse("blue")
    assert caught.value.__cause__ is None


ACCOUNT = '''
class InsufficientFunds(Exception):
    def __init__(self, balance, amount):
        super().__init__(f"{amount} is over {balance}")
        self.missing = amount - balance
class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self._balance = balance
        self.history = []
    @property
    def balance(self):
        return self._balance
    @balance.setter
    def balance(self, value):
        if value < 0:
            raise InsufficientFunds(self._balance, self._balance - value)
        self._balance = value
    def withdraw(self, amount):
        self.balance -= amount
        self.history.append(("withdraw", amount))
    def transfer(self, other, amount):
        self.withdraw(amount)
        other.balance += amount
'''


@answers("Account", right=ACCOUNT, wrong=ACCOUNT.replace("amount - balance", "amount"))
def test_account(candidate):
    anna, ben = candidate("Anna", 100), candidate(owner="Ben")
    anna.transfer(ben, 30)
    assert (anna.balance, ben.balance) == (70, 30)
    assert anna.history == [("withdraw", 30)]
    with pytest.raises(candidate.module.InsufficientFunds) as caught:
        ben.withdraw(50)
    assert caught.value.missing == 20
    assert str(caught.value) == "50 is over 30"
    assert ben.history == []
    ben.balance = 5
    assert ben.balance == 5


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("1+2*3", 7), ("(1+2)*3", 9), ("-4/2", -2), pytest.param("2", 2, id="number")],
)
@pytest.mark.parametrize("space", ["", " "], ids=["dense", "spaced"])
@answers("calc", right='''
import ast, operator
OPS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
def calc(text):
    def value(node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp):
            return -value(node.operand)
        return OPS[type(node.op)](value(node.left), value(node.right))
    return value(ast.parse(text.strip(), mode="eval").body)
''', wrong='''
def calc(text):
    text = text.replace(" ", "").strip("()")
    total = 0
    for part in text.split("+"):
        product = 1
        for factor in part.split("*"):
            product *= int(factor)
        total += product
    return total
''')
def test_calculator(candidate, expression, expected, space):
    assert candidate(space.join(expression)) == expected


@answers("retry", right='''
def retry(action, times, exceptions=(Exception,)):
    for attempt in range(1, times + 1):
        try:
            return action()
        except exceptions:
            if attempt == times:
                raise
''', wrong='''
def retry(action, times, exceptions=(Exception,)):
    for attempt in range(times):
        try:
            return action()
        except Exception:
            pass
''')
def test_retries_a_lent_function(candidate):
    calls = []

    def flaky():
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError("down")
        return "up"

    assert candidate(flaky, 5) == "up"
    assert len(calls) == 3
    with pytest.raises(ConnectionError, match="down"):
        calls.clear()
        candidate(flaky, 2)
    with pytest.raises(ConnectionError):
        calls.clear()
        candidate(flaky, 5, exceptions=(KeyError,))


@answers("notify", right='''
def notify(users, mailer):
    sent = 0
    for user in users:
        if user.get("active"):
            mailer.send(to=user["mail"], subject=f"Hello {user['name']}")
            sent += 1
    return sent
''', wrong='''
def notify(users, mailer):
    for user in users:
        mailer.send(to=user["mail"], subject="Hello")
    return len(users)
''')
def test_records_calls_of_a_mock(candidate):
    mailer = mock.Mock(spec=["send"])
    users = [
        {"name": "Ann", "mail": "a@x", "active": True},
        {"name": "Bob", "mail": "b@x", "active": False},
    ]
    assert candidate(users, mailer) == 1
    mailer.send.assert_called_once_with(to="a@x", subject="Hello Ann")
    assert mailer.mock_calls == [mock.call.send(to="a@x", subject=mock.ANY)]


@answers("load", right='''
def load(client, ids):
    found = {}
    for i in ids:
        try:
            found[i] = client.get(f"/items/{i}")["name"]
        except KeyError:
            found[i] = None
    return found
''', wrong='''
def load(client, ids):
    return {i: client.get(f"/items/{i}")["name"] for i in ids}
''')
def test_side_effects_of_a_mock(candidate):
    client = mock.MagicMock()
    client.get.side_effect = [{"name": "one"}, KeyError("gone"), {"name": "three"}]
    assert candidate(client, [1, 2, 3]) == {1: "one", 2: None, 3: "three"}
    assert client.get.call_count == 3
    client.get.assert_any_call("/items/2")


class Clock:
    def __init__(self):
        self.now = 0.0

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@answers("RateLimiter", right='''
class RateLimiter:
    def __init__(self, rate, clock):
        self.rate, self.clock, self.last = rate, clock, None
    def acquire(self):
        now = self.clock.time()
        if self.last is not None and now - self.last < 1 / self.rate:
            self.clock.sleep(1 / self.rate - (now - self.last))
        self.last = self.clock.time()
''', wrong='''
class RateLimiter:
    def __init__(self, rate, clock):
        self.rate, self.clock = rate, clock
    def acquire(self):
        self.clock.sleep(1 / self.rate)
''')
def test_fake_clock(candidate):
    clock = Clock()
    limiter = candidate(2, clock)
    limiter.acquire()
    assert clock.now == 0
    limiter.acquire()
    assert clock.now == pytest.approx(0.5)
    clock.now = 10
    limiter.acquire()
    assert clock.now == 10


@answers("EventBus", right='''
from collections import defaultdict
class EventBus:
    def __init__(self):
        self._handlers = defaultdict(list)
    def on(self, name):
        def register(handler):
            self._handlers[name].append(handler)
            return handler
        return register
    def emit(self, name, *args, **kwargs):
        return [handler(*args, **kwargs) for handler in self._handlers[name]]
''', wrong='''
class EventBus:
    def __init__(self):
        self._handlers = {}
    def on(self, name):
        def register(handler):
            self._handlers[name] = handler
            return handler
        return register
    def emit(self, name, *args, **kwargs):
        return [self._handlers[name](*args, **kwargs)]
''')
def test_decorates_handlers_of_the_check(candidate):
    bus = candidate()
    seen = []

    @bus.on("saved")
    def first(path, size=0):
        seen.append((path, size))
        return "first"

    bus.on("saved")(lambda path, size=0: seen.append(path))
    assert bus.emit("saved", "a.txt", size=3) == ["first", None]
    assert seen == [("a.txt", 3), "a.txt"]
    assert first("b") == "first"
    assert bus.emit("other") == []


@answers("timed", right='''
import functools
def timed(clock):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            start = clock()
            try:
                return function(*args, **kwargs)
            finally:
                wrapper.seconds = clock() - start
        return wrapper
    return decorate
''', wrong='''
def timed(clock):
    def decorate(function):
        def wrapper(*args, **kwargs):
            start = clock()
            result = function(*args, **kwargs)
            wrapper.seconds = clock() - start
            return result
        return wrapper
    return decorate
''')
def test_decorator_keeps_name_and_errors(candidate):
    ticks = iter([1.0, 3.5, 4.0, 4.5])

    @candidate(lambda: next(ticks))
    def divide(a, b):
        """Divide."""
        return a / b

    assert divide(6, 3) == 2
    assert divide.seconds == 2.5
    assert divide.__name__ == "divide" and divide.__doc__ == "Divide."
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert divide.seconds == 0.5


@answers("transaction", right='''
import contextlib
@contextlib.contextmanager
def transaction(db):
    before = dict(db)
    try:
        yield db
    except BaseException:
        db.clear()
        db.update(before)
        raise
''', wrong='''
import contextlib
@contextlib.contextmanager
def transaction(db):
    try:
        yield db
    except Exception:
        pass
''')
def test_context_manager_rolls_back(candidate):
    db = {"a": 1}
    with candidate(db) as open_db:
        open_db["b"] = 2
    assert open_db == {"a": 1, "b": 2}
    with pytest.raises(KeyError), candidate({"a": 1}) as open_db:
        raise KeyError("x")


@answers("fetch_all", right='''
import asyncio
async def fetch_all(fetch, urls, limit):
    gate = asyncio.Semaphore(limit)
    async def one(url):
        async with gate:
            return await fetch(url)
    return await asyncio.gather(*map(one, urls))
''', wrong='''
async def fetch_all(fetch, urls, limit):
    return [await fetch(url) for url in reversed(urls)]
''')
def test_coroutine_with_a_lent_coroutine(candidate):
    active, most = 0, 0

    async def fetch(url):
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.01)
        active -= 1
        return url.upper()

    assert asyncio.run(candidate(fetch, ["a", "b", "c", "d"], 2)) == ["A", "B", "C", "D"]
    assert most == 2


@answers("ticker", right='''
import asyncio
async def ticker(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
''', wrong='''
async def ticker(n):
    for i in range(1, n):
        yield i
''')
def test_asynchronous_generator(candidate):
    async def main():
        return [i async for i in candidate(3)]

    assert asyncio.run(main()) == [0, 1, 2]


@answers("Pool", right='''
import asyncio
class Pool:
    def __init__(self, size):
        self.free = size
        self.closed = False
    async def __aenter__(self):
        return self
    async def __aexit__(self, *error):
        self.closed = True
    async def take(self):
        if self.free == 0:
            raise asyncio.TimeoutError("none is free")
        self.free -= 1
        return self.free
''', wrong='''
class Pool:
    def __init__(self, size):
        self.free = size
        self.closed = False
    async def __aenter__(self):
        return self
    async def __aexit__(self, *error):
        pass
    async def take(self):
        self.free -= 1
        return self.free
''')
def test_asynchronous_context_manager(candidate):
    async def main():
        async with candidate(1) as pool:
            assert await pool.take() == 0
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(pool.take(), timeout=1)
        return pool

    assert asyncio.run(main()).closed


@answers("Counter", right='''
import threading
class Counter:
    def __init__(self):
        self._lock = threading.Lock()
        self.value = 0
    def add(self, n=1):
        with self._lock:
            self.value += n
        return self.value
''', wrong='''
class Counter:
    def __init__(self):
        self.value = 0
    def add(self, n=1):
        self.value = n
        return self.value
''')
def test_threads_of_the_check(candidate):
    counter = candidate()
    threads = [threading.Thread(target=counter.add, args=(2,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 10
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(counter.add, [1] * 4)) == [11, 12, 13, 14]


@answers("parallel", right='''
from concurrent.futures import ThreadPoolExecutor
def parallel(function, items):
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(function, items))
''', wrong='''
def parallel(function, items):
    return [function(item) for item in items[:-1]]
''')
def test_callback_from_threads_of_the_program(candidate):
    assert candidate(lambda x: x * x, list(range(8))) == [x * x for x in range(8)]


@answers("produce", right='''
def produce(queue, items):
    for item in items:
        queue.put(item)
    queue.put(None)
''', wrong='''
def produce(queue, items):
    for item in items:
        queue.put(item)
''')
def test_queue(candidate):
    waiting = queue.Queue()
    candidate(waiting, "ab")
    assert [waiting.get_nowait() for _ in range(3)] == ["a", "b", None]
    assert waiting.empty()


@answers("top_customers", right='''
def top_customers(db, n):
    rows = db.execute(
        "SELECT name, SUM(total) AS s FROM orders GROUP BY name ORDER BY s DESC, name LIMIT ?", (n,))
    return [tuple(row) for row in rows]
''', wrong='''
def top_customers(db, n):
    return [tuple(r) for r in db.execute("SELECT name, total FROM orders ORDER BY total DESC LIMIT ?", (n,))]
''')
def test_database(candidate):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE orders (name TEXT, total REAL)")
    db.executemany("INSERT INTO orders VALUES (?, ?)", [("a", 1), ("b", 5), ("a", 6), ("c", 2)])
    assert candidate(db, 2) == [("a", 7.0), ("b", 5.0)]


@answers("to_csv", right='''
import csv
def to_csv(rows, stream):
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\\n")
    writer.writeheader()
    writer.writerows(rows)
''', wrong='''
def to_csv(rows, stream):
    stream.write(",".join(rows[0]) + "\\n")
    for row in rows:
        stream.write(",".join(map(str, row.values())) + "\\n")
''')
def test_writes_csv_to_a_stream(candidate):
    stream = io.StringIO()
    candidate([{"name": "a,b", "n": 1}, {"name": "c", "n": 2}], stream)
    assert list(csv.DictReader(io.StringIO(stream.getvalue()))) == [
        {"name": "a,b", "n": "1"},
        {"name": "c", "n": "2"},
    ]


@answers("encode", right='''
import json, datetime, decimal
def encode(value):
    def default(o):
        if isinstance(o, (datetime.date, datetime.datetime)):
            return o.isoformat()
        if isinstance(o, decimal.Decimal):
            return str(o)
        if isinstance(o, set):
            return sorted(o)
        raise TypeError(f"{type(o).__name__} is not supported")
    return json.dumps(value, default=default, sort_keys=True)
''', wrong='''
import json
def encode(value):
    return json.dumps(value, default=str)
''')
def test_json(candidate):
    value = {"b": {2, 1}, "a": datetime.date(2024, 2, 29), "c": decimal.Decimal("1.10")}
    assert json.loads(candidate(value)) == {"a": "2024-02-29", "b": [1, 2], "c": "1.10"}
    with pytest.raises(TypeError, match="not supported"):
        candidate(object)


@answers("build_parser", right='''
import argparse
def build_parser():
    parser = argparse.ArgumentParser(prog="tool")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("files", nargs="+")
    return parser
''', wrong='''
import argparse
def build_parser():
    parser = argparse.ArgumentParser(prog="tool")
    parser.add_argument("--count", default=1)
    parser.add_argument("files", nargs="+")
    return parser
''')
def test_argument_parser(candidate, capsys):
    parser = candidate()
    options = parser.parse_args(["--count", "3", "a", "b"])
    assert (options.count, options.files) == (3, ["a", "b"])
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([])
    assert ended.value.code == 2
    assert "usage: tool" in capsys.readouterr().err


@answers("pack", right='''
import struct, zlib
def pack(kind, body):
    head = struct.pack(">BI", kind, len(body))
    return head + body + struct.pack(">I", zlib.crc32(head + body))
''', wrong='''
import struct, zlib
def pack(kind, body):
    head = struct.pack("<BI", kind, len(body))
    return head + body + struct.pack("<I", zlib.crc32(body))
''')
def test_bytes(candidate):
    packet = candidate(7, b"\x00hello\xff")
    kind, size = struct.unpack_from(">BI", packet)
    assert (kind, size) == (7, 7)
    assert packet[5:-4] == b"\x00hello\xff"
    assert packet.startswith(b"\x07\x00\x00\x00\x07")
    assert len(packet) == 16


@answers("normalise", right='''
import numpy as np
def normalise(matrix):
    matrix = np.asarray(matrix, dtype=float)
    spread = matrix.std(axis=0)
    spread[spread == 0] = 1
    return (matrix - matrix.mean(axis=0)) / spread
''', wrong='''
import numpy as np
def normalise(matrix):
    return (matrix - matrix.mean()) / matrix.std()
''')
def test_arrays(candidate):
    matrix = np.array([[1.0, 5.0], [3.0, 5.0]])
    scaled = candidate(matrix)
    assert isinstance(scaled, np.ndarray) and scaled.shape == (2, 2)
    np.testing.assert_allclose(scaled, [[-1, 0], [1, 0]])
    assert scaled.mean(axis=0) == pytest.approx([0, 0])
    assert not np.isnan(scaled).any()


@answers("moving", right='''
def moving(values, n):
    return [sum(values[i:i + n]) / n for i in range(len(values) - n + 1)]
''', wrong='''
def moving(values, n):
    return [sum(values[i:i + n]) / n for i in range(len(values))]
''')
def test_against_pandas(candidate):
    values = [1.0, 4.0, 2.0, 8.0, 5.0]
    expected = pd.Series(values).rolling(3).mean().dropna()
    pd.testing.assert_series_equal(
        pd.Series(candidate(values, 3)), expected.reset_index(drop=True)
    )


@answers("validate", right='''
def validate(order):
    errors = []
    if order["n"] < 1:
        errors.append(ValueError("n"))
    if not isinstance(order["name"], str):
        errors.append(TypeError("name"))
    if errors:
        raise ExceptionGroup("invalid order", errors)
''', wrong='''
def validate(order):
    if order["n"] < 1:
        raise ValueError("n")
    if not isinstance(order["name"], str):
        raise TypeError("name")
''')
def test_exception_groups(candidate):
    candidate({"n": 1, "name": "x"})
    with pytest.raises(ExceptionGroup, match="invalid order") as caught:
        candidate({"n": 0, "name": 3})
    assert [type(error) for error in caught.value.exceptions] == [ValueError, TypeError]
    assert caught.value.subgroup(TypeError) is not None


@answers("parse_config", right='''
class ConfigError(ValueError):
    def __init__(self, line, message):
        super().__init__(message)
        self.line = line
        self.add_note(f"in line {line}")
def parse_config(text):
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                key, value = line.split("=")
                found[key.strip()] = int(value)
            except ValueError as error:
                raise ConfigError(number, f"bad line: {line}") from error
    return found
''', wrong='''
def parse_config(text):
    return {k: int(v) for k, v in (line.split("=") for line in text.splitlines())}
''')
def test_chained_exceptions(candidate):
    text = textwrap.dedent("""\
        a = 1

        b = x
    """)
    with pytest.raises(ValueError, match="bad line: b = x") as caught:
        candidate(text)
    assert caught.value.line == 3
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.__notes__ == ["in line 3"]
    assert candidate("a=1\nb = 2") == {"a": 1, "b": 2}


@answers("Matrix", right='''
class Matrix:
    def __init__(self, rows):
        self.rows = [list(row) for row in rows]
    def __matmul__(self, other):
        return Matrix([[sum(a * b for a, b in zip(row, col)) for col in zip(*other.rows)]
                       for row in self.rows])
    def __mul__(self, k):
        return Matrix([[k * x for x in row] for row in self.rows])
    __rmul__ = __mul__
    def __getitem__(self, place):
        i, j = place
        return self.rows[i][j]
    def __setitem__(self, place, value):
        i, j = place
        self.rows[i][j] = value
    def __eq__(self, other):
        return isinstance(other, Matrix) and self.rows == other.rows
    @property
    def T(self):
        return Matrix(zip(*self.rows))
''', wrong='''
class Matrix:
    def __init__(self, rows):
        self.rows = rows
    def __matmul__(self, other):
        return self * 1
    def __mul__(self, k):
        return Matrix([[k * x for x in row] for row in self.rows])
    __rmul__ = __mul__
    def __getitem__(self, place):
        return self.rows[place[0]][place[1]]
    def __setitem__(self, place, value):
        self.rows[place[0]][place[1]] = value
    @property
    def T(self):
        return self
''')
def test_operators(candidate):
    matrix = candidate([[1, 2], [3, 4]])
    assert (matrix @ matrix).rows == [[7, 10], [15, 22]]
    assert (2 * matrix)[1, 1] == 8 == (matrix * 2)[1, 1]
    matrix[0, 0] = 9
    assert matrix.rows[0] == [9, 2]
    assert matrix.T.T == matrix != matrix.T


@answers("LRU", right='''
from collections import OrderedDict
class LRU(OrderedDict):
    def __init__(self, size):
        super().__init__()
        self.size = size
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self.size:
            self.popitem(last=False)
    def __getitem__(self, key):
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value
''', wrong='''
class LRU(dict):
    def __init__(self, size):
        self.size = size
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if len(self) > self.size:
            del self[next(iter(self))]
''')
def test_subclass_of_a_dict(candidate):
    cache = candidate(2)
    cache["a"], cache["b"] = 1, 2
    assert cache["a"] == 1
    cache["c"] = 3
    assert list(cache) == ["a", "c"] and "b" not in cache
    assert cache == {"a": 1, "c": 3}
    assert cache.get("b") is None
    with pytest.raises(KeyError):
        cache["b"]


@answers("tree_sum", right='''
def tree_sum(node):
    return 0 if node is None else node.value + tree_sum(node.left) + tree_sum(node.right)
''', wrong='''
def tree_sum(node):
    total = 0
    while node is not None:
        total += node.value
        node = node.left
    return total
''')
def test_objects_of_the_check(candidate):
    @dataclasses.dataclass
    class Node:
        value: int
        left: "Node | None" = None
        right: "Node | None" = None

    assert candidate(Node(1, Node(2), Node(3, right=Node(4)))) == 10
    assert candidate(None) == 0


@answers("visit", right='''
def visit(node, visitor):
    method = getattr(visitor, f"visit_{node['kind']}", visitor.generic)
    return method(node, [visit(child, visitor) for child in node.get("children", ())])
''', wrong='''
def visit(node, visitor):
    return getattr(visitor, f"visit_{node['kind']}")(node, [])
''')
def test_visitor_of_the_check(candidate):
    class Evaluate:
        def visit_add(self, node, children):
            return sum(children)

        def generic(self, node, children):
            return node["value"]

    tree = {"kind": "add", "children": [{"kind": "n", "value": 2}, {"kind": "m", "value": 5}]}
    assert candidate(tree, Evaluate()) == 7


@answers("simulate", right='''
def simulate(bank):
    bank.deposit(10)
    try:
        bank.withdraw(50)
    except ValueError as error:
        return str(error)
''', wrong='''
def simulate(bank):
    bank.deposit(10)
    bank.balance = 60
    bank.withdraw(50)
''')
def test_an_object_with_rules(candidate):
    class Bank:
        def __init__(self):
            self.balance = 0

        def deposit(self, amount):
            self.balance += amount

        def withdraw(self, amount):
            if amount > self.balance:
                raise ValueError("too much")
            self.balance -= amount

    bank = Bank()
    assert candidate(bank) == "too much"
    assert bank.balance == 10


@answers("sort_people", right='''
def sort_people(people):
    return sorted(people, key=lambda p: (-p.age, p.name))
''', wrong='''
def sort_people(people):
    return sorted(people, key=lambda p: p.age)
''')
def test_sorted_objects_keep_their_identity(candidate):
    Person = typing.NamedTuple("Person", [("name", str), ("age", int)])
    people = [Person("b", 30), Person("a", 30), Person("c", 40)]
    assert [p.name for p in candidate(people)] == ["c", "a", "b"]
    assert candidate(people) == [people[2], people[1], people[0]]


@answers("area", right='''
import functools
@functools.singledispatch
def area(shape):
    raise NotImplementedError(type(shape).__name__)
@area.register
def _(side: int):
    return side * side
@area.register
def _(sides: tuple):
    return sides[0] * sides[1]
''', wrong='''
def area(shape):
    return shape * shape
''')
def test_single_dispatch(candidate):
    assert candidate(3) == 9
    assert candidate((2, 4)) == 8
    with pytest.raises(NotImplementedError, match="str"):
        candidate("x")


@answers("Temperature", right='''
class Celsius:
    def __get__(self, obj, owner):
        return self if obj is None else obj._c
    def __set__(self, obj, value):
        if value < -273.15:
            raise ValueError("below absolute zero")
        obj._c = value
class Temperature:
    celsius = Celsius()
    def __init__(self, celsius):
        self.celsius = celsius
    @property
    def fahrenheit(self):
        return self.celsius * 9 / 5 + 32
    @fahrenheit.setter
    def fahrenheit(self, value):
        self.celsius = (value - 32) * 5 / 9
''', wrong='''
class Temperature:
    def __init__(self, celsius):
        self.celsius = celsius
    @property
    def fahrenheit(self):
        return self.celsius * 9 / 5 + 32
    @fahrenheit.setter
    def fahrenheit(self, value):
        self.celsius = value - 32
''')
def test_descriptors(candidate):
    warm = candidate(100)
    assert warm.fahrenheit == 212
    warm.fahrenheit = 32
    assert warm.celsius == pytest.approx(0)
    with pytest.raises(ValueError, match="absolute zero"):
        warm.celsius = -300


class Rejected(Exception):
    pass


@answers("reject", right='''
def reject(base, name):
    class Empty(base):
        pass
    if not name:
        raise Empty("no name")
    return name
''', wrong='''
def reject(base, name):
    return name
''')
def test_derives_from_an_exception_of_the_check(candidate):
    assert candidate(Rejected, "a") == "a"
    with pytest.raises(Rejected, match="no name"):
        candidate(Rejected, "")


@answers("run_length", right='''
import itertools
def run_length(text):
    return [(c, len(list(group))) for c, group in itertools.groupby(text)]
''', wrong='''
def run_length(text):
    return [(c, text.count(c)) for c in dict.fromkeys(text)]
''')
@pytest.mark.parametrize("text", ["aab", "abab", "", "zzzz"])
def test_property_written_by_hand(candidate, text):
    pairs = candidate(text)
    assert "".join(c * n for c, n in pairs) == text
    assert all(n > 0 for _, n in pairs)
    assert all(a != b for (a, _), (b, _) in zip(pairs, pairs[1:], strict=False))


@answers("is_prime", right='''
def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))
''', wrong='''
def is_prime(n):
    return n > 1 and n % 2 == 1
''')
def test_predicate_in_a_filter(candidate):
    assert list(filter(candidate, range(20))) == [2, 3, 5, 7, 11, 13, 17, 19]
    assert not any(map(candidate, [0, 1, 4, 9, 15]))
    assert sum(candidate(n) for n in range(100)) == 25
    assert sorted(range(6), key=candidate) == [0, 1, 4, 2, 3, 5]


@pytest.fixture
def bank(candidate):
    yield candidate


@answers("greet", right="def greet(name='you'): return f'Hi {name}'", wrong="def greet(name='you'): return 'Hi you'")
def test_a_fixture_that_hands_on_the_program(bank):
    assert bank("Al") == "Hi Al"
    assert bank() == "Hi you"
    assert bank(name="Bo") == "Hi Bo"


@pytest.fixture
def greeting(candidate):
    return functools.partial(candidate, greeting="Hello")


@answers("greet", right="def greet(name, greeting): return f'{greeting} {name}'", wrong="def greet(name, greeting): return f'Hi {name}'")
def test_a_fixture_that_binds_an_argument(greeting):
    assert greeting("Al") == "Hello Al"


@pytest.mark.filterwarnings("error::DeprecationWarning")
@pytest.mark.usefixtures("tmp_path")
@answers("old", right='''
import warnings
def old(x):
    warnings.warn("use new", DeprecationWarning, stacklevel=2)
    return x + 1
''', wrong="def old(x): return x + 1")
def test_warning_category_and_text(candidate):
    with pytest.warns(DeprecationWarning, match="use new"):
        assert candidate(1) == 2


@answers("shuffle", right='''
import random
def shuffle(items, rng=None):
    items = list(items)
    (rng or random).shuffle(items)
    return items
''', wrong='''
import random
def shuffle(items, rng=None):
    return random.sample(items, len(items) - 1)
''')
def test_statistics_of_a_random_answer(candidate):
    items = list(range(10))
    results = {tuple(candidate(items)) for _ in range(20)}
    assert len(results) > 1
    assert all(sorted(result) == items for result in results)


@answers("Money", right='''
from functools import total_ordering
@total_ordering
class Money:
    def __init__(self, amount, currency="EUR"):
        self.amount, self.currency = amount, currency
    def _check(self, other):
        if self.currency != other.currency:
            raise ValueError("different currencies")
    def __eq__(self, other):
        return (self.amount, self.currency) == (other.amount, other.currency)
    def __lt__(self, other):
        self._check(other)
        return self.amount < other.amount
    def __hash__(self):
        return hash((self.amount, self.currency))
    def __add__(self, other):
        if other == 0:
            return self
        self._check(other)
        return Money(self.amount + other.amount, self.currency)
    __radd__ = __add__
    def __format__(self, spec):
        return f"{self.amount:{spec or '.2f'}} {self.currency}"
'''.replace("if other == 0:", "if isinstance(other, int):"), wrong='''
class Money:
    def __init__(self, amount, currency="EUR"):
        self.amount, self.currency = amount, currency
    def __eq__(self, other):
        return self.amount == other.amount
    def __lt__(self, other):
        return self.amount < other.amount
    def __hash__(self):
        return hash(self.amount)
    def __add__(self, other):
        return self
    __radd__ = __add__
    def __format__(self, spec):
        return f"{self.amount} {self.currency}"
''')
def test_sum_order_and_format(candidate):
    one, two = candidate(1), candidate(2.5)
    assert sum([one, two]).amount == 3.5
    assert max(two, one) is two and one <= two
    assert len({one, candidate(1), two}) == 2
    assert f"{two}" == "2.50 EUR" and format(two, ".0f") == "2 EUR"
    with pytest.raises(ValueError, match="different"):
        one < candidate(1, "USD")


@answers(
    "add",
    right='def add(db, name): db.execute("insert into users (name) values (?)", (name,))',
    wrong='def add(db, name): db.execute("insert into users (name) values (?)", (name.lower(),))',
)
def test_a_row_of_an_open_transaction(candidate):
    db = sqlite3.connect(":memory:")
    db.execute("create table users (name text)")
    db.execute("insert into users values ('Zoe')")
    candidate(db, "Ada")
    assert db.execute("select name from users").fetchall() == [("Zoe",), ("Ada",)]
    candidate(db, "Bob")
    assert db.execute("select count(*) from users").fetchone() == (3,)


@answers(
    "parse",
    right="from types import SimpleNamespace\n"
    "def parse(x): return SimpleNamespace(a=x, b=[SimpleNamespace(c=x)])",
    wrong="from types import SimpleNamespace\ndef parse(x): return SimpleNamespace(a=x, b=[])",
)
def test_namespaces_are_equal_by_their_attributes(candidate):
    expected = types.SimpleNamespace(a=3, b=[types.SimpleNamespace(c=3)])
    assert candidate(3) == expected
    assert expected == candidate(3)
    assert candidate(4) != expected


@answers(
    "Route",
    right="from pathlib import Path\nclass Route(type(Path())):\n"
    "    def shout(self): return str(self).upper()",
    wrong="from pathlib import Path\nclass Route(type(Path())):\n"
    "    def shout(self): return str(self)",
)
def test_a_subclass_of_path(candidate):
    route = candidate("a/b.txt")
    assert route.name == "b.txt"
    assert route.shout() == "A/B.TXT"


@dataclasses.dataclass
class Sample:
    x: int
    tags: list = dataclasses.field(default_factory=list)

    def total(self):
        return self.x + len(self.tags)


@answers(
    "f",
    right="import copy\ndef f(ps):\n    ps = copy.deepcopy(ps); ps[0].x = 9; ps[0].tags.append(1)\n"
    "    return [p.total() for p in ps]",
    wrong="def f(ps):\n    ps[0].x = 9; ps[0].tags.append(1)\n    return [p.total() for p in ps]",
)
def test_a_deep_copy_of_the_checks_objects_leaves_them_as_they_are(candidate):
    samples = [Sample(1), Sample(2)]
    assert candidate(samples) == [10, 2]
    assert samples == [Sample(1), Sample(2)]


@answers(
    "f",
    right="import copy\ndef f(p):\n    q = copy.copy(p); q.x = 5\n    return q",
    wrong="def f(p):\n    p.x = 5\n    return p",
)
def test_a_copy_of_the_checks_object_is_of_its_class_and_shares_its_content(candidate):
    sample = Sample(1)
    copied = candidate(sample)
    assert (sample, copied) == (Sample(1), Sample(5))
    assert copied.tags is sample.tags


@answers(
    "f",
    right="import json\ndef f(p):\n    vars(p)['tags'].append(3)\n"
    "    return json.dumps(p.__dict__), [name for name in dir(p) if name[0] != '_']",
    wrong="def f(p): return '{}', []",
)
def test_the_names_of_the_checks_object_can_be_listed(candidate):
    sample = Sample(1)
    assert candidate(sample) == ('{"x": 1, "tags": [3]}', ["tags", "total", "x"])
    assert sample.tags == [3]


@answers(
    "add",
    right='def add(db, n): db.execute("insert into c values (?)", (n,))',
    wrong='def add(db, n): db.execute("pragma foreign_keys = off"); db.execute("insert into c values (9)")',
)
def test_a_database_keeps_its_foreign_keys(candidate):
    db = sqlite3.connect(":memory:")
    db.execute("pragma foreign_keys = on")
    db.executescript("create table p(id integer primary key); create table c(p references p(id))")
    with pytest.raises(sqlite3.IntegrityError):
        candidate(db, 9)


@answers("close", right="def close(db): db.close()", wrong="def close(db): db.commit()")
def test_a_database_that_the_program_closes(candidate):
    db = sqlite3.connect(":memory:")
    candidate(db)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        db.execute("select 1")


class Response:
    def __init__(self, log):
        self.log = log

    async def __aenter__(self):
        await asyncio.sleep(0)
        self.log.append("open")
        return self

    async def __aexit__(self, kind, error, trace):
        self.log.append(kind)
        return kind is KeyError

    async def lines(self):
        for line in ("a", "b"):
            await asyncio.sleep(0)
            yield line


READS = """
import asyncio
async def read(response):
    async with response as opened:
        found = [line async for line in opened.lines()]
        async for line in opened.lines():
            found.append(line)
        raise KeyError(1)
    return found
def f(response): return asyncio.run(read(response))
"""


@answers("f", right=READS, wrong=READS.replace("found.append(line)", "break"))
def test_the_checks_objects_in_async_with_and_async_for(candidate):
    log = []
    assert candidate(Response(log)) == ["a", "b", "a", "b"]
    assert log == ["open", KeyError]


@contextlib.asynccontextmanager
async def connected(log):
    log.append("in")
    yield [1, 2]
    log.append("out")


@answers(
    "f",
    right="async def f(opened):\n    async with opened as items:\n        return sum(items)",
    wrong="async def f(opened): return 3",
)
def test_the_checks_asynccontextmanager_in_async_with(candidate):
    log = []
    assert asyncio.run(candidate(connected(log))) == 3
    assert log == ["in", "out"]


class Shade(enum.Enum):
    DARK = 1

    def title_of(self, end):
        return self.name.title() + end

    @property
    def next(self):
        return self.value + 1


class Place(typing.NamedTuple):
    x: int
    y: int

    def moved(self, dx):
        return Place(self.x + dx, self.y)


class Slug(str):
    def words(self):
        return self.split("-")


@answers(
    "f",
    right="def f(s, p, t): return s.title_of('!'), s.next, p.moved(2), t.words(), hasattr(s, 'no')",
    wrong="def f(s, p, t): return 'Dark', 2, p, t, False",
)
def test_the_methods_of_copied_values_of_the_check(candidate):
    expected = ("Dark!", 2, Place(3, 2), ["a", "b"], False)
    assert candidate(Shade.DARK, Place(1, 2), Slug("a-b")) == expected
