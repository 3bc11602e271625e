"""While one program runs, a process is made ready for the next in another jail."""

import os
import signal
import time
from pathlib import Path

import pytest

from pytest_promptse.sandbox import _pool
from pytest_promptse.sandbox._causes import ProgramStopped
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits

GREEDY = "def f(size): return len(bytearray(size))"


@pytest.fixture
def ahead(bwrap, monkeypatch):
    """A sandbox of two workers that has made a spare."""
    monkeypatch.setattr(_pool, "_WORTH_ANOTHER_JAIL", 0)
    with open_sandbox("bwrap", workers=2) as sandbox:
        assert answer(sandbox, 1) == 1
        assert len(sandbox._all) == 2
        yield sandbox


def answer(sandbox, size, **options):
    with sandbox.load(GREEDY, entry_point="f", **options) as candidate:
        return candidate(size)


def gone(process):
    deadline = time.monotonic() + 20
    while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not Path(f"/proc/{process}").exists()


def test_programs_take_turns_in_the_jails(ahead):
    program = "import os\ndef f():\n    os.mkdir('/tmp/mine')\n    return os.getpid()"
    for _ in range(6):
        with ahead.load(program, entry_point="f") as candidate:
            assert candidate() == 1
    assert len(ahead._all) == 2


def test_a_spare_is_bound_by_the_limits_of_the_program_it_gets(ahead):
    size = 150 * 2**20
    assert answer(ahead, size) == size
    for _ in range(3):
        with pytest.raises(ProgramStopped, match="resource"):
            answer(ahead, size, limits=Limits(memory=64 * 2**20))
        assert answer(ahead, size) == size


def test_a_spare_is_timed_by_the_limits_of_the_program_it_gets(ahead):
    endless = "def f():\n    while True: pass"
    limits = Limits(wall=60, cpu=1.4)
    for _ in range(2):
        with ahead.load("def f(): return 1", entry_point="f", limits=limits) as candidate:
            assert candidate() == 1
    quick = Limits(wall=60, cpu=1.1)
    program = ahead.load(endless, entry_point="f", limits=quick)
    with program as candidate, pytest.raises(ProgramStopped, match=r"over 1\.1 s"):
        candidate()


def test_a_spare_that_died_waiting_is_no_verdict(ahead):
    for worker in ahead._all:
        zygote = worker.zygote
        os.kill(zygote, signal.SIGKILL)
        assert gone(zygote)
    for size in range(4):
        assert answer(ahead, size) == size


def test_a_script_takes_no_spare_and_is_not_charged_for_one(ahead):
    for _ in range(2):
        with ahead.load("print(input())", entry_point="f") as candidate:
            assert candidate.run(stdin="4\n").stdout == "4\n"
        assert answer(ahead, 3) == 3


def test_a_spare_does_not_outlive_the_sandbox(ahead):
    zygotes = [worker.zygote for worker in ahead._all]
    ahead.close()
    assert all(map(gone, zygotes))
