"""Reading a result record back: baselines, and whatever else is made from a record later."""

from __future__ import annotations

import msgspec

from pytest_promptse.errors import RecordError
from pytest_promptse.record.schema import SCHEMA, Record


class _Head(msgspec.Struct):
    schema: str


def decode(text: bytes, *, where: str) -> Record:
    """Read a record from JSON.

    Raises
    ------
    RecordError
        If `text` is no record, or one of another schema version, naming `where` it stands.
    """
    try:
        schema = msgspec.json.decode(text, type=_Head).schema
    except msgspec.DecodeError:
        raise RecordError(f"{where} is no result record") from None
    kind, _, version = schema.partition("/")
    if kind != SCHEMA.partition("/")[0]:
        raise RecordError(f"{where} is no result record but {schema!r}")
    if schema != SCHEMA:
        known = SCHEMA.partition("/")[2]
        is_newer = version.isdecimal() and int(version) > int(known)
        remedy = "; a newer one reads it: pip install -U pytest-promptse" if is_newer else ""
        raise RecordError(
            f"{where} is a record of schema version {version}, and this version of pytest-promptse "
            f"reads {known}{remedy}"
        )
    try:
        return msgspec.json.decode(text, type=Record)
    except msgspec.DecodeError as error:
        raise RecordError(f"{where} is a damaged result record: {error}") from None
