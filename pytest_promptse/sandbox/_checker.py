"""Disposable processes in which checks run, forked from the process that has set up the fixtures.

What a program does to an object of the check ends with such a process, and a check that hangs,
crashes or takes all memory costs one verdict. `docs/explanation/sandbox.md` gives the reasons.
"""

from __future__ import annotations

import sys
import tempfile
from _socket import socket, socketpair
from os import kill, killpg, listdir
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import TYPE_CHECKING, Final, NoReturn
from warnings import catch_warnings, simplefilter

from pytest_promptse._redaction import shown
from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox import _watch
from pytest_promptse.sandbox._limits import check_seconds
from pytest_promptse.sandbox._surroundings import note_temporary_folder
from pytest_promptse.sandbox.guest import guest, landlock
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    contextlib,
    ctypes,
    faulthandler,
    fcntl,
    gc,
    os,
    resource,
    select,
    shutil,
    signal,
    stat,
    time,
    traceback,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from pytest_promptse.sandbox._limits import Limits
    from pytest_promptse.sandbox._pool import SandboxPool

_MEMORY = 2**30
"""Bytes of address space that a checker may have in addition to those of its parent."""

_PREFIX = "promptse-check-"
_LOCK_SECONDS = 60.0
"""A new folder may have no lock yet for less than these seconds."""

_REPLY_BYTES = 64 * 2**20
_PATIENCE = 6
_TICK_MS = 100

_HEADER = 5
_REPLY, _PROGRAM_STARTED, _STUCK = b"=", b"+", b"!"
_PR_SET_PDEATHSIG = 1
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_REPLACED_KINDS = (stat.S_IFSOCK, stat.S_IFIFO, 0)


class CheckerLost(Exception):  # noqa: N818 - its cause is what matters
    """The checker died or took too long. ``cause`` is ``timeout`` or ``resource``.

    ``doubtful`` is True if the machine may have been busy with other work.
    """

    def __init__(self, cause: str, detail: str, *, doubtful: bool) -> None:
        super().__init__(detail)
        self.cause = cause
        self.doubtful = doubtful


class Checker:
    """A forked process that answers requests, one after another, until it is closed.

    The process leads a session of its own, has no standard input, and may write only to its
    folders. The calling thread blocks while a request is answered.

    Parameters
    ----------
    work
        Called in the forked process with a request; returns the reply. It must not touch the
        store, an event loop of another thread, or the terminal.
    pool
        The sandbox whose programs the requests run.
    ahead
        True if more than one request will follow, so that preparing for the next one pays.
    writable
        Folders that the process may write to, besides a temporary folder of its own.
    needed
        Descriptors of sockets and pipes that the process needs, or None for all. Others belong to
        threads of the parent, whose peers would wait for the process to close them.

    Raises
    ------
    SandboxError
        If this system cannot fork, or the jail does not start.
    """

    def __init__(
        self,
        work: Callable[[bytes], bytes],
        *,
        pool: SandboxPool,
        ahead: bool = False,
        writable: Iterable[str] = (),
        needed: Container[int] | None = None,
    ) -> None:
        if not hasattr(os, "fork"):
            raise SandboxError("a check runs in a forked process, and this system cannot fork")
        sockets = pool.prepare_fork()
        self._is_idle = True
        self._pool = pool
        self._programs = 0
        self._buffer = bytearray()
        self._folder = mkdtemp(prefix=_PREFIX)
        self._lock = os.open(self._folder, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._socket, theirs = socketpair()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        with catch_warnings():
            # Python warns of other threads; docs/explanation/sandbox.md says why they do no harm.
            simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                self._socket.close()
                keep = {theirs.fileno(), *sockets}
                _enter(parent, keep, needed)
                pool.enter_fork(
                    lambda limits: _tell_of_start(theirs, limits),
                    lambda detail: _send(theirs, _STUCK, detail.encode()),
                    ahead=ahead,
                )
                tempfile.tempdir = os.environ["TMPDIR"] = self._folder
                note_temporary_folder(self._folder)
                _escape_output()
                if landlock.version():
                    landlock.restrict(
                        landlock.writes_only_below([self._folder, *writable, *_DEVICES])
                    )
                _serve(theirs, work)
                status = 0
            except BaseException:  # noqa: BLE001 - the process ends here; its parent sees the status
                traceback.print_exc()
            finally:
                os._exit(status)
        theirs.close()
        self._socket.setblocking(False)

    def ask(self, request: bytes, *, limits: Limits) -> bytes:
        """Return the reply to a request.

        Parameters
        ----------
        request
            Bytes for the function that works in the process.
        limits
            The limits of the program. The check itself may take ten times the program's seconds,
            and no less than 20 s.

        Raises
        ------
        CheckerLost
            If the process dies or takes too long. It has ended then.
        """
        self._programs += 1
        self._is_idle = False
        allowed = check_seconds(limits)
        deadline = time.monotonic() + allowed
        # If it has died, that is seen below. What it forked may hold the socket and never read.
        with contextlib.suppress(OSError):
            self._socket.settimeout(allowed)
            self._socket.sendall(len(request).to_bytes(_HEADER - 1, "big") + request)
        self._socket.setblocking(False)
        while True:
            kind, body = self._next_message(deadline, allowed)
            if kind == _REPLY:
                self._is_idle = True
                return body
            if kind == _STUCK:
                self._lose("timeout", body.decode(), doubtful=True)
            deadline += int.from_bytes(body, "big") / 1000

    def _next_message(self, deadline: float, allowed: float) -> tuple[bytes, bytes]:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            size = int.from_bytes(self._buffer[1:_HEADER], "big")
            if size > _REPLY_BYTES:
                self._lose("resource", f"the check returned over {_REPLY_BYTES // 2**20} MiB")
            if len(self._buffer) >= _HEADER + size:
                kind, body = bytes(self._buffer[:1]), bytes(self._buffer[_HEADER : _HEADER + size])
                del self._buffer[: _HEADER + size]
                return kind, body
            if time.monotonic() >= deadline:
                self._lose("timeout", f"the check itself took over {allowed:g} s", doubtful=True)
            # Processes that the check started may hold the socket open, so its end is no sign of
            # the checker's death.
            events = poll.poll(_TICK_MS)
            with contextlib.suppress(OSError):
                data = self._socket.recv(1 << 20) if events else b""
                self._buffer += data
                if data:
                    continue
            ended, status = os.waitpid(self._pid, os.WNOHANG)
            if ended:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    killpg(self._pid, signal.SIGKILL)
                self._pid = 0
                if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
                    self._lose(
                        "timeout", "the check itself, or an object of it, took too much CPU time"
                    )
                self._lose("resource", f"the check's process {_death(status)}")

    def _lose(self, cause: str, detail: str, *, doubtful: bool = False) -> NoReturn:
        self.close()
        raise CheckerLost(cause, detail, doubtful=doubtful)

    def close(self) -> None:
        """Kill the process and all that it and its program have started. It may be called twice."""
        if self._socket.fileno() < 0:
            return
        self._socket.close()
        if self._pid:
            _watch.kill_descendants(self._pid)
            for end in (killpg, kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    end(self._pid, signal.SIGKILL)
        # Waiting here would let each program wait for the kernel to free the memory.
        self._pool.end_fork(self._bury, programs=self._programs, is_idle=self._is_idle)

    def _bury(self, *, wait: bool) -> bool:
        """Remove what is left of the process. Return False if the kernel has not ended it yet."""
        if self._pid and os.waitpid(self._pid, 0 if wait else os.WNOHANG)[0] == 0:
            return False
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)
        return True


def remove_abandoned_folders() -> None:
    """Remove the temporary folders of sessions that were killed.

    A session locks its folders, and the kernel releases the locks of a process that ends.
    """
    for folder in Path(gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # it belongs to somebody else, is locked, or is gone
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                state = os.fstat(lock)
                if state.st_uid == os.getuid() and time.time() - state.st_mtime > _LOCK_SECONDS:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _death(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def _enter(parent: int, keep: Container[int], needed: Container[int] | None) -> None:
    """Separate a forked process from its parent, whose process id is `parent`."""
    gc.freeze()  # the objects of the parent are not examined again, so their pages stay shared
    os.setsid()
    signal.set_wakeup_fd(-1)
    for event in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(event, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.PyDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    faulthandler.disable()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    _separate_positions()
    if needed is not None:
        for number in open_descriptors():
            if number > 2 and number not in keep and number not in needed:  # noqa: PLR2004
                with contextlib.suppress(OSError):
                    if stat.S_IFMT(os.fstat(number).st_mode) in _REPLACED_KINDS:
                        os.dup2(null, number, inheritable=False)
    os.close(null)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):  # elsewhere than on Linux; a lower hard limit
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[0])
        bound = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


def _escape_output() -> None:
    """Escape what is printed past pytest's capture, such as with ``-s``: it may be a program's."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.write = _escaping(stream.write, stream.flush)  # type: ignore[method-assign]


def _escaping(write: Callable[[str], int], flush: Callable[[], None]) -> Callable[[str], int]:
    def write_escaped(text: str) -> int:
        written = write(shown(text))
        flush()  # before pytest captures again
        return written

    return write_escaped


def open_descriptors() -> set[int]:
    """Return the numbers of all open descriptors of this process."""
    return {int(name) for name in listdir("/dev/fd")}  # noqa: PTH208 - a hot path


def _separate_positions() -> None:
    """Give this process positions of its own in the files that are open for reading alone.

    A forked process shares them with its parent, whose other threads read meanwhile. A file that
    cannot be opened again keeps its shared position.
    """
    for number in open_descriptors():
        with contextlib.suppress(OSError):
            is_file = stat.S_ISREG(os.fstat(number).st_mode)
            if is_file and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                position = os.lseek(number, 0, os.SEEK_CUR)
                opened = os.open(f"/dev/fd/{number}", os.O_RDONLY)
                os.lseek(opened, position, os.SEEK_SET)
                os.dup2(opened, number, inheritable=os.get_inheritable(number))
                os.close(opened)


def _serve(channel: socket, work: Callable[[bytes], bytes]) -> None:
    this: Final = os.getpid()
    while True:
        try:
            request = guest.receive(channel.fileno())
        except SystemExit:  # the parent has closed the socket
            return
        reply = work(request)
        if os.getpid() != this:  # a process that the check forked and did not end
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        _send(channel, _REPLY, reply)


def _tell_of_start(channel: socket, limits: Limits) -> None:
    milliseconds = int(_PATIENCE * limits.wall * 1000)
    _send(channel, _PROGRAM_STARTED, milliseconds.to_bytes(8, "big"))


def _send(channel: socket, kind: bytes, body: bytes) -> None:
    channel.sendall(kind + len(body).to_bytes(_HEADER - 1, "big") + body)
