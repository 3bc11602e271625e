"""Escaping of control characters, so that no text of a model can alter a report."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from pytest_promptse.record.compressed import CompressedTasks
from pytest_promptse.record.schema import Record, TaskRecord

Part = TypeVar("Part", Record, TaskRecord)

# Control characters; bidirectional overrides, which can disguise a program
# (https://trojansource.codes/); and characters that no UTF-8 file can contain.
_ACTING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    r"\ud800-\udfff\ufffe\uffff]"
)
# JSON escapes some of them itself, after an even number of backslashes.
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
    # Few records contain any, and walking through a large one takes seconds.
    try:
        text = msgspec.json.encode(part).decode()
    except UnicodeEncodeError:
        return True
    return bool(_ACTING.search(text) or _ESCAPED.search(text))


def _written(part: Part, kind: type[Part]) -> Part:
    return msgspec.convert(_written_out(msgspec.to_builtins(part)), kind)


def _written_out(value: Any) -> Any:
    if isinstance(value, str):
        return _ACTING.sub(_escape, value)
    if isinstance(value, dict):
        return {_written_out(name): _written_out(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_written_out(own) for own in value]
    return value


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - two digits
