"""Forward a worker's socket and descriptors over the two streams of a container engine.

A container that is reached by ``docker run -i`` alone cannot receive descriptors; on macOS it is in
a virtual machine. So the bridge has two ends. The near end, run as a script here, acts as the
zygote for the worker. The far end, the container's first process, acts as the worker for the
zygote. Both copy bytes between their descriptors and the streams. They use the standard library
alone, since the far end is sent as text.

A frame has kind (1 byte), number (4 bytes), size (4 bytes) and payload. Descriptor k of execution t
has the number 4t + k, in the order channel, input, output, errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import queue
import selectors
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_CONTROL, _DATA, _END = range(3)
_HEADER = struct.Struct(">BII")
_CHUNK = 65536
_PER_EXECUTION = 4
_PIPE = 2**20
_PENDING = 16 * 2**20


class _Pump:
    """Copy bytes between local descriptors and the stream of frames without blocking on either."""

    def __init__(
        self, control: socket.socket, incoming: int, send: Callable[[bytes], None]
    ) -> None:
        self.control = control
        self.incoming = incoming
        self.send = send
        self.selector = selectors.PollSelector()  # epoll refuses /dev/null
        self.selector.register(control, selectors.EVENT_READ, self.from_control)
        self.selector.register(incoming, selectors.EVENT_READ, self.from_stream)
        self.buffer = bytearray()
        self.files: dict[int, int] = {}
        self.pending: dict[int, bytearray] = {}
        self.sources: set[int] = set()
        self.finished: set[int] = set()

    def run(self) -> None:
        with contextlib.suppress(EOFError):
            while True:
                for key, events in self.selector.select():
                    if callable(key.data):
                        key.data()
                    elif key.data in self.files:
                        self.serve(key.data, events)

    def frame(self, kind: int, number: int, payload: bytes) -> None:
        self.send(_HEADER.pack(kind, number, len(payload)) + payload)

    # -- local descriptors ----------------------------------------------------------------------

    def add(self, number: int, file: int, *, source: bool) -> None:
        os.set_blocking(file, False)
        self.files[number] = file
        self.pending[number] = bytearray()
        if source:
            self.sources.add(number)
            self.selector.register(file, selectors.EVENT_READ, number)

    def serve(self, number: int, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self.flush(number)
        if events & selectors.EVENT_READ and number in self.sources:
            self.drain(number)

    def drain(self, number: int) -> bool:
        """Forward the bytes of one read. Return False if no more bytes are available now."""
        try:
            data = os.read(self.files[number], _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self.frame(_DATA, number, data)
            return True
        self.sources.discard(number)
        self.watch(number)
        self.frame(_END, number, b"")
        return False

    def flush(self, number: int) -> None:
        pending = self.pending[number]
        try:
            while pending:
                del pending[: os.write(self.files[number], pending[:_CHUNK])]
        except BlockingIOError:
            pass
        except OSError:
            pending.clear()  # the reader has closed the stream
        self.watch(number)
        if not pending and number in self.finished:
            self.end(number)

    def watch(self, number: int) -> None:
        events = selectors.EVENT_READ if number in self.sources else 0
        events |= selectors.EVENT_WRITE if self.pending[number] else 0
        file = self.files[number]
        if file in self.selector.get_map():
            self.selector.unregister(file)
        if events:
            self.selector.register(file, events, number)

    def close(self, number: int) -> None:
        file = self.files.pop(number, None)
        if file is not None:
            if file in self.selector.get_map():
                self.selector.unregister(file)
            os.close(file)
            self.sources.discard(number)
            self.finished.discard(number)
            del self.pending[number]

    # -- frames ---------------------------------------------------------------------------------

    def from_stream(self) -> None:
        data = os.read(self.incoming, _CHUNK)
        if not data:
            raise EOFError
        self.buffer += data
        while len(self.buffer) >= _HEADER.size:
            kind, number, size = _HEADER.unpack_from(self.buffer)
            if len(self.buffer) < _HEADER.size + size:
                return
            payload = bytes(self.buffer[_HEADER.size : _HEADER.size + size])
            del self.buffer[: _HEADER.size + size]
            self.take(kind, number, payload)

    def take(self, kind: int, number: int, payload: bytes) -> None:
        if kind == _CONTROL:
            self.take_control(payload)
        elif number in self.files:
            if kind == _DATA and len(self.pending[number]) < _PENDING:
                self.pending[number] += payload
                self.flush(number)
            elif kind == _END:
                self.finished.add(number)
                self.flush(number)

    def end(self, number: int) -> None:
        """Close a descriptor, or the writing direction of a socket, after the end of its data."""
        self.finished.discard(number)
        if number % _PER_EXECUTION == 0:
            with (
                contextlib.suppress(OSError),
                socket.socket(fileno=os.dup(self.files[number])) as s,
            ):
                s.shutdown(socket.SHUT_WR)
        else:
            self.close(number)

    def from_control(self) -> None:
        raise NotImplementedError

    def take_control(self, payload: bytes) -> None:
        raise NotImplementedError

    def close_execution(self, execution: int) -> None:
        for number in range(_PER_EXECUTION * execution, _PER_EXECUTION * (execution + 1)):
            self.close(number)

    def close_all(self) -> None:
        for number in list(self.files):
            self.close(number)


class _Near(_Pump):
    """The end that acts as the zygote for the worker."""

    def __init__(
        self, control: socket.socket, incoming: int, send: Callable[[bytes], None]
    ) -> None:
        super().__init__(control, incoming, send)
        self.ending = 0

    def from_control(self) -> None:
        data, files, _, _ = socket.recv_fds(self.control, _CHUNK, _PER_EXECUTION)
        if not data:
            raise EOFError
        self.frame(_CONTROL, 0, data)
        if files:
            first = _PER_EXECUTION * json.loads(data)["execution"]
            for offset, file in enumerate(files):
                self.add(first + offset, file, source=offset in (0, 1))
                if offset in (2, 3) and hasattr(fcntl, "F_SETPIPE_SZ"):
                    # The worker does not read while it waits for the end of an execution.
                    fcntl.fcntl(file, fcntl.F_SETPIPE_SZ, _PIPE)
        elif data.startswith(b'{"do": "end"'):
            self.ending = json.loads(data)["execution"]

    def take_control(self, payload: bytes) -> None:
        if b'"token"' in payload:
            self.close_all()
        self.close_execution(self.ending)
        self.control.send(payload)


class _Far(_Pump):
    """The end that acts as the worker for the zygote."""

    def from_control(self) -> None:
        answer = self.control.recv(_CHUNK)
        if not answer:
            raise EOFError
        # Output that the program wrote before its end is forwarded first.
        for number in list(self.sources):
            while number in self.sources and self.drain(number):
                pass
        if b'"execution"' in answer:
            self.close_execution(json.loads(answer)["execution"])
        elif b'"token"' in answer:
            self.close_all()
        self.frame(_CONTROL, 0, answer)

    def take_control(self, payload: bytes) -> None:
        if not payload.startswith(b'{"do": "start"'):
            self.control.send(payload)
            return
        first = _PER_EXECUTION * json.loads(payload)["execution"]
        ours, theirs = socket.socketpair()
        (in_read, in_write), (out_read, out_write), (err_read, err_write) = (
            os.pipe() for _ in range(3)
        )
        lent = [theirs.detach(), in_read, out_write, err_write]
        socket.send_fds(self.control, [payload], lent)
        for file in lent:
            os.close(file)
        self.add(first, ours.detach(), source=True)
        self.add(first + 1, in_write, source=False)
        self.add(first + 2, out_read, source=True)
        self.add(first + 3, err_read, source=True)


def near_end() -> None:
    """Run the engine's command (a JSON list in the first argument) behind descriptor 0."""
    control = socket.socket(fileno=os.dup(0))
    command: list[str] = json.loads(sys.argv[1])
    engine = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
    if engine.stdin is None or engine.stdout is None:
        raise OSError("the engine was started without pipes")
    to_write: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    into = engine.stdin.fileno()

    def write() -> None:
        with contextlib.suppress(OSError):
            while True:
                _write_all(into, to_write.get())

    threading.Thread(target=write, daemon=True).start()
    try:
        _Near(control, engine.stdout.fileno(), to_write.put).run()
    finally:
        engine.kill()
        engine.wait()
    os._exit(0)


def far_end() -> None:
    """Run the zygote (its bootstrap in the first argument) behind standard input and output."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", sys.argv[1]]
    subprocess.Popen(command, stdin=theirs.fileno(), stdout=2)  # noqa: S603 - our own
    theirs.close()
    _Far(ours, 0, lambda data: _write_all(1, data)).run()
    os._exit(0)


def _write_all(file: int, data: bytes) -> None:
    view: Any = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def far_source() -> str:
    """Return the text that a container's interpreter runs as its far end."""
    return Path(__file__).read_text(encoding="utf-8") + "\nfar_end()\n"


if __name__ == "__main__" and len(sys.argv) > 1 and sys.argv[1].startswith("["):
    near_end()
