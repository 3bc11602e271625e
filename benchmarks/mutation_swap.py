"""Put a fault into a module that is imported already, for ``mutation.py``.

Its functions get the code of the faulty module. That takes a hundredth of the time of importing the
package, pytest and its libraries again.

As a script it is a fork server of the tests whose children have a fault. A fork server without one
forks it, so that it need not import anything either.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import socket
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from mutation_faults import code

if TYPE_CHECKING:
    from collections.abc import Iterator

# The exit status of the script if the fault needs new processes.
CANNOT_SWAP = 3
Place: TypeAlias = tuple[str, str, int]


class CannotSwapError(Exception):
    """The fault is in code that runs when the module is imported."""


def swap(path: str, right: str, wrong: str) -> None:
    """Give the functions of a module, if it is imported, the code of the faulty source.

    Raises
    ------
    CannotSwapError
        If that does not make the imported module equal to one imported from the faulty source.
    """
    ours, theirs = (compile(text, path, "exec", dont_inherit=True) for text in (right, wrong))
    places = Counter(map(place, chain([ours], nested_everywhere(ours))))
    changed = {place(old): new for old, new in functions_that_differ(ours, theirs)}
    if any(places[one] > 1 for one in changed):
        raise CannotSwapError
    # Objects that the fork server has frozen are not listed.
    gc.unfreeze()
    live = [
        one
        for one in gc.get_objects()
        if type(one) is FunctionType and place(one.__code__) in changed
    ]
    imported = any(getattr(module, "__file__", "") == path for module in [*sys.modules.values()])
    if changed and imported and not live:
        raise CannotSwapError
    for function in live:
        try:
            function.__code__ = changed[place(function.__code__)]
        except ValueError:  # another number of free variables
            raise CannotSwapError from None


def functions_that_differ(right: CodeType, wrong: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the code of the functions that differ, nested ones as well."""
    if code(right) == code(wrong):
        return
    pairs = [*zip(nested(right), nested(wrong), strict=False)]
    alike = len(nested(right)) == len(nested(wrong)) and all(
        old.co_qualname == new.co_qualname for old, new in pairs
    )
    if right.co_flags & inspect.CO_OPTIMIZED:
        yield right, wrong
    elif not alike or code(without_nested(right)) != code(without_nested(wrong)):
        raise CannotSwapError
    if alike:
        for pair in pairs:
            yield from functions_that_differ(*pair)


def nested(of: CodeType) -> list[CodeType]:
    """Return the code of the functions and classes in it."""
    return [value for value in of.co_consts if isinstance(value, CodeType)]


def nested_everywhere(of: CodeType) -> Iterator[CodeType]:
    """Yield all code in it."""
    for inner in nested(of):
        yield inner
        yield from nested_everywhere(inner)


def without_nested(of: CodeType) -> CodeType:
    """Return the code of a module or class alone."""
    return of.replace(
        co_consts=tuple(None if isinstance(value, CodeType) else value for value in of.co_consts)
    )


def place(of: CodeType) -> Place:
    """Return what identifies a function."""
    return of.co_filename, of.co_qualname, of.co_firstlineno


def main() -> None:
    """Serve forks with a fault at an address, until standard input ends."""
    fault, address, helpers = sys.argv[1:]
    os.setpgid(0, 0)
    sys.path.insert(0, helpers)
    fork_server: Any = importlib.import_module("fork_server")  # of the clone
    del sys.path[0]
    try:
        swap(**json.loads(Path(fault).read_text(encoding="utf-8")))
    except CannotSwapError:
        sys.exit(CANNOT_SWAP)
    gc.freeze()
    fork_server._preload = lambda: None  # noqa: SLF001 - all is imported
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{address}-")
    listening.listen()
    # A client may connect as soon as the address exists.
    Path(f"{address}-").rename(address)
    fork_server.serve(listening.detach())


if __name__ == "__main__":
    main()
