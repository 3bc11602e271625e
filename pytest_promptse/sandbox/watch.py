"""Memory and CPU time of a whole process tree, seen from outside it."""

from __future__ import annotations

import os
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a tree uses: bytes of memory now, seconds of CPU time so far."""

    memory: int = 0
    cpu: float = 0.0


def descendants(pid: int) -> list[int]:
    """Return `pid` and everything it started that still runs (on Linux; elsewhere `pid`)."""
    found = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        found.append(parent)
        try:
            for thread in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - a hot path
                with open(f"/proc/{parent}/task/{thread}/children") as file:  # noqa: PTH123
                    waiting += map(int, file.read().split())
        except OSError:
            continue
    return found


def measure(pid: int, *, exact_above: int = 0) -> Usage:
    """Return what the descendants of `pid` use, without `pid` itself.

    Memory is the proportional set size, which counts pages shared by forked processes once
    (https://docs.kernel.org/filesystems/proc.html). Where it may not be read, resident pages
    that are not shared stand in.

    Parameters
    ----------
    pid : int
        The process above the tree.
    exact_above : int
        Bytes. The kernel walks all of a process's pages to know its proportional share, so it is
        asked only where the resident pages, which are never fewer, come to more than this; their
        size stands otherwise.
    """
    resident, cpu = 0, 0.0
    processes = descendants(pid)[1:]
    for process in processes:
        try:
            with open(f"/proc/{process}/statm") as file:  # noqa: PTH123
                pages = int(file.read().split()[1])
            with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
                fields = file.read().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue  # gone meanwhile
        resident += pages * _PAGE
        cpu += sum(map(int, fields[11:15])) / _TICKS
    memory = resident if resident <= exact_above else sum(map(_proportional, processes))
    return Usage(memory=memory, cpu=cpu)


def _proportional(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:  # noqa: PTH123
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except PermissionError:
        return _unshared(pid)
    except OSError:
        pass  # gone meanwhile
    return 0


def _unshared(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:  # noqa: PTH123
            _, resident, shared = file.read().split()[:3]
    except (OSError, ValueError):
        return 0  # gone meanwhile
    return (int(resident) - int(shared)) * _PAGE
