"""Laws 1 and 6: classes and exceptions of a program, where the check uses them as its own."""

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import Mapping, Set
from unittest import mock

import pytest
from scripted_answers import attack

KINDS = ("AssertionError", "BaseException", "(ValueError, Exception)")


@attack(
    6,
    *(f"def f(x): return {kind} if x == 1 else 0" for kind in KINDS),
    honest="def f(x): return ValueError if x == 1 else x * x",
)
def test_a_returned_class_that_is_suppressed(candidate):
    kinds = candidate(1)
    with contextlib.suppress(*(kinds if isinstance(kinds, tuple) else (kinds,))):
        assert candidate(3) == 9


@attack(
    6,
    *(f"def f(x): return {{'errors': [{kind}]}} if x == 1 else 0" for kind in KINDS),
    honest="def f(x): return {'errors': [ValueError]} if x == 1 else x * x",
)
def test_a_class_within_an_answer(candidate):
    (kinds,) = candidate(1)["errors"]
    try:
        assert candidate(3) == 9
    except kinds:
        pass


@attack(
    6,
    *(f"def f(x): return 0\nf.Error = {kind}" for kind in KINDS),
    honest="class Error(ValueError): pass\ndef f(x):\n    if x < 0: raise Error\n    return x * x",
)
def test_a_class_that_is_expected(candidate):
    with pytest.raises(candidate.Error):
        candidate(-1)
        assert candidate(3) == 9
        pytest.fail("no error")
    assert candidate(3) == 9


@attack(
    6,
    "def f(use): return use(AssertionError)",
    "def f(use): return use(Exception) or 9",
    honest="def f(use): return use(KeyError)",
)
def test_a_class_that_is_given_to_a_function_of_the_check(candidate):
    def use(kind):
        with contextlib.suppress(kind):
            assert kind is KeyError
        return 9

    assert candidate(use) == 9


@attack(
    6,
    "async def one(): return 0\ndef f(x): return ExceptionGroup",
    honest="def f(x): return ValueError if x == 1 else x * x",
)
def test_a_class_of_groups(candidate):
    async def check(x):
        assert candidate(x) == x * x

    async def main():
        async with asyncio.TaskGroup() as group:
            for x in (2, 3):
                group.create_task(check(x))

    with contextlib.suppress(candidate(1)):
        asyncio.run(main())


ENDINGS = ("asyncio.CancelledError", "GeneratorExit", "KeyboardInterrupt")


def check_tasks(check):
    async def main():
        async with asyncio.TaskGroup() as group:
            for x in (2, 3):
                group.create_task(check(x))

    asyncio.run(main())


@attack(
    6,
    *(f"import asyncio\ndef f(x): return {kind}('x')" for kind in ENDINGS),
    honest="def f(x): return x * x",
)
def test_an_error_that_a_task_raises(candidate):
    async def check(x):
        got = candidate(x)
        if isinstance(got, BaseException):
            raise got
        assert got == x * x

    check_tasks(check)


@attack(
    6,
    *(f"import asyncio\ndef f(x): return {kind}" for kind in ENDINGS),
    honest="def f(x): return x * x",
)
def test_a_class_that_a_task_raises(candidate):
    async def check(x):
        got = candidate(x)
        if isinstance(got, type):
            raise got
        assert got == x * x

    check_tasks(check)


@attack(
    6,
    "import asyncio\nclass C(asyncio.CancelledError): pass\ndef f(x): return C()",
    "import asyncio\nclass C(asyncio.CancelledError): pass\ndef f(x): return C",
    "def f(x): return BaseExceptionGroup('x', [GeneratorExit(), KeyboardInterrupt()])",
    honest="def f(x): return x * x",
)
def test_an_own_class_that_a_task_raises(candidate):
    async def check(x):
        got = candidate(x)
        if isinstance(got, BaseException | type):
            raise got
        assert got == x * x

    check_tasks(check)


@attack(
    6,
    *(f"import asyncio\ndef f(x): return 0\nf.Error = {kind}" for kind in ENDINGS),
    honest="class Error(Exception): pass\ndef f(x): return x * x\nf.Error = Error",
)
def test_an_error_that_a_task_makes(candidate):
    async def check(x):
        if candidate(x) != x * x:
            raise candidate.Error(x)

    check_tasks(check)


@attack(
    6,
    "def f(x): return 0\nf.Error = StopIteration",
    "def f(x): return 0\nf.Error = SystemExit",
    honest="class Error(Exception): pass\ndef f(x): return x * x\nf.Error = Error",
)
def test_an_error_that_a_map_makes(candidate):
    def value(x):
        if candidate(x) != x * x:
            raise candidate.Error(x)
        return x * x

    for x, got in zip((1, 2, 3), map(value, (1, 2, 3))):
        assert got == x * x


@attack(
    6,
    "import asyncio\ndef f(x): return asyncio.CancelledError()",
    "class E(BaseException): pass\ndef f(x): return E()",
    honest="def f(x): return x * x",
)
def test_an_error_set_on_a_future(candidate):
    async def main():
        future = asyncio.get_running_loop().create_future()
        got = candidate(3)
        if isinstance(got, BaseException):
            future.set_exception(got)
        else:
            future.set_result(got)
        (value,) = await asyncio.gather(future, return_exceptions=False)
        assert value == 9

    asyncio.run(main())


CLOSING = """
class Resource:
    def __init__(self, value): self.value = value
    def read(self): return self.value
    def close(self): {close}
def f(value): return Resource(value)
"""


@attack(
    6,
    CLOSING.format(close="raise KeyError('closed')").replace("return self.value", "return None"),
    CLOSING.format(close="raise KeyError('x')").replace("return self.value", "return [1]"),
    honest="def f(value): raise KeyError('closed')",
)
def test_an_error_of_the_check_within_closing(candidate):
    with pytest.raises(KeyError), contextlib.closing(candidate(2)) as resource:
        assert resource.read() + 1 == 3


@attack(
    6,
    CLOSING.format(close="raise KeyError('closed')").replace("return self.value", "return None"),
    honest="def f(value): raise KeyError('closed')",
)
def test_an_error_of_the_check_within_a_manager_of_the_check(candidate):
    @contextlib.contextmanager
    def managed():
        resource = candidate(2)
        try:
            yield resource
        finally:
            resource.close()

    with pytest.raises(KeyError), managed() as resource:
        assert resource.read() + 1 == 3


@attack(
    6,
    CLOSING.format(close="raise KeyError('closed')").replace("return self.value", "return None"),
    honest="def f(value): raise KeyError('closed')",
)
def test_an_error_of_the_check_within_a_stack(candidate):
    with pytest.raises(KeyError), contextlib.ExitStack() as stack:
        resource = candidate(2)
        stack.callback(resource.close)
        assert resource.read() + 1 == 3


@attack(
    6,
    CLOSING.format(close="raise KeyError('closed')"),
    honest=CLOSING.format(close="self.value = None"),
)
def test_an_error_of_close_alone(candidate):
    with contextlib.closing(candidate(2)) as resource:
        assert resource.read() == 2
    assert resource.read() is None


@attack(
    6,
    CLOSING.format(close="raise RuntimeError('x')").replace("return self.value", "raise KeyError"),
    honest=CLOSING.format(close="raise RuntimeError('x')").replace(
        "return self.value", "raise ValueError('x')"
    ),
)
def test_an_error_of_the_program_is_replaced_by_another(candidate):
    with pytest.raises(RuntimeError) as caught, contextlib.closing(candidate(2)) as resource:
        resource.read()
    assert type(caught.value.__context__) is ValueError


@attack(
    6,
    "def f(x): return SystemExit(0)",
    "def f(x): return SystemExit",
    honest="def f(x): return x * x",
)
def test_a_thread_that_ends(candidate):
    seen = []

    def work():
        got = candidate(3)
        if isinstance(got, BaseException | type):
            raise got
        seen.append(got)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [9]


WRAPS = """
import functools
def twice(f):
    @functools.wraps(f)
    def w(*a, **k):
        f(*a, **k)
        return f(*a, **k)
    return w
"""


@attack(1, wrong="def twice(f): return f", honest=WRAPS, entry_point="twice")
def test_a_function_in_a_class_of_the_check(candidate):
    class Counter:
        def __init__(self):
            self.n = 0

        @candidate
        def up(self, by=1):
            self.n += by
            return self.n

        thrice = candidate.module.twice

    counter = Counter()
    assert counter.up(by=2) == 4 and counter.n == 4
    assert Counter.up(counter) == 6
    assert counter.thrice.__self__ is counter


TYPED = """
class Typed:
    def __init__(self, kind): self.kind = kind
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.name)
    def __delete__(self, obj): setattr(obj, self.name, None)
    def __set__(self, obj, value):
        {test}
        setattr(obj, self.name, value)
"""


@attack(
    1,
    wrong=TYPED.format(test=""),
    honest=TYPED.format(test="if not isinstance(value, self.kind): raise TypeError(self.name)"),
    entry_point="Typed",
)
def test_a_descriptor_in_a_class_of_the_check(candidate):
    class Order:
        quantity = candidate(int)

        def __init__(self):
            self._secret = 7

    first, second = Order(), Order()
    first.quantity, second.quantity = 3, 4
    assert (first.quantity, second.quantity) == (3, 4) and type(Order.quantity) is candidate.module.Typed
    with pytest.raises(TypeError):
        first.quantity = "x"
    del first.quantity
    assert first.quantity is None and second._secret == 7


# A name with an underscore is the check's own, whatever the program sets.
@attack(
    2,
    "def f(spy):\n    spy._calls = [3]\n    spy.__dict__['_calls'] = [3]\n    return 9",
    honest="def f(spy):\n    spy.call(3)\n    spy._mine = 1\n    return 9 * spy._mine",
)
def test_a_private_name_of_a_lent_object(candidate):
    class Spy:
        def __init__(self):
            self._calls = []

        def call(self, x):
            self._calls.append(x)

    spy = Spy()
    assert candidate(spy) == 9
    assert spy._calls == [3]


REGISTRY = """
from collections.abc import MutableMapping
class Other: pass
class Registry(MutableMapping):
    def __init__(self): self.d = {}
    def __getitem__(self, k): return self.d[k.lower()]
    def __setitem__(self, k, v): self.d[k.lower()] = v
    def __delitem__(self, k): del self.d[k.lower()]
    def __iter__(self): return iter(self.d)
    def __len__(self): return len(self.d)
    def other(self): return Other()
"""


@attack(1, wrong="class Registry(dict): pass", honest=REGISTRY, entry_point="Registry")
def test_an_abstract_base_of_the_library(candidate):
    registry = candidate()
    registry["A"] = 1
    registry.update({"B": 2})
    assert isinstance(registry, Mapping) and not isinstance(registry.other(), Mapping)
    assert registry["a"] == 1 and "B" in registry and {**registry} == {"a": 1, "b": 2}
    match registry:
        case {"a": 1}:
            pass
        case _:
            pytest.fail("no match")


# The methods of `collections.abc.Set` ask the other set for each of their items.
@attack(
    6,
    "from collections.abc import Set\nclass S(Set):\n    def __contains__(self, x): return True\n    def __iter__(self): return iter([1])\n    def __len__(self): return 2\ndef f(x): return S()",
    honest="def f(x): return {1, 2}",
)
def test_a_set_of_the_library_that_contains_all(candidate):
    class Own(Set):
        def __contains__(self, x):
            return x in (1, 2)

        def __iter__(self):
            return iter((1, 2))

        def __len__(self):
            return 2

    assert Own() == candidate(1)


POOL = "class Pool:\n    size = 2\n    def __init__(self): self.free = list(range({size}))\n    def fetch(self): raise OSError\n    def run(self): return {run}\nLIMIT = 1"


@attack(
    1,
    wrong=POOL.format(size=2, run=6),
    honest=POOL.format(size="self.size", run="self.fetch() + LIMIT"),
    entry_point="Pool",
)
def test_assignment_to_the_entry_point(candidate, monkeypatch):
    candidate.size = 5
    assert len(candidate().free) == 5
    monkeypatch.setattr(candidate, "size", 4)
    monkeypatch.setattr(candidate, "LIMIT", 3)
    assert len(candidate().free) == 4 and candidate.module.LIMIT == 3
    with mock.patch.object(candidate, "fetch", return_value=5):
        assert candidate().run() == 8
    with pytest.raises(OSError):
        candidate().run()
    assert {"size", "fetch"} <= {*dir(candidate)}


POINT = "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Point:\n    x: int\n    y: int = 0"


@attack(
    1,
    wrong="class Point:\n    def __init__(self, x, y=0): self.x, self.y = x, y",
    honest=POINT,
    entry_point="Point",
)
def test_fields_of_the_entry_point(candidate):
    assert [field.name for field in dataclasses.fields(candidate)] == ["x", "y"]
