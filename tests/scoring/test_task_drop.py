"""The drop of each task: equivalence within a margin, and the law of shrinkage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._intervals import wilson_limits
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._suite import score_suite
from pytest_promptse.scoring._task_drop import shrunken, task_drops

DISTANCES = (0.1, 0.2)


def suite(*tasks, n=64):
    """Score tasks, each given as the passes of its original and of its variants by distance."""

    def samples(passes):
        return Samples(np.arange(n) < passes, None, None)

    made = [
        TaskSamples(
            f"t{number}",
            samples(original),
            {
                d: [samples(passes) for passes in group]
                for d, group in zip(DISTANCES, variants, strict=True)
            },
        )
        for number, (original, *variants) in enumerate(tasks)
    ]
    return score_suite(made, distances=DISTANCES, mode="light", interval=False)


def test_the_drop_of_a_task_is_a_mean_over_distances():
    score = suite((64, [64, 48], [32, 32]), (64, [64], [64]))
    found = task_drops(score.tasks)
    assert found["t0"].value == pytest.approx((0.125 + 0.5) / 2)
    assert found["t1"].value == 0.0
    values = [task.value for task in found.values()]
    assert np.mean(values) == pytest.approx(score.estimates["drop"].value)


def test_the_interval_combines_those_of_both_pass_rates():
    [found] = task_drops(suite((60, [48], [44])).tasks).values()
    low, _ = wilson_limits(60 / 64, 64, tail=0.025)
    _, most = wilson_limits(92 / 128, 128, tail=0.025)
    assert found.ci95[0] == pytest.approx(found.value - np.hypot(60 / 64 - low, most - 92 / 128))
    # The suite has one task: its mean is the task's own.
    assert found.shrunken == pytest.approx(found.value)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 64), st.lists(st.integers(0, 64), min_size=1, max_size=4))
def test_an_interval_contains_the_drop(original, passes):
    [found] = task_drops(suite((original, passes, passes)).tasks).values()
    assert -1.0 <= found.ci95[0] <= found.value + 1e-9
    assert found.value - 1e-9 <= found.ci95[1] <= 1.0
    if found.equivalent:
        assert abs(found.value) < found.margin


def test_a_task_is_equivalent_if_its_interval_excludes_both_margins():
    variants = [64] * 4
    stable, broken = (64, variants, variants), (64, variants, [0] * 4)
    found = task_drops(suite(stable, broken).tasks, margin=0.1)
    assert (found["t0"].equivalent, found["t1"].equivalent) == (True, False)
    assert found["t0"].margin == 0.1
    # With few samples, nothing is shown.
    assert not task_drops(suite((2, [2], [2]), n=2).tasks, margin=0.1)["t0"].equivalent
    # A gain as large as the margin is no equivalence either.
    assert not task_drops(suite((32, variants, variants)).tasks, margin=0.1)["t0"].equivalent


def test_a_task_without_variants_has_no_drop():
    assert task_drops(suite((64, [], [])).tasks) == {}


def test_shrinkage_of_a_worked_example():
    # Mean 0.2, variance 0.04 of which sampling is 0.01: 0.03 / 0.04 of each distance remains.
    found = shrunken(np.array([0.0, 0.2, 0.4]), np.full(3, 0.01))
    assert found == pytest.approx([0.05, 0.2, 0.35])


ESTIMATES = st.lists(
    st.tuples(st.floats(-1, 1), st.just(0.0) | st.floats(1e-6, 1)), min_size=1, max_size=20
)


@given(ESTIMATES)
def test_a_shrunken_estimate_lies_between_its_own_and_the_mean(pairs):
    values, variances = np.array(pairs).T
    mean = values.mean()
    found = shrunken(values, variances)
    low, high = np.minimum(values, mean), np.maximum(values, mean)
    assert ((low - 1e-9 <= found) & (found <= high + 1e-9)).all()
    assert found[variances == 0.0] == pytest.approx(values[variances == 0.0])


@given(ESTIMATES, st.floats(1, 10))
def test_more_noise_in_one_task_never_brings_it_nearer_to_its_own_estimate(pairs, factor):
    values, variances = np.array(pairs).T
    noisier = variances.copy()
    noisier[0] *= factor
    before, after = (shrunken(values, v)[0] for v in (variances, noisier))
    assert abs(after - values[0]) >= abs(before - values[0]) - 1e-9


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20))
def test_what_sampling_alone_explains_is_the_mean(drops):
    values = np.array(drops)
    found = shrunken(values, np.full(values.size, values.var(ddof=1) + 1e-6))
    assert found == pytest.approx(np.full(values.size, values.mean()))


def test_shrunken_drops_are_nearer_to_the_truth():
    rng = np.random.default_rng(1)
    truth = rng.normal(0.1, 0.05, (200, 20))
    noise = rng.normal(0.0, 0.1, truth.shape)
    estimates = [shrunken(row, np.full(20, 0.01)) for row in truth + noise]
    errors = [np.square(found - row).mean() for found, row in zip(estimates, truth, strict=True)]
    assert np.mean(errors) < 0.5 * 0.01
