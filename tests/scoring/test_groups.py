from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from pytest_promptse.scoring._groups import (
    kolmogorov_smirnov,
    kruskal,
    mann_whitney,
    repeated,
)

LOW, HIGH = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def test_kruskal_wallis_of_a_worked_example():
    # Ranks 1 2 3 and 4 5 6, sums 6 and 15: H = 12 / (6 * 7) * (36 / 3 + 225 / 3) - 3 * 7 = 27 / 7,
    # epsilon squared H / (6 - 1).
    found = kruskal({"low": LOW, "high": HIGH})
    assert found.statistic == pytest.approx(27 / 7)
    assert found.effect == pytest.approx(27 / 35)
    assert found.p_value == pytest.approx(chi2.sf(27 / 7, 1))
    assert (found.groups, found.n, found.df) == (2, 6, 1)
    third = kruskal({"low": LOW, "high": HIGH, "highest": HIGH + 3})
    assert third.df == 2
    assert third.p_value == pytest.approx(chi2.sf(third.statistic, third.df))


def test_friedman_of_a_worked_example():
    # Four tasks rank three distances 1 2 3, 1 3 2, 1 2 3 and 2 1 3: rank sums 5, 8 and 11, so
    # Q = 12 / (4 * 3 * 4) * (25 + 64 + 121) - 3 * 4 * 4 = 4.5 and W = 4.5 / (4 * 2).
    found = repeated(np.array([[1.0, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]))
    assert found.statistic == pytest.approx(4.5)
    assert found.effect == pytest.approx(0.5625)
    assert found.p_value == pytest.approx(chi2.sf(4.5, 2))


def test_mann_whitney_of_a_worked_example():
    # No observation of the low group exceeds one of the high group: U = 0 and Cliff's delta
    # 2 * 0 / 9 - 1 = -1. Of the 20 ways to choose three ranks of six, 2 are as extreme.
    [found] = mann_whitney({"low": LOW, "high": HIGH})
    assert (found.statistic, found.effect, found.p_value) == pytest.approx((0.0, -1.0, 0.1))
    assert (found.one, found.other, found.n) == ("low", "high", (3, 3))


def test_kolmogorov_smirnov_of_a_worked_example():
    # After 3 all of the low group and none of the high one is passed: D = 1. As above, 2 of 20.
    [found] = kolmogorov_smirnov({"low": LOW, "high": HIGH})
    assert (found.statistic, found.effect, found.p_value) == pytest.approx((1.0, 1.0, 0.1))


def test_pairs_are_adjusted_together():
    found = mann_whitney({"low": LOW, "high": HIGH, "mixed": np.array([1.0, 5.0, 9.0])})
    assert [(p.one, p.other) for p in found] == [
        ("low", "high"),
        ("low", "mixed"),
        ("high", "mixed"),
    ]
    assert found[0].p_adjusted == pytest.approx(0.3)


def test_what_does_not_vary_or_has_no_counterpart_is_not_tested():
    same = np.array([1.0, 1.0])
    assert kruskal({"a": same, "b": same}) is None
    assert kruskal({"a": LOW, "b": np.array([])}) is None
    assert mann_whitney({"a": LOW, "b": np.array([])}) == []
    assert repeated(np.ones((4, 3))) is None
    assert repeated(np.array([[1.0, 2.0]] * 4)) is None


def test_rounding_breaks_no_tie():
    nearly = {"a": np.array([0.1 + 0.2, 0.3, 0.5]), "b": np.array([0.3, 0.1 + 0.2, 0.1])}
    exactly = {"a": np.array([0.3, 0.3, 0.5]), "b": np.array([0.3, 0.3, 0.1])}
    assert kruskal(nearly) == kruskal(exactly)
    assert mann_whitney(nearly) == mann_whitney(exactly)
    assert kolmogorov_smirnov(nearly) == kolmogorov_smirnov(exactly)
