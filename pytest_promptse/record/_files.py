"""Encoded records: JSON files, and task records compressed in memory."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import msgspec

from pytest_promptse.errors import RecordError
from pytest_promptse.record._schema import TaskRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pytest_promptse.record._schema import Record

SUFFIX = ".json"
LAST_RUN = "last-run.json"
"""Name of the file in the store's folder that contains the record of the last run."""

# The variants of a task share most of their text, so the fastest level compresses well.
_COMPRESSION_LEVEL = 1


def is_path(name_or_path: str) -> bool:
    """Return whether a baseline is given as a file path instead of a name."""
    return "/" in name_or_path or name_or_path.endswith(SUFFIX)


def baseline_command(name_or_path: str) -> str:
    """Return the command that creates or replaces a baseline."""
    if is_path(name_or_path):
        return f"pytest … --promptse-report json:{name_or_path}"
    return f"pytest … --promptse-save {name_or_path}"


def encode(record: Record) -> Iterator[bytes]:
    """Yield a record as JSON, task by task.

    The JSON is indented, so that two records can be compared line by line.

    Parameters
    ----------
    record
        The record. The tasks are encoded one at a time, so they need not fit in memory together.
    """
    # Line breaks occur only between values, so the indentation of a line shows its depth.
    head, tail = _indented(msgspec.structs.replace(record, tasks=[])).split(b'\n "tasks": []')
    yield head + b'\n "tasks": ['
    for number, task in enumerate(record.tasks):
        yield b"," if number else b""
        yield b"\n  " + _indented(task).replace(b"\n", b"\n  ")
    yield (b"\n ]" if record.tasks else b"]") + tail + b"\n"


def _indented(value: Record | TaskRecord) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def write(record: Record, path: Path) -> None:
    """Write a record as JSON to `path` and create the folder if it is missing.

    Parameters
    ----------
    record
        The record to write.
    path
        The JSON file. An existing file is replaced.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    """
    write_chunks(encode(record), path, what=f"report json:{path}")


def write_chunks(chunks: Iterable[bytes], path: Path, *, what: str) -> None:
    """Write `chunks` to `path` and create the folder if it is missing.

    Parameters
    ----------
    chunks
        The content of the file, in order.
    path
        The file to write. An existing file is replaced.
    what
        Name of the requested file for the error message, for example ``report json:run.json``.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(chunks)
    except OSError as error:
        raise RecordError(f"{what}: {error.strerror or error}") from None


class CompressedTasks(Sequence[TaskRecord]):
    """A sequence of task records that uses about a tenth of their memory.

    Each access decompresses one task.

    Parameters
    ----------
    tasks
        The task records. They are read one after the other, so an iterator can be given.
    """

    def __init__(self, tasks: Iterable[TaskRecord] = ()) -> None:
        self._compressed = [_compress(task) for task in tasks]

    def append(self, task: TaskRecord) -> None:
        """Compress and append one task."""
        self._compressed.append(_compress(task))

    @overload
    def __getitem__(self, index: int) -> TaskRecord: ...

    @overload
    def __getitem__(self, index: slice) -> list[TaskRecord]: ...

    def __getitem__(self, index: int | slice) -> TaskRecord | list[TaskRecord]:
        if isinstance(index, slice):
            return [_decompress(compressed) for compressed in self._compressed[index]]
        return _decompress(self._compressed[index])

    def __iter__(self) -> Iterator[TaskRecord]:
        return map(_decompress, self._compressed)

    def __len__(self) -> int:
        return len(self._compressed)


def _compress(task: TaskRecord) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(task), _COMPRESSION_LEVEL)


def _decompress(compressed: bytes) -> TaskRecord:
    return msgspec.msgpack.decode(zlib.decompress(compressed), type=TaskRecord)
