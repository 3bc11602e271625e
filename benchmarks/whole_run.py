"""Time of a whole run, compared with the minimum that the server's latency requires.

    python benchmarks/whole_run.py [--tasks 11 …] [--takes-n] [--latency 0.2] [--rounds 1]

The run is ``pytest --promptse-model openai:…`` over HumanEval at preset ``paper`` (91 prompts per
task, 16 samples each). The server is a separate process on the same machine, with a latency of 200
ms and room for 64 requests at once. By default it ignores ``n``, as many servers do, so each sample
is a request. The time includes collecting, requesting, judging (4 distinct programs per prompt) and
reporting. The ideal is ``requests * latency / 64``. ``alone`` is the peak of pytest without the
plugin over as many empty tests with ids of the same length. It shows what pytest itself keeps of
each test and of its reports.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.tasks import humaneval

if TYPE_CHECKING:
    import resource

ROOM, SAMPLES = 64, 16
SERVER = Path(__file__).with_name("latency_server.py")
SUITE = """
import pytest
from pytest_promptse.tasks import humaneval

@pytest.mark.promptse(humaneval.tasks(limit={tasks}))
def test_humaneval(task, candidate):
    task.check(candidate)
"""
ALONE = """
import pytest

@pytest.mark.parametrize("variant", range({variants}), ids=lambda n: f"HumanEval/{{n % 164}}-{id}")
def test_humaneval(variant, capsys):
    pass
"""
LIKE = "d0.1-frustrated-pragmatic.junior.adaptive-10"


def measure(chosen: argparse.Namespace, n_tasks: int) -> dict[str, float]:
    """Run once with an empty store. Return seconds, MiB and counts."""
    tasks = humaneval.tasks(limit=n_tasks)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_humaneval.py").write_text(SUITE.format(tasks=n_tasks))
        programs = {task.entry_point: task.reference for task in tasks}
        (folder / "programs.json").write_text(json.dumps(programs))
        command = [sys.executable, str(SERVER), str(folder / "programs.json")]
        command += ["--latency", str(chosen.latency), "--room", str(ROOM)]
        command += [] if chosen.takes_n else ["--ignore-n"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            began = time.time()
            used = run(folder, address)
            ended = time.time()
            server.stdin.close()
            seen: dict[str, float] = json.loads(server.stdout.readline())
        record = json.loads((folder / "run.json").read_text())
    [suite] = record["suites"]
    assert suite["n_measured"] == suite["n_variants"]
    assert record["usage"]["requests"] == seen["requests"]
    return {
        "variants": suite["n_variants"],
        "requests": seen["requests"],
        "busiest": seen["busiest"],
        "seconds": ended - began,
        "before": seen["first"] - began,
        "asking": seen["last"] - seen["first"],
        "after": ended - seen["last"],
        "ideal": seen["requests"] * chosen.latency / ROOM,
        "cpu": used.ru_utime + used.ru_stime,
        "server": seen["cpu"],
        "peak": used.ru_maxrss / 1024,
        "alone": alone(suite["n_variants"]),
    }


def alone(variants: int) -> float:
    """Return the peak, in MiB, of pytest without the plugin over as many tests."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_humaneval.py").write_text(ALONE.format(variants=variants, id=LIKE))
        return pytest(folder, "-p", "no:promptse").ru_maxrss / 1024


def run(folder: Path, address: str) -> resource.struct_rusage:
    """Run pytest in `folder` against the server at `address`. Return its resource usage."""
    command = ["--promptse-model", "openai:m", "--promptse-base-url", address]
    command += ["--promptse-preset", "paper", "--promptse-original-samples", str(SAMPLES)]
    command += ["--promptse-report", "json:run.json"]
    return pytest(folder, *command)


def pytest(folder: Path, *arguments: str) -> resource.struct_rusage:
    """Run pytest in a new process. Return the resource usage of it and its child processes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    # The files are compiled first, as on any machine after the first use.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"pytest ended with {process.returncode}"
    return used


def main() -> None:
    """Print the figures of each round and the best of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, nargs="+", default=[11], help="91 variants each")
    parser.add_argument("--takes-n", action="store_true", help="16 samples a request")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds")
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args()
    print(
        f"{'variants':>8} {'requests':>8} {'at once':>7} {'before':>6} {'asking':>6} {'after':>6} "
        f"{'total s':>7} {'ideal s':>7} {'ratio':>5} "
        f"{'CPU s':>6} {'server CPU s':>12} {'peak MiB':>8} {'alone':>5} {'load':>5}"
    )
    for n_tasks in chosen.tasks * chosen.rounds:
        load = os.getloadavg()[0]
        found = measure(chosen, n_tasks)
        print(
            f"{found['variants']:>8} {found['requests']:>8} {found['busiest']:>7} "
            f"{found['before']:>6.1f} {found['asking']:>6.1f} {found['after']:>6.1f} "
            f"{found['seconds']:>7.1f} {found['ideal']:>7.1f} "
            f"{found['seconds'] / found['ideal']:>5.2f} {found['cpu']:>6.1f} "
            f"{found['server']:>12.1f} "
            f"{found['peak']:>8.0f} {found['alone']:>5.0f} {load:>5.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
