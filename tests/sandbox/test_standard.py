"""The table of what may cross: each kind round trips, is strict, and is in the documentation."""

import argparse
import array
import collections
import functools
import gc
import io
import ipaddress
import operator
import pathlib
import queue
import random
import re
import sqlite3
import types
import uuid
import zoneinfo
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from pytest_promptse.sandbox.guest import standard
from pytest_promptse.sandbox.guest.containers import is_container
from pytest_promptse.sandbox.guest.wire import InUseError, WireError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "candidate.md"


def filled_queue(kind):
    made = kind()
    made.put(1)
    return made


def database():
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE people (name TEXT)")
    return made


VALUES = [
    collections.Counter("aab"),
    collections.OrderedDict(a=1),
    collections.defaultdict(list, a=[1]),
    uuid.UUID(int=3),
    pathlib.PurePosixPath("a/b"),
    pathlib.PureWindowsPath("a/b"),
    pathlib.PosixPath("a/b"),
    *(
        getattr(ipaddress, f"IPv{version}{kind}")(text)
        for version, text in ((4, "127.0.0.1"), (6, "::1"))
        for kind in ("Address", "Network", "Interface")
    ),
    array.array("i", [1, 2]),
    memoryview(b"ab"),
    dict[str, list[int]],
    int | list[str] | None,
    slice(1, 2),
    {"a": 1}.keys(),
    {"a": 1}.values(),
    {"a": 1}.items(),
    types.MappingProxyType({"a": 1}),
    timezone(timedelta(hours=1)),
    re.compile("a+", re.IGNORECASE),
    functools.partial(int, base=2),
    operator.itemgetter(1),
    operator.attrgetter("a"),
    zoneinfo.ZoneInfo("UTC"),
    io.StringIO("ab"),
    io.BytesIO(b"ab"),
    types.SimpleNamespace(a=1),
    argparse.Namespace(a=1),
    filled_queue(queue.Queue),
    filled_queue(queue.LifoQueue),
    filled_queue(queue.PriorityQueue),
    random.Random(3),
    database(),
]
MOVED = [value for value in VALUES if standard.KINDS[standard.kind_of(value)].update]


def taken(value):
    name, *parts = standard.parts_of(value, to_program=True)
    return name, parts


def test_every_kind_has_an_example():
    assert {standard.kind_of(value) for value in VALUES} == set(standard.KINDS)


def close_database(value):
    # Python warns of one that is left open from version 3.13 on.
    if isinstance(value, sqlite3.Connection):
        value.close()


@pytest.mark.parametrize("value", VALUES, ids=standard.kind_of)
def test_a_value_is_rebuilt_from_its_parts(value):
    parts = standard.parts_of(value, to_program=True)
    built = standard.build(parts, in_program=True)
    assert type(built) is type(value)
    assert taken(built) == taken(value)
    close_database(built)


@pytest.mark.parametrize("value", MOVED, ids=standard.kind_of)
def test_an_update_gives_a_moved_object_the_other_content(value):
    name, parts = taken(value)
    other = type(value)(":memory:") if name.startswith("sqlite3") else type(value)()
    standard.KINDS[name].update(other, *parts)
    assert taken(other) == (name, parts)
    close_database(other)


@pytest.mark.parametrize("value", VALUES, ids=standard.kind_of)
def test_the_check_builds_only_what_a_program_may_send(value):
    name, parts = taken(value)
    if standard.KINDS[name].to_program:
        with pytest.raises(WireError):
            standard.build((name, *parts), in_program=False)
    with pytest.raises(WireError):
        standard.build((name, *parts, None), in_program=False)


def test_a_database_with_a_file_is_not_sent(tmp_path):
    connection = sqlite3.connect(tmp_path / "people.db")
    assert standard.parts_of(connection, to_program=True) is None
    connection.close()


def test_a_database_whose_cursor_is_being_read_is_not_changed():
    ours, theirs = database(), database()
    theirs.execute("CREATE TABLE other(a)")
    name, *parts = standard.parts_of(theirs, to_program=True)
    ours.execute("CREATE TABLE numbers(a)")
    ours.executemany("INSERT INTO numbers VALUES (?)", [(1,), (2,)])
    ours.commit()
    cursor = ours.execute("SELECT a FROM numbers")
    row = cursor.fetchone()
    with pytest.raises(InUseError):
        standard.update(standard.KINDS[name], ours, parts)
    assert [row, *cursor.fetchall()] == [(1,), (2,)]
    standard.update(standard.KINDS[name], ours, parts)
    assert ours.execute("SELECT name FROM sqlite_schema").fetchall() == [("people",), ("other",)]
    close_database(ours)
    close_database(theirs)


@pytest.mark.parametrize("value", VALUES, ids=standard.kind_of)
def test_the_parts_of_a_value_are_no_containers_of_it(value):
    held = {id(part) for part in gc.get_referents(value) if is_container(part)}
    assert held.isdisjoint(map(id, standard.parts_of(value, to_program=True)))
    close_database(value)


def test_the_documentation_lists_every_kind_that_is_sent_or_lent():
    page = PAGE.read_text()
    page = page[page.index("## What comes back") : page.index("## What cannot be passed")]
    spoken = {
        "slice": "slice", "dict_keys": "dict views", "dict_values": "dict views",
        "dict_items": "dict views", "timezone": "fixed offset", "PurePosixPath": "pure paths",
        "PureWindowsPath": "pure paths", "Iterator": "iterators", "Awaitable": "awaitables",
        "_GeneratorContextManager": "`contextlib.contextmanager`",
        "_AsyncGeneratorContextManager": "`asynccontextmanager`",
        "GenericAlias": "types with parameters", "UnionType": "unions of types",
        "AsyncIterator": "iterators", "GeneratorType": "generators", "CoroutineType": "awaitables",
    }  # fmt: skip
    for name in {*standard.KINDS, *standard.LENT}:
        word = name.rpartition(".")[2]
        if word.startswith("IPv"):
            word = "IP addresses and networks"
        assert spoken.get(word, word) in page, name


@pytest.mark.parametrize("level", ["", None])
def test_the_settings_of_a_database_come_across_and_a_closed_one_is_closed(level):
    ours, theirs = database(), database()
    theirs.isolation_level = level
    theirs.execute("PRAGMA foreign_keys = ON")
    name, *parts = standard.parts_of(theirs, to_program=True)
    standard.update(standard.KINDS[name], ours, parts)
    assert ours.execute("PRAGMA foreign_keys").fetchone() == (1,)
    theirs.close()
    for _ in range(2):
        _, *closed = standard.parts_of(theirs, to_program=True)
        standard.update(standard.KINDS[name], ours, closed)
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            ours.execute("SELECT 1")
        standard.update(standard.KINDS[name], ours, parts)


def test_a_setting_of_a_database_is_a_number():
    ours = database()
    name, *parts, _ = standard.parts_of(ours, to_program=True)
    with pytest.raises(WireError):
        standard.update(standard.KINDS[name], ours, [*parts, ("1; DROP TABLE people", 0, 0)])
    close_database(ours)


@pytest.mark.parametrize("detect", [sqlite3.PARSE_COLNAMES, sqlite3.PARSE_DECLTYPES])
def test_what_a_database_cannot_hand_over_is_named(detect):
    plain = database()
    assert standard.unsendable_of(plain) == ""
    plain.execute("CREATE TEMP TABLE t(a)")
    assert "temporary" in standard.unsendable_of(plain)
    converting = sqlite3.connect(":memory:", detect_types=detect)
    converting.execute("CREATE TABLE t(day DATE)")
    assert "detect_types" in standard.unsendable_of(converting)
    assert "TEXT" not in sqlite3.converters
    close_database(plain)
    close_database(converting)
