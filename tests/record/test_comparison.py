from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from record_builders import original_record, run_record, suite_record, task_record, variant_record

from pytest_promptse.config._metrics import compared_metrics
from pytest_promptse.config._option_types import Margin
from pytest_promptse.record._comparison import compare_records, recorded
from pytest_promptse.record._figures import RoundsRecord
from pytest_promptse.record._outcomes import comparison_outcome
from pytest_promptse.record._schema import ModelRecord, Record, SuiteRecord, TaskRecord
from pytest_promptse.reports.terminal._comparison import render_comparisons
from pytest_promptse.store._measured_variant import SampleRecord, VariantRecord

SUITE = "test_slug.py::test_slugify"
SETTINGS = {"temperature": 0.2, "samples": 8, "seed": 0, "inconclusive": "pass"}
PERSONA = "tired-expert.senior.plan"
TENTH = (Margin(metric="auc_e", loss=0.1),)


def variant(rate: float, distance: float, *, index: int = 0, **other) -> VariantRecord:
    given = {
        "prompt": f"Please, please slugify {index}.",
        "pass_rate": rate,
        "id": f"d{distance:g}-{PERSONA}-{index}",
        "distance": distance,
        "ess": 8.0,
        "delta": rate - 1.0,
        "excess": 1.0 - rate,
    }
    return variant_record(**(given | other))


def task(name: str, rate: float, **other) -> TaskRecord:
    given = {
        "suite": SUITE,
        "model": "tiny",
        "auc_e": rate,
        "auc_e_null": 1.0,
        "excess": 1.0 - rate,
        "original": original_record(f"Slugify {name}.", 1.0, ess=8.0),
        "variants": [variant(rate, distance) for distance in (0.1, 0.2, 0.3)],
    }
    return task_record(name, **(given | other))


def suite(**other) -> SuiteRecord:
    given = {
        "id": SUITE,
        "model": "tiny",
        "n_tasks": 4,
        "n_variants": 16,
        "n_measured": 16,
        "pass_at_1": 1.0,
        "elasticity": {"0.1": 0.9, "0.2": 0.9, "0.3": 0.9},
        "auc_e": 0.9,
        "auc_e_null": 1.0,
        "excess": 0.1,
        "ess_median": 8.0,
        "settings": SETTINGS,
    }
    return suite_record(**(given | other))


def run(rate: float, *, tasks: list[TaskRecord] | None = None, **other) -> Record:
    """Four tasks that originals always solve and variants with probability `rate`."""
    given = {
        "suites": [suite()],
        "tasks": [task(name, rate) for name in "abcd"] if tasks is None else tasks,
        "tool": {"version": "1"},
        "git": {"commit": "0123456789abcdef", "branch": "main", "dirty": "false"},
    }
    return run_record(**(given | other))


def compared(current: Record, baseline: Record, *margins: Margin):
    [comparison] = compare_records(current, baseline, name="main", margins=margins)
    return comparison


def figure(comparison, metric: str, distance: float | None = None):
    [found] = [
        one for one in comparison.figures if (one.metric, one.distance) == (metric, distance)
    ]
    return found


def failing(current: Record, baseline: Record, *margins: Margin, missing: str = "fail"):
    found = compare_records(current, baseline, name="main", margins=margins)
    outcome = comparison_outcome(replace(current, comparisons=found), missing=missing)
    return list(outcome.reasons) if outcome.kind == "failed" else []


def shown(current: Record, baseline: Record, *margins: Margin, verbosity: int = 0, width=80):
    found = compare_records(current, baseline, name="main", margins=margins)
    current = replace(current, comparisons=found)
    return render_comparisons(current, width=width, colours=False, verbosity=verbosity)


@pytest.mark.parametrize(("score", "light", "expected"), [(0.25, False, 0.25), (0.25, True, 0.5)])
def test_a_prompt_is_compared_by_its_score_or_in_light_mode_by_its_pass_rate(
    score, light, expected
):
    prompt = variant(0.5, 0.3, score=score, n=4, ess=3.0, excess=0.1)
    found = recorded(prompt, light=light)
    assert (found.score, found.pass_rate, found.distance) == (expected, 0.5, 0.3)
    assert (found.n, found.ess, found.excess) == (4, 3.0, 0.1)
    unscored = replace(prompt, score=None)
    assert (recorded(unscored, light=light) is None) == (not light)


def test_every_figure_is_compared():
    comparison = compared(run(0.5), run(0.75))
    shown = [(one.metric, one.distance) for one in comparison.figures]
    assert shown[0] == ("pass_at_1", None)
    assert [d for metric, d in shown if metric == "elasticity"] == [0.1, 0.2, 0.3]
    assert {metric for metric, _ in shown} == {metric.name for metric in compared_metrics()}
    assert figure(comparison, "auc_e").difference == pytest.approx(-0.25)
    assert figure(comparison, "excess").difference == pytest.approx(0.25)
    assert figure(comparison, "pass_at_1").difference == 0.0
    assert {one.verdict for one in comparison.figures} == {None}


def test_a_margin_on_elasticity_is_one_on_every_distance():
    comparison = compared(run(0.5), run(0.75), Margin(metric="elasticity", loss=0.1))
    judged = {one.distance: one.verdict for one in comparison.figures if one.verdict is not None}
    assert judged == {0.1: "fail", 0.2: "fail", 0.3: "fail"}


def test_a_loss_beyond_the_margin_fails_in_one_line():
    assert failing(run(0.5), run(0.75), *TENTH) == [
        f"AUC-E of {SUITE} (tiny) fell by 0.25 (95 % interval 0.25 to 0.25), more than 0.1 allowed"
    ]


def test_of_excess_a_rise_is_the_loss():
    [line] = failing(run(0.5), run(0.75), Margin(metric="excess", loss=0.1))
    assert "excess sensitivity of" in line
    assert "rose by 0.25" in line


def test_a_margin_in_percent_is_of_the_baseline():
    margin = Margin(metric="auc_e", loss=0.2, relative=True)
    assert figure(compared(run(0.7), run(0.75), margin), "auc_e").margin == pytest.approx(0.15)
    assert not failing(run(0.7), run(0.75), margin)


def test_an_inconclusive_comparison_fails_only_where_the_suite_says_so():
    mixed = run(0.0, tasks=[task("a", 0.2), task("b", 1.0), task("c", 1.0), task("d", 0.8)])
    assert figure(compared(mixed, run(0.85), *TENTH), "auc_e").verdict == "inconclusive"
    assert not failing(mixed, run(0.85), *TENTH)
    strict = replace(mixed, suites=[suite(settings=SETTINGS | {"inconclusive": "fail"})])
    [line] = failing(strict, run(0.85), *TENTH)
    assert "fell by 0.1 " in line
    assert line.endswith("which does not rule out a loss of 0.1")
    equal = [task(name, rate) for name, rate in zip("abcd", (0.25, 1.0, 1.0, 0.75), strict=True)]
    [line] = failing(replace(strict, tasks=equal), run(0.75), *TENTH)
    assert "changed by 0 " in line


def with_completions(record, text="abc"):
    """The record with one outcome for each prompt."""

    def measured(prompt):
        return replace(prompt, samples=[SampleRecord(n=prompt.n, cause=None, detail="", text=text)])

    tasks = [
        replace(one, original=measured(one.original), variants=[*map(measured, one.variants)])
        for one in record.tasks
    ]
    return replace(record, tasks=tasks)


@pytest.mark.parametrize("names", ["a", "abcd"])
def test_the_same_completions_pass_with_any_number_of_tasks(names):
    record = with_completions(run(0.8, tasks=[task(name, 0.8) for name in names]))
    margin = Margin(metric="drop", loss=0.01)
    assert figure(compared(record, record, margin), "drop").verdict == "pass"
    for other in (with_completions(record, "other"), run(0.8, tasks=record.tasks[:0])):
        assert figure(compared(record, other, margin), "drop").verdict != "pass"


def test_tasks_and_variants_of_one_side_are_listed_and_do_not_count():
    here = [task("a", 0.5), task("b", 0.5), task("new", 0.0)]
    there = [task("a", 0.5), task("b", 0.5), task("old", 0.0)]
    here[0] = replace(here[0], variants=[*here[0].variants, variant(0.0, 0.1, index=1)])
    comparison = compared(run(0.5, tasks=here), run(0.5, tasks=there))
    assert comparison.tasks_only_current == ["new"]
    assert comparison.tasks_only_baseline == ["old"]
    assert comparison.variants_only_current == [("a", f"d0.1-{PERSONA}-1")]
    assert comparison.variants_only_baseline == []
    assert figure(comparison, "auc_e").difference == 0.0
    text = shown(run(0.5, tasks=here), run(0.5, tasks=there))
    assert "not in the baseline: 1 task, new" in text
    assert "not in the baseline: 1 variant, a d0.1-tired" in text
    assert "only in the baseline: 1 task, old" in text


def test_a_task_whose_original_was_not_measured_is_listed_as_missing():
    here = [task("a", 0.5), task("b", 0.5, original=None)]
    comparison = compared(run(0.5, tasks=here), run(0.5, tasks=[task("a", 0.5), task("b", 0.5)]))
    assert comparison.tasks_only_baseline == ["b"]


def test_suites_of_one_side_are_listed():
    other = run(0.5, suites=[suite(id="x.promptse.yaml")], tasks=[])
    found = compare_records(run(0.5), other, name="main")
    assert [(one.suite, one.model, one.baseline_model) for one in found] == [
        (SUITE, "tiny", None),
        ("x.promptse.yaml", None, "tiny"),
    ]
    text = shown(run(0.5), other)
    assert f"not in the baseline: {SUITE} (tiny)" in text
    assert "only in the baseline: x.promptse.yaml (tiny)" in text


def test_a_suite_that_the_baseline_lacks_fails_where_missing_fails():
    empty = run(0.5, suites=[], tasks=[])
    [line] = failing(run(0.5), empty)
    assert line.startswith(f"{SUITE} (tiny) is not in the baseline 'main'")
    assert "pytest … --promptse-save main" in line
    assert not failing(run(0.5), empty, missing="warn")
    assert not failing(empty, run(0.5))


def test_a_margin_that_could_not_be_checked_fails_unless_this_run_was_partial():
    there = run(0.5, tasks=[task("a", 0.5, variants=[])])
    [line] = failing(run(0.5), there, *TENTH)
    assert line.startswith(f"AUC-E of {SUITE} (tiny) has no counterpart in the baseline 'main'")
    assert not failing(run(0.5, suites=[suite(n_measured=3)]), there, *TENTH)
    assert not failing(run(0.5), there, *TENTH, missing="warn")


def test_another_model_is_compared_where_there_is_no_doubt_which_and_said():
    there = run(
        0.5,
        suites=[suite(model="openai:gpt")],
        tasks=[task(name, 0.5, model="openai:gpt") for name in "abcd"],
    )
    comparison = compared(run(0.5), there)
    assert (comparison.model, comparison.baseline_model) == ("tiny", "openai:gpt")
    assert comparison.differences == {"model": ("tiny", "openai:gpt")}
    assert "not the same: model tiny (baseline openai:gpt)" in shown(run(0.5), there)
    two = replace(there, suites=[*there.suites, suite(model="ct2:x")])
    assert [one.baseline_model for one in compare_records(run(0.5), two, name="main")] == [
        None,
        "openai:gpt",
        "ct2:x",
    ]


def test_another_template_is_another_suite():
    there = run(0.5, suites=[suite(template="plan_first")], tasks=[])
    assert len(compare_records(run(0.5), there, name="main")) == 2


def test_what_differs_in_the_run_is_said_in_one_line():
    identity = {"backend": "openai", "base_url": "a"}
    here = run(
        0.5,
        suites=[suite(settings=SETTINGS | {"temperature": 0.8})],
        models=[ModelRecord(spec="tiny", identity=identity, capabilities=None)],
    )
    there = run(
        0.5,
        models=[ModelRecord(spec="tiny", identity=identity | {"base_url": "b"}, capabilities=None)],
        tool={"version": "0"},
    )
    assert compared(here, there).differences == {
        "model base_url": ("a", "b"),
        "temperature": ("0.8", "0.2"),
        "pytest-promptse": ("1", "0"),
    }
    assert (
        "not the same: model base_url a (baseline b), temperature 0.8 (baseline 0.2), "
        "pytest-promptse 1 (baseline 0)"
    ) in shown(here, there, width=200)


def test_runs_in_another_mode_are_compared_by_pass_rates():
    here = run(0.5, suites=[suite(mode="light")])
    comparison = compared(here, run(0.75))
    assert comparison.mode == "light"
    assert figure(comparison, "auc_e").difference == pytest.approx(-0.25)
    assert any("compared by pass rates" in note for note in comparison.notes)


def test_a_baseline_that_stopped_early_comes_with_a_caution():
    rounds = {
        "look": 1,
        "looks": 3,
        "decided": True,
        "n_variants": 4,
        "completions": 8,
        "max_completions": 20,
    }
    there = run(0.5, suites=[suite(rounds=RoundsRecord(**rounds))])
    assert compared(run(0.5), there).notes == [
        "the baseline stopped early, so its AUC-E may be off by up to 0.05"
    ]


def test_other_numbers_of_samples_come_with_a_caution():
    here = run(0.5, suites=[suite(settings=SETTINGS | {"samples": 2})])
    assert any("squared sensitivity does not" in note for note in compared(here, run(0.5)).notes)


def test_only_shared_distances_are_compared():
    there = run(0.5, suites=[suite(elasticity={"0.1": 0.9, "0.2": 0.9})])
    comparison = compared(run(0.5), there)
    assert [one.distance for one in comparison.figures if one.metric == "elasticity"] == [0.1, 0.2]
    assert "compared over the common distances 0.1,0.2" in comparison.notes


@pytest.mark.parametrize(
    ("suites", "other"),
    [
        ([suite()], {"rewriter": "llm/1:openai:gpt"}),
        ([suite(settings=SETTINGS | {"seed": 1})], {}),
    ],
)
def test_variants_made_anew_are_paired_by_distance_and_index(suites, other):
    reworded = [
        task(
            name,
            0.5,
            variants=[variant(0.5, d, id=f"d{d:g}-calm-x-0", **other) for d in (0.1, 0.2, 0.3)],
        )
        for name in "abcd"
    ]
    comparison = compared(run(0.5, tasks=reworded, suites=suites), run(0.75))
    assert figure(comparison, "auc_e").difference == pytest.approx(-0.25)
    assert comparison.variants_only_current == []
    assert any("paired by distance and index" in note for note in comparison.notes)


def test_edited_prompts_are_named_and_their_variants_paired_by_place():
    edited = task(
        "a",
        0.5,
        original=original_record("Slugify, do.", 1.0),
        variants=[variant(0.5, d, id=f"d{d:g}-calm-x-0") for d in (0.1, 0.2, 0.3)],
    )
    here = run(0.5, tasks=[edited, *(task(name, 0.5) for name in "bcd")])
    comparison = compared(here, run(0.75))
    assert comparison.prompts_changed == ["a"]
    assert comparison.variants_only_current == []
    assert "1 prompt edited: a" in shown(here, run(0.75))


def test_variants_that_read_differently_are_counted():
    other = [task("a", 0.5, variants=[variant(0.5, 0.1, prompt="Yawn.")]), task("b", 0.5)]
    comparison = compared(run(0.5, tasks=other), run(0.5, tasks=[task("a", 0.5), task("b", 0.5)]))
    assert any("whose text changed" in note and note.endswith(": 1") for note in comparison.notes)


def test_the_same_records_give_the_same_comparison():
    here = run(0.0, tasks=[task("a", 0.2), task("b", 1.0), task("c", 1.0), task("d", 0.8)])
    first = msgspec.json.encode(compared(here, run(0.85), *TENTH))
    assert first == msgspec.json.encode(compared(here, run(0.85), *TENTH))


def test_a_summary_shows_the_judged_figures_and_those_that_always_count():
    text = shown(run(0.5), run(0.75), Margin(metric="elasticity", loss=0.1))
    lines = [line.split()[0] for line in text.splitlines()[2:]]
    assert lines == ["pass@1", "E(0.1)", "E(0.2)", "E(0.3)", "AUC-E", "drop"]
    assert "0.500 was 0.750  -0.250 [-0.250, -0.250]  fail (allowed 0.1)" in text
    assert text.startswith("baseline of 2026-01-02T03:04:05+00:00, commit 0123456789\n")


def test_verbose_shows_every_figure_and_quiet_one_line_a_suite():
    assert "excess" in shown(run(0.5), run(0.75), verbosity=1)
    quiet = shown(run(0.5), run(0.75), *TENTH, verbosity=-1)
    assert quiet == f"{SUITE} tiny: AUC-E 0.500, was 0.750 fail: AUC-E"


def test_a_remark_about_several_suites_stands_once():
    def both(**other) -> Record:
        suites = [suite(**other), suite(id="b.py::test_b", **other)]
        tasks = [task(name, 0.5, suite=one.id) for one in suites for name in "ab"]
        return run(0.5, suites=suites, tasks=tasks)

    text = shown(both(settings=SETTINGS | {"temperature": 1.0}), both())
    assert text.count("temperature") == 1
    assert "all: not the same: temperature 1 (baseline 0.2)" in text


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    here = run(0.5, tasks=[task(f"task-{number}", 0.5) for number in range(30)])
    text = shown(here, run(0.75), *TENTH, verbosity=1, width=width)
    assert max(map(len, text.splitlines())) <= width


def test_colours_only_if_requested():
    compared = compare_records(run(0.5), run(0.75), name="main", margins=TENTH)
    found = replace(run(0.5), comparisons=compared)
    assert "\x1b" not in render_comparisons(found, width=80, colours=False)
    assert "\x1b[1;31m  fail" in render_comparisons(found, width=80, colours=True)
