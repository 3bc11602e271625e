"""The extent of a program's message, with the check's own containers that it names and changes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest import standard
from pytest_promptse.sandbox.guest.unpatched import __builtins__, gc
from pytest_promptse.sandbox.guest.wire import ATOM_TYPES, LEVELS, MAX_PARTS, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NESTED = (list, tuple, dict, set, frozenset, deque, BaseException)


def require_extent(message: Any, known: Sequence[Any], *, is_repeating: bool) -> None:
    """Require that `message` and what it changes of `known` are neither too deep nor too large.

    Each container counts as often as others have it, as in `wire.require_extent`, with the content
    that it will have. A message without changes is only examined if it `is_repeating`: it names
    more than one of `known`.

    Raises
    ------
    TooLargeError
        If it is.
    """
    roots, contents = [message], {}
    if type(message) is tuple and message and type(message[-1]) is dict:
        for number, content in message[-1].items():
            if type(number) is int and 0 <= number < len(known):
                contents[id(known[number])] = content
    if contents:
        roots = [*message[:-1], *reversed(known)]  # the outer ones first
    if contents or is_repeating:
        extents: dict[int, tuple[int, int]] = {}
        seen: set[int] = set()
        for root in roots:
            if _is_nested(root) and id(root) not in seen:
                _require_extent(root, contents, extents, seen)


def _require_extent(
    root: Any, contents: Mapping[int, Any], extents: dict[int, tuple[int, int]], seen: set[int]
) -> None:
    """Go through `root` as ``repr`` does, for which a container within itself is one part.

    `contents` has the new content of containers by their ids, and `extents` receives the size and
    the depth of those that contain none which contains them.
    """
    size = cycles = 0
    around: set[int] = set()
    levels: list[list[Any]] = [[0, iter((root,)), 0, 0, 0]]
    while levels:
        level = levels[-1]
        outer, parts, size_before, cycles_before, depth = level
        for part in parts:
            key = id(part)
            if key in around:
                size, cycles = size + 1, cycles + 1
            elif key in extents:
                size += extents[key][0]
                depth = level[-1] = max(depth, extents[key][1])
            else:
                # Other than the methods of a value, this runs no code of the program.
                found = gc.get_referents(contents.get(key, part))
                nested = [p for p in found if type(p) not in ATOM_TYPES and _is_nested(p)]
                levels.append([key, iter(nested), size, cycles, 0])
                around.add(key)
                seen.add(key)
                size += 2 + len(found) - len(nested)
                break
            if size > MAX_PARTS:
                break
        else:
            levels.pop()
            around.discard(outer)
            if levels:
                levels[-1][-1] = max(levels[-1][-1], depth + 1)
            if cycles == cycles_before:
                extents[outer] = size - size_before, depth + 1
        if size > MAX_PARTS:
            raise TooLargeError("the value has too many parts")
        if len(levels) + depth > LEVELS:
            raise TooLargeError("the value is nested too deeply")


def _is_nested(value: Any) -> bool:
    kind = type(value)
    return issubclass(kind, _NESTED) or standard.kind_of(value) is not None
