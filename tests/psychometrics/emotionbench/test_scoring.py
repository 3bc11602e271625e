from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_promptse.psychometrics.emotionbench._scoring import (
    Evoked,
    compare,
    compare_paired,
    intraclass_correlation,
    score_table,
    summarise,
)

RANDOM = np.random.default_rng(3)
DEFAULT = tuple(RANDOM.normal(40, 2, 50).round())


def evoked(factor, *situations):
    return [
        Evoked(factor=factor, situation=str(i), totals=tuple(float(t) for t in totals))
        for i, totals in enumerate(situations)
    ]


def test_the_papers_method_takes_runs_and_chooses_the_test_by_the_variances():
    similar = evoked("Anger-0", RANDOM.normal(30, 2, 25).round(), RANDOM.normal(30, 2, 25).round())
    runs = [t for each in similar for t in each.totals]
    found = compare("Anger-0", DEFAULT, similar, method="paper")
    expected = stats.ttest_ind(runs, DEFAULT)
    assert (found.test, found.n_runs, found.arrow) == ("student", 50, "down")
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.ci95 == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-6)
    wide = evoked("Anger-0", RANDOM.normal(30, 9, 50).round())
    found = compare("Anger-0", DEFAULT, wide, method="paper")
    expected = stats.ttest_ind(wide[0].totals, DEFAULT, equal_var=False)
    assert found.test == "welch"
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.ci95 == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-6)


def test_the_clustered_method_takes_situations():
    situations = evoked("Anger-0", [28] * 10, [36] * 10, [43] * 10)
    found = compare("Anger-0", DEFAULT, situations, method="cluster")
    expected = stats.ttest_ind([28, 36, 43], DEFAULT, equal_var=False)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.icc == 1
    assert found.arrow == "none"
    # Thirty runs that are three observations look significant to the paper's method.
    assert compare("Anger-0", DEFAULT, situations, method="paper").arrow != "none"


def test_a_constant_default_can_be_tested():
    found = compare("Fear-0", [10.0] * 50, evoked("Fear-0", [30, 31, 29]), method="paper")
    assert found.arrow == "up"
    assert (
        compare("Fear-0", [10.0] * 50, evoked("Fear-0", [10, 10]), method="paper").arrow == "none"
    )


def test_nothing_to_compare_gives_no_figure():
    assert compare("Fear-0", [], evoked("Fear-0", [30])).delta is None
    assert compare("Fear-0", DEFAULT, []).delta is None
    one = compare("Fear-0", DEFAULT, evoked("Fear-0", [30, 31]))
    assert one.delta is not None
    assert one.p_value is None
    assert one.arrow == "none"


def test_averages_pool_observations_and_not_factor_means():
    table = {
        change.name: change
        for change in score_table(
            [10.0, 10.0], evoked("Anger-0", [20] * 9) + evoked("Anger-1", [40]), method="paper"
        )
    }
    assert table["Anger"].delta == pytest.approx(12)
    assert table["Overall"].n_runs == 10
    assert list(table) == ["Anger-0", "Anger-1", "Anger", "Overall"]


def test_subjects_are_compared_with_themselves():
    before, after = [20.0, 30.0, 40.0, 35.0], [18.0, 27.0, 36.0, 32.0]
    found = compare_paired("crowd", before, after)
    assert found.p_value == pytest.approx(stats.ttest_rel(after, before).pvalue)
    assert found.delta == -3


def test_intraclass_correlation_by_hand():
    # Means 2 and 6; between 3*(4+4)/1 = 24, within 4/4 = 1; (24-1)/(24+2*1).
    assert intraclass_correlation([[1, 2, 3], [5, 6, 7]]) == pytest.approx(23 / 26)
    assert intraclass_correlation([[1, 2, 3]]) is None
    assert intraclass_correlation([[2, 2], [2, 2]]) is None


def test_a_summary_has_a_deviation_from_two_totals_on():
    assert summarise([3.0]).sd is None
    assert summarise([1.0, 3.0]).sd == pytest.approx(2**0.5)
    assert summarise([]).mean is None
