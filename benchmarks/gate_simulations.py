"""Gates on simulated models, with one function for each question."""

from __future__ import annotations

from collections import defaultdict
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

from pytest_promptse.scoring._gate import judge_gate, samples_needed
from pytest_promptse.scoring._intervals import (
    SIGNED,
    UNIT,
    exact_interval,
    generator,
    mean_interval,
)
from pytest_promptse.scoring._noise_floor import pair_gaps
from pytest_promptse.scoring._softexec import log_weights
from pytest_promptse.scoring._suite import score_suite
from pytest_promptse.scoring._task_score import centred

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.scoring._gate import GateKind
    from pytest_promptse.scoring._samples import Floats, Mode, Weighting

_KINDS: tuple[GateKind, ...] = ("point", "confident")


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The size of the simulations, and their seed."""

    suites: int
    resamples: int
    truth: int
    scored: int
    seed: int = 0


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
    rng = generator(effort.seed, "truth", population, plan.name)
    left, parts = effort.truth // plan.variants, []
    while left > 0:
        n = min(left, 20_000)
        values = measure(draw_tasks(population, plan, n, rng), plan, rng)
        parts.append({name: float(v.mean()) for name, v in values.items()})
        left -= n
    return {name: float(np.mean([part[name] for part in parts])) for name in parts[0]}


@dataclass(frozen=True, kw_only=True)
class Misses:
    """Shares of suites in which a confident gate is wrong if its threshold is the true figure.

    It fails falsely if the interval is on the wrong side of the true figure, and passes falsely if
    it is on the right side. In all other suites the interval covers the true figure.
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
    """One suite of fixed tasks that is sampled repeatedly: shares of its runs.

    A gate *flips* between two runs if one of them fails and the other does not.
    """

    point_fails: float
    point_flips: float
    confident_fails: float
    confident_passes: float
    confident_flips: float


# Runs of each suite.
_RERUNS = 20


def reruns(
    population: str, n: int, plan: Sampling, effort: Effort, *, gaps: Sequence[float]
) -> dict[float, Reruns]:
    """Measure how often the gate of AUC-E fails, and how often a rerun changes the outcome.

    The threshold of a suite is `gap` below the expectation of its own tasks and variants. Each
    suite is sampled 20 times, and outcomes of consecutive runs are compared.
    """
    rng = generator(effort.seed, "rerun", population, str(n), plan.name)
    verdicts: dict[tuple[GateKind, float], list[list[str]]] = defaultdict(list)
    for _ in range(max(10, effort.suites // _RERUNS)):
        rates = draw_tasks(population, plan, n, rng)
        runs = [measure(rates, plan, rng)["AUC-E"] for _ in range(_RERUNS)]
        expected = float(np.mean(runs))
        intervals = [
            (
                interval("AUC-E", values, effort.resamples, rng),
                exact_interval(values, resamples=effort.resamples, rng=rng),
            )
            for values in runs
        ]
        for kind in _KINDS:
            for gap in gaps:
                gates = [
                    judge_gate(
                        "auc-e",
                        float(values.mean()),
                        expected - gap,
                        ci95=ci95,
                        exact=exact,
                        kind=kind,
                    )
                    for values, (ci95, exact) in zip(runs, intervals, strict=True)
                ]
                verdicts[kind, gap].append([gate.verdict or "" for gate in gates])

    def share(kind: GateKind, gap: float, verdict: str) -> float:
        return float(np.mean([[v == verdict for v in suite] for suite in verdicts[kind, gap]]))

    def flips(kind: GateKind, gap: float) -> float:
        suites = verdicts[kind, gap]
        pairs = [(a == "fail") != (b == "fail") for suite in suites for a, b in pairwise(suite)]
        return float(np.mean(pairs))

    return {
        gap: Reruns(
            point_fails=share("point", gap, "fail"),
            point_flips=flips("point", gap),
            confident_fails=share("confident", gap, "fail"),
            confident_passes=share("confident", gap, "pass"),
            confident_flips=flips("confident", gap),
        )
        for gap in gaps
    }


@dataclass(frozen=True, kw_only=True)
class Bias:
    """Mean and standard error of a figure whose expectation should be 0."""

    mean: float
    error: float


def pass_rate_bias(plan: Sampling, effort: Effort) -> dict[str, Bias]:
    """Measure the mean excess sensitivity of pass rates if variants have no effect."""
    rng = generator(effort.seed, "bias", plan.name)
    values = measure(draw_tasks("stable", plan, effort.truth // plan.variants, rng), plan, rng)
    return {
        name: Bias(
            mean=float(values[name].mean()),
            error=float(values[name].std(ddof=1) / np.sqrt(values[name].size)),
        )
        for name in ("excess", "light excess")
    }


def centring_bias(weighting: Weighting, plan: Sampling, effort: Effort) -> Bias:
    """Measure the bias of SoftExec's excess that comes from removing the level of each prompt.

    Variants have no effect here and all prompts have one level, so a shuffle of the unchanged
    log-weights is exact. The bias is the difference from the same shuffles of centred log-weights.
    It is the same for prompts of any levels, since centring removes these exactly.
    """
    rng = generator(effort.seed, "centring", weighting, plan.name)
    found = []
    for number in range(effort.scored):
        [task] = simulated_suite(draw_tasks("stable", plan, 1, rng), plan, rng)
        if task.original is None:
            raise SystemExit("a simulated task without an original")
        prompts = [task.original, *(one for group in task.variants.values() for one in group)]
        raw = [z for one in prompts if (z := log_weights(one, weighting)) is not None]
        passed = [one.passed for one in prompts]
        null = []
        for shown in (raw, centred(raw, passed)):
            rows = np.stack([np.concatenate((shown[0], one)) for one in shown[1:]])
            solved = np.stack([np.concatenate((passed[0], one)) for one in passed[1:]])
            shuffles = generator(effort.seed, "shuffles", str(number))
            gaps = pair_gaps(rows, solved, plan.original_samples, 99, shuffles)
            null.append(float(gaps.mean()))
        found.append(null[0] - null[1])
    return Bias(
        mean=float(np.mean(found)), error=float(np.std(found, ddof=1) / np.sqrt(len(found)))
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
    rng = generator(effort.seed, "single", name, plan.name)
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
    """Return the ceiling, a higher threshold, the samples by the rule, and their ceiling."""
    rng = generator(effort.seed, "ceiling", plan.name)
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
