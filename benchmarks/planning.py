"""Probabilities that ``promptse plan`` states, and those of simulated suites."""

from __future__ import annotations

from rerun_simulations import drop_over_reruns
from simulated_models import CI, DISTANCES

from pytest_promptse.scoring._intervals import (
    SIGNED,
    drop_bounds,
    exact_interval,
    generator,
    mean_interval,
)
from pytest_promptse.scoring._planning import DropPlan

CASES = (
    (1, True, 0.2),
    (1, True, 0.1),
    (4, True, 0.1),
    (4, True, 0.05),
    (8, True, 0.05),
    (8, False, 0.1),
    (20, False, 0.2),
    (50, False, 0.1),
)


def simulate(
    plan: DropPlan, drop: float, threshold: float, *, suites: int, seed: int
) -> tuple[float, float]:
    """Return how often the gate fails and passes a model that truly loses `drop`."""
    rng = generator(seed, str(plan), str(drop))
    shape = (plan.tasks, len(DISTANCES), plan.variants // len(DISTANCES))
    fails = passes = 0
    for number in range(suites):
        p = rng.binomial(plan.original_samples, plan.pass_rate, plan.tasks) / plan.original_samples
        v = rng.binomial(plan.samples, plan.pass_rate - drop, shape) / plan.samples
        if plan.over_reruns:
            ci95 = exact = drop_over_reruns(p, v, CI, number)
        else:
            values = p - v.mean(axis=(1, 2))
            inner = mean_interval(values, bounds=SIGNED, resamples=999, rng=rng)
            unseen = drop_bounds(values)
            outer = exact_interval(values, bounds=unseen, resamples=999, rng=rng)
            assert inner is not None
            assert outer is not None
            ci95, exact = inner, outer
        fails += min(ci95[0], exact[0]) > threshold
        passes += max(ci95[1], exact[1]) <= threshold
    return fails / suites, passes / suites


def stated_and_simulated(
    case: tuple[int, bool, float], rate: float, *, suites: int, seed: int
) -> list[tuple[str, ...]]:
    """Return the cells of a row for no loss, and of one for the loss that fails in 80 %."""
    tasks, reruns, threshold = case
    plan = DropPlan(
        tasks=tasks,
        variants=CI.variants * len(DISTANCES),
        samples=CI.samples,
        original_samples=CI.original_samples,
        reruns=reruns,
        pass_rate=rate,
    )
    start = (str(tasks), "reruns" if reruns else "tasks", f"{threshold:g}", f"{rate:g}")
    rows: list[tuple[str, ...]] = []
    for drop in (0.0, plan.detects(threshold)):
        if drop is None:
            continue
        stated = plan.fails(drop, threshold) if drop else plan.passes(threshold)
        fails, passes = simulate(plan, drop, threshold, suites=suites, seed=seed)
        event, share = ("fails", fails) if drop else ("passes", passes)
        cells = (f"{drop:.2f}", event, f"{100 * stated:.0f} %", f"{100 * share:.0f} %")
        rows.append((*start, *cells))
    return rows
