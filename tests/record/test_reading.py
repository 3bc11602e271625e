from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import msgspec
import pytest
from record_schema import check_record, schema_validator

from pytest_promptse.errors import RecordError
from pytest_promptse.record._files import encode
from pytest_promptse.record._schema import Record, decode

# Records that released versions wrote, named after them. Once its version is released, a record is
# never written again, since it tests that old records stay readable.
RECORDS = Path(__file__).parent / "records"
SAVED = RECORDS / "0.1.0.json"
RELEASED = sorted(RECORDS.glob("*.json"))
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


def places(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(child, (*path, key))


def lost(old, new, path=()):
    """Yield the places of a record whose field or value another one lacks."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, child in old.items():
            yield from lost(child, new[key], (*path, key)) if key in new else [(*path, key)]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from lost(one, other, (*path, place))
    elif old != new:
        yield path


def spoiled(record, path, value):
    broken = copy.deepcopy(record)
    parent = broken
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return broken


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_a_record_of_a_released_version_is_read_whole(path):
    check_record(json.loads(path.read_bytes()))
    again = b"".join(encode(decode(path.read_bytes(), where=path.name)))
    assert list(lost(json.loads(path.read_bytes()), json.loads(again))) == []


def test_every_released_version_has_a_record():
    # Those of the version that is being made may still change: see CONTRIBUTING.md.
    versions = re.findall(r"^## (\d\S*) ", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    assert versions
    assert set(versions) <= {path.stem for path in RELEASED}


def test_what_is_read_can_be_written_and_read_again():
    record = decode(SAVED.read_bytes(), where="old.json")
    assert decode(b"".join(encode(record)), where="copy") == record


def test_reading_refuses_what_the_schema_refuses():
    # One of each kind, since all of it is validated for each of its places.
    record = json.loads(SAVED.read_bytes()) | {"tasks": [], "subgroups": []}
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
        ("", "run.json is not a result record"),
        ("[1]", "run.json is not a result record"),
        ('{"schema": "other/1"}', "run.json is not a result record but 'other/1'"),
        ('{"extra": ' + "[" * 100_000, "run.json is not a result record"),
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


def test_a_file_that_is_no_record_is_named_by_its_path(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("[1]")
    with pytest.raises(RecordError, match=r"other\.json is not a result record"):
        Record.load(path)


def test_fields_of_a_later_release_are_no_obstacle():
    record = json.loads(SAVED.read_bytes()) | {"added_later": [1]}
    assert decode(msgspec.json.encode(record), where="run.json").schema == "promptse.run/1"
