from __future__ import annotations

import csv
import json

import pytest

from pytest_promptse.cli._main import main
from pytest_promptse.errors import SettingsError
from pytest_promptse.psychometrics.csi._published import read_administrations
from pytest_promptse.psychometrics.csi._scoring import score
from pytest_promptse.psychometrics.csi._words import read_words

WORDS = ("is", "time", "river", "debt")
FIRST = {"is": "COMEDY", "time": "TRAGEDY", "river": "COMEDY", "debt": "TRAGEDY"}
SECOND = {"is": "COMEDY", "time": "TRAGEDY", "river": "NEUTRAL", "debt": "COMEDY"}
ORDERS = (("river", "is", "debt", "time"), ("time", "debt", "is", "river"))


@pytest.fixture
def folder(tmp_path):
    """An experiment in the layout of the authors' repository."""
    made = tmp_path / "round1_1_Msome-model_TC2_CN2"
    made.mkdir()
    header = [
        "Prompt: ...\n",
        "order-0",
        "shuffle0-test0",
        "Prompt: ....1",
        "order-1",
        "shuffle1-test0",
    ]
    rows = []
    for place, (first, second) in enumerate(zip(*ORDERS, strict=True), start=1):
        rows.append(
            [
                f"{place}. {first}",
                WORDS.index(first) + 1,
                FIRST[first],
                f"{place}. {second}",
                WORDS.index(second) + 1,
                SECOND[second],
            ]
        )
    with (made / "some-model-English.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    for kind in ("prompts", "responses"):
        (made / kind).mkdir()
    anchors = {"COMEDY": "comedy", "TRAGEDY": "tragedy", "NEUTRAL": "unrelated"}
    for run, (order, labels) in enumerate(zip(ORDERS, (FIRST, SECOND), strict=True)):
        prompts, responses = [], []
        for chunk in (order[:2], order[2:]):
            listed = "\n".join(f"{i}. {word}" for i, word in enumerate(chunk, start=1))
            prompts.append(repr([{"role": "user", "content": f"These:\n\n{listed}"}]))
            responses.append(
                "\n".join(f"{i}. {w} - {anchors[labels[w]]}" for i, w in enumerate(chunk, start=1))
            )
        for kind, texts in (("prompts", prompts), ("responses", responses)):
            text = "".join(f"{text}\n====\n" for text in texts)
            (made / kind / f"some-model-shuffle{run}.txt").write_text(text, encoding="utf-8")
    (made / "story_scores").mkdir()
    for positive, rating in ((0, 8), (1, 7), (3, 4), (5, 1)):
        name = f"score_positive_{positive}-seed_a, b, c, d, e{rating}.txt"
        text = f'```json\n{{"TragedyDegree": {rating}, "ComedyDegree": 5}}\n```'
        (made / "story_scores" / name).write_text(text, encoding="utf-8")
    (made / "story_scores" / "score_positive_2-seed_x.txt").write_text(
        "no rating", encoding="utf-8"
    )
    return made


def test_an_experiments_folder_gives_the_published_scores(folder):
    (found,) = read_administrations(folder)
    assert (found.model, found.language, found.words) == ("some-model", "English", WORDS)
    scores = score(found.codes, found.batches)
    assert scores.optimism.value == 1 / 4
    assert scores.pessimism.value == 1 / 4
    assert scores.neutrality.value == 2 / 4
    assert scores.consistency.value == 2 / 4
    assert scores.reluctancy.value == 1 / 8
    assert found.batches.tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]


def test_the_raw_responses_are_read_again_by_number_and_word(folder):
    (found,) = read_administrations(folder)
    assert (found.reread == found.codes).all()
    path = folder / "responses" / "some-model-shuffle0.txt"
    # The model skips the first word of its first prompt, so its lines move up by one.
    path.write_text(
        path.read_text(encoding="utf-8").replace("1. river - comedy\n2. is", "1. is"),
        encoding="utf-8",
    )
    (found,) = read_administrations(folder)
    assert found.reread[0].tolist() == [1, -1, -9, -1]
    assert found.problems == {"renumbered": 1, "missing": 1}


def test_ratings_of_stories_are_correlated_with_their_seeds(folder):
    (found,) = read_administrations(folder)
    assert found.validity.n_stories == 4
    assert found.validity.n_unrated == 1
    assert found.validity.per_story > 0.99


def test_the_word_list_of_the_responses_is_checked(folder):
    right = read_words(
        "\n".join(json.dumps({"word": w, "tags": {"NN": 1}}) for w in WORDS), name="w"
    )
    (found,) = read_administrations(folder, words=right)
    assert found.words == WORDS
    wrong = read_words("is\ntime\nlake\ndebt", name="w")
    with pytest.raises(SettingsError, match="word 3 differs from that of the list 'w'"):
        list(read_administrations(folder, words=wrong))


def test_raw_responses_as_json_lines(tmp_path, capsys):
    rows = [
        {
            "model": "m",
            "run": 0,
            "words": ["is", "time"],
            "response": "1. is - comedy\n2. time - tragedy",
        },
        {
            "model": "m",
            "run": 1,
            "words": ["time", "is"],
            "response": "1. time: tragedy\n2. is: comedy",
        },
        {"model": "n", "run": 0, "words": ["是"], "response": "1. 是 - 喜剧", "language": "zh"},
    ]
    path = tmp_path / "responses.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    assert main(["csi", "score", str(path), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["model"], first["optimism"], first["consistency"]) == ("m", 0.5, 1.0)
    assert (second["language"], second["optimism"]) == ("zh", 1.0)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "x,y\n1,2\n", "no 'order' column"),
        ("a.csv", "q,order-0,t\n1. is,1,COMEDY\n2. time,1,COMEDY\n", "not a permutation of 1 to 2"),
        ("a.csv", "q,order-0,t\n1. is,1,FARCE\n", "row 2: label 'FARCE'"),
        ("a.csv", "q,order-0,t\n1. is,1\n", "row 2: has 2 cells"),
        ("a.jsonl", "{", "line 1: is not JSON"),
        ("a.jsonl", '{"run": 0, "words": ["is"]}', "'response' is missing"),
        ("a.txt", "", "give a .csv or .jsonl file"),
    ],
)
def test_other_layouts_are_refused_in_one_line(tmp_path, capsys, name, text, said):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert main(["csi", "score", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_table_shows_scores_intervals_and_top_words(folder, capsys):
    assert main(["csi", "score", str(folder), "--top", "1"]) == 0
    out = capsys.readouterr().out
    assert "some-model, English: 4 words x 2 runs" in out
    assert "optimism     0.2500  " in out
    assert "positive: is" in out
    assert "100.00% same labels" in out
