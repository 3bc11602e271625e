"""The language between checker and program: plain data, decoded strictly.

Both ends run this module, the far one inside the jail, where nothing is installed; so it needs
the standard library alone.

A value travels as two flat JSON arrays: *atoms* (None, bool, int, float, str) and *steps*, pairs
``operation, n`` of a stack machine that pushes the next n atoms or builds one value from the n
topmost ones. JSON without objects cannot nest deeper than two, cannot hold a dict whose keys
collide, and decodes in C; every container is then built here, under limits. There is no way to
say "an instance of class X".

Limits on one message: `MAX_BYTES` of text, `MAX_DEPTH` levels, and `HASHING_SECONDS` of CPU time
for hashing, which is what colliding keys attack
(https://peps.python.org/pep-0456/ protects only text).
"""

from __future__ import annotations

import json
import time
from collections import deque
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock_time
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 200
MAX_STEPS = 2_000_000
MAX_RANGE = 1_000_000
MAX_EXPONENT = 10_000
HASHING_SECONDS = 0.4

(
    ATOMS,
    LIST,
    TUPLE,
    SET,
    FROZENSET,
    DICT,
    INT,
    COMPLEX,
    BYTES,
    BYTEARRAY,
    RANGE,
    DEQUE,
    DECIMAL,
    FRACTION,
    DATE,
    TIME,
    DATETIME,
    TIMEDELTA,
    REFERENCE,
    CALLBACK,
) = range(20)


class WireError(Exception):
    """A message that breaks the rules, or a value that cannot be said in them."""


class Built(NamedTuple):
    """One operation and what it builds from: how a value that is no atom or container travels."""

    operation: int
    parts: tuple[Any, ...]


_ATOMS = frozenset({type(None), bool, int, float, str})
_SEQUENCES: dict[type, int] = {list: LIST, tuple: TUPLE, set: SET, frozenset: FROZENSET}
_SAFE_INT = 2**63


def _offset_seconds(moment: datetime | clock_time) -> float | None:
    offset = moment.utcoffset()
    return None if offset is None else offset.total_seconds()


_STANDARD: dict[type, Callable[[Any], Built]] = {
    bytes: lambda value: Built(BYTES, (value.decode("latin-1"),)),
    bytearray: lambda value: Built(BYTEARRAY, (value.decode("latin-1"),)),
    complex: lambda value: Built(COMPLEX, (value.real, value.imag)),
    range: lambda value: Built(RANGE, (value.start, value.stop, value.step)),
    deque: lambda value: Built(DEQUE, (value.maxlen, *value)),
    Decimal: lambda value: Built(DECIMAL, (str(value),)),
    Fraction: lambda value: Built(FRACTION, (value.numerator, value.denominator)),
    datetime: lambda value: Built(
        DATETIME, (value.replace(tzinfo=None).isoformat(), _offset_seconds(value), value.fold)
    ),
    date: lambda value: Built(DATE, (value.isoformat(),)),
    clock_time: lambda value: Built(
        TIME, (value.replace(tzinfo=None).isoformat(), _offset_seconds(value), value.fold)
    ),
    timedelta: lambda value: Built(TIMEDELTA, (value.days, value.seconds, value.microseconds)),
}

# Not as escapes, which would make one character of two surrogates in a row.
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class _Writer:
    """Flattens one value; `other` says how to send what is not plain (or raises)."""

    def __init__(self, other: Callable[[Any], Any]) -> None:
        self.steps: list[int] = []
        self.atoms: list[Any] = []
        self.other = other

    def push(self, count: int) -> None:
        steps = self.steps
        if steps and steps[-2] == ATOMS:
            steps[-1] += count
        else:
            steps += (ATOMS, count)
        if len(steps) + len(self.atoms) > MAX_STEPS:
            raise WireError("the value has too many parts")

    def write(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind in _ATOMS:
            if kind is int and not -_SAFE_INT <= value < _SAFE_INT:
                # Decimal digits cost quadratic time and are capped by the interpreter.
                self.build(Built(INT, (hex(value),)), depth)
            else:
                self.atoms.append(value)
                self.push(1)
            return
        if depth > MAX_DEPTH:
            raise WireError(f"the value is nested deeper than {MAX_DEPTH} levels")
        operation = _SEQUENCES.get(kind)
        if operation is not None:
            self.sequence(value, depth)
            self.steps += (operation, len(value))
        elif kind is dict:
            self.sequence(list(chain.from_iterable(value.items())), depth)
            self.steps += (DICT, 2 * len(value))
        elif kind in _STANDARD:
            self.build(_STANDARD[kind](value), depth)
        elif kind is Built:
            self.build(value, depth)
        else:
            self.write(self.other(value), depth + 1)

    def sequence(self, values: Iterable[Any], depth: int) -> None:
        kinds = set(map(type, values))
        if kinds <= _ATOMS and not (int in kinds and self.has_big(values)):
            before = len(self.atoms)
            self.atoms.extend(values)
            self.push(len(self.atoms) - before)
        else:
            for value in values:
                self.write(value, depth + 1)

    @staticmethod
    def has_big(values: Iterable[Any]) -> bool:
        return any(type(v) is int and not -_SAFE_INT <= v < _SAFE_INT for v in values)

    def build(self, built: Built, depth: int) -> None:
        self.sequence(built.parts, depth)
        self.steps += (built.operation, len(built.parts))


def _refuse(value: Any) -> Any:
    raise WireError(f"a value of type {type(value).__name__} cannot travel")


def encode(value: Any, other: Callable[[Any], Any] = _refuse) -> bytes:
    """Return `value` as a message.

    Parameters
    ----------
    value : object
        Plain data: None, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict,
        set, frozenset, range, deque, Decimal, Fraction, date, time, datetime or timedelta, of
        exactly these types, nested at most `MAX_DEPTH` levels.
    other : callable
        Receives anything else and returns what shall be sent in its place: plain data or `Built`.

    Raises
    ------
    WireError
        When the value is too deep, too large or refused by `other`.
    """
    writer = _Writer(other)
    try:
        writer.write(value, 0)
        message = _dump([writer.steps, writer.atoms]).encode("utf-8", "surrogatepass")
    except RecursionError:
        raise WireError(f"the value is nested deeper than {MAX_DEPTH} levels") from None
    if len(message) > MAX_BYTES:
        raise WireError(f"the value takes {len(message)} bytes, over the {MAX_BYTES} allowed")
    return message


class _Hashing:
    """Builds hashed containers piecemeal, so that colliding keys cannot hold the caller."""

    _CHUNK = 256

    def __init__(self) -> None:
        self.deadline = time.thread_time() + HASHING_SECONDS

    def check(self) -> None:
        if time.thread_time() > self.deadline:
            raise WireError("hashing the value takes too long")

    def to_set(self, items: list[Any]) -> set[Any]:
        built: set[Any] = set()
        for start in range(0, len(items), self._CHUNK):
            built.update(items[start : start + self._CHUNK])
            self.check()
        return built

    def to_dict(self, items: list[Any]) -> dict[Any, Any]:
        if len(items) % 2:
            raise WireError("a dict needs a value for every key")
        built: dict[Any, Any] = {}
        for start in range(0, len(items), 2 * self._CHUNK):
            part = items[start : start + 2 * self._CHUNK]
            built.update(zip(part[::2], part[1::2], strict=True))
            self.check()
        return built


def _take(parts: list[Any], *kinds: type | tuple[type, ...]) -> list[Any]:
    if len(parts) != len(kinds):
        raise WireError(f"expected {len(kinds)} parts, not {len(parts)}")
    for part, kind in zip(parts, kinds, strict=True):
        if type(part) not in (kind if isinstance(kind, tuple) else (kind,)):
            raise WireError(f"a part of type {type(part).__name__} is out of place")
    return parts


def _int(parts: list[Any]) -> int:
    return int(_take(parts, str)[0], 16)


def _range(parts: list[Any]) -> range:
    built = range(*_take(parts, int, int, int))
    try:
        fits = len(built) <= MAX_RANGE
    except OverflowError:
        fits = False
    if not fits:
        raise WireError(f"a range is longer than {MAX_RANGE}")
    return built


def _deque(parts: list[Any]) -> deque[Any]:
    _take(parts[:1], (int, type(None)))
    return deque(parts[1:], parts[0])


def _decimal(parts: list[Any]) -> Decimal:
    value = Decimal(_take(parts, str)[0])
    if value.is_finite() and abs(value.adjusted()) > MAX_EXPONENT:
        raise WireError(f"a decimal has an exponent beyond {MAX_EXPONENT}")
    return value


def _zone(seconds: float | None) -> timezone | None:
    return None if seconds is None else timezone(timedelta(seconds=seconds))


def _datetime(parts: list[Any]) -> datetime:
    text, offset, fold = _take(parts, str, (float, type(None)), int)
    return datetime.fromisoformat(text).replace(tzinfo=_zone(offset), fold=fold)


def _time(parts: list[Any]) -> clock_time:
    text, offset, fold = _take(parts, str, (float, type(None)), int)
    return clock_time.fromisoformat(text).replace(tzinfo=_zone(offset), fold=fold)


_BUILDERS: dict[int, Callable[[list[Any]], Any]] = {
    INT: _int,
    COMPLEX: lambda parts: complex(*_take(parts, float, float)),
    BYTES: lambda parts: _take(parts, str)[0].encode("latin-1"),
    BYTEARRAY: lambda parts: bytearray(_take(parts, str)[0].encode("latin-1")),
    RANGE: _range,
    DEQUE: _deque,
    DECIMAL: _decimal,
    FRACTION: lambda parts: Fraction(*_take(parts, int, int)),
    DATE: lambda parts: date.fromisoformat(_take(parts, str)[0]),
    TIME: _time,
    DATETIME: _datetime,
    TIMEDELTA: lambda parts: timedelta(*_take(parts, int, int, int)),
}
# Above so many parts the values are hashed on trial, as a check may do with them.
_TRIAL_FROM = 2048
# What the program can choose the hash of; text and bytes are hashed with a secret.
_CHOSEN_HASHES = (int, float, complex, tuple, frozenset, Fraction, Decimal)


class _Reader:
    def __init__(self, build: Callable[[int, list[Any]], Any]) -> None:
        self.hashing = _Hashing()
        self.build = build
        self.built: list[Any] = []

    def one(self, operation: int, items: list[Any]) -> Any:
        if operation == LIST:
            return items
        if operation == TUPLE:
            value: Any = tuple(items)
        elif operation == DICT:
            return self.hashing.to_dict(items)
        elif operation == SET:
            return self.hashing.to_set(items)
        elif operation == FROZENSET:
            value = frozenset(self.hashing.to_set(items))
        elif operation in _BUILDERS:
            value = _BUILDERS[operation](items)
        else:
            return self.build(operation, items)
        self.built.append(value)
        return value

    def read(self, steps: list[int], atoms: list[Any]) -> Any:
        stack: list[Any] = []
        position = 0
        pairs = iter(steps)
        for operation, count in zip(pairs, pairs, strict=True):
            if operation == ATOMS:
                stack += atoms[position : position + count]
                position += count
                continue
            cut = len(stack) - count
            if cut < 0:
                raise WireError("a step needs more values than there are")
            items = stack[cut:]
            del stack[cut:]
            stack.append(self.one(operation, items))
        if len(stack) != 1 or position != len(atoms):
            raise WireError("the steps do not add up to one value")
        if len(steps) > 2 * MAX_DEPTH:
            _check_depth(stack[0])
        if len(atoms) + len(self.built) > _TRIAL_FROM:
            self.try_hashing(atoms)
        return stack[0]

    def try_hashing(self, atoms: list[Any]) -> None:
        chosen = [value for value in atoms if type(value) in _CHOSEN_HASHES]
        for value in self.built:
            if type(value) in _CHOSEN_HASHES and _is_hashable(value):
                chosen.append(value)
                self.hashing.check()
        self.hashing.to_set(chosen)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # a tuple that holds a list
        return False
    return True


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 2):
        deeper: list[Any] = []
        for item in level:
            if type(item) is dict:
                deeper.extend(item.keys())
                deeper.extend(item.values())
            elif type(item) in (list, tuple, set, frozenset, deque):
                deeper.extend(item)
        if not deeper:
            return
        level = deeper
    raise WireError(f"the value is nested deeper than {MAX_DEPTH} levels")


def _no_builder(operation: int, _items: list[Any]) -> Any:
    raise WireError(f"operation {operation} is unknown")


def decode(message: bytes, build: Callable[[int, list[Any]], Any] = _no_builder) -> Any:
    """Return the value of a `message`, which may have been written by anyone.

    Parameters
    ----------
    message : bytes
        At most `MAX_BYTES`.
    build : callable
        Receives operation and parts of `REFERENCE` and `CALLBACK`, which mean something else at
        either end, and returns the value.

    Raises
    ------
    WireError
        When the message is anything but one well-formed value within the limits.
    """
    if len(message) > MAX_BYTES:
        raise WireError(f"a message of {len(message)} bytes is over the {MAX_BYTES} allowed")
    try:
        pair = json.loads(message.decode("utf-8", "surrogatepass"))
        if type(pair) is not list or len(pair) != 2 or any(type(part) is not list for part in pair):  # noqa: PLR2004
            raise WireError("a message is a pair of arrays")
        steps, atoms = pair
        if not _ATOMS.issuperset(map(type, atoms)) or (steps and set(map(type, steps)) != {int}):
            raise WireError("a message holds a part of the wrong type")
        if steps and min(steps) < 0:
            raise WireError("a count is negative")
        return _Reader(build).read(steps, atoms)
    except (ValueError, TypeError, OverflowError, ArithmeticError, RecursionError) as error:
        raise WireError(f"not a message: {type(error).__name__}: {str(error)[:200]}") from None
