from __future__ import annotations

import csv
import json
import re

import pytest

from pytest_promptse.cli._main import main
from pytest_promptse.errors import SettingsError
from pytest_promptse.psychometrics.emotionbench._factors import (
    EMOTIONS,
    PANAS,
    POSITIVE,
    factor_name,
    human_norms,
)
from pytest_promptse.psychometrics.emotionbench._importer import read_scales
from pytest_promptse.psychometrics.emotionbench._situations import (
    own_situations,
    read_published_situations,
    read_situations,
)

FACTORS = [f"{emotion}-{i}" for emotion, names in EMOTIONS.items() for i in range(len(names))]


def test_there_are_36_factors_of_eight_emotions():
    assert len(EMOTIONS) == 8
    assert len(FACTORS) == 36
    assert factor_name("Fear-4") == "Harmless Animals"


def test_every_factor_has_five_situations_of_our_own_with_counterparts():
    situations = own_situations().situations
    for factor in FACTORS:
        own = [each for each in situations if each.factor == factor]
        assert len(own) >= 5
        assert all(each.counterpart for each in own)
    texts = [each.text for each in situations] + [each.counterpart for each in situations]
    assert len(set(texts)) == len(texts)


def test_situations_speak_to_the_reader_and_are_concrete():
    for each in own_situations().situations:
        for text in (each.text, each.counterpart):
            assert re.search(r"\b(you|your)\b", text, re.IGNORECASE), text
            assert not re.search(r"\b(I|my|someone feels)\b", text), text
            assert 6 <= len(text.split()) <= 45, text
            assert text.endswith((".", '."', "?")), text


def test_human_norms_are_those_of_1266_subjects():
    norms = human_norms()
    assert set(norms) == {*FACTORS, *EMOTIONS, "Overall"}
    assert norms["Overall"].n == 1266 == sum(norms[factor].n for factor in FACTORS)
    assert round(norms["Overall"].delta_negative, 1) == 10.4


def test_panas_has_two_totals_of_ten_items():
    assert len(PANAS.items) == 20
    assert sorted(n for numbers in PANAS.categories.values() for n in numbers) == list(range(1, 21))
    assert 1 in PANAS.categories[POSITIVE]


def test_selection_by_emotion_and_number():
    chosen = own_situations().select(emotions=["Fear"], per_factor=2)
    assert len(chosen.situations) == 10
    with pytest.raises(SettingsError, match="'Joy' is none of Anger"):
        own_situations().select(emotions=["Joy"])


@pytest.fixture
def clone(tmp_path):
    """A clone in the authors' layout, with texts of our own."""
    folder = tmp_path / "EmotionBench"
    (folder / "situations").mkdir(parents=True)
    with (folder / "situations" / "situations.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [
                ["Anger-0", "Fear-4"],
                ["Name", "Name"],
                ["You wait.", "You see a mouse."],
                ["You call.", ""],
            ]
        )
    questionnaires = [
        {
            "name": "TINY",
            "questions": {"1": "I laugh.", "2": "I cry."},
            "compute_mode": "SUM*2",
            "prompt": "You can only reply the numbers from 0 to 3. SCENARIO Rate:",
            "inner_setting": "You are a helpful assistant.",
            "scale": 3,
            "reverse": [2],
            "categories": [{"cat_name": "Half", "cat_questions": [1]}],
        }
    ]
    (folder / "questionnaires.json").write_text(json.dumps(questionnaires), encoding="utf-8")
    return folder


def test_a_clone_is_imported(clone, tmp_path, capsys):
    assert main(["emotionbench", "import", str(clone), "--into", str(tmp_path / "in")]) == 0
    assert "3 situations" in capsys.readouterr().out
    situations = read_situations(tmp_path / "in" / "situations.json").situations
    assert [(each.factor, each.number, each.text) for each in situations] == [
        ("Anger-0", 0, "You wait."),
        ("Anger-0", 1, "You call."),
        ("Fear-4", 0, "You see a mouse."),
    ]
    scale = read_scales(tmp_path / "in" / "scales.json")["TINY"]
    assert scale == read_scales(clone / "questionnaires.json")["TINY"]
    assert (scale.low, scale.high) == (0, 3)
    assert scale.totals({1: 1, 2: 0}) == {"Overall": 8, "Half": 2}


def test_the_published_json_gives_the_same_as_the_csv(clone):
    document = {
        "emotions": [
            {
                "name": "Anger",
                "factors": [{"name": "Name", "scenarios": ["You wait.", "You call."]}],
            }
        ]
    }
    path = clone / "situations.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    from_json = read_published_situations(path).situations
    from_csv = read_published_situations(clone / "situations" / "situations.csv").situations
    assert from_json == from_csv[:2]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "has no 'factors'"),
        ({"factors": {"Joy-0": []}}, "'Joy-0' is not a factor"),
        ({"factors": {"Anger-9": []}}, "'Anger-9' is not a factor"),
        ({"factors": {"Anger-0": [{}]}}, "entry 1: has no text"),
    ],
)
def test_files_of_situations_with_another_layout_are_refused(tmp_path, document, said):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(SettingsError, match=said):
        read_situations(path)


def test_a_folder_that_is_no_clone_is_refused(tmp_path, capsys):
    assert main(["emotionbench", "import", str(tmp_path)]) == 2
    assert "give a clone of github.com/CUHK-ARISE/EmotionBench" in capsys.readouterr().err
