"""Landlock: a process gives up rights on files, TCP connections and signals to other processes.

The system calls are those of https://docs.kernel.org/userspace-api/landlock.html. Their numbers are
the same on all machines.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest import kernel
from pytest_promptse.sandbox.guest.folders import is_folder
from pytest_promptse.sandbox.guest.unpatched import __builtins__, ctypes, functools, os, struct

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
# Of linux/landlock.h.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = (1 << bit for bit in range(4))
_TRUNCATE = 1 << 14
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
# Write a file; remove a folder, a file; make devices, folders, files, sockets, pipes, links.
_WRITES = {1: 0b1_1111_1111_0010}
_WRITES[2] = _WRITES[1] | 1 << 13  # move files between folders
_WRITES[3] = _WRITES[2] | _TRUNCATE
_TCP = 0b11  # bind, connect
_TCP_VERSION = 4
_SIGNALS = 0b10
_SCOPES = 0b01 | _SIGNALS  # abstract Unix sockets, signals
SCOPE_VERSION = 6

LIST, READ, WRITE = "list", "read", "write"
"""What a rule allows below its path: listing folders, reading and executing as well, or all."""


@functools.cache
def version() -> int:
    """Return the version of Landlock that this kernel offers, or 0 if it offers none."""
    return 0 if sys.platform != "linux" else max(0, _call(_CREATE_RULESET, None, 0, _VERSION))


def writes_only_below(folders: Iterable[str]) -> int:
    """Return a ruleset without writing outside `folders`, and without TCP."""
    writes = _WRITES[min(version(), max(_WRITES))]
    return _ruleset(writes, ((folder, writes) for folder in folders), scopes=0)


def confine_signals() -> bool:
    """Let this process signal only itself and what it starts. Return False on an older kernel."""
    if version() < SCOPE_VERSION:
        return False
    ruleset = _ruleset(0, (), scopes=_SIGNALS)
    restrict(ruleset)
    os.close(ruleset)
    return True


def nothing_but(rules: Iterable[tuple[str, str]]) -> int:
    """Return a ruleset that allows what `rules` allow, and nothing else of the file system.

    It also refuses TCP, and signals and abstract sockets of processes outside, as far as this
    kernel can.

    Parameters
    ----------
    rules
        Paths, each with one of `LIST`, `READ` and `WRITE`.
    """
    reads = _EXECUTE | _READ_FILE | _READ_DIR
    every = reads | _WRITES[min(version(), max(_WRITES))]
    rights = {LIST: _READ_DIR, READ: reads, WRITE: every}
    return _ruleset(every, ((path, rights[right]) for path, right in rules), scopes=_SCOPES)


def _ruleset(handled: int, grants: Iterable[tuple[str, int]], *, scopes: int) -> int:
    """Return the descriptor of a new ruleset. Paths that do not exist are skipped.

    OSError is raised if the kernel refuses a rule.
    """
    tcp = _TCP if version() >= _TCP_VERSION else 0
    attributes = struct.pack("QQQ", handled, tcp, scopes if version() >= SCOPE_VERSION else 0)
    known = 8 if version() < _TCP_VERSION else 16 if version() < SCOPE_VERSION else 24
    ruleset = kernel.check(_call(_CREATE_RULESET, attributes, known, 0), "landlock")
    for path, rights in grants:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            continue
        try:
            allowed = rights if is_folder(path) else rights & _ON_FILES & handled
            if allowed:
                rule = struct.pack("=Qi", allowed, place)
                kernel.check(_call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0), "landlock")
        finally:
            os.close(place)
    return ruleset


def restrict(ruleset: int) -> None:
    """Apply a ruleset to this thread and its children. Rights of open files remain.

    Raises
    ------
    OSError
        If the kernel refuses it.
    """
    kernel.refuse_privileges()
    kernel.check(_call(_RESTRICT_SELF, ruleset, 0), "landlock")


def _call(number: int, *arguments: Any) -> int:
    words = [
        ctypes.c_long(word) if isinstance(word, int) else ctypes.c_char_p(word)
        for word in arguments
    ]
    return int(kernel.system_call(ctypes.c_long(number), *words))
