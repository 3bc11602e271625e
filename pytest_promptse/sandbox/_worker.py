"""A worker: one jail with a warm interpreter, which forks a process for each program.

A worker whose interpreter does not answer is restarted.
"""

from __future__ import annotations

from dataclasses import asdict
from os import kill, urandom
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Literal

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox import _bootstrap, _watch
from pytest_promptse.sandbox._bubblewrap import ENVIRONMENT
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    contextlib,
    json,
    os,
    signal,
    socket,
    subprocess,
)
from pytest_promptse.sandbox.guest.wire import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.sandbox._confined import Confinement
    from pytest_promptse.sandbox._limits import Limits
    from pytest_promptse.sandbox._seccomp import Filters

Isolation = Literal["namespaces", "landlock", "user", "none"]

_START_SECONDS = 60.0
_ANSWER_SECONDS = 60.0
_LAST_SECONDS = 5.0
_OWN_PROCESSES = 4
_CHUNK = 32768
# `json.loads` calls built-ins, which a check may have patched.
_parse = json.JSONDecoder().raw_decode
# Modules that half of the programs import. Loading them once saves each program milliseconds.
WARM_MODULES = sorted(
    words(
        "typing collections collections.abc re math itertools functools heapq bisect string random"
        " dataclasses enum copy operator datetime decimal fractions json abc contextlib time"
        " numbers threading"
    )
)


class Worker:
    """A zygote and the control socket to it. One thread at a time may use it.

    Parameters
    ----------
    command : callable
        Returns the command line that starts the zygote.
    isolation : {"namespaces", "landlock", "user", "none"}
        How the zygote isolates each program: in its own namespaces, by Landlock, as another user,
        or not at all.
    filters : Filters
        The system-call filters.
    packages : str
        Folder of the packages that programs may import.
    spawn : callable, optional
        Runs a function in a thread that outlives the worker, for a jail that ends when the thread
        that started it ends (``PR_SET_PDEATHSIG``).
    confinement : Confinement, optional
        Folder and rules of programs under Landlock.
    temporary : tuple of str
        Folders at which a program's own ``/tmp`` appears too, in namespaces.
    """

    def __init__(
        self,
        *,
        command: Callable[[], Sequence[str]],
        isolation: Isolation,
        filters: Filters,
        packages: str = "",
        spawn: Callable[[Callable[[], None]], None] = lambda function: function(),
        confinement: Confinement | None = None,
        temporary: tuple[str, ...] = (),
    ) -> None:
        self._command = command
        self._spawn = spawn
        self._config = {
            "isolation": isolation,
            "filters": {name: code.hex() for name, code in asdict(filters).items()},
            "warm": WARM_MODULES,
            "packages": packages,
            "temporary": temporary,
            "folder": confinement.folder if confinement else "",
            "rules": confinement.rules if confinement else (),
        }
        # The kernel counts all processes of a user. A user of the programs' own has few others.
        self._limits_processes = isolation != "none"
        self._is_of_this_user = confinement is not None and confinement.uid is None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._can_start = True
        self.python = ""
        self.zygote = 0

    def start(self) -> None:
        """Start the zygote if it is not running, or has died.

        Raises
        ------
        SandboxError
            If it does not start. The message ends with the last line that the command printed.
        """
        if self._can_start and self._process is not None and self._process.poll() is not None:
            self.stop()
        if self._process is None:
            if not self._can_start:
                raise SandboxError("the jail died")
            self._spawn(self._start)

    @property
    def descriptor(self) -> int:
        """The number of the control socket of a worker that has been started."""
        return -1 if self._control is None else self._control.fileno()

    def forbid_start(self) -> None:
        """Raise SandboxError from now on where the zygote would have to be started.

        A forked process uses the zygote of its parent and cannot replace it.
        """
        self._can_start = False

    def reset(self, *, wait: bool) -> None:
        """End all executions, those that a forked process has begun and not ended included.

        With `wait`, answers to a process that has died are removed, and a zygote that does not
        answer is stopped, so that the next use starts another one. Otherwise there is no answer:
        those that nobody reads would fill the socket and stop the zygote.
        """
        if self._control is None:
            return
        token = urandom(8).hex() if wait else ""
        try:
            self._control.send(json.dumps({"do": "reset", "token": token}).encode())
            answer = self._control.recv(_CHUNK) if wait else b"{}"
            while wait and answer and _parse(answer.decode())[0].get("token") != token:
                answer = self._control.recv(_CHUNK)
        except OSError:
            answer = b""
        if not answer:
            self.stop()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, TemporaryFile() as output:
            process = subprocess.Popen(
                [*self._command()],
                stdin=theirs.fileno(),
                stdout=output,
                stderr=output,
                cwd="/",
                env=ENVIRONMENT,
            )
            theirs.close()
            ours.settimeout(_START_SECONDS)
            try:
                text = _bootstrap.modules()
                ours.send(len(text).to_bytes(8, "big"))
                for start in range(0, len(text), _CHUNK):
                    ours.send(text[start : start + _CHUNK])
                ours.send(json.dumps(self._config).encode())
                answer = ours.recv(_CHUNK)
            except OSError:
                answer = b""
            if not answer:
                process.kill()
                process.wait()
                ours.close()
                output.seek(0)
                lines = output.read().decode(errors="replace").strip().splitlines()
                raise SandboxError(f"the jail does not start: {lines[-1] if lines else 'no word'}")
        self.python = json.loads(answer)["python"]
        ours.settimeout(_ANSWER_SECONDS)
        self._process, self._control = process, ours
        # The jail's first process if there is a jail, else the command itself.
        self.zygote = _watch.descendants(process.pid)[-1]

    def begin(self, limits: Limits, files: Sequence[int], folder: str, *, network: bool) -> str:
        """Fork a process for a program, with `files`: channel, standard input, output and error.

        With `network`, the program has a network of its own (see `Execution`).

        Returns
        -------
        str
            The name of the execution, for `end`. It is no number, which would tell the program of
            earlier ones.
        """
        execution = urandom(8).hex()
        order = {
            "do": "start",
            "execution": execution,
            "file_size": limits.file_size,
            "folder": folder,
            "network": network,
            "limits": self._rlimits(limits),
        }
        message = json.dumps(order).encode()
        for last in (False, True):
            self.start()
            if self._control is None:
                raise SandboxError("the jail ended while it was started")
            try:
                socket.send_fds(self._control, [message], files)
            except OSError as error:
                self.stop()
                if last:
                    raise SandboxError(f"the jail died twice in a row: {error}") from None
            else:
                break
        return execution

    def _rlimits(self, limits: Limits) -> dict[str, int]:
        bounds = {
            "RLIMIT_CPU": int(limits.cpu) + 2,
            "RLIMIT_AS": (limits.address_space or limits.memory) + 64 * 2**20,
            "RLIMIT_FSIZE": limits.file_size,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_STACK": 64 * 2**20,
            "RLIMIT_CORE": 0,
        }
        if self._limits_processes:
            # Without namespaces, the limit also counts the user's other processes. These are the
            # warm interpreter and sometimes a process of the prefork pool.
            bounds["RLIMIT_NPROC"] = limits.processes + _OWN_PROCESSES
            if self._is_of_this_user:
                bounds["RLIMIT_NPROC"] += _user_tasks()
        return bounds

    def end(self, execution: str) -> dict[str, Any]:
        """Kill the program and all its processes. Return its wait status and CPU seconds.

        Raises
        ------
        SandboxError
            If the jail does not answer, so that it was restarted, or if it did not start the
            program.
        """
        if self._control is None:
            raise SandboxError("the jail is gone")
        try:
            self._control.send(json.dumps({"do": "end", "execution": execution}).encode())
            answer = self._control.recv(_CHUNK)
        except OSError:
            answer = b""
        if not answer:
            self.stop()
            raise SandboxError("the jail does not answer; it has been replaced")
        ending: dict[str, Any] = _parse(answer.decode())[0]
        if "error" in ending:
            self.stop()
            raise SandboxError(f"the jail could not start a program: {ending['error']}")
        return ending

    def stop(self) -> None:
        """Kill the zygote and everything in its jail."""
        control, self._control = self._control, None
        process, self._process = self._process, None
        if control is not None:
            control.close()
        if process is not None and process.returncode is None:
            if self._config["isolation"] != "namespaces":
                # Killing the zygote does not kill its children. It ends them when its socket ends.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_LAST_SECONDS)
            with contextlib.suppress(ProcessLookupError):
                kill(process.pid, signal.SIGKILL)
            process.wait()


def _user_tasks() -> int:
    """Return the number of threads that this user has."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.geteuid():
                count += sum(1 for _ in (process / "task").iterdir())
    return count
