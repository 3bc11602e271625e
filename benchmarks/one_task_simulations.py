"""Errors of the gates of suites of one task, whose thresholds are figures of the true rates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import other_gate_simulations
from noiseless_simulations import true_figures as noiseless_figures
from simulated_models import DISTANCES, Sampling
from truth_simulations import TRUE_RATES, settable, simulated_task, true_figures

from pytest_promptse.run._gates import _figure
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._suite import score_suite
from pytest_promptse.store._run_log import PlannedGate

if TYPE_CHECKING:
    from truth_simulations import Drawn

    from pytest_promptse.scoring._scores import SuiteScore

GATES = {
    "AUC-E": "auc-e",
    "E(0.3)": "elasticity-d0.3",
    "drop": "drop",
    "squared sensitivity": "squared-sensitivity",
    "excess": "excess",
    "robust pass": "robust-pass",
    "pass^4": "pass-hat-4",
    "shortfall": "shortfall",
    "flips": "flips",
    "odds ratio": "odds-ratio",
    "pass@1": "pass-at-1",
}
"""The gates by figure. Pass@1 has an interval but no gate of a suite."""
_ROUNDING = 1e-9


def misses_of_one_task(
    name: str, plan: Sampling, *, suites: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Return how often each gate fails and passes wrongly.

    The intervals cover another run of the same prompts, so the thresholds are the true figures of
    the task. A figure that the task does not have decides nothing.
    """
    rng = generator(seed, "true rates", name, "1", plan.name)
    decided = {figure: np.zeros(2) for figure in GATES}
    for number in range(suites):
        drawn = TRUE_RATES[name](1, (len(DISTANCES), plan.variants), rng)
        task, copied = simulated_task(drawn, plan, rng)
        if copied:
            # Every gate of one task is inconclusive then.
            continue
        score = score_suite(
            [task],
            distances=DISTANCES,
            mode="promptse",
            weighting="uniform",
            seed=number,
            resamples=999,
            permutations=1,
        )
        for figure, value in _figures_of_one(drawn).items():
            decided[figure] += _decided(figure, score, value)
    return {
        figure: (float(fails) / suites, float(passes) / suites)
        for figure, (fails, passes) in decided.items()
    }


def _figures_of_one(drawn: Drawn) -> dict[str, float]:
    figures = {
        **true_figures(drawn),
        **other_gate_simulations.true_figures(drawn),
        **noiseless_figures(drawn),
    }
    p, v = float(drawn.original[0]), float(drawn.variants.mean())
    if p == v:
        figures["odds ratio"] = 1.0
    elif p < 1.0 and v < 1.0 and p > 0.0:
        figures["odds ratio"] = v / (1.0 - v) * (1.0 - p) / p
    return figures


def _decided(figure: str, score: SuiteScore, value: float) -> tuple[bool, bool]:
    """Return whether the gate of a figure fails and passes wrongly, if `value` is the true one."""
    distances = (DISTANCES[-1],) if figure == "E(0.3)" else DISTANCES
    planned = PlannedGate(place=0, name=GATES[figure], threshold=None, distances=distances)
    found = _figure(planned, score)
    if found.estimate.ci95 is None:
        return False, False
    less_is_better = found.metric.less_is_better
    threshold = settable(value) if less_is_better else value
    # A gate on the odds ratio is about losses.
    threshold = min(threshold, 1.0)
    low, high = found.estimate.ci95
    below, above = high < threshold - _ROUNDING, low > threshold + _ROUNDING
    fails, passes = (above, below) if less_is_better else (below, above)
    if found.noiseless is not None:
        limit = found.noiseless
        fails = fails and (limit > threshold if less_is_better else limit < threshold)
    return fails, passes and math.isclose(threshold, value)
