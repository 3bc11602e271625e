from __future__ import annotations

import json

import pytest
from record_builders import flat, make_run

from pytest_promptse.cli._main import main
from pytest_promptse.compare._baseline import FOLDER
from pytest_promptse.compare._history import append


def save_nights(root, rates):
    (root / FOLDER).mkdir(parents=True)
    for number, rate in enumerate(rates):
        day = f"2026-01-{number + 1:02}T03:00:00+00:00"
        tasks = {name: (1.0, flat(rate, each=4)[1]) for name in ("one", "two", "three")}
        append("main", make_run("m", tasks, n=16, finished=day).record, root)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_a_course_is_printed_with_its_newest_run_first(project, capsys):
    save_nights(project, [0.875, 0.9375] * 3)
    assert main(["history"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("6 runs\n")
    assert "probability of at most 5%" in out
    assert "6 runs: no change beyond chance." in out
    assert out.index("2026-01-06") < out.index("2026-01-01")
    assert max(map(len, out.splitlines())) <= 80


def test_a_change_for_the_worse_in_the_newest_run_is_a_problem(project, capsys):
    save_nights(project, [0.875, 0.9375] * 6 + [0.0])
    assert main(["history", "main"]) == 1
    assert "pass rate reworded fell" in capsys.readouterr().out


def test_the_page_and_the_json_have_all_runs(project, capsys):
    save_nights(project, [0.875, 0.9375] * 6 + [0.0, 0.0])
    main(["history", "main", "--html", "history.html", "--json", "history.json", "--csv", "."])
    capsys.readouterr()
    [course] = json.loads((project / "history.json").read_text())
    assert len(course["runs"]) == 14
    assert course["changes"][0]["figure"] == "reworded"
    assert len((project / "course_1.csv").read_text().splitlines()) == 15
    page = (project / "history.html").read_text()
    assert page.count("<svg") == 1
    assert "worse: pass rate reworded" in page


def test_a_test_without_runs_is_an_error(project, capsys):
    save_nights(project, [0.875])
    assert main(["history", "--test", "tests/gone.py"]) == 2
    assert "no suite's id starts with 'tests/gone.py'" in capsys.readouterr().err
