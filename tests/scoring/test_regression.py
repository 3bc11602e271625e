from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f as f_distribution

from pytest_promptse.scoring._regression import increment

pytest.importorskip("statsmodels")

# Thirty-six tasks, each with the four corners of x and v in {-1, 1}.
N = 36
X = np.tile([1.0, 1.0, -1.0, -1.0], N)
V = np.tile([1.0, -1.0, 1.0, -1.0], N)
TASKS = [f"task-{n}" for n in range(N) for _ in range(4)]
S, T, U = (
    np.repeat(np.tile(signs, N // len(signs)), 4)
    for signs in ([1, -1], [1, 1, -1, -1], [1, -1, -1, 1])
)


def test_a_worked_example():
    # y = (2 + t) x + (1 + s) v + u, where s, t and u are a sign of each task, as often 1 as -1.
    # The mean of y is 0 and of its square (4 + 1) + (1 + 1) + 1 = 8. x alone explains 2 * 2 of 8,
    # v one more: R2 4/8, then 5/8.
    # The residual is s v + t x + u; v times it sums to 4 s in a task. With X'X = 144 in v, the
    # clustered variance of v's coefficient is 36 * 16 / 144^2 = 1/36, times 36/35 * 143/141 for few
    # tasks and terms. F = 1^2 / that, on 1 and 35 degrees of freedom.
    found = increment((2 + T) * X + (1 + S) * V + U, {"x": X}, {"v": V}, TASKS)
    assert found.r2_controls == pytest.approx(4 / 8)
    assert found.r2 == pytest.approx(5 / 8)
    assert found.gain == pytest.approx(1 / 8)
    variance = 1 / 36 * 36 / 35 * 143 / 141
    assert found.f == pytest.approx(1 / variance)
    assert found.df == (1, 35)
    assert found.p_value == pytest.approx(f_distribution.sf(1 / variance, 1, 35))
    assert [term.name for term in found.terms] == ["intercept", "x", "v"]
    assert [term.value for term in found.terms] == pytest.approx([0, 2, 1])
    assert found.terms[2].error == pytest.approx(variance**0.5)
    assert (found.n, found.clusters, found.dropped) == (144, 36, ())


def test_controls_that_do_not_vary_are_dropped_and_named():
    found = increment(X * (2 + T) + V * (1 + S) + U, {"x": X, "k": np.ones(4 * N)}, {"v": V}, TASKS)
    assert found.dropped == ("k",)
    assert found.gain == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("outcome", "further", "tasks"),
    [
        (np.ones(4 * N), V, TASKS),  # nothing to explain
        (V + U, X, TASKS),  # collinear with the control
        (V + U, V, ["one"] * (4 * N)),  # one task
    ],
)
def test_what_cannot_be_fitted_is_not_guessed(outcome, further, tasks):
    assert increment(outcome, {"x": X}, {"further": further}, tasks) is None


def by_emotion(seed: int, *, effect: float):
    """An outcome that differs by emotion and depends on valence with the slope `effect`."""
    rng = np.random.default_rng(seed)
    valence = np.array([-0.8, -0.6, -0.4, -0.1, 0.2, 0.5, 0.7, 0.9])
    emotion = rng.integers(8, size=600)
    outcome = effect * valence[emotion] + rng.normal(size=8)[emotion] + 0.1 * rng.normal(size=600)
    tasks = [f"task-{n % 40}" for n in range(600)]
    names = [f"e{e}" for e in emotion]
    control = {"x": rng.normal(size=600)}
    return increment(outcome, control, {"valence": valence[emotion]}, tasks, units=names)


def test_emotions_that_differ_at_random_do_not_make_valence_significant():
    """With observations as units nearly all of these would be."""
    found = [by_emotion(seed, effect=0.0).p_value for seed in range(20)]
    assert np.mean(np.array(found) < 0.05) <= 0.15


def test_an_outcome_that_follows_valence_over_emotions_is_found():
    assert by_emotion(1, effect=8.0).p_value < 0.01
