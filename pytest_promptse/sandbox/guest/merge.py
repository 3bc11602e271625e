"""Update containers in place with the changes that were made in the other process."""

from __future__ import annotations

from collections import deque
from typing import Any

from pytest_promptse.sandbox.guest.unpatched import __builtins__


def merge(ours: Any, theirs: Any) -> Any:  # noqa: C901 - one branch for each kind of container
    """Return `ours`, made equal to `theirs` in place if possible, else `theirs`.

    Both are lists, dicts, sets, deques or bytearrays of the same type, else nothing is changed.
    Items are merged in the same way, so that references to them stay valid.
    """
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
    elif type(ours) is type(theirs) and type(ours).__name__ == "array":
        ours[:] = theirs
    elif type(ours) is type(theirs) and _same_shape(ours, theirs):
        ours[...] = theirs
    else:
        return theirs
    return ours


def is_array(value: Any) -> bool:
    """Return whether `value` is a numpy array with at least one dimension."""
    return type(value).__module__ == "numpy" and bool(getattr(value, "shape", ()))


def _same_shape(ours: Any, theirs: Any) -> bool:
    return is_array(ours) and bool(ours.shape == theirs.shape and ours.dtype == theirs.dtype)
