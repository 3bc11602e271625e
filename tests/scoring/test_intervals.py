from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from pytest_promptse.scoring.elasticity import auc_e
from pytest_promptse.scoring.intervals import (
    generator,
    mean_interval,
    resampled_pass_rates,
    resampled_softexec,
    shifted_interval,
    task_values,
)

law = settings(deadline=None, max_examples=40)
D = (0.1, 0.2, 0.3)


def rng():
    return np.random.default_rng(0)


def test_a_generator_depends_on_seed_and_purpose_alone():
    assert generator(0, "a", "b").random() == generator(0, "a", "b").random()
    draws = {generator(*args).random() for args in ((0, "a", "b"), (1, "a", "b"), (0, "ab"))}
    assert len(draws) == 3


def test_one_task_has_no_interval_between_tasks():
    assert mean_interval(np.array([0.8]), rng=rng()) is None


def test_tasks_that_agree_leave_no_width():
    assert mean_interval(np.full(20, 0.9), rng=rng()) == pytest.approx((0.9, 0.9))


@law
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_the_interval_holds_the_mean_and_students_interval_and_stays_in_bounds(values):
    x = np.array(values)
    found = mean_interval(x, resamples=200, rng=rng())
    assert found is not None
    low, high = found
    assert 0.0 <= low <= x.mean() + 1e-9
    assert x.mean() - 1e-9 <= high <= 1.0
    if x.std() > 1e-9:
        half = student.ppf(0.975, x.size - 1) * x.std(ddof=1) / np.sqrt(x.size)
        assert low <= max(0.0, x.mean() - half) + 1e-9
        assert high >= min(1.0, x.mean() + half) - 1e-9


def test_skewed_tasks_get_an_interval_that_reaches_farther_down_than_up():
    x = np.array([1.0] * 18 + [0.2, 0.1])
    low, high = mean_interval(x, bounds=(-9, 9), rng=rng())
    half = student.ppf(0.975, 19) * x.std(ddof=1) / np.sqrt(20)
    assert low < x.mean() - half
    assert high == pytest.approx(x.mean() + half)


def test_draws_are_moved_onto_the_estimate_and_clipped():
    draws = np.linspace(0.4, 0.6, 1001)
    low, high = shifted_interval(0.9, draws)
    assert (low, high) == pytest.approx((0.9 - 0.0985, 0.9985), abs=1e-4)
    assert shifted_interval(0.95, draws)[1] == 1.0


def test_resampling_keeps_doubt_where_all_of_few_samples_passed():
    rates = resampled_pass_rates([8, 32], [8, 0], 20_000, rng())
    assert rates.mean(axis=0) == pytest.approx([8.5 / 9, 0.5 / 33], abs=0.003)
    assert rates[:, 0].std() > 0.0


def test_softexec_of_equal_log_probabilities_is_resampled_like_pass_rates():
    passed = np.array([True] * 6 + [False] * 2 + [True] * 3)
    scores = resampled_softexec(np.full(11, -5.0), passed, [8, 3], 20_000, rng())
    assert scores.mean(axis=0) == pytest.approx([6.5 / 9, 3.5 / 4], abs=0.005)


def test_resampling_stays_within_each_wording():
    z = np.array([0.0, 0.0, -50.0, 0.0])
    scores = resampled_softexec(z, np.array([True, True, False, False]), [2, 2], 2000, rng())
    assert scores[:, 0].mean() > 0.7
    assert scores[:, 1].mean() < 0.3


def test_the_mean_of_task_values_is_the_area_under_the_mean_curve():
    curves = [{0.1: 0.9, 0.2: 0.8, 0.3: 0.4}, {0.1: 1.0, 0.2: 0.6, 0.3: 0.8}]
    values = task_values(curves, D)
    assert values == pytest.approx([float(auc_e(list(c.values()), D)) for c in curves])


@law
@given(
    st.lists(
        st.fixed_dictionaries({d: st.one_of(st.none(), st.floats(0, 1)) for d in D}),
        min_size=1,
        max_size=6,
    )
)
def test_tasks_that_lack_a_distance_still_add_up_to_the_suites_area(curves):
    known = {d: [c[d] for c in curves if c[d] is not None] for d in D}
    values = task_values(curves, D)
    if all(known.values()):
        area = auc_e([np.mean(known[d]) for d in D], D)
        assert values is not None
        assert values.mean() == pytest.approx(float(area), abs=1e-9)
    else:
        assert values is None
