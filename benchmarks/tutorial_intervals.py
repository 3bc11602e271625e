"""Measure the coverage of the tutorial's intervals, and write the figures into its page.

    python benchmarks/tutorial_intervals.py [--seeds 10] [--check]

The tutorial's test is run with several seeds. Another seed draws other variants and other samples.
The table has the smallest and the largest AUC-E over the seeds, the interval of the first seed, and
the number of other runs inside it. With ``--check`` the page is not written, and the exit code is 1
if its figures differ.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial" / "first-gate.md"
FILES = ("test_slug.py", "strings.promptse.yaml")
_BLOCK = re.compile(r"(<!-- measured: seeds -->\n).*?(<!-- end: seeds -->)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """AUC-E of one run, with its 95 % interval."""

    auc_e: float
    low: float
    high: float


def file_of_page(name: str) -> str:
    """Return the first block of the tutorial that a reader saves as `name`."""
    block = rf"^```\w+\n(# {re.escape(name)}\n.*?)^```$"
    found = re.search(block, PAGE.read_text(), re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit(f"{PAGE}: no block begins with '# {name}'")
    return found[1]


def run(name: str, seed: int) -> Outcome:
    """Run a file of the page with the embedded model."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_text(file_of_page(name))
        record = Path(folder) / "run.json"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name),
                *("--promptse-model", "tiny", "--promptse-seed", str(seed)),
                *("--promptse-report", f"json:{record}"),
            ],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
        )
        if not record.exists():
            raise SystemExit(done.stdout + done.stderr)
        [suite] = json.loads(record.read_text())["suites"]
    low, high = suite["ci95"]
    return Outcome(auc_e=suite["auc_e"], low=low, high=high)


def row(label: str, outcomes: list[Outcome]) -> str:
    """Return a line of the table."""
    first, *others = outcomes
    figures = sorted(each.auc_e for each in outcomes)
    inside = sum(first.low <= each.auc_e <= first.high for each in others)
    return (
        f"| {label} | {figures[0]:.2f} to {figures[-1]:.2f} | "
        f"{first.auc_e:.2f} ({first.low:.2f} to {first.high:.2f}) | {inside} of {len(others)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    head = f"| suite | AUC-E of {chosen.seeds} seeds | seed 0, with its interval |"
    lines = [f"{head} other seeds inside it |", "| --- | --- | --- | --- |"]
    lines += [row(name, [run(name, seed) for seed in range(chosen.seeds)]) for name in FILES]
    text = PAGE.read_text()
    table = "\n".join(lines)
    changed = _BLOCK.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text)
    if chosen.check:
        sys.exit(changed != text)
    PAGE.write_text(changed)


if __name__ == "__main__":
    main()
