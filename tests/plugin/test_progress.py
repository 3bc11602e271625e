"""Progress among pytest's own output, with a model that answers after progress was shown."""

from __future__ import annotations

import os
import pty
import re
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pytest_promptse.models._base import Usage
from pytest_promptse.plugin._invocation import run_id
from pytest_promptse.plugin._progress import ControllerProgress, TerminalProgress, WorkerProgress
from pytest_promptse.store._run_log import Progress, ProgressRow, RunLog
from pytest_promptse.store._store import Store

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


def controller(folder, *, writer):
    """Return the progress of a controller on a terminal, or without one if `writer` is None."""
    plugins = {} if writer is None else {"terminalreporter": SimpleNamespace(isatty=True)}
    config = SimpleNamespace(
        pluginmanager=SimpleNamespace(getplugin=plugins.get),
        get_terminal_writer=lambda: writer,
        rootpath=folder,
        stash=pytest.Stash(),
    )
    return config, ControllerProgress(config, SimpleNamespace(store="store", price=None))


def finish(progress):
    """Run the hook of the end of a session, and return whether a thread is left."""
    progress.pytest_sessionfinish()
    return "promptse-progress" in {thread.name for thread in threading.enumerate()}


def test_the_line_of_a_controller_is_gone_before_pytest_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("pytest_promptse.plugin._progress._POLL_SECONDS", 0.01)
    monkeypatch.setattr("pytest_promptse.plugin._progress_line._TERMINAL_SECONDS", 0.0)
    drawn = threading.Event()
    written = []

    def write(text, *, flush):
        assert flush
        written.append(text)
        drawn.set()

    terminal = SimpleNamespace(write_raw=write, fullwidth=80)
    config, progress = controller(tmp_path, writer=terminal)
    now = Progress(done=1, total=8, cached=0, rate=0, eta=None, usage=Usage())
    with closing(Store(tmp_path / "store")) as store:
        RunLog(store, run_id(config)).add(ProgressRow(at=time.time(), progress=now))
        for hook in ("logstart", "logreport", "logfinish"):
            drawn.clear()
            assert drawn.wait(20)
            writes = getattr(progress, f"pytest_runtest_{hook}")()
            next(writes)
            # The line is not drawn again while pytest writes.
            assert re.search(r"\r\x1b\[2K\x1b8$", written[-1])
            number = len(written)
            time.sleep(0.05)
            assert len(written) == number
            writes.close()
        assert not finish(progress)


def test_a_controller_without_a_terminal_ends_without_a_thread(tmp_path):
    _, progress = controller(tmp_path, writer=None)
    assert not finish(progress)


@pytest.mark.parametrize(
    ("verbose", "column", "expected"),
    [
        (0, 0, ["line x", "flush"]),
        (0, 12, ["line ", "line x", "flush"]),
        (1, 12, ["ensure", "line x", "flush"]),
    ],
)
@pytest.mark.parametrize(("terminal", "kind"), [(False, "xterm"), (True, "dumb")])
def test_a_line_of_a_log_begins_where_pytest_has_not_written(  # noqa: PLR0917
    monkeypatch, verbose, column, expected, terminal, kind
):
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr("pytest_promptse.plugin._progress.describe", lambda *_, **__: "x")
    monkeypatch.setattr("pytest_promptse.plugin._progress_line.LOG_SECONDS", 0.0)
    done = []
    writer = SimpleNamespace(
        width_of_current_line=column,
        line=lambda text="": done.append(f"line {text}"),
        flush=lambda: done.append("flush"),
        fullwidth=80,
    )
    reporter = SimpleNamespace(
        isatty=lambda: terminal, ensure_newline=lambda: done.append("ensure")
    )
    config = SimpleNamespace(
        pluginmanager=SimpleNamespace(getplugin={"terminalreporter": reporter}.get),
        get_terminal_writer=lambda: writer,
        option=SimpleNamespace(verbose=verbose),
    )
    now = Progress(done=1, total=8, cached=0, rate=0, eta=None, usage=Usage())
    with TerminalProgress(config, price=None)(lambda: now) as tick:
        tick()
    assert done == expected
