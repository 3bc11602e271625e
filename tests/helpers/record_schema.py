"""Check whether a result record fits its JSON Schema."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema

from pytest_promptse.record._schema import json_schema


@cache
def schema_validator() -> jsonschema.Draft202012Validator:
    """Return the validator of records; tests/record/test_schema.py checks the schema itself."""
    return jsonschema.Draft202012Validator(json_schema())


def check_record(record: Any) -> None:
    """Raise :exc:`jsonschema.ValidationError` if `record` does not fit the schema."""
    schema_validator().validate(record)
