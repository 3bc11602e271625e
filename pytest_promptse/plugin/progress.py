"""Progress among pytest's own output: who may write when, with capture, ``-s`` and xdist."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.config.settings import resolve
from pytest_promptse.plugin.hooks import layers, run_id
from pytest_promptse.plugin.progress_line import ProgressLine, describe
from pytest_promptse.sampling.budget import Budget
from pytest_promptse.store.run_log import ProgressRow, RunLog
from pytest_promptse.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from pytest_promptse.store.run_log import Progress

_NOTE_SECONDS = 0.5
# A note that is older was left by items that no longer wait.
_FRESH_SECONDS = 3.0


class Watch:
    """Shows progress while an item waits for completions; no body runs meanwhile."""

    def __init__(self, config: pytest.Config, *, price: tuple[float, float] | None) -> None:
        self._meter = _meter(config)
        self._writer = config.get_terminal_writer()
        self._budget = Budget(price=price)

    @contextmanager
    def __call__(self, progress: Callable[[], Progress]) -> Iterator[Callable[[], None]]:
        """Give what is to be called while something waits, and erase what it wrote."""
        if self._meter is None:
            yield lambda: None
            return
        meter = self._meter
        meter.begin()

        def tick() -> None:
            if meter.due():
                now = progress()
                cost = self._budget.cost(now.usage)
                meter.show(describe(now, cost=cost, width=self._writer.fullwidth))

        try:
            yield tick
        finally:
            meter.erase()


class Notes:
    """Leaves an xdist worker's progress in the store, for the controller to show."""

    def __init__(self, run_log: Callable[[], RunLog]) -> None:
        self._run_log = run_log
        self._last = time.monotonic()

    @contextmanager
    def __call__(self, progress: Callable[[], Progress]) -> Iterator[Callable[[], None]]:
        """Give what is to be called while something waits."""

        def tick() -> None:
            if time.monotonic() - self._last >= _NOTE_SECONDS:
                self._last = time.monotonic()
                self._run_log().add(ProgressRow(at=time.time(), progress=progress()))

        yield tick


class ControllerWatch:
    """Shows in an xdist controller what its workers note.

    A thread does, since the controller itself only waits for them. It holds a lock while it
    writes, and so do the hooks in which pytest writes.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._settings = resolve(layers(config))
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._meter = _meter(config)
        self._thread = threading.Thread(target=self._watch, name="promptse-progress", daemon=True)
        if self._meter is not None:
            self._thread.start()

    def _watch(self) -> None:
        folder = self._config.rootpath / self._settings.store
        while not folder.is_dir():
            if self._ended.wait(_NOTE_SECONDS):
                return
        store = Store(folder)
        try:
            self._show(RunLog(store, run_id(self._config)))
        finally:
            store.close()

    def _show(self, run_log: RunLog) -> None:
        assert self._meter is not None
        budget = Budget(price=self._settings.price)
        writer = self._config.get_terminal_writer()
        while not self._ended.wait(_NOTE_SECONDS):
            row = next(run_log.rows(ProgressRow), None)
            fresh = row is not None and time.time() - row.at < _FRESH_SECONDS
            with self._lock:
                if self._ended.is_set():
                    return
                if row is None or not fresh:
                    self._meter.erase()
                elif self._meter.due():
                    now = row.progress
                    cost = budget.cost(now.usage)
                    self._meter.show(describe(now, cost=cost, width=writer.fullwidth))

    @contextmanager
    def _pytest_writes(self) -> Iterator[None]:
        with self._lock:
            if self._meter is not None:
                self._meter.erase()
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
        if self._thread.is_alive():
            self._thread.join()


def _meter(config: pytest.Config) -> ProgressLine | None:
    """Return what shows progress in this session, None where pytest itself shows nothing."""
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
                # Has pytest write the item's name again before its result.
                reporter.ensure_newline()
            elif writer.width_of_current_line:
                writer.line()
            writer.line(line)
            writer.flush()

    # An attribute in pytest 8.2 and 8.3, a method since.
    isatty = reporter.isatty() if callable(reporter.isatty) else reporter.isatty
    on_terminal = bool(isatty) and os.environ.get("TERM") != "dumb"
    return ProgressLine(draw=draw, log=log, on_terminal=on_terminal)
