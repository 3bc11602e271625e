from __future__ import annotations

import csv
import json

import msgspec
import pytest
from psychometric_records import bench, check, inventory, record
from record_builders import estimates, suite_record

from pytest_promptse.cli._main import main
from pytest_promptse.compare._entry import NamedRecord
from pytest_promptse.compare._psychometrics import psychometric_sections
from pytest_promptse.record._files import write
from pytest_promptse.record._schema import Record


@pytest.fixture
def paths(tmp_path):
    first = record(
        csi=[inventory("a", 0.5)], emotionbench=[bench("a", (10.0, 12.0), (5.0, 8.0), (2.0, 4.0))]
    )
    second = record(
        csi=[inventory("b", 0.3)], emotionbench=[bench("b", (12.0, 12.0), (8.0, 8.0), (4.0, 4.0))]
    )
    found = []
    for name, each in (("first", first), ("second", second)):
        write(each, tmp_path / f"{name}.json")
        found.append(str(tmp_path / f"{name}.json"))
    return found


def test_records_of_psychometric_suites_alone_are_compared(paths, tmp_path, capsys):
    folder, page = tmp_path / "csv", tmp_path / "page.html"
    assert main(["compare", *paths, "--csv", str(folder), "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "Core Sentiment Inventory" in out
    assert "Against human subjects" in out
    with (folder / "csi.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["administration"], row["optimism"]) for row in rows] == [
        ("a", "0.5"),
        ("b", "0.3"),
    ]
    text = page.read_text(encoding="utf-8")
    assert "EmotionBench" in text
    assert "Leaderboard" not in text


def test_alignment_with_humans_is_a_difference_and_a_correlation(paths):
    runs = [NamedRecord(path=path, record=Record.load(path)) for path in paths]
    sections = {section.name: section for section in psychometric_sections(runs)}
    tables = {table.name: table for table in sections["emotionbench"].tables}
    first, second = tables["emotionbench_alignment"].rows
    assert first[4] == pytest.approx((2 + 3 + 2) / 3)
    assert second[4] == 0
    assert second[5] == pytest.approx(1)


@pytest.mark.parametrize("n_models", [2, 3])
def test_affect_shift_is_correlated_with_elasticity_over_models_as_exploratory(n_models):
    found = [("a", 8.0, 0.9), ("b", 4.0, 0.8), ("c", 2.0, 0.7)][:n_models]
    runs = [
        NamedRecord(
            path=f"{model}.json",
            record=msgspec.structs.replace(
                record(manipulation=[check(model, shift, recognised=("calm",))]),
                suites=[suite_record(model=model, estimates=estimates(auc_e=auc_e))],
            ),
        )
        for model, shift, auc_e in found
    ]
    (section,) = psychometric_sections(runs)
    assert "Exploratory" in section.lead
    if n_models == 3:
        assert "correlation with AUC-E over 3 models is +1.00" in section.lead
    else:
        assert "needs 3 models" in section.lead
    # The control counts neither as an emotion nor as a label.
    assert section.tables[0].rows[0] == ("a", "1 of 2", 4.0, 0.9)


def test_one_model_on_two_days_has_two_labels(paths):
    loaded = Record.load(paths[0])
    runs = [
        NamedRecord(path="x.json", record=loaded, name="monday"),
        NamedRecord(path="y.json", record=loaded, name="friday"),
    ]
    table = psychometric_sections(runs)[0].tables[0]
    assert [row[0] for row in table.rows] == ["a (monday)", "a (friday)"]


def test_records_without_psychometric_suites_have_no_sections(paths):
    bare = msgspec.structs.replace(Record.load(paths[0]), psychometrics=msgspec.UNSET)
    assert psychometric_sections([NamedRecord(path="x", record=bare)]) == ()
    assert "psychometrics" not in json.loads(msgspec.json.encode(bare))
