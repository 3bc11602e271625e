from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f as f_distribution

from pytest_promptse.scoring.regression import increment

pytest.importorskip("statsmodels")

# Twelve tasks, each with the four corners of x and v in {-1, 1}.
X = np.tile([1.0, 1.0, -1.0, -1.0], 12)
V = np.tile([1.0, -1.0, 1.0, -1.0], 12)
TASKS = [f"task-{n}" for n in range(12) for _ in range(4)]
S, T, U = (
    np.repeat(np.tile(signs, 12 // len(signs)), 4)
    for signs in ([1, -1], [1, 1, -1, -1], [1, -1, -1, 1])
)


def test_a_worked_example():
    # y = (2 + t) x + (1 + s) v + u, where s, t and u are a sign of each task, as often 1 as -1.
    # The mean of y is 0 and of its square (4 + 1) + (1 + 1) + 1 = 8. x alone explains 2 * 2 of 8,
    # v one more: R2 4/8, then 5/8.
    # The residual is s v + t x + u; v times it sums to 4 s in a task. With X'X = 48 in v, the
    # clustered variance of v's coefficient is 12 * 16 / 48^2 = 1/12, times 12/11 * 47/45 for few
    # tasks and terms. F = 1^2 / that, on 1 and 11 degrees of freedom.
    found = increment((2 + T) * X + (1 + S) * V + U, {"x": X}, {"v": V}, TASKS)
    assert found.r2_controls == pytest.approx(4 / 8)
    assert found.r2 == pytest.approx(5 / 8)
    assert found.gain == pytest.approx(1 / 8)
    variance = 1 / 12 * 12 / 11 * 47 / 45
    assert found.f == pytest.approx(1 / variance)
    assert found.df == (1, 11)
    assert found.p_value == pytest.approx(f_distribution.sf(1 / variance, 1, 11))
    assert [term.name for term in found.terms] == ["intercept", "x", "v"]
    assert [term.value for term in found.terms] == pytest.approx([0, 2, 1])
    assert found.terms[2].error == pytest.approx(variance**0.5)
    assert (found.n, found.clusters, found.dropped) == (48, 12, ())


def test_controls_that_do_not_vary_are_dropped_and_named():
    found = increment(X * (2 + T) + V * (1 + S) + U, {"x": X, "k": np.ones(48)}, {"v": V}, TASKS)
    assert found.dropped == ("k",)
    assert found.gain == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("outcome", "further", "tasks"),
    [
        (np.ones(48), V, TASKS),  # nothing to explain
        (V + U, X, TASKS),  # not to be told from the control
        (V + U, V, ["one"] * 48),  # one task
    ],
)
def test_what_cannot_be_fitted_is_not_guessed(outcome, further, tasks):
    assert increment(outcome, {"x": X}, {"further": further}, tasks) is None
