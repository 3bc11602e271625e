"""What a check does to pytest's process besides its verdict: output, log records and warnings.

A check runs in a process of its own. These effects come back as data, so that reports show them.
Output that pytest captures in a file, or does not capture, needs no help: both processes share it.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import logging
import sys
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from _pytest.logging import LogCaptureHandler

from pytest_promptse._redaction import shown
from pytest_promptse.errors import TaskError
from pytest_promptse.sandbox.guest.unpatched import __builtins__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_ENTRIES = 1000
_TEXT_CHARS = 100_000


class _LogEntry(msgspec.Struct, array_like=True):
    name: str
    level: int
    path: str
    line: int
    message: str
    function: str | None
    created: float
    exception: str | None


class _WarningEntry(msgspec.Struct, array_like=True):
    message: str
    category: str
    path: str
    line: int


class _Effects(msgspec.Struct, array_like=True):
    output: str
    errors: str
    records: list[_LogEntry]
    warnings: list[_WarningEntry]
    coverage: bytes


@contextlib.contextmanager
def collect_effects() -> Iterator[Callable[[], bytes]]:
    """Collect the effects of the block, in the process of the check.

    The value of the block returns those so far, for `replay_effects`. A ``breakpoint()`` in the
    block raises, since no debugger can reach the process.
    """
    sys.breakpointhook = _refuse_breakpoint
    streams = [(stream, _length(stream)) for stream in (sys.stdout, sys.stderr)]
    handlers = [
        (handler, len(handler.records))
        for handler in logging.getLogger().handlers
        if isinstance(handler, LogCaptureHandler)
    ]
    recorded = _recorded_warnings()
    before = len(recorded)

    def effects() -> bytes:
        # All handlers get the same records, unless their levels differ.
        records = max((handler.records[n:] for handler, n in handlers), key=len, default=[])
        output, errors = (_text_since(stream, length) for stream, length in streams)
        collected = _Effects(
            output=output,
            errors=errors,
            records=[_log_entry(record) for record in records[:_MOST_ENTRIES]],
            warnings=[_warning_entry(item) for item in recorded[before:][:_MOST_ENTRIES]],
            coverage=_covered(),
        )
        return msgspec.msgpack.encode(collected)

    yield effects


def replay_effects(data: bytes) -> None:
    """Repeat collected effects in pytest's process."""
    if not data:
        return
    effects = msgspec.msgpack.decode(data, type=_Effects)
    for stream, text in ((sys.stdout, effects.output), (sys.stderr, effects.errors)):
        if text:
            stream.write(text)
    _add_covered(effects.coverage)
    for entry in effects.records:
        record = logging.LogRecord(
            entry.name, entry.level, entry.path, entry.line, entry.message, None, None
        )
        record.funcName, record.created, record.exc_text = (
            entry.function or "",
            entry.created,
            entry.exception,
        )
        for handler in logging.getLogger().handlers:
            if isinstance(handler, LogCaptureHandler) and record.levelno >= handler.level:
                handler.handle(record)
    for warning in effects.warnings:
        category = getattr(builtins, warning.category, None)
        if not (isinstance(category, type) and issubclass(category, Warning)):
            category = UserWarning  # a class of the test, or of a program that calls it "exec"
        message = warnings.WarningMessage(
            category(warning.message), category, warning.path, warning.line
        )
        warnings._showwarnmsg(message)  # type: ignore[attr-defined]  # noqa: SLF001 - it has passed the filters already


def _covered() -> bytes:
    """Return the lines that coverage.py has seen in this process, if it measures, or nothing.

    Its own support for forked processes writes files, which the process of a check may not do.
    """
    current = _current_coverage()
    if current is None:
        return b""
    from coverage import CoverageData  # noqa: PLC0415 - needed only where it is in use

    data = CoverageData(no_disk=True)
    collector = current._collector  # noqa: SLF001 - no public name writes to other data
    collector.covdata = data
    collector.flush_data()
    dumped: bytes = data.dumps()
    return dumped


def _add_covered(dumped: bytes) -> None:
    current = _current_coverage()
    if current is not None and dumped:
        from coverage import CoverageData  # noqa: PLC0415 - needed only where it is in use

        data = CoverageData(no_disk=True)
        data.loads(dumped)
        current.get_data().update(data)


def _current_coverage() -> Any:
    coverage = sys.modules.get("coverage")
    return None if coverage is None else coverage.Coverage.current()


def _refuse_breakpoint(*_: object, **__: object) -> NoReturn:
    raise TaskError(
        "breakpoint() in a check needs --pdb, since the check runs in a process of its own"
    )


def _length(stream: Any) -> int:
    return len(stream.getvalue()) if _is_in_memory(stream) else 0


def _text_since(stream: Any, length: int) -> str:
    if not _is_in_memory(stream):
        return ""
    return _safe(stream.getvalue()[length:])


def _safe(text: str) -> str:
    """Shorten a text, and make it safe to print: it may be a program's."""
    return shown(text[:_TEXT_CHARS])


def _is_in_memory(stream: Any) -> bool:
    return isinstance(stream, io.StringIO) or isinstance(
        getattr(stream, "buffer", None), io.BytesIO
    )


def _recorded_warnings() -> list[Any]:
    """Return the list to which ``warnings.catch_warnings(record=True)`` adds at present."""
    recorded = getattr(warnings._showwarnmsg_impl, "__self__", None)  # type: ignore[attr-defined]  # noqa: SLF001
    return recorded if isinstance(recorded, list) else []


def _log_entry(record: logging.LogRecord) -> _LogEntry:
    return _LogEntry(
        name=_safe(record.name),
        level=record.levelno,
        path=_safe(record.pathname),
        line=record.lineno,
        message=_safe(record.getMessage()),
        function=record.funcName and _safe(record.funcName),
        created=record.created,
        exception=record.exc_text and _safe(record.exc_text),
    )


def _warning_entry(warning: Any) -> _WarningEntry:
    return _WarningEntry(
        message=_safe(str(warning.message)),
        category=warning.category.__name__,
        path=warning.filename,
        line=warning.lineno,
    )
