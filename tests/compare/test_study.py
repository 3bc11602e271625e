from __future__ import annotations

import pytest
from msgspec.structs import replace
from record_builders import falling, flat, make_record, make_run, make_suite, make_task

from pytest_promptse.compare import _page
from pytest_promptse.compare._entry import NamedRecord, family_of, size_of
from pytest_promptse.compare._sections import leaderboard, sections_of
from pytest_promptse.compare._study import study_of
from pytest_promptse.errors import RecordError
from pytest_promptse.reports.terminal._sections import render_sections

# Elasticities 1, 0.5 and 0 in the first task and 1 everywhere in the second: AUC-E
# (1 + 4 * 0.5 + 0) / 6 = 0.5 and 1, together 0.75.
BRITTLE = {"one": falling(1.0, 0.5, 0.0), "two": flat(1.0)}
# Passes half of the time with any prompt.
STABLE = {"one": flat(0.5), "two": flat(0.5)}


def test_the_leaderboard_of_a_worked_example():
    study = study_of([make_run("big", BRITTLE), make_run("small", STABLE)])
    big, small = study.leaderboard
    assert (big.pass_at_1, small.pass_at_1) == (1.0, 0.5)
    assert (big.auc_e, small.auc_e) == pytest.approx((0.75, 1.0))
    assert list(big.elasticity.values()) == pytest.approx([1.0, 0.75, 0.5])
    # |ΔPass| is 0, 0.5 and 1 in one task, 0 in the other.
    assert (big.sensitivity, small.sensitivity) == pytest.approx((0.25, 0.0))
    # Scores are pass rates here, and there is one variant at each distance.
    assert big.light == pytest.approx(big.auc_e)
    # Each variant's own excess is |delta| - 0.05.
    assert big.ranked.figures["excess"] == pytest.approx(0.25 - 0.05)
    # The variants of one task lose 0, 0.5 and 1, those of the other nothing.
    assert (big.drop, small.drop) == pytest.approx((0.25, 0.0))


def test_quadrants_are_cut_at_the_medians():
    names = [f"task{number}" for number in range(40)]
    runs = [
        make_run("big", dict.fromkeys(names, BRITTLE["one"])),
        make_run("small", dict.fromkeys(names, flat(0.5))),
    ]
    study = study_of(runs)
    # pass@1 1 and 0.5, drop 0.5 and 0: the medians lie between them.
    assert (study.cut.pass_at_1, study.cut.drop) == pytest.approx((0.75, 0.25))
    assert {s.entry.label: s.quadrant for s in study.leaderboard} == {
        "big": "strong-brittle",
        "small": "weak-stable",
    }


def test_a_model_whose_interval_contains_the_median_has_no_quadrant():
    study = study_of([make_run("big", BRITTLE), make_run("small", STABLE)])
    assert {s.quadrant for s in study.leaderboard} == {"undecided"}
    assert "brittle</td>" not in _page.render(study)


def test_changes_are_paired_by_task_with_the_largest_first():
    study = study_of([make_run("big", BRITTLE), make_run("small", STABLE)])
    _, small = study.leaderboard
    assert small.gap_pass == pytest.approx(-0.5)
    [drop] = [pair for pair in study.ranking.differences if pair.metric == "drop"]
    assert (drop.name, drop.other) == ("big", "small")
    assert drop.difference == pytest.approx(0.25)
    assert [(c.key[1], c.entry.label) for c in study.changes] == [
        ("one", "small"),
        ("two", "small"),
    ]
    one = study.changes[0]
    assert (one.pass_before, one.pass_now) == (1.0, 0.5)
    assert (one.auc_before, one.auc_now) == pytest.approx((0.5, 1.0))
    # 8 of 8 against 4 of 8: C(8,4) / C(16,12) = 70 / 1820 each way. Both tasks alike: as adjusted.
    assert one.p_value == pytest.approx(2 * 70 / 1820)
    assert one.p_adjusted == pytest.approx(2 * 70 / 1820)


def test_the_order_of_models_is_decided_where_all_tasks_agree():
    names = [f"task{number}" for number in range(24)]
    runs = [
        make_run("brittle", dict.fromkeys(names, falling(1.0, 0.5, 0.0))),
        make_run("weak", dict.fromkeys(names, flat(0.3))),
        make_run("frail", dict.fromkeys(names, falling(1.0, 0.9, 0.8))),
    ]
    study = study_of(runs)
    # The weak model drops nothing and solves fewest reworded prompts.
    assert [row.entry.label for row in study.ranked] == ["frail", "brittle", "weak"]
    assert [row.ranked.standing for row in study.ranked] == ["first", *["solves fewer"] * 2]
    assert study.ranking.choice == "frail"
    lead = leaderboard(study).lead
    assert lead.startswith("Take frail: it solves 0.400 more of the reworded prompts than brittle")


def test_an_open_order_is_called_undecided():
    one = {f"task{n}": (1.0, {0.1: [1.0 - 0.1 * (n % 3)]}) for n in range(6)}
    two = {f"task{n}": (1.0, {0.1: [0.98 - 0.1 * (n % 2)]}) for n in range(6)}
    study = study_of([make_run("one", one), make_run("two", two)])
    assert [row.ranked.standing for row in study.ranked] == ["first", "undecided"]
    section = leaderboard(study)
    assert section.lead.startswith("Undecided between two and one: one drops 0.030 more than two (")
    [row] = section.tables[1].rows
    assert row[-1] == "undecided"


def test_a_difference_has_a_paired_interval():
    names = "abcdefgh"
    before = {name: flat(0.9 - 0.1 * n) for n, name in enumerate(names)}
    after = {name: flat(1.0 - 0.1 * n) for n, name in enumerate(names)}
    _, later = study_of([make_run("m", before), make_run("other", after)]).leaderboard
    # Every task gained the same: the spread of tasks drops out.
    assert later.gap_pass_ci95 == pytest.approx((0.1, 0.1))
    assert later.intervals["pass_at_1"][1] - later.intervals["pass_at_1"][0] > 0.2


def test_models_are_compared_over_the_tasks_that_all_have():
    study = study_of([make_run("big", {**BRITTLE, "extra": flat(0.0)}), make_run("small", STABLE)])
    assert [key[1] for key in study.subset.tasks] == ["one", "two"]
    assert study.leaderboard[0].pass_at_1 == 1.0
    assert "compared over the 2 tasks that all have; 1 left out: extra" in study.subset.notes


def test_models_are_compared_over_the_distances_and_variants_that_all_have():
    three = {"one": (1.0, {0.1: [1.0, 0.0], 0.2: [0.5], 0.3: [0.0]})}
    two = {"one": (1.0, {0.1: [1.0], 0.2: [0.5]})}
    study = study_of([make_run("a", three), make_run("b", two)])
    assert study.subset.distances == (0.1, 0.2)
    assert study.leaderboard[0].elasticity == study.leaderboard[1].elasticity
    assert "compared over the distances that all have: 0.1, 0.2" in study.subset.notes
    assert "1 variant left out that some entries lack" in study.subset.notes


def test_what_was_worded_anew_keeps_its_own_variants_and_is_said():
    again = make_run("b", BRITTLE)
    tasks = [
        replace(t, variants=[replace(v, id=f"{v.id}9") for v in t.variants])
        for t in again.record.tasks
    ]
    study = study_of(
        [make_run("a", BRITTLE), NamedRecord(path="b", record=replace(again.record, tasks=tasks))]
    )
    assert study.leaderboard[1].auc_e == pytest.approx(0.75)
    assert any(note.startswith("2 tasks with new variants") for note in study.subset.notes)


def test_what_is_not_the_same_is_said_in_a_line_each():
    runs = [
        make_run("a", BRITTLE),
        make_run("b", BRITTLE, temperature=0.8, version="0.2.0", prompt="Please."),
    ]
    notes = study_of(runs).subset.notes
    assert "not the same: temperature 0.2 (a); 0.8 (b)" in notes
    assert "not the same: pytest-promptse 0.1.0 (a); 0.2.0 (b)" in notes
    assert "prompts that are not the same in all: one, two" in notes


def test_no_text_of_a_record_acts_on_the_terminal():
    runs = [make_run("a", BRITTLE), make_run("b", BRITTLE, version="\x1b]0;owned\x07")]
    notes = "".join(study_of(runs).subset.notes)
    assert "\\x1b]0;owned" in notes
    assert "\x1b" not in notes


def test_a_setting_that_an_earlier_release_did_not_know_is_no_difference():
    runs = [make_run("a", STABLE), make_run("b", STABLE, perturb="task")]
    assert study_of(runs).subset.notes == ()


def test_runs_that_were_scored_otherwise_are_compared_by_pass_rates():
    sharp = make_run("a", BRITTLE, soft=lambda rate: rate**2)
    study = study_of([sharp, make_run("b", BRITTLE, mode="light")])
    assert study.subset.mode == "light"
    assert study.leaderboard[0].auc_e == pytest.approx(0.75)
    assert any("as PromptSELight does" in note for note in study.subset.notes)
    assert "not the same: mode promptse (a); light (b)" in study.subset.notes
    assert study.screening.missing
    by_soft = study_of([sharp, make_run("b", BRITTLE)])
    # Scores 1, 0.25, 0: (1 + 4 * 0.25) / 6 = 1/3 in the first task.
    assert by_soft.leaderboard[0].auc_e == pytest.approx((1 / 3 + 1) / 2)
    assert by_soft.leaderboard[0].light == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("runs", "labels"),
    [
        ([make_run("a", STABLE), make_run("b", STABLE)], ["a", "b"]),
        (
            [
                make_run("a", STABLE, finished="2026-01-01T00:00:00+00:00"),
                make_run("a", STABLE, finished="2026-02-01T00:00:00+00:00"),
            ],
            ["a 2026-01-01", "a 2026-02-01"],
        ),
        (
            [
                make_run("a", STABLE, finished="2026-01-01T08:00:00+00:00"),
                make_run("a", STABLE, finished="2026-01-01T09:30:00+00:00"),
            ],
            ["a 2026-01-01 08:00", "a 2026-01-01 09:30"],
        ),
        (
            [make_run("a", STABLE, path="x/one.json"), make_run("a", STABLE, path="two.json")],
            ["a one", "a two"],
        ),
        (
            [make_run("a", STABLE, path="x"), make_run("a", STABLE, path="x")],
            ["a x (1)", "a x (2)"],
        ),
        ([make_run("a", STABLE, name="old"), make_run("a", STABLE, name="new")], ["old", "new"]),
        ([make_run("a", STABLE), make_run("a", STABLE, template="team")], ["a", "a · team"]),
    ],
)
def test_every_entry_has_a_label_of_its_own(runs, labels):
    assert [entry.label for entry in study_of(runs).subset.entries] == labels


def test_one_record_may_hold_several_models_and_templates():
    parts = []
    for model, template in (("a", None), ("a", "team"), ("b", None)):
        tasks = [make_task("one", *flat(0.5), model=model, template=template)]
        parts.append((make_suite(tasks), tasks))
    study = study_of([NamedRecord(path="run.json", record=make_record(*parts), name="mine")])
    assert [e.label for e in study.subset.entries] == ["mine · a", "mine · a · team", "mine · b"]


def test_models_that_share_no_variant_of_a_task_still_have_their_pass_rates():
    near, far = (1.0, {0.1: [0.5]}), (1.0, {0.2: [0.5]})
    study = study_of(
        [make_run("a", {"one": near, "two": far}), make_run("b", {"one": far, "two": near})]
    )
    for row in study.leaderboard:
        assert (row.pass_at_1, row.auc_e, row.sensitivity) == (1.0, None, None)
        assert row.quadrant is None
    assert study.cut is None
    assert "Quadrants" in render_sections(sections_of(study), title="", width=80, colours=False)
    assert "quadrants need models with a drop" in _page.render(study)


def test_the_title_counts_models_and_their_entries():
    assert study_of([make_run("a", STABLE), make_run("b", STABLE)]).subset.title == (
        "2 models side by side"
    )
    assert study_of([make_run("a", STABLE), make_run("a", STABLE)]).subset.title == (
        "2 entries of 1 model side by side"
    )


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([make_run("a", STABLE)], "run.json holds one model, a, and nothing to compare it with"),
        (
            [make_run("a", STABLE), make_run("b", STABLE, suite="test_b.py::test_b")],
            "no task is in all records: a has test_a.py::test_a; b has test_b.py::test_b; ",
        ),
        (
            [make_run("a", {"one": flat(1.0, (0.1,))}), make_run("b", {"one": flat(1.0, (0.2,))})],
            "no distance is in all records: a 0.1; b 0.2; ",
        ),
        (
            [NamedRecord(path="empty.json", record=make_record())],
            "empty.json holds no task whose original prompt was measured",
        ),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(runs, said):
    with pytest.raises(RecordError, match=said):
        study_of(runs)


def test_a_size_or_family_of_a_model_that_is_not_there_is_refused():
    runs = [make_run("a", STABLE), make_run("b", STABLE)]
    with pytest.raises(RecordError, match="no record holds the model 'c'; there are a, b"):
        study_of(runs, sizes={"c": 7.0})


@pytest.mark.parametrize(
    ("model", "size", "family"),
    [
        ("vllm:Qwen/Qwen2.5-Coder-7B-Instruct", 7.0, "qwen"),
        ("vllm:deepseek-ai/deepseek-coder-6.7b-instruct", 6.7, "deepseek"),
        ("vllm:deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 1.5, "qwen"),
        ("ct2:models/CodeLlama-34b", 34.0, "llama"),
        ("openai:gpt-4.1-mini", None, "gpt"),
        ("openai:codestral-22b", 22.0, "mistral"),
        ("tiny", None, None),
        ("ct2:a4bit", None, None),
    ],
)
def test_size_and_family_are_read_from_a_name(model, size, family):
    assert (size_of(model), family_of(model)) == (size, family)


def test_rounding_puts_no_model_into_another_quadrant():
    # Means of 0.1 + 0.2 and 0.3 differ in the last digit only.
    runs = [
        make_run("a", {n: flat(0.3) for n in "xyz"}),
        make_run("b", {n: flat(0.1 + 0.2) for n in "xyz"}),
    ]
    assert len({s.quadrant for s in study_of(runs).leaderboard}) == 1


def test_a_template_that_was_edited_in_between_is_said():
    runs = [make_run("a", STABLE, template="team", path=path) for path in ("x", "y")]
    edited = []
    for run, sha in zip(runs, ("0" * 64, "f" * 64), strict=True):
        suites = [replace(suite, template_sha256=sha) for suite in run.record.suites]
        edited.append(NamedRecord(path=run.path, record=replace(run.record, suites=suites)))
    notes = study_of(edited).subset.notes
    assert notes == (
        f"not the same: template team {'0' * 12} (a · team x); {'f' * 12} (a · team y)",
    )
