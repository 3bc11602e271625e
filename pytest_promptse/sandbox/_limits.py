"""Limits of one program, and how they are fitted to a task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING

from pytest_promptse.sandbox.guest.unpatched import __builtins__, contextlib, math, resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.sandbox._causes import Failure

MIB = 2**20
_CHECK_FACTOR = 10
_LEAST_CHECK_SECONDS = 20.0
_NEARLY_ALL = 0.95
"""Share of its CPU time with which a program is not taken for one that had to wait.

Both limits are the same by default. An endless loop then reaches that of the clock with some
milliseconds of CPU time left, since it has also waited for the sandbox.
"""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one program, from its load until the end of its execution.

    Parameters
    ----------
    wall : float
        Seconds from a load or call to its answer, summed over the execution. The time that the
        check takes between two calls does not count. Seconds in which processes of the machine
        waited for a processor do not count either, up to four times the limit.
    cpu : float
        CPU seconds of the program's whole process tree.
    memory : int
        Bytes of memory of the whole tree.
    output : int
        Bytes of standard output and of standard error that are kept. Further output is read and
        dropped.
    processes : int
        Number of processes and threads at the same time.
    file_size : int
        Bytes of one file, and of all files in the program's private ``/tmp`` together.
    open_files : int
        Number of descriptors of one process.
    address_space : int or None
        Bytes of address space of each process, or None for `memory`. Runtimes such as Node reserve
        far more of it than they use.
    """

    wall: float = 3.0
    cpu: float = 3.0
    memory: int = 512 * MIB
    output: int = MIB // 4
    processes: int = 64
    file_size: int = 64 * MIB
    open_files: int = 256
    address_space: int | None = None

    def __post_init__(self) -> None:
        for name in ("wall", "cpu", "memory", "output", "processes", "file_size", "open_files"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"Limits.{name} must be above 0, not {value!r}")


def fit(limits: Limits, *, reference_seconds: float | None) -> Limits:
    """Tighten the time limits to a task, given the time of its reference solution.

    Both time limits become 20 times the reference's time, but at least 1 s and at most those in
    `limits`. Endless loops cost the most time. If the reference needs a millisecond, a program with
    an endless loop is then stopped after one second instead of three.

    Parameters
    ----------
    limits : Limits
        The largest limits.
    reference_seconds : float or None
        Seconds that the reference solution used in the same check, or None if unknown.
    """
    if reference_seconds is None:
        return limits
    fitted = max(1.0, 20.0 * reference_seconds)
    return replace(limits, wall=min(limits.wall, fitted), cpu=min(limits.cpu, fitted))


def needs_confirmation(failure: Failure | None, *, cpu_seconds: float, limits: Limits) -> bool:
    """Return whether a failure must be confirmed with no other program running.

    Only a time-out of the wall clock must be confirmed, since other programs can cause it. They
    cannot use up a program's CPU time, so a program that has had nearly all of it is not run again.

    Parameters
    ----------
    failure
        The failure of the program, or None if it passed.
    cpu_seconds
        CPU seconds that the program used.
    limits
        The limits under which it ran.
    """
    waited = cpu_seconds < _NEARLY_ALL * limits.cpu
    return failure is not None and failure.cause == "timeout" and waited


def check_seconds(limits: Limits) -> float:
    """Return the seconds that the check's own code may take for a program with these limits."""
    return max(_LEAST_CHECK_SECONDS, _CHECK_FACTOR * limits.wall)


@contextlib.contextmanager
def cpu_limited(seconds: float) -> Iterator[None]:
    """Let the kernel end this process by SIGXCPU if the block takes more seconds of CPU time.

    No thread of Python can interrupt a function that is written in C and keeps the lock of the
    interpreter, such as a search for a regular expression.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    bound = math.ceil(process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (bound if soft < 0 else min(soft, bound), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
