"""What a test patches changes the test and its program, not the code that judges the program."""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
import random
import socket
import sys
import time
from pathlib import Path

import pytest

from pytest_promptse.sandbox._causes import ProgramStopped

PACKAGE = Path(__file__).parents[2] / "pytest_promptse"
# Of each module, the functions that tests patch.
PATCHED = {
    "time": vars(time).keys(),
    "random": {name for name in vars(random) if name.islower()},
    "os": {"getcwd", "kill", "killpg", "listdir", "urandom"},
}
# All modules that judge in the check's process. The rest of ``guest`` runs in the jail only.
JUDGING = [
    *(path for path in (PACKAGE / "sandbox").glob("*.py") if path.stem != "_bridge"),
    *(PACKAGE / "sandbox" / "guest" / name for name in ("decode.py", "folders.py")),
    *(PACKAGE / name for name in ("plugin/_checks.py", "run/_judge.py", "tasks/_task.py")),
]


def looked_up(source):
    """Return the functions of `PATCHED`, and ``open``, that are looked up when they are called."""
    nodes = list(ast.walk(ast.parse(source)))
    imported = {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = {f"{module}.{name}" for module, names in PATCHED.items() for name in names}
    return (called & names) | (called & {"open"} - imported)


@pytest.mark.parametrize("path", JUDGING, ids=lambda path: path.stem)
def test_the_code_that_judges_looks_up_nothing_that_tests_patch(path):
    assert looked_up(path.read_text(encoding="utf-8")) == set()


def test_what_is_looked_up_is_found():
    assert looked_up("import time\ntime.monotonic()") == {"time.monotonic"}
    assert looked_up("def f(): return os.kill(1, 2) or open('x')") == {"os.kill", "open"}
    assert looked_up("from io import open\nopen('x')\nos.getpid()") == set()


def test_patched_functions_do_not_reach_the_limits(load, monkeypatch):
    candidate = load("def f(x):\n    while x: pass\n    return x", wall=0.5)
    places = [
        *((time, name) for name in ("monotonic", "time", "sleep", "perf_counter", "thread_time")),
        *((os, name) for name in PATCHED["os"]),
        *((random, name) for name in ("random", "seed", "getstate")),
        (socket, "socket"),
        (builtins, "open"),
    ]
    with monkeypatch.context() as patches:
        for module, name in places:
            patches.setattr(module, name, None)
        assert candidate(0) == 0
        with pytest.raises(ProgramStopped, match="no answer within"):
            candidate(1)


def test_a_clock_that_is_replaced_in_every_module_keeps_no_program_alive(load, monkeypatch):
    real = time.monotonic
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if value is real and module.__name__ not in ("threading", "asyncio"):
                with contextlib.suppress(AttributeError):
                    monkeypatch.setattr(module, name, lambda: 5.0)
    with pytest.raises(ProgramStopped, match="no answer within"):
        load("import time\ndef f(): time.sleep(1000)", wall=0.3)()
