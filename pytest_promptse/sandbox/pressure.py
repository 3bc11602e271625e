"""How long processes of this machine, of any user, had to wait for a processor."""

from __future__ import annotations

_FILE = "/proc/pressure/cpu"


def stalled() -> float:
    """Return seconds since the machine started in which some process waited for a processor.

    The kernel's own account (https://docs.kernel.org/accounting/psi.html); 0 where it keeps none,
    as on macOS.
    """
    try:
        with open(_FILE) as file:  # noqa: PTH123 - a hot path
            total = file.readline().rpartition("total=")[2]
    except OSError:
        return 0.0
    return int(total) / 1e6 if total.strip().isdigit() else 0.0
