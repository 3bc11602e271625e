"""Time scoring on simulated suites of several sizes, including nulls, p-values and intervals.

``python benchmarks/scoring_speed.py`` prints wall-clock and processor
seconds, and peak memory.
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import numpy as np
from simulated_models import CI, DISTANCES, PAPER, draw_tasks, simulated_suite

from pytest_promptse.scoring._suite import score_suite

if TYPE_CHECKING:
    from pytest_promptse.scoring._samples import Mode, Weighting

SIZES = ((20, CI), (164, PAPER))
WAYS: tuple[tuple[Mode, Weighting], ...] = (
    ("light", "sum"),
    ("promptse", "uniform"),
    ("promptse", "sum"),
)


def main() -> None:
    """Score each suite in each way."""
    for n, plan in SIZES:
        rng = np.random.default_rng(0)
        tasks = simulated_suite(draw_tasks("stable", plan, n, rng), plan, rng)
        for mode, weighting in WAYS:
            started, busy = time.perf_counter(), time.process_time()
            score_suite(tasks, distances=DISTANCES, mode=mode, weighting=weighting)
            took, busy = time.perf_counter() - started, time.process_time() - busy
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            variants = 1 + len(DISTANCES) * plan.variants
            print(
                f"{n:4} tasks x {variants} variants x {plan.samples} samples, {mode}/{weighting}: "
                f"{took:.2f} s ({busy:.2f} s of processor), peak {peak} MB"
            )


if __name__ == "__main__":
    main()
