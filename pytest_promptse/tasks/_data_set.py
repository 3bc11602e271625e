"""A data set of tasks: a file of JSON objects, which is read when a task is first used."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import TaskError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_promptse.tasks._task import Task

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet(Sequence["Task"]):
    """Tasks that are read from a file on first use.

    Parameters
    ----------
    path
        A file of JSON lines, or of one JSON array, plain or compressed by gzip.
    only
        Ids to keep.
    limit
        The number of tasks to keep, at least 1.

    Raises
    ------
    TaskError
        On first use, if the file cannot be read. The error is also raised if a task is invalid or
        repeats an id, if an id in `only` does not exist, or if `limit` is below 1.
    """

    name: ClassVar[str]
    required: ClassVar[tuple[str, ...]]
    optional: ClassVar[tuple[str, ...]] = ("canonical_solution",)

    path: Path | None = None
    only: tuple[str, ...] | None = None
    limit: int | None = None

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...
    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        return self._read[index]

    def __len__(self) -> int:
        return len(self._read)

    def source(self) -> tuple[Path, bytes]:
        """Return the file and its content."""
        if self.path is None:
            raise TaskError(f"{self.name}.tasks: give the path of your copy of the data set")
        return self.path, decompressed(self.path)

    def task(self, record: dict[str, Any]) -> Task:
        """Return the task of a JSON object that has the required keys."""
        raise NotImplementedError

    @cached_property
    def _read(self) -> tuple[Task, ...]:
        if self.limit is not None and self.limit < 1:
            raise TaskError(f"{self.name}.tasks: limit {self.limit!r}: keep at least 1 task")
        path, content = self.source()
        tasks: dict[str, Task] = {}
        lines: dict[str, int] = {}
        for number, text in _objects(path, content):
            try:
                task = self.task(self._checked(text))
            except TaskError as error:
                raise TaskError(f"{path}:{number}: {error}") from None
            if task.id in tasks:
                raise TaskError(
                    f"{path}:{number}: the task id {task.id!r} is taken by line {lines[task.id]}"
                )
            tasks[task.id], lines[task.id] = task, number
        if not tasks:
            raise TaskError(f"{path}: there are no tasks in it")
        for name in self.only or ():
            if name not in tasks:
                raise TaskError(f"{path} has no task {name!r}{nearest(name, tasks)}")
        kept = [task for name, task in tasks.items() if self.only is None or name in self.only]
        return tuple(kept)[: self.limit]

    def _checked(self, record: object) -> dict[str, Any]:
        if isinstance(record, bytes):
            try:
                record = json.loads(record)
            except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
                raise TaskError(f"not a line of JSON: {error}") from None
        if not isinstance(record, dict):
            raise TaskError(f"not a task but a JSON {type(record).__name__}")
        for key in self.required:
            if key not in record:
                raise TaskError(f"the task has no {key!r}{nearest(key, record)}")
        for key in (*self.required, *self.optional):
            if not isinstance(record.get(key, ""), str):
                raise TaskError(f"{key!r} must be text, not {type(record[key]).__name__}")
        return record


def decompressed(path: Path) -> bytes:
    """Return the content of a file, which may be compressed by gzip."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise TaskError(f"{path}: damaged gzip file ({error}); fetch it again") from None


def _objects(path: Path, content: bytes) -> Iterator[tuple[int, object]]:
    """Yield the lines with their numbers, or the values of an array with their places."""
    if content.lstrip().startswith(b"["):
        try:
            yield from enumerate(json.loads(content), start=1)
        except (ValueError, RecursionError) as error:
            raise TaskError(f"{path}: not JSON: {error}") from None
        return
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield number, line
