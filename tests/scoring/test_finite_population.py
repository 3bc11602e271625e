"""Intervals are widened for the planned variants that are not sampled yet."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_promptse.scoring._confidence_sequence import finite_population_limits
from pytest_promptse.scoring._elasticity import area_weights
from pytest_promptse.scoring._finite_population import (
    drop_correction,
    finite_population_correction,
)
from pytest_promptse.scoring._scores import Estimate

D = (0.1, 0.3)


@dataclass(frozen=True)
class Figures:
    """The figures of a suite that are widened."""

    elasticity: dict
    elasticity_ci95: dict
    auc_e: float | None = 0.8
    ci95: tuple[float, float] | None = (0.75, 0.85)
    excess_ci95: tuple[float, float] | None = (-0.1, 0.1)


FIGURES = Figures(elasticity=dict.fromkeys(D, 0.8), elasticity_ci95=dict.fromkeys(D, (0.75, 0.85)))


def prompt(pass_rate, score):
    return SimpleNamespace(pass_rate=pass_rate, score=score)


def tasks(*variants, n=2):
    """Return tasks whose original passes always, with these variants at each distance."""
    task = SimpleNamespace(original=prompt(1.0, 1.0), variants=dict.fromkeys(D, variants))
    missing = SimpleNamespace(original=None, variants={})
    return [task] * n + [missing]


# Their pass rates keep all, and their scores nothing.
APART = [prompt(1.0, 0.0)] * 8


@pytest.mark.parametrize("light", [True, False])
def test_pass_rates_count_in_light_mode_and_else_the_scores(light):
    found = finite_population_correction(FIGURES, tasks(*APART), planned=16, light=light)
    seen = np.ones(8) if light else np.zeros(8)
    low, high = finite_population_limits(seen, 16, error=0.035)
    # The sampled half counts by itself.
    low = max(low - 0.05, 0.5 * 0.75)
    high = min(high + 0.05, 0.5 * 0.85 + 0.5)
    expected = (min(0.75, low), 1.0 if light else max(0.85, high))
    for d in D:
        assert found.elasticity_ci95[d] == pytest.approx(expected)
    assert found.ci95 == pytest.approx(expected)
    assert found.excess_ci95 == pytest.approx(
        (-0.1 - (expected[1] - 0.85), 0.1 + 0.75 - expected[0])
    )


@pytest.mark.parametrize(("sampled", "planned"), [(0, 16), (8, 8), (8, 4)])
def test_nothing_is_widened_without_variants_or_if_none_is_to_come(sampled, planned):
    some = tasks(*APART[:sampled])
    found = finite_population_correction(FIGURES, some, planned=planned, light=False)
    assert found is FIGURES
    drop = Estimate(value=0.2, ci95=(0.1, 0.3))
    assert drop_correction(drop, some, planned=planned, distances=D, weights=area_weights) is drop


def test_one_variant_that_is_to_come_widens_a_little():
    found = finite_population_correction(FIGURES, tasks(*APART), planned=9, light=False)
    assert 0.0 < found.ci95[0] < 0.75
    assert 0.85 <= found.ci95[1] < 1.0


def test_without_an_interval_there_is_none():
    none = Figures(
        elasticity=dict.fromkeys(D, None),
        elasticity_ci95=dict.fromkeys(D, (0.1, 0.2)),
        auc_e=None,
        ci95=None,
        excess_ci95=None,
    )
    found = finite_population_correction(none, tasks(*APART), planned=16, light=False)
    assert (found.ci95, found.excess_ci95) == (None, None)
    assert found.elasticity_ci95 == none.elasticity_ci95


def test_a_drop_is_widened_by_what_the_pass_rates_to_come_may_be():
    rates = [0.5, 0.75, 1.0, 0.25]
    estimate = Estimate(value=0.375, ci95=(0.3, 0.45))
    some = tasks(*(prompt(rate, 0.0) for rate in rates))
    weights = lambda distances: np.full(len(distances), 1 / len(distances))  # noqa: E731
    found = drop_correction(estimate, some, planned=12, distances=D, weights=weights)
    low, high = finite_population_limits(np.array(rates), 12, error=0.035)
    mean = np.mean(rates)
    assert found.value == 0.375
    assert found.ci95 == pytest.approx((0.3 - (high - mean), 0.45 + mean - low))
    wide = Estimate(value=0.375, ci95=(-0.9, 0.95))
    found = drop_correction(wide, some, planned=99, distances=D, weights=weights)
    assert found.ci95 == (-1.0, 1.0)
    nothing = Estimate(value=0.375)
    options = {"planned": 12, "distances": D, "weights": weights}
    assert drop_correction(nothing, some, **options) is nothing
    negative = {**options, "weights": lambda _: np.array([-0.1, 1.1])}
    assert drop_correction(estimate, some, **negative) is estimate
