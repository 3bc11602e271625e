from __future__ import annotations

import csv

import pytest
from instrument_records import record, survey
from record_builders import estimates, suite_record

from pytest_promptse.cli._main import main
from pytest_promptse.compare._entry import NamedRecord
from pytest_promptse.compare._instruments import instrument_sections
from pytest_promptse.record._files import write


def run(name, *suites, **fields):
    return NamedRecord(path=f"{name}.json", record=record(*suites, **fields))


def test_records_of_instruments_alone_are_compared(tmp_path, capsys):
    for name, warmth in (("a", 0.5), ("b", 0.25)):
        write(record(survey(name, warmth)), tmp_path / f"{name}.json")
    folder, page = tmp_path / "csv", tmp_path / "page.html"
    paths = [str(tmp_path / f"{name}.json") for name in "ab"]
    assert main(["compare", *paths, "--csv", str(folder), "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Survey of warmth\n")
    assert "label of coverage  0.900  0.900      ·" in out
    assert "label of detail" not in out
    with (folder / "survey.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["a"], row["b"], row["reference"]) for row in rows] == [
        ("0.5", "0.25", "0.5"),
        ("0.9", "0.9", ""),
    ]
    text = page.read_text(encoding="utf-8")
    assert "label of detail" in text
    assert "Leaderboard" not in text


@pytest.mark.parametrize("n_models", [2, 3])
def test_a_figure_is_correlated_with_elasticity_over_models_as_exploratory(n_models):
    runs = [
        run(
            model,
            survey(model, warmth),
            suites=[suite_record(model=model, estimates=estimates(auc_e=auc_e))],
        )
        for model, warmth, auc_e in [("a", 0.8, 0.9), ("b", 0.4, 0.8), ("c", 0.2, 0.7)][:n_models]
    ]
    (section,) = instrument_sections(runs)
    if n_models == 3:
        assert "of AUC-E with “label of shift” over 3 models is +1.00" in section.lead
    else:
        assert "needs 3 models" in section.lead


def test_one_model_on_two_days_has_two_labels():
    same = record(survey("a", 0.5))
    runs = [
        NamedRecord(path="x.json", record=same, name="monday"),
        NamedRecord(path="y.json", record=same, name="friday"),
    ]
    columns = [column.title for column in instrument_sections(runs)[0].tables[0].columns]
    assert columns == ["figure", "a (monday)", "95 %", "a (friday)", "95 %", "human"]


def test_suites_of_one_model_in_one_record_are_told_apart_by_their_headings():
    (section,) = instrument_sections([run("x", survey("a", 0.5), survey("a", 0.3, heading="zh"))])
    assert [column.title for column in section.tables[0].columns][1::2] == [
        "a, en",
        "a, zh",
        "human",
    ]
    assert section.missing == (
        "equal language, so the figures differ for that too: en (a, en); zh (a, zh)",
    )


def test_records_without_instruments_have_no_sections():
    assert instrument_sections([run("x")]) == ()
