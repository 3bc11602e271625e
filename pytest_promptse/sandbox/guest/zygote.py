"""The warm interpreter of one worker inside the jail. It forks one process per program.

The zygote receives commands from the checker on a socket that no program can access. It runs no
code of any program itself. Every program is the first process of its own pid namespace, so killing
it kills all its processes. It also has its own empty ``/tmp``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest import guest, kernel, landlock
from pytest_promptse.sandbox.guest.encode import encode
from pytest_promptse.sandbox.guest.folders import remove_contents
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    contextlib,
    gc,
    importlib,
    json,
    os,
    random,
    signal,
    socket,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


READY = b"+"
_ORDER_BYTES = 65536
_FILES = 4
_CHANNEL = 3
"""The channel's descriptor in a program's process, after those of the standard streams."""

_NOBODY = 65534
_REHEARSALS = 12
_REHEARSAL = "def inverse(values):\n    return [1 / value for value in values]\n"


def serve(control: socket.socket) -> guest.Guest:
    """Execute the checker's commands until it closes the socket.

    In the process of a program, return its guest. So no frame below those of the program has what
    the warm interpreter knows.
    """
    config = json.loads(control.recv(_ORDER_BYTES))
    sys.path += [config["packages"]]
    for name in config["warm"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    zygote = _Zygote(control, config)
    kernel.SystemCallFilter(bytes.fromhex(config["filters"]["jail"])).apply()
    guest.open_streams()
    _rehearse()
    zygote.guest = guest.Guest(_CHANNEL)
    _forget_ourselves()
    gc.collect()
    # Existing objects are not examined again by the garbage collector, so children need not copy
    # their pages.
    gc.freeze()
    control.send(json.dumps({"ready": True, "python": sys.version.split()[0]}).encode())
    while True:
        data, files, _, _ = socket.recv_fds(control, _ORDER_BYTES, _FILES)
        if not data:
            # Without a namespace of their own, processes of programs would live on.
            zygote.end_all()
            os._exit(0)
        order = _read_order(data)
        answer: dict[str, Any] = {}
        match order:
            case {
                "do": "start", "execution": str(), "file_size": int(), "folder": str(),
                "network": bool(), "limits": dict(),
            } if len(files) == _FILES:  # fmt: skip
                if zygote.start(order, files):
                    return zygote.guest
            case {"do": "reset", "token": token}:
                zygote.end_all()
                answer = {"token": token} if token else {}
            case {"do": "end", "execution": str(execution)}:
                answer = zygote.end(execution)
            case _:
                answer = {"error": "an order is malformed"}
        if answer:
            control.send(json.dumps(answer).encode())


def _read_order(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _rehearse() -> None:
    """Run sample programs, so that no child has to warm up the same code again.

    The interpreter rewrites code that runs often. A child that does so copies the code's pages.
    """
    for _ in range(_REHEARSALS):
        ours, theirs = socket.socketpair()
        messages = [encode(["load", text, "inverse"]) for text in ("(", _REHEARSAL)]
        messages += 3 * [encode(["call", None, ((1, 2.5),), {}, False])]
        messages += 3 * [encode(["call", None, ([1, 2.5],), {}, True])]
        messages += 2 * [encode(["call", None, ([0],), {}, True])]
        with ours, theirs:
            for message in messages:
                guest.send(ours.fileno(), message)
            ours.shutdown(socket.SHUT_WR)
            with contextlib.suppress(SystemExit):
                guest.Guest(theirs.fileno()).serve()
    del sys.modules[guest.MODULE]


def _forget_ourselves() -> None:
    """Remove this package's modules from those that a program can import."""
    for name in list(sys.modules):
        if name.partition(".")[0] == "pytest_promptse":
            del sys.modules[name]


class _Zygote:
    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self.control = control
        self.isolation: str = config["isolation"]
        namespaces = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS
        self.namespaces = namespaces if self.isolation == "namespaces" else 0
        self.filters = {
            network: kernel.SystemCallFilter(bytes.fromhex(config["filters"][name]))
            for network, name in ((False, "offline"), (True, "program"))
        }
        # Every child continues with its copy of this one, since each page that a child writes to
        # for a guest of its own would have to be copied.
        self.guest: guest.Guest
        self.children: dict[str, int] = {}
        self.errors: dict[str, str] = {}
        self.folder: str = config["folder"]
        self.temporary = [path.encode() for path in config["temporary"]]
        self.ruleset = -1
        self.kills_all = False
        if self.isolation == "landlock":
            self.kills_all = landlock.confine_signals()
            self.ruleset = landlock.nothing_but(config["rules"])
            os.environ.update(HOME=self.folder, TMPDIR=self.folder)
        if self.isolation != "namespaces" and sys.platform == "linux":
            kernel.adopt_orphans()

    def start(self, order: dict[str, Any], files: list[int]) -> bool:
        """Fork a process for a program. Return True in that process, and False in this one."""
        # Everything possible is computed before the fork, since the kernel copies each page that a
        # child writes to.
        bounds = kernel.resource_bounds(order["limits"])
        folder: str = self.folder or order["folder"]
        private = f"size={order['file_size']},mode=1777,nr_inodes=16k".encode()
        highest = max(self.control.fileno(), *files)
        namespaces = self.namespaces
        network: bool = order["network"]
        if namespaces and network:
            # Ports that an earlier program used would still be taken.
            namespaces |= kernel.CLONE_NEWNET
        try:
            child = kernel.fork(namespaces)
        except OSError as error:
            self.errors[order["execution"]] = str(error)
        else:
            if child == 0:
                self.become_program(files, highest, folder, private, bounds, network=network)
                return True
            self.children[order["execution"]] = child
        for number in files:
            os.close(number)
        return False

    def end_all(self) -> None:
        """End all programs, such as those of a checker that died."""
        for execution in list(self.children):
            self.end(execution)
        self.errors.clear()

    def end(self, execution: str) -> dict[str, Any]:
        """Kill the program and all its processes. Return its exit status and resource usage."""
        child = self.children.pop(execution, None)
        if child is None:
            return {
                "execution": execution,
                "error": self.errors.pop(execution, "there is no such execution"),
            }
        if self.isolation != "namespaces":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            if self.kills_all and not self.children:
                # At once, since processes that fork faster than they are found would escape.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        if self.isolation != "namespaces":
            _kill_orphans(self.children.values())
        if self.isolation == "user":
            remove_contents("/tmp", "/dev/shm")  # noqa: S108 - the container's own
        elif self.isolation == "landlock":
            remove_contents(self.folder)
        return {"execution": execution, "status": status, "cpu": usage.ru_utime + usage.ru_stime}

    def become_program(
        self,
        files: list[int],
        highest: int,
        folder: str,
        private: bytes,
        bounds: list[tuple[int, tuple[int, int]]],
        *,
        network: bool,
    ) -> None:
        channel, *streams = files
        try:
            if self.isolation == "landlock":
                landlock.restrict(self.ruleset)
                # With it, a program could add rules for the programs after it.
                os.close(self.ruleset)
            # Input, output, errors and channel get the lowest numbers. All other descriptors are
            # closed.
            for number, file in enumerate((*streams, channel)):
                os.dup2(file, number)
            channel = _CHANNEL
            os.closerange(channel + 1, highest + 1)
            os.setsid()
            if self.isolation == "namespaces":
                kernel.mount_tmpfs(b"/tmp", private)
                for path in self.temporary:
                    kernel.show_at(b"/tmp", path)
            if network and self.namespaces:
                kernel.start_loopback()
            os.chdir(folder)
            kernel.limit_resources(bounds)
            if self.isolation == "user":
                os.setgroups([])
                os.setresgid(_NOBODY, _NOBODY, _NOBODY)
                os.setresuid(_NOBODY, _NOBODY, _NOBODY)
            if self.isolation != "none":
                kernel.drop_capabilities()
            self.filters[network].apply()
            random.seed()
            gc.enable()
        except OSError as error:
            guest.send(channel, str(error).encode())
            os._exit(1)
        guest.send(channel, READY)


def _kill_orphans(keep: Iterable[int]) -> None:
    """Kill processes that a program left in other process groups, except those in `keep`."""
    listing: Path | str = f"/proc/self/task/{os.getpid()}/children"
    for _ in range(100):
        try:
            with open(listing) as file:
                children = {int(number) for number in file.read().split()} - {*keep}
        except FileNotFoundError:
            return
        if not children:
            return
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
