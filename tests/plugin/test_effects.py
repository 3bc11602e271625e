"""Effects of a check come back as data, and happen once more in pytest's process."""

from __future__ import annotations

import logging
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.plugin._effects import collect_effects, replay_effects


class OwnWarning(UserWarning):
    """A class that only the process of the check knows."""


LOG = logging.getLogger("check")


@pytest.fixture(autouse=True)
def _breakpoints(monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", sys.breakpointhook)


def collected(block):
    with collect_effects() as effects:
        block()
        return effects()


def test_output_of_the_check_is_written_again(capsys):
    sys.stdout.write("before ")
    data = collected(lambda: (sys.stdout.write("out\x1b"), sys.stderr.write("err")))
    capsys.readouterr()
    replay_effects(data)
    assert capsys.readouterr() == ("out\\x1b", "err")


def test_a_long_output_is_cut(capsys):
    data = collected(lambda: sys.stdout.write("x" * 100_001))
    capsys.readouterr()
    replay_effects(data)
    assert capsys.readouterr() == ("x" * 100_000, "")


def test_nothing_is_repeated_without_effects(capsys, caplog, recwarn):
    replay_effects(b"")
    replay_effects(collected(lambda: None))
    assert capsys.readouterr() == ("", "")
    assert caplog.records == list(recwarn) == []


def test_log_records_are_handled_again_with_their_place_and_error(caplog):
    def check():
        try:
            _ = {}["key"]
        except KeyError:
            LOG.exception("broken \x1b")

    caplog.set_level(logging.INFO)
    LOG.warning("before")
    data = collected(check)
    [_, original] = caplog.records
    caplog.clear()
    replay_effects(data)
    [record] = caplog.records
    assert (record.name, record.levelno, record.getMessage()) == ("check", 40, "broken \\x1b")
    for name in ("pathname", "lineno", "funcName", "created"):
        assert getattr(record, name) == getattr(original, name)
    assert "KeyError" in record.exc_text


def test_a_record_below_the_level_of_a_handler_is_left_out(caplog):
    caplog.set_level(logging.INFO)
    data = collected(lambda: (LOG.info("low"), LOG.warning("high")))
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        replay_effects(data)
    assert caplog.messages == ["high"]


def test_of_very_many_records_and_warnings_the_first_thousand_are_kept(caplog):
    def check():
        for number in range(1001):
            LOG.warning("%d", number)
            warnings.warn(f"{number}", stacklevel=1)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        data = collected(check)
        caplog.clear()
        found.clear()
        replay_effects(data)
    assert [len(caplog.records), len(found)] == [1000, 1000]


def test_warnings_are_shown_again_with_their_place():
    def check():
        warnings.warn("known", DeprecationWarning, stacklevel=1)
        warnings.warn("own", OwnWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("before", stacklevel=1)
        data = collected(check)
        places = [(one.filename, one.lineno) for one in found[1:]]
        found.clear()
        replay_effects(data)
    assert [(str(one.message), one.category) for one in found] == [
        ("known", DeprecationWarning),
        ("own", UserWarning),
    ]
    assert [(one.filename, one.lineno) for one in found] == places


def test_a_category_that_names_a_function_is_a_user_warning():
    entry = ["text", "exec", "file.py", 3]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        replay_effects(msgspec.msgpack.encode(["", "", [], [entry], b""]))
    assert [one.category for one in found] == [UserWarning]


def test_a_breakpoint_in_a_check_says_what_it_needs():
    with pytest.raises(TaskError, match="needs --pdb"):
        collected(breakpoint)


class Data:
    """Stands for the lines that coverage.py has seen."""

    def __init__(self, *, no_disk):
        assert no_disk
        self.lines = b""

    def dumps(self):
        return self.lines

    def loads(self, lines):
        self.lines = lines


def test_lines_that_coverage_has_seen_are_added_to_those_of_pytests_process(monkeypatch):
    added = []
    measuring: Any = None

    def flush():
        collector.covdata.lines = b"lines"

    collector = SimpleNamespace(flush_data=flush)
    current = SimpleNamespace(
        _collector=collector,
        get_data=lambda: SimpleNamespace(update=lambda data: added.append(data.lines)),
    )
    module = SimpleNamespace(CoverageData=Data, Coverage=SimpleNamespace(current=lambda: measuring))
    monkeypatch.setitem(sys.modules, "coverage", module)
    measuring = current
    data = collected(lambda: None)
    replay_effects(data)
    assert added == [b"lines"]
    measuring = None
    replay_effects(data)
    replay_effects(collected(lambda: None))
    measuring = current
    replay_effects(msgspec.msgpack.encode(["", "", [], [], b""]))
    assert added == [b"lines"]
    monkeypatch.delitem(sys.modules, "coverage")
    assert msgspec.msgpack.decode(collected(lambda: None))[-1] == b""
