"""The results of a batch on a Ray cluster: one actor appends them to one file.

The file is ``results-ray.jsonl`` in the folder of the batch, on the machine of the driver. Its
results are kept when a worker or the driver fails. A later run does not repeat their requests,
except those that failed.
"""

from __future__ import annotations

import fcntl
import os
import time
from typing import IO, TYPE_CHECKING

import msgspec

from pytest_promptse.errors import StoreError
from pytest_promptse.sampling._batch_files import OK, ResultLine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RESULTS = "results-ray.jsonl"
"""The name of the file."""
_LOCK = "results-ray.lock"
# Seconds that a run waits for an earlier one, whose driver was killed, to end.
_PATIENCE = 30.0


class ResultFile:
    """Ray actor that appends result lines to a file.

    The file stays usable if the run is killed. The next run drops an incomplete last line and
    failed results, and keeps the rest.

    Parameters
    ----------
    folder
        The folder of the batch. A lock file lets only one process at a time write to it.

    Raises
    ------
    StoreError
        If another run is writing results to the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / RESULTS
        self._lock = (folder / _LOCK).open("wb")
        _take(self._lock, folder)
        self._answered: set[str] = set()
        self._fatal = ""
        self._counts = {"known": 0, "answered": 0, "failed": 0}
        self._read()
        self._file = self._path.open("ab", buffering=0)

    def _read(self) -> None:
        """Read the results of an earlier run, without failures and an incomplete last line."""
        if not self._path.exists():
            return
        part = self._path.with_suffix(".part")
        with self._path.open("rb") as old, part.open("wb") as new:
            for line in old:
                custom_id = _answered_id(line)
                if custom_id is not None and custom_id not in self._answered:
                    self._answered.add(custom_id)
                    new.write(line)
            os.fsync(new.fileno())
        part.replace(self._path)
        self._counts["known"] = len(self._answered)

    def missing(self, custom_ids: Sequence[str]) -> list[bool]:
        """Return for each request whether it has no result yet."""
        return [custom_id not in self._answered for custom_id in custom_ids]

    def add(self, lines: Sequence[bytes]) -> None:
        """Append result lines. A second result of a request is left out."""
        new = []
        for line in lines:
            custom_id = _answered_id(line)
            if custom_id is None:
                self._counts["failed"] += 1
            elif custom_id in self._answered:
                continue
            else:
                self._answered.add(custom_id)
                self._counts["answered"] += 1
            new.append(line)
        if new:
            # A single write, so that a kill can only cut off the end.
            self._file.write(b"".join(new))

    def stop(self, message: str) -> None:
        """Record an error that every request would have."""
        self._fatal = message

    def state(self) -> tuple[dict[str, int], str]:
        """Return the numbers of requests by outcome, and the error that ended the run."""
        return self._counts, self._fatal

    def close(self) -> None:
        """Write everything to the disk, and release the lock for another run."""
        os.fsync(self._file.fileno())
        self._file.close()
        self._lock.close()


def _take(lock: IO[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                lock.close()
                raise StoreError(
                    f"batch run: another run writes results to {folder}; wait for it to end"
                ) from None
            time.sleep(0.2)
        else:
            return


def _answered_id(line: bytes) -> str | None:
    """Return the ``custom_id`` of an answered request, or None for a failure or a cut-off line."""
    if not line.endswith(b"\n"):
        return None
    try:
        result = msgspec.json.decode(line, type=ResultLine)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return None if result.answer is None else result.custom_id


def result_line(custom_id: str, body: object) -> bytes:
    """Return the line of an answered request, whose answer is `body`."""
    response = {"status_code": OK, "body": body}
    line = {"custom_id": custom_id, "response": response, "error": None}
    return msgspec.json.encode(line) + b"\n"


def failure_line(custom_id: str, message: str) -> bytes:
    """Return the line of a failed request. A later run sends it again."""
    line = {"custom_id": custom_id, "response": None, "error": {"message": message}}
    return msgspec.json.encode(line) + b"\n"
