"""The command that starts a zygote inside bubblewrap, as an unprivileged user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.sandbox import _bootstrap, _launch
from pytest_promptse.sandbox.guest.unpatched import __builtins__, json, os

if TYPE_CHECKING:
    from pytest_promptse.sandbox._mounts import Mounts

# The range that systemd keeps for dynamic users (https://systemd.io/UIDS-GIDS/).
_FIRST_UID, _UIDS = 61184, 4336
_ETC = Path(__file__).parent / "etc"
ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 - the private one
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "USER": "user",
    "LOGNAME": "user",
    # glibc reserves address space for an arena per thread, which counts against the memory limit.
    "MALLOC_ARENA_MAX": "2",
    # One thread, since the warm interpreter forks.
    "OPENBLAS_NUM_THREADS": "1",
}


def bubblewrap_command(program: str, mounts: Mounts, *, worker: int) -> list[str]:
    """Return the command line for the zygote of one worker.

    `program` is the path of ``bwrap``, and `mounts` are the folders that the sandbox shows.
    `worker` is the number of the worker, from which a run as root takes its user id.
    """
    command = _bubblewrap(program, mounts)
    if os.geteuid() != 0:
        return command
    # The limit on processes does not bind root, and bind mounts would show files of root.
    return as_user(worker_uid(worker), command)


def as_user(uid: int, command: list[str]) -> list[str]:
    """Return the command line by which root executes `command` as a user without privileges."""
    order = json.dumps({"uid": uid, "command": command})
    return [sys.executable, "-I", "-S", _launch.__file__, order]


def worker_uid(worker: int) -> int:
    """Return a user id that hardly any other worker on this machine has."""
    return _FIRST_UID + (os.getpid() * 16 + worker) % _UIDS


def _bubblewrap(program: str, mounts: Mounts) -> list[str]:
    command = [program, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    command += ["--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    command += ["--as-pid-1", "--die-with-parent", "--new-session"]
    # Only the zygote keeps this capability, to make a pid namespace for each program.
    command += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]
    # Only the zygote keeps this capability, to start the loopback device of a new network
    # namespace.
    command += ["--cap-add", "CAP_NET_ADMIN"]
    command += ["--clearenv"]
    for name, value in ENVIRONMENT.items():
        command += ["--setenv", name, value]
    for source, target in mounts.binds:
        command += ["--ro-bind", source, target]
    for text, target in mounts.links:
        command += ["--symlink", text, target]
    for path in mounts.hidden:
        command += ["--tmpfs", path, "--remount-ro", path]
    for name in ("null", "zero", "full", "random", "urandom"):
        command += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for name in ("hosts", "nsswitch.conf"):
        command += ["--ro-bind", str(_ETC / name), f"/etc/{name}"]
    command += ["--symlink", "/tmp", "/dev/shm"]  # noqa: S108 - private ones
    for path in ("/tmp", *mounts.temporary):  # noqa: S108 - private ones
        command += ["--dir", path]
    command += ["--remount-ro", "/"]
    return [*command, "--chdir", "/", "--", *python_command(mounts.python)]


def python_command(python: str) -> list[str]:
    """Return the command of a zygote's interpreter: without site, user folder or environment."""
    return [python, "-I", "-S", "-B", "-X", "utf8", "-c", _bootstrap.COMMAND]
