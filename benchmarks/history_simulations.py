"""Error rate and power of the change points of ``promptse history``, on simulated nights.

Every course is a suite of 8 tasks with its own true pass rates, measured 60 times with fresh
completions. In a changing course the variants of every task lose 0.1 at night 31. Each night is
tested as it comes, so the delay is the one that a team would see.

    python benchmarks/history_simulations.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simulated_models import DISTANCES

from pytest_promptse.compare._courses import courses_of
from pytest_promptse.compare._history import RunEntry, entry_of
from pytest_promptse.record._schema import SCHEMA, Record, SuiteRecord, TaskRecord, UsageRecord
from pytest_promptse.store._measured_variant import VariantRecord

COURSES, RUNS, TASKS, DROP, CHANGE, WITHIN = 100, 60, 8, 0.1, 30, 5


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Variants per distance, samples of each, samples of the original, and night-to-night noise.

    ``noise`` is the standard deviation of a shift that all prompts of a night share.
    """

    name: str
    variants: int
    samples: int
    originals: int
    noise: float = 0.0


PLANS = (
    Plan(name="1 sample", variants=4, samples=1, originals=4),
    Plan(name="2 samples", variants=4, samples=2, originals=8),
    Plan(name="4 samples", variants=4, samples=4, originals=16),
    Plan(name="8 samples", variants=4, samples=8, originals=32),
    Plan(name="16 samples", variants=4, samples=16, originals=64),
    Plan(name="16 samples, noisy server", variants=4, samples=16, originals=64, noise=0.02),
)


def simulated_course(plan: Plan, rng: np.random.Generator, *, drop: float) -> list[RunEntry]:
    """Return the runs of one suite. Its variants lose `drop` of their pass rate at `CHANGE`."""
    originals = rng.uniform(0.6, 1.0, TASKS)
    variants = originals[:, None, None] - rng.uniform(0.0, 0.3, (TASKS, 3, plan.variants))
    runs = []
    for night in range(RUNS):
        shift = rng.normal(0.0, plan.noise) if plan.noise else 0.0
        rates = variants - (drop if night >= CHANGE else 0.0) + shift
        runs.append(_measured(night, originals + shift, rates, plan, rng))
    return runs


def _measured(
    night: int,
    originals: np.ndarray,
    variants: np.ndarray,
    plan: Plan,
    rng: np.random.Generator,
) -> RunEntry:
    passed = rng.binomial(plan.originals, np.clip(originals, 0.0, 1.0)) / plan.originals
    solved = rng.binomial(plan.samples, np.clip(variants, 0.0, 1.0)) / plan.samples
    blank: dict[str, Any] = {"task_id": "task", "causes": {}, "details": {}}
    tasks = [
        TaskRecord(
            id=str(task),
            suite="suite",
            model="model",
            template=None,
            elasticity={},
            auc_e=None,
            auc_e_null=None,
            excess=None,
            original=VariantRecord(
                id="original",
                text="p",
                distance=0.0,
                index=0,
                n=plan.originals,
                pass_rate=passed[task],
                **blank,
            ),
            variants=[
                VariantRecord(
                    id=f"{level}-{index}",
                    text="v",
                    n=plan.samples,
                    pass_rate=solved[task, level, index],
                    distance=distance,
                    index=index,
                    measured_distance=distance,
                    rewriter="rules",
                    **blank,
                )
                for level, distance in enumerate(DISTANCES)
                for index in range(plan.variants)
            ],
        )
        for task in range(TASKS)
    ]
    day = f"2026-{1 + night // 28:02}-{1 + night % 28:02}T03:00:00+00:00"
    return entry_of(
        Record(
            schema=SCHEMA,
            tool={},
            started=day,
            finished=day,
            environment={},
            git=None,
            settings={},
            models=[],
            suites=[_suite()],
            tasks=tasks,
            usage=UsageRecord(
                requests=1, prompt_tokens=0, completion_tokens=0, cost=None, cached=0
            ),
            errors=[],
        )
    )


def _suite() -> SuiteRecord:
    return SuiteRecord(
        id="suite",
        model="model",
        template=None,
        mode="light",
        weighting="uniform",
        n_tasks=TASKS,
        n_variants=0,
        n_measured=0,
        elasticity={},
        elasticity_null={},
        elasticity_ci95={},
        auc_e_null=None,
        ess_median=None,
        light=None,
        gates=[],
        verdict=None,
        warnings=[],
        settings={},
    )


def main() -> None:
    """Print a row for each plan."""
    print(
        "| plan | stable courses with a mark | drop found within 5 runs | false marks before it |"
    )
    print("|---|---|---|---|")
    for plan in PLANS:
        rng = np.random.default_rng(20261124)
        marked = found = early = 0
        for _ in range(COURSES):
            [stable] = courses_of(simulated_course(plan, rng, drop=0.0))
            marked += bool(stable.changes)
            [changing] = courses_of(simulated_course(plan, rng, drop=DROP))
            early += any(change.detected < CHANGE for change in changing.changes)
            found += any(
                CHANGE <= change.detected < CHANGE + WITHIN and change.is_worse
                for change in changing.changes
            )
        print(f"| {plan.name} | {marked} of {COURSES} | {found} of {COURSES} | {early} |")


if __name__ == "__main__":
    main()
