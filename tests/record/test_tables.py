"""A record as tables: every figure is in its row, and the rows of a level have the same columns."""

from __future__ import annotations

import csv

import pytest
from instrument_records import record as instruments
from instrument_records import survey
from record_builders import (
    estimates,
    original_record,
    run_record,
    suite_record,
    task_record,
    variant_record,
)

from pytest_promptse import Record
from pytest_promptse.errors import RecordError
from pytest_promptse.record import _tables, frame, rows
from pytest_promptse.record._figures import ControlRecord, EstimateRecord, LightRecord
from pytest_promptse.record._files import encode
from pytest_promptse.scoring._scores import TaskDrop
from pytest_promptse.store._measured_variant import DrawRecord, SampleRecord

# Cells whose column has another name than the field, each with its value in the full record.
SUITE_CELLS = {
    "suite": "test_a.py::test_a",
    "elasticity_0.1": 0.9,
    "elasticity_0.3": 0.7,
    "light_auc_e": 0.82,
    "loss_mean": 0.2,
    "loss_control": 0.05,
    "excess_loss": 0.15,
    "excess_loss_low": 0.1,
    "excess_loss_high": 0.25,
    "auc_e_low": 0.75,
    "auc_e_high": 0.85,
    "brevity": 0.5,
    "brevity_low": 0.4,
    "brevity_high": 0.6,
}
TASK_CELLS = {
    "task": "slug",
    "elasticity_0.1": 0.95,
    "elasticity_0.3": 0.65,
    "original_n": 8,
    "original_pass_rate": 0.875,
    "drop": 0.25,
    "drop_low": 0.125,
    "drop_high": 0.5,
    "drop_shrunken": 0.2,
    "drop_margin": 0.1,
    "equivalent": False,
}
VARIANT_CELLS = {
    "suite": "test_a.py::test_a",
    "model": "m",
    "template": "terse",
    "task": "slug",
    "variant": "v1",
    "operations": "add prefix",
    "cue_emotion": "sigh",
    "prompt": "Sigh, write it.",
}
SAMPLE_CELLS = ("variant", "index", "n", "passed", "cause", "detail", "logprob", "program")


def full_record():
    """A suite and a task with every figure, and a suite and a task with none."""
    control = ControlRecord(
        name="neutral",
        n_planned=4,
        n_measured=4,
        loss=0.2,
        control_loss=0.05,
        excess_loss=EstimateRecord(value=0.15, ci95=(0.1, 0.25)),
        levels={},
    )
    brevity = EstimateRecord(value=0.5, ci95=(0.4, 0.6))
    suite = suite_record(
        n_tasks=3,
        n_measured=9,
        elasticity={"0.3": 0.7, "0.1": 0.9},
        auc_e_null=0.98,
        ess_median=4.5,
        p_value=0.03,
        p_adjusted=0.06,
        light=LightRecord(elasticity={}, auc_e=0.82, ci95=None, auc_e_null=0.9, excess=0.1),
        control=control,
        verdict="fail",
        estimates=estimates(pass_at_1=1.0, auc_e=0.8, ci95=(0.75, 0.85), brevity=brevity),
    )
    passing = SampleRecord(n=6, cause=None, detail="", text="k1")
    failing = SampleRecord(n=2, cause="timeout", detail="after 1 s", text="k2")
    draws = [
        DrawRecord(cause=None, logprob=-1.5, n_tokens=7, answer=0),
        DrawRecord(cause="wrong_answer", logprob=None, n_tokens=None, answer=1),
    ]
    variant = variant_record(
        "Sigh, write it.",
        0.75,
        id="v1",
        distance=0.3,
        emotion="tired",
        added_share=0.2,
        replaced_share=0.1,
        moved_share=0.05,
        length_ratio=1.3,
        operations=("add", "prefix"),
        cues={"emotion": "sigh"},
        confidence=0.9,
        delta=-0.125,
        excess=0.02,
        p_adjusted=0.5,
        prompt_tokens=30.0,
        completion_tokens=12.0,
        samples=[passing, failing],
    )
    task = task_record(
        "slug",
        template="terse",
        elasticity={"0.1": 0.95, "0.3": 0.65},
        auc_e=0.8,
        auc_e_null=0.97,
        excess=0.17,
        p_value=0.01,
        p_adjusted=0.02,
        original=original_record("Write it.", 0.875, draws=draws, samples=[passing]),
        variants=[variant],
        controls=[variant_record("Write it, please.", 1.0, id="c1", distance=0.1, rewriter="")],
        texts={"k1": "print(1)", "k2": "while 1: pass"},
        drop=TaskDrop(value=0.25, ci95=(0.125, 0.5), shrunken=0.2, margin=0.1, equivalent=False),
    )
    empty = suite_record(id="empty", n_measured=0, mode=None)
    return run_record([suite, empty], [task, task_record("bare", original=None, variants=[])])


def named_after(row, source, cells):
    """Return `cells`, and for all other columns of a row the field that each is named after.

    A column that is no field either belongs to a figure that was not measured.
    """
    return {name: getattr(source, name, None) for name in row} | cells


def test_every_cell_is_the_figure_that_its_column_is_named_after():
    full = full_record()
    [suite, bare_suite] = rows(full, "suites")
    assert suite == named_after(suite, full.suites[0], SUITE_CELLS)
    assert bare_suite == named_after(bare_suite, full.suites[1], {"suite": "empty"})
    [task, bare] = rows(full, "tasks")
    assert task == named_after(task, full.tasks[0], TASK_CELLS)
    assert bare == named_after(bare, full.tasks[1], {"task": "bare"})
    [original, variant] = rows(full, "variants")
    assert variant == named_after(variant, full.tasks[0].variants[0], VARIANT_CELLS)
    assert (original["variant"], original["rewriter"], original["operations"]) == (
        *("original", None),
        "",
    )
    [control] = rows(full, "controls")
    assert (control["variant"], control["pass_rate"]) == ("c1", 1.0)


def test_distances_are_columns_in_ascending_order():
    [row, _] = rows(full_record(), "suites")
    names = list(row)
    assert names.index("elasticity_0.1") + 1 == names.index("elasticity_0.3")


def test_samples_are_completions_if_all_were_recorded_and_else_outcomes_with_their_number():
    found = [tuple(row[name] for name in SAMPLE_CELLS) for row in rows(full_record(), "samples")]
    assert found == [
        ("original", 0, 1, True, None, None, -1.5, None),
        ("original", 1, 1, False, "wrong_answer", None, None, None),
        ("v1", None, 6, True, None, "", None, "print(1)"),
        ("v1", None, 2, False, "timeout", "after 1 s", None, "while 1: pass"),
    ]


def test_figures_of_instruments_are_rows_with_their_limits():
    made = instruments(survey("tiny", 0.5), survey("large", 0.25))
    found = list(rows(made, "figures"))
    assert len(found) == 8
    assert found[0] == {
        "suite": "mood.survey.yaml",
        "instrument": "survey",
        "model": "tiny",
        "group": "",
        "figure": "warmth",
        "label": "label of warmth",
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "reference": 0.5,
        "baseline": None,
    }
    scores = list(rows(made, "survey-scores"))
    assert [(row["model"], row["value"]) for row in scores] == [
        ("tiny", 0.5),
        ("tiny", 0.9),
        ("large", 0.25),
        ("large", 0.9),
    ]


def test_a_suite_is_one_row_with_its_figures(record):
    found = list(rows(record, "suites"))
    assert [row["suite"] for row in found] == [suite.id for suite in record.suites]
    for row, suite in zip(found, record.suites, strict=True):
        assert row["auc_e"] == suite.auc_e
        assert (row["auc_e_low"], row["auc_e_high"]) == (suite.ci95 or (None, None))
        assert {name: row[f"elasticity_{name}"] for name in suite.elasticity} == suite.elasticity


def test_every_variant_has_a_row_and_the_original_has_one(record):
    found = list(rows(record, "variants"))
    expected = [
        (task.id, variant)
        for task in record.tasks
        for variant in ["original", *(variant.id for variant in task.variants)]
        if variant != "original" or task.original
    ]
    assert [(row["task"], row["variant"]) for row in found] == expected


@pytest.mark.parametrize("level", ["suites", "tasks", "variants", "samples"])
def test_all_rows_of_a_level_have_the_same_columns(record, level):
    assert len({tuple(row) for row in rows(record, level)}) <= 1


def test_an_unknown_table_is_refused_with_the_nearest_name(record):
    with pytest.raises(RecordError, match=r"no table 'variant'.*variants"):
        list(rows(record, "variant"))


def test_a_record_is_loaded_as_it_was_written(record, tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(b"".join(encode(record)))
    loaded = Record.load(path)
    assert list(rows(loaded, "variants")) == list(rows(record, "variants"))


def test_a_file_that_is_missing_is_one_line(tmp_path):
    with pytest.raises(RecordError, match=r"gone\.json: No such file or directory; give a file"):
        Record.load(tmp_path / "gone.json")


def test_a_frame_has_the_rows_as_they_are(record):
    pd = pytest.importorskip("pandas")
    table = frame(record, "tasks", library="pandas")
    assert isinstance(table, pd.DataFrame)
    assert list(table["task"]) == [row["task"] for row in rows(record, "tasks")]


def test_a_polars_frame_has_the_rows_as_they_are(record):
    pl = pytest.importorskip("polars")
    table = frame(record, "suites", library="polars")
    assert isinstance(table, pl.DataFrame)
    assert table["suite"].to_list() == [row["suite"] for row in rows(record, "suites")]


def test_a_missing_library_is_named_with_the_command_that_installs_it(record, monkeypatch):
    monkeypatch.setattr(_tables, "find_spec", lambda _: None)
    with pytest.raises(RecordError, match=r"pandas or polars: pip install pandas"):
        frame(record, "suites")
    with pytest.raises(RecordError, match=r"need polars: pip install polars"):
        frame(record, "suites", library="polars")


def test_csv_files_hold_every_level_and_no_formula(record, tmp_path):
    _tables.write_csv(record, tmp_path / "figures")
    with (tmp_path / "figures/variants.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["variant"] for row in read] == [row["variant"] for row in rows(record, "variants")]
    cells = ["=1+1", "+1", "-1", "@a", "\ta", "plain", ""]
    assert [_tables.csv_text(cell) for cell in cells] == [
        *("'=1+1", "'+1", "'-1", "'@a", "'\ta"),
        *("plain", ""),
    ]
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "suites.csv",
        "tasks.csv",
        "variants.csv",
        "samples.csv",
    }


def test_a_folder_that_cannot_be_written_is_one_line(record, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match=r"^report csv:.*/file: File exists$"):
        _tables.write_csv(record, tmp_path / "file")


def test_csv_files_have_controls_only_if_there_are_some(tmp_path):
    _tables.write_csv(full_record(), tmp_path)
    names = {path.stem for path in tmp_path.iterdir()}
    assert names == {"suites", "tasks", "variants", "controls", "samples"}


def test_csv_files_hold_the_figures_of_instruments(tmp_path):
    _tables.write_csv(instruments(survey("tiny", 0.5)), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"figures.csv", "survey-scores.csv"}
    with (tmp_path / "survey-scores.csv").open(newline="") as file:
        [first, second] = csv.DictReader(file)
    shown = {name: first[name] for name in ("figure", "value", "ci95_low", "ci95_high")}
    assert shown == {
        "figure": "label of warmth",
        "value": "0.5",
        "ci95_low": "0.4",
        "ci95_high": "0.6",
    }
    assert float(second["value"]) == 0.9
