"""The questionnaire of a third party, as its page shows it, in everything that people look at."""

from __future__ import annotations

import csv

import pytest
from pages import ROOT, blocks

from pytest_promptse.cli._main import main
from pytest_promptse.record import rows
from pytest_promptse.record._schema import Record

FILES = {
    block.file: block.text for block in blocks(ROOT / "docs/how-to/own-instrument.md") if block.file
}


@pytest.fixture
def project(pytester):
    for name, text in FILES.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    return pytester


def test_a_questionnaire_of_a_third_party_is_in_every_report(project, run, capsys):
    reports = ("json:r.json", "html:r.html", "md:r.md", "csv:tables", "latex:r.tex")
    result = run(
        "--promptse-model", "replay:answers.jsonl", "--promptse-save", "main",
        *(f"--promptse-report={report}" for report in reports), "-v",
    )  # fmt: skip
    result.stdout.fnmatch_lines(
        [
            "model.curiosity.yaml::run?1? MEASURED (4 of 4 rated)*",
            "model.curiosity.yaml::suite?curiosity? PASSED (curiosity 13.00*",
            "*Curiosity, 2 runs",
            "curiosity, 4 to 20  13.000*",
        ]
    )
    texts = {
        name: (project.path / name).read_text(encoding="utf-8")
        for name in ("r.html", "r.md", "r.tex", "tables/curiosity-scores.csv")
    }
    assert [name for name, text in texts.items() if "curiosity, 4 to 20" not in text] == []
    record = Record.load(project.path / "r.json")
    (suite,) = record.instruments
    assert suite.data == {"totals": [14.0, 12.0]}
    assert [row["value"] for row in rows(record, "figures")] == [13.0, 1.0]
    assert main(["show", "model.curiosity.yaml::run[1]"]) == 0
    assert "curiosity, 4 to 20  13.000" in capsys.readouterr().out
    assert main(["compare", "x=r.json", "y=r.json", "--csv", "compared"]) == 0
    assert "curiosity, 4 to 20" in capsys.readouterr().out
    with (project.path / "compared" / "curiosity.csv").open(encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert first["replay:answers.jsonl (x)"] == first["replay:answers.jsonl (y)"] == "13.0"
    again = run("--promptse-model", "replay:answers.jsonl", "--promptse-compare", "main", "-v")
    again.stdout.fnmatch_lines(["Changes against main", "curiosity, 4 to 20 *13.000  13.000*0.00"])


def test_the_settings_of_a_third_party_are_checked_with_their_lines(project, run):
    (project.path / "model.curiosity.yaml").write_text(
        "promptse: 1\nsettings:\n  runs: many\n", encoding="utf-8"
    )
    result = run("--promptse-model", "replay:answers.jsonl")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*model.curiosity.yaml:3: runs: Expected `int`, got `str`"])


def test_a_file_of_an_unknown_instrument_is_none_of_this_plugin(project, run):
    (project.path / "compose.production.yaml").write_text("services: {}\n", encoding="utf-8")
    run().assert_outcomes(skipped=1)
