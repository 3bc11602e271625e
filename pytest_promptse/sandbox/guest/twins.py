"""Mutable values that the check and the program both have, and that are kept equal.

They are the moved objects of ``standard``, and the containers that are attributes of an object of
the other side. Whenever one side hands over control, it first sends the content of those that have
changed since the other side knew them. Both sides keep the same table.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from pytest_promptse.sandbox.guest import objects, standard, wire
from pytest_promptse.sandbox.guest.encode import encode
from pytest_promptse.sandbox.guest.merge import is_array, merge
from pytest_promptse.sandbox.guest.unpatched import __builtins__, marshal

CONTAINERS = (list, dict, set, bytearray, deque)


class Twin:
    """One value on this side, and bytes for its content as the other side knows it.

    ``kind`` is that of a moved object, and None for a container.
    """

    __slots__ = ("kind", "known", "value")

    def __init__(self, value: Any) -> None:
        name = standard.kind_of(value)
        self.kind = standard.KINDS[name] if name and standard.KINDS[name].update else None
        self.value = value
        self.known = snapshot(self.content())

    def content(self) -> Any:
        """Return what is sent to the other side, or None if it cannot be sent at present."""
        return self.kind.take(self.value) if self.kind else self.value

    def update(self, content: Any) -> bool:
        """Take the content of the other side. Return False if it is of another type."""
        if self.kind:
            standard.update(self.kind, self.value, content)
        elif type(content) is not type(self.value) or merge(self.value, content) is not self.value:
            return False
        self.known = snapshot(self.content())
        return True


class Twins:
    """The twins of one program, by number.

    Those of the check have its numbers for objects. Those of the program have negative ones: see
    `of_program`.
    """

    def __init__(self) -> None:
        self._twins: dict[int, Twin] = {}

    def add(self, number: int, value: Any) -> Any:
        """Return `value` as a twin: the present one with its content if there is one."""
        twin = self._twins.get(number)
        if twin is None or twin.value is value or not twin.update(value):
            twin = self._twins[number] = Twin(value)
        return twin.value

    def drop(self, number: int) -> None:
        """From now on both sides have copies."""
        self._twins.pop(number, None)

    def numbers_of_program(self) -> list[int]:
        """Return the numbers of the program's objects among the twins."""
        return [of_program(number) for number in self._twins if number < 0]

    def value(self, number: int) -> Any:
        return self._twins[number].value

    def changes(self, *, most: int | None = None) -> dict[int, Any]:
        """Return the contents that the other side does not know yet. Then it counts as known.

        Twins of the program that take more than `most` bytes, or cannot be sent, are dropped.

        Raises
        ------
        WireError
            If a twin cannot be sent.
        """
        changed = {}
        for number, twin in list(self._twins.items()):
            content = twin.content()
            if content is None:
                continue
            try:
                now = snapshot(content)
            except wire.WireError:
                if most is None or number >= 0:
                    raise
                self.drop(number)
                continue
            if now == twin.known:
                continue
            if most is not None and number < 0 and len(now) > most:
                self.drop(number)
                continue
            twin.known = now
            changed[number] = content
        return changed

    def update(self, contents: dict[Any, Any]) -> None:
        """Take the contents that the other side has sent."""
        for number, content in contents.items():
            twin = self._twins.get(number)
            if twin is not None and not twin.update(content):
                self.drop(number)


def of_program(number: int) -> int:
    """Return the number that a twin has for an object of the program, and the reverse."""
    return -1 - number


def may_be_twin(value: Any) -> bool:
    """Return whether `value` is a container that both sides can have."""
    return type(value) in CONTAINERS or is_array(value)


def snapshot(value: Any) -> bytes:
    """Return bytes that are different after a value has changed."""
    try:
        # marshal is implemented in C. Version 2 depends on values alone, later versions on
        # references too.
        return marshal.dumps(value, 2)
    except ValueError:  # marshal does not support the value, such as a Decimal
        return encode(value, _identity)


def _identity(value: Any) -> wire.Built:
    parts = standard.parts_of(value, to_program=True)
    if parts is not None:
        return wire.Built(wire.STANDARD, parts)
    if type(value).__module__ == "numpy":
        array = objects.numpy_parts(value)
        if array is not None:
            return wire.Built(wire.ARRAY, array)
    base, content = objects.content_of(value, type(value))
    return wire.Built(wire.REFERENCE, (id(value), content) if base else (id(value),))
