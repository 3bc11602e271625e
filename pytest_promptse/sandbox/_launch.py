"""A script that is started as root: it drops root's privileges and executes a command.

An unprivileged user may lack access to the mounts of the jail, for example an interpreter under
``/root``. So the sources of ``--ro-bind`` are first bound below a ``/tmp`` of this process alone,
in a mount namespace of its own. If the kernel refuses the namespace, the command runs unchanged.

The argument is a JSON object with ``uid`` and ``command``.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

_CLONE_NEWNS = 0x00020000
_MS_BIND = 0x1000
_MS_REC = 0x4000
_MS_PRIVATE = 0x40000


def _check(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        sys.exit(f"{what}: {os.strerror(code)}")


def _stage(libc: ctypes.CDLL, command: list[str]) -> list[str]:
    """Bind every source of ``--ro-bind`` into a private ``/tmp`` and return the changed command.

    `command` is that of bubblewrap. It is returned unchanged if the process may not create a mount
    namespace. An error of a mount is raised.
    """
    if libc.unshare(_CLONE_NEWNS) < 0:
        return command  # root in a container may lack the right
    _check(libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount")
    places = [i + 1 for i, word in enumerate(command) if word == "--ro-bind"]
    # Kept open, since the new /tmp hides the contents of the old one.
    sources = [os.open(command[place], os.O_PATH) for place in places]
    _check(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, b"mode=755"), "mount")
    for place, source in zip(places, sources, strict=True):
        target = Path(f"/tmp/{place}")  # noqa: S108 - the private one
        origin = Path(f"/proc/self/fd/{source}")
        if origin.is_dir():
            target.mkdir()
        else:
            target.touch()
        flags = _MS_BIND | _MS_REC
        result = libc.mount(bytes(origin), bytes(target), None, flags, None)
        _check(result, f"bind {command[place]}")
        os.close(source)
        command[place] = str(target)
    return command


def main() -> None:
    """Bind the mounts, drop privileges and execute the command."""
    order = json.loads(sys.argv[1])
    command = order["command"]
    if "--ro-bind" in command:
        command = _stage(ctypes.CDLL(None, use_errno=True), command)
    os.setgroups([])
    os.setresgid(order["uid"], order["uid"], order["uid"])
    os.setresuid(order["uid"], order["uid"], order["uid"])
    # No module may be imported from here on, since the library may no longer be accessible.
    os.execv(command[0], command)  # noqa: S606 - what this script is for


if __name__ == "__main__":
    main()
