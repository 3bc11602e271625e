from __future__ import annotations

import re

import msgspec
import pytest
from hostile_record import ATTACKS, hostile_record

from pytest_promptse.errors import RecordError
from pytest_promptse.record._schema import ErrorRecord
from pytest_promptse.reports import _github, _markdown

COMMAND = re.compile(r"::(error|warning|notice) ([^\n:]*)::([^\n\r]*)")


@pytest.fixture
def summary(tmp_path, monkeypatch):
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_the_summary_is_added_to_what_is_there(record, summary, tmp_path):
    _github.write(record, tmp_path)
    assert summary.read_text("utf-8") == "before\n" + _markdown.render(record)


def test_a_gate_that_failed_is_an_annotation_at_its_test(record):
    suite = msgspec.structs.replace(record.suites[0], line=7)
    record = msgspec.structs.replace(record, suites=[suite], git={"folder": "pkg/"})
    assert list(_github.commands(record)) == [
        "::error file=pkg/sub/test_slug.py,line=7,title=promptse%3A test_slugify::m"
    ]


def test_an_inconclusive_gate_is_a_warning_and_a_passed_one_nothing(record):
    def gated(verdict):
        gate = msgspec.structs.replace(record.suites[0].gates[0], verdict=verdict)
        suite = msgspec.structs.replace(record.suites[0], gates=[gate])
        return list(_github.commands(msgspec.structs.replace(record, suites=[suite])))

    assert [line.partition(" ")[0] for line in gated("inconclusive")] == ["::warning"]
    assert gated("pass") == gated(None) == []


def test_a_figure_that_fell_below_the_baseline_is_an_annotation_at_its_test():
    whole = hostile_record()
    fell = msgspec.structs.replace(
        whole.comparisons[0].figures[1], verdict="fail", message="AUC-E fell"
    )
    comparison = msgspec.structs.replace(whole.comparisons[0], figures=[fell])
    suite = msgspec.structs.replace(whole.suites[0], gates=[])
    record = msgspec.structs.replace(whole, suites=[suite], comparisons=[comparison], errors=[])
    assert list(_github.commands(record)) == [
        "::error file=tests/test_a.py,line=12,title=promptse%3A test_a::AUC-E fell"
    ]


def test_what_was_not_scored_is_an_error(record):
    error = {"where": "a/test_b.py::test_c[d0.1]", "message": "server down"}
    record = msgspec.structs.replace(record, suites=[], errors=[ErrorRecord(**error)])
    assert list(_github.commands(record)) == [
        "::error file=a/test_b.py,title=not scored::a/test_b.py::test_c[d0.1]: server down"
    ]


def test_what_was_skipped_for_want_of_a_completion_is_a_notice(record):
    """The job of a fork is green, so nothing of it is marked as an error."""
    error = ErrorRecord(where="a.py::t[original]", message="not in the store", skipped=True)
    record = msgspec.structs.replace(record, suites=[], errors=[error])
    assert list(_github.commands(record)) == [
        "::notice file=a.py,title=skipped::a.py::t[original]: not in the store"
    ]


def test_a_suite_that_fails_without_a_baseline_is_an_error_at_its_test(record):
    suite = msgspec.structs.replace(record.suites[0], gates=[])
    settings = record.settings | {"compare": "main", "compare_missing": "fail"}
    alone = msgspec.structs.replace(record, suites=[suite], comparisons=[], settings=settings)
    [line] = _github.commands(alone)
    assert line.startswith("::error file=sub/test_slug.py,")
    assert line.endswith(
        ": the baseline 'main' does not exist; make it with: pytest … --promptse-save main"
    )
    tolerated = msgspec.structs.replace(alone, settings=settings | {"compare_missing": "warn"})
    assert list(_github.commands(tolerated)) == []


def test_one_reason_is_one_annotation_however_often_it_was_met(record):
    errors = [ErrorRecord(where=f"a.py::t[{n}]", message="down") for n in range(30)]
    record = msgspec.structs.replace(record, suites=[], errors=errors)
    [line] = _github.commands(record)
    assert line.endswith("::a.py::t[0] and 29 more: down")


def test_a_message_cannot_begin_a_command_of_its_own(summary, tmp_path, capfd):
    _github.write(hostile_record(), tmp_path)
    lines = [line for line in capfd.readouterr().out.splitlines() if line]
    assert len(lines) == 4 + 1
    assert all(COMMAND.fullmatch(line) for line in lines)
    assert all("%0A::error::owned" in line for line in lines)


def test_a_suite_cannot_add_properties(record):
    suite = msgspec.structs.replace(record.suites[0], id="a.py::t,line=9::b%")
    [line] = _github.commands(msgspec.structs.replace(record, suites=[suite]))
    assert line == "::error file=a.py,title=promptse%3A t%2Cline=9%3A%3Ab%25::m"


def test_each_model_is_named_where_there_are_several():
    lines = list(_github.commands(hostile_record()))
    assert lines[0].partition("::")[2].partition("::")[2].startswith("tiny: ")
    assert ATTACKS[0] in lines[1]


def test_a_summary_that_cannot_be_written_is_named(record, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    with pytest.raises(RecordError, match=f"{re.escape(str(tmp_path))}: Is a directory"):
        _github.write(record, tmp_path)
