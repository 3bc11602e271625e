"""Answers as models write them get the verdict that a person would give."""

from __future__ import annotations

import contextlib
import io
import resource
import sys
import time

import pytest

from pytest_promptse.models import _prune
from pytest_promptse.models._extract import extract
from pytest_promptse.models._statements import MAX_SOURCE

sys.path.insert(0, __file__.rpartition("/")[0])
from completions import ANSWERS, RIGHT, F, py

sys.path.pop(0)
PROMPT = {
    "call": "Write a Python function `successor(n)` that returns n + 1.",
    "run": "Write a Python program that reads a number and prints the next one.",
}


def extracted(text, how, *, finish_reason="stop", prompt=None):
    return extract(
        text,
        prompt=prompt or PROMPT[how],
        entry_point="successor",
        form="chat",
        finish_reason=finish_reason,
    )


def call(program, monkeypatch):
    """Import the program and call it; standard input is empty, as in the sandbox."""
    names = {"__name__": "program"}
    module = type(sys)("program")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "argv", ["program.py"])
    monkeypatch.setitem(sys.modules, "program", module)
    names = module.__dict__
    exec(compile(program, "program.py", "exec"), names)
    return [names["successor"](n) for n in (0, 1, 41)] == [1, 2, 42]


def run(program, monkeypatch):
    """Run the program as a script."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("41\n"))
    monkeypatch.setattr(sys, "argv", ["program.py"])
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.suppress(SystemExit):
        exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})
    return written.getvalue().strip() == "42"


def verdict(text, how, monkeypatch):
    found = extracted(text, how)
    if found.program is None:
        return found.cause
    limit = sys.getrecursionlimit()
    try:
        return "pass" if {"call": call, "run": run}[how](found.program, monkeypatch) else "fail"
    except (Exception, SystemExit):  # noqa: BLE001 - whatever an answer raises
        return "fail"
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("how", "expected", "text"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_gets_the_verdict_that_a_person_would_give(how, expected, text, monkeypatch):
    assert verdict(text, how, monkeypatch) == expected, extracted(text, how).program


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "text",
    [text for how, verdict, text in ANSWERS.values() if (how, verdict) == ("call", "pass")],
    ids=[name for name, (how, verdict, _) in ANSWERS.items() if (how, verdict) == ("call", "pass")],
)
def test_an_answer_to_a_stub_gets_the_same_verdict(text, monkeypatch):
    prompt = 'def successor(n: int) -> int:\n    """Return n + 1."""\n'
    program = extracted(text, "call", prompt=prompt).program
    assert call(program, monkeypatch)
    assert "print(" not in program.replace("print('bad')", "")


def test_there_are_enough_of_them():
    assert len(ANSWERS) >= 100


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{F}python\ndef successor(n):\n    if n <", "truncated"),
        (f"{F}python\nn = int(input())\nprint(n +", "truncated"),
        (f"{F}python\nn = int(input())\nprint(n + 1)", "truncated"),
        ("Let me think about", "truncated"),
    ],
)
def test_an_answer_that_was_cut_off_is_truncated(text, cause):
    assert extracted(text, "run", finish_reason="length").cause == cause


def test_a_script_in_a_closed_fence_counts_though_the_text_after_it_was_cut_off():
    text = py("n = int(input())\nprint(n + 1)") + "\n\nThis reads a num"
    assert "int(input())" in extracted(text, "run", finish_reason="length").program


def test_an_answer_that_is_too_long_to_parse_is_left_to_the_sandbox():
    listed = "TABLE = [" + "1," * (MAX_SOURCE // 2) + "]\n" + RIGHT
    assert extracted(py(listed), "call").program == listed.rstrip()


def test_statements_that_bind_one_name_again_and_again_take_linear_time(monkeypatch):
    """Twice the text takes about twice as many visits to names, not four times."""
    visits = []
    follow = _prune._Needs._need_name
    monkeypatch.setattr(
        _prune._Needs, "_need_name", lambda self, name: visits.append(name) or follow(self, name)
    )
    counts = []
    for size in (500, 1000):
        visits.clear()
        text = py("x = 0\n" + "x = x + 1\n" * size + "def successor(n):\n    return n + x - x + 1")
        assert extracted(text, "call").program.count("x = x + 1") == size
        counts.append(len(visits))
    assert counts[1] < 2.2 * counts[0]


def test_other_functions_that_the_prompt_asks_for_stay():
    names = ("encode", "decode", "spare")
    code = "\n\n".join(f"def {name}(s):\n    return s[::-1]" for name in names)
    found = extract(
        py(code),
        prompt="Write `encode(s)` and `decode(s)`.",
        entry_point="encode",
        form="chat",
        finish_reason="stop",
    )
    assert "def decode" in found.program
    assert "def spare" not in found.program


@pytest.mark.parametrize("dot", [".", " . ", "\\\n."])
def test_a_dotted_name_of_many_parts_is_not_parsed(dot):
    text = f"```python\nimport {dot.join('a' * 50_000)}\ndef f(x): return 0\n```"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    extract(text, prompt="Write f.", entry_point="f", form="chat", finish_reason="stop")
    assert time.process_time() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024
