from __future__ import annotations

import pytest
from msgspec.structs import replace
from psychometric_records import bench, inventory, record

from pytest_promptse.record._psychometrics import AnswerRecord, PsychometricsRecord
from pytest_promptse.record._queries import overall
from pytest_promptse.reports import _github, _markdown
from pytest_promptse.reports.html import _html
from pytest_promptse.reports.terminal._summary import render

HOSTILE = "<script>alert(1)</script> \x1b[31m | `x`"


@pytest.fixture
def psychometric():
    csi = inventory("a", 0.5)
    hostile = AnswerRecord(id="batch[run1-01]", problems={"prose": 1}, response=HOSTILE)
    csi = replace(csi, worst=[hostile], problems={"prose": 1, "missing": 30})
    return record(csi=[csi], emotionbench=[bench("a", (10.0, 12.0), (5.0, 8.0))])


def test_gates_of_psychometric_suites_decide_the_verdict(psychometric):
    assert overall(psychometric) == "fail"


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_the_summary_shows_both_suites(psychometric, verbosity):
    text = render(psychometric, width=80, colours=False, verbosity=verbosity)
    assert "consistency 0.80 < 0.90" in text
    assert "EmotionBench" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    if verbosity > 0:
        assert "fear 1" in text


def test_the_page_has_both_sections_and_no_hostile_text(psychometric):
    page = _html.render(psychometric)
    assert 'id="csi"' in page
    assert 'id="emotionbench"' in page
    assert 'id="task-table"' not in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_markdown_has_a_table_of_suites_and_the_failed_gates(psychometric):
    text = _markdown.render(psychometric)
    assert text.startswith("### Psychometric suites")
    assert "optimism 0.500" in text
    assert "consistency 0.80 < 0.90" in text


def test_github_gets_an_annotation_for_each_failed_gate(psychometric):
    (line,) = list(_github.commands(psychometric))
    assert line.startswith("::error file=words.csi.yaml")
    assert line.endswith("::consistency 0.80 < 0.90")


def test_a_record_without_the_section_is_shown_as_before(psychometric):
    bare = replace(psychometric, psychometrics=PsychometricsRecord())
    assert "Core Sentiment Inventory" not in render(bare, width=80, colours=False)
