"""Measure the error rates of gates, on simulated models whose pass rates are known.

``python benchmarks/gate_calibration.py`` takes about ten minutes on two idle cores. It prints every
table and writes them into the pages on gates, and into ``benchmarks/results`` with the machine, the
date and the seed. With ``--quick`` it takes under a minute and only prints.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compare_simulations import comparisons, true_loss
from early_simulations import STOPPING, early_errors
from emotion_simulations import EFFECTS, over_emotions
from few_tasks import every_task
from gate_simulations import (
    SINGLE,
    Bias,
    Effort,
    ceiling_rule,
    centring_bias,
    pass_rate_bias,
    reruns,
    single_task,
)
from noiseless_simulations import FIGURES as NOISELESS
from noiseless_simulations import noiseless_misses
from odds_ratio_simulations import (
    SENSITIVITIES,
    UNDEFINED,
    library_misses,
    odds_ratio_misses,
    true_rate_failures,
)
from one_task_simulations import GATES, misses_of_one_task
from other_gate_simulations import FIGURES as OTHERS
from other_gate_simulations import other_misses
from planning import CASES, stated_and_simulated
from power_simulations import power_of
from ranking_simulations import (
    METHODS,
    SPREADS,
    STABILITIES,
    WORLDS,
    methods,
    rankings,
    significant_correlations,
    task_equivalence,
)
from rerun_simulations import misses_over_reruns
from round_simulations import in_rounds, single_in_rounds
from simulated_models import CI, DISTANCES, PAPER, POPULATIONS, PRESETS, SMOKE
from truth_simulations import (
    FIGURES,
    TRUE_FIGURES,
    TRUE_RATES,
    TRUTHS,
    any_fails,
    misses,
    true_rate_misses,
)

from pytest_promptse.scoring._gate import pass_rate_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from simulated_models import Sampling

    from pytest_promptse.scoring._samples import Mode, Weighting

RESULTS = Path(__file__).resolve().parent / "results"
DOCS = Path(__file__).resolve().parent.parent / "docs" / "explanation"
# The page that a table is written into. Tables not listed here go into gates.md.
PAGES = {
    **dict.fromkeys(("power by figure", "reruns", "few tasks", "planning"), "choosing-a-gate.md"),
    "performance and stability": "../how-to/compare.md",
}
# How the names of tables begin that are too long for a page.
ONLY_KEPT = (
    "compare drop",
    "early",
    "true rates",
    "ranking",
    "intervals of rankings",
    "equivalence",
)
# The numbers of tasks of the tables of true rates, and the error rate in per cent that is promised.
TASKS = (3, 8, 20, 50, 164)
_PROMISED = 4.0
FULL = Effort(suites=1200, resamples=999, truth=400_000, scored=2000)
QUICK = Effort(suites=100, resamples=499, truth=100_000, scored=12)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(header), *[list(row) for row in rows]]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


TRUTH_FIGURES = tuple(name for name in FIGURES if name not in ("E(0.3)", "light AUC-E"))


def _truths(plan: Sampling, effort: Effort, pool: ProcessPoolExecutor) -> str:
    suites = effort.suites if plan is CI else effort.suites // 3
    size = effort.truth if plan is CI else effort.truth // 4
    jobs = {
        (n, name): pool.submit(misses, name, n, plan, suites=suites, size=size, seed=effort.seed)
        for n in (3, 8, 20, 164)
        for name in TRUTHS
    }
    rows = []
    for (n, name), job in jobs.items():
        found = job.result()
        cells = [
            f"{100 * found[figure].fails:.1f} / {100 * found[figure].passes:.1f}"
            for figure in TRUTH_FIGURES
        ]
        alone = found["AUC-E"]
        plain = f"{100 * alone.plain_fails:.1f} / {100 * alone.plain_passes:.1f}"
        rows.append((str(n), name, plain, *cells))
    return table(("tasks", "model", "AUC-E, resampled alone", *TRUTH_FIGURES), rows)


def truths_ci_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Errors of confident gates over many kinds of models, preset `ci`."""
    return _truths(CI, effort, pool)


def truths_paper_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """The same with the preset `paper`."""
    return _truths(PAPER, effort, pool)


def _by_size(
    misses: Callable[..., Any],
    presets: Sequence[Sampling],
    effort: Effort,
    pool: ProcessPoolExecutor,
    *,
    without: Sequence[str] = (),
) -> dict[tuple[Sampling, str, int], Any]:
    """Return what `misses` measures of each preset, kind of model and number of tasks.

    The kinds of models in `without` are left out.
    """
    jobs = {
        (plan, name, n): pool.submit(
            misses,
            name,
            n,
            plan,
            suites=effort.suites // 3,
            size=effort.truth,
            seed=effort.seed,
        )
        for plan in presets
        for name in TRUE_RATES
        if name not in without
        for n in TASKS
    }
    return {cell: job.result() for cell, job in jobs.items()}


def _true_rates(plan: Sampling, effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Errors of confident gates whose thresholds are figures of the true rates."""
    rates = _by_size(true_rate_misses, [plan], effort, pool)
    return table(
        ("model", "gate", *map(str, TASKS[:-1]), f"{TASKS[-1]} tasks"),
        (
            (name, figure, *(_fails_and_passes(rates[plan, name, n][figure]) for n in TASKS))
            for name in TRUE_RATES
            for figure in TRUE_FIGURES
        ),
    )


def repeated_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Cells of the last three tables above 4 %, measured again with five times the suites.

    The largest of hundreds of measured rates is larger than any true one.
    """
    found = [
        (plan, row[0], row[1], n, cell)
        for plan in PRESETS
        for line in kept(f"true rates {plan.name}").read_text().splitlines()[4:]
        for row in [line.strip("| ").split(" | ")]
        for n, cell in zip(TASKS, row[2:], strict=True)
        if max(map(float, cell.split(" / "))) > _PROMISED
    ]
    jobs = [
        pool.submit(
            true_rate_misses,
            name,
            n,
            plan,
            suites=5 * effort.suites // 3,
            size=effort.truth,
            seed=effort.seed + 1,
        )
        for plan, name, _, n, _ in found
    ]
    return table(
        ("model", "gate", "preset", "tasks", "first", "again"),
        (
            (name, figure, plan.name, str(n), cell, _fails_and_passes(job.result()[figure]))
            for (plan, name, figure, n, cell), job in zip(found, jobs, strict=True)
        ),
    )


def one_task_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """The same for suites of one task, whose intervals cover another run of its prompts."""
    jobs = {
        (plan, name): pool.submit(
            misses_of_one_task, name, plan, suites=effort.suites // 3, seed=effort.seed
        )
        for name in TRUE_RATES
        for plan in PRESETS
    }
    return table(
        ("model", "gate", *(plan.name for plan in PRESETS)),
        (
            (name, figure, *(_fails_and_passes(jobs[p, name].result()[figure]) for p in PRESETS))
            for name in TRUE_RATES
            for figure in GATES
        ),
    )


def noiseless_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Errors of the gates on shortfall and flips, with thresholds that are true figures."""
    rates = _by_size(noiseless_misses, PRESETS, effort, pool)
    return table(
        ("model", "preset", "gate", *map(str, TASKS[:-1]), f"{TASKS[-1]} tasks"),
        (
            (
                name,
                plan.name,
                figure,
                *(_fails_and_passes(rates[plan, name, n][figure]) for n in TASKS),
            )
            for name in TRUE_RATES
            for plan in PRESETS
            for figure in NOISELESS
        ),
    )


def other_gates_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Errors of the gates on excess, E(0.3), robust pass and pass^4, at true figures."""
    rates = _by_size(other_misses, PRESETS, effort, pool)
    return table(
        ("preset", "model", "gate", *map(str, TASKS[:-1]), f"{TASKS[-1]} tasks"),
        (
            (
                plan.name,
                name,
                figure,
                *(_fails_and_passes(rates[plan, name, n][figure]) for n in TASKS),
            )
            for plan in PRESETS
            for name in TRUE_RATES
            for figure in OTHERS
            if figure in rates[plan, name, TASKS[0]]
        ),
    )


def odds_ratio_gate_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Failures of the gate on the odds ratio, at the true odds ratio. It never passes."""
    rates = _by_size(true_rate_failures, PRESETS, effort, pool, without=UNDEFINED)
    return table(
        ("model", "preset", *map(str, TASKS[:-1]), f"{TASKS[-1]} tasks"),
        (
            (name, plan.name, *(f"{100 * rates[plan, name, n]:.1f}" for n in TASKS))
            for name in TRUE_RATES
            if name not in UNDEFINED
            for plan in PRESETS
        ),
    )


def family_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Runs of 20 suites with four gates each that fail, without and with a level for the run."""
    jobs = {
        (name, n): pool.submit(
            any_fails,
            name,
            n,
            CI,
            gates=80,
            level=0.05,
            runs=effort.suites // 3,
            size=effort.truth,
            seed=effort.seed,
        )
        for name in ("stable at 0.6", "one emotion breaks all", "gains")
        for n in (8, 20, 50)
    }
    return table(
        ("model", "tasks per suite", "each gate alone", "`promptse_family_level = 0.05`"),
        ((name, str(n), *map(_percent, job.result())) for (name, n), job in jobs.items()),
    )


def power_by_figure_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Frequency with which each gate finds a loss, over all tasks or concentrated on some."""
    cases = [
        (n, drop, broken)
        for drop, broken in ((0.1, 1.0), (0.2, 1.0), (1.0, 0.05), (1.0, 0.2))
        for n in (8, 20, 50, 164)
    ]
    jobs = {
        case: pool.submit(
            power_of,
            case[1],
            case[2],
            case[0],
            CI,
            suites=effort.suites // 2,
            size=effort.truth,
            seed=effort.seed,
        )
        for case in cases
    }
    figures = ("AUC-E's gate", *TRUTH_FIGURES[:-1])
    return table(
        ("tasks", "variants lose", "in tasks", *figures),
        (
            (
                str(n),
                f"{drop:g}",
                f"{100 * broken:g} %",
                *(_percent(job.result()[f]) for f in figures),
            )
            for (n, drop, broken), job in jobs.items()
        ),
    )


def single_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Suites of one task."""
    modes: tuple[Mode, ...] = ("promptse", "light")
    jobs = {
        name: [pool.submit(single_task, name, mode, CI, effort) for mode in modes]
        for name in SINGLE
    }
    return table(
        ("task", "AUC-E", "light AUC-E"),
        ((name, *(job.result().text for job in pair)) for name, pair in jobs.items()),
    )


def over_reruns_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Errors of `max_drop` with intervals over reruns of fixed tasks."""
    sizes = (1, 4, 8)
    jobs = {
        (name, n): pool.submit(
            misses_over_reruns, name, n, CI, suites=effort.suites // 3, seed=effort.seed
        )
        for name in TRUTHS
        for n in sizes
    }
    return table(
        ("model", *(f"{n} task{'s' * (n > 1)}" for n in sizes)),
        (
            (
                name,
                *(
                    f"{100 * job.fails:.1f} / {100 * job.passes:.1f}"
                    for job in (jobs[name, n].result() for n in sizes)
                ),
            )
            for name in TRUTHS
        ),
    )


def planning_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """The probabilities that ``promptse plan`` states, against simulated suites."""
    suites = effort.suites // 3
    jobs = [
        pool.submit(stated_and_simulated, case, rate, suites=suites, seed=effort.seed)
        for case in CASES
        for rate in (0.95, 0.8)
    ]
    return table(
        (
            "tasks",
            "interval",
            "max_drop",
            "pass rate",
            "true drop",
            "the gate",
            "stated",
            "simulated",
        ),
        (row for job in jobs for row in job.result()),
    )


def reruns_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Outcomes when the same tasks are sampled again."""
    gaps = (0.0, 0.02, 0.05)
    jobs = {
        (n, name): pool.submit(reruns, name, n, CI, effort, gaps=gaps)
        for n in (8, 20, 50, 164)
        for name in POPULATIONS
    }
    return table(
        (
            "tasks",
            "population",
            "threshold below",
            "point fails",
            "point flips",
            "confident fails",
            "confident passes",
            "confident flips",
        ),
        (
            (str(n), name, f"{gap:g}", *map(_percent, vars(job.result()[gap]).values()))
            for (n, name), job in jobs.items()
            for gap in gaps
        ),
    )


def bias_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Excess sensitivity if variants have no effect."""
    rates = {plan.name: pool.submit(pass_rate_bias, plan, effort) for plan in PRESETS}
    weightings: tuple[Weighting, ...] = ("sum", "mean")
    soft = {
        plan.name: [pool.submit(centring_bias, w, plan, effort) for w in weightings]
        for plan in (SMOKE, CI)
    }
    rows = []
    for plan in PRESETS:
        found = rates[plan.name].result()
        jobs = soft.get(plan.name)
        cells = [_bias(job.result()) for job in jobs] if jobs else ["not run"] * len(weightings)
        rows.append((plan.name, _bias(found["excess"]), _bias(found["light excess"]), *cells))
    return table(
        ("preset", "pass rates", "PromptSELight", "SoftExec `sum`", "SoftExec `mean`"), rows
    )


def ceiling_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """The rule that computes the number of samples for a threshold."""
    jobs = {plan: pool.submit(ceiling_rule, plan, effort) for plan in PRESETS}
    rows = []
    for plan, job in jobs.items():
        ceiling, threshold, needed, reached = job.result()
        shown = (f"{ceiling:.3f}", f"{threshold:.3f}", str(plan.samples), str(needed))
        rows.append((plan.name, *shown, f"{reached:.3f}"))
    return table(
        ("preset", "ceiling", "threshold", "samples now", "samples named", "ceiling then"), rows
    )


def rounds_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """All variants at once, compared with rounds that stop early."""
    cases = [
        ("AUC-E", plan, population, n, gap)
        for plan, population, n, gaps in (
            (CI, "stable", 20, (-0.1, 0.0, 0.05)),
            (CI, "stable", 50, (-0.1, -0.05, 0.0, 0.05)),
            (CI, "middling", 50, (-0.1, -0.05, 0.0, 0.05, 0.1)),
            (CI, "rare breaks", 50, (-0.1, 0.0, 0.05)),
            (PAPER, "stable", 50, (-0.05, 0.0, 0.05)),
            (PAPER, "middling", 50, (-0.05, 0.0, 0.05)),
        )
        for gap in gaps
    ]
    cases += [
        ("drop", plan, population, n, gap)
        for plan, population, n in (
            (CI, "stable", 20),
            (CI, "middling", 50),
            (CI, "rare breaks", 50),
            (PAPER, "middling", 50),
        )
        for gap in (-0.1, 0.0, 0.1)
    ]
    jobs = [
        pool.submit(in_rounds, figure, population, gap, n, plan=plan, effort=effort)
        for figure, plan, population, n, gap in cases
    ]
    return table(
        ("gate", "preset", "tasks", "population", *_ROUNDS),
        (
            (figure, plan.name, str(n), pop, _gap(gap), *map(_percent, job.result().shares))
            for (figure, plan, pop, n, gap), job in zip(cases, jobs, strict=True)
        ),
    )


def _early(plan: Sampling, effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Errors of gates at their boundary that may stop early, and with all variants at once."""
    # 90 variants, scored after each of six rounds, take an hour for one task or many.
    sizes = (1, 8, 20, 50, 164) if plan is CI else (8, 20)
    cases = [(n, name) for n in sizes for name in TRUTHS]
    jobs = [
        pool.submit(
            early_errors,
            name,
            n,
            plan,
            suites=effort.suites // 3,
            size=effort.truth // (1 if plan is CI else 4),
            seed=effort.seed,
        )
        for n, name in cases
    ]
    return table(
        ("tasks", "model", *STOPPING),
        (
            (str(n), name, *(errors.text for errors in job.result().values()))
            for (n, name), job in zip(cases, jobs, strict=True)
        ),
    )


def single_rounds_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """The same for suites of one task."""
    cases = [
        (plan, task, gap)
        for plan in (CI, PAPER)
        for task, gaps in (
            ("never breaks", (-0.3,)),
            ("a quarter breaks", (-0.3, 0.0, 0.1)),
            ("all break", (0.3, 0.6)),
        )
        for gap in gaps
    ]
    jobs = [pool.submit(single_in_rounds, task, gap, plan, effort) for plan, task, gap in cases]
    return table(
        ("preset", "variants", *_ROUNDS),
        (
            (plan.name, task, _gap(gap), *map(_percent, job.result().shares))
            for (plan, task, gap), job in zip(cases, jobs, strict=True)
        ),
    )


def compare_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Verdicts of comparisons, at the margin and away from it."""
    suites, resamples, seed = effort.suites // 2, effort.resamples, effort.seed
    size = effort.truth // 10
    cases = [("no loss", 0.0, margin) for margin in (0.02, 0.05)]
    cases += [("exactly the margin", x, true_loss(x, CI, size, seed=seed)) for x in (0.05, 0.1)]
    cases += [("twice the margin", 0.1, true_loss(0.1, CI, size, seed=seed) / 2)]
    jobs = {
        (name, n, margin): pool.submit(
            comparisons, loss, margin, n, CI, suites=suites, resamples=resamples, seed=seed
        )
        for name, loss, margin in cases
        for n in (20, 164)
    }
    return table(
        ("true loss", "tasks", "margin", "pass", "inconclusive", "fail"),
        (
            (name, str(n), f"{margin:.3f}", *map(_percent, vars(job.result()).values()))
            for (name, n, margin), job in jobs.items()
        ),
    )


def compare_drop_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Verdicts of comparisons of the drop, with a margin of 0.05."""
    jobs = {
        (n, loss): pool.submit(
            comparisons,
            loss,
            0.05,
            n,
            CI,
            suites=effort.suites // 3,
            resamples=effort.resamples,
            seed=effort.seed,
            metric="drop",
        )
        for n in (20, 50, 164)
        for loss in (0.0, 0.05, 0.1)
    }
    return table(
        ("tasks", "every variant falls by", "pass", "inconclusive", "fail"),
        (
            (str(n), f"{loss:g}", *map(_percent, vars(job.result()).values()))
            for (n, loss), job in jobs.items()
        ),
    )


def emotions_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Intervals over tasks, and over tasks and emotions, with emotions drawn at random."""
    jobs = {
        (n, name): pool.submit(
            over_emotions,
            name,
            n,
            CI,
            suites=effort.suites // (6 if n < 164 else 20),  # noqa: PLR2004 - the largest
            size=effort.truth // 4,
            resamples=effort.resamples,
            seed=effort.seed,
        )
        for n in (3, 8, 20, 164)
        for name in EFFECTS
    }
    return table(
        ("tasks", "emotions", "`tasks`", "`tasks+emotions`"),
        (
            (str(n), name, *(one.text for one in job.result().values()))
            for (n, name), job in jobs.items()
        ),
    )


def odds_ratio_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """The interval of the odds ratio for known true values."""
    jobs = {
        (n, name): pool.submit(
            odds_ratio_misses,
            name,
            n,
            CI,
            suites=effort.suites // (4 if n < 164 else 8),  # noqa: PLR2004 - the largest
            seed=effort.seed,
        )
        for n in (8, 20, 164)
        for name in SENSITIVITIES
    }
    library = pool.submit(
        library_misses, "normal, sd 0.7", 8, CI, suites=effort.suites // 20, seed=effort.seed
    )
    rows = [(str(n), name, job.result()) for (n, name), job in jobs.items()]
    rows.append(("8", "normal, sd 0.7, by statsmodels", library.result()))
    return table(
        (
            "tasks",
            "sensitivity of tasks",
            "mean of the log",
            "below the truth",
            "the gate fails",
            "above the truth",
        ),
        (
            (
                n,
                name,
                f"{one.mean:+.2f}",
                *map(_percent, (one.below, one.fails, one.above)),
            )
            for n, name, one in rows
        ),
    )


def few_tasks_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Verdicts of `min_task_auc_e` in small suites."""
    jobs = {
        (n, drop): pool.submit(
            every_task,
            n,
            drop,
            0.7,
            CI,
            suites=effort.suites // 12,
            resamples=effort.resamples,
            seed=effort.seed,
        )
        for n in (3, 8, 20)
        for drop in (0.0, 0.3, 0.5, 0.8)
    }
    return table(
        ("tasks", "one task loses", "any task fails", "all tasks pass"),
        (
            (str(n), f"{drop:g}", *map(_percent, vars(job.result()).values()))
            for (n, drop), job in jobs.items()
        ),
    )


def ranking_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """How often rankings separate models wrongly, and what they find."""
    sizes = (5, 8, 20, 60, 164)
    runs = effort.suites // 3
    jobs = {
        (world, n): pool.submit(rankings, world, n, runs=runs, size=20_000, seed=effort.seed)
        for world in WORLDS
        for n in sizes
    }
    rows = []
    for (world, n), job in jobs.items():
        shares = job.result()
        optional = (shares.drop, shares.reworded, shares.first, shares.by_auc_e)
        cells = ["" if share is None else _percent(share) for share in optional]
        rows.append((world, str(n), _percent(shares.wrong), *cells))
    return table(
        (
            *("models", "tasks", "any wrong separation", "pairs separated in drop"),
            *("in reworded pass", "names one to take", "AUC-E has the order of drop"),
        ),
        rows,
    )


def ranking_intervals_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """Kinds of simultaneous intervals: any separation of equal models, and half-widths."""
    runs = effort.suites // 4
    jobs = {
        (models, n): pool.submit(methods, models, n, runs=runs, seed=effort.seed)
        for models in (4, 8)
        for n in (5, 8, 20, 60, 164)
    }
    return table(
        ("equal models", "tasks", *METHODS),
        (
            (
                str(models),
                str(n),
                *(
                    f"{_percent(method.wrong)}, {method.quantile:.2f}"
                    for method in job.result().values()
                ),
            )
            for (models, n), job in jobs.items()
        ),
    )


def stability_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """How often pass@1 correlates with a figure of stability over stable models."""
    runs = effort.suites // 4
    jobs = {
        (spread, n): pool.submit(significant_correlations, spread, n, runs=runs, seed=effort.seed)
        for spread in SPREADS
        for n in (20, 164)
    }
    return table(
        ("pass@1 of 8 stable models", "tasks", *STABILITIES),
        (
            (spread, str(n), *map(_percent, job.result().values()))
            for (spread, n), job in jobs.items()
        ),
    )


def equivalence_table(effort: Effort, pool: ProcessPoolExecutor) -> str:
    """How often a task is called equivalent within 0.1, and how often its interval covers."""
    truths = (*((p, 0.1) for p in (1.0, 0.95, 0.8, 0.6)), *((p, -0.1) for p in (0.9, 0.8, 0.5)))
    stable = ((1.0, 0.0), (0.97, 0.0), (0.9, 0.0))
    jobs = {
        (plan.name, rate, drop): pool.submit(
            task_equivalence, plan, rate, drop, tasks=effort.scored, seed=effort.seed
        )
        for plan in PRESETS
        for rate, drop in (*truths, *stable)
    }
    return table(
        ("preset", "pass rate of the original", "true drop", "equivalent", "interval covers"),
        (
            (name, f"{rate:g}", f"{drop:g}", *map(_percent, job.result()))
            for (name, rate, drop), job in jobs.items()
        ),
    )


def floors_table(_effort: Effort, _pool: ProcessPoolExecutor) -> str:
    """Between which floors a confident gate on pass rates decides nothing; no simulation."""
    rows = []
    for plan in PRESETS:
        prompts = 1 + len(DISTANCES) * plan.variants
        for tasks in (1, 10, 164):
            fails_above, passes_up_to = pass_rate_limits(plan.samples, comparisons=tasks * prompts)
            rows.append(
                (
                    plan.name,
                    str(plan.samples),
                    str(tasks),
                    str(tasks * prompts),
                    f"{fails_above:.2f}",
                    f"{passes_up_to:.2f}",
                )
            )
    return table(
        ("preset", "samples", "tasks", "prompts", "can fail above", "can pass up to"), rows
    )


_ROUNDS = (
    "threshold - truth",
    "fixed: right",
    "fixed: wrong",
    "rounds: right",
    "rounds: wrong",
    "completions",
)
TABLES: dict[str, Callable[[Effort, ProcessPoolExecutor], str]] = {
    "truths ci": truths_ci_table,
    "truths paper": truths_paper_table,
    **{f"true rates {plan.name}": partial(_true_rates, plan) for plan in PRESETS},
    "true rates repeated": repeated_table,
    "true rates one task": one_task_table,
    "true rates of worst tasks": noiseless_table,
    "true rates of other gates": other_gates_table,
    "true rates of the odds ratio": odds_ratio_gate_table,
    "family": family_table,
    "power by figure": power_by_figure_table,
    "bias": bias_table,
    "ceiling": ceiling_table,
    "single": single_table,
    "reruns": reruns_table,
    "over reruns": over_reruns_table,
    "planning": planning_table,
    "rounds": rounds_table,
    "single rounds": single_rounds_table,
    **{f"early {plan.name}": partial(_early, plan) for plan in (CI, PAPER)},
    "compare": compare_table,
    "compare drop": compare_drop_table,
    "emotions": emotions_table,
    "odds ratio": odds_ratio_table,
    "ranking": ranking_table,
    "intervals of rankings": ranking_intervals_table,
    "performance and stability": stability_table,
    "equivalence": equivalence_table,
    "floors": floors_table,
    "few tasks": few_tasks_table,
}


def _fails_and_passes(shares: tuple[float, float]) -> str:
    fails, passes = shares
    return f"{100 * fails:.1f} / {100 * passes:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _gap(gap: float) -> str:
    return f"{gap:+g}" if gap else "0"


def _bias(bias: Bias) -> str:
    return f"{bias.mean:+.4f} ± {bias.error:.4f}"


def write_into(page: str, name: str, text: str) -> str:
    """Put a table between its two markers in the page."""
    start, end = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
    before, mark, rest = page.partition(start)
    _, close, after = rest.partition(end)
    if not mark or not close:
        raise SystemExit(f"the page of {name!r} lacks the marks {start} and {end}")
    return f"{before}{start}\n{text}\n{close}{after}"


def kept(name: str) -> Path:
    """Return the file of a table."""
    return RESULTS / f"{name.replace(' ', '-')}.md"


def keep(name: str, text: str, effort: Effort) -> None:
    """Write a table to the results, with what it was measured by."""
    RESULTS.mkdir(exist_ok=True)
    today = datetime.now(UTC).date()
    head = (
        f"{name}: {today}, {platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, seed {effort.seed}, {effort.suites} suites for the largest "
        "table"
    )
    kept(name).write_text(f"{head}\n\n{text}\n")


def main() -> None:
    """Run the simulations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small simulations, only printed")
    parser.add_argument("--suites", type=int, help="suites of the largest table (default: 1200)")
    parser.add_argument("--seed", type=int, default=0, help="of all simulations (default: 0)")
    parser.add_argument("--only", choices=TABLES, action="append", help="this table (repeatable)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    started = time.perf_counter()
    effort = replace(QUICK if arguments.quick else FULL, seed=arguments.seed)
    if arguments.suites is not None:
        effort = replace(effort, suites=arguments.suites)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for name in arguments.only or TABLES:
            text = TABLES[name](effort, pool)
            print(f"\n{name}\n\n{text}", flush=True)
            if not arguments.quick:
                keep(name, text, effort)
                if name.startswith(ONLY_KEPT):
                    continue
                page = DOCS / PAGES.get(name, "gates.md")
                page.write_text(write_into(page.read_text(), name, text))
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
