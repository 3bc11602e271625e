"""A record as tables: every figure is in its row, and the rows of a level have the same columns."""

from __future__ import annotations

import csv

import pytest
from instrument_records import record as instruments
from instrument_records import survey

from pytest_promptse import Record
from pytest_promptse.errors import RecordError
from pytest_promptse.record import _tables, frame, rows
from pytest_promptse.record._files import encode


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


def test_csv_files_hold_every_level_and_no_formula(record, tmp_path):
    _tables.write_csv(record, tmp_path / "figures")
    with (tmp_path / "figures/variants.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["variant"] for row in read] == [row["variant"] for row in rows(record, "variants")]
    assert _tables.csv_text("=1+1") == "'=1+1"
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "suites.csv",
        "tasks.csv",
        "variants.csv",
        "samples.csv",
    }


def test_csv_files_hold_the_figures_of_instruments(tmp_path):
    _tables.write_csv(instruments(survey("tiny", 0.5)), tmp_path)
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
