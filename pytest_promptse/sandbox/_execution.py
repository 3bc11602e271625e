"""The execution of one program: its messages, output, limits and end."""

from __future__ import annotations

import sys
from _socket import socketpair
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox import _watch
from pytest_promptse.sandbox._causes import Cause, Failure, ProgramStopped
from pytest_promptse.sandbox._limits import cpu_limited
from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    contextlib,
    fcntl,
    os,
    select,
    signal,
    threading,
    time,
)
from pytest_promptse.sandbox.guest.zygote import READY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_promptse.sandbox._limits import Limits
    from pytest_promptse.sandbox._worker import Worker

_READY_SECONDS = 30.0
_SHORTEST_GRANT_SECONDS = 0.005
_MOST_PATIENCE = 5
"""Largest factor by which the wall-clock limit grows if the machine lacks processors."""

_CALLBACK_FACTOR = 2
"""All callbacks together may take this many times the wall-clock limit."""

MAX_CALLBACKS = 100_000
_CHUNK = 1 << 16
_PIPE_BYTES = 1 << 20
"""Capacity in bytes of a flooding stream's pipe: the largest that Linux allows every user."""

_FLOOD_PAUSE_SECONDS = 0.005
"""Pause in seconds between two reads of a flooding stream. A program can still write 200 MiB/s."""

_HEADER = 4


class _Output:
    """Output of the program on one stream. The first bytes are kept, the rest is dropped.

    A stream that has written more than the kept bytes is flooding. It is then read after pauses, so
    that a program which writes without end costs the checker little time.
    """

    def __init__(self, limit: int) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self.limit = limit
        self.kept = bytearray()
        self.floods = False

    def drain(self) -> bool:
        """Read available data. Return False at the end of the stream."""
        try:
            data = os.read(self.read_end, _PIPE_BYTES if self.floods else _CHUNK)
        except BlockingIOError:
            return True
        room = self.limit - len(self.kept)
        self.kept += data[:room]
        if len(data) > room and not self.floods:
            self.floods = True
            if sys.platform == "linux":
                with contextlib.suppress(OSError):  # the user's limit on pipe memory may be reached
                    fcntl.fcntl(self.read_end, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        return bool(data)

    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")


class Execution:
    """A forked program process and the descriptors to it.

    Parameters
    ----------
    worker : Worker
        The worker in which the program runs. No other execution uses it at the same time.
    limits : Limits
        The limits of the program.
    folder : str
        Working directory, used if the jail does not provide one.
    stdin : bytes or None
        Standard input; None means empty.
    separate : bool
        Keep standard error apart from standard output.
    network : bool
        Give the program a network of its own, in which it can reach only itself. Without it,
        internet sockets are refused. A network takes the kernel 0.8 ms.

    Attributes
    ----------
    seconds : float
        Wall-clock seconds that the checker has waited for the program.
    cpu : float
        CPU seconds of all processes; known at the end.
    exceeded : Failure or None
        What ended the program before the check did, if anything. Set before `ProgramStopped` is
        raised.
    broken : SandboxError or None
        The reason why the jail failed, if it did.
    """

    def __init__(
        self,
        worker: Worker,
        limits: Limits,
        *,
        folder: str,
        stdin: bytes | None = None,
        separate: bool = False,
        network: bool = False,
    ) -> None:
        self.limits = limits
        self.seconds = 0.0
        self.cpu = 0.0
        self.exceeded: Failure | None = None
        self.broken: SandboxError | None = None
        self._worker = worker
        # Held during a measurement, so that the execution is not ended at the same time.
        self._lock = threading.RLock()
        self._ended = False
        self._ready = False
        self._callbacks = 0
        self._callback_seconds = 0.0
        self._callbacks_waited = 0.0
        # Time at which the check began to work on a callback, or None if it does not.
        self._callback_since: float | None = None
        self.on_stuck: Callable[[str], object] | None = None
        self._ready_at = self._stalled = self._granted = 0.0
        self._meter = _watch.Meter(worker.zygote, exact_above=limits.memory)
        self._channel, theirs = socketpair()
        self.output = _Output(limits.output)
        self.errors = _Output(limits.output) if separate else self.output
        self._input = memoryview(stdin or b"")
        self._input_end = -1
        if stdin:
            input_end, self._input_end = os.pipe()
            os.set_blocking(self._input_end, False)
        else:
            input_end = os.open(os.devnull, os.O_RDONLY)
        self._channel.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._channel, select.POLLIN)
        for stream in {self.output, self.errors}:
            self._poll.register(stream.read_end, select.POLLIN)
        if stdin:
            self._poll.register(self._input_end, select.POLLOUT)
        self._buffer = bytearray()
        self._paused: set[_Output] = set()
        self._resume_at = 0.0
        files = [theirs.fileno(), input_end, self.output.write_end, self.errors.write_end]
        try:
            self._name = worker.begin(limits, files, folder, network=network)
        except SandboxError:
            self._ended = True
            self.close()
            raise
        finally:
            theirs.close()
            os.close(input_end)
            for stream in {self.output, self.errors}:
                os.close(stream.write_end)

    def adopt(self, limits: Limits) -> bool:
        """Replace the limits before the program is loaded.

        Return False if the process is already bound to stricter limits. Only the times are enforced
        from outside and can still change.
        """
        times = replace(self.limits, wall=limits.wall, cpu=limits.cpu)
        if times != limits or int(self.limits.cpu) != int(limits.cpu):
            return False
        if any(events & ~select.POLLIN for _, events in self._poll.poll(0)):
            return False  # the process has died
        self.limits = limits
        return True

    def _await_ready(self) -> None:
        """Wait until the program can run. Messages sent earlier wait for it on the channel."""
        answer = self._receive(time.monotonic() + _READY_SECONDS, limited=False)
        self._ready = answer == READY
        if self._ready:
            self._ready_at = time.monotonic()
            self._stalled = _watch.stalled()
            self._meter = _watch.Meter(self._worker.zygote, exact_above=self.limits.memory)
            return
        reason = answer.decode(errors="replace") if answer else "no word"
        self.broken = SandboxError(f"the jail could not be set up for a program: {reason}")
        self.close()
        raise self.broken

    def send(self, message: bytes) -> None:
        """Send one message.

        If the program has ended, or does not read within its limits, `receive` raises the failure.
        """
        data = memoryview(len(message).to_bytes(_HEADER, "big") + message)
        if self._ended:
            return
        try:
            data = data[self._channel.send(data) :]
            if data:
                self._send_slowly(data)
        except BlockingIOError:
            self._send_slowly(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def _send_slowly(self, data: memoryview) -> None:
        """Send data in parts as the channel accepts it, and read the program's output meanwhile."""
        if not self._ready:
            self._await_ready()
        start = time.monotonic()
        deadline = start + self._left()
        self._poll.modify(self._channel, select.POLLIN | select.POLLOUT)
        try:
            while data:
                now = time.monotonic()
                if now >= deadline:
                    deadline += self._grant()
                    continue
                if not self._handle(self._wait(deadline - now)):
                    return
                if len(self._buffer) > 2 * wire.MAX_BYTES:
                    self._fail("resource", "the program sends a message without a request")
                with contextlib.suppress(BlockingIOError):
                    data = data[self._channel.send(data) :]
        except ProgramStopped:
            return  # kept in `exceeded`
        finally:
            self.seconds += time.monotonic() - start
            if not self._ended:
                self._poll.modify(self._channel, select.POLLIN)

    def receive(self) -> bytes:
        """Return the program's next message.

        Raises
        ------
        ProgramStopped
            If the program ended, used up its limits, or broke the protocol.
        """
        message = self.receive_to_end()
        if message is None:
            self.exceeded = self._explain_status(self._end())
            raise ProgramStopped(self.exceeded)
        return message

    def receive_to_end(self) -> bytes | None:
        """Return the program's next message, or None if it ended without one.

        Raises
        ------
        ProgramStopped
            If the program used up its limits, or broke the protocol.
        """
        if self._ended and self.exceeded is not None:
            raise ProgramStopped(self.exceeded)
        if not self._ready:
            self._await_ready()
        start = time.monotonic()
        in_callback = self._callback_since is not None
        self._count_waiting(resume=False)
        self._require_short_waiting()
        try:
            return self._receive(start + self._left(), limited=True)
        finally:
            self.seconds += time.monotonic() - start
            self._count_waiting(resume=in_callback)

    def returncode(self) -> int:
        """Return the exit status of a script, or the negative number of the signal that ended it.

        Raises
        ------
        ProgramStopped
            If the CPU limit ended the program.
        """
        status = self._end()
        if self.exceeded is not None or self._used_up():
            self.exceeded = self._explain_status(status)
            raise ProgramStopped(self.exceeded)
        return os.waitstatus_to_exitcode(status)

    def _receive(self, deadline: float, *, limited: bool) -> bytes | None:
        """Return the next message, or None if the program has closed the channel.

        `deadline` is a time of the monotonic clock in seconds. If `limited` is True, it is the
        program's time limit, which may be extended or raise an error. Else the result after the
        deadline is None.
        """
        while True:
            message = self._take_message()
            if message is not None:
                return message
            now = time.monotonic()
            if now >= deadline:
                if not limited:
                    return None
                deadline += self._grant()
                continue
            if not self._handle(self._wait(deadline - now)):
                return None

    def _wait(self, seconds: float) -> list[tuple[int, int]]:
        """Wait for events. A flooding stream has one only when its pause is over.

        `seconds` is the longest wait. The result is a list of descriptors with their events.
        """
        if self._paused:
            pause = self._resume_at - time.monotonic()
            if pause <= 0:
                for stream in self._paused:
                    self._poll.register(stream.read_end, select.POLLIN)
                self._paused.clear()
            else:
                seconds = min(seconds, pause)
        return self._poll.poll(seconds * 1000 + 1)

    def _handle(self, events: list[tuple[int, int]]) -> bool:
        """Handle the events of a poll. Return False if the program has closed the channel."""
        open_ = True
        for number, _ in events:
            if number == self._channel.fileno():
                try:
                    data = self._channel.recv(_CHUNK)
                except BlockingIOError:
                    continue
                except ConnectionResetError:
                    data = b""
                self._buffer += data
                open_ = bool(data)
            elif number == self._input_end:
                self._feed()
            else:
                stream = self.output if number == self.output.read_end else self.errors
                at_end = not stream.drain()
                if at_end or stream.floods:
                    self._poll.unregister(number)
                if stream.floods and not at_end:
                    self._paused.add(stream)
                    self._resume_at = time.monotonic() + _FLOOD_PAUSE_SECONDS
        return open_

    def _feed(self) -> None:
        try:
            self._input = self._input[os.write(self._input_end, self._input[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._input = memoryview(b"")
        if not self._input:
            self._close_input()

    def _close_input(self) -> None:
        if self._input_end >= 0:
            if not self._ended:
                self._poll.unregister(self._input_end)
            os.close(self._input_end)
            self._input_end = -1

    def _take_message(self) -> bytes | None:
        if len(self._buffer) < _HEADER:
            return None
        size = int.from_bytes(self._buffer[:_HEADER], "big")
        if size > wire.MAX_BYTES:
            self._fail("resource", f"an answer of {size} bytes is over the {wire.MAX_BYTES} kept")
        if len(self._buffer) < _HEADER + size:
            return None
        message = bytes(self._buffer[_HEADER : _HEADER + size])
        del self._buffer[: _HEADER + size]
        return message

    def _left(self) -> float:
        return self.limits.wall + self._granted - self.seconds

    def _grant(self) -> float:
        """Return the number of seconds to add to the wall-clock limit.

        A program must not fail because the machine was busy with other work. The seconds in which
        processes waited for a processor are therefore added. Seconds in which the program itself
        had a processor are not added.
        """
        elapsed = time.monotonic() - self._ready_at
        more = min(self._patience(), elapsed - self._meter.measure().cpu) - self._granted
        if more < _SHORTEST_GRANT_SECONDS:
            self._fail("timeout", f"no answer within {self.limits.wall:g} s")
        self._granted += more
        return more

    def _patience(self) -> float:
        """Return in how many seconds processes waited for a processor, up to a bound."""
        return min(_watch.stalled() - self._stalled, (_MOST_PATIENCE - 1) * self.limits.wall)

    @contextlib.contextmanager
    def callback(self) -> Iterator[None]:
        """Count a callback to the check and the time that it takes.

        Raises
        ------
        ProgramStopped
            After too many callbacks, or if they took too long in total. A callback that does not
            return is ended by `watch`, or by the kernel if it keeps a processor busy.
        """
        self._callbacks += 1
        if self._callbacks > MAX_CALLBACKS:
            self._fail("resource", f"the program called back more than {MAX_CALLBACKS:,} times")
        start = time.thread_time()
        is_outer = self._callback_since is None
        bound = _CALLBACK_FACTOR * self.limits.wall
        self._count_waiting(resume=True)
        try:
            with cpu_limited(bound) if is_outer and self.on_stuck else contextlib.nullcontext():
                yield
        finally:
            self._callback_seconds += time.thread_time() - start
            self._count_waiting(resume=not is_outer)
        if self._callback_seconds > self.limits.wall:
            self._fail("timeout", f"callbacks of the check took over {self.limits.wall:g} s")
        self._require_short_waiting()

    def _count_waiting(self, *, resume: bool) -> None:
        """Count the time since which the check has worked for the program, and start anew if so."""
        now = time.monotonic()
        if self._callback_since is not None:
            self._callbacks_waited += now - self._callback_since
        self._callback_since = now if resume else None

    def _require_short_waiting(self) -> None:
        """End the program if callbacks took too long: many may wait for a moment each."""
        bound = _CALLBACK_FACTOR * self.limits.wall
        if self._callbacks_waited > bound + self._patience():
            self._fail("timeout", f"callbacks of the check took over {bound:g} s")

    def watch(self) -> float:
        """Kill the program if it exceeds its limit on CPU time or memory. Called by a thread.

        If the check waits in a callback and does not return, ``on_stuck`` is called with one line,
        and may end the process. Python cannot interrupt a thread.

        Returns
        -------
        float
            CPU seconds that are left to the program.
        """
        since, allowed = self._callback_since, _CALLBACK_FACTOR * self.limits.wall
        if self.on_stuck and since is not None and time.monotonic() > since + allowed:
            self.on_stuck(f"an object of the check did not answer the program within {allowed:g} s")
        with self._lock:
            if self._ended or not self._ready or self.exceeded is not None:
                return self.limits.cpu
            used = self._meter.measure()
            if used.memory > self.limits.memory:
                mib = self.limits.memory / 2**20
                self.exceeded = Failure(
                    cause="resource", detail=f"the program's processes use over {mib:.0f} MiB"
                )
            elif used.cpu >= self.limits.cpu:
                self.exceeded = self._over_cpu()
            if self.exceeded is not None:
                # The checker notices the closed channel at its next read.
                _watch.kill_descendants(self._worker.zygote)
            return self.limits.cpu - used.cpu

    def _over_cpu(self) -> Failure:
        return Failure(cause="timeout", detail=f"over {self.limits.cpu:g} s of CPU time")

    def _fail(self, cause: Cause, detail: str) -> NoReturn:
        self.exceeded = self.exceeded or Failure(cause=cause, detail=detail)
        self._end()
        raise ProgramStopped(self.exceeded)

    def _used_up(self) -> bool:
        return self.cpu >= self.limits.cpu

    def _explain_status(self, status: int) -> Failure:
        if self.exceeded is not None:
            return self.exceeded
        if self._used_up():
            return self._over_cpu()
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
            return Failure(cause="exception", detail=f"the program's process died of {name}")
        code = os.WEXITSTATUS(status)
        return Failure(cause="exception", detail=f"the program ended its process (status {code})")

    def _end(self) -> int:
        """End the program and all its processes. Return its wait status."""
        with self._lock:
            if self._ended:
                raise SandboxError("the execution is over")
            self._ended = True
            try:
                ending = self._worker.end(self._name)
            except SandboxError as error:
                self.broken = error
                raise
            finally:
                self.drain_output()
            self.cpu = ending["cpu"]
            return int(ending["status"])

    def drain_output(self) -> None:
        """Read the output that the program has written so far."""
        for stream in {self.output, self.errors}:
            while stream.read_end >= 0 and not stream.floods and _has_data(stream.read_end):
                if not stream.drain():
                    break

    def close(self) -> None:
        """End the execution if it has not ended, and close every descriptor."""
        try:
            if not self._ended:
                self._end()
        finally:
            self._channel.close()
            self._close_input()
            for stream in {self.output, self.errors}:
                if stream.read_end >= 0:
                    os.close(stream.read_end)
                    stream.read_end = -1


def _has_data(number: int) -> bool:
    return bool(select.select([number], [], [], 0)[0])
