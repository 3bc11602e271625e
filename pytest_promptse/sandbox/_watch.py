"""Measure memory and CPU time of a process tree, and the time in which processors were short.

All are measured from outside the tree.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import kill, listdir
from os import stat as status_of
from typing import TYPE_CHECKING

from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    contextlib,
    signal,
    threading,
    time,
)

if TYPE_CHECKING:
    from collections.abc import Callable

INTERVAL_SECONDS = 0.025
_SHORTEST_INTERVAL_SECONDS = 0.005
_IDLE_INTERVALS = 40
FREE_DESCRIPTORS = 256
DESCRIPTOR_BYTES = 256 * 1024

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PRESSURE_FILE = "/proc/pressure/cpu"


@dataclass(frozen=True, kw_only=True)
class ResourceUsage:
    """The resources of a process tree: present memory in bytes, CPU seconds so far."""

    memory: int = 0
    cpu: float = 0.0


def descendants(pid: int) -> list[int]:
    """Return `pid` and all running processes that it started.

    Other systems than Linux: `pid` only.
    """
    found = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        found.append(parent)
        try:
            threads = listdir(f"/proc/{parent}/task")  # noqa: PTH208 - a hot path
        except OSError:
            continue
        for thread in threads:
            # A thread may end at any moment, and the others have children too.
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{parent}/task/{thread}/children") as file,
            ):
                waiting += map(int, file.read().split())
    return found


def kill_descendants(pid: int) -> None:
    """Kill all processes that `pid` started, but not `pid` itself."""
    for process in descendants(pid)[1:]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(process, signal.SIGKILL)


def stalled() -> float:
    """Return the seconds since the machine started in which a process waited for a processor.

    The kernel counts them for all processes (https://docs.kernel.org/accounting/psi.html). The
    result is 0 if the kernel does not count them, as on macOS.
    """
    try:
        with open(_PRESSURE_FILE) as file:
            total = file.readline().rpartition("total=")[2]
    except OSError:
        return 0.0
    return int(total) / 1e6 if total.strip().isdigit() else 0.0


class Watchdog:
    """A thread in which every execution enforces its limits while the checker is busy.

    It calls the function ``watch`` of each execution, which returns the CPU seconds that are left.
    An execution that is removed within `INTERVAL_SECONDS` is never watched.
    """

    ident: int | None = None
    """The identifier of the thread that was started last in this process."""

    def __init__(self) -> None:
        self._watched: dict[Callable[[], float], float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._asleep = self._closed = False

    def add(self, watch: Callable[[], float]) -> None:
        """Watch an execution. The first call starts the thread."""
        with self._changed:
            self._watched[watch] = time.monotonic() + INTERVAL_SECONDS
            if self._asleep:
                self._changed.notify()
        self.start()

    def start(self) -> None:
        """Start the thread if it does not run yet."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="promptse-watchdog", daemon=True)
            self._thread.start()
            Watchdog.ident = self._thread.ident

    def remove(self, watch: Callable[[], float]) -> None:
        """Stop watching."""
        with self._changed:
            self._watched.pop(watch, None)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._watched.clear()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        idle = 0
        while True:
            with self._changed:
                idle = 0 if self._watched else idle + 1
                # Waking the thread for each short execution would cost more than an unnecessary
                # check.
                self._asleep = idle > _IDLE_INTERVALS
                self._changed.wait(None if self._asleep else self._pause())
                self._asleep = False
                if self._closed:
                    return
                now = time.monotonic()
                due = [watch for watch, when in self._watched.items() if when <= now]
            for watch in due:
                pause = min(INTERVAL_SECONDS, watch())
                with self._changed:
                    if watch in self._watched:
                        self._watched[watch] = time.monotonic() + pause

    def _pause(self) -> float:
        first = min(self._watched.values(), default=time.monotonic() + INTERVAL_SECONDS)
        return max(first - time.monotonic(), _SHORTEST_INTERVAL_SECONDS)


class Meter:
    """Measure the resources of the descendants of one process, without the process itself.

    Memory is the proportional set size, which counts pages shared by forked processes once
    (https://docs.kernel.org/filesystems/proc.html). If it cannot be read, the resident pages that
    are not shared are counted. Kernel memory of sockets and pipes is not counted for any process.
    So each open descriptor beyond `FREE_DESCRIPTORS` counts as `DESCRIPTOR_BYTES`.

    CPU time includes that of processes that have ended since the last measurement. The kernel adds
    the time of a process to its parent's only if the parent waits for it
    (https://man7.org/linux/man-pages/man2/wait.2.html). A program can avoid that.

    Parameters
    ----------
    pid : int
        Process id of the root of the tree, which is not measured itself.
    exact_above : int
        Bytes of resident memory above which the proportional share is read. The kernel walks all
        pages of a process for that share. Below this bound, the resident size is used, which is
        never smaller.
    """

    def __init__(self, pid: int, *, exact_above: int = 0) -> None:
        self._pid = pid
        self._exact_above = exact_above
        self._seen: dict[_Identity, _Times] = {}
        self._gone: dict[_Identity, float] = {}
        self._waited_for = 0.0

    def measure(self) -> ResourceUsage:
        """Return the present usage of the tree."""
        resident, descriptors = 0, 0
        processes = descendants(self._pid)[1:]
        seen: dict[_Identity, _Times] = {}
        for process in processes:
            try:
                with open(f"/proc/{process}/statm") as file:
                    pages = int(file.read().split()[1])
                # Bytes, since a program names its processes as it likes.
                with open(f"/proc/{process}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b")")[2].split()
            except OSError:
                continue  # the process has ended
            descriptors += _open_descriptors(process)
            resident += pages * _PAGE
            # Process ids are reused, so the start time is part of a process's identity.
            identity = process, int(fields[19])
            own, waited_for = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
            seen[identity] = own / _TICKS, waited_for / _TICKS
        memory = resident
        if resident > self._exact_above:
            memory = sum(map(_proportional, processes))
        memory += max(0, descriptors - FREE_DESCRIPTORS) * DESCRIPTOR_BYTES
        cpu = sum(map(sum, seen.values())) + self._lost(seen)
        return ResourceUsage(memory=memory, cpu=cpu)

    def _lost(self, seen: dict[_Identity, _Times]) -> float:
        """Return CPU seconds of ended processes for which no parent waited."""
        for identity, times in self._seen.items():
            if identity in seen:
                self._waited_for += max(0.0, seen[identity][1] - times[1])
            else:
                self._gone[identity] = sum(times)
        for identity in seen:
            # The list of children may lack a living process while other processes end.
            self._gone.pop(identity, None)
        self._seen = seen
        return max(0.0, sum(self._gone.values()) - self._waited_for)


_Identity = tuple[int, int]
_Times = tuple[float, float]


def _open_descriptors(pid: int) -> int:
    try:
        # The number of descriptors since Linux 6.2, else 0:
        # https://docs.kernel.org/filesystems/proc.html
        return status_of(f"/proc/{pid}/fd").st_size  # noqa: PTH116 - a hot path
    except OSError:
        return 0


def _proportional(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except PermissionError:
        return _unshared(pid)
    except OSError:
        pass  # the process has ended
    return 0


def _unshared(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared = file.read().split()[:3]
    except (OSError, ValueError):
        return 0  # the process has ended
    return (int(resident) - int(shared)) * _PAGE
