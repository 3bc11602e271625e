"""The result record: schema, reading, writing and queries over it.

The names listed here are for authors of own reports.
"""

from pytest_promptse.record.files import encode
from pytest_promptse.record.schema import Record

__all__ = ["Record", "encode"]
