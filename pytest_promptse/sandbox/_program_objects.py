"""The program's objects and classes that the check has, by their numbers in the program."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox._handle import HandleType
from pytest_promptse.sandbox._mirror import make_class, make_handle, update_handle
from pytest_promptse.sandbox.guest.unpatched import __builtins__
from pytest_promptse.sandbox.guest.wire import WireError

if TYPE_CHECKING:
    from pytest_promptse.sandbox._handle import ProgramOperations

_MAX_CLASSES = 2_000


class _ObjectReference(weakref.ref[Any]):
    """A weak reference with the number of its object."""

    __slots__ = ("number",)
    number: int


class ProgramObjects:
    """The objects of one program, and how often it has sent each of them.

    The program keeps an object until the check has released it as often.
    """

    def __init__(self) -> None:
        self._handles: dict[int, Any] = {}
        self._classes: dict[int, HandleType] = {}
        self._counts: dict[int, int] = {}
        self._released: list[list[int]] = []

    def build(self, owner: ProgramOperations, parts: list[Any]) -> Any:
        """Return the handle of an object that a message describes: the present one if there is one.

        Raises
        ------
        WireError
            If the description is malformed.
        """
        number, cls, *content = parts
        if not isinstance(cls, HandleType):
            raise WireError("a reference is malformed")
        self.count(number)
        known: Any = self._handles.get(number)
        if type(known) is _ObjectReference:
            known = known()
        kind: Any = type(known)
        if kind is cls:
            update_handle(known, content)
            return known
        handle = make_handle(owner, number, cls, content)
        try:
            reference = _ObjectReference(handle, self._forget)
            reference.number = number
            self._handles[number] = reference
        except TypeError:  # no weak reference to an int or a tuple is possible
            self._handles[number] = handle
        return handle

    def build_class(self, owner: ProgramOperations, parts: list[Any]) -> HandleType:
        """Return the mirrored class that a message describes, or that has its number already.

        Raises
        ------
        WireError
            If the description is malformed, or there are too many classes.
        """
        number, *description = parts
        require_number(number)
        if number not in self._classes:
            if len(self._classes) >= _MAX_CLASSES:
                raise WireError("the program has too many classes")
            self._classes[number] = make_class(owner, number, description)
        return self._classes[number]

    def count(self, number: Any) -> None:
        """Note that the program has sent the object with this number.

        Raises
        ------
        WireError
            If it is no number of an object.
        """
        require_number(number)
        self._counts[number] = self._counts.get(number, 0) + 1

    def release(self, number: int) -> None:
        """Note that the check no longer uses an object, so that the program can release it."""
        self._released.append([number, self._counts.pop(number, 0)])

    def take_released(self) -> list[list[int]]:
        """Return the numbers released since the last call, and how often each had been sent."""
        released, self._released = self._released, []
        return released

    def _forget(self, reference: _ObjectReference) -> None:
        if self._handles.get(reference.number) is reference:
            del self._handles[reference.number]
            self.release(reference.number)


def require_number(number: Any) -> None:
    """Raise WireError unless `number` can be that of an object of the program."""
    if type(number) is not int or number < 0:
        raise WireError("an object of the program has a malformed number")
