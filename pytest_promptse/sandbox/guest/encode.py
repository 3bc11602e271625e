"""From a value to a message in the language of ``wire``."""

from __future__ import annotations

import json
from collections import deque
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.wire import ATOM_TYPES, ATOMS, MAX_DEPTH, Built, WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_SEQUENCES: dict[type, int] = {
    list: wire.LIST,
    tuple: wire.TUPLE,
    set: wire.SET,
    frozenset: wire.FROZENSET,
}
_SAFE_INT = 2**63


def _offset_seconds(moment: datetime | clock_time) -> float | None:
    offset = moment.utcoffset()
    return None if offset is None else offset.total_seconds()


_STANDARD: dict[type, Callable[[Any], Built]] = {
    bytes: lambda value: Built(wire.BYTES, (value.decode("latin-1"),)),
    bytearray: lambda value: Built(wire.BYTEARRAY, (value.decode("latin-1"),)),
    complex: lambda value: Built(wire.COMPLEX, (value.real, value.imag)),
    range: lambda value: Built(wire.RANGE, (value.start, value.stop, value.step)),
    deque: lambda value: Built(wire.DEQUE, (value.maxlen, *value)),
    Decimal: lambda value: Built(wire.DECIMAL, (str(value),)),
    Fraction: lambda value: Built(wire.FRACTION, (value.numerator, value.denominator)),
    datetime: lambda value: Built(
        wire.DATETIME, (value.replace(tzinfo=None).isoformat(), _offset_seconds(value), value.fold)
    ),
    date: lambda value: Built(wire.DATE, (value.isoformat(),)),
    clock_time: lambda value: Built(
        wire.TIME, (value.replace(tzinfo=None).isoformat(), _offset_seconds(value), value.fold)
    ),
    timedelta: lambda value: Built(wire.TIMEDELTA, (value.days, value.seconds, value.microseconds)),
}

# Not as escapes, which would make one character of two surrogates in a row.
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class _Writer:
    """Flattens one value; `other` says how to send what is not plain (or raises)."""

    def __init__(self, other: Callable[[Any], Any]) -> None:
        self.steps: list[int] = []
        self.atoms: list[Any] = []
        self.other = other

    def step(self, operation: int, count: int) -> None:
        steps = self.steps
        if operation == ATOMS and steps and steps[-2] == ATOMS:
            steps[-1] += count
        else:
            steps += (operation, count)
        if len(steps) + len(self.atoms) > wire.MAX_STEPS:
            raise WireError("the value has too many parts")

    def write(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind in ATOM_TYPES:
            if kind is int and not -_SAFE_INT <= value < _SAFE_INT:
                # Decimal digits cost quadratic time and are capped by the interpreter.
                self.build(Built(wire.INT, (hex(value),)), depth)
            else:
                self.atoms.append(value)
                self.step(ATOMS, 1)
            return
        if depth > MAX_DEPTH:
            raise WireError(f"the value is nested deeper than {MAX_DEPTH} levels")
        operation = _SEQUENCES.get(kind)
        if operation is not None:
            self.sequence(value, depth)
            self.step(operation, len(value))
        elif kind is dict:
            self.sequence(list(chain.from_iterable(value.items())), depth)
            self.step(wire.DICT, 2 * len(value))
        elif kind in _STANDARD:
            self.build(_STANDARD[kind](value), depth)
        elif kind is Built:
            self.build(value, depth)
        else:
            self.write(self.other(value), depth + 1)

    def sequence(self, values: Collection[Any], depth: int) -> None:
        atoms = self.atoms
        kinds = set(map(type, values))
        if kinds <= ATOM_TYPES and not (int in kinds and self.has_big(values)):
            if values:
                atoms.extend(values)
                self.step(ATOMS, len(values))
            return
        pending = 0
        for value in values:
            kind = type(value)
            if kind in ATOM_TYPES and (kind is not int or -_SAFE_INT <= value < _SAFE_INT):
                atoms.append(value)
                pending += 1
                continue
            if pending:
                self.step(ATOMS, pending)
                pending = 0
            self.write(value, depth + 1)
        if pending:
            self.step(ATOMS, pending)

    @staticmethod
    def has_big(values: Collection[Any]) -> bool:
        return any(type(v) is int and not -_SAFE_INT <= v < _SAFE_INT for v in values)

    def build(self, built: Built, depth: int) -> None:
        self.sequence(built.parts, depth)
        self.step(built.operation, len(built.parts))


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
    if len(message) > wire.MAX_BYTES:
        raise WireError(f"the value takes {len(message)} bytes, over the {wire.MAX_BYTES} allowed")
    return message
