"""Arguments that a program changed in place are changed in the check too."""

from __future__ import annotations

import copy
import io
from collections import deque
from typing import Any

_UNCHANGING = (int, float, complex, str, bytes, range, type(None))


def may_change(value: Any) -> bool:
    """Return whether the program could change `value` in place."""
    return not isinstance(value, _UNCHANGING) and not callable(value)


def apply_changes(args: tuple[Any, ...], kwargs: dict[str, Any], changed: Any) -> None:
    """Make the arguments what the program says has become of them.

    Containers keep their identity and are matched by position and key; so a program that swaps
    two inner lists swaps their contents here.

    Parameters
    ----------
    args, kwargs
        As they were sent.
    changed : None or [args, kwargs]
        As they came back.
    """
    if changed is None:
        return
    new_args, new_kwargs = changed
    for ours, theirs in zip(args, new_args, strict=True):
        merge(ours, theirs)
    for name, ours in kwargs.items():
        merge(ours, new_kwargs[name])


def merge(ours: Any, theirs: Any) -> Any:  # noqa: C901 - one branch for each kind of container
    """Return `ours`, made equal to `theirs` in place where it can be, else `theirs`."""
    if isinstance(ours, list) and isinstance(theirs, list):
        kept = [merge(*pair) for pair in zip(ours, theirs, strict=False)]
        ours[:] = kept + theirs[len(kept) :]
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        merged = {
            key: merge(ours[key], value) if key in ours else value for key, value in theirs.items()
        }
        if list(ours) != list(merged):
            ours.clear()
        for key, value in merged.items():
            ours[key] = value
    elif isinstance(ours, set) and isinstance(theirs, set):
        ours.intersection_update(theirs)
        ours.update(theirs)
    elif isinstance(ours, deque) and isinstance(theirs, deque):
        ours.clear()
        ours.extend(theirs)
    elif type(ours) is bytearray and type(theirs) is bytearray:
        ours[:] = theirs
    elif type(ours) is tuple and type(theirs) is tuple and len(ours) == len(theirs):
        return tuple(merge(*pair) for pair in zip(ours, theirs, strict=True))
    elif isinstance(ours, io.StringIO | io.BytesIO) and type(ours) is type(theirs):
        place = theirs.tell()
        ours.seek(0)
        ours.truncate()
        text: Any = theirs.getvalue()
        ours.write(text)
        ours.seek(place)
    elif type(ours) is type(theirs) and type(ours).__name__ == "array":
        ours[:] = theirs
    elif type(ours) is type(theirs) and _same_shape(ours, theirs):
        ours[...] = theirs
    else:
        return theirs if not callable(ours) else ours
    return ours


def _same_shape(ours: Any, theirs: Any) -> bool:
    if type(ours).__module__ != "numpy" or not getattr(ours, "shape", ()):
        return False
    return bool(ours.shape == theirs.shape and ours.dtype == theirs.dtype)


class Originals:
    """What arguments were before a program changed them, to restore them for the next program.

    A check may pass containers of its module to every program.
    """

    def __init__(self) -> None:
        self._containers: dict[int, tuple[Any, Any]] = {}
        self._attributes: list[tuple[Any, str, Any]] = []

    def save(self, value: Any) -> None:
        """Keep the content of every container in `value` that is not kept yet."""
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
        """Keep an attribute that the program is about to set."""
        if name in getattr(value, "__dict__", {}):
            self._attributes.append((value, name, value.__dict__[name]))

    def restore(self) -> None:
        """Give every container and attribute what it held."""
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
    is_array = type(value).__name__ == "array" and type(value).__module__ == "array"
    return is_array or (type(value).__module__ == "numpy" and bool(getattr(value, "shape", ())))
