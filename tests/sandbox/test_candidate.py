import contextlib
import gc
import itertools
import pickle
import sqlite3
import sys
import threading
import time
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.sandbox import _watch
from pytest_promptse.sandbox._candidate import (
    BrokenCheck,
    Handle,
    ProgramError,
    ProgramStopped,
)
from pytest_promptse.sandbox._causes import CheckEnded, ProgramInterrupt
from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.encode import encode

ECHO = "def f(x): return x"


def test_a_call_goes_to_the_program_and_its_answer_comes_back(load):
    candidate = load("def f(a, *rest, key=0): return [a, rest, key]")
    assert candidate(1, 2, 3, key=4) == [1, (2, 3), 4]
    assert candidate.failure is None


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Counter('aab')", Counter("aab")),
        ("defaultdict(list, a=[1])", defaultdict(list, a=[1])),
        ("OrderedDict(a=1)", OrderedDict(a=1)),
        ("deque([1, 2])", deque([1, 2])),
        ("Decimal('1.50')", Decimal("1.50")),
        ("Fraction(1, 3)", Fraction(1, 3)),
        ("range(3)", range(3)),
        ("slice(1, 2)", slice(1, 2)),
        ("2**100", 2**100),
    ],
)
def test_standard_values_arrive_as_what_they_are(load, expression, expected):
    candidate = load(
        "from collections import *\nfrom decimal import *\nfrom fractions import *\n"
        f"def f(): return {expression}"
    )
    answer = candidate()
    assert answer == expected
    assert type(answer) is type(expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("namedtuple('P', 'x y')(1, 2)", (1, 2)),
        ("enum.IntEnum('E', 'A').A", 1),
        ("type('S', (str,), {'__eq__': lambda s, o: True})('text')", "text"),
        ("type('L', (list,), {'__eq__': lambda s, o: True})([1])", [1]),
        ("type('D', (dict,), {'__eq__': lambda s, o: True, 'items': lambda s: ()})(a=1)", {"a": 1}),
    ],
)
def test_a_value_of_a_subclass_compares_by_its_content(load, expression, expected):
    candidate = load(
        f"import enum\nfrom collections import namedtuple\ndef f(): return {expression}"
    )
    answer = candidate()
    assert answer == expected
    assert isinstance(answer, type(expected))
    assert answer != type(expected)()


def test_numpy_values_arrive_as_arrays_and_scalars(load):
    np = pytest.importorskip("numpy")
    candidate = load(
        "import numpy as np\n"
        "def f(): return [np.arange(4).reshape(2, 2), np.float64(0.5), np.int8(3), np.bool_(True)]"
    )
    array, *scalars = candidate()
    assert array.tolist() == [[0, 1], [2, 3]]
    assert scalars == [0.5, 3, True]
    assert [type(item) for item in scalars] == [np.float64, np.int8, np.bool_]


def test_what_the_program_changes_in_place_is_changed_here(load):
    candidate = load(
        "def f(items, table, seen, raw):\n"
        "    items[0].append(9); items.pop(); table['new'] = [1]; del table['old']\n"
        "    seen.add(3); raw.extend(b'!')"
    )
    inner, items, table, seen, raw = [1], None, {"old": 0}, {1}, bytearray(b"hi")
    items = [inner, 2]
    candidate(items, table, seen=seen, raw=raw)
    assert items == [[1, 9]]
    assert items[0] is inner
    assert table == {"new": [1]}
    assert seen == {1, 3}
    assert raw == b"hi!"


def test_changes_made_before_an_exception_are_seen_too(load):
    candidate = load("def f(items):\n    items.clear()\n    raise ZeroDivisionError")
    items = [1, 2]
    with pytest.raises(ZeroDivisionError):
        candidate(items)
    assert items == []


@pytest.mark.parametrize("name", ["ValueError", "KeyError", "ZeroDivisionError", "RecursionError"])
def test_built_in_exceptions_arrive_as_themselves(load, name):
    candidate = load(f"def f(): raise {name}('why')")
    with pytest.raises(eval(name)) as caught:
        candidate()
    assert type(caught.value) is eval(name)
    assert caught.value.args == ("why",)
    assert candidate.raised(caught.value)
    assert "program.py" in caught.value.__notes__[0]


def test_an_own_exception_is_named_and_caught_by_its_built_in_base(load):
    candidate = load("class Odd(ValueError): pass\ndef f(): raise Odd('seven')")
    with pytest.raises(ValueError, match="seven") as caught:
        candidate()
    assert isinstance(caught.value, ProgramError)
    assert caught.value.type_name == "Odd"
    assert caught.value.message == "seven"
    assert "Odd: seven" in caught.value.traceback_text


def test_an_exception_of_the_check_is_not_the_programs(load):
    candidate = load(ECHO)
    candidate(1)
    assert not candidate.raised(ValueError())


@pytest.mark.parametrize(
    ("program", "cause", "words"),
    [
        ("def f(:", "syntax", "SyntaxError"),
        ("x = 1 / 0", "exception", "ZeroDivisionError"),
        ("def g(): pass", "interface", "'f'"),
        ("f = 3", "interface", "int"),
        ("def f(x):\n    import os; os._exit(3)", "exception", "status 3"),
        ("def f(x):\n    import ctypes; ctypes.string_at(0)", "exception", "SIGSEGV"),
        ("def f(x): raise MemoryError", "resource", "Memory"),
    ],
)
def test_what_stops_a_program_has_a_cause_and_stays(load, program, cause, words):
    candidate = load(program)
    for _ in range(2):
        with pytest.raises(ProgramStopped) as caught:
            candidate(1)
        assert candidate.raised(caught.value)
    assert candidate.failure.cause == cause
    assert words in candidate.failure.detail


def test_a_call_that_does_not_fit_is_a_type_error_and_a_failed_interface_if_it_ends_the_check(load):
    candidate = load("def f(a, b): return a")
    with pytest.raises(TypeError, match="argument") as caught:
        candidate(1)
    assert candidate(1, 2) == 1
    assert candidate.failure is None
    assert candidate.raised(caught.value)
    failure = candidate.failure
    assert failure is not None
    assert failure.cause == "interface"


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt"])
def test_an_exit_can_be_expected_by_its_type_and_ends_every_other_check(load, name):
    candidate = load(f"def f(x):\n    if x: raise {name}(3)\n    return 1")
    with pytest.raises(eval(name)) as caught:
        candidate(1)
    assert isinstance(caught.value, ProgramInterrupt)
    assert candidate(0) == 1
    assert candidate.failure is None
    assert candidate.raised(caught.value)
    failure = candidate.failure
    assert failure is not None
    assert name in failure.detail


def test_stop_iteration_of_a_call_does_not_end_a_loop_of_the_check(load):
    candidate = load("def f(n):\n    raise StopIteration")
    with pytest.raises(ProgramError, match="StopIteration") as caught:
        list(map(candidate, [1, 2]))
    assert isinstance(caught.value, RuntimeError)


def test_generator_exit_does_not_end_a_generator_of_the_check_in_silence(load):
    candidate = load("def f(n):\n    raise GeneratorExit")

    def values():
        try:
            yield 1
        finally:
            candidate(2)

    generator = values()
    next(generator)
    with pytest.raises(ProgramError, match="GeneratorExit"):
        generator.close()


def test_a_check_that_catches_exceptions_does_not_catch_a_stop(load):
    candidate = load("def f(): raise SystemExit")
    with pytest.raises(ProgramInterrupt), contextlib.suppress(Exception):
        candidate()


def test_a_type_error_within_the_program_is_no_matter_of_interface(load):
    candidate = load("def f(x): return len(x)")
    with pytest.raises(TypeError):
        candidate(1)
    assert candidate.failure is None


def test_an_endless_loop_ends_at_the_limit(load):
    candidate = load("def f():\n    while True: pass", wall=0.3)
    start = time.monotonic()
    with pytest.raises(ProgramStopped, match="timeout"):
        candidate()
    assert time.monotonic() - start < 30
    assert candidate.failure.cause == "timeout"
    assert 0.3 <= candidate.seconds < 30


def test_time_is_summed_over_the_turn_and_the_checks_own_does_not_count(load, monkeypatch):
    monkeypatch.setattr(_watch, "stalled", lambda: 0.0)
    candidate = load("import time\ndef f(): time.sleep(0.2)", wall=0.5)
    candidate()
    time.sleep(0.6)
    candidate()
    with pytest.raises(ProgramStopped, match="timeout"):
        candidate()


def test_cpu_time_of_the_whole_tree_counts(load):
    spin = "import os\ndef f():\n    os.fork(); os.fork()\n    while True: pass"
    candidate = load(spin, wall=20, cpu=0.4)
    with pytest.raises(ProgramStopped):
        candidate()
    assert candidate.failure.cause == "timeout"
    assert "CPU" in candidate.failure.detail


def test_memory_of_the_whole_tree_counts(load):
    candidate = load(
        "import os, time\ndef f():\n"
        "    for _ in range(3):\n"
        "        if not os.fork():\n            x = b'x' * (60 * 2**20); time.sleep(9)\n"
        "    time.sleep(9)",
        memory=100 * 2**20,
        wall=8,
    )
    with pytest.raises(ProgramStopped):
        candidate()
    assert candidate.failure.cause == "resource"


def test_output_is_kept_up_to_its_limit_and_never_blocks(load):
    candidate = load(
        "import sys\ndef f():\n    for _ in range(100): print('x' * 10_000)\n    return 1",
        output=1000,
    )
    assert candidate() == 1
    assert candidate.output == "x" * 1000


def test_output_up_to_the_last_answer_is_there(load):
    candidate = load("def f(n): print('x' * n)", output=10**6)
    for n in (10, 1000, 60_000):
        before = len(candidate.output)
        candidate(n)
        assert len(candidate.output) == before + n + 1


def test_a_callback_runs_here_and_its_exception_there(load):
    candidate = load(
        "def f(function):\n"
        "    try: return function(-1)\n"
        "    except ValueError as e: return [function(2), str(e)]"
    )

    def square(n):
        if n < 0:
            raise ValueError("negative")
        return n * n

    assert candidate(square) == [4, "negative"]


def test_an_assertion_in_a_callback_fails_the_check_though_the_program_catches_it(load):
    candidate = load("def f(function):\n    try: function(-1)\n    except BaseException: return 1")

    def check(n):
        assert n > 0

    with pytest.raises(AssertionError) as caught:
        candidate(check)
    assert not candidate.raised(caught.value)


def test_a_callback_may_call_the_candidate(load):
    candidate = load("def f(n, again=None): return again(n) + 1 if again else n * 10")
    assert candidate(2, candidate) == 21


def test_items_of_generators_are_fetched_when_they_are_needed(load):
    candidate = load("def f():\n    n = 0\n    while True:\n        yield n\n        n += 1")
    numbers = candidate()
    assert next(numbers) == 0
    assert list(itertools.islice(numbers, 300)) == list(range(1, 301))


STACK = """
class f:
    def __init__(self, *items): self.items = list(items)
    def push(self, item): self.items.append(item)
    def pop(self): return self.items.pop()
    def copy(self): return f(*self.items)
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __contains__(self, item): return item in self.items
    def __getitem__(self, i): return self.items[i]
    def __setitem__(self, i, item): self.items[i] = item
    def __delitem__(self, i): del self.items[i]
    def __eq__(self, other): return not isinstance(other, f) or self.items == other.items
    def __lt__(self, other): return True
    def __bool__(self): return bool(self.items)
    def __str__(self): return 'f:' + ','.join(map(str, self.items))
    __repr__ = __str__
    def __enter__(self): return self
    def __exit__(self, *_): self.items.clear()
"""


def test_an_object_of_the_program_is_used_through_a_handle(load):
    stack = load(STACK)(1, 2)
    stack.push(3)
    assert stack.pop() == 3
    assert len(stack) == 2
    assert list(stack) == [1, 2]
    assert 2 in stack
    assert 5 not in stack
    stack[0] = 7
    assert stack[0] == 7
    del stack[0]
    assert (str(stack), repr(stack), stack.items) == ("f:2", "f:2", [2])
    with stack as same:
        assert same == stack
    assert not stack


def test_handles_compare_among_themselves(load):
    candidate = load(STACK)
    one, other = candidate(1), candidate(1)
    assert isinstance(one, Handle)
    assert one == other
    assert one != candidate(2)
    assert one < other


def test_other_names_of_the_program_are_reached_through_its_module(load):
    candidate = load("LIMIT = 3\ndef helper(n): return n + LIMIT\ndef f(): pass")
    assert candidate.module.LIMIT == 3
    assert candidate.module.helper(4) == 7
    with pytest.raises(AttributeError):
        assert candidate.module.missing


CYCLE: list = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "value",
    [time, threading.Lock(), sys._getframe(), CYCLE, "x" * (wire.MAX_BYTES + 1)],
    ids=["module", "lock", "frame", "too deep", "too large"],
)
def test_what_cannot_be_sent_is_an_error_of_the_task_even_if_the_check_catches_it(sandbox, value):
    def judge():
        with sandbox.load(ECHO, entry_point="f") as candidate:
            with pytest.raises(BrokenCheck), contextlib.suppress(Exception):
                candidate(value)
            with pytest.raises(BrokenCheck):
                candidate(1)

    with pytest.raises(TaskError, match="cannot be sent"):
        judge()


@pytest.mark.parametrize(
    "use",
    [
        lambda candidate: candidate("x" * candidate.LARGE),
        lambda candidate: candidate("x" * candidate(candidate.module.LARGE)),
        lambda candidate: candidate.call_back(lambda size: candidate("x" * size)),
    ],
    ids=["attribute", "answer", "callback"],
)
def test_a_size_that_the_program_may_have_chosen_is_its_failure(sandbox, use):
    source = f"{ECHO}\nf.LARGE = LARGE = {wire.MAX_BYTES + 1}\nf.call_back = lambda g: g(LARGE)"
    with sandbox.load(source, entry_point="f") as candidate:
        with pytest.raises(ProgramStopped):
            use(candidate)
        assert candidate.failure.cause == "resource"
        assert "its size may depend on the program" in candidate.failure.detail


@pytest.mark.parametrize(
    ("fixture", "words"),
    [
        ("capsys", "candidate.output"),
        ("monkeypatch", "argument"),
        ("caplog", "candidate.output"),
        ("recwarn", "candidate.output"),
    ],
)
def test_a_fixture_of_the_host_says_what_to_use_instead(sandbox, request, fixture, words):
    with (
        pytest.raises(TaskError, match=words),
        sandbox.load(ECHO, entry_point="f") as candidate,
        pytest.raises(BrokenCheck),
    ):
        candidate(request.getfixturevalue(fixture))


def test_a_function_whose_result_cannot_be_sent_is_an_error_of_the_task(sandbox):
    with (
        pytest.raises(TaskError, match="a result cannot be sent"),
        sandbox.load("def f(make): return make()", entry_point="f") as candidate,
        pytest.raises(BrokenCheck),
    ):
        candidate(lambda: [threading.Lock()])


def test_a_result_that_the_program_chose_is_an_exception_there(load):
    candidate = load("def f(make): return make('lock')")
    with pytest.raises(TypeError, match="a result cannot be sent"):
        candidate({"lock": threading.Lock()}.get)


@pytest.fixture
def database():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t(a)")
        connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (3,)])
        connection.commit()
        yield connection


def test_a_database_that_the_check_is_reading_cannot_be_changed(sandbox, database):
    program = "def f(c): c.execute('UPDATE t SET a = a + 1')"
    cursor = database.execute("SELECT a FROM t")
    cursor.fetchone()
    with (
        pytest.raises(TaskError, match="fetchall"),
        sandbox.load(program, entry_point="f") as candidate,
        pytest.raises(BrokenCheck, match="fetchall"),
    ):
        candidate(database)


def test_a_database_that_the_program_is_reading_cannot_be_changed(load, database):
    rows = load("def f(c): yield from c.execute('SELECT a FROM t')")(database)
    next(rows)
    database.execute("UPDATE t SET a = a + 1")
    database.commit()
    with pytest.raises(ProgramStopped, match="being read"):
        next(rows)


@pytest.mark.parametrize("change", ["self.all[0].clear()", "self.all[0][0] = 2"])
def test_the_hook_is_called_before_a_list_of_the_check_changes(sandbox, change):
    class Loan(BaseException):
        pass

    def hook():
        raise Loan

    program = f"class f:\n    def __init__(self): self.all = []\n    def count(self): {change}"
    own = [1]
    with sandbox.load(program, entry_point="f", before_loan=hook) as candidate:
        made = candidate()
        made.all.append(own)
        items = made.all
        items.append(own)
        with pytest.raises(Loan):
            made.count()
    assert own == [1]


ORDERED = "class f:\n    def __lt__(self, other): {body}\n    __eq__ = __sub__ = __lt__"


@pytest.mark.parametrize(
    "use",
    [lambda x: x < 5, lambda x: x - 5, lambda x: x == 5, lambda x: [x].index(5)],
    ids=["<", "-", "==", "index"],
)
def test_an_operator_with_a_value_of_the_check_may_raise_but_decides_nothing(load, use):
    with pytest.raises(TypeError, match="unlike"):
        use(load(ORDERED.format(body="raise TypeError('unlike')"))())
    candidate = load(ORDERED.format(body="return True"))
    with pytest.raises(ProgramStopped, match="cannot decide"), contextlib.suppress(Exception):
        use(candidate())
    assert candidate.failure.cause == "interface"


def test_a_class_of_the_check_cannot_derive_from_one_of_the_program(sandbox):
    with (
        pytest.raises(TaskError, match="cannot derive"),
        sandbox.load("class f: pass", entry_point="f") as candidate,
        pytest.raises(BrokenCheck, match="cannot derive"),
        contextlib.suppress(Exception),
    ):

        class Derived(candidate.module.f):  # type: ignore[name-defined]
            pass


def test_an_object_of_the_program_cannot_be_pickled_here(load):
    candidate = load("class f: pass")
    with pytest.raises(ProgramStopped, match="pickled"):
        pickle.dumps(candidate())


@pytest.mark.parametrize("base", ["BaseException", "Exception", "SystemExit", "ValueError"])
@pytest.mark.parametrize(
    "attribute", ["failure", "promptse_link", "promptse_interface", "args", "message", "cause"]
)
def test_no_attribute_of_an_exception_changes_the_verdict(load, base, attribute):
    candidate = load(
        f"class Odd({base}): pass\nclass Forged: cause = ''; detail = ''\n"
        f"def f():\n    error = Odd()\n    error.__dict__['{attribute}'] = Forged()\n"
        "    raise error"
    )
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - any of them
        candidate()
    assert isinstance(caught.value, CheckEnded | Exception)
    assert candidate.raised(caught.value)
    assert base.endswith(("Error", "Exception")) or candidate.failure.cause == "exception"


def test_an_object_of_an_ended_program_is_no_exception_that_a_check_may_expect(sandbox):
    with sandbox.load("class f: pass", entry_point="f") as candidate:
        kept = candidate()
    with pytest.raises(BrokenCheck, match="verdict was given before"):
        assert kept.name


def test_a_script_runs_as_main_with_input_and_arguments(load):
    candidate = load(
        "import sys\nif __name__ == '__main__':\n"
        "    print(input() + sys.argv[1])\n    print('oops', file=sys.stderr)\n    sys.exit(3)"
    )
    result = candidate.run(stdin="a\n", args=["b"])
    assert (result.stdout, result.stderr, result.returncode) == ("ab\n", "oops\n", 3)
    assert candidate.failure is None


def test_a_script_that_raises_ends_with_a_traceback_and_status_one(load):
    result = load("raise ValueError('no')").run()
    assert result.returncode == 1
    assert result.stderr.endswith("ValueError: no\n")


def test_a_script_takes_megabytes_of_input(load):
    result = load("import sys\nprint(len(sys.stdin.read()))").run(stdin="x" * 3_000_000)
    assert result.stdout == "3000000\n"


def test_a_program_counts_as_used_when_its_first_value_arrives(load):
    quiet, printing = load(ECHO), load(f"print(1, flush=True)\n{ECHO}")
    for candidate in (quiet, printing):
        assert candidate.module
    assert (quiet.used, printing.used) == (False, True)
    quiet(1)
    assert quiet.used


def test_a_script_and_the_module_may_both_be_used(load):
    candidate = load("def f(): return 1\nif __name__ == '__main__': print(2)")
    assert candidate() == 1
    assert candidate.run().stdout == "2\n"
    assert candidate() == 1


def test_a_script_that_does_not_compile_is_a_syntax_failure(load):
    candidate = load("print(")
    with pytest.raises(ProgramStopped, match="syntax"):
        candidate.run()
    assert candidate.failure.cause == "syntax"


def test_a_program_too_large_to_send_has_failed(load):
    candidate = load("#" * (wire.MAX_BYTES + 1))
    with pytest.raises(ProgramStopped, match="resource"):
        candidate(1)


def test_a_script_that_loops_is_stopped(load):
    candidate = load("while True: pass", wall=0.3)
    with pytest.raises(ProgramStopped, match="timeout"):
        candidate.run()


def test_a_broken_program_that_the_check_never_called_is_found_out(sandbox):
    with sandbox.load("def f(:", entry_point="f") as candidate:
        pass
    assert candidate.failure.cause == "syntax"


def test_a_verdict_leaves_no_exception_to_the_collector(sandbox):
    program = "class E(ValueError): pass\ndef f(): raise E('x' * 1000)"
    gc.disable()
    try:
        with sandbox.load(program, entry_point="f") as candidate:
            try:
                candidate()
            except ValueError as error:
                raised = weakref.ref(error)
        assert raised() is None
    finally:
        gc.enable()


def test_only_the_first_message_can_tell_of_a_syntax_error(load):
    message = encode(("result", ("syntax", "forged", ""), None))
    frame = len(message).to_bytes(4, "big") + message
    candidate = load(f"import os\nos.write(3, {frame!r})\ndef f(): pass")
    with pytest.raises(ProgramStopped):
        candidate()
    assert candidate.failure.cause == "exception"
    assert load("def f(:").failure.cause == "syntax"


def test_the_entry_point_is_a_subclass_of_the_bases_of_its_class(load):
    candidate = load("class Odd(ValueError): pass\nclass f(Odd): pass")
    assert issubclass(candidate, ValueError)
    assert issubclass(candidate, candidate.Odd)
    assert not issubclass(candidate, KeyError)
    assert not issubclass(load("def f(): pass"), ValueError)


class Zipped:
    """A sequence that is compared as `pytest.approx` of pytest 8 does it."""

    __hash__ = None

    def __init__(self, values):
        self.values = values

    def __eq__(self, other):
        return len(other) == len(self.values) and all(
            a == b for a, b in zip(other, self.values, strict=False)
        )


@pytest.mark.parametrize("base", ["", "(list)", "(tuple)"])
@pytest.mark.parametrize(("size", "items"), [*itertools.product(range(3), repeat=2)])
def test_a_comparison_reads_a_length_and_as_many_items(load, base, size, items):
    candidate = load(
        f"class f{base}:\n"
        f"    def __len__(self): return {size}\n"
        f"    def __iter__(self): return iter(range({items}))"
    )
    value = candidate()
    assert [*value] == [*range(items)]
    assert value != Zipped([0] * (size + 1))
    if size == items:
        assert value == Zipped([*range(size)])
        return
    with pytest.raises(ProgramStopped):
        assert value == Zipped([*range(size)])
    assert candidate.failure.cause == "interface"
