"""SIGTERM ends a session as Ctrl-C does, so that the store is closed and in one file.

CI services send SIGTERM when they cancel a job, and may save a cache afterwards.
"""

from __future__ import annotations

import signal
import threading
from typing import NoReturn


def interrupt_on_sigterm() -> None:
    """Make SIGTERM interrupt the session, unless the process handles it in another way."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)


def end_on_sigterm() -> None:
    """Undo `interrupt_on_sigterm`."""
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
