"""Containers that two processes have, and the changes that one of them makes in place.

The arguments of a call are the same containers on both sides: see `encode`, which numbers them. A
change of one container is its new content, in which others that both sides have are named by their
number. So a container that has moved within an argument stays the same one, and a new one is new.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest.unpatched import __builtins__
from pytest_promptse.sandbox.guest.wire import WireError

if TYPE_CHECKING:
    from collections.abc import Sequence

MUTABLE = (list, dict, set, bytearray, deque)
_is = operator.is_


def is_container(value: Any) -> bool:
    """Return whether `value` is a list, dict, set, bytearray, deque or array."""
    kind = type(value)
    return (
        kind is list
        or kind is dict
        or issubclass(kind, MUTABLE)
        or is_array(value)
        or _is_typed(value)
    )


def is_array(value: Any) -> bool:
    """Return whether `value` is a numpy array with at least one dimension."""
    return type(value).__module__ == "numpy" and bool(getattr(value, "shape", ()))


def _is_typed(value: Any) -> bool:
    return type(value).__module__ == "array"


def copied(value: Any) -> Any:  # noqa: PLR0911 - one for each kind of container
    """Return a plain container with the items of `value`, without its own methods."""
    if isinstance(value, list):
        return list.copy(value)
    if isinstance(value, dict):
        if isinstance(value, OrderedDict):
            return dict(OrderedDict.items(value))
        # Neither this nor `union` hash the keys and items again, which may be of a program.
        return dict.copy(value)
    if isinstance(value, set):
        return set().union(value)
    if isinstance(value, deque):
        return deque(deque.__iter__(value), value.maxlen)
    if isinstance(value, bytearray):
        return bytearray(value)
    return value.copy() if is_array(value) else value[:]


def _is_same(ours: Any, theirs: Any) -> bool:
    """Return whether two plain containers have the same items, which are not compared."""
    kind = type(ours)
    if kind is not list and kind is not dict:
        if kind is bytearray or _is_typed(ours):
            return bool(ours == theirs)
        if is_array(ours):
            return bool(ours.tobytes() == theirs.tobytes()) and _has_same_form(ours, theirs)
    if len(ours) != len(theirs) or not all(map(_is, ours, theirs)):
        return False
    return kind is not dict or all(map(_is, ours.values(), theirs.values()))


def _has_same_form(ours: Any, theirs: Any) -> bool:
    return bool(ours.shape == theirs.shape and ours.dtype == theirs.dtype)


def replace(ours: Any, content: Any) -> None:  # noqa: C901 - one branch for each kind
    """Give the container `ours` the items of `content`, without the methods of its own class.

    Raises
    ------
    WireError
        If `ours` is no container, or `content` is not one of the same type.
    """
    if isinstance(ours, list) and type(content) is list:
        list.__setitem__(ours, slice(None), content)
    elif isinstance(ours, dict) and type(content) is dict:
        kind: Any = OrderedDict if isinstance(ours, OrderedDict) else dict
        if [*kind.__iter__(ours)] != [*content]:
            kind.clear(ours)
        for key, value in content.items():
            kind.__setitem__(ours, key, value)
    elif isinstance(ours, set) and type(content) is set:
        set.intersection_update(ours, content)
        set.update(ours, content)
    elif isinstance(ours, deque) and type(content) in (deque, list):
        deque.clear(ours)
        deque.extend(ours, content)
    elif isinstance(ours, bytearray) and type(content) in (bytearray, bytes):
        bytearray.__setitem__(ours, slice(None), content)
    elif type(ours) is type(content) and _is_typed(ours):
        ours[:] = content
    elif type(ours) is type(content) and is_array(ours):
        if _has_same_form(ours, content):
            ours[...] = content
    else:
        raise WireError("the content of a container does not fit it")


class Containers:
    """The values of a message, and the content that those which are containers have had.

    ``numbers`` has the numbers by which an answer names them, by their ids.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self.numbers: dict[int, int] = {}
        self._known: list[tuple[int, Any, Any]] = []
        for number, value in enumerate(values):
            kind = type(value)
            if kind is tuple or (value is not None and is_container(value)):
                self.numbers[id(value)] = ~number
                if kind is not tuple:
                    self._known.append((number, value, copied(value)))

    def changes(self) -> dict[int, Any]:
        """Return the present content of each container that has changed, by its number."""
        changed = {}
        for number, value, known in self._known:
            now = value if type(value) in (list, dict) else copied(value)
            if not _is_same(known, now):
                changed[number] = copied(value)
        return changed


def update(values: Sequence[Any], changes: Any) -> None:
    """Give the containers among `values` the contents that the other side has sent.

    Raises
    ------
    WireError
        If the changes are malformed.
    """
    if type(changes) is not dict:
        raise WireError("the changes are malformed")
    for number, content in changes.items():
        if type(number) is not int or not 0 <= number < len(values):
            raise WireError("a container that was not passed")
        replace(values[number], content)
