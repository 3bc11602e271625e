"""The result record: schema, reading, writing and queries over it.

The names listed here are for readers of records and authors of own reports.
"""

from pytest_promptse.record._files import encode
from pytest_promptse.record._schema import Record
from pytest_promptse.record._tables import frame, rows

__all__ = ["Record", "encode", "frame", "rows"]
