"""System calls that Python does not offer, for the warm interpreter inside the jail."""

from __future__ import annotations

import platform
import struct
from typing import Any

from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    ctypes,
    fcntl,
    os,
    resource,
    signal,
    socket,
)

CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_LOOPBACK_UP = struct.pack("16sh14x", b"lo", 0x1)  # IFF_UP
_MS_NOSUID_NODEV = 0x2 | 0x4
_MS_BIND = 0x1000
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_SYS_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}

# This loader keeps the interpreter's lock during a call. A forked child could not acquire it again.
_libc = ctypes.PyDLL(None, use_errno=True)
# Looked up once here and not in every child. Other systems than Linux lack some of them.
system_call: Any = _libc.syscall
_prctl: Any = getattr(_libc, "prctl", None)
_mount: Any = getattr(_libc, "mount", None)
_capset: Any = getattr(_libc, "capset", None)
_CLONE = _SYS_CLONE.get(platform.machine(), -1)


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilitySets(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint32 * 6),)


_CAPABILITY_HEADER = ctypes.byref(_CapabilityHeader(_CAPABILITY_VERSION_3, 0))
_NO_CAPABILITIES = ctypes.byref(_CapabilitySets())


def check(result: int, what: str) -> int:
    """Return `result`, or raise OSError about `what` if it is that of a call that failed."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def fork(namespaces: int) -> int:
    """Fork this single-threaded process and put the child into new `namespaces`.

    0 means no new namespaces, and calls `os.fork`. Otherwise this calls ``clone``, which can be
    repeated. ``unshare`` cannot: it chooses the pid namespace of later children only once
    (https://man7.org/linux/man-pages/man7/pid_namespaces.7.html).

    ``clone`` does not run Python's fork hooks. They replace locks that other threads may hold, but
    this process has no other thread. The hooks would make every child copy about fifty pages. The
    caller must seed ``random``, as the hook of that module does.
    """
    if not namespaces:
        return os.fork()
    return check(system_call(_CLONE, namespaces | signal.SIGCHLD, None, 0, 0, 0), "clone")


def mount_tmpfs(path: bytes, options: bytes) -> None:
    """Mount an empty file system at `path`.

    `options` are those of tmpfs, such as ``b"size=64m"``. OSError is raised if the kernel refuses.
    """
    check(_mount(b"tmpfs", path, b"tmpfs", _MS_NOSUID_NODEV, options), "mount")


def show_at(path: bytes, other: bytes) -> None:
    """Let what is mounted at `path` appear at `other` too. OSError is raised as above."""
    check(_mount(path, other, None, _MS_BIND, None), "mount")


def start_loopback() -> None:
    """Start the loopback device of a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _LOOPBACK_UP)


def drop_capabilities() -> None:
    """Drop all capabilities of this process."""
    check(_capset(_CAPABILITY_HEADER, _NO_CAPABILITIES), "capset")


def refuse_privileges() -> None:
    """Set the flag that the kernel requires for filters and Landlock. Children inherit it."""
    check(_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


class SystemCallFilter:
    """A seccomp filter in memory, so that the child of a fork needs only one call to install it.

    Parameters
    ----------
    instructions : bytes
        Compiled BPF. Empty bytes mean no filter.
    """

    def __init__(self, instructions: bytes) -> None:
        if instructions:
            refuse_privileges()
        self._program = _FilterProgram(len(instructions) // 8, instructions)
        self._reference = ctypes.byref(self._program)

    def apply(self) -> None:
        """Install the filter for this process and all processes that it starts."""
        if self._program.length:
            result = _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, self._reference, 0, 0)
            check(result, "seccomp")


def adopt_orphans() -> None:
    """Become the parent of every orphan among this process's descendants (Linux)."""
    check(_prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def resource_bounds(limits: dict[str, int]) -> list[tuple[int, tuple[int, int]]]:
    """Return the bounds to set for each named ``RLIMIT_*``, no higher than the present ones."""
    found = []
    for name, value in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        found.append((kind, (bound, bound)))
    return found


def limit_resources(bounds: list[tuple[int, tuple[int, int]]]) -> None:
    """Set the limits that `resource_bounds` returned."""
    for kind, pair in bounds:
        resource.setrlimit(kind, pair)
