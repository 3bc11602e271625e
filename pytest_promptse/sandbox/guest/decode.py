"""Decode messages in the format of ``wire``, also from untrusted senders."""

from __future__ import annotations

import json
from collections import deque
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock_time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from time import thread_time
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.containers import is_container
from pytest_promptse.sandbox.guest.unpatched import __builtins__
from pytest_promptse.sandbox.guest.wire import ATOM_TYPES, ATOMS, LIST, MAX_DEPTH, WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _Hashing:
    """Build hashed containers in small steps, so that colliding keys cannot block the caller."""

    _CHUNK = 256

    def __init__(self) -> None:
        self.deadline = thread_time() + wire.HASHING_SECONDS

    def check(self) -> None:
        if thread_time() > self.deadline:
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


def take(parts: list[Any], *kinds: type | tuple[type, ...]) -> list[Any]:
    """Return `parts` if there is one part for each of `kinds`, of exactly that type.

    A tuple in `kinds` allows several types, and `object` any.

    Raises
    ------
    WireError
        If the number of parts or the type of a part differs.
    """
    if len(parts) != len(kinds):
        raise WireError(f"expected {len(kinds)} parts, not {len(parts)}")
    for part, kind in zip(parts, kinds, strict=True):
        if kind is not object and type(part) not in (kind if isinstance(kind, tuple) else (kind,)):
            raise WireError(f"a part of type {type(part).__name__} is out of place")
    return parts


def _int(parts: list[Any]) -> int:
    return int(take(parts, str)[0], 16)


def _range(parts: list[Any]) -> range:
    if any(abs(part) >= 2**63 for part in take(parts, int, int, int)):
        raise WireError("a range has a bound beyond 64 bits")
    built = range(*parts)
    try:
        fits = len(built) <= wire.MAX_RANGE
    except OverflowError:
        fits = False
    if not fits:
        raise WireError(f"a range is longer than {wire.MAX_RANGE}")
    return built


def _deque(parts: list[Any]) -> deque[Any]:
    take(parts[:1], (int, type(None)))
    return deque(parts[1:], parts[0])


def _decimal(parts: list[Any]) -> Decimal:
    (text,) = take(parts, str)
    if len(text) > wire.MAX_DIGITS:
        raise WireError(f"a decimal has more than {wire.MAX_DIGITS} digits")
    value = Decimal(text)
    if value.is_finite() and abs(value.adjusted()) > wire.MAX_EXPONENT:
        raise WireError(f"a decimal has an exponent beyond {wire.MAX_EXPONENT}")
    return value


def _zone(seconds: float | None) -> timezone | None:
    return None if seconds is None else timezone(timedelta(seconds=seconds))


def _datetime(parts: list[Any]) -> datetime:
    text, offset, fold = take(parts, str, (float, type(None)), int)
    return datetime.fromisoformat(text).replace(tzinfo=_zone(offset), fold=fold)


def _time(parts: list[Any]) -> clock_time:
    text, offset, fold = take(parts, str, (float, type(None)), int)
    return clock_time.fromisoformat(text).replace(tzinfo=_zone(offset), fold=fold)


_BUILDERS: dict[int, Callable[[list[Any]], Any]] = {
    wire.INT: _int,
    wire.COMPLEX: lambda parts: complex(*take(parts, float, float)),
    wire.BYTES: lambda parts: take(parts, str)[0].encode("latin-1"),
    wire.BYTEARRAY: lambda parts: bytearray(take(parts, str)[0].encode("latin-1")),
    wire.RANGE: _range,
    wire.DEQUE: _deque,
    wire.DECIMAL: _decimal,
    wire.DATE: lambda parts: date.fromisoformat(take(parts, str)[0]),
    wire.TIME: _time,
    wire.DATETIME: _datetime,
    wire.TIMEDELTA: lambda parts: timedelta(*take(parts, int, int, int)),
}
# Largest number of bytes of an empty container, and of each of its parts.
_SIZES: dict[int, tuple[int, int]] = {
    wire.LIST: (64, 8),
    wire.TUPLE: (56, 8),
    wire.SET: (216, 64),
    wire.FROZENSET: (216, 64),
    wire.DICT: (72, 52),
    wire.DEQUE: (760, 8),
}
_SIZE = (160, 8)
# Messages with fewer steps need no check of memory and depth.
_MANY_STEPS = 20_000
# From this number of values on, all are hashed once, since a check may do so later.
_TRIAL_FROM = 2048
# Types whose hashes a program can choose. Hashes of str and bytes depend on a secret. Smaller
# integers and floats have distinct hashes, except for a few floats each.
_CHOSEN_HASHES = (complex, tuple, frozenset, Fraction, Decimal)
_HASH_MODULUS = 2**61 - 1


class _Reader:
    def __init__(self, build: Callable[[int, list[Any]], Any], known: Sequence[Any] | None) -> None:
        self.build = build
        self.known = known
        self.named: list[Any] = []
        self.built: list[Any] = []
        self.made: list[Any] = []

    @cached_property
    def hashing(self) -> _Hashing:
        """The clock starts when the first value is hashed. Most messages have no value to hash."""
        return _Hashing()

    def one(self, operation: int, items: list[Any]) -> Any:
        if operation == wire.TUPLE:
            value: Any = tuple(items)
        elif operation == wire.DICT:
            return self.hashing.to_dict(items) if items else {}
        elif operation == wire.SET:
            return self.hashing.to_set(items)
        elif operation == wire.FROZENSET:
            value = frozenset(self.hashing.to_set(items))
        elif operation == wire.FRACTION:
            value = self.fraction(items)
        elif operation in _BUILDERS:
            value = _BUILDERS[operation](items)
        elif operation == wire.SAME:
            return self.same(*take(items, int))
        else:
            self.hashing.check()
            return self.build(operation, items)
        self.built.append(value)
        return value

    def same(self, number: int) -> Any:
        """Return a value of this message, or of an earlier one of this side.

        Only of containers, since hashing a tuple that is several times in others takes too long.
        """
        values = self.made if number >= 0 else self.known
        if values is None:
            return None
        place = ~number if number < 0 else number
        value = values[place] if place < len(values) else None
        if value is None or (number >= 0 and not is_container(value)):
            raise WireError("no container has this number")
        if number < 0:
            self.named.append(value)
        return value

    def fraction(self, parts: list[Any]) -> Fraction:
        """Return a fraction. Its greatest common divisor takes quadratic time."""
        if any(part.bit_length() > wire.MAX_FRACTION_BITS for part in take(parts, int, int)):
            raise WireError(f"a fraction has more than {wire.MAX_FRACTION_BITS} bits")
        self.hashing.check()
        return Fraction(*parts)

    def read(self, steps: list[int], atoms: list[Any]) -> Any:
        if len(steps) > _MANY_STEPS:
            _check_memory(steps)
        if len(steps) > 2 * MAX_DEPTH or wire.SAME in steps[::2]:
            wire.require_extent(steps, atoms)
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
            value = items if operation == LIST else self.one(operation, items)
            stack.append(value)
            self.made.append(value if operation in wire.BY_VALUE else None)
        if len(stack) != 1 or position != len(atoms):
            raise WireError("the steps do not add up to one value")
        if len(atoms) + len(self.built) > _TRIAL_FROM:
            self.try_hashing(atoms)
        return stack[0]

    def try_hashing(self, atoms: list[Any]) -> None:
        chosen = []
        for value in self.built:
            kind = type(value)
            if (kind is int and abs(value) >= _HASH_MODULUS) or (
                kind in _CHOSEN_HASHES and _is_hashable(value)
            ):
                chosen.append(value)
                self.hashing.check()
        if _has_large(atoms):
            chosen += [v for v in atoms if type(v) is int and abs(v) >= _HASH_MODULUS]
        self.hashing.to_set(chosen)


def _has_large(atoms: list[Any]) -> bool:
    """Return whether an integer among `atoms` may share its hash with another."""
    if set(map(type, atoms)) <= {int, float, bool}:
        return bool(max(atoms) >= _HASH_MODULUS or min(atoms) <= -_HASH_MODULUS)
    return any(type(v) is int and abs(v) >= _HASH_MODULUS for v in atoms)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # a tuple that contains a list
        return False
    return True


def _check_memory(steps: list[int]) -> None:
    """Raise WireError for a value that would take too much memory, before it is built."""
    room = wire.MAX_MEMORY
    pairs = iter(steps)
    for operation, count in zip(pairs, pairs, strict=True):
        if operation != ATOMS:
            fixed, each = _SIZES.get(operation, _SIZE)
            room -= fixed + each * count
    if room < 0:
        raise WireError(f"the value takes more than {wire.MAX_MEMORY} bytes")


# Decodes without searching for white space around the text, since a message has none.
_parse = json.JSONDecoder().raw_decode


def _no_builder(operation: int, _items: list[Any]) -> Any:
    raise WireError(f"operation {operation} is unknown")


def decode(
    message: bytes,
    build: Callable[[int, list[Any]], Any] = _no_builder,
    known: Sequence[Any] | None = (),
    made: list[Any] | None = None,
    named: list[Any] | None = None,
) -> Any:
    """Return the value of a `message` from an untrusted sender.

    Parameters
    ----------
    message : bytes
        The message, of at most `wire.MAX_BYTES`.
    build : callable
        Receives the operation and parts of an operation from `REFERENCE` on, and returns the value.
        The two ends treat these operations differently.
    known : sequence
        The values of this side's last message, which the sender may name by their numbers. With
        None, these are unknown and become None.
    made : list
        Receives the values of this message, in the order of their numbers.
    named : list
        Receives those of `known` that the message names, as often as it does.

    Raises
    ------
    WireError
        If the message is not exactly one well-formed value within the limits.
    """
    if len(message) > wire.MAX_BYTES:
        raise WireError(f"a message of {len(message)} bytes is over the {wire.MAX_BYTES} allowed")
    if len(message) > wire.MAX_PARTS and message.count(b",") > wire.MAX_PARTS:
        raise WireError("a message has too many parts")
    try:
        text = message.decode("utf-8", "surrogatepass")
        pair, end = _parse(text)
        if end != len(text) or type(pair) is not list or len(pair) != 2:  # noqa: PLR2004
            raise WireError("a message is a pair of arrays")
        steps, atoms = pair
        if type(steps) is not list or type(atoms) is not list:
            raise WireError("a message is a pair of arrays")
        if not ATOM_TYPES.issuperset(map(type, atoms)) or (
            steps and set(map(type, steps)) != {int}
        ):
            raise WireError("a message holds a part of the wrong type")
        if steps and min(steps) < 0:
            raise WireError("a count is negative")
        reader = _Reader(build, known)
        value = reader.read(steps, atoms)
    except (ValueError, TypeError, OverflowError, ArithmeticError, RecursionError) as error:
        raise WireError(f"not a message: {type(error).__name__}: {str(error)[:200]}") from None
    if made is not None:
        made += reader.made
    if named is not None:
        named += reader.named
    return value
