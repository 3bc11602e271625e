"""Figures of simulated runs: a row for each metric, in the range of eight of ten runs."""

from __future__ import annotations

from pytest_promptse.config._metrics import METRICS
from pytest_promptse.scoring._planning import DropPlan
from pytest_promptse.scoring._simulated_runs import simulated_figures

SURE = DropPlan(
    tasks=2, variants=2, samples=2, original_samples=4, reruns=True, pass_rate=1.0, spread=0.0
)
D = (0.1, 0.3)


def test_a_sure_model_has_its_figures_in_every_run():
    found = simulated_figures(SURE, drop=1.0, distances=D)
    assert found["drop"] == found["share of tasks that flip"] == (1.0, 1.0)
    assert found["pass@1"] == (1.0, 1.0)
    assert found["E(0.1)"] == found["E(0.3)"] == (0.0, 0.0)
    assert {metric.label for metric in METRICS.values() if not metric.by_distance} <= {*found}
    assert found["robust pass@1"] == found["pass rate of the variants"] == (0.0, 0.0)


def test_figures_vary_with_samples_and_tasks():
    plan = DropPlan(tasks=4, variants=6, samples=8, original_samples=32, reruns=True, spread=0.1)
    low, high = simulated_figures(plan, drop=0.2, distances=(0.1, 0.2, 0.3))["drop"]
    assert 0.05 < low < 0.2 < high < 0.35


def test_a_figure_that_a_run_lacks_has_no_range():
    rarely = DropPlan(
        tasks=1, variants=1, samples=2, original_samples=2, reruns=True, pass_rate=0.5
    )
    assert simulated_figures(rarely, drop=0.1, distances=(0.1,))["AUC-E"] is None
