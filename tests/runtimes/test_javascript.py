"""Checks that call functions and classes of JavaScript and TypeScript programs."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import math
from collections import deque
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from javascript_programs import called

from pytest_promptse.errors import TaskError
from pytest_promptse.sandbox._candidate import BrokenCheck, ProgramError, ProgramStopped
from pytest_promptse.sandbox._limits import Limits

STACK = """
class EmptyError extends Error {
  constructor(message) { super(message); this.name = "EmptyError"; this.code = 7; }
}
class Stack {
  #items = [];
  static of(...items) { const made = new Stack(); items.forEach((x) => made.push(x)); return made; }
  push(item) { this.#items.push(item); return this; }
  pop() { if (!this.#items.length) throw new EmptyError("empty"); return this.#items.pop(); }
  get size() { return this.#items.length; }
  *[Symbol.iterator]() { yield* this.#items; }
}
module.exports = { Stack };
"""


@pytest.fixture
def load(sandbox):
    """Load a program and return its entry point, by default the function f."""
    with contextlib.ExitStack() as stack:

        def load_one(program, **options):
            stack.close()  # there is one worker
            return stack.enter_context(called(sandbox, program, **options))

        yield load_one


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -7,
        2**53,
        2**64 + 1,
        -(2**70),
        1.5,
        -1e300,
        math.inf,
        -math.inf,
        "",
        'text " \\ \n ü 漢 😀',
        [],
        [1, [2, [None, "x"]]],
        {},
        {"a": {"b": [1]}, "__proto__x": 1},
        {(1, 2): "x"},
        {1, 2},
        b"\x00\xff",
        datetime(2024, 2, 29, 12, 30, 15, 250_000, tzinfo=UTC),
    ],
)
def test_a_value_comes_back_as_it_was_sent(load, value):
    assert load("function f(x) { return [x]; }")(value) == [value]


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ((1, 2), [1, 2]),
        (range(3), [0, 1, 2]),
        (range(5, 0, -2), [5, 3, 1]),
        (deque([1, 2]), [1, 2]),
        (frozenset({1}), {1}),
        ({1: "a"}, {"1": "a"}),
        (bytearray(b"ab"), b"ab"),
        (2.0, 2),
        (date(2024, 2, 29), datetime(2024, 2, 29, tzinfo=UTC)),
        (datetime(2024, 1, 1, 12), datetime(2024, 1, 1, 12, tzinfo=UTC)),  # noqa: DTZ001 - naive
        (
            datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            datetime(2024, 1, 1, 10, tzinfo=UTC),
        ),
    ],
)
def test_a_value_without_a_twin_comes_back_as_the_nearest_one(load, sent, received):
    assert load("function f(x) { return [structuredClone(x)]; }")(sent) == [received]


@pytest.mark.parametrize(
    ("sent", "program", "changed"),
    [
        ([[1], [2]], "x.reverse()", [[2], [1]]),
        ({"a": [1], "b": [2]}, "[x.a, x.b] = [x.b, x.a]", {"a": [2], "b": [1]}),
        ({"a": [1]}, "delete x.a; x.b = x.c = [2]", {"b": [2], "c": [2]}),
        ([[1], [2]], "x[0].push(x.pop())", [[1, [2]]]),
        ([(3, 1), [2]], "x[1].push(...x[0])", [(3, 1), [2, 3, 1]]),
        ([(3, 1), [2]], "x[0].sort(); x[1].push(x[0])", [(3, 1), [2, [1, 3]]]),
        ({1, 2}, "x.add(3)", {1, 2, 3}),
        (deque([1, 2], maxlen=2), "x.push(3)", deque([2, 3])),
        (bytearray(b"ab"), "x[0] = 120", bytearray(b"xb")),
    ],
)
def test_an_argument_is_changed_in_place_and_returned_as_itself(load, sent, program, changed):
    value = copy.deepcopy(sent)
    assert load(f"function f(x) {{ {program}; return x; }}")(value) is value
    assert value == changed


def test_one_list_passed_twice_is_one_list(load):
    row = [1]
    assert load("function f(x, y) { x[0].push(2); return [x[1], y]; }")([row, row], row) == [
        row,
        row,
    ]
    assert row == [1, 2]


def test_a_new_list_that_is_returned_twice_is_one_list(load):
    first, second = load("function f() { const row = [0]; return [row, row]; }")()
    assert first is second


def test_a_function_of_the_check_changes_its_arguments(load):
    def change(table, items, unique):
        table["new"] = items
        del table["old"]
        items.reverse()
        unique.add(3)

    program = """function f(change) {
      const table = { old: 1 }, items = [[1], [2]], unique = new Set([1]);
      change(table, items, unique);
      return [table, items, table.new === items, items[1][0], [...unique]];
    }"""
    expected = [{"new": [[2], [1]]}, [[2], [1]], True, 1, [1, 3]]
    assert load(program)(change) == expected


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("undefined", None),
        ("[undefined, , null]", [None, None, None]),
        ("12345678901234567890n", 12345678901234567890),
        ("-5n", -5),
        ("-0", 0),
        ("0.1 + 0.2", 0.1 + 0.2),
        ("1e21", 1e21),
        ("new Map([[1, 'x'], ['k', [2]]])", {1: "x", "k": [2]}),
        ("new Set([[1, 2]])", {(1, 2)}),
        ("new Float64Array([1.5, 2])", [1.5, 2]),
        ("Buffer.from('ab')", b"ab"),
        ("new Date(0)", datetime(1970, 1, 1, tzinfo=UTC)),
        ("Object.assign(Object.create(null), {a: 1})", {"a": 1}),
        ("new String('boxed')", "boxed"),
        ("Array.from({length: 3}, (_, i) => i * i)", [0, 1, 4]),
        ("'\\ud800'", "\ud800"),
    ],
)
def test_a_result_is_the_plain_value(load, expression, value):
    assert load(f"function f() {{ return {expression}; }}")() == value


def test_nan_comes_back(load):
    assert math.isnan(load("const f = (x) => x")(math.nan))


@pytest.mark.parametrize(
    "program",
    [
        "function f(x) { return x + 1; }",
        "const f = (x) => x + 1;",
        "export const f = (x) => x + 1;",
        "export default (x) => x + 1;",
        "export default function f(x) { return x + 1; }",
        "const g = (x) => x + 1;\nexport { g as f };",
        "module.exports = { f: (x) => x + 1 };",
        "module.exports = (x) => x + 1;",
        "exports.f = (x) => x + 1;",
        "var f = function (x) { return x + 1; };",
        "f = (x) => x + 1;",
        "import { inspect } from 'node:util';\nexport const f = (x) => Number(inspect(x)) + 1;",
        "const { inspect } = require('util');\nfunction f(x) { return Number(inspect(x)) + 1; }",
        "const one = await Promise.resolve(1);\nfunction f(x) { return x + one; }",
        "function f(x) { return x + 1; }\nif (require.main === module) { process.exit(1); }",
        "// exports and imports in a comment\nfunction f(x) { return x + 1; }",
    ],
)
def test_all_ways_to_define_a_function_are_found(load, program):
    assert load(program)(1) == 2


@pytest.mark.parametrize(
    "program",
    [
        "export function f(x: number): number { return x + 1; }",
        "interface By { n: number }\nconst f = (x: number, by: By = { n: 1 }) => x + by.n;",
        "enum By { Zero, One }\nfunction f(x: number): number { return x + By.One; }",
        "class By { constructor(private n: number) {} to = (x: number) => x + this.n; }\n"  # noqa: ISC004
        "export const f = (x: number) => new By(1).to(x);",
        "function f<T extends number>(x: T): number { return (x as number) + 1; }",
        "type N = number;\nexport default function f(x: N): N { return x + 1 satisfies N; }",
    ],
)
def test_types_are_stripped(load, program):
    assert load(program, language="typescript")(1) == 2


@pytest.mark.parametrize(
    ("thrown", "expected", "match"),
    [
        ("new TypeError('bad')", TypeError, "bad"),
        ("new RangeError('bad')", ValueError, "bad"),
        ("new SyntaxError('bad')", ValueError, "bad"),
        ("new ReferenceError('bad')", NameError, "bad"),
        ("new Error('bad')", ProgramError, "bad"),
        ("new (class Mine extends RangeError {})('bad')", ValueError, "bad"),
        ("'bad'", Exception, "bad"),
        ("{ code: 5 }", Exception, "code: 5"),
    ],
)
def test_an_exception_arrives_as_its_twin(load, thrown, expected, match):
    candidate = load(f"function f() {{ throw {thrown}; }}")
    with pytest.raises(expected, match=match):
        candidate()


def test_a_stack_overflow_is_no_value_error(load):
    candidate = load("function f() { return f(); }")
    with pytest.raises(RecursionError):
        candidate()


def test_a_class_is_used_like_one_of_python(load):
    candidate = load(STACK, entry_point="Stack")
    stack = candidate()
    stack.push(1).push([2])
    assert stack.size == len(stack) == 2
    assert list(stack) == [1, [2]]
    assert stack.pop() == [2]
    assert isinstance(stack, candidate)
    assert list(candidate.of(1, 2)) == [1, 2]
    assert candidate.__name__ == "Stack"
    stack.pop()
    with pytest.raises(candidate.module.EmptyError, match="empty") as caught:
        stack.pop()
    assert (caught.value.code, caught.value.type_name, caught.value.name) == (
        7,
        *["EmptyError"] * 2,
    )
    with pytest.raises(AttributeError):
        _ = stack.missing


def test_an_object_with_functions_keeps_its_state(load):
    counter = load(
        "const f = () => { let n = 0; return { "
        "up() { this.last = n; return ++n; }, get n() { return n; } }; }"
    )()
    assert (counter.up(), counter.up(), counter.n, counter.last) == (1, 2, 2, 1)
    assert "up" in counter
    counter.n2 = 5
    assert counter["n2"] == 5
    with pytest.raises(KeyError):
        counter["missing"]


def test_a_generator_is_iterated(load):
    candidate = load(
        "function* f(n) { for (let i = 0; i < n; i++) yield i; throw new Error('end'); }"
    )
    items = candidate(100)
    assert [next(items) for _ in range(100)] == list(range(100))
    with pytest.raises(ProgramError, match="end"):
        next(items)


def test_promises_are_awaited(load):
    candidate = load(
        "async function f(x) { await new Promise((r) => setTimeout(r, 20)); "
        "if (x < 0) throw new RangeError('neg'); return [x]; }"
    )

    async def check():
        assert await candidate(1) == [1]
        with pytest.raises(ValueError, match="neg"):
            await candidate(-1)
        assert await asyncio.gather(*map(candidate, range(5))) == [[i] for i in range(5)]

    asyncio.run(check())
    assert asyncio.run(candidate(2)) == [2]


def test_an_asynchronous_generator_is_iterated(load):
    candidate = load("async function* f(n) { for (let i = 0; i < n; i++) yield i; }")

    async def check():
        return [item async for item in candidate(3)]

    assert asyncio.run(check()) == [0, 1, 2]


def test_functions_of_the_check_are_called_back(load):
    candidate = load(
        "function f(xs, g) { "
        "try { return xs.map(g); } catch (e) { return `${e.name}: ${e.message}`; } }"
    )
    assert candidate([1, 2], lambda x: x * 2) == [2, 4]
    assert candidate([5, 6], lambda x, i: [x, i]) == [[5, 0], [6, 1]]
    assert candidate([5], lambda *args: len(args)) == [3]

    def fail(_):
        raise KeyError("no")

    assert candidate([1], fail) == "KeyError: no"


def test_an_exception_of_the_check_passes_through(load):
    def fail(_):
        raise KeyError("no")

    candidate = load("function f(g) { return g(1); }")
    with pytest.raises(KeyError):
        candidate(fail)


def test_a_failed_assertion_in_a_callback_fails_the_check(load):
    def check(value):
        assert value == 2

    candidate = load("function f(g) { try { g(1); } catch {} return 1; }")
    with pytest.raises(AssertionError):
        candidate(check)


def test_changes_of_arguments_come_back(load):
    values, table = [3, 1, 2], {"a": 1}
    candidate = load("function f(xs, t) { xs.sort(); t.b = xs; return xs; }")
    assert candidate(values, table) is values
    assert values == [1, 2, 3]
    assert table == {"a": 1, "b": [1, 2, 3]}


def test_names_of_the_program_are_reached(load):
    candidate = load("let calls = 0;\nconst LIMIT = 5;\nfunction f() { calls++; }\nf.tag = 'x';")
    candidate()
    assert (candidate.module.LIMIT, candidate.module.calls, candidate.tag) == (5, 1, "x")
    with pytest.raises(AttributeError):
        _ = candidate.module.missing


def test_output_is_kept(load):
    candidate = load("console.log('at the start'); function f() { console.error('called'); }")
    candidate()
    assert candidate.output == "at the start\ncalled\n"


CLAIM = """
const text = JSON.stringify([[0, 4, 2, 3, 0, 1, 2, 3], ["result", "syntax", "x", "", null]]);
const body = Buffer.from(text), head = Buffer.alloc(4);
head.writeUInt32BE(body.length);
process.getBuiltinModule("node:fs").writeSync(3, Buffer.concat([head, body]));
function f() {}
"""
"""A program that says of itself that it does not compile."""


@pytest.mark.parametrize(
    ("program", "cause", "detail"),
    [
        ("function f( {", "syntax", "SyntaxError"),
        ("export function f( {", "syntax", "SyntaxError"),
        ("import { no } from 'node:fs'; export function f() {}", "syntax", "SyntaxError"),
        ("throw new SyntaxError('await')", "exception", "while loading: SyntaxError: await"),
        ("export function f() {}\nthrow new SyntaxError('x')", "exception", "SyntaxError: x"),
        ("import 'nothing'; export function f() {}", "exception", "while loading"),
        ("await 0; throw new SyntaxError('x'); function f() {}", "exception", "SyntaxError: x"),
        (CLAIM, "exception", "protocol"),
        (f"{CLAIM}\nawait 0;", "exception", "protocol"),
        ("throw new Error('x')", "exception", "while loading: Error: x"),
        ("const g = 1;", "interface", "defines no 'f'"),
        ("const f = 3;", "interface", "no function or class but number"),
        ("process.exit(0); function f() {}", "exception", "ended its process"),
        ("function f() { process.exit(0); }", "exception", "ended its process"),
        ("function f() { for (;;); }", "timeout", "1 s"),
        ("for (;;);", "timeout", "1 s"),
        ("function f() { const a = []; a.push(a); return a; }", "resource", "deeper"),
    ],
)
def test_a_failure_has_its_cause(load, program, cause, detail):
    candidate = load(program, limits=Limits(wall=1.0, cpu=1.0))
    with pytest.raises(ProgramStopped):
        candidate()
    assert candidate.failure.cause == cause
    assert detail in candidate.failure.detail


def test_too_much_memory_is_a_resource(load):
    candidate = load("function f() { const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1)); }")
    with pytest.raises(ProgramStopped):
        candidate()
    assert candidate.failure.cause == "resource"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c(Decimal(1)), "type Decimal cannot be sent"),
        (lambda c: c([1j]), "type complex cannot be sent"),
        (lambda c: c(x=1), "no keyword arguments such as x="),
        (lambda c: c(object()), "type object cannot be sent"),
        (lambda c: c(open), "cannot be sent"),
        (lambda c: c.run(), "take the fixture 'program'"),
    ],
)
def test_what_cannot_be_sent_breaks_the_check(sandbox, call, words):
    program = "function f(x) { return 1; }"
    with (
        pytest.raises(TaskError, match=words),
        called(sandbox, program) as candidate,
        pytest.raises(BrokenCheck),
    ):
        call(candidate)


def test_no_program_knows_of_an_earlier_one(load):
    program = (
        "const fs = require('fs'); const os = require('os');\n"
        "const paths = ['/tmp/left', os.homedir() + '/left'];\n"
        "function f() { "
        "const seen = [globalThis.left, process.env.LEFT, ...paths.map((p) => fs.existsSync(p))]; "
        "globalThis.left = 1; process.env.LEFT = '1'; "
        "for (const p of paths) try { fs.writeFileSync(p, 'x'); } catch {} return seen; }"
    )
    for _ in range(2):
        assert load(program)() == [None, None, False, False]
