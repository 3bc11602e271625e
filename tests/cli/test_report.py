from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_promptse.cli._main import main
from pytest_promptse.record._schema import decode

SAVED = Path(__file__).parents[1] / "record" / "records" / "0.1.0.json"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    shutil.copy(SAVED, tmp_path / "run.json")
    return tmp_path


def test_without_a_target_the_summary_is_printed(capsys):
    assert main(["report", "run.json"]) == 0
    out = capsys.readouterr().out
    assert "\nreplay:answers.jsonl, mode promptse, weights by sum, 9 variants\n" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_every_kind_is_written_to_the_requested_path(project, capsys):
    assert main(["report", "run.json", "html:out/r.html", "md:r.md", "json:copy.json"]) == 0
    assert capsys.readouterr().out == ""
    assert "Stability across variants" in (project / "out" / "r.html").read_text("utf-8")
    assert (project / "r.md").read_text("utf-8").startswith("### ")
    copy, saved = (path.read_bytes() for path in (project / "copy.json", SAVED))
    assert decode(copy, where="copy") == decode(saved, where="saved")


def test_a_baseline_is_shown_by_its_name(project, capsys):
    folder = project / ".promptse" / "baselines"
    folder.mkdir(parents=True)
    shutil.copy(SAVED, folder / "main.json")
    assert main(["report", "main"]) == 0
    assert "sums is inconclusive" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.json"], "there is no record 'none.json' yet"),
        (["run.json", "pdf:x"], "report pdf:x: there is no report 'pdf'; there are json, html, md"),
        (["run.json", "html:"], "report: names no file; give html:PATH"),
        (["run.json", "md:."], "report md:"),
    ],
)
def test_misuse_is_one_line_and_code_2(arguments, said, capsys):
    assert main(["report", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"promptse: {said}")
    assert error.count("\n") == 1
