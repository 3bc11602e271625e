"""The result record: schema, reading, writing and queries over it."""

from pytest_promptse.record.schema import Record
from pytest_promptse.record.tables import frame, rows

__all__ = ["Record", "frame", "rows"]
