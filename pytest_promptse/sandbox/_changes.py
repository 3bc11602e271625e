"""Apply a program's in-place changes of arguments to the check's own objects."""

from __future__ import annotations

from typing import Any

from pytest_promptse.sandbox.guest.merge import merge

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
