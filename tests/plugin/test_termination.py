"""A session that a CI service cancels leaves its store in one file, without a write-ahead log."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from fork_server import ForkedProgram, ForkServer

BODY = """
import time, pytest

@pytest.mark.promptse("Write `one()`.", reference="def one():\\n    return 1\\n", samples=1)
def test_one(candidate, tmp_path_factory):
    assert candidate() == 1
    (tmp_path_factory.getbasetemp() / "judging").touch()
    time.sleep(60)
"""


def start(pytester: pytest.Pytester, fork_server: ForkServer) -> ForkedProgram:
    """Start a session, and return it when it judges. Its output goes to the file ``output``."""
    pytester.makepyfile(test_one=BODY)
    command = (sys.executable, "-m", "pytest", "--promptse-model", "reference", "-p", "no:xdist")
    command += ("--basetemp", "temporary")
    with (pytester.path / "output").open("w+b") as output:
        streams = (output.fileno(),) * 3
        cwd = str(pytester.path)
        process = fork_server.start(command, cwd=cwd, env=dict(os.environ), streams=streams)
    wait_for(pytester.path / "temporary" / "judging", process)
    return process


def test_a_second_interrupt_ends_the_session_in_one_line(
    pytester: pytest.Pytester, fork_server: ForkServer
) -> None:
    pytester.makeconftest(
        "import os, signal\n"
        "def pytest_keyboard_interrupt():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
    )
    process = start(pytester, fork_server)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    output = (pytester.path / "output").read_text()
    assert output.splitlines()[-1].startswith("promptse: interrupted again")
    assert "Traceback" not in output


def test_sigterm_ends_the_session_and_closes_the_store(
    pytester: pytest.Pytester, fork_server: ForkServer
) -> None:
    process = start(pytester, fork_server)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == pytest.ExitCode.INTERRUPTED
    folder = pytester.path / ".promptse"
    assert not (folder / "promptse.db-wal").exists()
    with closing(sqlite3.connect(folder / "promptse.db")) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM completion")
    assert count > 0


def wait_for(path: Path, process: ForkedProgram) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.05)
        assert time.monotonic() < deadline, f"{path} did not appear"
