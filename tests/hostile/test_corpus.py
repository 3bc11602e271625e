"""Every program of the corpus gets the right verdict, does no damage and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import corpus

sys.path.pop(0)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None,
    reason="the corpus is judged in bubblewrap, which is not installed",
)
UNPRIVILEGED = 4242
PATHS = corpus.paths()
NAMES = [str(path.relative_to(corpus.HERE)) for path in PATHS]


def judge_here():
    results, harm = corpus.judge_all()
    return {result.name: result for result in results}, harm


def reachable_python():
    """An interpreter that a user without privileges can start."""
    for path in (Path(sys._base_executable).resolve(), Path("/usr/bin/python3")):  # type: ignore[attr-defined]
        if path.exists() and all(p.stat().st_mode & stat.S_IXOTH for p in path.parents):
            version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            if tuple(map(int, version.split()[1].split(".")[:2])) >= (3, 11):
                return str(path)
    return None


def judge_unprivileged(folder, level):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; this run is an unprivileged one")
    python = reachable_python()
    if python is None:
        pytest.skip("no interpreter of version 3.11 or later is within reach of other users")
    package = Path(find_spec("pytest_promptse").origin).parent
    shutil.copytree(package, folder / "pytest_promptse")
    shutil.copytree(corpus.HERE, folder / "corpus")
    shutil.copy(find_spec("pyseccomp").origin, folder)
    (folder / "home").mkdir()
    os.chmod(folder / "home", 0o777)
    done = subprocess.run(
        [python, "-B", folder / "corpus" / "corpus.py", level],
        env={"PYTHONPATH": str(folder), "PATH": os.environ["PATH"], "HOME": str(folder / "home")},
        cwd=folder / "home",
        user=UNPRIVILEGED,
        group=UNPRIVILEGED,
        extra_groups=[],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return {item["name"]: corpus.Result(**item) for item in answer["results"]}, answer["harm"]


# What is weaker without namespaces, as docs/explanation/sandbox.md lists it.
_NAMES = "a program can ask for names: of the machine, and of files that it cannot read"
_SEMAPHORES = "semaphores of processes need /dev/shm"
_PATHS = "/tmp is not the program's own; its folder is TMPDIR"
WEAKER_IN_LANDLOCK = {
    "hostile/secrets/host_name.py": _NAMES,
    "hostile/secrets/mounts.py": _NAMES,
    "hostile/secrets/project_files.py": _NAMES,
    "hostile/processes/count_processes.py": "the limit counts all processes of the user",
    "honest/concurrency/executor.py": _SEMAPHORES,
    "honest/concurrency/process.py": _SEMAPHORES,
    "honest/concurrency/process_pool.py": _SEMAPHORES,
    "honest/concurrency/loopback_server.py": "there are no sockets but pairs",
    "honest/files/sqlite.py": _PATHS,
}


def judge(user):
    if user == "this_user":
        return judge_here()
    # Other users cannot enter pytest's own temporary folder.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        level = "landlock" if user.endswith("landlock") else "bwrap"
        return judge_unprivileged(Path(folder), level)


def problems_of(case, result, *, in_landlock):
    """Return what is not as it should be in the result of a case."""
    is_right = result.verdict == case.expected
    if in_landlock and case.name in WEAKER_IN_LANDLOCK:
        return ["no longer weaker; remove it from the list"] if is_right else []
    found = {
        "it was judged wrongly": not is_right,
        "it did harm": result.harm != [],
        "the next program in the same jail was judged wrongly": not result.next_is_right,
        "the answer held the checker": result.checker_seconds >= 1.0,
        # In Landlock, the limit on processes counts those of other programs, and may come first.
        f"its cause is not {case.cause}": bool(case.cause)
        and not in_landlock
        and result.cause != case.cause,
    }
    return [problem for problem, is_so in found.items() if is_so]


# One test per user, so that one worker of xdist judges a user's corpus, and once.
@pytest.mark.parametrize(
    "user", ["this_user", "unprivileged_user", "unprivileged_user_in_landlock"]
)
def test_every_verdict_is_right_and_nothing_is_left_behind(user):
    results, harm = judge(user)
    assert harm == []
    cases = [corpus.read_case(path) for path in PATHS]
    problems = [
        (problem, results[case.name])
        for case in cases
        for problem in problems_of(case, results[case.name], in_landlock=user.endswith("landlock"))
    ]
    assert problems == []


def test_the_corpus_is_as_large_as_promised():
    hostile = [name for name in NAMES if name.startswith("hostile/")]
    assert len(hostile) >= 300
    assert len(NAMES) - len(hostile) >= 40
    assert len({name.split("/")[1] for name in hostile}) >= 20
