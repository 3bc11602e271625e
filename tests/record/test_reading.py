from __future__ import annotations

import copy
import json
from pathlib import Path

import msgspec
import pytest
from record_schema import check_record, schema_validator

from pytest_promptse.errors import RecordError
from pytest_promptse.record._files import encode
from pytest_promptse.record._schema import decode

# A record that version 0.1.0 of the package wrote. Never regenerate it, since it tests that old
# records stay readable.
FIRST = Path(__file__).parent / "records" / "run-1.json"


def places(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(child, (*path, key))


def spoiled(record, path, value):
    broken = copy.deepcopy(record)
    parent = broken
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return broken


def test_the_first_version_stays_readable():
    record = decode(FIRST.read_bytes(), where="run-1.json")
    assert [task.id for task in record.tasks] == ["shout"]
    check_record(json.loads(FIRST.read_bytes()))


def test_what_is_read_can_be_written_and_read_again():
    record = decode(FIRST.read_bytes(), where="run-1.json")
    assert decode(b"".join(encode(record)), where="copy") == record


def test_reading_refuses_what_the_schema_refuses():
    # One of each kind, since all of it is validated for each of its places.
    record = json.loads(FIRST.read_bytes()) | {"tasks": [], "voices": []}
    [suite] = record["suites"]
    suite["calibration"] = {"all": suite["calibration"]["all"]}
    del suite["calibration"]["all"]["bins"][1:]
    schema = schema_validator()
    paths = {path for path in places(record) if path and path[0] in ("suites", "usage", "schema")}
    refused = 0
    for path in sorted(paths, key=repr):
        for wrong in ([[]], "no", -1.5):
            broken = spoiled(record, path, wrong)
            if schema.is_valid(broken):
                continue
            refused += 1
            with pytest.raises(RecordError):
                decode(json.dumps(broken).encode(), where="broken.json")
    assert refused > len(paths)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "run.json is no result record"),
        ("[1]", "run.json is no result record"),
        ('{"schema": "other/1"}', "run.json is no result record but 'other/1'"),
        ('{"extra": ' + "[" * 100_000, "run.json is no result record"),
        ('{"schema": "promptse.run/1"}', "run.json is a damaged result record: .*`tool`"),
        (
            '{"schema": "promptse.run/0"}',
            r"run.json is a record of schema version 0, and this version .* reads 1$",
        ),
        (
            '{"schema": "promptse.run/2"}',
            r"version 2, .* reads 1; a newer one reads it: pip install -U pytest-promptse$",
        ),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(text, said):
    with pytest.raises(RecordError, match=said):
        decode(text.encode(), where="run.json")


def test_fields_of_a_later_release_are_no_obstacle():
    record = json.loads(FIRST.read_bytes()) | {"added_later": [1]}
    assert decode(msgspec.json.encode(record), where="run.json").schema == "promptse.run/1"
