from __future__ import annotations

import csv

import pytest
from instrument_records import figure, record, survey
from msgspec.structs import replace

from pytest_promptse.errors import RecordError
from pytest_promptse.record import rows
from pytest_promptse.record._instruments import AnswerRecord
from pytest_promptse.record._queries import overall
from pytest_promptse.record._tables import write_csv
from pytest_promptse.reports import _github, _latex, _markdown
from pytest_promptse.reports._formatting import MINUS
from pytest_promptse.reports.html import _html
from pytest_promptse.reports.terminal._summary import render

HOSTILE = "<script>alert(1)</script> \x1b[31m | `x`"


@pytest.fixture
def surveyed():
    hostile = AnswerRecord(id="run[1]", problems={"prose": 1}, response=HOSTILE)
    return record(
        survey("a", 0.5, worst=[hostile], problems={"prose": 1, "missing": 30}, brief=HOSTILE)
    )


def test_gates_of_instruments_decide_the_verdict(surveyed):
    assert overall(surveyed) == "fail"


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_the_summary_shows_a_suite(surveyed, verbosity):
    text = render(surveyed, width=80, colours=False, verbosity=verbosity)
    assert "fail: warmth 0.50 < 0.90" in text
    assert "Survey of warmth" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert ("label of warmth" in text) == (verbosity >= 0)
    assert ("warm: sun" in text) == (verbosity > 0)
    assert "\x1b" not in text


def test_the_page_has_a_section_of_each_instrument_and_no_hostile_text(surveyed):
    page = _html.render(surveyed)
    assert '<section id="survey">' in page
    assert page.count("<svg") == 2
    assert "What a model answers, which is no feeling." in page
    assert 'id="task-table"' not in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_page_compares_several_models():
    page = _html.render(record(survey("a", 0.5), survey("b", 0.25)))
    assert "All results" in page
    assert "All results" not in _html.render(record(survey("a", 0.5)))


def test_markdown_has_the_suites_the_failed_gates_and_the_tables(surveyed):
    text = _markdown.render(surveyed)
    assert text.startswith("### Survey of warmth")
    assert "warmth 0.50 < 0.90" in text
    assert "`label of warmth` | 0.500" in text
    assert "\x1b" not in text


def test_github_gets_an_annotation_for_each_failed_gate(surveyed):
    (line,) = list(_github.commands(surveyed))
    assert line.startswith("::error file=mood.survey.yaml,title=promptse%3A a,line=2")
    assert line.endswith("::warmth 0.50 < 0.90")


def test_latex_has_the_tables(surveyed, tmp_path):
    _latex.write(surveyed, tmp_path / "r.tex")
    text = (tmp_path / "r.tex").read_text(encoding="utf-8")
    assert "% Survey of warmth, a: Scores" in text
    assert text.count(r"\begin{tabular}") == 1


def test_csv_files_have_figures_and_tables_and_none_is_empty(surveyed, tmp_path):
    write_csv(surveyed, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"figures.csv", "survey-scores.csv"}
    with (tmp_path / "figures.csv").open(encoding="utf-8") as file:
        warmth = next(iter(csv.DictReader(file)))
    assert (warmth["model"], warmth["figure"], warmth["value"]) == ("a", "warmth", "0.5")


def test_rows_of_several_suites_have_the_same_keys():
    both = record(survey("a", 0.5), survey("b", 0.25, blocks=[]))
    assert [row["model"] for row in rows(both, "figures")] == ["a"] * 4 + ["b"] * 4
    assert len(list(rows(both, "survey-scores"))) == 2
    with pytest.raises(RecordError, match="did you mean 'survey-scores'"):
        list(rows(both, "survey-score"))


def test_changes_against_a_baseline_are_shown():
    suite = survey("a", 0.5, baseline="main", figures=[figure("warmth", 0.5, baseline=0.75)])
    text = render(record(suite), width=80, colours=False)
    assert f"label of warmth  0.750  0.500   {MINUS}0.25" in text


def test_a_record_without_instruments_does_not_mention_any():
    assert "Survey" not in render(replace(record(), instruments=[]), width=80, colours=False)
