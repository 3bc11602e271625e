"""Progress of sampling as one line, on a terminal or in a log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.store._run_log import Progress

LOG_SECONDS = 10.0
_TERMINAL_SECONDS = 0.25
# Number of columns that are kept for an error.
_ERROR_COLUMNS = 44
_MINUTE, _HOUR = 60, 3600
# Index (ESC D) adds a line below without changing the column, unlike a line feed. Restoring the
# saved position returns the cursor to where pytest writes its next dot. Source: ECMA-48 and DEC
# private sequences, https://invisible-island.net/xterm/ctlseqs/ctlseqs.html.
_DRAW = "\x1bD\x1b[A\x1b7\x1b[B\r{line}\x1b[K\x1b8"
_ERASE = "\x1b7\x1b[B\r\x1b[2K\x1b8"


def describe(progress: Progress, *, cost: float | None, width: int) -> str:
    """Return progress in a line of less than `width` columns, the most important parts first.

    `cost` is the cost so far in the currency of the price, or None without a price. Parts that do
    not fit are left out.
    """
    share = progress.done / progress.total if progress.total else 1.0
    parts = [f"promptse {progress.done} of {progress.total} samples ({share:.0%})"]
    if progress.eta is not None and progress.done < progress.total:
        parts.append(f"{duration(progress.eta)} left")
    if progress.rate > 0:
        parts.append(f"{progress.rate:.3g} a second")
    if progress.cached:
        parts.append(f"{progress.cached} cached")
    if cost is not None:
        parts.append(f"cost {cost:.3g}")
    error = progress.last_error
    room = width if error is None else width - _ERROR_COLUMNS
    line = parts[0]
    for part in parts[1:]:
        if len(line) + 2 + len(part) < room:
            line += f", {part}"
    if error is not None:
        line += f", last error: {' '.join(error.split())}"
    return line if len(line) < width else line[: width - 2] + "…"


def duration(seconds: float) -> str:
    """Return a time in its two largest units: ``52 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"


class ProgressLine:
    """A line that is shown at intervals.

    On a terminal, the line is below the one that pytest is writing. It is redrawn four times a
    second until it is erased. In a log, it is a separate line every ten seconds.

    Parameters
    ----------
    draw
        Writes text to the terminal that is erased later.
    log
        Writes a line to a log.
    on_terminal
        True for a terminal, False for a log.
    clock
        Returns the time in seconds of a monotonic clock.
    """

    def __init__(
        self,
        *,
        draw: Callable[[str], object],
        log: Callable[[str], object],
        on_terminal: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._draw = draw
        self._log = log
        self._on_terminal = on_terminal
        self._clock = clock
        self._period = _TERMINAL_SECONDS if on_terminal else LOG_SECONDS
        self._last = clock()
        self._drawn = False

    def begin(self) -> None:
        """Note the start of a wait. A short wait shows no line on a terminal."""
        if self._on_terminal:
            self._last = self._clock()

    def due(self) -> bool:
        """Return whether it is time to show a line."""
        return self._clock() - self._last >= self._period

    def show(self, line: str) -> None:
        """Show `line` now."""
        self._last = self._clock()
        if self._on_terminal:
            self._draw(_DRAW.format(line=line))
            self._drawn = True
        else:
            self._log(line)

    def erase(self) -> None:
        """Erase the line on a terminal."""
        if self._drawn:
            self._draw(_ERASE)
            self._drawn = False
