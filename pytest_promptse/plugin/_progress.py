"""Show sampling progress between pytest's own output, with capture, ``-s`` and xdist."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.plugin._invocation import run_id
from pytest_promptse.plugin._progress_line import ProgressLine, describe
from pytest_promptse.sampling._budget import Budget
from pytest_promptse.store._run_log import ProgressRow, RunLog
from pytest_promptse.store._store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.store._run_log import Progress

_POLL_SECONDS = 0.5
# A worker whose last entry is older than this is not waiting any more.
_FRESH_SECONDS = 3.0


class TerminalProgress:
    """Show progress while an item of this process waits for completions.

    Parameters
    ----------
    config
        The configuration of the session.
    price
        Prices of a million prompt tokens and of a million completion tokens, or None if unknown.
    """

    def __init__(self, config: pytest.Config, *, price: tuple[float, float] | None) -> None:
        self._line = _progress_line(config)
        self._config = config
        self._budget = Budget(price=price)

    @contextmanager
    def __call__(self, progress: Callable[[], Progress]) -> Iterator[Callable[[], None]]:
        """Return a context manager whose value shows the progress.

        It erases the line at its end.
        """
        if self._line is None:
            yield lambda: None
            return
        line = self._line
        line.begin()

        def tick() -> None:
            if line.due():
                now = progress()
                cost = self._budget.cost(now.usage)
                width = self._config.get_terminal_writer().fullwidth
                line.show(describe(now, cost=cost, width=width))

        try:
            yield tick
        finally:
            line.erase()


class WorkerProgress:
    """Write the progress of an xdist worker to the run log, so that the controller can show it.

    Parameters
    ----------
    run_log
        Returns the log of the run.
    """

    def __init__(self, run_log: Callable[[], RunLog]) -> None:
        self._run_log = run_log
        self._last = time.monotonic()

    @contextmanager
    def __call__(self, progress: Callable[[], Progress]) -> Iterator[Callable[[], None]]:
        """Return a context manager whose value writes the progress."""

        def tick() -> None:
            if time.monotonic() - self._last >= _POLL_SECONDS:
                self._last = time.monotonic()
                self._run_log().add(ProgressRow(at=time.time(), progress=progress()))

        yield tick


class ControllerProgress:
    """Show in an xdist controller the progress that its workers log.

    The controller only waits for its workers, so a thread shows the progress. The thread and the
    hooks in which pytest writes hold the same lock while they write.

    Parameters
    ----------
    config
        The configuration of the controller.
    settings
        Settings of the session.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._line = _progress_line(config)
        self._thread: threading.Thread | None = None
        if self._line is not None:
            self._thread = threading.Thread(
                target=self._watch, args=(self._line,), name="promptse-progress", daemon=True
            )
            self._thread.start()

    def _watch(self, line: ProgressLine) -> None:
        folder = self._config.rootpath / self._settings.store
        while not folder.is_dir():
            if self._ended.wait(_POLL_SECONDS):
                return
        store = Store(folder)
        try:
            self._show(line, RunLog(store, run_id(self._config)))
        finally:
            store.close()

    def _show(self, line: ProgressLine, run_log: RunLog) -> None:
        budget = Budget(price=self._settings.price)
        writer = self._config.get_terminal_writer()
        while not self._ended.wait(_POLL_SECONDS):
            row = next(run_log.rows(ProgressRow), None)
            fresh = row is not None and time.time() - row.at < _FRESH_SECONDS
            with self._lock:
                if self._ended.is_set():
                    return
                if row is None or not fresh:
                    line.erase()
                elif line.due():
                    now = row.progress
                    cost = budget.cost(now.usage)
                    line.show(describe(now, cost=cost, width=writer.fullwidth))

    @contextmanager
    def _pytest_writes(self) -> Iterator[None]:
        with self._lock:
            if self._line is not None:
                self._line.erase()
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, Any, Any]:
        with self._pytest_writes():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, Any, Any]:
        with self._pytest_writes():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None, Any, Any]:
        with self._pytest_writes():
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        with self._pytest_writes():
            self._ended.set()
        if self._thread is not None:
            self._thread.join()


def _progress_line(config: pytest.Config) -> ProgressLine | None:
    """Return the line that shows progress, or None if pytest itself prints nothing."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None:
        return None
    writer = config.get_terminal_writer()
    capture = config.pluginmanager.getplugin("capturemanager")

    def uncaptured() -> Any:
        return capture.global_and_fixture_disabled() if capture else nullcontext()

    def draw(text: str) -> None:
        with uncaptured():
            writer.write_raw(text, flush=True)

    def log(line: str) -> None:
        with uncaptured():
            if config.option.verbose > 0:
                # Makes pytest write the item's name again before its result.
                reporter.ensure_newline()
            elif writer.width_of_current_line:
                writer.line()
            writer.line(line)
            writer.flush()

    # An attribute in pytest 8.2 and 8.3, a method in later versions.
    isatty = reporter.isatty() if callable(reporter.isatty) else reporter.isatty
    on_terminal = bool(isatty) and os.environ.get("TERM") != "dumb"
    return ProgressLine(draw=draw, log=log, on_terminal=on_terminal)
