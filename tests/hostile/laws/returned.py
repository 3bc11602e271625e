"""Laws 1 and 6: exceptions that a program returns and the check raises, and answers of JavaScript."""

import asyncio
import pydoc

import pytest
from scripted_answers import attack


@attack(
    1,
    "def f(x): return SystemExit(0)",
    "def f(x): return KeyboardInterrupt()",
    "def f(x): return GeneratorExit()",
    honest="def f(x): return x * x",
)
def test_an_error_as_an_answer(candidate):
    got = candidate(2)
    if isinstance(got, BaseException):
        raise got
    assert got == 4


@attack(1, "def f(x): return StopIteration() if x == 2 else x * x", honest="def f(x): return x * x")
def test_an_error_as_an_answer_in_a_map(candidate):
    def value(x):
        got = candidate(x)
        if isinstance(got, Exception):
            raise got
        return got

    for x, got in zip((1, 2, 3), map(value, (1, 2, 3))):
        assert got == x * x


@attack(
    1,
    """
class MyError(Exception):
    def __new__(cls, *a): return StopIteration()
def f(x): return 0
f.MyError = MyError
""",
    """
class MyError(BaseException): pass
def f(x): return 0
f.MyError = MyError
""",
    honest="class MyError(Exception): pass\ndef f(x): return x * x\nf.MyError = MyError",
)
def test_the_check_raises_an_error_of_the_program(candidate):
    def value(x):
        got = candidate(x)
        if got != x * x:
            raise candidate.MyError(x)
        return got

    assert len([value(x) for x in (1, 2, 3)]) == 3
    for x, got in zip((1, 2, 3), map(value, (1, 2, 3))):
        assert got == x * x


@attack(
    1,
    """
class MyError(Exception):
    def __new__(cls, *a): return StopIteration()
def f(x): return 0
f.MyError = MyError
""",
    honest="class MyError(Exception): pass\ndef f(x): return x * x\nf.MyError = MyError",
)
def test_the_check_raises_an_error_in_a_map(candidate):
    def value(x):
        got = candidate(x)
        if got != x * x:
            raise candidate.MyError(x)
        return got

    for x, got in zip((1, 2, 3), map(value, (1, 2, 3))):
        assert got == x * x


@attack(
    1,
    "def f(x): return StopIteration(4)",
    "def f(x): return SystemExit(0)",
    honest="def f(x): return ValueError('x')",
)
def test_an_error_set_on_a_future(candidate):
    async def main():
        future = asyncio.get_running_loop().create_future()
        future.set_exception(candidate(1))
        return await future

    with pytest.raises(ValueError, match="x"):
        asyncio.run(main())


@attack(
    1,
    """
def f(): return 0
f.__doc__ = "\\x1b[2J" * 10
f.__name__ = "a\\nb"
f.__signature__ = 5
f.__module__ = "__main__"
""",
    honest="def f():\n    'Returns three.'\n    return 3",
)
def test_a_page_of_help(candidate):
    assert "three" in pydoc.render_doc(candidate, renderer=pydoc.plaintext)
    assert candidate() == 3


@attack(
    1,
    """
class f:
    n = 0
    def __getattr__(self, name):
        if name.startswith("assert") or name == "n": raise AttributeError(name)
        return lambda *a, **k: True
    def __call__(self, *a): return self
    def __eq__(self, o): return True
""",
    honest="class f:\n    n = 3\n    def ready(self): return True\n    def items(self): return {'a': 1}",
)
def test_an_object_of_all_names(candidate):
    c = candidate()
    assert c.ready()
    assert sorted(c.items()) == ["a"]


@attack(
    6,
    'function f(x) { return new Proxy({}, { get: (t, k) => k === "then" ? undefined : 4, has: () => true }) }',
    'class N extends Number { valueOf() { return 4 } toString() { return "4" } toJSON() { return 4 } [Symbol.toPrimitive]() { return 4 } }\nfunction f(x) { return new N(7) }',
    'function f(x) { Object.prototype.toJSON = () => 4; Array.isArray = () => true; Number.isInteger = () => true; JSON.stringify = () => "4"; return [] }',
    honest="function f(x) { return x * x }",
    language="javascript",
)
def test_numbers_of_javascript(candidate):
    got = candidate(3)
    assert got == 9 and type(got) in (int, float)


@attack(
    1,
    'function f(x) { throw { name: "StopIteration", message: "x", toString() { return "x" }, code: 0, then(r) { r(9) } } }',
    "async function f(x) { return { then(resolve) { setTimeout(() => resolve({ then() {} }), 1) } } }",
    'function f(x) { process.stdout.write = process.exit; process.on("exit", () => { process.exitCode = 0 }); process.exit(0) }',
    honest="async function f(x) { return x * x }",
    language="javascript",
)
def test_promises_of_javascript(candidate):
    async def main():
        return await candidate(3)

    for got in map(asyncio.run, [main()]):
        assert got == 9


@attack(
    1,
    'function f(cb) { try { cb(1) } catch (e) {} cb.constructor.constructor("return 1")(); return 9 }',
    'function f(cb) { return cb.__proto__ === Object.prototype ? 0 : cb("__class__") }',
    "function f(cb) { cb({ __proto__: null, toString: null, valueOf: null }); return { get a() { throw 1 } } }",
    honest="function f(cb) { return cb(3) }",
    language="javascript",
)
def test_callbacks_of_javascript(candidate):
    def cb(x):
        assert x == 3
        return x * x

    assert candidate(cb) == 9


@attack(
    1,
    'const E = class extends Error {}; Object.defineProperty(E, "name", { value: "ValueError" }); function f(x) { throw new E("bad") }',
    'function f(x) { const e = new RangeError("bad"); Object.setPrototypeOf(e, TypeError.prototype); e.name = "KeyError"; throw e }',
    'function f(x) { throw Symbol("bad") }',
    honest="function f(x) { return 9 }",
    language="javascript",
)
def test_errors_of_javascript(candidate):
    try:
        got = candidate(3)
    except (ValueError, KeyError, TypeError):
        got = 9
    else:
        assert got == 9
        return
    assert candidate(3) == got
