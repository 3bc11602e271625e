from __future__ import annotations

import csv
import json
import re

import openpyxl
import pytest

from pytest_promptse.cli._main import main
from pytest_promptse.psychometrics.emotionbench._factors import NEGATIVE, PANAS, POSITIVE
from pytest_promptse.psychometrics.emotionbench._published import read_crowd, read_responses

POSITIVE_ITEMS = set(PANAS.categories[POSITIVE])


def responses_file(
    path, *, default=((4, 1), (5, 1)), evoked=((2, 3), (1, 4)), order=None, cell=None
):
    """Write a file in the authors' layout; pairs are the ratings of positive and negative items."""
    order = order or list(range(1, 21))
    columns = {"question-0": ["Prompt"] + [f"{i}. x" for i in order], "order-0": ["p", *order]}

    def column(pair):
        return [pair[0] if n in POSITIVE_ITEMS else pair[1] for n in order]

    for run, pair in enumerate(default):
        columns[f"General_test-{run}_order-0"] = [" ", *column(pair)]
    for run, pair in enumerate(evoked):
        columns[f"Anger-0_scenario-0_test-{run}_order-0"] = ["Imagine", *column(pair)]
    if cell is not None:
        columns["Anger-0_scenario-0_test-0_order-0"][3] = cell
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path


def test_totals_follow_the_order_column(tmp_path):
    straight = read_responses(responses_file(tmp_path / "m-PANAS-testing.csv"))
    turned = read_responses(
        responses_file(tmp_path / "n-PANAS-testing.csv", order=list(range(20, 0, -1)))
    )
    assert straight.default == turned.default == {POSITIVE: (40.0, 50.0), NEGATIVE: (10.0, 10.0)}
    assert straight.evoked[NEGATIVE][0].totals == (30.0, 40.0)
    assert (straight.model, straight.scale) == ("m", "PANAS")


@pytest.mark.parametrize("cell", ["", "six", "3.5", "7", "nan"])
def test_a_response_with_an_item_off_the_scale_is_left_out_and_counted(tmp_path, cell):
    found = read_responses(responses_file(tmp_path / "m-PANAS-testing.csv", cell=cell))
    assert found.malformed == 1
    assert found.evoked[POSITIVE][0].totals == (10.0,)


def test_other_scales_are_plain_sums(tmp_path):
    found = read_responses(responses_file(tmp_path / "gpt-3.5-turbo-DASS-21-testing.csv"))
    assert (found.model, found.scale) == ("gpt-3.5-turbo", "DASS-21")
    assert found.default == {"Overall": (50.0, 60.0)}


def crowd_file(path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Raw"
    names = ["Angry_F1S1", "Angry_F1S1", "Jealous_F2S1"]
    sheet.append([None, "Info", *names])
    for number in range(1, 41):
        item = (number - 1) % 20 + 1
        before = number <= 20
        positive = item in POSITIVE_ITEMS
        rating = (4 if positive else 1) if before else (2 if positive else 3)
        values: list[object] = [rating, rating, rating]
        if number == 40:
            values[1] = "none"
        sheet.append([number, "Please indicate the extent of your feeling - x", *values])
    book.save(path)
    return path


def test_the_workbook_gives_pairs_of_totals(tmp_path):
    found = read_crowd(crowd_file(tmp_path / "crowd.xlsx"))
    assert found.malformed == 1
    assert found.before[POSITIVE] == {"Anger-0": (40.0,), "Jealousy-1": (40.0,)}
    assert found.after[NEGATIVE]["Anger-0"] == (30.0,)


def test_score_prints_the_papers_table(tmp_path, capsys):
    path = responses_file(tmp_path / "m-PANAS-testing.csv")
    assert main(["emotionbench", "score", str(path), str(crowd_file(tmp_path / "crowd.xlsx"))]) == 0
    out = capsys.readouterr().out
    assert "m, PANAS, method paper" in out
    assert "PANAS default measure: Positive Affect 45.0 ± 7.1" in out
    assert "Facing Self-Opinioned People" in out
    assert re.search(r"— +-30.0 +-2.2", out)
    assert "crowd, PANAS, method paired" in out
    assert main(["emotionbench", "score", str(path), "--json", "--method", "cluster"]) == 0
    (table,) = json.loads(capsys.readouterr().out)
    assert table["changes"][NEGATIVE][0]["delta"] == 25.0


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "x,y\n1,2\n3,4\n", "has no columns 'General_test-N_order-N'"),
        ("a.txt", "", "give a response .csv or the crowd study's .xlsx"),
        ("a.xlsx", "no workbook", "cannot be read as a workbook"),
    ],
)
def test_other_layouts_are_refused_in_one_line(tmp_path, capsys, name, text, said):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert main(["emotionbench", "score", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
