"""Queries over a record, which the summary and all reports use."""

from __future__ import annotations

import pytest
from instrument_records import record as instruments
from instrument_records import survey
from msgspec.structs import replace
from record_builders import (
    make_record,
    make_suite,
    make_task,
    run_record,
    sample_subgroup,
    suite_record,
    task_record,
)

from pytest_promptse.record._figures import MetricRecord, RoundsRecord
from pytest_promptse.record._queries import (
    Series,
    by_personality,
    causes,
    compared,
    figure_label,
    left_out_without_cue,
    losses,
    metric_in,
    overall,
    prompts_of,
    series_of,
    stopped_early,
    tasks_of,
    unscored,
    worst_change,
    worst_verdict,
)
from pytest_promptse.record._schema import (
    BaselineRecord,
    ComparedRecord,
    ComparisonRecord,
    ErrorRecord,
)


def test_every_template_has_its_worst_variant_among_the_most_harmful():
    tasks = [
        make_task("one", 1.0, {0.1: [0.0, 0.0, 0.1]}, template="terse"),
        make_task("two", 1.0, {0.1: [0.0, 0.2]}, template="terse"),
        make_task("one", 1.0, {0.1: [0.9, 0.8]}, template="friendly"),
        make_task("one", 1.0, {0.1: [1.0]}, template="stable"),
    ]
    found = losses(tasks, most=3)
    assert found.n == 7
    assert [(loss.task.template, loss.task.id, loss.change) for loss in found.worst] == [
        ("terse", "one", -1.0),
        ("terse", "two", -1.0),
        ("friendly", "one", 0.8 - 1.0),
    ]
    assert [loss.place for loss in losses(tasks, most=1).worst] == [0, 2]


def test_all_samples_of_a_distance_are_counted():
    tasks = [make_task(name, 1.0, {0.1: [0.0, 0.5], 0.3: [1.0]}, n=8) for name in ("one", "two")]
    assert [(at.distance, at.n) for at in causes(tasks)] == [(0.0, 16), (0.1, 32), (0.3, 16)]


def test_a_task_without_an_original_has_no_losses_causes_or_changes():
    task = replace(make_task("t", 1.0, {0.1: [0.5]}), original=None)
    assert losses([task], most=3) == ([], 0)
    assert [at.distance for at in causes([task])] == [0.1]
    assert by_personality([task]) == {}
    assert worst_change(task) is None
    assert prompts_of(task) == task.variants
    assert worst_change(make_task("t", 1.0, {})) is None


def test_an_equal_or_better_variant_is_no_loss_and_a_task_begins_with_its_original():
    task = make_task("t", 0.5, {0.1: [0.5, 0.75, 0.25, 0.0], 0.2: [0.25]})
    found = losses([task], most=2)
    assert (found.n, [loss.number for loss in found.worst]) == (3, [4, 3])
    assert worst_change(task) == -0.5
    assert [prompt.pass_rate for prompt in prompts_of(task)][:2] == [0.5, 0.5]
    assert by_personality([task]) == {"expert.senior.plan": pytest.approx(-0.15)}


def test_equal_losses_of_tasks_that_are_not_listed_yet_come_first():
    tasks = [make_task(name, 1.0, {0.1: [0.0, 0.0]}) for name in ("one", "two")]
    worst = losses(tasks, most=3).worst
    assert [(loss.task.id, loss.number) for loss in worst] == [("one", 1), ("two", 1), ("one", 2)]


def test_tasks_are_found_by_model_and_template():
    tasks = [make_task("t", 1.0, {}, template=name) for name in ("terse", None, "terse")]
    record = make_record(*((make_suite([task]), [task]) for task in tasks))
    terse, none = series_of(record)
    assert (terse.label, none.label) == ("m · terse", "m")
    assert [task.template for task in tasks_of(record, terse)] == ["terse", "terse"]
    assert list(tasks_of(record)) == []


def test_errors_are_grouped_by_message():
    errors = [ErrorRecord(where=where, message=text) for where, text in ("ax", "by", "cx")]
    found = unscored(run_record([], [], errors=errors))
    assert {text: [error.where for error in of] for text, of in found.items()} == {
        "x": ["a", "c"],
        "y": ["b"],
    }


def test_variants_without_a_cue_are_counted_over_all_distances():
    emotion, other = sample_subgroup("emotion", "calm", 0.0), sample_subgroup("technical", "e", 0.0)
    at_distance = replace(sample_subgroup("emotion", "calm", 0.0, 0.1), n_without_cue=9)
    assert left_out_without_cue([emotion, other, at_distance]) is None
    sentence = left_out_without_cue([replace(emotion, n_without_cue=3), emotion, other])
    assert sentence == "variants without a cue are left out: emotion 3 of 11"


@pytest.mark.parametrize(("look", "early"), [(1, True), (3, False)])
def test_a_suite_stops_early_before_its_last_look(look, early):
    rounds = RoundsRecord(
        look=look, looks=3, decided=True, n_variants=4, completions=8, max_completions=24
    )
    assert stopped_early(suite_record(rounds=rounds)) == early
    assert not stopped_early(suite_record())


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        (["pass", "fail", "inconclusive"], "fail"),
        (["pass", "inconclusive", None], "inconclusive"),
        ([None, "pass"], "pass"),
        ([None], None),
        ([], None),
    ],
)
def test_the_worst_verdict_is_that_of_all(verdicts, worst):
    assert worst_verdict(verdicts) == worst


def figure(metric, **fields):
    given = {
        "distance": None,
        "current": 0.8,
        "baseline": 0.9,
        "difference": -0.1,
        "ci95": None,
        "margin": None,
        "verdict": None,
        "message": "",
        "n_tasks": 4,
    }
    return ComparedRecord(metric=metric, **given | fields)


def comparison(*figures, **fields):
    given = {
        "baseline": BaselineRecord(name="main", finished="", commit=None),
        "suite": "s",
        "template": None,
        "model": "m",
        "baseline_model": "m",
    }
    return ComparisonRecord(figures=list(figures), **given | fields)


def test_a_comparison_shows_figures_with_a_margin_and_those_that_always_count():
    brevity, flips = figure("brevity"), figure("flips", margin=0.1, verdict="fail")
    shown = [figure("auc_e"), figure("elasticity", distance=0.3, margin=0.2), flips]
    record = run_record(
        [],
        [],
        comparisons=[
            comparison(*shown, brevity, template="terse"),
            comparison(*shown, model=None),
            comparison(*shown, baseline_model=None),
        ],
    )
    found = compared(record)
    assert [row.figure for row in found] == shown
    assert {(row.suite, row.model) for row in found} == {("s", "m · terse")}
    assert [row.name for row in found][:2] == ["AUC-E", "E(0.3)"]
    assert overall(record) == "fail"
    assert overall(replace(record, comparisons=[comparison(brevity)])) is None


def test_the_verdict_of_a_run_is_the_worst_of_suites_and_instruments():
    survey_fails = instruments(survey("tiny", 0.5))
    assert overall(survey_fails) == "fail"
    suites = [suite_record(verdict="pass"), suite_record(verdict="inconclusive")]
    assert overall(run_record(suites, [])) == "inconclusive"
    assert overall(
        run_record([suite_record()], [task_record("t", original=None, variants=[])])
    ) is (None)


def test_a_metric_is_described_by_the_record_before_this_installation():
    own = MetricRecord(
        label="lines", short_label="l", direction="at most", unit="ratio", option=None
    )
    record = run_record([], [], metrics={"brevity": own})
    assert metric_in(record, "brevity") is own
    assert metric_in(record, "auc_e").option == "min_auc_e"
    unknown = metric_in(record, "unknown")
    assert (unknown.label, unknown.short_label) == ("unknown", "unknown")
    assert figure_label(record, figure("brevity")) == "lines"
    assert figure_label(record, figure("brevity"), short=True) == "l"
    assert Series("m", "t").label == "m · t"
