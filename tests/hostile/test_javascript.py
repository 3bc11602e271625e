"""Hostile programs in JavaScript, which checks call: none passes, hangs or harms."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path

import pytest
from javascript_programs import called
from program_runs import open_sandbox_with_toolchains

from pytest_promptse.errors import TaskError
from pytest_promptse.sandbox._candidate import ProgramStopped
from pytest_promptse.sandbox._limits import Limits

LIMITS = Limits(wall=1.0, cpu=1.0)
CORPUS = Path(__file__).with_name("javascript")


def corpus(name):
    """Return the programs of a file by title. What precedes the first is put before each."""
    prelude, *parts = (CORPUS / name).read_text(encoding="utf-8").split("\n//// ")
    programs = dict(part.split("\n", 1) for part in parts)
    assert len(programs) == len(parts)
    return {title: f"{prelude}\n{program}" for title, program in programs.items()}


PROGRAMS = corpus("programs.js") | corpus("messages.js") | corpus("programs.ts")


def expect_value(candidate):
    result = candidate()
    if hasattr(result, "__await__"):
        result = asyncio.run(asyncio.wait_for(result, 5))
    assert result == 42


def expect_exception(candidate):
    with pytest.raises(ValueError, match="bad"):
        candidate()


def expect_items(candidate):
    assert [*islice(candidate(), 4)] == [1, 2, 3]


def expect_length(candidate):
    result = candidate()
    assert len(result) == 3
    assert list(result) == [1, 2, 3]


def expect_member(candidate):
    result = candidate()
    assert 1 in result
    assert 7 not in result
    assert 8 in list(result)


def expect_text(candidate):
    result = candidate()
    assert isinstance(result, str)
    assert result == "answer"


def expect_attribute(candidate):
    result = candidate()
    assert result.x == result.x == 42


def expect_change(candidate):
    values = [3, 1, 2]
    assert candidate(values) is values
    assert values == [1, 2, 3]


def expect_calls(candidate):
    calls = []

    def callback(value):
        assert isinstance(value, int)
        calls.append(value)
        return value

    assert candidate(callback) == 42
    assert calls == [1, 2]


def expect_echo(candidate):
    assert candidate(candidate("x")) == "x"


def expect_instance(candidate):
    result = candidate()
    assert isinstance(result, candidate.module.A)
    assert type(result) is candidate.module.A


CHECKS = {
    "value": (expect_value, "async function f() { return 42; }"),
    "raises": (expect_exception, "function f() { throw new RangeError('bad'); }"),
    "iterates": (expect_items, "function* f() { yield* [1, 2, 3]; }"),
    "length": (expect_length, "const f = () => [1, 2, 3];"),
    "contains": (expect_member, "const f = () => new Set([1, 8]);"),
    "text": (expect_text, "const f = () => 'answer';"),
    "attribute": (expect_attribute, "class A { x = 42; } const f = () => new A();"),
    "mutates": (expect_change, "const f = (xs) => xs.sort();"),
    "calls": (expect_calls, "function f(g) { [1, 2].forEach((x) => g(x)); return 42; }"),
    "echo": (expect_echo, "const f = (x) => x;"),
    "instance": (expect_instance, "class A {} const f = () => new A();"),
}


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox_with_toolchains() as pool:
        yield pool


def passes(candidate, check):
    """Return whether a check accepts the program, as the judge sees it."""
    try:
        check(candidate)
    except (AssertionError, ProgramStopped):
        return False
    except pytest.fail.Exception:
        return False
    except (Exception, BaseException) as error:
        assert candidate.raised(error) or isinstance(error, TimeoutError | TypeError), error
        return False
    return candidate.failure is None


@pytest.mark.parametrize("title", PROGRAMS)
def test_no_program_decides_its_verdict(sandbox, title):
    check, _ = CHECKS[title.partition(" | ")[2] or "value"]
    language = "typescript" if title.startswith("typescript: ") else "javascript"
    with called(sandbox, PROGRAMS[title], language=language, limits=LIMITS) as candidate:
        assert not passes(candidate, check)


@pytest.mark.parametrize("name", CHECKS)
def test_a_right_program_passes(sandbox, name):
    check, program = CHECKS[name]
    with called(sandbox, program, limits=LIMITS) as candidate:
        assert passes(candidate, check)


def test_a_program_that_cannot_be_sent_is_no_error_of_the_session(sandbox):
    with pytest.raises((TaskError, ProgramStopped)), called(sandbox, "x" * 2**26) as candidate:
        candidate()
