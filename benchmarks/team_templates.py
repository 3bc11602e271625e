"""Rank the templates of ``example_suites/team_templates`` under several seeds.

    python benchmarks/team_templates.py [--seeds 4] [--store DIR]

For each seed the script prints the Pareto set and the significant differences. For each template it
prints the range of its figures over the seeds. The suite's threshold is set below the lowest AUC-E.
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
FIGURES = ("pass_at_1", "auc_e", "excess", "tokens_per_solved")


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
    [found] = json.loads(record.read_text())["rankings"]
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    seen: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seeds):
            found = ranking(seed, given.store or Path(folder))
            pareto = [one["template"] for one in found["templates"] if one["pareto"]]
            print(f"seed {seed}: {found['n_tasks']} tasks, Pareto set {', '.join(pareto)}")
            for one in found["differences"]:
                if one["real"]:
                    worse = one["other"] if one["better"] == one["template"] else one["template"]
                    print(f"  {one['metric']}: {one['better']} better than {worse}")
            for one in found["templates"]:
                seen[one["template"]].append(one)
    for template, ranked in seen.items():
        ranges = []
        for figure in FIGURES:
            values = [one[figure] for one in ranked if one[figure] is not None]
            ranges.append(f"{figure} {min(values):.2f} to {max(values):.2f}")
        print(f"{template}: {', '.join(ranges)}")


if __name__ == "__main__":
    main()
