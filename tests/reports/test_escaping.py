from __future__ import annotations

import pytest
from msgspec.structs import replace

from pytest_promptse.reports._escaping import escaped
from pytest_promptse.reports._formatting import console, printed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("\x00", "\\x00"),
        ("a\x08b\x0cc", "a\\x08b\\x0cc"),
        ("\\\x08", "\\\\x08"),
        ("\x7f\x9f", "\\x7f\\x9f"),
        ("left\u202eright", "left\\u202eright"),
        ("\u2066", "\\u2066"),
        ("\ud800", "\\ud800"),
        ("\uffff", "\\uffff"),
    ],
)
def test_what_acts_is_written_out(record, text, shown):
    [task] = escaped(replace(record, tasks=[replace(record.tasks[0], id=text)])).tasks
    assert task.id == shown


@pytest.mark.parametrize("text", ["a\tb\r\nc", "\\b \\f \\u001b", "\\\\b", '"é" ⚑', ""])
def test_what_only_looks_like_it_is_left_as_it_is(record, text):
    before = replace(record, tasks=[replace(record.tasks[0], id=text)])
    assert escaped(before) is before


def test_no_text_in_a_terminal_report_is_a_command_to_a_runner():
    out = console(width=60, colours=False)
    out.print("::error file=a.py::no\n  ##[group]x\na ::b ##vso[task.x]c")
    assert printed(out) == "\\::error file=a.py::no\n  #\\#[group]x\na ::b #\\#vso[task.x]c"
