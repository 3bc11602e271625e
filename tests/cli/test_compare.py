from __future__ import annotations

import csv

import pytest
from record_builders import falling, flat, make_run, save

from pytest_promptse.cli._main import main

TASKS = {"one": falling(1.0, 0.5, 0.0), "two": flat(1.0)}


@pytest.fixture(autouse=True)
def records(tmp_path, monkeypatch):
    """Two records in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    save(make_run("alpha-7b", TASKS), tmp_path / "a.json")
    save(make_run("beta-34b", {name: flat(0.5) for name in TASKS}), tmp_path / "b.json")
    return tmp_path


def test_models_are_shown_side_by_side(capsys):
    assert main(["compare", "a.json", "b.json"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 models side by side, from 2 records\n")
    rows = [line.split() for line in out.splitlines()]
    [best] = [row for row in rows if row[:2] == ["1", "beta-34b"]]
    # Order, reworded pass, drop with its interval, AUC-E, pass@1.
    assert (*best[2:4], best[-1]) == ("first", "0.500", "0.500")
    assert "Undecided between beta-34b and alpha-7b: " in out
    assert "missing: a correlation needs 3 models, there are 2" in out
    assert "RQ4: valence and arousal" in out


def test_a_terminal_of_80_columns_is_wide_enough_and_has_no_colours_off_it(capsys, records):
    long = "openai:some-organisation/a-model-with-a-very-long-name-7b-instruct"
    save(make_run(long, TASKS), records / "a.json")
    assert main(["compare", "a.json", "b.json"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    assert "95 %" in out


def test_names_may_be_given(capsys):
    assert main(["compare", "old=a.json", "new=a.json"]) == 0
    assert "Changes against old" in capsys.readouterr().out


def test_a_baseline_is_found_by_its_name(capsys, records):
    folder = records / ".promptse" / "baselines"
    folder.mkdir(parents=True)
    (records / "b.json").rename(folder / "main.json")
    assert main(["compare", "main", "a.json"]) == 0
    assert "Changes against beta-34b" in capsys.readouterr().out


def test_sizes_and_families_may_be_given(capsys):
    more = ["--size", "alpha-7b=70", "--family", "alpha-7b=llama", "--family", "beta-34b=qwen"]
    assert main(["compare", "a.json", "b.json", *more]) == 0
    out = capsys.readouterr().out
    assert ["family", "llama", "all", "6"] in [line.split()[:4] for line in out.splitlines()]
    assert "an effect of size needs models of two groups of size; found 1" in " ".join(out.split())


def test_every_table_is_a_csv_file_with_figures_in_full(records):
    assert main(["compare", "a.json", "b.json", "--csv", "out/tables"]) == 0
    folder = records / "out" / "tables"
    names = {path.stem for path in folder.iterdir()}
    assert {"leaderboard", "quadrants", "changes_by_task", "rq2_groups", "rq4_quadrants"} <= names
    with (folder / "leaderboard.csv").open(newline="") as file:
        best, other = csv.DictReader(file)
    assert (best["model"], best["quadrant"]) == ("beta-34b", "undecided")
    assert float(best["auc_e"]) == pytest.approx(1.0)
    assert float(other["auc_e"]) == pytest.approx(0.75)
    assert float(best["auc_e_ci95_low"]) <= float(best["auc_e"]) <= float(best["auc_e_ci95_high"])


def test_every_table_is_a_latex_file_with_what_the_terminal_shows(records, capsys):
    assert main(["compare", "a.json", "b.json", "--latex", "out/tables"]) == 0
    printed = capsys.readouterr().out
    folder = records / "out" / "tables"
    assert {"leaderboard.tex", "quadrants.tex"} <= {path.name for path in folder.iterdir()}
    lines = (folder / "leaderboard.tex").read_text().splitlines()
    for row in lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]:
        for cell in row.removesuffix(r" \\").split(" & "):
            shown = cell.replace("$-$", "−").replace("--", "–")  # noqa: RUF001
            assert shown in printed or cell == "--"


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1"])  # noqa: RUF001
def test_no_cell_is_a_formula(records, name):
    tasks = {name: flat(1.0)}
    save(make_run(name, tasks), records / "a.json")
    save(make_run("b", tasks), records / "b.json")
    assert main(["compare", "a.json", "b.json", "--csv", "out"]) == 0
    for path in (records / "out").iterdir():
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                for cell in row:
                    try:
                        float(cell)
                    except ValueError:
                        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝"))  # noqa: RUF001


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.json"], "a.json holds one model, alpha-7b, and nothing to compare it with"),
        (["a.json", "none.json"], "there is no record 'none.json' yet"),
        (["a.json", "text.json"], "/text.json is not a result record"),
        (["a.json", "old.json"], "/old.json is a record of schema version 0"),
        (["a.json", "new.json"], "; a newer one reads it: pip install -U pytest-promptse"),
        (["a.json", "c.json"], "no task is in all records: alpha-7b has test_a.py::test_a"),
        (["a.json", "b.json", "--size", "b"], "compare: --size 'b' names no model and value"),
        (["a.json", "b.json", "--size", "b=x"], "compare: --size 'b=x' names no model and value"),
        (
            ["a.json", "b.json", "--size", "b=7"],
            "no record holds the model 'b'; there are alpha-7b",
        ),
        (["a.json", "b.json", "--csv", "a.json"], "--csv a.json: "),
        (["a.json", "b.json", "--latex", "a.json"], "--latex a.json: "),
    ],
)
def test_misuse_is_one_line_and_code_2(records, capsys, arguments, said):
    (records / "text.json").write_text("hello")
    (records / "old.json").write_text('{"schema": "promptse.run/0"}')
    (records / "new.json").write_text('{"schema": "promptse.run/2"}')
    save(make_run("c", TASKS, suite="other.py::test"), records / "c.json")
    assert main(["compare", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("promptse: ")
    assert said in error
    assert error.count("\n") == 1
