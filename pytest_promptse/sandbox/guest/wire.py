"""The message format between the checker and the program: operations and limits.

The modules ``encode`` and ``decode`` implement the format. All three modules run in both processes.
The jail has no installed packages, so they use the standard library alone.

A value is sent as two flat JSON arrays. *Atoms* are None, bool, int, float and str. *Steps* are
pairs ``operation, n`` of a stack machine: it pushes the next n atoms, or builds one value from the
n topmost values. JSON without objects cannot nest deeper than two levels, cannot contain a dict
whose keys collide, and is decoded in C. Every container is then built under limits. No operation
makes an instance of a class of the sender's choice.

Values are numbered in the order in which they are built. A container that a message has twice is
sent once, and a message can name a container of the one that it answers.

The limits of one message are `MAX_BYTES` of text, `MAX_PARTS` atoms and steps, `MAX_DEPTH` levels,
and `MAX_MEMORY` bytes of containers. Hashing and arithmetic may take `HASHING_SECONDS` of CPU time,
since colliding keys make hashing slow (https://peps.python.org/pep-0456/ protects only text).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_promptse.sandbox.guest.unpatched import __builtins__

MAX_BYTES = 32 * 2**20
MAX_PARTS = 3_600_000
MAX_DEPTH = 600
# With those that a message adds around a value.
LEVELS = MAX_DEPTH + 5
MAX_MEMORY = 256 * 2**20
MAX_RANGE = 1_000_000
MAX_EXPONENT = 10_000
MAX_DIGITS = 100_000
MAX_FRACTION_BITS = 65_536
HASHING_SECONDS = 0.4

(
    ATOMS,
    LIST,
    TUPLE,
    SET,
    FROZENSET,
    DICT,
    INT,
    COMPLEX,
    BYTES,
    BYTEARRAY,
    RANGE,
    DEQUE,
    DECIMAL,
    FRACTION,
    DATE,
    TIME,
    DATETIME,
    TIMEDELTA,
    REFERENCE,
    PROXY,
    STANDARD,
    NAMED,
    CLASS,
    EXCEPTION,
    ARRAY,
    SHARED,
    SAME,
) = range(27)
"""The operations.

``REFERENCE`` names an object of the program and ``PROXY`` an object of the check. ``CLASS``
describes a class of the program. ``NAMED`` names an object of the standard library. ``STANDARD`` is
a value of the types in ``standard``, ``EXCEPTION`` an exception, and ``ARRAY`` a numpy array or
scalar. ``SHARED`` is a container and its number. ``SAME`` is a container that the message has
already, by its number; a number below zero is that of a value of the other side's last message.
"""

CONTAINERS = frozenset({LIST, SET, DICT, BYTEARRAY, DEQUE})
BY_VALUE = CONTAINERS | {TUPLE, STANDARD, PROXY, ARRAY}
"""The operations that build containers, and those that may build a value which contains them."""

COMPILED = ("compiled",)
"""The first message of a program's process, unless the program has a syntax error."""

MODULE_NUMBER = -1
ENTRY_NUMBER = -2
"""References to the program's module and to its entry point."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


class WireError(Exception):
    """A message that breaks the rules, or a value that cannot be sent."""


class TooLargeError(WireError):
    """A value that is too large or too deep for one message."""


class InUseError(WireError):
    """A change of the other side does not fit what this side is doing with the value."""


def require_extent(steps: list[int], atoms: list[Any]) -> None:
    """Require that a value is neither too deep nor too large, with each `SAME` as a copy.

    Functions such as ``repr`` go through a container as often as the value has it, and end the
    process if a value is too deep, whatever it is made of.

    Raises
    ------
    TooLargeError
        If it is.
    """
    # Of the values on the stack, and of those with a number.
    depths: list[int] = []
    sizes: list[int] = []
    made: list[tuple[int, int]] = []
    position, is_atom = 0, False
    pairs = iter(steps)
    for operation, count in zip(pairs, pairs, strict=True):
        if operation == ATOMS:
            depths += [0] * count
            sizes += [1] * count
            position += count
            is_atom = is_atom or count > 0
        else:
            cut = max(len(depths) - count, 0)
            depth, size = 1 + max(depths[cut:], default=0), 2 + sum(sizes[cut:])
            if operation == SAME:
                # Only the steps are read here, so the value that has the number is not available.
                number = atoms[position - 1] if is_atom and position <= len(atoms) else None
                if type(number) is not int:
                    raise WireError("no container has this number")
                if 0 <= number < len(made):
                    depth, size = made[number]
            if depth > LEVELS:
                raise TooLargeError(f"the value is nested deeper than {MAX_DEPTH} levels")
            if size > MAX_PARTS:
                raise TooLargeError("the value has too many parts")
            made.append((depth, size))
            depths[cut:], sizes[cut:] = [depth], [size]
            is_atom = False


class Built(NamedTuple):
    """One operation and its parts, for a value that is neither an atom nor a container.

    ``operation`` is one of the constants of this module, such as ``REFERENCE``.
    """

    operation: int
    parts: tuple[Any, ...]


ATOM_TYPES = frozenset({type(None), bool, int, float, str})
