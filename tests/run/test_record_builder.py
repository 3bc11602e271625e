"""The record has the contents of the run log, in the order of the plan."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec.structs import replace
from planned_suites import measure, plan, row_of, settings
from scripted_backend import ScriptedBackend

from pytest_promptse.models._base import Capabilities, Usage
from pytest_promptse.record._schema import InvocationRecord
from pytest_promptse.record._tables import rows
from pytest_promptse.run._gates import Scores
from pytest_promptse.run._record_builder import RunFacts, build_record
from pytest_promptse.scoring._gate import pass_rate_limits
from pytest_promptse.scoring._scores import Gate
from pytest_promptse.store._run_log import (
    CachedRow,
    ErrorRow,
    GateRow,
    LookRow,
    RewriteRow,
    RunLog,
)
from pytest_promptse.tasks._template import Template
from pytest_promptse.variants._library_files import load_library


@pytest.fixture
def run_log(store):
    return RunLog(store, "run")


@pytest.fixture
def build(run_log, store, tmp_path):
    """Build the record of what is in the run log."""

    def build(*, suite_id=None, backends=None, usage=None, **values):
        facts = RunFacts(
            started=datetime(2026, 1, 2, tzinfo=UTC),
            root=tmp_path,
            sandbox="none",
            settings=settings(**values),
            invocation=InvocationRecord(directory=".", options=[]),
            backends=backends or {},
            emotions=load_library(None).emotions,
            usage=usage or Usage(),
        )
        return build_record(run_log, Scores(run_log), store, facts, suite_id=suite_id)

    return build


def gate_row(suite, place, verdict):
    gate = suite.gates[place]
    return GateRow(
        place=place,
        suite=suite.id,
        model=suite.model,
        template=suite.key.template,
        gate=Gate(
            name=gate.name,
            task=gate.task,
            threshold=gate.threshold,
            value=0.5,
            verdict=verdict,
            message=f"{gate.name}: {verdict}",
        ),
    )


# -- suites and tasks --------------------------------------------------------------------------


def test_the_record_is_in_the_order_of_the_plan_whatever_was_measured_first(run_log, build):
    suite = plan(["b", "a"], variants=3)
    measure(run_log, suite, shuffled=random.Random(1))
    record = build()
    assert [task.id for task in record.tasks] == ["b", "a"]
    for task in record.tasks:
        planned = [v for v in suite.variants if v.task.id == task.id and v.variant.distance]
        assert [variant.id for variant in task.variants] == [v.variant.id for v in planned]
        assert task.original.text == next(t.prompt for t in suite.tasks if t.id == task.id)


def test_a_variant_is_recorded_with_what_was_done_and_what_shows_in_it(run_log, build):
    suite = plan(["a"], variants=1)
    run_log.add(suite.row)
    done = {
        "added_share": 0.3,
        "replaced_share": 0.1,
        "moved_share": 0.0,
        "length_ratio": 1.4,
        "operations": ("cue", "request:please"),
        "cues": {"emotion": "Fourth coffee and counting..."},
    }
    for planned in suite.variants:
        row = row_of(suite, planned, [""])
        changed = done if planned.variant.distance else {}
        run_log.add(replace(row, variant=replace(row.variant, **changed)))
    record = build()
    for variant in record.tasks[0].variants:
        assert {name: getattr(variant, name) for name in done} == done
    found = [row for row in rows(record, "variants") if row["distance"]]
    assert {row["operations"] for row in found} == {"cue request:please"}
    assert {row["cue_emotion"] for row in found} == {"Fourth coffee and counting..."}
    assert {row["cue_technical"] for row in found} == {None}
    assert {row["added_share"] for row in found} == {0.3}


def test_a_stable_suite_scores_one_and_a_broken_one_loses_everything(run_log, build):
    measure(run_log, plan(suite_id="stable"))
    measure(run_log, plan(suite_id="broken"), variant=("timeout",) * 4)
    stable, broken = build().suites
    assert (stable.pass_at_1, stable.auc_e) == (1.0, pytest.approx(1.0))
    assert (broken.pass_at_1, broken.auc_e) == (1.0, pytest.approx(0.0))
    assert {share for losses in broken.losses.values() for share in losses} == {"timeout"}


@pytest.mark.parametrize(("chosen", "margin"), [({}, 0.1), ({"max_drop": 0.25}, 0.25)])
def test_a_task_has_its_drop_and_the_margin_of_its_suite(run_log, build, chosen, margin):
    suite = plan(["a", "b"], variants=3, **chosen)
    measure(run_log, suite)
    record = build()
    drops = [task.drop for task in record.tasks]
    assert [drop.margin for drop in drops] == [margin, margin]
    mean = sum(drop.value for drop in drops) / 2
    assert mean == pytest.approx(record.suites[0].drop)
    for row, drop in zip(rows(record, "tasks"), drops, strict=True):
        assert (row["drop"], row["drop_low"], row["drop_high"]) == (drop.value, *drop.ci95)
        assert (row["drop_shrunken"], row["equivalent"]) == (drop.shrunken, drop.equivalent)


@pytest.mark.parametrize(
    ("floor", "gate", "warned"),
    [
        (0.3, "confident", True),
        (0.9, "confident", False),
        (0.3, "point", False),
        (0.0, "confident", False),
    ],
)
def test_a_floor_that_no_variant_can_fail_is_reported(run_log, build, floor, gate, warned):
    measure(run_log, plan(min_pass_rate=floor, gate=gate, samples=4))
    [suite] = build().suites
    assert any("can fail no variant" in line for line in suite.warnings) == warned


def test_a_floor_at_the_least_rate_that_can_fail_is_reported(run_log, build):
    suite = plan(samples=4)
    fails_above, _ = pass_rate_limits(4, comparisons=suite.row.n_variants)
    measure(run_log, plan(min_pass_rate=fails_above, gate="confident", samples=4))
    [suite] = build().suites
    assert any("can fail no variant" in line for line in suite.warnings)


@pytest.mark.parametrize(
    ("logprobs", "warned"),
    [([-1.0, None], True), ([None, None], False), ([-1.0, -2.0], False)],
)
def test_missing_log_probabilities_are_said_once(run_log, build, logprobs, warned):
    suite = plan()
    run_log.add(suite.row)
    for planned in suite.variants:
        row = row_of(suite, planned, ["", ""], answers=[0, 0])
        draws = [
            replace(draw, logprob=logprob)
            for draw, logprob in zip(row.variant.draws, logprobs, strict=True)
        ]
        run_log.add(replace(row, variant=replace(row.variant, draws=draws)))
    [made] = build().suites
    said = [line for line in made.warnings if "have no log-probability" in line]
    n = len(suite.variants)
    assert said == said[:warned]
    assert [line.partition(" completions")[0] for line in said] == [f"{n} of {2 * n}"] * warned


def test_the_loss_of_variants_is_compared_with_that_of_their_controls(run_log, build):
    suite = plan(["a", "b"], variants=2, samples=4, distances="0.1,0.3", control="neutral")
    measure(run_log, suite, variant=("", "", "", "wrong_answer"))
    for planned in suite.controls:
        causes = ("", "", "wrong_answer", "wrong_answer") if planned.distance == 0.3 else ("",) * 4
        run_log.add(replace(row_of(suite, planned, causes), control=True))
    record = build()
    control = record.suites[0].control
    assert (control.name, control.n_planned, control.n_measured) == ("neutral", 8, 8)
    near, far = control.levels["0.1"], control.levels["0.3"]
    assert [level.n_tasks for level in (near, far)] == [2, 2]
    assert (near.loss, near.control_loss) == pytest.approx((0.25, 0.0), abs=0.01)
    assert (far.loss, far.control_loss) == pytest.approx((0.25, 0.5), abs=0.01)
    assert far.excess_loss.value == pytest.approx(-0.25, abs=0.01)
    # "Really, 0.3 1." is added to a variant, and "Next." to its control as well.
    assert (far.words_added, far.control_words_added) == (3.0, 4.0)
    assert -0.25 < control.excess_loss.value < 0.25
    assert [len(task.controls) for task in record.tasks] == [4, 4]
    assert [each.delta for each in record.tasks[0].controls] == pytest.approx([0, 0, -0.5, -0.5])
    assert record.suites[0].n_measured == len(suite.variants)


def test_a_suite_without_measured_originals_is_listed_without_scores(run_log, build):
    suite = plan()
    run_log.add(suite.row)
    run_log.add(row_of(suite, suite.variants[-1], [""]))
    record = build()
    assert (record.suites[0].n_measured, record.suites[0].auc_e) == (1, None)
    assert record.tasks[0].original is None
    assert len(record.tasks[0].variants) == 1


def test_a_suite_that_cannot_be_scored_still_shows_what_was_measured(run_log, build):
    suite = plan(mode="promptse")
    measure(run_log, suite, logprob=None, variant=("timeout",))
    record = build()
    assert (record.suites[0].mode, record.suites[0].pass_at_1) == (None, None)
    assert record.suites[0].n_measured == len(suite.variants)
    assert {v.pass_rate for v in record.tasks[0].variants} == {0.0}


def test_a_control_that_cannot_be_scored_has_its_pass_rate_alone(run_log, build):
    suite = plan(variants=2, samples=4, distances="0.3", control="neutral", mode="promptse")
    measure(run_log, suite)
    for number, planned in enumerate(suite.controls):
        logprob = None if number else -2.0
        row = row_of(suite, planned, ("", "", "", "wrong_answer"), logprob=logprob)
        run_log.add(replace(row, control=True))
    scored, alone = build().tasks[0].controls
    assert (scored.pass_rate, alone.pass_rate) == (0.75, 0.75)
    assert scored.score == pytest.approx(1.0 + scored.delta)
    assert (alone.score, alone.delta) == (None, None)


def test_the_record_compares_the_subgroups_of_variants(run_log, build):
    suite = plan(["a", "b"], variants=2, samples=4, distances="0.1,0.3")
    measure(run_log, suite, variant=("", "", "", "wrong_answer"))
    [found] = build().subgroups
    traits = {(each.trait, each.value, each.distance) for each in found.subgroups}
    assert ("emotion", "tired", None) in traits
    assert ("technical", "expert", 0.3) in traits
    assert (found.model, found.template) == (suite.model, None)


def test_one_suite_can_be_had_alone(run_log, build):
    measure(run_log, plan(suite_id="one"))
    measure(run_log, plan(["other"], suite_id="two"))
    record = build(suite_id="two")
    assert [suite.id for suite in record.suites] == ["two"]
    assert [task.id for task in record.tasks] == ["other"]


def test_p_values_are_adjusted_over_all_suites_of_the_run(run_log, build):
    for number, lost in enumerate((0, 1, 4, 8)):
        suite = plan(["a", "b", "c"], suite_id=f"suite{number}", variants=4)
        measure(run_log, suite, original=[""] * 8, variant=["timeout"] * lost + [""] * (8 - lost))
    suites = sorted(build().suites, key=lambda suite: suite.p_value)
    assert suites[0].p_value < suites[-1].p_value
    adjusted = [suite.p_adjusted for suite in suites]
    assert adjusted == sorted(adjusted)
    assert all(suite.p_value <= suite.p_adjusted <= 1 for suite in suites)


# -- gates and rounds --------------------------------------------------------------------------


def test_gates_are_in_planned_order_whoever_decided_first(run_log, build):
    suite = plan(["a", "b"], min_task_auc_e=0.5, min_auc_e=0.5)
    measure(run_log, suite)
    places = list(range(len(suite.gates)))
    for place in reversed(places):
        run_log.add(gate_row(suite, place, "pass"))
    [made] = build().suites
    assert [(gate.name, gate.task) for gate in made.gates] == [
        (gate.name, gate.task) for gate in suite.gates
    ]
    assert made.verdict == "pass"
    run_log.add(gate_row(suite, 1, "fail"))
    assert build().suites[0].verdict == "fail"


def look(suite, number, *, ended, cached):
    return LookRow(
        suite=suite.id,
        model=suite.model,
        template=suite.key.template,
        look=number,
        decided=ended,
        ended=ended,
        variants=7,
        completions=70,
        max_completions=100,
        cached=cached,
    )


def test_a_suite_in_rounds_says_at_which_look_it_ended(run_log, build):
    suite = plan(samples="auto", variants=4, min_auc_e=0.5)
    measure(run_log, suite)
    run_log.add(look(suite, 0, ended=False, cached=0))
    assert build().suites[0].rounds is None
    run_log.add(look(suite, 1, ended=True, cached=0))
    rounds = build().suites[0].rounds
    assert (rounds.look, rounds.looks, rounds.decided) == (2, 3, True)
    assert (rounds.n_variants, rounds.completions, rounds.max_completions) == (7, 70, 100)


# -- prompts and samples -----------------------------------------------------------------------


@pytest.mark.parametrize(("kept", "expected"), [("all", 4), ("outcomes", 0)])
def test_single_samples_are_recorded_on_without_preamble(run_log, build, kept, expected):
    suite = plan(record_samples=kept)
    measure(run_log, suite, original=("", "timeout", "", ""), answers=[0, 1, 0, 3])
    draws = build().tasks[0].original.draws
    assert len(draws) == expected
    assert [draw.cause for draw in draws] == [None, "timeout", None, None][:expected]
    assert [draw.answer for draw in draws] == [0, 1, 0, 3][:expected]


def test_a_server_that_repeats_its_answers_is_warned_about(run_log, build):
    suite = plan(temperature=0.8, variants=8)
    measure(run_log, suite, original=("",) * 8, variant=("",) * 8, logprob=-40.0, answers=[0] * 8)
    [made] = build().suites
    assert made.answers.distinct == len(suite.variants)
    assert any("the server may cache answers" in warning for warning in made.warnings)


# -- the run -----------------------------------------------------------------------------------


def test_the_first_process_to_count_says_what_came_from_the_store(run_log, build):
    suite = plan(samples="auto", variants=4, min_auc_e=0.5)
    run_log.add(suite.row)
    run_log.add(CachedRow(process=1, cached=9, oldest=86400.0))
    run_log.add(CachedRow(process=2, cached=5, oldest=3600.0))
    run_log.add(look(suite, 0, ended=False, cached=4))
    usage = build().usage
    assert usage.cached == 5 + 4
    assert usage.oldest == "1970-01-01T01:00:00+00:00"


def test_without_completions_from_the_store_none_is_the_oldest(run_log, build):
    run_log.add(CachedRow(process=1, cached=0, oldest=3600.0))
    assert build().usage.oldest is msgspec.UNSET


def test_the_cost_is_that_of_the_tokens(build):
    usage = Usage(requests=3, prompt_tokens=2_000_000, completion_tokens=1_000_000)
    assert build(usage=usage, price="0.5,2").usage.cost == pytest.approx(3.0)
    assert build(usage=usage).usage.cost is None


def test_the_record_names_the_models_with_what_they_can_do(build, store):
    backend = ScriptedBackend()
    assert build(backends={backend.spec: backend}).models[0].capabilities is None
    store.set_capabilities(backend.identity, Capabilities(form="chat", logprobs="raw"))
    [model] = build(backends={backend.spec: backend}).models
    assert (model.spec, model.identity) == (backend.spec, backend.identity)
    assert model.capabilities["logprobs"] == "raw"


def test_what_could_not_be_measured_is_in_the_record(run_log, build):
    run_log.add(ErrorRow(where="test_a.py::test_a[original]", message="no answer"))
    [error] = build().errors
    assert (error.where, error.message) == ("test_a.py::test_a[original]", "no answer")


def test_the_work_of_each_rewriter_is_summed_up(run_log, build):
    for number, (rewriter, accepted, rules) in enumerate(
        [
            ("llm:a", True, {"code": 1}),
            ("llm:a", False, {"code": 2, "length": 1}),
            ("llm:b", True, {}),
        ]
    ):
        run_log.add(
            RewriteRow(
                rewriter=rewriter,
                model="m",
                instruction="Reword.",
                task="inc",
                variant=f"v{number}",
                texts=3,
                accepted=accepted,
                rules=rules,
            )
        )
    first, second = build().rewriting
    assert (first.rewriter, first.variants, first.texts, first.accepted) == ("llm:a", 2, 6, 1)
    assert first.rules == {"code": 3, "length": 1}
    assert (second.rewriter, second.variants, second.rules) == ("llm:b", 1, {})


def test_a_template_of_several_suites_is_in_the_record_once(run_log, build, tmp_path):
    polite = Template(name="polite", path=tmp_path / "p.j2", place="p.j2", source="Please {{ x }}")
    for suite_id in ("one", "two"):
        measure(run_log, plan(suite_id=suite_id, planned_template=polite))
    record = build()
    [template] = record.templates
    assert (template.name, template.place, template.source) == ("polite", "p.j2", "Please {{ x }}")
    assert {suite.template_sha256 for suite in record.suites} == {template.sha256}
