import json
import math
import time
from collections import Counter, OrderedDict, deque
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock_time
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.decode import decode
from pytest_promptse.sandbox.guest.encode import encode

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**60, max_value=2**300)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.fractions()
    | st.decimals(allow_nan=False, places=3)
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(timezone(timedelta(hours=2))))
    | st.times()
    | st.timedeltas(),
    lambda inner: st.lists(inner).map(tuple) | st.frozensets(inner),
    max_leaves=10,
)
values = st.recursive(
    hashable | st.binary().map(bytearray),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(inner).map(deque)
        | st.sets(hashable)
        | st.dictionaries(hashable, inner)
    ),
    max_leaves=20,
)


def shape(value):
    """Types all the way down, for 1 == 1.0 == True."""
    if isinstance(value, dict):
        return [dict, [(shape(k), shape(v)) for k, v in value.items()]]
    if isinstance(value, (list, tuple, deque)):
        return [type(value), [shape(item) for item in value]]
    if isinstance(value, (set, frozenset)):
        return [type(value), sorted(repr(shape(item)) for item in value)]
    return [type(value), repr(value)]


@settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
@given(values)
def test_plain_data_comes_back_equal_and_of_the_same_types(value):
    back = decode(encode(value))
    assert back == value
    assert shape(back) == shape(value)


@pytest.mark.parametrize(
    "value",
    [
        math.inf, -0.0, 2**63, -(2**63) - 1, 10**4000, "\ud800", "\ud800\udc00", "𐀀", b"\xff",
        range(3, 9, 2),
        deque([1], maxlen=3), Decimal("NaN"), Fraction(1, 3), date(2024, 2, 29),
        datetime(2024, 1, 1, tzinfo=timezone(timedelta(minutes=90))), clock_time(1, 2, 3, fold=1),
        timedelta(days=-1, microseconds=5), {(): {frozenset(): [set()]}}, [], {}, set(), "",
    ],
)  # fmt: skip
def test_corner_cases_survive(value):
    assert shape(decode(encode(value))) == shape(value)


def test_an_integer_of_any_size_survives():
    big = 7**20_000
    assert decode(encode({big: -big})) == {big: -big}


def test_not_a_number_survives():
    assert math.isnan(decode(encode([math.nan]))[0])


@pytest.mark.parametrize(
    "value", [object(), OrderedDict(a=1), Counter(), type, len, IntEnum("E", "A")["A"]]
)
def test_nothing_but_the_exact_built_in_types_is_plain(value):
    with pytest.raises(wire.WireError):
        encode([value])


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_limited_on_both_ends():
    assert decode(encode(nested(500))) == nested(500)
    with pytest.raises(wire.WireError, match="deeper"):
        encode(nested(1000))
    forged = [[wire.LIST, 0] + [wire.LIST, 1] * 1000, []]
    with pytest.raises(wire.WireError, match="deeper"):
        decode(json.dumps(forged).encode())


def test_a_value_that_contains_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(wire.WireError, match="contains itself"):
        encode([{"a": value}])


def test_a_container_that_a_value_has_twice_counts_twice():
    value, steps, atoms = [], [wire.LIST, 0], []
    for number in range(60):
        value = [value, value]
        steps += [wire.ATOMS, 1, wire.SAME, 1, wire.LIST, 2]
        atoms.append(2 * number)
    with pytest.raises(wire.TooLargeError, match="parts"):
        encode(value)
    with pytest.raises(wire.TooLargeError, match="parts"):
        decode(json.dumps([steps, atoms]).encode())
    grid = [[0] * 1000] * 1000
    assert decode(encode(grid)) == grid


def test_the_depth_of_a_container_counts_where_it_is_again():
    steps, atoms = [wire.LIST, 0], []
    for number in range(1000):
        steps += [wire.ATOMS, 1, wire.SAME, 1, wire.LIST, 1]
        atoms.append(2 * number)
    with pytest.raises(wire.TooLargeError, match="deeper"):
        decode(json.dumps([[*steps, wire.LIST, 1001], atoms]).encode())


def test_the_number_of_a_repeated_container_is_an_atom():
    steps = [wire.LIST, 0, wire.ATOMS, 2, wire.INT, 1, wire.ATOMS, 0, wire.SAME, 1, wire.LIST, 3]
    with pytest.raises(wire.WireError, match="number"):
        decode(json.dumps([steps, [0, "0x0"]]).encode())


def test_size_is_limited_on_both_ends():
    with pytest.raises(wire.WireError, match="bytes"):
        encode("x" * (wire.MAX_BYTES + 1))
    with pytest.raises(wire.WireError, match="bytes"):
        decode(b" " * (wire.MAX_BYTES + 1))


M = 2**61 - 1
COLLIDING = {
    "set": [wire.ATOMS, 40_000, wire.SET, 40_000],
    "dict": [wire.ATOMS, 40_000, wire.DICT, 40_000],
    "list": [wire.ATOMS, 40_000, wire.LIST, 40_000],
}


@pytest.mark.parametrize("kind", COLLIDING)
def test_colliding_keys_hold_the_decoder_under_a_second(kind):
    atoms = [i * M for i in range(40_000)]
    message = json.dumps([COLLIDING[kind], atoms]).encode()
    start = time.thread_time()
    with pytest.raises(wire.WireError, match="hashing"):
        decode(message)
    assert time.thread_time() - start < 1.0


def test_a_large_honest_answer_is_no_collision():
    value = {i: [str(i), i * 0.5] for i in range(20_000)}
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    "message",
    [
        b"", b"null", b"{}", b"[]", b"[[],[]]", b"[[0,1],[{}]]", b"[[0,1],[[1]]]", b'[["0",1],[1]]',
        b"[[0,-1],[1]]", b"[[1,5],[]]", b"[[0,2],[1,2]]", b"[[0,1],[1,2]]", b"[[0,1,99,1],[1]]",
        b"[[0,1,6,1],[5]]", b'[[0,1,6,1],["zz"]]', b'[[0,1,8,1],["\\u0100"]]', b"[[0,1,0],[1]]",
        b'[[0,1,12,1],["1e999999999"]]', b"[[0,3,10,3],[0,1000000000000,1]]", b"[[0,2,13,2],[1,0]]",
        b"[[0,1,1,1,3,1],[1]]", b"[[0,1,5,1],[1]]", b"[[true,1],[1]]", b"[" * 5000, b"\xff",
        b'[[0,1],["x"]] trailing', b"[[0,3,19,3],[1,2,3]]", b'[[0,1,14,1],["yesterday"]]',
    ],
)  # fmt: skip
def test_a_malformed_message_is_refused_as_such(message):
    with pytest.raises(wire.WireError):
        decode(message)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(st.integers(-1, 25), st.integers(-1, 6))),
    st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)),
)
def test_any_message_gives_a_value_or_a_wire_error(steps, atoms):
    message = json.dumps([[n for step in steps for n in step], atoms]).encode()
    try:
        decode(message)
    except wire.WireError:
        return


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_give_a_value_or_a_wire_error(message):
    try:
        decode(message)
    except wire.WireError:
        return


def test_a_fraction_whose_reduction_takes_long_is_refused_before_it_is_built():
    big = hex(3**100_000)
    message = json.dumps([[0, 1, 6, 1, 0, 1, 6, 1, 13, 2], [big, big]]).encode()
    start = time.thread_time()
    with pytest.raises(wire.WireError, match="bits"):
        decode(message)
    assert time.thread_time() - start < 0.5


@pytest.mark.parametrize("operation", [wire.SET, wire.DEQUE])
def test_empty_containers_are_counted_before_they_are_built(operation):
    parts = [None] if operation == wire.DEQUE else []
    one = [0, len(parts), operation, len(parts)]
    message = json.dumps([one * 1_300_000 + [wire.LIST, 1_300_000], parts * 1_300_000]).encode()
    with pytest.raises(wire.WireError, match=r"bytes|parts"):
        decode(message)


def test_a_range_of_huge_numbers_is_refused():
    huge = hex(2**100_000)
    message = json.dumps([[0, 1, 6, 1, 0, 1, 6, 1, 0, 1, 10, 3], [huge, huge, 1]]).encode()
    with pytest.raises(wire.WireError, match="64 bits"):
        decode(message)


def test_three_million_numbers_and_ten_megabytes_of_text_survive():
    assert decode(encode(list(range(3_000_000))))[-1] == 2_999_999
    assert len(decode(encode("x" * 10_000_000))) == 10_000_000
