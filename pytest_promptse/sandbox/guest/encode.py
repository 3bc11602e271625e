"""Encode a value as a message in the format of ``wire``."""

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
from pytest_promptse.sandbox.guest.containers import is_container
from pytest_promptse.sandbox.guest.unpatched import __builtins__
from pytest_promptse.sandbox.guest.wire import (
    ATOM_TYPES,
    ATOMS,
    MAX_DEPTH,
    Built,
    TooLargeError,
    WireError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

_SEQUENCES: dict[type, int] = {
    list: wire.LIST,
    tuple: wire.TUPLE,
    set: wire.SET,
    frozenset: wire.FROZENSET,
}
_CONTAINERS, _BY_VALUE = wire.CONTAINERS, wire.BY_VALUE
_SAFE_INT = 2**63


def _offset_seconds(moment: datetime | clock_time) -> float | None:
    offset = moment.utcoffset()
    return None if offset is None else offset.total_seconds()


# Methods of the plain types are called by name, since a subclass may override them.
STANDARD: dict[type, Callable[[Any], Built]] = {
    bytes: lambda value: Built(wire.BYTES, (bytes.decode(value, "latin-1"),)),
    bytearray: lambda value: Built(wire.BYTEARRAY, (bytearray.decode(value, "latin-1"),)),
    complex: lambda value: Built(wire.COMPLEX, (value.real, value.imag)),
    range: lambda value: Built(wire.RANGE, (value.start, value.stop, value.step)),
    deque: lambda value: Built(wire.DEQUE, (value.maxlen, *deque.__iter__(value))),
    Decimal: lambda value: Built(wire.DECIMAL, (Decimal.__str__(value),)),
    # Without the properties of these names, which a subclass may override.
    Fraction: lambda value: Built(
        wire.FRACTION,
        (value._numerator, value._denominator),  # noqa: SLF001
    ),
    datetime: lambda value: Built(
        wire.DATETIME, (_without_zone(datetime, value), _offset_seconds(value), value.fold)
    ),
    date: lambda value: Built(wire.DATE, (date.isoformat(value),)),
    clock_time: lambda value: Built(
        wire.TIME, (_without_zone(clock_time, value), _offset_seconds(value), value.fold)
    ),
    timedelta: lambda value: Built(wire.TIMEDELTA, (value.days, value.seconds, value.microseconds)),
}
"""Types that are sent by an operation of their own, with the function that takes values apart."""


def _without_zone(kind: Any, moment: Any) -> str:
    text: str = kind.isoformat(kind.replace(moment, tzinfo=None))
    return text


# The function within `json.JSONEncoder`, which that would make again for each message. Without
# escapes, since escapes would join two surrogates in a row into one character.
_json: Any = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, str, json.encoder.encode_basestring, None, ":", ",", False, False, True
)


class _Writer:
    """Flatten one value. `other` replaces values that are not plain, or raises.

    ``made`` has the values that the steps build, or None for those that cannot be named again. It
    keeps them alive, so that no other value gets the id of one of them.
    """

    def __init__(self, other: Callable[[Any], Any], known: Mapping[int, int] | None) -> None:
        self.steps: list[int] = []
        self.atoms: list[Any] = []
        self.made: list[Any] = []
        self.other = other
        self.numbers = dict(known or {})

    def atom(self, count: int) -> None:
        """Note that the last `count` atoms are parts."""
        steps = self.steps
        if steps and steps[-2] == ATOMS:
            steps[-1] += count
        else:
            steps += (ATOMS, count)
        self.require_room()

    def require_room(self) -> None:
        if len(self.steps) + len(self.atoms) > wire.MAX_PARTS:
            raise TooLargeError("the value has too many parts")

    def write(self, value: Any) -> None:
        """Write `value` with an explicit stack, so that depth costs no interpreter frames."""
        atoms = self.atoms
        pending: list[tuple[Iterator[Any], int, int, Any]] = []
        items: Iterator[Any] = iter((value,))
        operation, count, whole = ATOMS, 0, None
        while True:
            for item in items:
                kind = type(item)
                if kind in ATOM_TYPES and (kind is not int or -_SAFE_INT <= item < _SAFE_INT):
                    atoms.append(item)
                    self.atom(1)
                    continue
                inner, parts = self.take_apart(item)
                if self.is_flat(parts):
                    atoms.extend(parts)
                    if parts:
                        self.atom(len(parts))
                    self.build(inner, len(parts), item)
                    continue
                if len(pending) > MAX_DEPTH:
                    if any(outer is item for *_, outer in pending):
                        raise TooLargeError("the value contains itself")
                    raise TooLargeError(f"the value is nested deeper than {MAX_DEPTH} levels")
                pending.append((items, operation, count, whole))
                items, operation, count, whole = iter(parts), inner, len(parts), item
                break
            else:
                if not pending:
                    return
                self.build(operation, count, whole)
                items, operation, count, whole = pending.pop()

    def build(self, operation: int, count: int, value: Any) -> None:
        """Add the step that builds `value` of `count` parts, and give the value its number."""
        made = self.made
        if operation in _CONTAINERS:
            self.numbers[id(value)] = len(made)
        elif operation not in _BY_VALUE:
            value = None
        elif operation != wire.TUPLE and is_container(value):
            self.numbers[id(value)] = len(made)
        made.append(value)
        self.steps += (operation, count)
        self.require_room()

    def take_apart(self, value: Any) -> tuple[int, Collection[Any]]:
        """Return the operation that builds `value`, and the parts that it needs."""
        number = self.numbers.get(id(value))
        if number is not None:
            return wire.SAME, (number,)
        for _ in range(10):
            kind = type(value)
            if kind in _SEQUENCES:
                return _SEQUENCES[kind], value
            if kind is dict:
                return wire.DICT, list(chain.from_iterable(value.items()))
            if kind is int:
                # Decimal digits take quadratic time, and the interpreter limits their number.
                return wire.INT, (hex(value),)
            if kind in STANDARD:
                value = STANDARD[kind](value)
            elif kind is not Built:
                value = self.other(value)
            if type(value) is Built:
                return value
        raise WireError(f"a value of type {type(value).__name__} cannot be sent")

    @staticmethod
    def is_flat(values: Collection[Any]) -> bool:
        kinds = set(map(type, values))
        if kinds == {int}:
            return bool(max(values) < _SAFE_INT and min(values) >= -_SAFE_INT)
        return kinds <= ATOM_TYPES and not (
            int in kinds and any(type(v) is int and not -_SAFE_INT <= v < _SAFE_INT for v in values)
        )


def _refuse(value: Any) -> Any:
    raise WireError(f"a value of type {type(value).__name__} cannot be sent")


def encode(
    value: Any,
    other: Callable[[Any], Any] = _refuse,
    known: Mapping[int, int] | None = None,
    made: list[Any] | None = None,
) -> bytes:
    """Return `value` as a message.

    Parameters
    ----------
    value : object
        Plain data, nested at most `MAX_DEPTH` levels, of exactly these types: None, bool, int,
        float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, deque,
        Decimal, Fraction, date, time, datetime, timedelta.
    other : callable
        Receives any other value and returns its replacement: a container or `Built`.
    known : mapping
        The numbers that name values of the other side's last message, by their ids.
    made : list
        Receives the values of this message, in the order of their numbers.

    Raises
    ------
    TooLargeError
        If the value is too deep or too large.
    WireError
        If `other` refuses a part of the value.
    """
    writer = _Writer(other, known)
    writer.write(value)
    if wire.SAME in writer.steps[::2]:
        wire.require_extent(writer.steps, writer.atoms)
    if made is not None:
        made += writer.made
    message = "".join(_json([writer.steps, writer.atoms], 0)).encode("utf-8", "surrogatepass")
    if len(message) > wire.MAX_BYTES:
        raise TooLargeError(
            f"the value takes {len(message)} bytes, over the {wire.MAX_BYTES} allowed"
        )
    return message
