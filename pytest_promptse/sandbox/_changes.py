"""Apply a program's in-place changes of arguments to the check's own objects."""

from __future__ import annotations

import copy
import io
from collections import deque
from typing import Any

from pytest_promptse.sandbox.guest.merge import is_array, merge

_UNCHANGING = (int, float, complex, str, bytes, range, type(None))


def may_change(value: Any) -> bool:
    """Return whether the program could change `value` in place."""
    return not isinstance(value, _UNCHANGING) and not callable(value)


def apply_changes(args: tuple[Any, ...], kwargs: dict[str, Any], changed: Any) -> None:
    """Give the arguments the content that they have in the program after a call.

    Containers keep their identity and are matched by position and key. So if a program swaps two
    inner lists, their contents are swapped here.

    Parameters
    ----------
    args, kwargs
        The arguments as they were sent.
    changed : None or [args, kwargs]
        The arguments as they came back, or None if nothing changed.
    """
    if changed is None:
        return
    new_args, new_kwargs = changed
    for ours, theirs in zip(args, new_args, strict=True):
        merge(ours, theirs)
    for name, ours in kwargs.items():
        merge(ours, new_kwargs[name])


class Originals:
    """Copies of arguments from before a program changes them, to restore them for the next program.

    A check may pass the same containers of its module to every program.
    """

    def __init__(self) -> None:
        self._containers: dict[int, tuple[Any, Any]] = {}
        self._attributes: list[tuple[Any, str, Any]] = []

    def save(self, value: Any) -> None:
        """Save the content of every container in `value` that is not saved yet."""
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, tuple):
                waiting.extend(item)
            if id(item) in self._containers or not _has_content(item):
                continue
            kept = copy.copy(item)
            self._containers[id(item)] = (item, kept)
            if isinstance(item, dict):
                waiting.extend(item.values())
            elif isinstance(item, list | deque):
                waiting.extend(item)

    def save_attribute(self, value: Any, name: str) -> None:
        """Save an attribute that the program is about to set.

        `value` is an object of the check. An attribute that `value` itself does not have is not
        saved.
        """
        if name in getattr(value, "__dict__", {}):
            self._attributes.append((value, name, value.__dict__[name]))

    def restore(self) -> None:
        """Restore the saved content of every container and attribute."""
        for value, name, kept in reversed(self._attributes):
            setattr(value, name, kept)
        for item, kept in self._containers.values():
            if isinstance(item, dict | set):
                item.clear()
                item.update(kept)
            elif isinstance(item, deque):
                item.clear()
                item.extend(kept)
            elif isinstance(item, io.StringIO | io.BytesIO):
                merge(item, kept)
            elif hasattr(item, "shape"):
                item[...] = kept
            else:
                item[:] = kept
        self._containers.clear()
        self._attributes.clear()


def _has_content(value: Any) -> bool:
    if isinstance(value, list | dict | set | deque | bytearray | io.StringIO | io.BytesIO):
        return True
    return is_array(value) or (type(value).__name__ == type(value).__module__ == "array")
