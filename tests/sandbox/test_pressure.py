"""A verdict must not depend on what else the machine has to do."""

import itertools
import time

import pytest

from pytest_promptse.sandbox import pressure
from pytest_promptse.sandbox.causes import ProgramStopped

SLOW = "import time\ndef f(): time.sleep(0.6); return 1"


def test_seconds_in_which_processors_were_short_do_not_count(load, monkeypatch):
    monkeypatch.setattr(pressure, "stalled", time.monotonic)
    assert load(SLOW, wall=0.3)() == 1


def test_on_an_idle_machine_every_second_counts(load, monkeypatch):
    monkeypatch.setattr(pressure, "stalled", lambda: 7.0)
    with pytest.raises(ProgramStopped) as stopped:
        load(SLOW, wall=0.3)()
    assert stopped.value.failure.detail == "no answer within 0.3 s"


def test_a_machine_that_is_never_free_does_not_keep_a_program_waiting_for_ever(load, monkeypatch):
    hours = itertools.count(step=3600.0)
    monkeypatch.setattr(pressure, "stalled", lambda: next(hours))
    candidate = load("import time\ndef f(): time.sleep(3600)", wall=0.1)
    began = time.monotonic()
    with pytest.raises(ProgramStopped):
        candidate()
    assert time.monotonic() - began >= 0.5


def test_the_kernels_account_only_grows():
    first = pressure.stalled()
    assert pressure.stalled() >= first >= 0


def test_where_the_kernel_keeps_no_account_nothing_is_spared(monkeypatch, tmp_path):
    monkeypatch.setattr(pressure, "_FILE", str(tmp_path / "none"))
    assert pressure.stalled() == 0
