"""The result record: schema, reading, writing and queries over it.

The names in ``__all__`` are for readers of records and authors of their own reports.
`pytest_promptse.Record` reads a record.
"""

from pytest_promptse.record._files import encode
from pytest_promptse.record._tables import frame, rows

__all__ = ["encode", "frame", "rows"]
