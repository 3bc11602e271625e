from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fork_server import ForkServer, interpreter_settings, running_server

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from fork_server import ForkedProgram

pytest_plugins = ["pytester"]

# tests/plugin/test_fixture_renewal.py runs the plugin together with these plugins. In all other
# nested runs they would change output, order and counts.
_OTHERS = ("asyncio", "django", "pytest_cov", "randomly", "rerunfailures", "timeout")
_WITHOUT_OTHERS = " ".join(f"-p no:{name}" for name in _OTHERS)
os.environ["PYTEST_ADDOPTS"] = _WITHOUT_OTHERS

# pytest, rich and the plugin read these. They change widths, colours, shortening, loaded plugins
# and the places of reports.
_OF_THE_MACHINE = (
    *("BUILD_NUMBER", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "FORCE_COLOR"),
    *("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "LINES", "NO_COLOR", "OPENAI_API_KEY"),
    *("OPENAI_BASE_URL", "PYTEST_DEBUG", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_PLUGINS"),
    *("PYTEST_THEME", "PYTEST_THEME_MODE", "PYTHONWARNINGS", "PY_COLORS", "TTY_COMPATIBLE"),
    *("TTY_INTERACTIVE",),
    # Processes that tests start share the bytecode of their imports.
    "PYTHONDONTWRITEBYTECODE",
)


@pytest.fixture(scope="session", autouse=True)
def same_environment_everywhere() -> Iterator[None]:
    """Make tests independent of CI variables and of the width of the terminal."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in _OF_THE_MACHINE:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("COLUMNS", "80")
        before = interpreter_settings(os.environ)
        yield
        # With other settings than the fork server's, every later program starts an interpreter.
        assert interpreter_settings(os.environ) == before, "a test has changed the environment"


@pytest.fixture(autouse=True)
def without_other_plugins(request: pytest.FixtureRequest) -> None:
    if "pytester" in request.fixturenames:
        # It removes the variable.
        request.getfixturevalue("pytester")
        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.setenv("PYTEST_ADDOPTS", _WITHOUT_OTHERS)


_SERVER_ADDRESS = pytest.StashKey[str]()


def _server_running_until_the_end(config: pytest.Config) -> str:
    """Return the address of the fork server of this process, started at the first call."""
    if _SERVER_ADDRESS not in config.stash:
        env = {name: value for name, value in os.environ.items() if name not in _OF_THE_MACHINE}
        resources = contextlib.ExitStack()
        config.stash[_SERVER_ADDRESS] = resources.enter_context(running_server(env))
        config.add_cleanup(resources.close)
    return config.stash[_SERVER_ADDRESS]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run one worker more than there are CPUs, since many tests wait for other processes.

    The hostile programs have limits of time. They are judged with ``-n logical``, which keeps one
    worker per CPU.
    """
    return len(os.sched_getaffinity(0)) + 1 if config.option.numprocesses == "auto" else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let all workers of xdist use the server of the process that controls them."""
    node.workerinput["fork_server"] = _server_running_until_the_end(node.config)


@pytest.fixture(scope="session")
def fork_server(same_environment_everywhere: None, pytestconfig: pytest.Config) -> ForkServer:
    """Start Python programs quickly: ``fork_server.run(command, cwd=…, env=…)``."""
    shared = getattr(pytestconfig, "workerinput", {}).get("fork_server")
    return ForkServer(shared or _server_running_until_the_end(pytestconfig))


@pytest.fixture
def forking_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fork_server: ForkServer
) -> Path:
    """The folder of a project, which is the working directory.

    In it, ``promptse harden`` starts pytest quickly: a search does so five times.
    """

    def run(
        command: Sequence[str], *, capture_output: bool, text: bool, check: bool
    ) -> subprocess.CompletedProcess[str]:
        assert (capture_output, text, check) == (True, True, False)
        return fork_server.run(command, cwd=str(tmp_path), env=dict(os.environ))

    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


@pytest.fixture
def pytester(
    pytester: pytest.Pytester, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """Let pytester fork its processes from a process that has imported pytest, numpy and scipy."""
    new_interpreter = pytester.popen

    def popen(
        command: Sequence[str],
        *,
        stdout: TextIO,
        stderr: TextIO,
        stdin: object,
        # Old versions of pytest pass it. A forked program inherits nothing else.
        close_fds: bool = True,
    ) -> ForkedProgram | subprocess.Popen[bytes]:
        cwd = str(Path.cwd())
        path = os.pathsep.join(filter(None, [cwd, os.environ.get("PYTHONPATH")]))
        env = {**os.environ, "PYTHONPATH": path}
        if stdin is not pytester.CLOSE_STDIN or not fork_server.can_run(command, env):
            return new_interpreter(command, stdout=stdout, stderr=stderr, stdin=stdin)
        with Path(os.devnull).open() as nothing:
            streams = (nothing.fileno(), stdout.fileno(), stderr.fileno())
            return fork_server.start(command, cwd=cwd, env=env, streams=streams)

    monkeypatch.setattr(pytester, "popen", popen)
    return pytester


@pytest.fixture(scope="session")
def two_workers(
    fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, ...]:
    """Return the options of pytest for ``-n 2`` with workers that start quickly."""
    folder = tmp_path_factory.mktemp("commands")
    fork_server.write_command(folder, "python")
    return ("--dist", "load", "--tx", f"2*popen//python={folder}/python")


@pytest.fixture
def new_interpreter(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pytester start new interpreters, for tests of imports and their time."""
    monkeypatch.delattr(pytester, "popen")


# These folders are only collected when they are named. Browser tests leave an event loop running in
# the thread, so they need a separate process. The docs' commands and the hostile programs take
# long, as do programs in all languages. A Ray cluster needs all CPUs.
APART = ("browser", "docs", "hostile", "ray", "toolchains")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    name = collection_path.name
    if collection_path.parent != Path(__file__).parent or name not in APART:
        return None
    return None if any(name in argument for argument in config.args) else True
