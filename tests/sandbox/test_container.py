import json
import shutil
import sys
from pathlib import Path

import pytest

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox import _bootstrap
from pytest_promptse.sandbox._bridge import ARRIVE, bridge_command
from pytest_promptse.sandbox._causes import ProgramStopped
from pytest_promptse.sandbox._container import container_command, default_image, find_engine
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.sandbox._pool import SandboxPool
from pytest_promptse.sandbox._seccomp import Filters
from pytest_promptse.sandbox._worker import Worker


@pytest.fixture(scope="module")
def bridged(tmp_path_factory):
    """A sandbox whose zygote is behind the bridge, with no container around it."""
    arrive = [sys.executable, "-I", "-S", "-c", ARRIVE, "{folder}", _bootstrap.COMMAND]
    command = bridge_command(arrive)

    def make_worker(_):
        return Worker(
            command=lambda: command,
            spawn=lambda function: function(),
            isolation="none",
            filters=Filters(),
            packages="",
        )

    with SandboxPool(
        isolation_level="bridged",
        description="",
        make_worker=make_worker,
        release=lambda: None,
        workers=2,
        folder=str(tmp_path_factory.mktemp("bridged")),
    ) as sandbox:
        yield sandbox


def test_calls_changes_and_output_cross_the_bridge(bridged):
    program = "def f(items):\n    items.append(1); print('x' * 200_000); return len(items)"
    with bridged.load(program, entry_point="f", limits=Limits(output=10**6)) as candidate:
        items = [0]
        assert candidate(items) == 2
        assert items == [0, 1]
    assert candidate.output == "x" * 200_000 + "\n"


def test_large_arguments_and_answers_cross_the_bridge(bridged):
    with bridged.load("def f(x): return x[::-1]", entry_point="f") as candidate:
        assert candidate("ab" * 1_000_000) == "ba" * 1_000_000


def test_scripts_with_input_cross_the_bridge(bridged):
    program = "import sys\ntext = sys.stdin.read()\nprint(len(text)); sys.exit(text.count('b'))"
    with bridged.load(program, entry_point="f") as candidate:
        result = candidate.run(stdin="a" * 500_000 + "bbb")
    assert (result.stdout, result.returncode) == ("500003\n", 3)


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("while True: pass", "timeout"),
        ("while True: print('x' * 65536)", "timeout"),
        ("import os; os._exit(0)", "exception"),
        ("import os; os.closerange(0, 100)", "exception"),
    ],
)
def test_what_stops_a_program_is_the_same_behind_the_bridge(bridged, body, cause):
    program = f"def f():\n    {body}"
    with bridged.load(program, entry_point="f", limits=Limits(wall=0.4)) as candidate:
        with pytest.raises(ProgramStopped):
            candidate()
        assert candidate.failure.cause == cause
    with bridged.load("def f(): return 1", entry_point="f") as candidate:
        assert candidate() == 1


def test_many_programs_in_a_row_leave_the_bridge_in_order(bridged):
    for number in range(30):
        program = f"def f(): return {number}"
        with bridged.load(program, entry_point="f") as candidate:
            assert candidate() == number


def test_a_container_has_no_network_no_rights_and_a_read_only_root():
    near = container_command("/usr/bin/podman", "python:3.12-slim")
    command = json.loads(near[-1])
    options = " ".join(command[: command.index("python:3.12-slim")])
    for words in (
        "--network none", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges",
        "--pids-limit", "--memory", "--rm",
    ):  # fmt: skip
        assert words in options
    # Only the folder with the socket, which cannot be written to and is gone when programs run.
    assert options.count("--volume") == 1
    assert "--volume {folder}:/promptse:ro" in options
    assert "--mount" not in options


def test_the_default_image_is_of_this_python():
    assert f"python:3.{sys.version_info[1]}-slim" in default_image()


def test_an_engine_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SandboxError, match="docker is not installed"):
        find_engine("docker", "python:3.12-slim")


def test_a_missing_image_names_the_remedy(tmp_path, monkeypatch):
    engine = tmp_path / "docker"
    engine.write_text("#!/bin/sh\necho 'Error: no such image' >&2\nexit 1\n")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"docker pull python:3\.12-slim"):
        find_engine("docker", "python:3.12-slim")


def test_an_interpreter_of_a_different_version_compiles_the_sent_modules(tmp_path, monkeypatch):
    version, modules = json.loads(_bootstrap.modules())
    of_later_version = [(name, source, "not code of this version") for name, source, _ in modules]
    sent = json.dumps(["0" * len(version), of_later_version]).encode()
    monkeypatch.setattr(_bootstrap, "modules", lambda: sent)
    python = [sys.executable, "-I", "-S", "-c", _bootstrap.COMMAND]
    with (
        SandboxPool(
            isolation_level="none",
            description="",
            make_worker=lambda _: Worker(
                command=lambda: python, isolation="none", filters=Filters()
            ),
            release=lambda: None,
            workers=1,
            folder=str(tmp_path),
        ) as sandbox,
        sandbox.load("def f(x): return x + 1", entry_point="f") as candidate,
    ):
        assert candidate(1) == 2


def test_sent_modules_name_no_path_of_this_machine():
    folder = str(Path(_bootstrap.__file__).parents[1])
    _, modules = json.loads(_bootstrap.modules())
    assert not [name for name, _, code in modules if folder.encode() in bytes.fromhex(code)]
