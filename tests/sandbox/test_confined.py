"""The jail without namespaces. tests/hostile/test_corpus.py judges the whole corpus in it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox._confined import check_landlock, confine
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._mounts import Mounts
from pytest_promptse.sandbox.guest import landlock

if TYPE_CHECKING:
    from pathlib import Path


def mounts_of(folder: Path, *hidden: Path) -> Mounts:
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text("")
    return Mounts(
        binds=((str(folder), str(folder)),),
        links=(),
        hidden=tuple(map(str, hidden)),
        python="/usr/bin/env",
    )


def test_a_hidden_folder_is_in_no_rule_while_all_beside_it_can_be_read(tmp_path):
    library = tmp_path / "shown" / "lib"
    for name in ("json", "site-packages"):
        (library / name).mkdir(parents=True)
    (library / "os.py").write_text("")
    mounts = mounts_of(tmp_path / "shown", library / "site-packages")
    rules = dict(confine(mounts, str(tmp_path), worker=0).rules)
    assert rules[str(library)] == landlock.LIST
    assert rules[str(library / "json")] == landlock.READ
    assert rules[str(library / "os.py")] == landlock.READ
    assert not any("site-packages" in path for path in rules)


def test_an_old_kernel_is_refused_with_what_it_lacks(monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 2)
    with pytest.raises(SandboxError, match=r"Landlock is version 2 here, and 3 is needed"):
        check_landlock()


@pytest.mark.skipif(os.geteuid() != 0, reason="programs of root are refused only to root")
def test_root_is_told_that_programs_run_as_another_user(tmp_path):
    secret = tmp_path / "root"
    secret.mkdir(mode=0o700)
    python = secret / "python"
    python.write_text("")
    mounts = Mounts(binds=(), links=(), hidden=(), python=str(python))
    with pytest.raises(SandboxError, match=r"another user than root, who cannot reach .*python"):
        confine(mounts, str(tmp_path), worker=0)


@contextlib.contextmanager
def landlock_sandbox():
    try:
        sandbox = open_sandbox("landlock", workers=1)
    except SandboxError as error:
        pytest.skip(str(error))
    with sandbox:
        yield sandbox


@contextlib.contextmanager
def confined(program):
    with landlock_sandbox() as sandbox, sandbox.load(program, entry_point="f") as candidate:
        yield candidate


def test_a_program_reaches_no_file_socket_or_process_but_its_own():
    program = """
import os, socket, tempfile

def f(expression):
    try:
        return repr(eval(expression))
    except OSError as error:
        return type(error).__name__
"""
    with confined(program) as candidate:
        assert candidate("open('/etc/passwd').read()") == "PermissionError"
        assert candidate("open('/proc/self/environ').read()") == "PermissionError"
        assert candidate("os.kill(os.getppid(), 0)") == "PermissionError"
        assert candidate("socket.socket()") == "PermissionError"
        assert candidate("open('/tmp/x', 'w')") == "PermissionError"
        assert candidate("tempfile.TemporaryFile().write(b'own')") == "3"
        assert candidate("os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)") == "PermissionError"
        assert candidate("os.setpriority(os.PRIO_USER, 0, 19)") == "PermissionError"
        assert candidate("os.sched_setaffinity(os.getppid(), {0})") == "PermissionError"
        assert (
            candidate("__import__('resource').prlimit(os.getppid(), 7, (3, 3))")
            == "PermissionError"
        )


def test_a_program_leaves_no_folder_however_deep_or_closed():
    program = """
import os

def f():
    seen = os.listdir(".")
    os.umask(0)
    os.mkdir("closed", 0)
    os.mkdir("wide")
    os.symlink("/", "wide/link")
    os.mkfifo("pipe")
    for _ in range(1200):
        os.mkdir("deep")
        os.chdir("deep")
    return seen
"""
    with landlock_sandbox() as sandbox:
        for _ in range(2):
            with sandbox.load(program, entry_point="f") as candidate:
                assert candidate() == []
