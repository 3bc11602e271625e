"""A script that starts a container and hands the worker's socket to its first process.

An engine connects a container to streams alone, over which no descriptors can be passed. So this
script listens at a socket in a folder that the container shows, and sends its descriptor 0 to the
process that connects. The folder is removed before any program runs.

It uses the standard library alone, since it runs without this package. Its argument is a JSON list:
the engine's command, in which ``{folder}`` stands for the folder.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_SOCKET = "door"
_POLL_SECONDS = 0.2

# Runs in the container as ``python3 -c`` with the folder and the zygote's bootstrap as arguments.
ARRIVE = f"""\
import os, socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect(sys.argv[1] + "/{_SOCKET}")
    control = socket.recv_fds(door, 1, 1)[1][0]
os.dup2(control, 0)
os.close(control)
os.execv(sys.executable, [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", sys.argv[2]])
"""


def bridge_command(command: list[str]) -> list[str]:
    """Return the command line that starts `command`, and hands it descriptor 0."""
    return [sys.executable, "-I", "-S", __file__, json.dumps(command)]


def main() -> int:
    """Start the engine, hand over descriptor 0, and return the engine's exit status."""
    private = tempfile.mkdtemp(prefix="promptse-")
    try:
        # The engine may map the container's user to another one. Nobody else reaches the inner
        # folder, since the outer one belongs to this user alone.
        folder = Path(private, "shown")
        folder.mkdir()
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(folder / _SOCKET))
            (folder / _SOCKET).chmod(0o666)
            door.listen(1)
            door.settimeout(_POLL_SECONDS)
            command = [word.replace("{folder}", str(folder)) for word in json.loads(sys.argv[1])]
            engine = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - our own
            while engine.poll() is None:
                try:
                    visitor, _ = door.accept()
                except TimeoutError:
                    continue
                with visitor:
                    socket.send_fds(visitor, [b"+"], [0])
                break
    finally:
        shutil.rmtree(private)
    os.close(0)  # so that the zygote sees the end of the worker
    return engine.wait()


if __name__ == "__main__":
    sys.exit(main())
