"""Limits of one program, and how they are fitted to a task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_promptse.sandbox._causes import Failure

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on one program, from the moment it is loaded until its execution ends.

    Parameters
    ----------
    wall : float
        Seconds from load or call to answer, summed over the execution. The time that the check
        itself takes between two calls does not count. Nor do seconds in which processes of the
        machine waited for a processor, up to four times the limit.
    cpu : float
        Seconds of CPU time of the program's whole process tree.
    memory : int
        Bytes; of the whole tree, and of address space for each process of it.
    output : int
        Bytes of standard output and of standard error that are kept. The program may write
        more; the rest is read and dropped.
    processes : int
        Processes and threads at one time.
    file_size : int
        Bytes of one file, and of all files in the program's private ``/tmp`` together.
    open_files : int
        Descriptors of one process.
    """

    wall: float = 3.0
    cpu: float = 3.0
    memory: int = 512 * MIB
    output: int = MIB // 4
    processes: int = 64
    file_size: int = 64 * MIB
    open_files: int = 256

    def __post_init__(self) -> None:
        for name in ("wall", "cpu", "memory", "output", "processes", "file_size", "open_files"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"Limits.{name} must be above 0, not {value!r}")


def fit(limits: Limits, *, reference_seconds: float | None) -> Limits:
    """Tighten the time limits to a task whose reference solution's time is known.

    Wall clock and CPU time become the larger of 1 s and 20 times the reference, and never more
    than `limits` allows. Endless loops cost the most time. If the reference needs a millisecond,
    a program with an endless loop is then stopped after one second instead of three.

    Parameters
    ----------
    limits : Limits
        The ceiling.
    reference_seconds : float or None
        Time that the reference solution used under the same check, None where it is unknown.
    """
    if reference_seconds is None:
        return limits
    fitted = max(1.0, 20.0 * reference_seconds)
    return replace(limits, wall=min(limits.wall, fitted), cpu=min(limits.cpu, fitted))


def needs_confirmation(failure: Failure | None, *, cpu_seconds: float, limits: Limits) -> bool:
    """Return whether a failure must be confirmed with no other program running.

    Only a time-out on the wall clock must: other programs can cause it. A program that used up
    its CPU time did so itself.
    """
    return failure is not None and failure.cause == "timeout" and cpu_seconds < limits.cpu
