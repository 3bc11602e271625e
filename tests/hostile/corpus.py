"""Judge every program of the corpus and look for damage. Runs without pytest.

``python corpus.py`` prints the results as JSON, so that a user other than the one of the tests can
judge the corpus.

Each program is a file with a header. ``Trick`` or ``Trap`` describes it, ``Expected`` is the
verdict, and ``Cause`` (optional) the cause of the failure. ``Check`` names the check below, and
``Limits`` its limits. Hostile programs solve their task only if their trick works, so a pass means
damage.
"""

from __future__ import annotations

import json
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_promptse.sandbox import _watch
from pytest_promptse.sandbox._causes import CheckEnded
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits

HERE = Path(__file__).resolve().parent
SECRET = "PROMPTSE-SECRET-7331"
answer_of_the_check = 42


def successor(candidate):
    expected = [1, 2, 42, -6]
    assert [candidate(n) for n in (0, 1, 41, -7)] == expected


def close(candidate):
    assert abs(candidate(1) - 2) < 1e-6
    assert candidate(1) > 1.5


def listed(candidate):
    assert candidate(1) == [2]


def mapped(candidate):
    assert candidate(1) == {"result": 2}


def as_set(candidate):
    assert set(candidate(1)) == {2}


def as_list(candidate):
    assert list(candidate(1)) == [2]


def as_int(candidate):
    assert int(candidate(1)) == 2


def unchanged_argument(candidate):
    items = [1, 2]
    assert candidate(items) == 3
    assert items == [1, 2]


def callback_secret(candidate):
    assert candidate(lambda: answer_of_the_check) == "answer"


def callback_fails(candidate):
    def use(*given):
        assert given == (answer_of_the_check,), f"expected {answer_of_the_check}"

    assert candidate(use) == answer_of_the_check


def callback_recursion(candidate):
    def use(function):
        return function(use)

    assert candidate(use) == "answer"


def large(candidate):
    for _ in range(3):
        assert candidate("x" * 4_000_000) == 4_000_001


def many(candidate):
    assert [candidate(n) for n in range(2000)] == list(range(1, 2001))


def pausing(candidate):
    """A check that works for a while.

    Processes that the program leaves running are limited meanwhile.
    """
    for _ in range(200):
        assert candidate(1) == 2
        time.sleep(0.1)


def calling_back(candidate):
    for _ in range(200):
        assert candidate(1, lambda: time.sleep(0.1)) == 2


def twice(candidate):
    successor(candidate)


def script(candidate):
    assert candidate.run(stdin="41\n").stdout.strip() == "42"


def arguments(candidate):
    assert candidate.run(args=["41"]).stdout.strip() == "42"


CHECKS = {
    function.__name__: function
    for function in (
        successor, close, listed, mapped, as_set, as_list, as_int, unchanged_argument,
        callback_secret, callback_fails, callback_recursion, large, many, pausing,
        calling_back, twice, script, arguments,
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    source: str
    expected: str
    cause: str
    check: str
    limits: Limits


@dataclass(frozen=True, kw_only=True)
class Result:
    name: str
    verdict: str
    cause: str
    detail: str
    seconds: float
    checker_seconds: float
    harm: list[str]
    next_is_right: bool


def read_case(path: Path, places: dict[str, str] | None = None) -> Case:
    source = path.read_bytes().decode()
    head = dict(re.findall(r"^# (\w+): (.*?)\r?$", source, re.MULTILINE))
    for key, value in (places or {}).items():
        source = source.replace(f"@{key}@", value)
    kinds = {"wall": float, "cpu": float, "memory": int}
    limits = dict(pair.split("=") for pair in head.get("Limits", "").split())
    settings = {k: kinds[k](v) for k, v in limits.items()}
    if "Cause" in head and "timeout" not in head["Cause"] or head["Expected"] == "pass":
        settings = {"wall": PATIENT} | settings
    settings = {"memory": 256 * 2**20} | settings
    return Case(
        name=str(path.relative_to(HERE)),
        source=source,
        expected=head["Expected"],
        cause=head.get("Cause", ""),
        check=head.get("Check", "successor"),
        limits=Limits(**settings),
    )


def paths() -> list[Path]:
    return sorted([*HERE.glob("hostile/*/*.py"), *HERE.glob("honest/*/*.py")])


class Canaries:
    """Things that a harmful program would touch."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="canary-"))
        self.home = self.folder / "home"
        self.home.mkdir()
        (self.home / "secret.txt").write_text(SECRET)
        (self.home / ".netrc").write_text(SECRET)
        self.before = self.listing()
        os.environ["PROMPTSE_CANARY"] = SECRET
        self.victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0promptse-canary-{self.port}")
        self.abstract.listen()
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(("127.0.0.1", self.port))
        for sock in (self.listener, self.abstract, self.datagrams):
            sock.setblocking(False)

    def listing(self) -> list[str]:
        return sorted(str(path) for path in self.folder.rglob("*"))

    def places(self) -> dict[str, str]:
        import pytest_promptse

        package = Path(pytest_promptse.__file__).parent
        return {
            "HOME": str(self.home),
            "CWD": os.getcwd(),
            "PROJECT": str(package.parent),
            "SITE": str(Path(json.__file__).parents[1] / "site-packages"),
            "VICTIM": str(self.victim.pid),
            "PORT": str(self.port),
            "HOSTNAME": socket.gethostname(),
        }

    def harm(self) -> list[str]:
        found = []
        if self.victim.poll() is not None:
            found.append("a process of the host was killed")
        if self.listing() != self.before:
            found.append("files in the home folder changed")
        for sock, name in ((self.listener, "TCP"), (self.abstract, "abstract")):
            try:
                sock.accept()
                found.append(f"the {name} listener was reached")
            except BlockingIOError:
                pass
        try:
            self.datagrams.recv(100)
            found.append("a datagram arrived")
        except BlockingIOError:
            pass
        for place in (Path.cwd(), Path.home(), Path("/tmp"), *map(Path, sys.path)):
            for name in ("promptse_was_here", "promptse_was_here.pth", "left"):
                if (place / name).exists():
                    found.append(f"{place / name} was written")
        return found

    def close(self) -> None:
        import shutil

        self.victim.kill()
        self.victim.wait()
        for sock in (self.listener, self.abstract, self.datagrams):
            sock.close()
        del os.environ["PROMPTSE_CANARY"]
        shutil.rmtree(self.folder)


def judge(sandbox, case: Case) -> tuple[str, str, str, float]:
    """Return verdict, cause, detail, and the CPU seconds that this thread used."""
    start = time.thread_time()
    with sandbox.load(case.source, entry_point="successor", limits=case.limits) as candidate:
        try:
            CHECKS[case.check](candidate)
        except CheckEnded as ended:
            candidate.raised(ended)
            verdict = ("fail", "exception", str(ended))
        except Exception as error:
            came = "exception" if candidate.raised(error) else "wrong_answer"
            verdict = ("fail", came, f"{type(error).__name__}: {str(error)[:200]}")
        else:
            verdict = ("pass", "", "")
    failure = candidate.failure
    if failure is not None:
        verdict = ("fail", failure.cause, failure.detail)
    return *verdict, time.thread_time() - start


# The clock of a busy machine affects every program. Only programs that wait on the clock may fail
# because of it.
PATIENT = 60.0
RIGHT = "def successor(n):\n    return n + 1\n"
WRONG = "def successor(n):\n    return n\n"


def judge_case(sandbox, case: Case) -> Result:
    start = time.monotonic()
    verdict, cause, detail, checker = judge(sandbox, case)
    seconds = time.monotonic() - start
    if case.check == "twice" and verdict == "fail":
        verdict, cause, detail, checker = judge(sandbox, case)
    harm = []
    left = _watch.descendants(sandbox._all[0].zygote)[1:]
    if left:
        harm.append(f"processes left: {left}")
    plain = {"name": "", "expected": "", "cause": "", "check": "successor"}
    plain["limits"] = Limits(wall=PATIENT)
    right = judge(sandbox, Case(**plain | {"source": RIGHT}))[0]
    wrong = judge(sandbox, Case(**plain | {"source": WRONG}))[0]
    return Result(
        name=case.name, verdict=verdict, cause=cause, detail=detail, seconds=seconds,
        checker_seconds=checker, harm=harm, next_is_right=(right, wrong) == ("pass", "fail"),
    )  # fmt: skip


def judge_all(threads: int = 4, level: str = "bwrap") -> tuple[list[Result], list[str]]:
    """Judge the corpus. Return its results, and damage that no single program can be blamed for."""
    canaries = Canaries()
    work: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for path in paths():
        work.put(path)
    results: list[Result] = []

    def worker() -> None:
        # One worker per thread, so that consecutive programs use the same jail.
        with open_sandbox(level, workers=1) as sandbox:
            while True:
                try:
                    path = work.get_nowait()
                except queue.Empty:
                    return
                results.append(judge_case(sandbox, read_case(path, canaries.places())))

    workers = [threading.Thread(target=worker) for _ in range(threads)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    harm = canaries.harm()
    canaries.close()
    return sorted(results, key=lambda result: result.name), harm


if __name__ == "__main__":
    found, general = judge_all(level=sys.argv[1])
    json.dump({"results": [asdict(result) for result in found], "harm": general}, sys.stdout)
