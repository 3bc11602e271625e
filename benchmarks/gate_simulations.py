"""What gates do on simulated models, each question a function of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from simulated_models import (
    DISTANCES,
    Rates,
    Sampling,
    draw_tasks,
    measure,
    simulated_suite,
)

from pytest_promptse.scoring.gate import judge_gate, samples_needed
from pytest_promptse.scoring.intervals import (
    SIGNED,
    UNIT,
    exact_interval,
    generator,
    mean_interval,
)
from pytest_promptse.scoring.suite import score_suite

if TYPE_CHECKING:
    from pytest_promptse.scoring.samples import Floats, Mode, Weighting


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much a run of this script computes."""

    suites: int
    resamples: int
    truth: int
    scored: int


def interval(
    figure: str, values: Floats, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the suite's interval of one figure."""
    bounds = SIGNED if "excess" in figure else UNIT
    found = mean_interval(values, bounds=bounds, resamples=resamples, rng=rng)
    assert found is not None
    return found


def truth_of(population: str, plan: Sampling, effort: Effort) -> dict[str, float]:
    """Return the expectation of every figure over tasks and samples."""
    rng = generator(1, "truth", population, plan.name)
    left, parts = effort.truth // plan.variants, []
    while left > 0:
        n = min(left, 20_000)
        values = measure(draw_tasks(population, plan, n, rng), plan, rng)
        parts.append({name: float(v.mean()) for name, v in values.items()})
        left -= n
    return {name: float(np.mean([part[name] for part in parts])) for name in parts[0]}


@dataclass(frozen=True, kw_only=True)
class Misses:
    """Shares of suites in which a confident gate is wrong when its threshold is the truth.

    It fails for no reason where the interval lies on the wrong side of the truth, and passes for
    no reason where it lies on the right side; in all other suites the interval covers.
    """

    fails: float
    passes: float

    @property
    def text(self) -> str:
        """Coverage with the two kinds of misses."""
        covered = 100 * (1 - self.fails - self.passes)
        return f"{covered:.1f} ({100 * self.fails:.1f} / {100 * self.passes:.1f})"


def _misses(above: int, below: int, suites: int, *, less_is_better: bool) -> Misses:
    if less_is_better:
        above, below = below, above
    return Misses(fails=below / suites, passes=above / suites)


@dataclass(frozen=True, kw_only=True)
class Reruns:
    """One suite of fixed tasks asked again and again, its threshold at its expectation."""

    point_fails: float
    point_flips: float
    confident_fails: float
    confident_flips: float


def reruns(population: str, n: int, plan: Sampling, effort: Effort) -> Reruns:
    """Measure how often the gate fails, and how often a rerun turns pass into fail or back."""
    rng = generator(3, "rerun", population, str(n), plan.name)
    verdicts: dict[str, list[list[str]]] = {"point": [], "confident": []}
    suites = max(10, effort.suites // 40)
    for _ in range(suites):
        rates = draw_tasks(population, plan, n, rng)
        runs = [measure(rates, plan, rng)["AUC-E"] for _ in range(40)]
        threshold = float(np.mean(runs))
        found: dict[str, list[str]] = {"point": [], "confident": []}
        for values in runs:
            ci95 = interval("AUC-E", values, effort.resamples, rng)
            exact = exact_interval(values, resamples=effort.resamples, rng=rng)
            for kind, into in found.items():
                gate = judge_gate(
                    "auc-e",
                    float(values.mean()),
                    threshold,
                    ci95=ci95,
                    exact=exact,
                    kind="point" if kind == "point" else "confident",
                )
                into.append(gate.verdict or "")
        for kind, into in found.items():
            verdicts[kind].append(into)

    def fails(kind: str) -> float:
        return float(np.mean([[v == "fail" for v in suite] for suite in verdicts[kind]]))

    def flips(kind: str) -> float:
        pairs = [{a, b} == {"pass", "fail"} for s in verdicts[kind] for a, b in pairwise(s)]
        return float(np.mean(pairs))

    return Reruns(
        point_fails=fails("point"),
        point_flips=flips("point"),
        confident_fails=fails("confident"),
        confident_flips=flips("confident"),
    )


@dataclass(frozen=True, kw_only=True)
class Bias:
    """Mean and standard error of what ought to be 0."""

    mean: float
    error: float


def pass_rate_bias(plan: Sampling, effort: Effort) -> dict[str, Bias]:
    """Measure the mean excess sensitivity of pass rates where variants have no effect."""
    rng = generator(5, "bias", plan.name)
    values = measure(draw_tasks("stable", plan, effort.truth // plan.variants, rng), plan, rng)
    return {
        name: Bias(
            mean=float(values[name].mean()),
            error=float(values[name].std(ddof=1) / np.sqrt(values[name].size)),
        )
        for name in ("excess", "light excess")
    }


def softexec_bias(
    weighting: Weighting, plan: Sampling, effort: Effort, *, level: float = 0.0
) -> Bias:
    """Measure the mean excess sensitivity of SoftExec where variants have no effect.

    The log-probabilities of each prompt are lowered by a constant of its own, drawn with standard
    deviation `level` in nats.
    """
    excess = []
    for number in range(effort.scored):
        rng = generator(6, "softexec", weighting, plan.name, str(level), str(number))
        tasks = simulated_suite(draw_tasks("stable", plan, 20, rng), plan, rng, level=level)
        score = score_suite(
            tasks,
            distances=DISTANCES,
            mode="promptse",
            weighting=weighting,
            seed=number,
            interval=False,
            permutations=199,
        )
        assert score.excess is not None
        excess.append(score.excess)
    return Bias(
        mean=float(np.mean(excess)), error=float(np.std(excess, ddof=1) / np.sqrt(len(excess)))
    )


SINGLE = {
    "always solved": (0.99, 0.99),
    "stable at 0.9": (0.9, 0.9),
    "stable at 0.5": (0.5, 0.5),
    "variants 0.1 lower": (0.9, 0.8),
    "variants 0.3 lower": (0.95, 0.65),
}


def single_task(name: str, mode: Mode, plan: Sampling, effort: Effort) -> Misses:
    """Measure the coverage of the interval of a suite of one task over reruns of that task."""
    q, lower = SINGLE[name]
    rates = Rates(np.array([q]), np.full((1, len(DISTANCES), plan.variants), lower))
    rng = generator(7, "single", name, plan.name)
    figure = "AUC-E" if mode == "promptse" else "light AUC-E"
    size = effort.truth // plan.variants // 4
    many = Rates(np.full(size, q), np.full((size, len(DISTANCES), plan.variants), lower))
    truth = float(measure(many, plan, rng)[figure].mean())
    above = below = 0
    suites = effort.suites // 3
    for number in range(suites):
        score = score_suite(
            simulated_suite(rates, plan, rng),
            distances=DISTANCES,
            mode=mode,
            weighting="uniform",
            seed=number,
            resamples=effort.resamples,
            permutations=1,
        )
        assert score.ci95 is not None
        above += score.ci95[0] > truth + 1e-12
        below += score.ci95[1] < truth - 1e-12
    return _misses(above, below, suites, less_is_better=False)


def ceiling_rule(plan: Sampling, effort: Effort) -> tuple[float, float, int, float]:
    """Return ceiling, a threshold above it, the samples the rule asks for, and what they give."""
    rng = generator(8, "ceiling", plan.name)
    size = effort.truth // plan.variants // 4
    ceiling = float(measure(draw_tasks("stable", plan, size, rng), plan, rng)["null"].mean())
    threshold = 1.0 - (1.0 - ceiling) / 2.0
    needed = samples_needed(ceiling, threshold, plan.samples)
    assert needed is not None
    factor = needed / plan.samples
    more = replace(plan, samples=needed, original_samples=round(plan.original_samples * factor))
    size = max(500, size // needed)
    reached = float(measure(draw_tasks("stable", more, size, rng), more, rng)["null"].mean())
    return ceiling, threshold, needed, reached
