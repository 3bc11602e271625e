"""Landlock: a process gives up writing to files outside some folders, and TCP connections.

The system calls are those of https://docs.kernel.org/userspace-api/landlock.html. Their numbers are
the same on all machines.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
# Of linux/landlock.h: write a file; remove a folder, a file; make devices, folders, files, sockets,
# pipes, links. Reading and executing stay allowed.
_WRITES = {1: 0b1_1111_1111_0010}
_WRITES[2] = _WRITES[1] | 1 << 13  # move files between folders
_WRITES[3] = _WRITES[2] | 1 << 14  # truncate
_ON_FILES = 1 << 1 | 1 << 14
_TCP = 0b11  # bind, connect
_TCP_VERSION = 4


@functools.cache
def version() -> int:
    """Return the version of Landlock that this kernel offers, or 0 if it offers none."""
    return 0 if sys.platform != "linux" else max(0, _call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(writable: Iterable[str]) -> None:
    """Give up writing outside `writable`, and TCP connections, for this thread and its children.

    Parameters
    ----------
    writable
        Folders and files. Those that do not exist are skipped. The right to write to files that
        are open already remains.

    Raises
    ------
    OSError
        If the kernel offers Landlock and refuses a rule.
    """
    if not version():
        return
    rights = _WRITES[min(version(), max(_WRITES))]
    attributes = struct.pack("QQ", rights, _TCP if version() >= _TCP_VERSION else 0)
    size = len(attributes) if version() >= _TCP_VERSION else 8
    ruleset = _checked(_call(_CREATE_RULESET, attributes, size, 0))
    try:
        for path in writable:
            try:
                folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                allowed = rights if os.path.isdir(path) else rights & _ON_FILES  # noqa: PTH112 - a hot path
                rule = struct.pack("=Qi", allowed, folder)
                _checked(_call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
            finally:
                os.close(folder)
        _checked(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _checked(_call(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


@functools.cache
def _libc() -> Any:
    return ctypes.PyDLL(None, use_errno=True)


def _call(number: int, *arguments: Any) -> int:
    words = [
        ctypes.c_long(word) if isinstance(word, int) else ctypes.c_char_p(word)
        for word in arguments
    ]
    return int(_libc().syscall(ctypes.c_long(number), *words))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return result
