"""What SIGTERM and a second Ctrl-C do to a session.

CI services send SIGTERM when they cancel a job, and may save a cache afterwards. It ends a session
as Ctrl-C does, so that the store is closed and in one file. After a first Ctrl-C, pytest formats
its report and this plugin writes the record. A second one ends the process at once: an exception
there would end in a traceback.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = "promptse-signals"
_STATUS = 130
"""What a shell reports for a process that SIGINT has ended."""


def handle_signals(config: pytest.Config) -> None:
    """Handle both signals until the session ends, unless the process handles them already."""
    if not config.pluginmanager.has_plugin(_NAME):
        config.pluginmanager.register(_SignalHandlers(), _NAME)


class _SignalHandlers:
    def __init__(self) -> None:
        _replace(signal.SIGTERM, signal.SIG_DFL, _interrupt)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        _replace(signal.SIGINT, signal.default_int_handler, _exit)

    def pytest_unconfigure(self) -> None:
        _replace(signal.SIGTERM, _interrupt, signal.SIG_DFL)
        _replace(signal.SIGINT, _exit, signal.default_int_handler)


def _replace(number: int, before: object, handler: Callable[..., Any] | signal.Handlers) -> None:
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(number) is before:
        signal.signal(number, handler)


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _exit(_signal: int, _frame: object) -> NoReturn:
    os.write(2, b"\npromptse: interrupted again; the store has the completions so far\n")
    os._exit(_STATUS)
