"""Errors of gates that stop a suite early, against the figure that all planned variants have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from simulated_models import DISTANCES
from truth_simulations import (
    TRUTHS,
    decided_by,
    decisions,
    figures_of,
    sampled,
    simulated_task,
    truth_of,
)

from pytest_promptse.scoring._elasticity import area_weights
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._noise_floor import null_gap
from pytest_promptse.scoring._samples import TaskSamples
from pytest_promptse.scoring._scores import Estimate
from pytest_promptse.scoring._sequential import planned_looks
from pytest_promptse.scoring._suite import score_suite

if TYPE_CHECKING:
    from simulated_models import Sampling
    from truth_simulations import Drawn

    from pytest_promptse.scoring._samples import Bools
    from pytest_promptse.scoring._scores import SuiteScore

# The figures whose gates may stop a suite early.
STOPPING = ("AUC-E", "E(0.3)", "excess", "drop")
_METRICS = {"AUC-E": "auc_e", "excess": "excess", "drop": "drop"}
_LAST = DISTANCES[-1]


@dataclass(frozen=True, kw_only=True)
class EarlyErrors:
    """Shares of suites that a gate decides wrongly, with all variants at once and in rounds.

    The threshold is the expected figure of all planned variants, so every decision is wrong.
    """

    fixed_fails: float
    fixed_passes: float
    fails: float
    passes: float

    @property
    def text(self) -> str:
        """Failures and passes in per cent, in rounds and (in brackets) with all variants."""
        rounds, fixed = (self.fails, self.passes), (self.fixed_fails, self.fixed_passes)
        shown = [f"{100 * fails:.1f} / {100 * passes:.1f}" for fails, passes in (rounds, fixed)]
        return f"{shown[0]} ({shown[1]})"


def early_errors(
    name: str, n: int, plan: Sampling, *, suites: int, size: int, seed: int
) -> dict[str, EarlyErrors]:
    """Measure how often each gate that may stop early is wrong.

    Figures of several tasks are over tasks of the kind of model, those of one task over reruns of
    its prompts. With fewer than ten tasks, the package widens the intervals of early looks. This is
    simulated for one task only, so others of fewer than ten err at least as often as in the
    package.
    """
    rng = generator(seed, "early errors", name, str(n), plan.name)
    if n == 1:
        decided = _of_one_task(name, plan, suites=suites, rng=rng)
    else:
        truth = truth_of(name, plan, size=size, seed=seed)
        drawn = TRUTHS[name](suites * n, (len(DISTANCES), plan.variants), rng)
        p, v, equal_pairs = sampled(drawn, plan, rng)
        by_case = [
            (figures_of(p, v[..., :k], plan, equal_pairs), looks) for k, looks in _cases(plan)
        ]
        decided = {
            figure: np.stack(
                [
                    decisions(
                        figure,
                        found[figure].reshape(suites, n),
                        truth[figure],
                        plan,
                        rng,
                        looks=looks,
                    )
                    for found, looks in by_case
                ]
            )
            for figure in STOPPING
        }
    return {figure: _errors(of_figure) for figure, of_figure in decided.items()}


def _cases(plan: Sampling) -> list[tuple[int, int]]:
    """Return the number of variants and of looks: with all variants at once, then at each look."""
    looks = planned_looks(plan.variants)
    return [(plan.variants, 1), *((k, len(looks)) for k in looks)]


def _errors(decided: Bools) -> EarlyErrors:
    """Return the shares of wrong decisions; the first look that decides counts.

    `decided`, shape (1 + J, 2, S), is whether each of S suites fails and passes with all variants
    at once, then at each of J looks.
    """
    at_looks = decided[1:]
    first = at_looks.any(axis=1).argmax(axis=0)
    fails, passes = at_looks[first, :, np.arange(first.size)].mean(axis=0)
    fixed_fails, fixed_passes = decided[0].mean(axis=1)
    return EarlyErrors(
        fixed_fails=float(fixed_fails),
        fixed_passes=float(fixed_passes),
        fails=float(fails),
        passes=float(passes),
    )


def _of_one_task(
    name: str, plan: Sampling, *, suites: int, rng: np.random.Generator
) -> dict[str, Bools]:
    cases = _cases(plan)
    decided = {figure: np.zeros((len(cases), 2, suites), dtype=bool) for figure in STOPPING}
    for number in range(suites):
        drawn = TRUTHS[name](1, (len(DISTANCES), plan.variants), rng)
        truth = _expected(drawn, plan)
        task, copied = simulated_task(drawn, plan, rng)
        if copied:
            continue
        for case, (variants, looks) in enumerate(cases):
            first = {d: group[:variants] for d, group in task.variants.items()}
            score = score_suite(
                [TaskSamples(task.task_id, task.original, first)],
                distances=DISTANCES,
                mode="promptse",
                weighting="uniform",
                seed=number,
                permutations=1,
                resamples=999,
                looks=looks,
                planned=plan.variants,
            )
            for figure, threshold in truth.items():
                estimate = _estimate(figure, score)
                decided[figure][case, :, number] = decided_by(figure, estimate, threshold)
    return decided


def _estimate(figure: str, score: SuiteScore) -> Estimate:
    if figure == "E(0.3)":
        return Estimate(value=score.elasticity[_LAST], ci95=score.elasticity_ci95[_LAST])
    return score.estimates[_METRICS[figure]]


def _expected(drawn: Drawn, plan: Sampling) -> dict[str, float]:
    """Return the expected figures of one task with all variants, samples drawn independently."""
    from scipy.stats import binom  # noqa: PLC0415 - scipy.stats takes its time

    m, k = plan.original_samples, plan.samples
    gaps = np.abs(np.arange(m + 1)[:, None] / m - np.arange(k + 1) / k)
    null = np.array([[null_gap(m, k, i + j) for j in range(k + 1)] for i in range(m + 1)])
    original = binom.pmf(np.arange(m + 1), m, drawn.original[0])
    variants = binom.pmf(np.arange(k + 1), k, drawn.variants[0][..., None])
    w = area_weights(DISTANCES)
    loss = (variants @ (original @ gaps)).mean(axis=-1)
    noise = (variants @ (original @ null)).mean(axis=-1)
    return {
        "AUC-E": float(1.0 - loss @ w),
        "E(0.3)": float(1.0 - loss[-1]),
        "excess": float((loss - noise) @ w),
        "drop": float(drawn.original[0] - drawn.variants[0].mean()),
    }
