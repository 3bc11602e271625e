"""What follows from a verdict, decided in one place."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from record_builders import make_task, run_record, suite_record

from pytest_promptse.errors import NoBaselineError, RecordError
from pytest_promptse.record._outcomes import (
    Outcome,
    comparison_outcome,
    exit_code,
    gate_outcome,
    has_worsened,
    no_baseline_outcome,
    run_failures,
    uncompared,
)
from pytest_promptse.record._schema import (
    BaselineRecord,
    ComparedRecord,
    ComparisonRecord,
    ErrorRecord,
)
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
    assert no_baseline_outcome(RecordError("damaged"), "warn") == Outcome("failed", ("damaged",))


RENEWED = (
    "the baseline 'main'; renew it with: pytest … --promptse-save main, "
    "or give --promptse-compare-missing warn"
)
SETTINGS = {"inconclusive": "skip", "compare": "main", "compare_missing": "fail"}


def figure(verdict, **fields):
    given = {
        "metric": "auc_e",
        "distance": None,
        "current": 0.7,
        "baseline": 0.8,
        "difference": -0.1,
        "ci95": None,
        "margin": 0.05,
        "message": "AUC-E is open",
        "n_tasks": 4,
    }
    return ComparedRecord(verdict=verdict, **given | fields)


def compared(*figures, model="m", baseline_model="m", suites=None, **fields):
    """Return a record with one suite and its comparison with a baseline."""
    comparison = ComparisonRecord(
        baseline=BaselineRecord(name="main", finished="", commit=None),
        suite="s",
        template=None,
        model=model,
        baseline_model=baseline_model,
        figures=list(figures),
    )
    suites = [suite_record(id="s", settings=SETTINGS)] if suites is None else suites
    given = {"comparisons": [comparison], "settings": SETTINGS}
    return run_record(suites, [], **given | fields)


@pytest.mark.parametrize(
    ("verdict", "fields", "kind", "reason"),
    [
        ("pass", {}, "passed", ""),
        (
            "fail",
            {},
            "failed",
            "AUC-E of s (m) fell by 0.1, more than 0.05 allowed",
        ),
        (
            "fail",
            {"metric": "elasticity", "distance": 0.1, "difference": 0.1234, "ci95": (0.1, 0.2)},
            "failed",
            "E(0.1) of s (m) rose by 0.123 (95 % interval 0.1 to 0.2), more than 0.05 allowed",
        ),
        (
            "fail",
            {"difference": -0.1, "ci95": (-0.2, -0.06)},
            "failed",
            "AUC-E of s (m) fell by 0.1 (95 % interval 0.06 to 0.2), more than 0.05 allowed",
        ),
        (
            "fail",
            {"difference": 0.0004, "ci95": (-0.1, 0.3)},
            "failed",
            "AUC-E of s (m) changed by 0 (95 % interval -0.1 to 0.3), more than 0.05 allowed",
        ),
        (
            "fail",
            {"difference": 0.0, "ci95": (-0.1, 0.3)},
            "failed",
            "AUC-E of s (m) changed by 0 (95 % interval -0.3 to 0.1), more than 0.05 allowed",
        ),
        ("inconclusive", {}, "skipped", "inconclusive: AUC-E is open"),
        ("fail", {"margin": None}, "passed", ""),
        (
            None,
            {},
            "failed",
            f"AUC-E of s (m) has no counterpart in {RENEWED}",
        ),
    ],
)
def test_a_figure_of_a_comparison_has_its_outcome_and_its_reason(verdict, fields, kind, reason):
    outcome = comparison_outcome(compared(figure(verdict, **fields)), missing="fail")
    assert (outcome.kind, outcome.reason) == (kind, reason)


def test_a_margin_without_a_verdict_fails_only_in_a_whole_run_with_missing_fail():
    assert comparison_outcome(compared(figure(None)), missing="warn") == Outcome("passed")
    part = [suite_record(id="s", n_measured=9, settings=SETTINGS)]
    assert comparison_outcome(compared(figure(None), suites=part), missing="fail").kind == "passed"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("pass", Outcome("passed", ("AUC-E is open",), is_open=True)),
        ("skip", Outcome("skipped", ("AUC-E is open",), is_open=True)),
        (
            "fail",
            Outcome(
                "failed",
                ("AUC-E of s (m) fell by 0.1, which does not rule out a loss of 0.05",),
            ),
        ),
    ],
)
def test_an_open_figure_follows_the_setting_of_its_suite(setting, expected):
    suites = [suite_record(id="s", settings={"inconclusive": setting})]
    made = compared(figure("pass"), figure("inconclusive"), suites=suites)
    assert comparison_outcome(made, missing="fail") == expected


def test_a_failure_outweighs_what_is_open_and_that_what_passes():
    failed = "AUC-E of s (m) fell by 0.1, more than 0.05 allowed"
    made = compared(figure("inconclusive"), figure("fail"), figure("pass"))
    assert comparison_outcome(made, missing="fail") == Outcome("failed", (failed,))
    assert has_worsened(made.comparisons)
    open_ = compared(figure("pass"), figure("inconclusive"), figure("fail", margin=None))
    assert comparison_outcome(open_, missing="fail").kind == "skipped"
    assert not has_worsened(open_.comparisons)


def test_a_verdict_without_a_difference_is_refused():
    with pytest.raises(RecordError, match="verdict 'fail' but no difference; compare again"):
        comparison_outcome(compared(figure("fail", difference=None)), missing="fail")


def test_a_suite_of_one_side_fails_only_if_the_baseline_lacks_it_and_missing_fails():
    lacking = compared(baseline_model=None)
    assert comparison_outcome(lacking, missing="fail").reasons == (f"s (m) is not in {RENEWED}",)
    assert comparison_outcome(lacking, missing="warn") == Outcome("passed")
    assert comparison_outcome(compared(model=None), missing="fail") == Outcome("passed")


def test_suites_without_a_comparison_are_listed_with_the_command_that_makes_it():
    made = compared(baseline_model=None)
    command = "make it with: pytest … --promptse-save main"
    assert uncompared(made) == {
        f"the baseline 'main' does not have this suite; {command}": made.suites
    }
    assert uncompared(replace(made, comparisons=[])) == {
        f"the baseline 'main' does not exist; {command}": made.suites
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"settings": {}},
        {"settings": SETTINGS | {"compare_missing": "warn"}},
        # The run makes the baseline that it names.
        {"settings": SETTINGS | {"save": "main"}, "comparisons": []},
        {"suites": [suite_record(id="s", n_measured=0)]},
    ],
)
def test_nothing_is_listed_as_uncompared_where_nothing_could_be_compared(changed):
    assert uncompared(replace(compared(baseline_model=None), **changed)) == {}
    assert uncompared(compared(figure("pass"))) == {}


def test_a_run_that_saves_its_own_baseline_still_lists_a_suite_that_an_older_one_lacks():
    made = compared(baseline_model=None, settings=SETTINGS | {"save": "main"})
    assert list(uncompared(made).values()) == [made.suites]
    other = replace(made, settings=SETTINGS | {"save": "other"}, comparisons=[])
    assert list(uncompared(other).values()) == [made.suites]


def test_a_run_fails_for_errors_gates_and_prompts_below_the_floor_in_this_order():
    tasks = [
        make_task("t", 1.0, {0.1: [0.25, 0.75]}, suite="s"),
        make_task("t", 0.0, {}, suite="s", template="other"),
    ]
    named = replace(tasks[0].variants[1], node="test_a.py::item", pass_rate=0.125)
    tasks[0] = replace(tasks[0], variants=[tasks[0].variants[0], named])
    suite = suite_record(
        id="s",
        gates=[gate("pass"), gate("fail")],
        settings={"min_pass_rate": 0.5, "gate": "point"},
    )
    record = run_record([suite], tasks, errors=[ErrorRecord(where="s[x]", message="no answer")])
    first = tasks[0].variants[0].id
    assert run_failures(record) == [
        "s[x]: no answer",
        "s[auc-e]: AUC-E 0.80",
        f"s t {first}: pass rate 0.25 < 0.50 (2 of 8 samples pass)",
        "test_a.py::item: pass rate 0.12 < 0.50 (1 of 8 samples pass)",
    ]
    assert (exit_code(run_failures(record)), exit_code([])) == (1, 0)


def test_pass_rates_of_a_suite_are_judged_together():
    task = make_task("t", 1.0, {0.1: [0.0] * 3}, suite="s")
    suite = suite_record(id="s", settings={"min_pass_rate": 0.9, "gate": "confident"})
    lines = run_failures(run_record([suite], [task]))
    assert len(lines) == 3
    assert lines[0].endswith("judged together with 3 other prompts")
