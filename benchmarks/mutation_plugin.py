"""Plugin of pytest for ``mutation.py``: the same examples every time, and which test runs now."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from collections.abc import Generator

# The number of the running test, for the context of coverage in processes that it starts.
TEST = "MUTATION_TEST"
# The file to which the tests and their seconds are written.
TESTS_FILE = "MUTATION_TESTS_FILE"
SECONDS = pytest.StashKey[dict[str, float]]()


def pytest_configure() -> None:
    """Let properties take the same examples every time, and not shrink a failure."""
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutation", derandomize=True, database=None, phases=phases)
    settings.load_profile("mutation")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Number the tests, and write how long each took."""
    seconds: dict[str, float] = {item.nodeid: 0.0 for item in session.items}
    session.config.stash[SECONDS] = seconds
    try:
        return (yield)
    finally:
        if TESTS_FILE in os.environ:
            Path(os.environ[TESTS_FILE]).write_text(json.dumps(seconds), encoding="utf-8")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tell coverage which test runs, here and in the processes that it starts."""
    seconds = item.config.stash[SECONDS]
    number = str(list(seconds).index(item.nodeid))
    os.environ[TEST] = number
    if measured := coverage.Coverage.current():
        measured.switch_context(number)
    began = time.monotonic()
    try:
        return (yield)
    finally:
        seconds[item.nodeid] = round(time.monotonic() - began, 3)
