"""Requests and verdicts of drawing variants in rounds, compared with all variants at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from gate_simulations import truth_of
from scipy.stats import binom
from simulated_models import DISTANCES, Rates, Sampling, draw_tasks, measured_rates, simulated_suite

from pytest_promptse.scoring._elasticity import auc_e, elasticity
from pytest_promptse.scoring._gate import judge_gate
from pytest_promptse.scoring._intervals import (
    SIGNED,
    UNIT,
    drop_bounds,
    exact_interval,
    generator,
    mean_interval,
)
from pytest_promptse.scoring._samples import TaskSamples
from pytest_promptse.scoring._sequential import may_stop, planned_looks
from pytest_promptse.scoring._suite import score_suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gate_simulations import Effort

    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import Gate

# A task that is nearly always solved: share of variants that break it, and their pass rate.
SINGLE = {"never breaks": 0.0, "a quarter breaks": 0.25, "all break": 1.0}
_SOLVED, _BROKEN = 0.98, 0.1


@dataclass
class Count:
    """Suites judged with all variants at once and in rounds, and the completions of rounds."""

    suites: int = 0
    fixed_right: int = 0
    fixed_wrong: int = 0
    rounds_right: int = 0
    rounds_wrong: int = 0
    completions: float = 0.0

    def add(self, fixed: Gate, looks: Sequence[Gate], *, wanted: str, shares: list[float]) -> None:
        """Count one suite: its gate with all variants, and at each look of the rounds."""
        stopped = next(
            (at for at, gate in enumerate(looks) if may_stop([gate], mode="promptse")),
            len(looks) - 1,
        )
        self.suites += 1
        self.completions += shares[stopped]
        self.fixed_right += fixed.verdict == wanted
        self.fixed_wrong += fixed.verdict not in (wanted, "inconclusive")
        self.rounds_right += looks[stopped].verdict == wanted
        self.rounds_wrong += looks[stopped].verdict not in (wanted, "inconclusive")

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares of suites, right and wrong, fixed and in rounds, and of completions."""
        counts = (self.fixed_right, self.fixed_wrong, self.rounds_right, self.rounds_wrong)
        return tuple(count / self.suites for count in (*counts, self.completions))


def in_rounds(
    figure: str, population: str, gap: float, n: int, *, plan: Sampling, effort: Effort
) -> Count:
    """Judge a figure of suites whose threshold is `gap` above (+) or below (-) the true figure.

    The figure is ``AUC-E`` or ``drop``. At a gap of 0 every decision is wrong.
    """
    looks = planned_looks(plan.variants)
    rng = generator(effort.seed, "rounds", figure, population, str(gap), str(n), plan.name)
    is_drop = figure == "drop"
    if is_drop:
        rates = draw_tasks(population, plan, effort.truth // plan.variants, rng)
        threshold = float((rates.original[:, None, None] - rates.variants).mean()) + gap
    else:
        threshold = truth_of(population, plan, effort)["AUC-E"] + gap
    bounds = SIGNED if is_drop else UNIT
    count = Count()
    for _ in range(effort.suites // 4):
        p, v = measured_rates(draw_tasks(population, plan, n, rng), plan, rng)
        by_look = [
            (p[:, None, None] - v[..., :k]).mean(axis=(1, 2))
            if is_drop
            else auc_e(elasticity(p[:, None], v[..., :k]), DISTANCES)
            for k in looks
        ]

        def judged(values: Floats, of: int) -> Gate:
            r = effort.resamples
            unseen = drop_bounds(values) if is_drop else UNIT
            return judge_gate(
                "drop" if is_drop else "auc-e",
                float(values.mean()),
                threshold,
                ci95=mean_interval(values, bounds=bounds, resamples=r, looks=of, rng=rng),
                exact=exact_interval(values, bounds=unseen, resamples=r, looks=of, rng=rng),
                kind="confident",
                direction="at most" if is_drop else "at least",
            )

        count.add(
            judged(by_look[-1], 1),
            [judged(values, len(looks)) for values in by_look],
            wanted=_wanted(-gap if is_drop else gap),
            shares=_shares(plan),
        )
    return count


def single_in_rounds(task: str, gap: float, plan: Sampling, effort: Effort) -> Count:
    """Judge one task, with the threshold `gap` from the expected score of its planned variants."""
    looks = planned_looks(plan.variants)
    rng = generator(effort.seed, "single rounds", task, str(gap), plan.name)
    count = Count()
    shape = (1, len(DISTANCES), plan.variants)
    for number in range(effort.suites // 12):
        breaks = rng.random(shape) < SINGLE[task]
        rates = Rates(np.array([_SOLVED]), np.where(breaks, _BROKEN, _SOLVED))
        threshold = float(auc_e(1.0 - _loss(rates, plan), DISTANCES)) + gap
        [drawn] = simulated_suite(rates, plan, rng)
        gates = [
            _judged_single(drawn, k, threshold, plan, effort, looks=of, seed=number)
            for k, of in ((plan.variants, 1), *((k, len(looks)) for k in looks))
        ]
        count.add(gates[0], gates[1:], wanted=_wanted(gap), shares=_shares(plan))
    return count


def _judged_single(
    drawn: TaskSamples,
    variants: int,
    threshold: float,
    plan: Sampling,
    effort: Effort,
    *,
    looks: int,
    seed: int,
) -> Gate:
    score = score_suite(
        [
            TaskSamples(
                drawn.task_id,
                drawn.original,
                {d: group[:variants] for d, group in drawn.variants.items()},
            )
        ],
        distances=DISTANCES,
        mode="promptse",
        weighting="uniform",
        seed=seed,
        resamples=effort.resamples,
        permutations=1,
        looks=looks,
        planned=plan.variants,
    )
    return judge_gate("auc-e", score.auc_e, threshold, ci95=score.ci95, kind="confident")


def _loss(rates: Rates, plan: Sampling) -> Floats:
    """Return the expected difference of measured pass rates by distance, over all variants."""
    each = {rate: _expected_gap(rate, plan) for rate in (_SOLVED, _BROKEN)}
    losses: Floats = np.vectorize(each.get)(rates.variants[0]).mean(axis=1)
    return losses


def _expected_gap(rate: float, plan: Sampling) -> float:
    m, k = plan.original_samples, plan.samples
    original = binom.pmf(np.arange(m + 1), m, _SOLVED)
    variant = binom.pmf(np.arange(k + 1), k, rate)
    gaps = np.abs(np.arange(m + 1)[:, None] / m - np.arange(k + 1) / k)
    return float(original @ gaps @ variant)


def _wanted(gap: float) -> str:
    return "fail" if gap > 0 else "pass" if gap < 0 else ""


def _shares(plan: Sampling) -> list[float]:
    """Return the completions per task at each look, as shares of those with all variants."""

    def completions(variants: int) -> int:
        return plan.original_samples + len(DISTANCES) * variants * plan.samples

    looks = planned_looks(plan.variants)
    return [completions(k) / completions(plan.variants) for k in looks]
