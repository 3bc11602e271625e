"""Arguments that a program changed in place, changed here too."""

from __future__ import annotations

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
        _merge(ours, theirs)
    for name, ours in kwargs.items():
        _merge(ours, new_kwargs[name])


def _merge(ours: Any, theirs: Any) -> Any:
    """Return `ours`, made equal to `theirs` in place where it can be, else `theirs`."""
    if type(ours) is not type(theirs):
        return ours if callable(ours) else theirs
    if type(ours) is list:
        kept = [_merge(*pair) for pair in zip(ours, theirs, strict=False)]
        ours[:] = kept + theirs[len(kept) :]
    elif type(ours) is dict:
        merged = {key: _merge(ours.get(key), value) for key, value in theirs.items()}
        ours.clear()
        ours.update(merged)
    elif type(ours) is set:
        ours.clear()
        ours.update(theirs)
    elif type(ours) is bytearray:
        ours[:] = theirs
    elif type(ours) is tuple and len(ours) == len(theirs):
        return tuple(_merge(*pair) for pair in zip(ours, theirs, strict=True))
    else:
        return theirs
    return ours
