"""Which of a run's processes samples for all of them."""

from __future__ import annotations

import fcntl
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Leadership:
    """A lock that one process of a run holds; the system frees it when that process dies.

    Parameters
    ----------
    path
        The lock file, the same for all processes of a run; None where there is only one.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether there may be other processes."""
        return self._path is not None

    def take(self) -> bool:
        """Try to become the leader, without waiting."""
        if self._path is None:
            return True
        if self._file is None:
            self._file = self._path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Leave the lead to another."""
        if self._file is not None:
            self._file.close()
            self._file = None
