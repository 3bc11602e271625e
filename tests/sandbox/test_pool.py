import os
import shutil
import signal
import threading
import time
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox import _isolation, _watch
from pytest_promptse.sandbox._causes import ProgramStopped
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.sandbox.guest import landlock

ONE = "def f(): return 1"


def answer(sandbox, program=ONE):
    with sandbox.load(program, entry_point="f") as candidate:
        return candidate()


def test_a_tier_that_is_misspelt_is_named_with_the_nearest():
    with pytest.raises(SandboxError, match="did you mean 'bwrap'"):
        open_sandbox("bwarp")


def test_a_missing_bubblewrap_names_the_remedy(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        open_sandbox("bwrap")


def test_auto_refuses_where_nothing_works_rather_than_judge_unprotected(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with pytest.raises(SandboxError, match="--promptse-sandbox none"):
        open_sandbox("auto")


def test_auto_says_what_it_took(bwrap):
    with open_sandbox("auto") as sandbox:
        assert sandbox.isolation_level == "bwrap"
        assert "no network" in sandbox.description
        assert "\n" not in sandbox.description


def test_a_bubblewrap_that_fails_is_reported_in_its_own_words(tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SandboxError, match="the jail does not start"):
        open_sandbox("bwrap")


def test_blocked_namespaces_name_what_allows_them(monkeypatch):
    def refused(_):
        raise SandboxError("the jail does not start: bwrap: No permissions to create new namespace")

    monkeypatch.setattr(_isolation, "_try", refused)
    with pytest.raises(SandboxError, match=r"sysctl .*userns=0, in docker: --security-opt seccomp"):
        open_sandbox("bwrap")


def test_the_jail_shows_neither_home_nor_project_nor_packages(bwrap):
    seen = answer(
        bwrap,
        "import os, sys\ndef f():\n"
        "    return [dict(os.environ), os.listdir('/'), os.getcwd(), os.listdir('/tmp'),\n"
        "            [os.listdir(p) for p in sys.path if 'site-packages' in p]]",
    )
    environment, root, folder, temporary, packages = seen
    own = {"HOME", "LANG", "PATH", "USER", "LOGNAME", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"}
    assert set(environment) <= own | {"PWD", "LC_CTYPE"}
    assert not {"home", "proc", "sys", "run", "var", "work"} & set(root)
    assert (folder, temporary, packages) == ("/tmp", [], [])


def test_programs_run_as_nobody_in_particular_with_the_first_number(bwrap):
    uid, pid = answer(bwrap, "import os\ndef f(): return os.getuid(), os.getpid()")
    assert uid != 0
    assert pid == 1


def test_no_two_programs_draw_the_same_random_numbers(bwrap):
    drawn = []
    for _ in range(3):
        with bwrap.load("from random import random", entry_point="random") as candidate:
            drawn.append(candidate())
    assert len(set(drawn)) == 3


def test_no_program_holds_more_than_its_streams_and_its_channel(bwrap):
    program = """
        import os
        def held(highest):
            numbers = []
            for number in range(highest):
                try:
                    os.fstat(number)
                except OSError:
                    continue
                numbers.append(number)
            return numbers
    """
    with bwrap.load(dedent(program), entry_point="held") as candidate:
        assert candidate(256) == [0, 1, 2, 3]


def test_a_jail_that_was_killed_is_replaced(bwrap):
    with open_sandbox("bwrap", workers=1) as sandbox:
        os.kill(sandbox._all[0].zygote, signal.SIGKILL)
        time.sleep(0.1)
        assert answer(sandbox) == 1


def test_a_jail_that_dies_under_a_program_is_an_error_and_no_verdict(bwrap):
    with open_sandbox("bwrap", workers=1) as sandbox:
        zygote = sandbox._all[0].zygote
        execution = sandbox.load(ONE, entry_point="f")
        candidate = execution.__enter__()
        candidate()
        os.kill(zygote, signal.SIGKILL)
        time.sleep(0.3)
        with pytest.raises(Exception, match="jail"):
            candidate()
        with pytest.raises(SandboxError):  # though the check took it for the program's
            execution.__exit__(None, None, None)
        assert answer(sandbox) == 1


def test_as_many_programs_run_at_once_as_there_are_slots(bwrap):
    both = threading.Barrier(2, timeout=20)
    met = []

    def judge():
        limits = Limits(wall=30, cpu=30)
        with bwrap.load("def f(meet): return meet()", entry_point="f", limits=limits) as candidate:
            met.append(candidate(lambda: both.wait() is not None))

    threads = [threading.Thread(target=judge) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [True, True]


def test_alone_means_that_no_other_program_runs(bwrap):
    running = []
    together = []

    def judge(*, alone):
        with bwrap.load(ONE, entry_point="f", alone=alone) as candidate:
            running.append(alone)
            together.append((alone, len(running)))
            candidate()
            time.sleep(0.05)
            running.remove(alone)

    threads = [threading.Thread(target=judge, kwargs={"alone": n % 3 == 0}) for n in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(together) == 9
    assert all(count == 1 for alone, count in together if alone)


def test_a_closed_sandbox_says_so():
    sandbox = open_sandbox("none", workers=1)
    sandbox.close()
    sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        answer(sandbox)


def test_closing_ends_every_process(bwrap):
    sandbox = open_sandbox("bwrap", workers=1)
    pid = sandbox._all[0].zygote
    sandbox.close()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()


def test_without_isolation_what_a_program_started_still_ends(plain):
    with plain.load(
        "import os, time\ndef f():\n"
        "    if os.fork() == 0:\n        os.setsid(); time.sleep(600)\n    return 1",
        entry_point="f",
    ) as candidate:
        assert candidate() == 1
    assert [_watch.descendants(worker.zygote)[1:] for worker in plain._all] == [[]] * len(
        plain._all
    )


def test_limits_are_those_of_the_load(bwrap):
    program = "def f(): return len(bytearray(150 * 2**20))"
    assert answer(bwrap, program) == 150 * 2**20
    small = bwrap.load(program, entry_point="f", limits=Limits(memory=64 * 2**20))
    with small as candidate, pytest.raises(ProgramStopped, match="resource"):
        candidate()


# -- sockets -----------------------------------------------------------------------------------

CONNECTS = """
import socket

def f(port):
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        client = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
        peer.close()
        client.close()
    return port
"""


def test_no_port_is_left_in_use_for_the_next_program(bwrap):
    for _ in range(3):
        with bwrap.load(CONNECTS, entry_point="f") as candidate:
            assert candidate(4321) == 4321


def test_a_program_that_hides_its_sockets_has_none(bwrap):
    hides = (
        "def f():\n"
        "    imports = vars(__builtins__) if hasattr(__builtins__, 'len') else __builtins__\n"
        "    module = imports['__imp' + 'ort__']('sock' + 'et')\n"
        "    module.__dict__['sock' + 'et']()\n"
    )
    with bwrap.load(hides, entry_point="f") as candidate, pytest.raises(PermissionError):
        candidate()


def test_no_process_of_a_program_outlives_a_jail_without_namespaces():
    program = (
        "import os, time\n"
        "def f():\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os.setsid()\n"
        "        while True: time.sleep(1)\n"
        "    return child\n"
    )
    children = []
    with open_sandbox("none", workers=1) as sandbox:

        def stop_under_the_program():
            with sandbox.load(program, entry_point="f") as candidate:
                children.append(candidate())
                sandbox._all[0].stop()

        with pytest.raises(SandboxError, match="the jail is gone"):
            stop_under_the_program()
        deadline = time.monotonic() + 20
        while Path(f"/proc/{children[0]}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
