from __future__ import annotations

from msgspec.structs import replace
from record_builders import make_record, make_suite, make_task, with_estimates

from pytest_promptse.record._figures import EstimateRecord, RoundsRecord
from pytest_promptse.reports._estimates import EARLY, estimates, scopes


def suite(**changed):
    found = make_suite([make_task("a", 1.0, {0.1: [1.0]})])
    return replace(found, **changed)


def cells(**changed):
    """Return the cells of a suite with these estimates, by label."""
    record = make_record()
    return {one.label: one for one in estimates(record, with_estimates(suite(), **changed))}


def test_every_figure_stands_with_both_intervals():
    drop = EstimateRecord(value=0.05, ci95=(0.01, 0.09), exact=(-0.02, 0.3))
    found = cells(auc_e=0.92, ci95=(0.9, 0.95), drop=drop)
    assert found["drop"][1:] == ("+0.05", "+0.01 to +0.09", "−0.02 to +0.30")  # noqa: RUF001
    assert found["AUC-E"].ci95 == "0.90–0.95"  # noqa: RUF001
    assert "share of tasks that flip" not in found


def test_large_limits_of_an_odds_ratio_are_shown_as_powers_of_ten():
    odds = EstimateRecord(value=0.8, ci95=(0.5, 123456.7), exact=(0.0, 123456.7))
    found = cells(odds_ratio=odds)
    assert found["odds ratio"][1:] == ("0.80", "0.50–1e+05", "0.00–1e+05")  # noqa: RUF001


def test_what_intervals_speak_for_is_said_once():
    suites = [suite(speaks_for="tasks"), suite(speaks_for="tasks"), suite(speaks_for="reruns")]
    assert list(scopes(suites)) == [
        "95 % intervals hold for other tasks with the same emotions",
        "95 % intervals hold for a rerun of the same prompts, not for other tasks",
    ]


def test_a_suite_that_stopped_early_says_that_its_figure_is_biased():
    end = {
        "look": 1,
        "looks": 3,
        "decided": True,
        "n_variants": 4,
        "completions": 8,
        "max_completions": 20,
    }
    assert EARLY in list(scopes([suite(rounds=RoundsRecord(**end))]))
    assert EARLY not in list(scopes([suite(rounds=RoundsRecord(**end | {"look": 3}))]))
