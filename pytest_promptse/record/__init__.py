"""The result record: schema, reading, writing and queries over it.

The names listed here are for readers of records and authors of own reports.
`pytest_promptse.Record` reads a record.
"""

from pytest_promptse.record._files import encode
from pytest_promptse.record._tables import frame, rows

__all__ = ["encode", "frame", "rows"]
