"""Time the start-up of pytest without promptse tests, and of one node of HumanEval.

    python benchmarks/startup.py [ROUNDS] [--save]

The first row compares pytest with and without the plugin, in a session without a promptse mark. The
others run one of HumanEval's 2,136 items with the reference as the model. All rounds are
interleaved. Of each kind the fastest one counts, since it was disturbed least. With a load average
above the number of cores, other processes lengthen the wall time. ``--save`` writes the table to
``benchmarks/results/startup.md``.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "startup.md"
# Other plugins in this environment would only hide the difference.
BARE = tuple(
    argument
    for plugin in entry_points(group="pytest11")
    if plugin.name != "promptse"
    for argument in ("-p", f"no:{plugin.name}")
)
HUMANEVAL = f"{ROOT}/example_suites/humaneval/test_humaneval.py::test_humaneval"
VARIANT = f"{HUMANEVAL}[HumanEval/0-d0.1-excited-expert.senior.plan-0]"
ORIGINAL = f"{HUMANEVAL}[HumanEval/0-original]"


class Seconds(NamedTuple):
    """The CPU seconds of a process and of those that it started, and its wall time."""

    cpu: float
    wall: float


def timed(folder: Path, *arguments: str) -> Seconds:
    """Run pytest in `folder` and return the seconds that it takes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *BARE, *arguments]
    # The files are compiled first, as on any machine after the first use.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Seconds(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def rows(rounds: int) -> dict[str, Seconds]:
    """Return the least seconds of each kind of run."""
    measured: dict[str, list[Seconds]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text("def test_nothing(): pass\n")
        node = ("--promptse-model", "reference", "--promptse-store", str(folder / "store"))
        for _ in range(rounds):
            measured["pytest without the plugin"].append(timed(folder, "-p", "no:promptse"))
            measured["pytest with the unused plugin"].append(timed(folder))
            measured["one variant, empty store"].append(timed(folder, *node, VARIANT))
            measured["one variant again"].append(timed(folder, *node, VARIANT))
            measured["one original"].append(timed(folder, *node, ORIGINAL))
            shutil.rmtree(folder / "store")
    return {
        kind: Seconds(min(run.cpu for run in runs), min(run.wall for run in runs))
        for kind, runs in measured.items()
    }


def table(rounds: int) -> str:
    """Return the rows as a table in Markdown."""
    lines = ["| run | CPU | wall | CPU of pytest alone |", "| --- | --- | --- | --- |"]
    least = rows(rounds)
    alone = least["pytest without the plugin"]
    for kind, seconds in least.items():
        lines.append(
            f"| {kind} | {seconds.cpu:.3f} s | {seconds.wall:.2f} s | "
            f"{100 * seconds.cpu / alone.cpu:.1f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the start-up of pytest.")
    parser.add_argument("rounds", nargs="?", type=int, default=20)
    parser.add_argument("--save", action="store_true")
    chosen = parser.parse_args()
    rows_of_table = table(chosen.rounds)
    # Of the last minutes, in which the rounds ran. An idle machine has at most 1.
    _, load, _ = os.getloadavg()
    head = (
        f"startup: {datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, the fastest of {chosen.rounds} rounds, load average "
        f"{load:.1f}"
    )
    text = f"{head}\n\n{rows_of_table}\n"
    sys.stdout.write(text)
    if chosen.save:
        RESULT.write_text(text)


if __name__ == "__main__":
    main()
