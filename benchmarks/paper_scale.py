"""Run HumanEval at the paper's scale from existing completions, from collection to report.

    python benchmarks/paper_scale.py [--tasks N] [--workers N]

The run has 164 tasks with an original and 30 variants at each of 3 distances: 14,924 prompts with
16 completions each. 4 of these are distinct, and no two prompts have the same. So there are 238,784
completions and 59,696 programs to judge, of which a quarter is wrong. The script prints the time,
the rate and the peak memory of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytest_promptse.tasks import humaneval
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._variant import original

SAMPLES, DISTINCT, PER_DISTANCE = 16, 4, 30
SUITE = """
import pytest
from pytest_promptse.tasks import humaneval

@pytest.mark.promptse(humaneval.tasks(limit={tasks}))
def test_humaneval(task, candidate):
    task.check(candidate)
"""


def write_completions(path: Path, tasks: int) -> int:
    """Write the completions of every variant to `path`. Return their number."""
    written = 0
    with path.open("w") as file:
        for task in humaneval.tasks(limit=tasks):
            body = (task.reference or "").removeprefix(task.prompt)
            made = generate(task, Selection(per_distance=PER_DISTANCE)).variants
            for number, variant in enumerate((original(task.id, task.prompt), *made)):
                for index in range(SAMPLES):
                    kind = index % DISTINCT
                    program = (
                        f"{task.prompt}    _ = ({number}, {kind})\n{body}"
                        if kind
                        else f"def {task.entry_point}(*_):\n    return {number}\n"
                    )
                    line = {
                        "task_id": task.id,
                        "variant_id": variant.id,
                        "index": index,
                        "text": f"```python\n{program}```\n",
                    }
                    file.write(json.dumps(line) + "\n")
                    written += 1
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=164)
    parser.add_argument("--workers", type=int, default=0, help="xdist workers; 0 is none")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_humaneval.py").write_text(SUITE.format(tasks=chosen.tasks))
        completions = write_completions(folder / "answers.jsonl", chosen.tasks)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-n", str(chosen.workers)] if chosen.workers else ["-p", "no:xdist"]
        command += ["--promptse-model", "replay:answers.jsonl", "--promptse-preset", "paper"]
        command += ["--promptse-original-samples", str(SAMPLES)]
        command += ["--promptse-report", "json:run.json"]
        started = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
        record = json.loads((folder / "run.json").read_text())
    [suite] = record["suites"]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{suite['n_measured']} variants, {completions} completions: {seconds:.0f} s, "
        f"{completions / seconds:.0f} completions/s, peak {peak:.0f} MiB in the largest process; "
        f"pass@1 {suite['pass_at_1']:.3f}, AUC-E {suite['auc_e']:.3f}"
    )
    print(f"cores: {len(os.sched_getaffinity(0))}, load: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
