"""Progress among pytest's own output, with a model that answers after progress was shown."""

from __future__ import annotations

import os
import pty
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pytest_promptse.models._base import Usage
from pytest_promptse.plugin._progress import WorkerProgress
from pytest_promptse.store._run_log import Progress

if TYPE_CHECKING:
    from fork_server import ForkServer

SLOW = """
import asyncio
from pathlib import Path
import pytest_promptse.plugin._progress_line as progress_line
from pytest_promptse.models._reference import ReferenceBackend

# Nobody waits ten seconds in a test.
progress_line.LOG_SECONDS = 0.1
SHOWN = Path(__file__).with_name("shown.txt")
show = progress_line.ProgressLine.show

def show_and_count(self, line):
    show(self, line)
    with SHOWN.open("a") as file:
        file.write(".")

progress_line.ProgressLine.show = show_and_count

class Slow(ReferenceBackend):
    spec = "slow:m"
    concurrency = 1

    @property
    def identity(self):
        return {"backend": "reference", "model": "slow"}

    async def complete(self, ask):
        # Answers only after two lines were shown, however long that takes.
        while not (SHOWN.exists() and SHOWN.stat().st_size >= 2):
            await asyncio.sleep(0.05)
        return await super().complete(ask)

def pytest_promptse_backend(name):
    return Slow() if name == "slow" else None
"""
WAITING = r"promptse \d of 8 samples \(\d+%\)"


@pytest.fixture
def slow(pytester: pytest.Pytester, slug) -> None:
    pytester.makeconftest(SLOW)


def on_a_terminal(fork_server: ForkServer, *arguments: str) -> str:
    """The output that pytest writes to a terminal of 80 columns."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", *arguments]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with Path(os.devnull).open("rb") as nothing:
        streams = (nothing.fileno(), follower, follower)
        process = fork_server.start(command, cwd=str(Path.cwd()), env=environment, streams=streams)
    os.close(follower)
    written = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    os.close(leader)
    assert process.wait() == 0, written.decode()
    return written.decode()


def test_on_a_terminal_progress_is_gone_before_pytest_writes(slow, fork_server):
    text = on_a_terminal(fork_server, "-p", "no:xdist", "--color=no", "--promptse-model", "slow:m")
    drawn = re.findall(rf"\x1bD\x1b\[A\x1b7\x1b\[B\r{WAITING}[^\x1b]*\x1b\[K\x1b8", text)
    assert len(drawn) >= 2
    # Without the drawn and erased lines, the output is pytest's usual one.
    rest = re.sub(r"\x1bD.*?\x1b7\x1b\[B\r\x1b\[2K\x1b8", "", text, flags=re.DOTALL)
    assert "\x1b7" not in rest
    assert re.search(r"^test_slug\.py \.{8} +\[100%\]", rest, re.MULTILINE)


def test_in_a_log_progress_is_a_line_of_its_own(slow, run):
    lines = run("--promptse-model", "slow:m").outlines
    shown = [line for line in lines if re.match(WAITING, line)]
    assert len(shown) >= 2
    dots = [re.fullmatch(r"(?:test_slug\.py )?(\.+)(?: +\[100%\])?", line) for line in lines]
    assert sum(len(found[1]) for found in dots if found) == 8
    assert not any("\x1b" in line for line in lines)
    assert sum(line.startswith("test_slug.py ") for line in lines) == 1


def test_a_worker_logs_its_progress_twice_a_second(monkeypatch):
    rows, seconds = [], [100.0]
    monkeypatch.setattr("time.monotonic", lambda: seconds[-1])
    shown = WorkerProgress(lambda: SimpleNamespace(add=rows.append))
    with shown(
        lambda: Progress(done=1, total=2, cached=0, rate=0, eta=None, usage=Usage())
    ) as tick:
        for now in (100.4, 100.5, 100.9, 101.0):
            seconds.append(now)
            tick()
    assert [row.progress.done for row in rows] == [1, 1]


def test_under_xdist_the_controller_tells_the_progress_of_all(slow, pytester, two_workers):
    options = ("-p", "no:hypothesispytest", *two_workers, "--promptse-model", "slow:m")
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(passed=8)
    assert [line for line in result.outlines if re.match(WAITING, line)]
