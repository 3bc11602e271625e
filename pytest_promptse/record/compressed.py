"""Compressed task records, for records that do not fit into memory otherwise."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import msgspec

from pytest_promptse.record.schema import TaskRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The variants of a task share most of their text, which the fastest level compresses well.
_LEVEL = 1


class CompressedTasks(Sequence[TaskRecord]):
    """Task records in about a tenth of their memory. Each access decompresses one task.

    Parameters
    ----------
    tasks
        CompressedTasks one after the other, so that they need not be there at once.
    """

    def __init__(self, tasks: Iterable[TaskRecord] = ()) -> None:
        self._packed = [_pack(task) for task in tasks]

    def append(self, task: TaskRecord) -> None:
        """Compress and append one task."""
        self._packed.append(_pack(task))

    @overload
    def __getitem__(self, index: int) -> TaskRecord: ...

    @overload
    def __getitem__(self, index: slice) -> list[TaskRecord]: ...

    def __getitem__(self, index: int | slice) -> TaskRecord | list[TaskRecord]:
        if isinstance(index, slice):
            return [_unpack(packed) for packed in self._packed[index]]
        return _unpack(self._packed[index])

    def __iter__(self) -> Iterator[TaskRecord]:
        return map(_unpack, self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def _pack(task: TaskRecord) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(task), _LEVEL)


def _unpack(packed: bytes) -> TaskRecord:
    return msgspec.msgpack.decode(zlib.decompress(packed), type=TaskRecord)
