"""Request a program from the fork server, with the standard library alone.

A request is the size of its body and the body in JSON, with the three standard streams attached.
The server answers with the process id, and with the exit status when the program has ended.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE = struct.Struct("!I")
_NUMBER = struct.Struct("!i")


def request(
    connection: socket.socket,
    command: Sequence[str],
    *,
    cwd: str,
    env: dict[str, str],
    streams: tuple[int, int, int],
) -> None:
    """Send a request for a program, and receive the process id and later the exit status."""
    body = json.dumps({"command": command, "cwd": cwd, "env": env}).encode()
    socket.send_fds(connection, [SIZE.pack(len(body))], streams)
    connection.sendall(body)


def send_number(connection: socket.socket, number: int) -> None:
    """Send a process id or an exit status."""
    connection.sendall(_NUMBER.pack(number))


def receive_number(connection: socket.socket) -> int:
    """Receive a process id or an exit status."""
    data = receive(connection, _NUMBER.size)
    return int(_NUMBER.unpack(data)[0])


def receive(connection: socket.socket, size: int) -> bytes:
    """Receive exactly `size` bytes."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError("the fork server has ended")
        data += more
    return data


def run(address: str, command: list[str]) -> None:
    """Run a command as if this process were it: with its streams, signals and exit status."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        # pathlib would take as long to import as all other modules here.
        cwd = os.getcwd()  # noqa: PTH109
        request(connection, command, cwd=cwd, env=dict(os.environ), streams=(0, 1, 2))
        pid = receive_number(connection)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: os.kill(pid, number))
        status = receive_number(connection)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)
