from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import simpson, trapezoid

from pytest_promptse.scoring._elasticity import (
    area_weights,
    auc_e,
    elasticity,
    light_elasticity,
    uses_trapezoid,
)

law = settings(deadline=None, max_examples=60)
share = st.floats(0, 1)
shares = st.lists(share, min_size=1, max_size=8)


def test_elasticity_by_hand():
    # |0.8 - 0.6| = 0.2, |0.8 - 1.0| = 0.2, |0.8 - 0.3| = 0.5; their mean is 0.3.
    assert elasticity(0.8, [0.6, 1.0, 0.3]) == pytest.approx(0.7)


def test_light_elasticity_averages_the_variants_first():
    # The variants' mean is (0.6 + 1.0 + 0.3) / 3 = 19/30.
    assert light_elasticity(0.8, [0.6, 1.0, 0.3]) == pytest.approx(1 - (0.8 - 19 / 30))
    assert light_elasticity(0.5, [0.0, 1.0]) == pytest.approx(1.0)
    assert elasticity(0.5, [0.0, 1.0]) == pytest.approx(0.5)


def test_a_task_never_solved_is_as_stable_as_one_always_solved():
    assert elasticity([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]]) == pytest.approx([1.0, 1.0])


@law
@given(share, shares)
def test_elasticity_is_bounded_and_light_is_never_below_full(p, v):
    full, light = float(elasticity(p, v)), float(light_elasticity(p, v))
    assert -1e-12 <= full <= light + 1e-12
    assert light <= 1.0


@law
@given(share, share)
def test_light_and_full_agree_for_one_variant_and_either_may_be_the_original(p, v):
    assert elasticity(p, [v]) == pytest.approx(float(light_elasticity(p, [v])))
    assert elasticity(p, [v]) == pytest.approx(float(elasticity(v, [p])))


@law
@given(share, shares, st.randoms())
def test_the_order_of_variants_does_not_matter(p, v, random):
    shuffled = random.sample(v, len(v))
    assert elasticity(p, shuffled) == pytest.approx(float(elasticity(p, v)))
    assert light_elasticity(p, shuffled) == pytest.approx(float(light_elasticity(p, v)))


@law
@given(share, shares)
def test_counting_failures_instead_of_passes_changes_nothing(p, v):
    flipped = elasticity(1 - p, 1 - np.array(v))
    assert flipped == pytest.approx(float(elasticity(p, v)))


@pytest.mark.parametrize("metric", [elasticity, light_elasticity])
@pytest.mark.parametrize(
    ("p", "v", "said"),
    [(0.5, [], "at least one variant"), (1.1, [0.5], "original"), (0.5, [np.nan], "variants")],
)
def test_scores_that_are_none_are_refused(metric, p, v, said):
    with pytest.raises(ValueError, match=said):
        metric(p, v)


def test_auc_e_of_three_distances_is_the_papers_formula():
    assert auc_e([0.9, 0.8, 0.6], (0.1, 0.2, 0.3)) == pytest.approx((0.9 + 4 * 0.8 + 0.6) / 6)


def test_auc_e_of_one_distance_is_its_elasticity():
    assert auc_e([0.42], (0.3,)) == pytest.approx(0.42)


def test_a_missing_distance_leaves_no_area():
    assert np.isnan(auc_e([0.9, np.nan, 0.6], (0.1, 0.2, 0.3)))


@law
@given(
    st.lists(st.tuples(st.integers(1, 99), share), min_size=2, max_size=6, unique_by=lambda t: t[0])
)
def test_auc_e_is_scipys_simpson_over_the_range_unless_a_weight_is_negative(points):
    points.sort()
    x, y = np.array([p[0] / 100 for p in points]), np.array([p[1] for p in points])
    rule = trapezoid if uses_trapezoid(tuple(x)) else simpson
    assert auc_e(y, tuple(x)) == pytest.approx(rule(y, x=x) / (x[-1] - x[0]), abs=1e-9)
    assert (area_weights(tuple(x)) >= 0.0).all()
    assert 0.0 <= auc_e(y, tuple(x)) <= 1.0 + 1e-9


def test_uneven_distances_use_the_trapezoid_rule():
    assert uses_trapezoid((0.1, 0.2, 0.5))
    assert area_weights((0.1, 0.2, 0.5)) == pytest.approx([1 / 8, 1 / 2, 3 / 8])
    assert not uses_trapezoid((0.1, 0.2, 0.3))


@law
@given(st.integers(1, 7), share, st.data())
def test_auc_e_of_even_distances_lies_within_the_curve(n, level, data):
    assume(n != 2)  # two points have no Simpson parabola; the trapezium is tested above
    x = tuple(0.1 * i for i in range(1, n + 1))
    y = data.draw(st.lists(share, min_size=n, max_size=n))
    assert auc_e([level] * n, x) == pytest.approx(level)
    if n % 2:
        assert min(y) - 1e-9 <= auc_e(y, x) <= max(y) + 1e-9


@pytest.mark.parametrize("distances", [(), (0.2, 0.1), (0.1, 0.1)])
def test_distances_must_increase(distances):
    with pytest.raises(ValueError, match="distance"):
        area_weights(distances)


def test_the_curve_must_fit_the_distances():
    with pytest.raises(ValueError, match="2 distances"):
        auc_e([0.1, 0.2, 0.3], (0.1, 0.2))
