"""What a test patches changes the test and its program, not the code that judges the program."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import json
import logging
import os
import random
import select
import shutil
import socket
import sys
import tempfile
import threading
import time
import types
from pathlib import Path

import pytest

from pytest_promptse.sandbox._causes import ProgramStopped
from pytest_promptse.sandbox.guest import unpatched

PACKAGE = Path(__file__).parents[2] / "pytest_promptse"
# All modules that work while a check runs. The others run before any test, or in a process that
# starts a jail or a container.
ALONE = {"_bridge", "_confined", "_container", "_isolation", "_launch", "_mounts", "unpatched"}
SCRIPTS = {"_bridge", "_launch"}
WORKING = [
    path
    for folder in ("sandbox", "sandbox/guest", "store", "sampling")
    for path in sorted((PACKAGE / folder).glob("*.py"))
    if path.stem not in ALONE and not path.stem.startswith("_ray")
] + [PACKAGE / name for name in ("plugin/_checks.py", "run/_judge.py", "tasks/_task.py")]
# What a test may change and the plugin must see: the state of a module.
STATE = {
    "os.environ",
    "tempfile.tempdir",
    "warnings._showwarnmsg_impl",
    "warnings.filters",
}
# In the jail, a module that only some programs need is imported for them.
LATE = {
    "guest.py": {"asyncio", "builtins", "copy", "io_of_programs"},
    "surroundings.py": {"logging", "warnings"},
}


def names_of(node):
    return node.names if isinstance(node, ast.ImportFrom) else []


def looked_up(source, late=()):
    """Return the names of the standard library that `source` looks up when it is called."""
    tree = ast.parse(source)
    modules = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.partition(".")[0] in sys.stdlib_module_names
    }
    bodies = [
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for part in (node.body if isinstance(node.body, list) else [node.body])
        for inner in ast.walk(part)
    ]
    names = {ast.unparse(node) for node in bodies if isinstance(node, ast.Attribute)}
    opens = any(isinstance(node, ast.Name) and node.id == "open" for node in bodies) and (
        "__builtins__" not in {alias.name for node in ast.walk(tree) for alias in names_of(node)}
    )
    found = {name for name in names if name.partition(".")[0] in modules - {"sys", *late}}
    # The functions of ``os.path`` look up those of ``os``.
    found |= {name for name in names if name.startswith("os.path.")}
    return {".".join(name.split(".")[:2]) for name in found} - STATE | (
        {"open"} if opens else set()
    )


@pytest.mark.parametrize("path", WORKING, ids=lambda path: path.stem)
def test_what_works_beside_a_check_looks_up_nothing_that_a_check_can_patch(path):
    source = path.read_text(encoding="utf-8")
    assert looked_up(source, LATE.get(path.name, ())) == set()


@pytest.mark.parametrize(
    "path",
    [path for path in (PACKAGE / "sandbox").rglob("*.py") if path.stem not in SCRIPTS],
    ids=lambda path: path.stem,
)
def test_the_functions_of_the_sandbox_have_builtins_that_no_check_can_patch(path):
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    module = importlib.import_module(name)
    for value in vars(module).values():
        if isinstance(value, types.FunctionType) and value.__globals__ is vars(module):
            assert value.__builtins__ is unpatched.__builtins__ or module is unpatched


def set_in_copies(source):
    """Return the attributes of copied modules that `source` sets, which no program would see."""
    tree = ast.parse(source)
    copied = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("unpatched")
        for alias in node.names
    }
    return {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
        if ast.unparse(node.value) in copied
    }


@pytest.mark.parametrize("path", WORKING, ids=lambda path: path.stem)
def test_no_attribute_of_a_copied_module_is_set(path):
    assert set_in_copies(path.read_text(encoding="utf-8")) == set()


def test_what_is_set_in_a_copy_is_found():
    assert set_in_copies("from a.unpatched import io\nio.open = f = 1") == {"io.open"}
    assert set_in_copies("from a.unpatched import io\nimport os\nos.a = io.open") == set()


def test_what_is_looked_up_is_found():
    assert looked_up("import time\ndef f(): time.monotonic()") == {"time.monotonic"}
    assert looked_up("import os\nf = lambda: os.kill(1, 2) or open('x')") == {"os.kill", "open"}
    assert looked_up("from unpatched import os\ndef f(): os.path.join(os.getcwd())") == {"os.path"}
    assert looked_up("import os\nimport sys\ndef f(): os.environ, sys.stdout") == set()
    assert looked_up("import json\ndumps = json.dumps\ndef f(): dumps(1)") == set()


def test_patched_functions_do_not_reach_the_limits(load, monkeypatch):
    candidate = load("def f(x):\n    while x: pass\n    return x", wall=0.5)
    places = [
        *((time, name) for name in ("monotonic", "time", "sleep", "perf_counter", "thread_time")),
        *((os, name) for name in ("getcwd", "getpid", "kill", "killpg", "listdir", "read")),
        *((os, name) for name in ("chmod", "close", "makedirs", "mkdir", "scandir", "stat")),
        *((os.path, name) for name in ("exists", "isdir", "join", "realpath")),
        *((random, name) for name in ("random", "seed", "getstate")),
        *((json, name) for name in ("dumps", "loads")),
        *((select, name) for name in ("poll", "select")),
        (logging, "getLogger"),
        (shutil, "rmtree"),
        (socket, "socket"),
        (tempfile, "mkdtemp"),
        (threading, "get_ident"),
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
