"""Mutable values that the check and the program both have, and that are kept equal.

They are the moved objects of ``standard``, and the containers that are attributes of an object of
the other side. Whenever one side hands over control, it first sends the content of those that have
changed since the other side knew them. Both sides keep the same table.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest import containers, objects, standard, wire
from pytest_promptse.sandbox.guest.containers import Containers
from pytest_promptse.sandbox.guest.encode import encode
from pytest_promptse.sandbox.guest.unpatched import __builtins__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTAINERS = (list, dict, set, bytearray, deque)
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_NESTED = (list, tuple, deque)


class Twin:
    """One value on this side, and its content as the other side knows it.

    ``kind`` is that of a moved object, and None for a container. ``parts`` are the containers that
    the other side has too, in the same order: the value itself, and those within it.
    """

    __slots__ = ("_known", "kind", "parts", "value")

    def __init__(self, value: Any) -> None:
        name = standard.kind_of(value)
        self.kind = standard.KINDS[name] if name and standard.KINDS[name].update else None
        self.value = value
        self.note()

    def note(self) -> None:
        """Note that the other side knows the present content."""
        content = self._content()
        self.parts = Containers(_containers_in(content))
        self._known = self._snapshot(content)

    def _content(self) -> Any:
        return self.kind.take(self.value) if self.kind else self.value

    def _snapshot(self, content: Any) -> bytes:
        return encode(content, _identity, self.parts.numbers) if self.kind else b""

    def change(self) -> tuple[Any, dict[int, Any]] | None:
        """Return what the other side does not know, or None.

        It is the content of a moved object if that has changed, and those of the parts that have.
        """
        content = self._content()
        if content is None:  # it cannot be sent at present
            return None
        is_same, changes = self._snapshot(content) == self._known, self.parts.changes()
        if is_same and not changes:
            return None
        return None if is_same else content, changes

    def update(self, content: Any, changes: Any) -> None:
        """Take a change of the other side.

        Raises
        ------
        WireError
            If it does not fit.
        """
        if self.kind and content is not None:
            standard.update(self.kind, self.value, content)
        containers.update(self.parts.values, changes)
        self.note()


class Twins:
    """The twins of one program, by number.

    Those of the check have its numbers for objects. Those of the program have negative ones: see
    `of_program`.
    """

    def __init__(self) -> None:
        self._twins: dict[int, Twin] = {}

    def add(self, number: int, value: Any, *, is_new: bool = False) -> Any:
        """Return `value` as a twin, or the present twin.

        The present one has the content already, unless the other side `is_new` to it.
        """
        twin = self._twins.get(number)
        if twin is None:
            twin = self._twins[number] = Twin(value)
        elif is_new and twin.value is not value:
            containers.replace(twin.value, value)
            twin.note()
        return twin.value

    def drop(self, number: int) -> None:
        """From now on both sides have copies."""
        self._twins.pop(number, None)

    def numbers_of_program(self) -> list[int]:
        """Return the numbers of the program's objects among the twins."""
        return [of_program(number) for number in self._twins if number < 0]

    def of_check(self, value: Any) -> Any:
        """Return what names `value` in a message if it is a twin of the check, or the value."""
        for number, twin in self._twins.items():
            if number >= 0 and twin.value is value:
                return wire.Built(wire.PROXY, (number,))
        return value

    def value(self, number: int) -> Any:
        return self._twins[number].value

    def parts(self, number: int) -> Sequence[Any] | None:
        """Return the containers of a twin that a message may name, or None if it was dropped."""
        twin = self._twins.get(number)
        return None if twin is None else twin.parts.values

    def changes(self) -> Iterator[tuple[int, Twin, Any]]:
        """Return each twin whose change is to be sent, with its number and the change."""
        for number, twin in list(self._twins.items()):
            change = twin.change()
            if change is not None:
                yield number, twin, change

    def update(self, number: int, content: Any, changes: Any) -> None:
        """Take a change that the other side has sent."""
        if number in self._twins:
            self._twins[number].update(content, changes)


def of_program(number: int) -> int:
    """Return the number that a twin has for an object of the program, and the reverse."""
    return -1 - number


def may_be_twin(value: Any) -> bool:
    """Return whether `value` is a container that both sides can have."""
    return type(value) in CONTAINERS or containers.is_array(value)


def size_of(value: Any) -> int:
    """Return the number of bytes that a container takes in a message."""
    return len(encode(value, _identity))


def _containers_in(value: Any) -> list[Any]:
    """Return the containers of plain types in `value`, each once, in an order of the content."""
    found: dict[int, Any] = {}
    values = [value]
    for item in values:
        kind = type(item)
        if id(item) in found:
            continue
        if kind in _NESTED or kind in _DICTS:
            found[id(item)] = item
            values.extend(item.values() if kind in _DICTS else item)
        elif may_be_twin(item) or kind.__module__ == "array":
            found[id(item)] = item
    return [item for item in found.values() if type(item) is not tuple]


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
