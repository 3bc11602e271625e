"""What follows from a verdict, decided in one place."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pytest_promptse.errors import NoBaselineError, RecordError
from pytest_promptse.record._outcomes import gate_outcome, no_baseline_outcome, run_failures
from pytest_promptse.reports._github import commands
from pytest_promptse.scoring._scores import Gate


def gate(verdict, *, value=0.8, threshold=0.9):
    return Gate(
        name="auc-e", threshold=threshold, value=value, verdict=verdict, message="AUC-E 0.80"
    )


@pytest.mark.parametrize(
    ("verdict", "kinds"),
    [
        ("pass", {"pass": "passed", "skip": "passed", "fail": "passed"}),
        ("fail", {"pass": "failed", "skip": "failed", "fail": "failed"}),
        ("inconclusive", {"pass": "passed", "skip": "skipped", "fail": "failed"}),
    ],
)
def test_only_what_is_inconclusive_follows_the_setting(verdict, kinds):
    for inconclusive, kind in kinds.items():
        outcome = gate_outcome(gate(verdict), inconclusive)
        assert outcome.kind == kind
        assert outcome.is_open == (verdict == "inconclusive")
        assert outcome.reason.startswith("inconclusive: ") == outcome.is_open


def test_a_threshold_without_a_figure_fails_and_a_figure_without_a_threshold_passes():
    assert gate_outcome(gate(None, value=None), "pass").kind == "failed"
    assert gate_outcome(gate(None, threshold=None), "fail").kind == "passed"


@pytest.mark.parametrize("inconclusive", ["pass", "skip", "fail"])
@pytest.mark.parametrize("verdict", ["pass", "fail", "inconclusive"])
def test_a_merge_and_annotations_agree_with_the_item(record, verdict, inconclusive):
    suite = replace(
        record.suites[0],
        gates=[gate(verdict)],
        settings={"inconclusive": inconclusive, "min_pass_rate": None},
    )
    record = replace(record, suites=[suite], errors=[], comparisons=[])
    fails = gate_outcome(gate(verdict), inconclusive).kind == "failed"
    assert bool(run_failures(record)) == fails
    assert any(line.startswith("::error ") for line in commands(record)) == fails


def test_only_a_baseline_that_does_not_exist_yet_may_be_tolerated():
    assert no_baseline_outcome(NoBaselineError("none"), "warn").kind == "passed"
    assert no_baseline_outcome(NoBaselineError("none"), "fail").kind == "failed"
    assert no_baseline_outcome(RecordError("damaged"), "warn").kind == "failed"
