"""The system calls that Python has no name for; used by the warm interpreter inside the jail."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
_MS_NOSUID_NODEV = 0x2 | 0x4
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_SYS_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}

# Keeps the interpreter's lock held over the call: a forked child could not take it again.
_libc = ctypes.PyDLL(None, use_errno=True)
# Looked up here, once, rather than in every child; other systems than Linux lack some.
_syscall: Any = _libc.syscall
_prctl: Any = getattr(_libc, "prctl", None)
_mount: Any = getattr(_libc, "mount", None)
_capset: Any = getattr(_libc, "capset", None)
_before_fork = ctypes.pythonapi.PyOS_BeforeFork
_after_fork_in_child = ctypes.pythonapi.PyOS_AfterFork_Child
_after_fork_in_parent = ctypes.pythonapi.PyOS_AfterFork_Parent
_CLONE = _SYS_CLONE.get(platform.machine(), -1)
_REHEARSALS = 20


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilitySets(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint32 * 6),)


_CAPABILITY_HEADER = ctypes.byref(_CapabilityHeader(_CAPABILITY_VERSION_3, 0))
_NO_CAPABILITIES = ctypes.byref(_CapabilitySets())


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def fork(namespaces: int) -> int:
    """Fork this single-threaded process, the child in new `namespaces` (0: as `os.fork` does).

    ``unshare`` before ``os.fork`` would do it once only: a process cannot choose a second pid
    namespace for its children (https://man7.org/linux/man-pages/man7/pid_namespaces.7.html).
    """
    if not namespaces:
        return os.fork()
    _before_fork()
    child: int = _syscall(_CLONE, namespaces | signal.SIGCHLD, None, 0, 0, 0)
    if child == 0:
        _after_fork_in_child()
        return 0
    _after_fork_in_parent()
    return _check(child, "clone")


def rehearse_fork() -> None:
    """Do in this process what follows a fork in the child, for the pages and caches it fills."""
    for _ in range(_REHEARSALS):
        _before_fork()
        _after_fork_in_child()


def mount_tmpfs(path: str, size: int) -> None:
    """Mount an empty file system of `size` bytes at `path`."""
    options = f"size={size},mode=1777,nr_inodes=16k".encode()
    target = path.encode()
    _check(_mount(b"tmpfs", target, b"tmpfs", _MS_NOSUID_NODEV, options), "mount")


def drop_capabilities() -> None:
    """Give up every capability of this process."""
    _check(_capset(_CAPABILITY_HEADER, _NO_CAPABILITIES), "capset")


def filter_system_calls(instructions: bytes) -> None:
    """Put a seccomp filter, as compiled BPF, on this process and all that it starts."""
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    program = _FilterProgram(len(instructions) // 8, instructions)
    result = _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
    _check(result, "seccomp")


def adopt_orphans() -> None:
    """Become the parent of every orphan among this process's descendants (Linux)."""
    _check(_prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def limit_resources(limits: dict[str, int]) -> None:
    """Set both bounds of each named ``RLIMIT_*``."""
    for name, value in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))
