"""Programs are limited even while the checker is busy."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time

import pytest

from pytest_promptse.sandbox import _execution, _watch
from pytest_promptse.sandbox._causes import ProgramStopped
from pytest_promptse.sandbox._limits import Limits

MIB = 2**20
SLOW = "import time\ndef f(): time.sleep(0.6); return 1"
UNWAITED = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        while time.process_time() < 0.2: pass
        os._exit(0)
    time.sleep(0.05)
"""


def test_the_time_of_processes_that_nobody_waits_for_is_counted():
    with subprocess.Popen([sys.executable, "-c", UNWAITED]) as parent:
        # The parent itself is left out, as the zygote is.
        meter = _watch.Meter(parent.pid)
        used, deadline = 0.0, time.monotonic() + 60
        while used < 1.0 and time.monotonic() < deadline:
            time.sleep(0.02)
            now = meter.measure().cpu
            assert now >= used - 0.02
            used = now
        parent.kill()
    assert used >= 1.0


def test_the_time_of_a_process_that_was_waited_for_is_counted_once():
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n    while time.process_time() < 0.5: pass\n    os._exit(0)\n"
        "os.wait(); time.sleep(60)"
    )
    shell = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    with subprocess.Popen([sys.executable, "-c", shell]) as parent:
        meter = _watch.Meter(parent.pid)
        used, deadline = 0.0, time.monotonic() + 60
        while used < 0.4 and time.monotonic() < deadline:
            time.sleep(0.02)
            used = meter.measure().cpu
        for _ in range(10):
            time.sleep(0.05)
            used = meter.measure().cpu
        _watch.kill_descendants(parent.pid)
        parent.kill()
    assert 0.4 <= used < 0.8


def test_many_open_descriptors_count_as_memory(bwrap):
    program = (
        "import os, time\ndef f():\n    for _ in range(40):\n        if os.fork() == 0:\n"
        "            kept = [os.pipe() for _ in range(120)]\n            time.sleep(60)\n"
        "    time.sleep(60)\n"
    )
    limits = Limits(wall=60, memory=256 * MIB)
    with (
        bwrap.load(program, entry_point="f", limits=limits) as candidate,
        pytest.raises(ProgramStopped, match="over 256 MiB"),
    ):
        candidate()


def test_a_program_that_exceeds_its_limits_while_the_check_works_has_failed(bwrap):
    program = (
        "import os\ndef f():\n    if os.fork() == 0:\n        while True: pass\n    return 1\n"
    )
    with bwrap.load(program, entry_point="f", limits=Limits(wall=60, cpu=0.5)) as candidate:
        assert candidate() == 1
        deadline = time.monotonic() + 60
        while candidate._execution.exceeded is None and time.monotonic() < deadline:
            time.sleep(0.05)
    assert candidate.failure is not None
    assert candidate.failure.cause == "timeout"


def test_time_in_which_a_program_does_not_read_counts(bwrap):
    program = (
        "import sys, time\n"
        "sys._getframe(1).f_globals['os'].read = lambda *_: time.sleep(60)\n"
        "def f(text): pass\n"
    )
    with bwrap.load(program, entry_point="f", limits=Limits(wall=0.5)) as candidate:
        for _ in range(3):
            with pytest.raises(ProgramStopped, match="no answer within"):
                candidate("x" * 4 * MIB)
    assert 0.5 <= candidate.seconds < 0.5 * (_execution._MOST_PATIENCE + 1)


def test_callbacks_are_bounded_in_number(bwrap, monkeypatch):
    monkeypatch.setattr(_execution, "MAX_CALLBACKS", 10)
    program = "def f(use):\n    while True: use()\n"
    with (
        bwrap.load(program, entry_point="f", limits=Limits(wall=60)) as candidate,
        pytest.raises(ProgramStopped, match="called back more than 10 times"),
    ):
        candidate(lambda: None)


def test_callbacks_are_bounded_in_time(bwrap):
    program = "def f(use):\n    while True: use(2, 3 * 10**7)\n"
    with (
        bwrap.load(program, entry_point="f", limits=Limits(wall=1, cpu=60)) as candidate,
        pytest.raises(ProgramStopped, match="timeout"),
    ):
        candidate(lambda base, power: bool(base**power % 7))


def wait(seconds):
    time.sleep(seconds)


def wait_for(is_done):
    while not is_done():
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("body", "lent"),
    [
        pytest.param("while True: lent(0.01)", wait, id="many"),
        pytest.param("lent(lambda: False)", wait_for, id="asks back"),
    ],
)
def test_callbacks_that_wait_are_bounded_in_time(bwrap, monkeypatch, body, lent):
    # As on a machine on which everything has to wait for a processor.
    monkeypatch.setattr(_watch, "stalled", time.monotonic)
    start = time.monotonic()
    with (
        bwrap.load(
            f"def f(lent):\n    {body}\n", entry_point="f", limits=Limits(wall=0.5, cpu=60)
        ) as candidate,
        pytest.raises(ProgramStopped, match="callbacks of the check took over 1 s"),
    ):
        candidate(lent)
    assert time.monotonic() - start < 20


def test_the_watchdog_ends_with_its_pool():
    dog = _watch.Watchdog()

    calls = []

    def watch():
        calls.append(1)
        return 1.0

    dog.add(watch)
    deadline = time.monotonic() + 20
    while len(calls) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    dog.remove(watch)
    dog.close()
    assert len(calls) >= 3
    assert not dog._thread.is_alive()


def test_seconds_in_which_processors_were_short_do_not_count(load, monkeypatch):
    monkeypatch.setattr(_watch, "stalled", time.monotonic)
    assert load(SLOW, wall=0.3)() == 1


def test_on_an_idle_machine_every_second_counts(load, monkeypatch):
    monkeypatch.setattr(_watch, "stalled", lambda: 7.0)
    with pytest.raises(ProgramStopped) as stopped:
        load(SLOW, wall=0.3)()
    assert "no answer within 0.3 s" in str(stopped.value)


def test_a_machine_that_is_never_free_does_not_keep_a_program_waiting_for_ever(load, monkeypatch):
    hours = itertools.count(step=3600.0)
    monkeypatch.setattr(_watch, "stalled", lambda: next(hours))
    candidate = load("import time\ndef f(): time.sleep(3600)", wall=0.1)
    began = time.monotonic()
    with pytest.raises(ProgramStopped):
        candidate()
    assert time.monotonic() - began >= 0.5


def test_the_kernels_account_only_grows():
    first = _watch.stalled()
    assert _watch.stalled() >= first >= 0


def test_where_the_kernel_keeps_no_account_nothing_is_spared(monkeypatch, tmp_path):
    monkeypatch.setattr(_watch, "_PRESSURE_FILE", str(tmp_path / "none"))
    assert _watch.stalled() == 0
