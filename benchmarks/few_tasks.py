"""Verdicts of a gate on every task of a small suite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simulated_models import DISTANCES, Rates, Sampling, simulated_suite

from pytest_promptse.scoring._gate import judge_gate
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._suite import score_suite


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """Shares of suites: any task fails, and all tasks pass."""

    fails: float
    passes: float


def every_task(
    n: int, drop: float, floor: float, plan: Sampling, *, suites: int, resamples: int, seed: int
) -> Outcomes:
    """Judge the AUC-E of each of n tasks confidently, at a level divided by n.

    All prompts have a pass rate of 0.9, but the variants of the first task have `drop` less.
    """
    rng = generator(seed, "few tasks", str(n), str(drop), plan.name)
    rates = Rates(np.full(n, 0.9), np.full((n, len(DISTANCES), plan.variants), 0.9))
    rates.variants[0] -= drop
    fails = passes = 0
    for number in range(suites):
        verdicts = []
        for task in simulated_suite(rates, plan, rng):
            score = score_suite(
                [task],
                distances=DISTANCES,
                mode="promptse",
                weighting="uniform",
                seed=number,
                resamples=resamples,
                permutations=1,
                looks=n,
            )
            gate = judge_gate("auc-e", score.auc_e, floor, ci95=score.ci95, kind="confident")
            verdicts.append(gate.verdict)
        fails += "fail" in verdicts
        passes += set(verdicts) == {"pass"}
    return Outcomes(fails=fails / suites, passes=passes / suites)
