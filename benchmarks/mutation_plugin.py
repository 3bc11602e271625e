"""Plugin of pytest for ``mutation.py``: the same examples every time, and which test runs now.

A session that gets a socket runs its tests on request, in forks that have a fault.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coverage
import mutation_swap
import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

# The number of the running test, for the context of coverage in processes that it starts.
TEST = "MUTATION_TEST"
# The file to which the tests and their seconds are written.
TESTS_FILE = "MUTATION_TESTS_FILE"
# The descriptor of the socket by which faults come.
FAULTS = "MUTATION_FAULTS"
SECONDS = pytest.StashKey[dict[str, float]]()

SURVIVED = "survived"
TIME_LIMIT = "time limit"


def pytest_configure(config: pytest.Config) -> None:
    """Let properties take the same examples every time, and not shrink a failure."""
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutation", derandomize=True, database=None, phases=phases)
    settings.load_profile("mutation")
    if FAULTS in os.environ:
        config.pluginmanager.register(ForkedTests(int(os.environ.pop(FAULTS))))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Number the tests, and write how long each took."""
    seconds: dict[str, float] = {item.nodeid: 0.0 for item in session.items}
    session.config.stash[SECONDS] = seconds
    try:
        return (yield)
    finally:
        if TESTS_FILE in os.environ:
            Path(os.environ[TESTS_FILE]).write_text(json.dumps(seconds), encoding="utf-8")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tell coverage which test runs, here and in the processes that it starts."""
    seconds = item.config.stash[SECONDS]
    number = str(list(seconds).index(item.nodeid))
    os.environ[TEST] = number
    if measured := coverage.Coverage.current():
        measured.switch_context(number)
    began = time.monotonic()
    try:
        return (yield)
    finally:
        seconds[item.nodeid] = round(time.monotonic() - began, 3)


class ForkedTests:
    """Runs collected tests on request. Each request has a fork of this process.

    A request is a line of JSON with a fault for `mutation_swap.swap`, and the tests with a limit in
    seconds for each. The answer is the first test that fails, another reason, or None if the fault
    needs new processes.
    """

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._failed: str | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serve requests until the socket is closed."""
        plugins = session.config.pluginmanager.get_plugins()
        conftest: Any = next(one for one in plugins if hasattr(one, "_SERVER_ADDRESS"))
        address = conftest._server_running_until_the_end(session.config)  # noqa: SLF001
        # A module of the clone, which its conftest.py imports.
        server = importlib.import_module("fork_server").ForkServer(address)
        # It imports at the first request.
        server.run([sys.executable, "-c", ""], cwd="/", env=dict(os.environ))
        with self._socket, self._socket.makefile("rw", encoding="utf-8") as lines:
            for line in lines:
                answer = self._answer(session, conftest, server, json.loads(line))
                lines.write(json.dumps(answer) + "\n")
                lines.flush()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed:
            self._failed = self._failed or report.nodeid

    def _answer(
        self, session: pytest.Session, conftest: Any, server: Any, request: dict[str, Any]
    ) -> str | None:
        with tempfile.TemporaryDirectory() as name, open(os.devnull, "rb+") as nothing:  # noqa: PTH123
            fault, address = Path(name, "fault.json"), Path(name, "socket")
            fault.write_text(json.dumps(request["fault"]), encoding="utf-8")
            # The server ends when nobody can write to its standard input any more.
            its_input, until_the_end = os.pipe()
            helpers = Path(sys.modules["fork_server"].__file__ or "").parent
            command = [sys.executable, mutation_swap.__file__, str(fault), str(address)]
            faulty = server.start(
                [*command, str(helpers)],
                cwd="/",
                env=dict(os.environ),
                streams=(its_input, nothing.fileno(), 2),
            )
            os.close(its_input)
            try:
                while not address.exists():
                    with suppress(subprocess.TimeoutExpired):
                        status = faulty.wait(timeout=0.02)
                        if status != mutation_swap.CANNOT_SWAP:
                            raise RuntimeError(f"the fork server ended with {status}")
                        return None
                session.config.stash[conftest._SERVER_ADDRESS] = str(address)  # noqa: SLF001
                return self._in_a_fork(session, request)
            finally:
                os.close(until_the_end)
                end_group(faulty.pid)
                faulty.wait()

    def _in_a_fork(self, session: pytest.Session, request: dict[str, Any]) -> str | None:
        answers, answer = os.pipe()

        def tell(value: object) -> None:
            os.write(answer, f"{json.dumps(value)}\n".encode())

        pid = os.fork()
        if pid == 0:
            try:
                os.setpgid(0, 0)
                tell(self._run(session, request, tell))
            except BaseException as error:  # noqa: BLE001 - pytest would end by it
                traceback.print_exc()
                tell(f"pytest ended by {type(error).__name__}")
            os._exit(0)
        os.close(answer)
        limit = 60.0
        try:
            while select.select([answers], [], [], limit)[0]:
                text = os.read(answers, 65536).decode()
                if not text:
                    return "pytest ended"
                # The limit of the test that begins, or the answer.
                value: str | float | None = json.loads(text.splitlines()[-1])
                if not isinstance(value, float):
                    return value
                limit = value
            return TIME_LIMIT
        finally:
            os.close(answers)
            end_group(pid)
            os.waitpid(pid, 0)

    def _run(
        self, session: pytest.Session, request: dict[str, Any], tell: Callable[[float], object]
    ) -> str | None:
        try:
            mutation_swap.swap(**request["fault"])
        except mutation_swap.CannotSwapError:
            return None
        by_id = {item.nodeid: item for item in session.items}
        items = [by_id[test] for test in request["tests"]]
        for item, following in zip(items, [*items[1:], None], strict=True):
            tell(request["tests"][item.nodeid])
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed is not None:
                return self._failed
        return SURVIVED


def end_group(pid: int) -> None:
    """End a process and those that it has started."""
    # A process that has just been forked leads no group yet.
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)
