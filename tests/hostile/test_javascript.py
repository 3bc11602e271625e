"""Hostile programs in JavaScript, which checks call: none passes, hangs or harms."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from javascript_programs import called
from program_runs import open_sandbox_with_toolchains

from pytest_promptse.sandbox._candidate import ProgramStopped
from pytest_promptse.sandbox._limits import Limits

LIMITS = Limits(wall=1.0, cpu=1.0)
CORPUS = Path(__file__).with_name("javascript") / "programs.js"
PROGRAMS = dict(
    part.split("\n", 1) for part in CORPUS.read_text(encoding="utf-8").split("\n//// ")[1:]
)


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox_with_toolchains() as pool:
        yield pool


def passes(candidate):
    """Return whether a check for 42 accepts the program."""
    try:
        result = candidate()
        if hasattr(result, "__await__"):
            result = asyncio.run(asyncio.wait_for(result, 5))
        assert result == 42
    except (AssertionError, ProgramStopped):
        return False
    except Exception as error:
        assert candidate.raised(error) or isinstance(error, TimeoutError), error
        return False
    return candidate.failure is None


@pytest.mark.parametrize("title", PROGRAMS)
def test_no_program_decides_its_verdict(sandbox, title):
    with called(sandbox, PROGRAMS[title], limits=LIMITS) as candidate:
        assert not passes(candidate)


def test_a_right_program_passes(sandbox):
    with called(sandbox, "async function f() { return 42; }", limits=LIMITS) as candidate:
        assert passes(candidate)
