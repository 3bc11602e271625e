"""Habits of test suites: one check each, in the way that people write it."""

import asyncio
import contextlib
import copy
import datetime
import enum
import fnmatch
import functools
import inspect
import io
import itertools
import json
import logging
import math
import operator
import os
import random
import re
import stat
import string
import sys
import textwrap
import time
import types
from collections import Counter, ChainMap, namedtuple
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from unittest import mock

import hypothesis
import numpy
import pytest
from hypothesis import strategies as st
from scripted_answers import answers


@answers("area", right="import math\ndef area(r): return math.pi * r * r", wrong="def area(r): return 3.1 * r * r")
def test_approx_with_tolerances(candidate):
    assert candidate(2) == pytest.approx(12.566, rel=1e-3)
    assert candidate(0) == pytest.approx(0, abs=1e-12)
    assert [candidate(1), candidate(2)] == pytest.approx([math.pi, 4 * math.pi])
    assert {"r": candidate(1)} == pytest.approx({"r": math.pi})


class TestParseAge:
    limits = (0, 150)

    def setup_method(self):
        self.low, self.high = self.limits

    @answers(
        "parse_age",
        right="def parse_age(text):\n    age = int(text)\n    if not 0 <= age <= 150: raise ValueError(f'age out of range: {age}')\n    return age",
        wrong="def parse_age(text):\n    age = int(text)\n    if age < 0: raise ValueError('negative')\n    return age",
    )
    @pytest.mark.parametrize("offset", [1, 10])
    def test_raises_with_match_in_a_class(self, candidate, offset):
        with pytest.raises(ValueError, match=rf"out of range: {self.high + offset}$") as info:
            candidate(str(self.high + offset))
        assert info.type is ValueError
        assert info.value.args[0].endswith(str(self.high + offset))
        assert candidate(str(self.high)) == self.high


@answers("touch_order", right="import os\ndef touch_order(folder): return sorted(os.listdir(folder), key=lambda n: os.path.getmtime(os.path.join(folder, n)))", wrong="import os\ndef touch_order(folder): return sorted(os.listdir(folder))")
def test_files_by_their_time(candidate, tmp_path):
    for name, moment in (("a", 300), ("b", 100), ("c", 200)):
        path = tmp_path / name
        path.write_text(name)
        os.utime(path, (moment, moment))
    assert candidate(str(tmp_path)) == ["b", "c", "a"]


@answers("old_files", right="import time\ndef old_files(folder, days): return sorted(p.name for p in folder.iterdir() if time.time() - p.stat().st_mtime > days * 86400)", wrong="def old_files(folder, days): return sorted(p.name for p in folder.iterdir())")
def test_files_that_are_old(candidate, tmp_path):
    (tmp_path / "new").write_text("")
    (tmp_path / "old").write_text("")
    past = time.time() - 10 * 86400
    os.utime(tmp_path / "old", (past, past))
    assert candidate(tmp_path, 7) == ["old"]


@answers("make_script", right="def make_script(path, text):\n    path.write_text('#!/bin/sh\\n' + text)\n    path.chmod(0o755)", wrong="def make_script(path, text):\n    path.write_text('#!/bin/sh\\n' + text)")
def test_a_script_is_executable(candidate, tmp_path):
    path = tmp_path / "run.sh"
    candidate(path, "echo hi\n")
    assert path.read_text().startswith("#!/bin/sh")
    assert os.access(path, os.X_OK)
    assert path.stat().st_mode & stat.S_IXUSR


@answers("executables", right="import os\ndef executables(folder): return sorted(e.name for e in os.scandir(folder) if os.access(e.path, os.X_OK) and e.is_file())", wrong="import os\ndef executables(folder): return sorted(os.listdir(folder))")
def test_finds_executables(candidate, tmp_path):
    (tmp_path / "data").write_text("")
    (tmp_path / "tool").write_text("")
    (tmp_path / "tool").chmod(0o755)
    (tmp_path / "data").chmod(0o644)
    assert candidate(tmp_path) == ["tool"]


@answers("newest", right="import os\ndef newest(folder): return max(folder.rglob('*.log'), key=lambda p: p.stat().st_mtime).name", wrong="def newest(folder): return min(p.name for p in folder.rglob('*.log'))")
def test_the_newest_of_a_tree(candidate, tmp_path):
    (tmp_path / "in").mkdir()
    for number, name in enumerate(["a.log", "in/b.log", "c.log"]):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (1000 - number, 1000 + (number == 1)))
    assert candidate(tmp_path) == "b.log"


@answers("progress", right="def progress(items, report):\n    for n, item in enumerate(items, 1):\n        print('é' * 3001)\n        report(n)", wrong="def progress(items, report):\n    for n, item in enumerate(items, 1): report(n)")
def test_much_output_between_callbacks(candidate, capsys):
    seen = []
    candidate(range(9), seen.append)
    out = capsys.readouterr().out
    assert out == ("é" * 3001 + "\n") * 9
    assert seen == list(range(1, 10))


@answers("announce", right="def announce(names):\n    for name in names: print(f'Hello, {name}!')", wrong="def announce(names):\n    for name in names: print(f'Hello {name}')")
@pytest.mark.parametrize("names", [["Ada"], ["Ada", "Alan"], []])
def test_output_in_lines(candidate, capsys, names):
    assert candidate(names) is None
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [f"Hello, {name}!" for name in names]
    assert captured.err == ""


@answers("audit", right="import logging\ndef audit(user, ok):\n    log = logging.getLogger('audit.' + user)\n    log.log(logging.INFO if ok else logging.WARNING, 'login %s', 'ok' if ok else 'failed')", wrong="import logging\ndef audit(user, ok):\n    logging.getLogger('audit').info('login')")
def test_log_of_a_named_logger(candidate, caplog):
    with caplog.at_level(logging.INFO, logger="audit"):
        candidate("ada", True)
        candidate("bob", False)
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("audit.ada", "INFO", "login ok"),
        ("audit.bob", "WARNING", "login failed"),
    ]
    assert "login failed" in caplog.text


@answers("home_config", right="import os, pathlib\ndef home_config(name): return str(pathlib.Path(os.environ['XDG_CONFIG_HOME']) / name / 'config.toml')", wrong="def home_config(name): return name")
def test_an_environment_variable(candidate, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/cfg")
    assert candidate("app") == "/cfg/app/config.toml"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    with pytest.raises(KeyError):
        candidate("app")


class FakeClock:
    def __init__(self, now=0.0):
        self.now = now

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@answers(
    "RateLimiter",
    right="class RateLimiter:\n    def __init__(self, clock, per): self.clock, self.per, self.last = clock, per, None\n    def allow(self):\n        now = self.clock.time()\n        if self.last is not None and now - self.last < self.per: return False\n        self.last = now; return True",
    wrong="class RateLimiter:\n    def __init__(self, clock, per): pass\n    def allow(self): return True",
)
def test_a_fake_clock_of_the_check(candidate):
    clock = FakeClock()
    limiter = candidate(clock, 10)
    assert limiter.allow()
    assert not limiter.allow()
    clock.sleep(10)
    assert limiter.allow() is True


@answers("stamp", right="import datetime\ndef stamp(): return datetime.datetime.now(datetime.timezone.utc).isoformat()", wrong="def stamp(): return '2024'")
def test_a_time_that_is_now(candidate):
    before = datetime.datetime.now(datetime.timezone.utc)
    got = datetime.datetime.fromisoformat(candidate())
    after = datetime.datetime.now(datetime.timezone.utc)
    assert before <= got <= after
    assert got.utcoffset() == datetime.timedelta(0)


@answers("elapsed", right="import time\ndef elapsed(work):\n    start = time.perf_counter(); work(); return time.perf_counter() - start", wrong="def elapsed(work): return 0")
def test_measures_a_callback(candidate):
    assert 0.04 < candidate(lambda: time.sleep(0.05)) < 5


@dataclass(order=True)
class Item:
    price: Decimal
    name: str = field(compare=False)
    tags: list = field(default_factory=list, compare=False)


@answers("cheapest", right="def cheapest(items): return min(items, key=lambda i: i.price)", wrong="def cheapest(items): return items[0]")
def test_an_object_of_the_check_comes_back(candidate):
    items = [Item(Decimal("2.50"), "tea"), Item(Decimal("1.20"), "milk", ["cold"])]
    assert candidate(items) is items[1]
    assert candidate(items).tags == ["cold"]


@answers(
    "Point",
    right="from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Point:\n    x: int = 0\n    y: int = 0\n    def __add__(self, o): return Point(self.x + o.x, self.y + o.y)",
    wrong="from dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int = 0\n    y: int = 0\n    def __add__(self, o): return self",
)
def test_a_frozen_dataclass_of_the_program(candidate):
    from dataclasses import FrozenInstanceError, asdict, astuple, fields, replace

    p = candidate(1, 2)
    assert asdict(p) == {"x": 1, "y": 2} and astuple(p) == (1, 2)
    assert [f.name for f in fields(p)] == ["x", "y"]
    assert replace(p, x=5) == candidate(5, 2)
    assert p + candidate(y=3) == candidate(1, 5)
    assert repr(p) == "Point(x=1, y=2)"
    assert len({p, candidate(1, 2)}) == 1
    with pytest.raises(FrozenInstanceError):
        p.x = 9


class Color(enum.Enum):
    RED = "r"
    GREEN = "g"


@answers("parse", right="def parse(text, kinds): return [kinds(c) for c in text]", wrong="def parse(text, kinds): return [kinds.RED for c in text]")
def test_an_enum_of_the_check(candidate):
    assert candidate("rg", Color) == [Color.RED, Color.GREEN]
    with pytest.raises(ValueError, match="'x' is not a valid"):
        candidate("x", Color)


@answers("split", right="from decimal import *\ndef split(total, n):\n    share = (total / n).quantize(Decimal('0.01'), ROUND_DOWN)\n    rest = total - share * n\n    return [share + (Decimal('0.01') if i < rest * 100 else 0) for i in range(n)]", wrong="def split(total, n): return [total / n] * n")
@pytest.mark.parametrize("total", ["10.00", "0.05", "99.99"])
def test_decimals_in_cents(candidate, total):
    parts = candidate(Decimal(total), 3)
    assert sum(parts) == Decimal(total)
    assert max(parts) - min(parts) <= Decimal("0.01")
    assert all(part.as_tuple().exponent == -2 for part in parts)


@answers("fmt", right="def fmt(d): return f'{d.total_seconds() // 3600:02.0f}:{d.seconds // 60 % 60:02d}'", wrong="def fmt(d): return str(d)")
def test_time_deltas(candidate):
    assert candidate(datetime.timedelta(hours=1, minutes=5)) == "01:05"
    assert candidate(datetime.timedelta(days=1)) == "24:00"


@answers("same_stem", right="def same_stem(paths):\n    groups = {}\n    for p in paths: groups.setdefault(p.stem, []).append(p)\n    return groups", wrong="def same_stem(paths): return {p.stem: [p] for p in paths}")
def test_paths_in_groups(candidate):
    paths = [Path("a/x.c"), Path("b/x.h"), Path("y.c")]
    assert candidate(paths) == {"x": paths[:2], "y": [Path("y.c")]}


@answers("windows", right="import itertools\ndef windows(it, n):\n    it = iter(it)\n    w = list(itertools.islice(it, n))\n    while len(w) == n:\n        yield tuple(w)\n        w = w[1:] + list(itertools.islice(it, 1))", wrong="import itertools\ndef windows(it, n): yield tuple(itertools.islice(it, n))")
def test_a_lazy_generator_over_a_lazy_generator(candidate):
    drawn = []

    def source():
        for n in itertools.count():
            drawn.append(n)
            yield n

    windows = candidate(source(), 3)
    assert next(windows) == (0, 1, 2)
    assert len(drawn) <= 4
    assert [*itertools.islice(windows, 2)] == [(1, 2, 3), (2, 3, 4)]
    assert inspect.isgenerator(windows) or hasattr(windows, "__next__")


@answers("timer", right="import contextlib, time\n@contextlib.contextmanager\ndef timer(log):\n    start = time.perf_counter()\n    try: yield\n    finally: log(time.perf_counter() - start)", wrong="import contextlib\n@contextlib.contextmanager\ndef timer(log):\n    yield\n    log(1)")
def test_a_context_manager_that_always_logs(candidate):
    log = []
    with candidate(log.append):
        pass
    with pytest.raises(ZeroDivisionError), candidate(log.append):
        1 / 0  # noqa: B018
    assert len(log) == 2
    assert all(0 <= seconds < 1 for seconds in log)


@answers("ignoring", right="import contextlib\n@contextlib.contextmanager\ndef ignoring(*kinds):\n    try: yield\n    except kinds: pass", wrong="import contextlib\n@contextlib.contextmanager\ndef ignoring(*kinds):\n    yield")
def test_a_context_manager_that_suppresses(candidate):
    with candidate(ValueError, ZeroDivisionError):
        int("x")
    with candidate(ZeroDivisionError):
        1 / 0  # noqa: B018
    with candidate(FileNotFoundError):
        open("/nonexistent")
    with pytest.raises(KeyError), candidate(ValueError):
        {}["a"]


@answers("gather_all", right="import asyncio\nasync def gather_all(jobs, limit):\n    gate = asyncio.Semaphore(limit)\n    async def run(job):\n        async with gate: return await job()\n    return await asyncio.gather(*(run(j) for j in jobs))", wrong="async def gather_all(jobs, limit): return [await j() for j in jobs[:limit]]")
def test_coroutines_with_a_limit(candidate):
    active, most = 0, 0

    async def job():
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.01)
        active -= 1
        return most

    results = asyncio.run(candidate([job] * 6, 2))
    assert len(results) == 6
    assert most == 2


@answers("ticks", right="import asyncio\nasync def ticks(n):\n    for i in range(n):\n        await asyncio.sleep(0)\n        yield i", wrong="async def ticks(n):\n    yield n")
def test_an_asynchronous_comprehension(candidate):
    async def main():
        return [i async for i in candidate(3)], await anext(candidate(2))

    assert asyncio.run(main()) == ([0, 1, 2], 0)


@answers("ticks", right="async def ticks(n):\n    for i in range(n):\n        got = yield i\n        if got: yield got", wrong="async def ticks(n):\n    yield 5")
def test_an_asynchronous_generator_by_hand(candidate):
    async def main():
        steps = candidate(1)
        assert await steps.asend(None) == 0
        assert await steps.asend("x") == "x"
        with pytest.raises(StopAsyncIteration):
            await steps.asend(None)
        steps = candidate(3)
        assert await anext(steps) == 0
        await steps.aclose()
        return [i async for i in steps]

    assert asyncio.run(main()) == []


@answers("normalize", right="import numpy as np\ndef normalize(a): return (a - a.mean(axis=0)) / a.std(axis=0)", wrong="def normalize(a): return a - a.mean(axis=0)")
def test_arrays_of_numpy(candidate):
    data = numpy.arange(12, dtype=float).reshape(4, 3)
    result = candidate(data)
    assert result.shape == (4, 3) and result.dtype == float
    numpy.testing.assert_allclose(result.mean(axis=0), 0, atol=1e-12)
    numpy.testing.assert_allclose(result.std(axis=0), 1)
    assert data[0, 0] == 0


class Mailer:
    def send(self, to, subject, *, urgent=False):
        raise NotImplementedError


@answers("notify", right="def notify(mailer, users):\n    for u in users: mailer.send(u, 'Hi', urgent=u == 'root')\n    return len(users)", wrong="def notify(mailer, users):\n    for u in users: mailer.send(u, 'Hi')\n    return len(users)")
def test_a_mock_with_autospec(candidate):
    mailer = mock.create_autospec(Mailer, instance=True)
    assert candidate(mailer, ["root", "ada"]) == 2
    assert mailer.send.call_args_list == [
        mock.call("root", "Hi", urgent=True),
        mock.call("ada", "Hi", urgent=False),
    ]
    mailer.send.assert_called_with("ada", "Hi", urgent=mock.ANY)


@answers("fetch", right="def fetch(client, tries):\n    for _ in range(tries - 1):\n        try: return client.get('/')\n        except ConnectionError: pass\n    return client.get('/')", wrong="def fetch(client, tries): return client.get('/')")
def test_a_mock_that_fails_at_first(candidate):
    client = mock.Mock()
    client.get.side_effect = [ConnectionError, ConnectionError, "ok"]
    assert candidate(client, 3) == "ok"
    assert client.get.call_count == 3
    client.get.side_effect = ConnectionError("down")
    with pytest.raises(ConnectionError, match="down"):
        candidate(client, 2)


@answers("run_lengths", right="import itertools\ndef run_lengths(s): return [(k, len(list(g))) for k, g in itertools.groupby(s)]", wrong="def run_lengths(s): return [(c, s.count(c)) for c in dict.fromkeys(s)]")
@hypothesis.given(st.text(alphabet="ab", max_size=30))
@hypothesis.settings(max_examples=40, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
def test_a_property_of_texts(candidate, text):
    runs = candidate(text)
    assert "".join(char * count for char, count in runs) == text
    assert all(a[0] != b[0] for a, b in itertools.pairwise(runs))


@answers("merge", right="def merge(a, b): return sorted([*a, *b])", wrong="def merge(a, b): return sorted({*a, *b})")
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=30, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
def test_a_property_with_drawn_data(candidate, data):
    left = sorted(data.draw(st.lists(st.integers())))
    right = sorted(data.draw(st.lists(st.integers())))
    hypothesis.assume(len(left) + len(right) < 50)
    assert candidate(left, right) == sorted(left + right)


@answers("shuffled", right="import random\ndef shuffled(xs):\n    xs = list(xs); random.shuffle(xs); return xs", wrong="def shuffled(xs): return list(xs)")
def test_shuffles_with_a_seed(candidate):
    cards = list(range(52))
    random.seed(7)
    first = candidate(cards)
    random.seed(7)
    assert candidate(cards) == first
    assert sorted(first) == cards and first != cards
    random.seed(7)
    expected = cards[:]
    random.shuffle(expected)
    assert first == expected


@answers("compose", right="import functools\ndef compose(*fs): return functools.reduce(lambda f, g: lambda x: f(g(x)), fs, lambda x: x)", wrong="def compose(*fs): return fs[0]")
def test_composed_functions(candidate):
    add, double = functools.partial(operator.add, 1), lambda x: 2 * x
    assert candidate(add, double)(5) == 11
    assert candidate(double, add)(5) == 12
    assert candidate()(5) == 5
    assert candidate(functools.partial(max, 3), str.__len__)("ab") == 3


@answers("apply_twice", right="def apply_twice(f, x): return f(f(x))", wrong="def apply_twice(f, x): return f(x)")
def test_a_partial_of_a_function_of_the_check(candidate):
    def scale(factor, value):
        return factor * value

    assert candidate(functools.partial(scale, 3), 2) == 18
    assert candidate(functools.partial(scale, value=5), 1) == 25


@answers("cached", right="import functools\ndef cached(f): return functools.lru_cache(maxsize=None)(f)", wrong="def cached(f): return f")
def test_a_cache_around_a_function_of_the_check(candidate):
    calls = []

    @functools.wraps(len)
    def slow(text):
        calls.append(text)
        return len(text)

    quick = candidate(slow)
    assert [quick("ab"), quick("ab"), quick("abc")] == [2, 2, 3]
    assert calls == ["ab", "abc"]


@answers("fail_fast", right="def fail_fast(groups):\n    raise ExceptionGroup('all', [ValueError('a'), TypeError('b')])", wrong="def fail_fast(groups): raise ValueError('a')")
def test_an_exception_group(candidate):
    with pytest.raises(ExceptionGroup) as info:
        candidate([])
    assert info.group_contains(ValueError, match="a") if hasattr(info, "group_contains") else True
    assert [type(e) for e in info.value.exceptions] == [ValueError, TypeError]
    with pytest.RaisesGroup(ValueError, TypeError):
        candidate([])


@answers("load", right="import json\nclass ConfigError(Exception): pass\ndef load(text):\n    try: return json.loads(text)\n    except json.JSONDecodeError as e: raise ConfigError('bad config') from e", wrong="import json\nclass ConfigError(Exception): pass\ndef load(text): return json.loads(text)")
def test_an_exception_with_a_cause(candidate):
    with pytest.raises(candidate.ConfigError, match="bad config") as info:
        candidate("{")
    assert isinstance(info.value.__cause__, json.JSONDecodeError)
    assert info.value.__cause__.pos == 1
    assert candidate('{"a": 1}') == {"a": 1}


@answers("cli", right="import argparse\ndef cli(argv):\n    p = argparse.ArgumentParser(prog='x'); p.add_argument('--n', type=int, required=True)\n    return p.parse_args(argv).n", wrong="def cli(argv): return 3")
def test_an_exit_of_a_command_line(candidate, capsys):
    assert candidate(["--n", "3"]) == 3
    with pytest.raises(SystemExit) as info:
        candidate(["--n", "x"])
    assert info.value.code == 2
    assert "invalid int value" in capsys.readouterr().err


@answers("main", right="def main(ask, say):\n    name = ask('name? ')\n    say(f'hi {name}')", wrong="def main(ask, say): say('hi')")
def test_questions_and_answers(candidate):
    said = []
    with mock.patch("builtins.input", return_value="Ada"):
        candidate(lambda prompt: "Ada" if prompt == "name? " else "", said.append)
    assert said == ["hi Ada"]


@answers("Ring", right="from collections import deque\nclass Ring:\n    def __init__(self, n): self.d = deque(maxlen=n)\n    def push(self, x): self.d.append(x)\n    def __iter__(self): return iter(self.d)\n    def __len__(self): return len(self.d)\n    def __getitem__(self, i): return self.d[i]\n    def __contains__(self, x): return x in self.d\n    def __repr__(self): return f'Ring({list(self.d)})'", wrong="class Ring(list):\n    def __init__(self, n): pass\n    def push(self, x): self.append(x)")
def test_a_container_of_the_program(candidate):
    ring = candidate(2)
    for n in range(4):
        ring.push(n)
    assert list(ring) == [2, 3] and len(ring) == 2 and ring[-1] == 3
    assert 3 in ring and 0 not in ring
    assert repr(ring) == "Ring([2, 3])"
    first, second = ring
    assert (first, second) == (2, 3)
    with pytest.raises(IndexError):
        ring[5]


@answers("Temp", right="class Temp:\n    def __init__(self, c): self.c = c\n    @property\n    def f(self): return self.c * 9 / 5 + 32\n    @f.setter\n    def f(self, v): self.c = (v - 32) * 5 / 9\n    @classmethod\n    def from_f(cls, v): t = cls(0); t.f = v; return t\n    @staticmethod\n    def freezing(): return 0", wrong="class Temp:\n    def __init__(self, c): self.c = self.f = c\n    @classmethod\n    def from_f(cls, v): return cls(v)\n    @staticmethod\n    def freezing(): return 0")
def test_properties_and_class_methods(candidate):
    t = candidate(100)
    assert t.f == pytest.approx(212)
    t.f = 32
    assert t.c == 0
    assert candidate.from_f(212).c == pytest.approx(100)
    assert candidate.freezing() == 0
    assert isinstance(t, candidate) and type(t) is candidate.from_f(1).__class__


@answers("wrap", right="import textwrap\ndef wrap(s, w): return textwrap.fill(s, w)", wrong="def wrap(s, w): return s[:w]")
def test_a_text_block(candidate):
    got = candidate("the quick brown fox", 10)
    assert got == textwrap.dedent("""\
        the quick
        brown fox""")
    assert all(len(line) <= 10 for line in got.splitlines())


@answers("tally", right="from collections import Counter\ndef tally(words): return Counter(w.lower() for w in words)", wrong="def tally(words): return {}")
def test_a_counter_of_words(candidate):
    got = candidate("A b a C b a".split())
    assert got == Counter(a=3, b=2, c=1)
    assert got.most_common(1) == [("a", 3)]
    assert got["zzz"] == 0


@answers("simplify", right="from fractions import Fraction\ndef simplify(a, b): return Fraction(a, b)", wrong="def simplify(a, b): return round(a / b, 2)")
def test_a_fraction(candidate):
    assert candidate(6, 8) == Fraction(3, 4)
    assert candidate(1, 3) + Fraction(2, 3) == 1
    with pytest.raises(ZeroDivisionError):
        candidate(1, 0)


@answers("is_coroutine", right="async def is_coroutine(): return 1", wrong="def is_coroutine(): return 1")
def test_a_function_that_must_be_a_coroutine(candidate):
    result = candidate()
    assert inspect.isawaitable(result)
    assert asyncio.run(asyncio.wait_for(result, 5)) == 1


@answers("transfer", right="def transfer(a, b, n):\n    if a['balance'] < n: raise ValueError('insufficient funds')\n    a['balance'] -= n; b['balance'] += n", wrong="def transfer(a, b, n):\n    a['balance'] -= n; b['balance'] += n")
def test_nothing_changes_on_failure(candidate):
    a, b = {"balance": 5}, {"balance": 0}
    before = copy.deepcopy((a, b))
    with pytest.raises(ValueError, match="insufficient"):
        candidate(a, b, 10)
    assert (a, b) == before
    candidate(a, b, 5)
    assert (a["balance"], b["balance"]) == (0, 5)


@answers("slug", right="import re\ndef slug(s): return re.sub(r'[^a-z0-9]+', '-', s.lower()).strip('-')", wrong="def slug(s): return s.lower().replace(' ', '-')")
@pytest.mark.parametrize("text", ["Hello, World!", "  a  b  ", "Ünïcode x", ""])
def test_a_slug_by_its_properties(candidate, text):
    got = candidate(text)
    assert re.fullmatch(r"([a-z0-9]+(-[a-z0-9]+)*)?", got), got
    assert candidate(got) == got
    assert set(got) <= set(string.ascii_lowercase + string.digits + "-")


@answers("copy_tree", right="import shutil\ndef copy_tree(a, b): shutil.copytree(a, b, ignore=shutil.ignore_patterns('*.tmp'))", wrong="import shutil\ndef copy_tree(a, b): shutil.copytree(a, b)")
def test_a_tree_is_copied(candidate, tmp_path):
    source = tmp_path / "src"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "er" / "a.txt").write_text("a")
    (source / "b.tmp").write_text("b")
    (source / "empty").mkdir()
    candidate(source, tmp_path / "dst")
    found = sorted(str(p.relative_to(tmp_path / "dst")) for p in (tmp_path / "dst").rglob("*"))
    assert found == ["deep", "deep/er", "deep/er/a.txt", "empty"]


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "1.json").write_text(json.dumps({"n": 1}))
    yield folder
    assert folder.exists()


@answers("drain", right="import json\ndef drain(folder):\n    total = 0\n    for p in sorted(folder.glob('*.json')):\n        total += json.loads(p.read_text())['n']; p.unlink()\n    return total", wrong="import json\ndef drain(folder): return sum(json.loads(p.read_text())['n'] for p in folder.glob('*.json'))")
def test_a_folder_of_a_fixture_is_emptied(candidate, inbox):
    (inbox / "2.json").write_text('{"n": 2}')
    assert candidate(inbox) == 3
    assert list(inbox.iterdir()) == []
