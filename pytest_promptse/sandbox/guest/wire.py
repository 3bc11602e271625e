"""The language between checker and program: plain data, decoded strictly.

This module says what there is to say; ``encode`` and ``decode`` beside it speak. Both ends run
all three, the far one inside the jail, where nothing is installed; so they need the standard
library alone.

A value travels as two flat JSON arrays: *atoms* (None, bool, int, float, str) and *steps*, pairs
``operation, n`` of a stack machine that pushes the next n atoms or builds one value from the n
topmost ones. JSON without objects cannot nest deeper than two, cannot hold a dict whose keys
collide, and decodes in C; every container is then built here, under limits. There is no way to
say "an instance of class X".

Limits on one message: `MAX_BYTES` of text, `MAX_DEPTH` levels, and `HASHING_SECONDS` of CPU time
for hashing, which is what colliding keys attack
(https://peps.python.org/pep-0456/ protects only text).
"""

from __future__ import annotations

from typing import Any, NamedTuple

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 200
MAX_STEPS = 2_000_000
MAX_RANGE = 1_000_000
MAX_EXPONENT = 10_000
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
    CALLBACK,
) = range(20)


class WireError(Exception):
    """A message that breaks the rules, or a value that cannot be said in them."""


class Built(NamedTuple):
    """One operation and what it builds from: how a value that is no atom or container travels."""

    operation: int
    parts: tuple[Any, ...]


ATOM_TYPES = frozenset({type(None), bool, int, float, str})
