from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._calibration import calibration, calibration_by_group, confidence

law = settings(deadline=None, max_examples=60)


def test_confidence_is_the_geometric_mean_of_the_tokens_probabilities():
    assert confidence(math.log(0.5 * 0.125), 2) == pytest.approx(0.25)
    assert confidence([-np.inf, 0.0, 0.001], [4, 0, 1]) == pytest.approx([0.0, 1.0, 1.0])


def test_two_bins_by_hand():
    # Bin (0.8, 0.9]: confidence 0.85, half passed; bin (0.2, 0.3]: confidence 0.25, none passed.
    found = calibration([0.85, 0.85, 0.25, 0.25], [True, False, False, False], threshold=0.5)
    assert found.ece == pytest.approx(0.5 * 0.35 + 0.5 * 0.25)
    assert found.overconfident == pytest.approx(0.25)
    assert found.underconfident == 0.0
    assert [(b.lower, b.n) for b in found.bins if b.n] == [
        (pytest.approx(0.2), 2),
        (pytest.approx(0.8), 2),
    ]
    assert found.bins[0].pass_rate is None


def test_the_ends_of_the_scale_are_in_the_outer_bins():
    found = calibration([0.0, 1.0, 0.1], [False, True, False], threshold=0.5)
    assert [b.n for b in found.bins] == [2, *[0] * 8, 1]


@law
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_the_error_is_bounded_and_no_sample_is_lost(samples):
    c, ok = [s[0] for s in samples], [s[1] for s in samples]
    found = calibration(c, ok, threshold=0.5)
    assert 0.0 <= found.ece <= 1.0
    assert sum(b.n for b in found.bins) == found.n == len(samples)
    assert found.ece >= abs(np.mean(c) - np.mean(ok)) - 1e-9
    assert found.overconfident + found.underconfident <= 1.0


def test_a_sample_at_the_threshold_is_confident():
    found = calibration([0.5, 0.5, 0.4], [False, True, True], threshold=0.5, bins=1)
    assert (found.overconfident, found.underconfident) == pytest.approx((1 / 3, 1 / 3))
    assert [(b.lower, b.upper, b.n) for b in found.bins] == [(0.0, 1.0, 3)]


def test_groups_share_one_threshold():
    sure, unsure = ([0.9, 0.9], [True, False]), ([0.1, 0.1], [True, False])
    found = calibration_by_group(
        {"positive-calm": sure, "negative-active": unsure, "none": ([], [])}
    )
    assert set(found) == {"positive-calm", "negative-active"}
    assert found["positive-calm"].threshold == found["negative-active"].threshold
    assert found["positive-calm"].overconfident == 0.5
    assert found["negative-active"].underconfident == 0.5
    assert calibration_by_group({}) == {}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: confidence([np.nan], [1]), "NaN"),
        (lambda: calibration([], [], threshold=0.5), "at least one sample"),
        (lambda: calibration([0.5], [True, False], threshold=0.5), "one of each"),
        (lambda: calibration([0.5], [True], threshold=0.5, bins=0), "at least one sample and bin"),
        (lambda: calibration([[0.5]], [[True]], threshold=0.5), "one of each"),
        (lambda: calibration([1.5], [True], threshold=0.5), "confidences lie in"),
        (lambda: calibration([-0.1], [True], threshold=0.5), "confidences lie in"),
        (lambda: calibration_by_group({"calm": ([0.5], [True, False])}), "one of each"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
