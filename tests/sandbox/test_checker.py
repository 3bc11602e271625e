"""A checker is a forked process whose end, however it comes, is all that remains of a check."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pytest_promptse.sandbox._checker import (
    Checker,
    CheckerLost,
    open_descriptors,
    remove_abandoned_folders,
)
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.sandbox.guest import landlock

needs_landlock = pytest.mark.skipif(not landlock.version(), reason="no Landlock here")


@pytest.fixture
def fork(plain):
    with contextlib.ExitStack() as stack:

        def fork(work, **options):
            checker = Checker(work, pool=plain, **options)
            stack.callback(checker.close)
            return checker

        yield fork


def ask(checker, request=b""):
    return checker.ask(request, limits=Limits())


def error_of(action):
    """Return a function for a checker that replies with the error of `action`, or nothing."""

    def work(_):
        try:
            action()
        except OSError as error:
            return type(error).__name__.encode()
        return b""

    return work


def is_alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_requests_of_any_size_are_answered_in_order(fork):
    checker = fork(lambda request: request * 2)
    for size in (0, 1, 5_000_000, 3):
        assert ask(checker, b"x" * size) == b"xx" * size


@pytest.mark.parametrize("order", [b"J", b"{}", b'{"do": "start"}', b'{"do": "end"}'])
def test_a_jail_survives_an_order_that_is_none(bwrap, order):
    bwrap.prepare_fork()
    control = bwrap._all[0]._control
    control.send(order)
    assert b"malformed" in control.recv(1000)


def test_many_resets_that_nobody_waits_for_do_not_stop_a_jail(bwrap):
    bwrap.prepare_fork()
    worker = bwrap._all[0]
    zygote = worker.zygote
    for _ in range(1000):
        worker.reset(wait=False)
    with bwrap.load("def f(): return 5", entry_point="f") as candidate:
        assert candidate() == 5
    assert worker.zygote == zygote


def test_a_jail_that_has_died_is_replaced_for_the_next_check():
    def judge(_):
        with sandbox.load("def f(): return 5", entry_point="f") as candidate:
            return str(candidate()).encode()

    with open_sandbox("none", workers=1) as sandbox:
        sandbox.prepare_fork()
        os.kill(sandbox._all[0].zygote, signal.SIGKILL)
        while is_alive(sandbox._all[0].zygote):
            time.sleep(0.01)
        with contextlib.closing(Checker(judge, pool=sandbox)) as checker:
            assert ask(checker) == b"5"


def test_a_checker_works_in_a_session_of_its_own_without_input(fork):
    checker = fork(lambda _: repr((os.getsid(0) == os.getpid(), os.read(0, 1))).encode())
    assert ask(checker) == b"(True, b'')"


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda _: os._exit(3), "ended with status 3"),
        (lambda _: os.abort(), "died of SIGABRT"),
        (lambda _: os.kill(os.getpid(), 9), "died of SIGKILL"),
    ],
)
def test_the_death_of_a_checker_is_reported(fork, action, words):
    with pytest.raises(CheckerLost, match=words) as lost:
        ask(fork(action))
    assert lost.value.cause == "resource"


def test_processes_that_a_check_starts_end_with_it(fork):
    def work(_):
        sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
        return str(subprocess.Popen(sleeper, start_new_session=True).pid).encode()

    checker = fork(work)
    pid = int(ask(checker))
    assert is_alive(pid)
    checker.close()
    while is_alive(pid):
        time.sleep(0.01)


def test_processes_of_a_check_that_crashes_end_too(fork, tmp_path):
    def work(_):
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        (tmp_path / "pid").write_text(str(sleeper.pid))
        os.abort()

    with pytest.raises(CheckerLost):
        ask(fork(work, writable=[str(tmp_path)]))
    pid = int((tmp_path / "pid").read_text())
    while is_alive(pid):
        time.sleep(0.01)


def test_a_process_that_a_check_forks_gives_no_answer(fork):
    def work(request):
        return b"child" if os.fork() == 0 else request

    checker = fork(work)
    assert [ask(checker, request) for request in (b"a", b"b")] == [b"a", b"b"]


@needs_landlock
def test_files_can_be_written_in_temporary_folders_only(fork, tmp_path):
    allowed, refused = tmp_path / "allowed", tmp_path / "refused"
    allowed.mkdir()
    refused.mkdir()
    (refused / "kept").write_text("as before")
    for action, error in (
        ((allowed / "new").write_text, b""),
        ((refused / "new").write_text, b"PermissionError"),
        ((refused / "kept").write_text, b"PermissionError"),
    ):
        assert ask(fork(error_of(lambda a=action: a("x")), writable=[str(allowed)])) == error
    assert ask(fork(error_of((refused / "kept").unlink))) == b"PermissionError"
    assert ask(fork(error_of((refused / "kept").read_text))) == b""
    assert ask(fork(error_of(lambda: tempfile.TemporaryFile().close()))) == b""
    assert (refused / "kept").read_text() == "as before"


@pytest.mark.skipif(landlock.version() < 4, reason="Landlock without TCP")
def test_a_checker_has_no_tcp(fork):
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
        assert ask(fork(error_of(lambda: socket.create_connection(place)))) == b"PermissionError"
        port = ("127.0.0.1", 0)
        assert ask(fork(error_of(lambda: socket.create_server(port)))) == b"PermissionError"


def test_a_checker_keeps_no_pipe_of_another_thread_open(fork):
    needed = open_descriptors()
    read_end, write_end = os.pipe()
    checker = fork(lambda request: request, needed=needed)
    assert ask(checker, b"ready") == b"ready"
    os.close(write_end)
    assert os.read(read_end, 1) == b""
    os.close(read_end)


def test_a_check_that_reads_a_file_leaves_the_position_of_other_threads(fork, tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\nsix\n")
    number = os.open(path, os.O_RDONLY)
    try:
        os.lseek(number, 4, os.SEEK_SET)
        checker = fork(lambda _: os.read(number, 4))
        assert ask(checker) == b"two\n"
        assert os.read(number, 4) == b"two\n"
        # As another thread of the parent may do.
        assert ask(checker) == b"six\n"
        os.lseek(number, 0, os.SEEK_SET)
        checker.close()
        assert os.read(number, 4) == b"one\n"
    finally:
        os.close(number)


def test_temporary_files_of_a_check_are_removed(fork):
    checker = fork(lambda _: tempfile.mkdtemp().encode())
    folder = Path(ask(checker).decode())
    assert folder.is_dir()
    checker.close()
    while folder.exists():
        ask(fork(lambda request: request))


def test_folders_of_killed_sessions_are_removed_and_others_stay(fork, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned, fresh, other = (tmp_path / f"promptse-{n}" for n in ("check-a", "check-b", "c"))
    for folder in (abandoned, fresh, other):
        (folder / "inside").mkdir(parents=True)
    fork(lambda request: request)
    (used,) = {*tmp_path.iterdir()} - {abandoned, fresh, other}
    for folder in (abandoned, used, other):
        os.utime(folder, (0, 0))
    remove_abandoned_folders()
    assert {*tmp_path.iterdir()} == {used, fresh, other}
