from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom
from scipy.stats import t as student

from pytest_promptse.scoring._elasticity import auc_e
from pytest_promptse.scoring._intervals import (
    crossed,
    exact_interval,
    generator,
    largest_lower_limit,
    mean_interval,
    resampled_pass_rates,
    resampled_softexec,
    share_interval,
    shifted_interval,
    shortfall,
    shortfall_interval,
    task_values,
    unseen_share,
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


def test_tasks_that_agree_leave_the_width_of_tasks_not_seen():
    unseen = unseen_share(20)
    assert unseen == pytest.approx(1 - 0.025 ** (1 / 20))
    expected = pytest.approx((0.9 * (1 - unseen), 0.9 + 0.1 * unseen))
    assert mean_interval(np.full(20, 0.9), rng=rng()) == expected
    apart = np.linspace(0.95, 1.0, 20)
    assert mean_interval(apart, rng=rng())[0] > 0.95


def test_no_interval_jumps_because_one_more_task_agrees():
    """Between a quarter and three quarters of the tasks, each one adds the same part."""

    def weight(agreeing):
        values = np.array([1.0] * agreeing + list(np.linspace(0.99, 0.95, 21 - agreeing)))
        low, high = mean_interval(values, rng=rng())
        plain = mean_interval(values, widen=False, rng=rng())
        exact = exact_interval(values, rng=rng())
        assert plain[1] <= high <= max(plain[1], exact[1])
        return (plain[0] - low) / (plain[0] - exact[0])

    assert [weight(agreeing) for agreeing in (1, 6, 11, 13, 16, 20)] == pytest.approx(
        [0.0, 0.0, 0.5, 0.7, 1.0, 1.0], abs=0.01
    )


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
    x = np.array([*np.linspace(0.99, 1.0, 18), 0.2, 0.1])
    low, high = mean_interval(x, bounds=(-9, 9), rng=rng())
    half = student.ppf(0.975, 19) * x.std(ddof=1) / np.sqrt(20)
    assert low < x.mean() - half
    assert high == pytest.approx(x.mean() + half)


@pytest.mark.parametrize("n", [3, 8, 20])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9])
def test_the_exact_limits_cover_a_share_at_least_as_often_as_they_say(n, share):
    """By summing over all counts of tasks that break, which can be done exactly."""
    counts = np.arange(n + 1)
    chance = binom.pmf(counts, n, share)
    limits = [
        exact_interval(np.repeat([0.0, 1.0], (n - k, k)), resamples=9999, rng=rng()) for k in counts
    ]
    too_high = sum(p for p, (low, _) in zip(chance, limits, strict=True) if low > share)
    too_low = sum(p for p, (_, high) in zip(chance, limits, strict=True) if high < share)
    assert too_high <= 0.027
    assert too_low <= 0.027


@pytest.mark.parametrize("k", [0, 3, 20])
def test_the_exact_limits_of_a_share_are_clopper_and_pearsons(k):
    values = np.repeat([0.0, 1.0], (20 - k, k))
    found = exact_interval(values, resamples=200_000, rng=rng())
    assert found == pytest.approx(share_interval(k, 20), abs=0.003)


@law
# In steps, since values that differ only by rounding have the limits of equal values.
@given(
    st.lists(st.integers(0, 1000).map(lambda step: step / 1000), min_size=2, max_size=20),
    st.floats(0.1, 1),
    st.floats(-1, 1),
)
def test_the_exact_limits_move_with_shift_and_scale(values, scale, shift):
    x = np.array(values)
    plain = exact_interval(x, resamples=200, rng=rng())
    moved = exact_interval(
        scale * x + shift, bounds=(shift, scale + shift), resamples=200, rng=rng()
    )
    assert moved == pytest.approx(tuple(scale * end + shift for end in plain), abs=1e-6)


def test_the_exact_limits_refuse_values_outside_their_bounds():
    with pytest.raises(ValueError, match="leave"):
        exact_interval(np.array([0.2, 1.2]), rng=rng())


def test_expected_shortfall_is_the_mean_of_the_worst_tenth():
    assert shortfall(np.array([0.5] + [0.0] * 9)) == pytest.approx(0.5)
    assert shortfall(np.array([0.5, 0.3] + [0.0] * 13)) == pytest.approx((0.5 + 0.3 / 2) / 1.5)
    assert shortfall(np.array([0.4, 0.0])) == pytest.approx(0.4)


def test_the_lower_limit_of_the_worst_tenth_is_that_of_its_weights():
    # One of two tasks is lost. Its weight beside the other task and one unseen is Beta(1, 2).
    low, _ = shortfall_interval(np.array([1.0, 0.0]), bounds=(0, 1), resamples=20_000, rng=rng())
    assert low == pytest.approx(beta.ppf(0.025, 1, 2) / 0.1, rel=0.15)


def test_the_worst_tenth_of_few_tasks_is_not_known():
    few = shortfall_interval(np.linspace(0, 0.2, 20), bounds=(0, 1), rng=rng())
    many = shortfall_interval(np.linspace(0, 0.2, 164), bounds=(0, 1), rng=rng())
    assert few[1] == pytest.approx(1.0)
    assert 0.2 < many[1] < 0.5


def test_crossed_factors_add_their_squared_distances():
    assert crossed(0.5, (0.2, 0.6), (0.1, 0.5), bounds=(0, 1)) == pytest.approx((0.0, 0.6))
    joint = crossed(0.5, (0.2, 0.6), (0.5, 0.5), bounds=(0, 1))
    assert joint == pytest.approx((0.2, 0.6))


@law
@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=1, max_size=5),
    st.none() | st.integers(2, 200),
)
def test_several_lower_limits_share_their_level(estimates, n):
    pairs = [(value, value - width) for value, width in estimates]
    joint = largest_lower_limit(pairs, n=n)
    assert joint <= max(limit for _, limit in pairs) + 1e-12
    assert largest_lower_limit([*pairs, (-5.0, -9.0)], n=n) <= joint + 1e-12
    if len(pairs) == 1:
        assert joint == pytest.approx(pairs[0][1])


def test_lower_limits_hold_together():
    noise = rng().normal(size=(20_000, 4))
    missed = [largest_lower_limit([(x, x - 1.96) for x in row], n=None) > 0 for row in noise]
    assert np.mean(missed) == pytest.approx(0.025, abs=0.005)
    assert largest_lower_limit([], n=3) is None


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


def test_resampling_stays_within_each_variant():
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
