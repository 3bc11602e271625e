"""Measure AUC-E of the quickstart's tasks with the embedded model under several seeds.

    python benchmarks/quickstart_seeds.py [--seeds 5]

For each task the script prints AUC-E under seed 0, and the lowest and highest over the seeds. Then
it prints the mean over all tasks, E(d), and the gates that did not pass. The table in
docs/explanation/tiny.md and the thresholds of ``example_suites/quickstart`` follow from it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from pytest_promptse import Record

ROOT = Path(__file__).resolve().parent.parent


def run(seed: int, folder: Path) -> Record:
    """Run the quickstart under a seed and return its record."""
    path = folder / "run.json"
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--no-header", "--promptse-model", "tiny"),
            *("--promptse-store", str(folder), "--promptse-seed", str(seed)),
            *("--promptse-report", f"json:{path}", "example_suites/quickstart"),
        ],
        cwd=ROOT,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    return Record.load(path)


def _measured(value: float | None) -> float:
    if value is None:
        raise SystemExit("a task of the quickstart was not measured; read the run's output")
    return value


def main() -> None:
    """Run the quickstart under each seed and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (default: 5)")
    seeds = parser.parse_args().seeds
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    means: list[float] = []
    by_distance: defaultdict[str, list[float]] = defaultdict(list)
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            record = run(seed, Path(folder))
        tasks = record.tasks
        for task in tasks:
            by_task[task.id].append(_measured(task.auc_e))
        means.append(fmean(_measured(task.auc_e) for task in tasks))
        for distance in tasks[0].elasticity:
            values = [_measured(task.elasticity[distance]) for task in tasks]
            by_distance[distance].append(fmean(values))
        for suite in record.suites:
            for gate in suite.gates:
                if gate.verdict is not None and gate.verdict != "pass":
                    print(f"seed {seed}: {suite.id} {gate.message}")
    for name, values in sorted(by_task.items(), key=lambda item: -item[1][0]):
        print(f"{name:24} {values[0]:.2f}  {min(values):.2f} to {max(values):.2f}")
    print(f"{'mean of all tasks':24} {means[0]:.2f}  {min(means):.2f} to {max(means):.2f}")
    print("E(d) under seed 0:", {d: round(values[0], 2) for d, values in by_distance.items()})


if __name__ == "__main__":
    main()
