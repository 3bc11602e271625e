"""A forked program behaves like one in a new interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

SEEN = """
import json, os, sys, threading
sys.stdout.write(json.dumps([sys.argv, sys.path, sys.flags, dict(os.environ), os.getcwd()]))
sys.stdout.write(json.dumps([__name__, sys.stdin.read(), threading.active_count()]))
sys.stderr.write("said")
sys.exit(3)
"""


@pytest.mark.parametrize("how", ["-c", "-m", "file"])
def test_arguments_paths_environment_and_streams_are_the_same(fork_server, tmp_path, how):
    (tmp_path / "seen.py").write_text(SEEN)
    given = {"-c": ["-c", SEEN], "-m": ["-m", "seen"], "file": [str(tmp_path / "seen.py")]}[how]
    command = [sys.executable, *given, "one", "--two"]
    env = {**os.environ, "PYTHONPATH": "/some/where:/else", "MORE": "1"}
    forked = fork_server.run(command, cwd=str(tmp_path), env=env)
    new = subprocess.run(
        command,
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (forked.returncode, forked.stdout, forked.stderr) == (3, new.stdout, "said")


def test_what_ends_a_program_ends_no_other(fork_server, tmp_path):
    def status(code: str) -> int:
        command = [sys.executable, "-c", code]
        return fork_server.run(command, cwd=str(tmp_path), env=dict(os.environ)).returncode

    assert status("import os, signal; os.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
    assert status("import sys; sys.path.clear(); raise SystemExit") == 0
    assert status("1 / 0") == 1


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError('a message')",
        "import sys; sys.exit('a message')",
        "import atexit; atexit.register(print, 'last'); print('first')",
        "import threading; threading.Timer(0.1, print, ['from a thread']).start()",
        # A shell starts its background jobs with SIGINT ignored.
        "from signal import *; signal(SIGINT, default_int_handler); raise_signal(SIGINT)",
        "import sys; sys.stdout = open('/dev/full', 'w'); print('lost')",
    ],
)
def test_it_ends_as_in_a_new_interpreter(fork_server, tmp_path, code):
    command = [sys.executable, "-c", code]
    forked = fork_server.run(command, cwd=str(tmp_path), env=dict(os.environ))
    new = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (forked.returncode, forked.stdout) == (new.returncode, new.stdout)
    assert forked.stderr.splitlines()[-1:] == new.stderr.splitlines()[-1:]


def test_programs_run_side_by_side(fork_server, tmp_path):
    commands = tmp_path / "commands"
    commands.mkdir()
    fork_server.write_command(commands, "promptse")
    script = "promptse schema | promptse --version; echo ${PIPESTATUS[@]}"
    env = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1].split()[-1] == "0", done
