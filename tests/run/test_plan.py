"""Requests and gates depend on the plan alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_suites import make_task, plan

from pytest_promptse.errors import TaskError
from pytest_promptse.run._plan import PlannedGate
from pytest_promptse.run._variant_prompts import PendingAnswers
from pytest_promptse.tasks._template import Template


def template(tmp_path):
    return Template(name="polite", path=tmp_path / "p.j2", place="p.j2", source="Please: {{ x }}")


def names(suite):
    return [(gate.name, gate.threshold, gate.task) for gate in suite.gates]


# -- variants ----------------------------------------------------------------------------------


def test_the_original_gets_its_own_number_of_samples():
    suite = plan(samples=3, original_samples=7, variants=2)
    assert {planned.job.n for planned in suite.variants if planned.variant.distance} == {3}
    assert [planned.job.n for planned in suite.variants if not planned.variant.distance] == [7]


def test_the_seeds_do_not_depend_on_model_or_template(tmp_path):
    def seeds(suite):
        return [planned.job.seed for planned in suite.variants]

    plain = plan(["inc", "dec"])
    assert len(set(seeds(plain))) == len(plain.variants)
    assert seeds(plan(["inc", "dec"], planned_model="fake:other")) == seeds(plain)
    assert seeds(plan(["inc", "dec"], planned_template=template(tmp_path))) == seeds(plain)
    assert not set(seeds(plan(["inc", "dec"], seed=1))) & set(seeds(plain))


def test_a_template_may_request_more_tokens_and_several_programs_for_each_sample(tmp_path):
    plain = plan(samples=2, variants=1)
    longer = replace(template(tmp_path), source="{{ task.prompt }}", max_tokens_times=3, programs=4)
    suite = plan(samples=2, variants=1, planned_template=longer)
    assert [p.job.n for p in suite.variants] == [4 * p.job.n for p in plain.variants]
    assert [p.n for p in suite.variants] == [p.n for p in plain.variants]
    most = plain.settings.max_tokens
    assert {p.job.decoding.max_tokens for p in suite.variants} == {3 * most}


def test_controls_stand_beside_the_variants_and_no_gate_needs_them():
    plain, suite = plan(variants=2), plan(variants=2, control="neutral")
    assert [p.key for p in suite.variants] == [p.key for p in plain.variants]
    assert [p.job.key for p in suite.variants] == [p.job.key for p in plain.variants]
    assert len(suite.controls) == len(suite.variants) - 1 == suite.row.n_controls
    assert (plain.controls, plain.row.n_controls) == ((), 0)
    for gate in suite.gates:
        assert not any(planned.control for planned in suite.needed_by(gate))
    # Their samples are independent of those of the variants beside them.
    assert not {p.job.seed for p in suite.controls} & {p.job.seed for p in suite.variants}
    assert {p.n for p in suite.controls} == {suite.settings.samples}


def test_completions_of_two_models_have_different_keys():
    def keys(**identity):
        return {planned.job.key for planned in plan(identity=identity).variants}

    assert keys(model="a") == keys(model="a")
    assert not keys(model="a") & keys(model="b")


def test_another_reference_is_another_completion_of_the_reference_backend_only():
    def key(reference, backend):
        task = make_task(reference=reference)
        return plan([task], identity={"backend": backend}).variants[0].job.key

    assert key("inc = 1", "reference") != key("inc = 2", "reference")
    assert key("inc = 1", "tiny") == key("inc = 2", "tiny")


def test_two_tasks_of_one_id_are_refused():
    with pytest.raises(TaskError, match=r"test_a\.py::test_a: two tasks have the id 'inc'"):
        plan([make_task("inc"), make_task("inc", prompt="Write `inc(y)`.")])


def test_a_pending_variant_gets_the_key_of_a_planned_one_once_its_text_is_written():
    planned = plan(variants=1).variants[-1]
    made = planned.make()
    sketch = replace(made, pending=PendingAnswers(needed=(), finish=lambda _variants: made))
    pending = replace(planned, make=lambda: sketch)
    assert pending.job.key == f"pending-{planned.job.key}"
    written = replace(pending, make=lambda: pending.pending.finish([]))
    assert written.job == planned.job


def test_a_plan_makes_no_text():
    suite = plan(["inc", "dec"], variants=2, make=pytest.fail)
    assert len({planned.key for planned in suite.variants}) == len(suite.variants) == 14
    assert [suite.round_of(planned) for planned in suite.variants] == [0] * 14
    assert [planned.outline.distance for planned in suite.needed_by(suite.gates[0])] == [
        0,
        0.1,
        0.1,
    ] * 2


# -- rounds ------------------------------------------------------------------------------------


@given(
    st.integers(1, 9),
    st.lists(st.sampled_from(["0.1", "0.2", "0.3"]), min_size=1, unique=True),
)
def test_the_rounds_divide_the_variants_and_are_judged_one_after_the_other(variants, distances):
    suite = plan(
        ["inc", "dec"],
        samples="auto",
        variants=variants,
        distances=",".join(sorted(distances)),
        min_auc_e=0.5,
    )
    rounds = [suite.round_of(planned) for planned in suite.variants]
    assert rounds == sorted(rounds)
    assert set(rounds) == set(range(len(suite.looks)))
    assert suite.in_rounds == (variants > 1)
    for look, count in enumerate(suite.looks):
        sampled = suite.sampled_by(look)
        assert len(sampled) == 2 * (1 + count * len(distances))
        assert sampled == suite.variants[: len(sampled)]


def test_without_a_threshold_there_is_nothing_to_stop_for():
    suite = plan(samples="auto", variants=8)
    assert suite.looks == (8,)
    assert not suite.in_rounds


def test_a_fixed_number_of_samples_is_one_look_at_everything():
    suite = plan(samples=4, variants=8, min_auc_e=0.5)
    assert suite.looks == (8,)
    assert suite.sampled_by(0) == suite.variants


# -- gates -------------------------------------------------------------------------------------


def test_every_distance_and_the_area_are_reported_even_without_thresholds():
    assert names(plan(distances="0.1,0.3")) == [
        ("elasticity-d0.1", None, None),
        ("elasticity-d0.3", None, None),
        ("auc-e", None, None),
    ]


def test_gates_of_single_tasks_come_before_those_of_the_suite():
    suite = plan(["inc", "dec"], distances="0.3", min_task_auc_e=0.4, max_drop=0.1, min_auc_e=0.6)
    assert names(suite) == [
        ("auc-e", 0.4, "inc"),
        ("auc-e", 0.4, "dec"),
        ("elasticity-d0.3", None, None),
        ("auc-e", 0.6, None),
        ("drop", 0.1, None),
    ]
    assert [gate.place for gate in suite.gates] == list(range(len(suite.gates)))


def test_a_gate_needs_the_original_and_its_own_distance_only():
    suite = plan(["inc", "dec"], distances="0.1,0.3", variants=2)
    [near, *_] = suite.gates
    needed = suite.needed_by(near)
    assert {planned.variant.distance for planned in needed} == {0.0, 0.1}
    assert {planned.task.id for planned in needed} == {"inc", "dec"}
    own = PlannedGate(place=0, name="auc-e", threshold=0.5, distances=(0.1, 0.3), task="dec")
    assert {planned.task.id for planned in suite.needed_by(own)} == {"dec"}


def test_a_suite_in_rounds_stops_as_a_whole():
    suite = plan(["inc", "dec"], samples="auto", variants=4, min_task_auc_e=0.5)
    assert all(suite.needed_by(gate) == suite.variants for gate in suite.gates)


def test_a_comparison_needs_everything_and_is_named_after_its_baseline():
    suite = plan(compare="baselines/main.json")
    assert suite.comparison.name == "compare-main"
    assert suite.needed_by(suite.comparison) == suite.variants
    assert plan().comparison is None


def test_the_row_of_a_suite_says_what_was_planned(tmp_path):
    suite = plan(
        ["inc", "dec"], variants=2, distances="0.1,0.3", planned_template=template(tmp_path)
    )
    row = suite.row
    assert (row.key, row.tasks) == (suite.key, ["inc", "dec"])
    assert row.n_variants == 2 * (1 + 2 * 2)
    assert row.template_source == ("p.j2", "Please: {{ x }}")
    assert row.settings == suite.settings.as_json_values()
