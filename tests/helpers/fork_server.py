"""Start Python programs quickly, as forks of a process with the most common imports.

Most of the time of a nested pytest run is spent on importing pytest, numpy, scipy and similar
packages. The fork server imports them once, when the first program is requested. For each program
it forks a child. The child takes over the program's arguments, folder, environment and standard
streams, and runs the program as the interpreter would. It shares no state with other programs. It
ends as an interpreter ends, except that it does not tear down its modules.

The server has one thread. It ends when the process that started it has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib.util
import io
import json
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from fork_client import SIZE, receive, receive_number, request, send_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Modules that a run of the plugin or the command line imports, besides pytest and its plugins.
PRELOADED = (
    *("http.client", "pyseccomp", "snowballstemmer", "sqlite3", "unittest.mock"),
    *("urllib.request", "xml.etree.ElementTree"),
    *("pytest_promptse.cli._main", "pytest_promptse.config._settings"),
    *("pytest_promptse.compare._history", "pytest_promptse.record._ranking"),
    *("pytest_promptse.models._reference", "pytest_promptse.models._replay"),
    *("pytest_promptse.plugin._collection", "pytest_promptse.plugin._instruments"),
    *("pytest_promptse.plugin._preflight", "pytest_promptse.plugin._session"),
    "pytest_promptse.psychometrics.csi._suite",
    *("pytest_promptse.reports._github", "pytest_promptse.reports._latex"),
    *("pytest_promptse.reports.html._html", "pytest_promptse.reports.terminal._comparison"),
    *("pytest_promptse.reports.terminal._summary", "pytest_promptse.run._gates"),
    *("pytest_promptse.run._outlook", "pytest_promptse.run._record_builder"),
    *("pytest_promptse.variants._audit", "scipy.integrate", "scipy.stats"),
)
# Modules from libraries that some test environments lack.
PRELOADED_IF_INSTALLED = {
    "coverage": ("coverage",),
    "httpcore2": ("httpcore2",),
    "jinja2": ("jinja2.sandbox", "pytest_promptse.tasks._jinja"),
    "matplotlib": (
        *("pytest_promptse.reports.html._figures", "pytest_promptse.reports.html._block_plots"),
    ),
    "openai": ("pytest_promptse.models._openai",),
    "xdist": ("pytest_promptse.plugin._xdist", "xdist.dsession", "xdist.remote"),
}


class ForkedProgram:
    """A program that the fork server has started.

    It has those methods of :class:`subprocess.Popen` that pytester uses.
    """

    stdin = None

    def __init__(self, connection: socket.socket, command: Sequence[str]) -> None:
        self._connection = connection
        self._command = command
        self.pid = receive_number(connection)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, or the negative number of the signal that ended the program.

        Raises
        ------
        subprocess.TimeoutExpired
            If the program still runs after `timeout` seconds.
        """
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = receive_number(self._connection)
            except TimeoutError:
                raise subprocess.TimeoutExpired(self._command, timeout or 0.0) from None
            self._connection.close()
        return self.returncode

    def kill(self) -> None:
        """End the program at once."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, 9)


class ForkServer:
    """Client of the fork server that listens at an address, the path of a socket."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._env = dict(os.environ)

    def can_run(self, command: Sequence[str], env: dict[str, str]) -> bool:
        """Return whether a forked child runs `command` as a new interpreter would.

        A child has the interpreter settings with which this object was made.
        """
        same = interpreter_settings(env) == interpreter_settings(self._env)
        return same and is_python(command)

    def start(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        env: dict[str, str],
        streams: tuple[int, int, int],
    ) -> ForkedProgram:
        """Start a program.

        Parameters
        ----------
        command
            ``python -m module …``, ``python -c code …``, ``python file …`` or a Python script with
            its arguments.
        cwd, env
            Working folder and complete environment of the program.
        streams
            File descriptors for standard input, output and error.
        """
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        request(connection, command, cwd=cwd, env=env, streams=streams)
        return ForkedProgram(connection, command)

    def run(
        self, command: Sequence[str], *, cwd: str, env: dict[str, str], timeout: float = 240
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end and return its output."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            with Path(os.devnull).open("rb") as nothing:
                streams = (nothing.fileno(), out.fileno(), error.fileno())
                program = self.start(command, cwd=cwd, env=env, streams=streams)
            try:
                status = program.wait(timeout)
            except BaseException:
                program.kill()
                raise
            texts = []
            for file in (out, error):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(command, status, *texts)

    def write_command(self, folder: Path, name: str) -> None:
        """Write a shell command into `folder` that forks the installed script `name`."""
        installed = str(Path(sys.executable).with_name(name))
        file = folder / name
        file.write_text(
            # Without site-packages, since it imports only the standard library.
            f"#!{sys.executable} -IS\n"
            f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "from fork_client import run\n"
            f"run({self._address!r}, [{installed!r}, *sys.argv[1:]])\n"
        )
        file.chmod(0o755)


@contextlib.contextmanager
def running_server(env: Mapping[str, str]) -> Iterator[str]:
    """Run a fork server, and return its address.

    Parameters
    ----------
    env
        The environment in which the server imports; programs have environments of their own.
    """
    env = {name: value for name, value in env.items() if name not in _NOT_THE_SERVERS}
    # A process with more threads cannot be forked safely.
    env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="forks-") as folder:
        address = str(Path(folder, "socket"))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(address)
            listening.listen()
            descriptor = listening.fileno()
            process = subprocess.Popen(
                (sys.executable, __file__, str(descriptor)),
                env=env,
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(descriptor,),
            )
        with process:
            yield address


# Coverage starts in each child, with the child's environment.
_NOT_THE_SERVERS = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START", "PYTHONPATH")


def is_python(command: Sequence[str]) -> bool:
    """Return whether a command runs this interpreter without interpreter options."""
    if command[0] == sys.executable:
        return len(command) > 1 and (
            not command[1].startswith("-") or command[1][:2] in ("-m", "-c")
        )
    script = Path(command[0])
    if script.parent != Path(sys.executable).parent or not script.is_file():
        return False
    with script.open("rb") as file:
        return file.readline(2000).startswith(b"#!" + os.fsencode(script.parent) + b"/python")


def interpreter_settings(env: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that an interpreter reads when it starts, except its path."""
    return {
        name: value
        for name, value in env.items()
        if name.startswith(("PYTHON", "LC_", "LANG")) and name != "PYTHONPATH"
    }


def serve(descriptor: int) -> None:
    """Fork a child for every request to a listening socket until standard input ends."""
    ready, _, _ = select.select([sys.stdin, descriptor], [], [])
    if sys.stdin in ready:
        return
    # A shell starts what runs in its background with SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _preload()
    with socket.socket(fileno=descriptor) as listening, selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        selector.register(listening, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    return
                if key.fileobj is not listening:
                    _report_the_end(selector, key)
                    continue
                connection, _ = listening.accept()
                wanted, streams = _request_from(connection)
                pid = os.fork()
                if pid == 0:
                    break
                for stream in streams:
                    os.close(stream)
                send_number(connection, pid)
                ended = os.pidfd_open(pid)
                selector.register(ended, selectors.EVENT_READ, (pid, connection))
            else:
                continue
            break
        # This code runs in the child.
        for key in selector.get_map().values():
            if key.data is not None:
                os.close(key.fd)
                key.data[1].close()
        connection.close()
    try:
        _become(wanted, streams)
    finally:
        _end(sys.exception())


class _Importer:
    """A plugin that imports while pytest rewrites assertions, as happens in the children."""

    def pytest_collection(self) -> bool:
        installed = (
            name
            for library, names in PRELOADED_IF_INSTALLED.items()
            if importlib.util.find_spec(library)
            for name in names
        )
        for name in (*PRELOADED, *installed):
            importlib.import_module(name)
        # Variants, and the judge of a sentence that the library lacks, fill the caches of the
        # shipped library, which is the same for all children.
        task = importlib.import_module("pytest_promptse.tasks._task").Task
        making = importlib.import_module("pytest_promptse.variants._generate")
        files = importlib.import_module("pytest_promptse.variants._library_files")
        judge = importlib.import_module("pytest_promptse.variants.invariance._judge").Judge
        prompt = "Write `twice(x: int) -> int`: return twice x. Never print anything."
        making.generate(task(id="twice", prompt=prompt), making.Selection(per_distance=64))
        judge(prompt, files.load_library()).findings(f"I have been up since noon.\n\n{prompt}")
        # The modules of the jail are the same for all children as well.
        importlib.import_module("pytest_promptse.sandbox._bootstrap").modules()
        if importlib.util.find_spec("jinja2"):
            pages = importlib.import_module("pytest_promptse.reports.html._standalone_page")
            pages._environment(pages.FOLDER).get_template("page.html.j2")
        return True


def _preload() -> None:
    import pytest  # noqa: PLC0415 - most parts of the tests need no server

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pytest.ini").write_text("[pytest]\n")
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = pytest.main(["--rootdir", folder, folder], plugins=[_Importer()])
    if status != pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError(f"imports failed with status {status}:\n{output.getvalue()}")
    if (threads := len(list(Path("/proc/self/task").iterdir()))) > 1:
        raise RuntimeError(f"{threads} threads run, so that no child can be forked safely")
    # Imported objects are never garbage, so children need not examine them.
    gc.collect()
    gc.freeze()


def _report_the_end(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, connection = key.data
    selector.unregister(key.fileobj)
    os.close(key.fd)
    _, status = os.waitpid(pid, 0)
    # The client may have ended already.
    with connection, contextlib.suppress(BrokenPipeError):
        send_number(connection, os.waitstatus_to_exitcode(status))


def _request_from(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    header, streams, _, _ = socket.recv_fds(connection, SIZE.size, 3)
    [size] = SIZE.unpack(header)
    return json.loads(receive(connection, size)), streams


# The standard streams are unbuffered already, or the program copies them.
_OF_NO_EFFECT = ("-u", "-B")


def _become(wanted: dict[str, Any], streams: list[int]) -> None:
    """Run the requested program in this process."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # A stream that was made for a file cannot be used for a pipe.
    sys.stdout = sys.__stdout__ = _reopened(sys.stdout)
    sys.stderr = sys.__stderr__ = _reopened(sys.stderr)
    os.environ.clear()
    os.environ.update(wanted["env"])
    os.chdir(wanted["cwd"])
    # A test may write a file twice within a second. Python would then reuse the bytecode of the
    # first version.
    sys.dont_write_bytecode = True
    if os.environ.keys() & {"COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"}:
        # coverage does the same in new interpreters.
        importlib.import_module("coverage").process_startup()
    command = wanted["command"]
    given = command[1:] if command[0] == sys.executable else command
    while given[0] in _OF_NO_EFFECT:
        given = given[1:]
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [path for path in paths if path]
    option, rest = given[0][:2], given[1:]
    if option in ("-m", "-c"):
        value, rest = (given[0][2:], rest) if given[0][2:] else (rest[0], rest[1:])
        sys.argv = [option, *rest]
        if option == "-m":
            sys.path[0] = str(Path.cwd())
            runpy.run_module(value, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = ""
            exec(compile(value, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = given
        sys.path[0] = str(Path(given[0]).resolve().parent)
        runpy.run_path(given[0], run_name="__main__")


def _reopened(stream: TextIO) -> TextIO:
    """Open the file descriptor of a standard stream anew, with the same settings."""
    assert isinstance(stream, io.TextIOWrapper)
    again = open(  # noqa: SIM115 - a descriptor, for the life of the process
        stream.fileno(), "w", encoding=stream.encoding, errors=stream.errors, closefd=False
    )
    again.reconfigure(
        line_buffering=stream.line_buffering or again.isatty(), write_through=stream.write_through
    )
    return again


def _end(error: BaseException | None) -> NoReturn:
    """End this process as an interpreter does, but without tearing down its modules.

    The teardown would copy most of the memory that a child shares with the server.
    """
    status = 0
    if isinstance(error, SystemExit) and isinstance(error.code, int | None):
        status = error.code or 0
    elif isinstance(error, SystemExit):
        print(error.code, file=sys.stderr)  # noqa: T201
        status = 1
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    # The order of the interpreter; multiprocessing ends its children so as well.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            try:
                stream.flush()
            except OSError:
                traceback.print_exc()
                status = 120
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
