"""Checks of functions: plain asserts, parameters, fixtures, approximations, properties."""

import collections
import copy
import datetime
import decimal
import enum
import fractions
import inspect
import itertools
import math
import random
import re
import string
import typing

import hypothesis
import pytest
from hypothesis import strategies as st
from scripted_answers import answers

PROPERTY = hypothesis.settings(
    derandomize=True,
    max_examples=25,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)


@answers("slugify", right='''
import re
def slugify(title):
    return "-".join(re.findall("[a-z0-9]+", title.lower()))
''', wrong='''
def slugify(title):
    return title.lower().replace(" ", "-")
''')
def test_slugify(candidate):
    assert candidate("Hello World") == "hello-world"
    assert candidate("  A, b & C!  ") == "a-b-c"
    assert candidate("") == ""


@pytest.mark.parametrize(
    ("year", "leap"), [(2000, True), (1900, False), (2024, True), (2023, False)]
)
@answers("is_leap", right='''
def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
''', wrong='''
def is_leap(year):
    return year % 4 == 0
''')
def test_leap_years(candidate, year, leap):
    assert candidate(year) is leap


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("()", True, id="pair"),
        pytest.param("([{}])", True, id="nested"),
        pytest.param("(]", False, id="crossed"),
        pytest.param(")(", False, id="reversed"),
        pytest.param("", True, id="empty"),
    ],
)
@answers("balanced", right='''
def balanced(text):
    pairs = {")": "(", "]": "[", "}": "{"}
    stack = []
    for c in text:
        if c in "([{":
            stack.append(c)
        elif c in pairs and (not stack or stack.pop() != pairs[c]):
            return False
    return not stack
''', wrong='''
def balanced(text):
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))
''')
def test_balanced(candidate, text, expected):
    assert candidate(text) == expected


@pytest.mark.parametrize("base", [2, 8, 16])
@pytest.mark.parametrize("number", [0, 7, 255])
@answers("to_base", right='''
def to_base(n, base):
    digits = "0123456789abcdef"
    if n == 0:
        return "0"
    out = ""
    while n:
        n, r = divmod(n, base)
        out = digits[r] + out
    return out
''', wrong='''
def to_base(n, base):
    out = ""
    while n:
        n, r = divmod(n, base)
        out = str(r) + out
    return out
''')
def test_round_trip_of_bases(candidate, number, base):
    assert int(candidate(number, base), base) == number


@answers("mean", right='''
def mean(xs):
    return sum(xs) / len(xs)
''', wrong='''
def mean(xs):
    return sum(xs) // len(xs)
''')
def test_mean_is_close(candidate):
    assert candidate([0.1, 0.2, 0.3]) == pytest.approx(0.2)
    assert candidate([1, 2]) == pytest.approx(1.5, rel=1e-9)
    assert candidate([1e-9, 3e-9]) == pytest.approx(2e-9, abs=1e-12)


@answers("stats", right='''
def stats(xs):
    m = sum(xs) / len(xs)
    return {"mean": m, "var": sum((x - m) ** 2 for x in xs) / len(xs)}
''', wrong='''
def stats(xs):
    m = sum(xs) / len(xs)
    return {"mean": m, "var": sum((x - m) ** 2 for x in xs) / (len(xs) - 1)}
''')
def test_statistics_of_a_dict(candidate):
    assert candidate([1.0, 2.0, 3.0, 4.0]) == pytest.approx({"mean": 2.5, "var": 1.25})


@pytest.fixture
def words():
    return ["pear", "fig", "apple", "kiwi", "date"]


@answers("sort_words", right='''
def sort_words(words):
    return sorted(words, key=lambda w: (len(w), w))
''', wrong='''
def sort_words(words):
    words.sort(key=len)
    return words
''')
def test_words_are_sorted_by_length_then_name(candidate, words):
    before = list(words)
    assert candidate(words) == ["fig", "date", "kiwi", "pear", "apple"]
    assert words == before, "the argument must not change"


@answers("sort_in_place", right='''
def sort_in_place(xs):
    for i in range(1, len(xs)):
        j = i
        while j and xs[j - 1] > xs[j]:
            xs[j - 1], xs[j] = xs[j], xs[j - 1]
            j -= 1
''', wrong='''
def sort_in_place(xs):
    return sorted(xs)
''')
def test_sorts_in_place(candidate):
    data = [3, 1, 2]
    assert candidate(data) is None
    assert data == [1, 2, 3]


@pytest.fixture(scope="module")
def matrix():
    return [[1, 2, 3], [4, 5, 6]]


@answers("transpose", right='''
def transpose(m):
    return [list(row) for row in zip(*m)]
''', wrong='''
def transpose(m):
    return list(zip(*m))
''')
def test_transpose(candidate, matrix):
    result = candidate(matrix)
    assert result == [[1, 4], [2, 5], [3, 6]]
    assert all(isinstance(row, list) for row in result)
    assert candidate(result) == matrix


@pytest.fixture(scope="session")
def vocabulary():
    return {"one": 1, "two": 2, "three": 3}


@pytest.fixture(params=["upper", "lower", "title"])
def cased(request):
    return getattr("two", request.param)()


@answers("look_up", right='''
def look_up(table, word):
    return table.get(word.lower(), 0)
''', wrong='''
def look_up(table, word):
    return table.get(word, 0)
''')
def test_look_up_ignores_case(candidate, vocabulary, cased):
    assert candidate(vocabulary, cased) == 2
    assert candidate(vocabulary, "ten") == 0


@answers("fib", right='''
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
''', wrong='''
def fib():
    a, b = 1, 1
    while True:
        yield a
        a, b = b, a + b
''')
def test_endless_generator(candidate):
    assert list(itertools.islice(candidate(), 10)) == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    numbers = candidate()
    assert next(numbers) == 0
    assert inspect.isgenerator(numbers) or hasattr(numbers, "__next__")


@answers("chunks", right='''
def chunks(items, n):
    chunk = []
    for item in items:
        chunk.append(item)
        if len(chunk) == n:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
''', wrong='''
def chunks(items, n):
    chunk = []
    for item in items:
        chunk.append(item)
        if len(chunk) == n:
            yield chunk
            chunk.clear()
    yield chunk
''')
def test_chunks_of_an_iterator(candidate):
    source = iter(range(7))
    assert list(candidate(source, 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(candidate([], 3)) == []


@answers("running_average", right='''
def running_average():
    total, n, mean = 0, 0, None
    while True:
        total += yield mean
        n += 1
        mean = total / n
''', wrong='''
def running_average():
    mean = None
    while True:
        x = yield mean
        mean = x if mean is None else (mean + x) / 2
''')
def test_coroutine_style_generator(candidate):
    g = candidate()
    next(g)
    assert g.send(2) == 2
    assert g.send(4) == 3
    assert g.send(9) == 5
    g.close()
    with pytest.raises(StopIteration):
        next(g)


@answers("parse_duration", right='''
import re
from datetime import timedelta
def parse_duration(text):
    if not re.fullmatch(r"(\\d+h)?(\\d+m)?(\\d+s)?", text) or not text:
        raise ValueError(f"invalid duration: {text!r}")
    unit = {"h": "hours", "m": "minutes", "s": "seconds"}
    return timedelta(**{unit[u]: int(n) for n, u in re.findall(r"(\\d+)([hms])", text)})
''', wrong='''
import re
from datetime import timedelta
def parse_duration(text):
    unit = {"h": "hours", "m": "minutes", "s": "seconds"}
    return timedelta(**{unit[u]: int(n) for n, u in re.findall(r"(\\d+)([hms])", text)})
''')
def test_durations(candidate):
    assert candidate("1h30m") == datetime.timedelta(minutes=90)
    assert candidate("45s").total_seconds() == 45
    with pytest.raises(ValueError, match=r"invalid duration: '5x'"):
        candidate("5x")


@answers("split_bill", right='''
from decimal import Decimal, ROUND_HALF_UP
def split_bill(total, n):
    share = (total / n).quantize(Decimal("0.01"), ROUND_HALF_UP)
    shares = [share] * (n - 1)
    return shares + [total - sum(shares)]
''', wrong='''
from decimal import Decimal
def split_bill(total, n):
    return [round(total / n, 2)] * n
''')
def test_money_is_exact(candidate):
    shares = candidate(decimal.Decimal("10.00"), 3)
    assert all(isinstance(s, decimal.Decimal) for s in shares)
    assert sum(shares) == decimal.Decimal("10.00")
    assert shares[0] == decimal.Decimal("3.33")


@answers("egyptian", right='''
from fractions import Fraction
from math import ceil
def egyptian(f):
    out = []
    while f:
        d = ceil(1 / f)
        out.append(Fraction(1, d))
        f -= out[-1]
    return out
''', wrong='''
def egyptian(f):
    return [f]
''')
def test_egyptian_fractions(candidate):
    f = fractions.Fraction(7, 15)
    parts = candidate(f)
    assert sum(parts) == f
    assert all(p.numerator == 1 for p in parts)
    assert len(set(parts)) == len(parts)


@answers("next_weekday", right='''
import datetime
def next_weekday(day):
    day += datetime.timedelta(days=1)
    while day.weekday() > 4:
        day += datetime.timedelta(days=1)
    return day
''', wrong='''
import datetime
def next_weekday(day):
    return day + datetime.timedelta(days=1)
''')
def test_next_weekday(candidate):
    friday = datetime.date(2024, 3, 1)
    assert candidate(friday) == datetime.date(2024, 3, 4)
    assert candidate(datetime.date(2024, 2, 28)).isoformat() == "2024-02-29"
    assert type(candidate(friday)) is datetime.date


@answers("to_utc", right='''
from datetime import timezone
def to_utc(moment):
    if moment.tzinfo is None:
        raise ValueError("naive datetime")
    return moment.astimezone(timezone.utc)
''', wrong='''
from datetime import timezone
def to_utc(moment):
    return moment.replace(tzinfo=timezone.utc)
''')
def test_to_utc(candidate):
    zone = datetime.timezone(datetime.timedelta(hours=2))
    got = candidate(datetime.datetime(2024, 5, 1, 12, tzinfo=zone))
    assert got == datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.timezone.utc)
    assert got.utcoffset() == datetime.timedelta(0)
    with pytest.raises(ValueError):
        candidate(datetime.datetime(2024, 5, 1))


@answers("tokenize", right='''
import re
def tokenize(text):
    return re.findall(r"\\d+\\.?\\d*|[-+*/()]", text)
''', wrong='''
def tokenize(text):
    return text.split()
''')
def test_tokens(candidate):
    assert candidate("3.5*(2+10)") == ["3.5", "*", "(", "2", "+", "10", ")"]
    assert "".join(candidate("1 + 2")) == "1+2"


@answers("compile_glob", right='''
import re
def compile_glob(glob):
    return re.compile(re.escape(glob).replace(r"\\*", ".*").replace(r"\\?", ".") + r"\\Z")
''', wrong='''
import re
def compile_glob(glob):
    return re.compile(glob.replace("*", ".*").replace("?", "."))
''')
def test_returns_a_pattern(candidate):
    pattern = candidate("*.py")
    assert isinstance(pattern, re.Pattern)
    assert pattern.match("a.py")
    assert not pattern.match("apy")
    assert not pattern.match("a.pyc")


@answers("extract", right='''
def extract(pattern, text):
    return [m.groupdict() for m in pattern.finditer(text)]
''', wrong='''
def extract(pattern, text):
    m = pattern.search(text)
    return [m.groupdict()] if m else []
''')
def test_takes_a_pattern(candidate):
    pattern = re.compile(r"(?P<key>\w+)=(?P<value>\d+)")
    assert candidate(pattern, "a=1, b=2") == [
        {"key": "a", "value": "1"},
        {"key": "b", "value": "2"},
    ]


@answers("run_length", right='''
from itertools import groupby
def encode(s):
    return [(c, len(list(g))) for c, g in groupby(s)]
def decode(pairs):
    return "".join(c * n for c, n in pairs)
def run_length(s):
    return decode(encode(s))
''', wrong='''
def encode(s):
    return [(c, s.count(c)) for c in dict.fromkeys(s)]
def decode(pairs):
    return "".join(c * n for c, n in pairs)
def run_length(s):
    return decode(encode(s))
''')
def test_two_functions_of_a_module(candidate):
    encode, decode = candidate.module.encode, candidate.module.decode
    assert encode("aab") == [("a", 2), ("b", 1)]
    for text in ("", "aabbaa", "abc"):
        assert decode(encode(text)) == text


@PROPERTY
@hypothesis.given(st.lists(st.integers(-50, 50)))
@answers("dedupe", right='''
def dedupe(xs):
    return list(dict.fromkeys(xs))
''', wrong='''
def dedupe(xs):
    return list(set(xs))
''')
def test_dedupe_keeps_first_of_every_value(candidate, xs):
    got = candidate(xs)
    assert len(got) == len(set(xs))
    assert got == sorted(set(xs), key=xs.index)


@PROPERTY
@hypothesis.given(st.text(alphabet=string.ascii_letters + " ", max_size=30), st.integers(1, 25))
@answers("caesar", right='''
def caesar(text, k):
    def shift(c):
        if not c.isalpha():
            return c
        base = ord("a") if c.islower() else ord("A")
        return chr((ord(c) - base + k) % 26 + base)
    return "".join(map(shift, text))
''', wrong='''
def caesar(text, k):
    return "".join(chr(ord(c) + k) if c.isalpha() else c for c in text)
''')
def test_caesar_round_trip(candidate, text, k):
    hidden = candidate(text, k)
    assert candidate(hidden, -k) == text
    assert [c.isupper() for c in hidden] == [c.isupper() for c in text]


@PROPERTY
@hypothesis.given(data=st.data())
@answers("bisect_left", right='''
def bisect_left(xs, x):
    lo, hi = 0, len(xs)
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo
''', wrong='''
def bisect_left(xs, x):
    lo, hi = 0, len(xs)
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] <= x:
            lo = mid + 1
        else:
            hi = mid
    return lo
''')
def test_bisect_against_a_model(candidate, data):
    xs = sorted(data.draw(st.lists(st.integers(0, 9))))
    x = data.draw(st.integers(0, 9))
    i = candidate(xs, x)
    assert all(v < x for v in xs[:i])
    assert all(v >= x for v in xs[i:])


@answers("compose", right='''
def compose(*fs):
    def composed(x):
        for f in reversed(fs):
            x = f(x)
        return x
    return composed
''', wrong='''
def compose(*fs):
    def composed(x):
        for f in fs:
            x = f(x)
        return x
    return composed
''')
def test_closures_in_and_out(candidate):
    double_then_show = candidate(str, lambda n: 2 * n)
    assert double_then_show(4) == "8"
    assert candidate()("same") == "same"
    assert candidate(math.sqrt, abs)(-9) == 3.0


@answers("curry", right='''
import inspect
def curry(f):
    n = len(inspect.signature(f).parameters)
    def take(*args):
        return f(*args) if len(args) >= n else lambda *more: take(*args, *more)
    return take
''', wrong='''
def curry(f):
    return lambda a: lambda b: f(a, b)
''')
def test_curry(candidate):
    def volume(a, b, c):
        return a * b * c

    assert candidate(volume)(2)(3)(4) == 24
    assert candidate(volume)(2, 3)(4) == 24


@answers("memoize", right='''
def memoize(f):
    seen = {}
    def g(*args):
        if args not in seen:
            seen[args] = f(*args)
        return seen[args]
    return g
''', wrong='''
def memoize(f):
    return lambda *args: f(*args)
''')
def test_memoize_calls_once(candidate):
    calls = []

    def slow(x):
        calls.append(x)
        return x * x

    fast = candidate(slow)
    assert [fast(3), fast(3), fast(4)] == [9, 9, 16]
    assert calls == [3, 4]


@answers("make_counter", right='''
def make_counter(start=0):
    def count():
        nonlocal start
        start += 1
        return start
    return count
''', wrong='''
n = 0
def make_counter(start=0):
    global n
    n = start
    def count():
        global n
        n += 1
        return n
    return count
''')
def test_counters_are_independent(candidate):
    a, b = candidate(), candidate(10)
    assert (a(), a(), b(), a()) == (1, 2, 11, 3)


@answers("greet", right='''
def greet(name: str, *, greeting: str = "Hello") -> str:
    """Return a greeting for name."""
    return f"{greeting}, {name}!"
''', wrong='''
def greet(name, greeting="Hello"):
    return f"{greeting}, {name}!"
''')
def test_signature_and_documentation(candidate):
    signature = inspect.signature(candidate)
    assert list(signature.parameters) == ["name", "greeting"]
    assert signature.parameters["greeting"].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature.parameters["greeting"].default == "Hello"
    assert candidate("Eve", greeting="Bye") == "Bye, Eve!"
    with pytest.raises(TypeError):
        candidate("Eve", "Bye")


@answers("flatten", right='''
def flatten(tree):
    out, stack = [], [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node))
        else:
            out.append(node)
    return out
''', wrong='''
def flatten(tree):
    return [x for row in tree for x in (row if isinstance(row, list) else [row])]
''')
def test_flatten_deeply(candidate):
    assert candidate([1, [2, [3, [4]], 5]]) == [1, 2, 3, 4, 5]
    deep = [0]
    for _ in range(200):
        deep = [deep]
    assert candidate(deep) == [0]


@answers("depth", right='''
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
''', wrong='''
def depth(n):
    return n
''')
def test_recurses_until_the_limit(candidate):
    assert candidate(500) == 500
    with pytest.raises(RecursionError):
        candidate(10**6)


@answers("shuffle", right='''
import random
def shuffle(items):
    items = list(items)
    random.shuffle(items)
    return items
''', wrong='''
def shuffle(items):
    return list(items)[::-1]
''')
def test_same_seed_same_order(candidate):
    random.seed(42)
    first = candidate(range(20))
    random.seed(42)
    again = candidate(range(20))
    assert first == again
    assert sorted(first) == list(range(20))
    assert first != list(range(20))[::-1]


@answers("roll", right='''
def roll(rng, n):
    return [rng.randint(1, 6) for _ in range(n)]
''', wrong='''
def roll(rng, n):
    return [rng.randint(0, 6) for _ in range(n)]
''')
def test_takes_a_random_generator(candidate):
    rolls = candidate(random.Random(1), 200)
    assert rolls == candidate(random.Random(1), 200)
    assert set(rolls) == {1, 2, 3, 4, 5, 6}


@answers("pick", right='''
import random
def pick(items):
    return random.choice(items)
''', wrong='''
def pick(items):
    return items[0]
''')
def test_seeded_choice_is_that_of_random(candidate):
    random.seed(7)
    expected = [random.choice("abcdefghij") for _ in range(10)]
    random.seed(7)
    assert [candidate("abcdefghij") for _ in range(10)] == expected


@answers("count_words", right='''
from collections import Counter
def count_words(text):
    return Counter(text.split())
''', wrong='''
def count_words(text):
    return {w: text.count(w) for w in text.split()}
''')
def test_counter(candidate):
    got = candidate("a b a c a aa")
    assert got == collections.Counter(a=3, b=1, c=1, aa=1)
    assert got.most_common(1) == [("a", 3)]
    assert got["missing"] == 0


@answers("group", right='''
from collections import defaultdict
def group(items, key):
    out = defaultdict(list)
    for item in items:
        out[key(item)].append(item)
    return dict(out)
''', wrong='''
from itertools import groupby
def group(items, key):
    return {k: list(g) for k, g in groupby(items, key)}
''')
def test_group_by_a_key(candidate):
    assert candidate(["ab", "c", "de", "f"], len) == {2: ["ab", "de"], 1: ["c", "f"]}
    people = [{"n": "Ann", "t": 1}, {"n": "Bob", "t": 2}, {"n": "Cy", "t": 1}]
    assert candidate(people, lambda p: p["t"])[1] == [people[0], people[2]]


class Priority(enum.Enum):
    LOW = 1
    HIGH = 2


class Ticket(typing.NamedTuple):
    title: str
    priority: Priority


@answers("urgent", right='''
def urgent(tickets):
    return [t.title for t in sorted(tickets, key=lambda t: -t.priority.value)]
''', wrong='''
def urgent(tickets):
    return [t.title for t in tickets]
''')
def test_namedtuples_with_enums_of_the_check(candidate):
    tickets = [Ticket("a", Priority.LOW), Ticket("b", Priority.HIGH)]
    assert candidate(tickets) == ["b", "a"]


@answers("merge", right='''
import copy
def merge(a, b):
    out = copy.deepcopy(a)
    for key, value in b.items():
        if isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merge(out[key], value)
        else:
            out[key] = copy.deepcopy(value)
    return out
''', wrong='''
def merge(a, b):
    for key, value in b.items():
        if isinstance(value, dict) and isinstance(a.get(key), dict):
            merge(a[key], value)
        else:
            a[key] = value
    return a
''')
def test_merge_leaves_its_arguments_alone(candidate):
    a = {"x": {"y": 1}, "z": [1]}
    b = {"x": {"w": 2}, "z": [2]}
    saved = copy.deepcopy((a, b))
    assert candidate(a, b) == {"x": {"y": 1, "w": 2}, "z": [2]}
    assert (a, b) == saved


@answers("append", right='''
def append(item, items=None):
    items = [] if items is None else items
    items.append(item)
    return items
''', wrong='''
def append(item, items=[]):
    items.append(item)
    return items
''')
def test_mutable_default(candidate):
    assert candidate(1) == [1]
    assert candidate(2) == [2]
    mine = [0]
    assert candidate(1, mine) is mine
    assert mine == [0, 1]


@answers("classify", right='''
def classify(value):
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "text"
        case None:
            return "nothing"
        case [*_]:
            return "sequence"
        case _:
            return "other"
''', wrong='''
def classify(value):
    return {int: "number", float: "number", str: "text", list: "sequence"}.get(type(value), "other")
''')
def test_kinds_of_values(candidate):
    cases = {"number": 2.5, "text": "x", "sequence": (1, 2), "other": {1}, "nothing": None}
    for kind, value in cases.items():
        assert candidate(value) == kind, f"{value!r} should be {kind}"
    assert candidate(True) == "bool"


@answers("solve", right='''
import cmath
def solve(a, b, c):
    d = cmath.sqrt(b * b - 4 * a * c)
    return sorted([(-b + d) / (2 * a), (-b - d) / (2 * a)], key=lambda z: (z.real, z.imag))
''', wrong='''
def solve(a, b, c):
    d = abs(b * b - 4 * a * c) ** 0.5
    return sorted([(-b + d) / (2 * a), (-b - d) / (2 * a)])
''')
def test_complex_roots(candidate):
    assert candidate(1, 0, -4) == pytest.approx([-2, 2])
    assert candidate(1, 0, 4) == pytest.approx([-2j, 2j])


@answers("safe_div", right='''
import math
def safe_div(a, b):
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, a)
    return a / b
''', wrong='''
def safe_div(a, b):
    return a / b if b else 0.0
''')
def test_nan_and_infinity(candidate):
    assert math.isnan(candidate(0, 0))
    assert candidate(1, 0) == math.inf
    assert candidate(-1, 0) == -math.inf
    assert candidate(0, 0) == pytest.approx(float("nan"), nan_ok=True)
