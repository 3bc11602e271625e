"""Time the quickstart twice: from an empty store, then from the filled store.

    python benchmarks/quickstart.py

The script prints both times and the sampled numbers. The suite has 20 tasks with 1 + 3 x 4 prompts
each. A variant has 8 samples and an original 32, unless the suite's settings differ.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def timed_run(folder: Path) -> tuple[float, dict[str, int]]:
    """Run the quickstart with the store in `folder`. Return seconds and the record's usage."""
    record = folder / "run.json"
    started = time.perf_counter()
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--no-header"),
            *("--promptse-model", "tiny", "--promptse-store", str(folder)),
            *("--promptse-report", f"json:{record}", "example_suites/quickstart"),
        ],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - started
    found = json.loads(record.read_text())
    variants = sum(suite["n_measured"] for suite in found["suites"])
    return seconds, {"variants": variants, **found["usage"]}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("empty store", "second run"):
            seconds, usage = timed_run(Path(folder))
            print(
                f"{name}: {seconds:.1f} s, {usage['variants']} variants, "
                f"{usage['requests']} requests, {usage['cached']} completions from the store"
            )


if __name__ == "__main__":
    main()
