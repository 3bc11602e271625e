"""Rank the templates of ``example_suites/team_templates`` under several seeds.

    python benchmarks/team_templates.py [--seeds 4] [--store DIR]

For each seed the script prints the order of the templates and the differences that are separated.
For each template it prints the range of its figures over the seeds. The suite's threshold is set
below the lowest AUC-E.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SUITE = "example_suites/team_templates"
FIGURES = ("pass_at_1", "reworded_pass", "drop", "auc_e")


def ranking(seed: int, store: Path) -> dict[str, Any]:
    """Run the suite under a seed and return the ranking in its record."""
    record = store / "run.json"
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--no-header", "--promptse-model", "tiny"),
            *("--promptse-seed", str(seed), "--promptse-store", str(store)),
            *("--promptse-report", f"json:{record}", SUITE),
        ],
        cwd=ROOT,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    [made] = json.loads(record.read_text())["rankings"]
    return dict(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    seen: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seeds):
            made = ranking(seed, given.store or Path(folder))
            order = [f"{entry['name']} ({entry['standing']})" for entry in made["entries"]]
            print(f"seed {seed}: {made['n_tasks']} tasks, {', '.join(order)}")
            for pair in made["differences"]:
                if pair["better"]:
                    worse = pair["other"] if pair["better"] == pair["name"] else pair["name"]
                    print(f"  {pair['metric']}: {pair['better']} better than {worse}")
            for entry in made["entries"]:
                tokens = {"tokens_per_solved": entry["tokens_per_solved"]}
                seen[entry["name"]].append({**entry["figures"], **tokens})
    for template, of_seeds in seen.items():
        ranges = []
        for figure in (*FIGURES, "tokens_per_solved"):
            values = [figures[figure] for figures in of_seeds if figures[figure] is not None]
            ranges.append(f"{figure} {min(values):.2f} to {max(values):.2f}")
        print(f"{template}: {', '.join(ranges)}")


if __name__ == "__main__":
    main()
