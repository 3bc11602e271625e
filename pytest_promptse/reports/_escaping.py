"""Escape control characters, so that no text of a model can alter a report."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from pytest_promptse._redaction import acts, escape_controls
from pytest_promptse.record._files import CompressedTasks
from pytest_promptse.record._schema import Record, TaskRecord

Part = TypeVar("Part", Record, TaskRecord)

# JSON itself escapes some of them. Such an escape follows an even number of backslashes.
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u00[01]|[bf])")


def escaped(record: Record) -> Record:
    """Return `record` with every such character replaced by its Python escape sequence."""
    rest = replace(record, tasks=[])
    if _holds_any(rest):
        record = replace(_written(rest, Record), tasks=record.tasks)
    if any(map(_holds_any, record.tasks)):
        record = replace(
            record, tasks=CompressedTasks(_written(task, TaskRecord) for task in record.tasks)
        )
    return record


def _holds_any(part: Record | TaskRecord) -> bool:
    # Few records contain any, and walking through a large record takes seconds.
    try:
        text = msgspec.json.encode(part).decode()
    except UnicodeEncodeError:
        return True
    return acts(text) or _ESCAPED.search(text) is not None


def _written(part: Part, kind: type[Part]) -> Part:
    return msgspec.convert(_written_out(msgspec.to_builtins(part)), kind)


def _written_out(value: Any) -> Any:
    if isinstance(value, str):
        return escape_controls(value)
    if isinstance(value, dict):
        return {_written_out(name): _written_out(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_written_out(entry) for entry in value]
    return value
