from __future__ import annotations

import json
import sys

import pytest

from pytest_promptse.cli.main import main
from pytest_promptse.errors import SettingsError
from pytest_promptse.psychometrics.csi.build import build_words, render_words
from pytest_promptse.psychometrics.csi.comparator import big_five, reliability
from pytest_promptse.psychometrics.csi.prompts import ANCHORS, anchors_for, batch_prompt
from pytest_promptse.psychometrics.csi.words import LANGUAGES, load_words, read_words
from pytest_promptse.psychometrics.scales import Ratings


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_shipped_lists_hold_5000_words_with_their_licence_and_tools(language):
    words = load_words(language)
    assert len(words.words) == 5000
    assert words.language == language
    assert "Creative Commons Attribution-ShareAlike 4.0" in words.about["licence"]
    assert any(tool.startswith("wordfreq ") for tool in words.about["tools"])
    assert len(words.about["frequencies_sha256"]) == 64


def test_the_developer_list_comes_from_humaneval():
    words = load_words("developer")
    assert {"list", "string", "function"} <= set(words.words)
    assert words.about["corpus"][0]["name"] == "humaneval"


def test_shipped_lists_hold_no_words_of_other_kinds():
    assert not {"the", "quickly", "beautiful", "and"} & set(load_words("en").words)
    assert not {"的", "和", "很", "美国"} & set(load_words("zh").words)


def test_building_from_a_corpus_counts_nouns_and_verbs():
    words, about = build_words(
        "en", size=3, corpus=[("c.txt", "The dog walks. The dog sleeps quickly. A dog, a house.")]
    )
    assert (words[0].word, words[0].pos, words[0].frequency) == ("dog", "noun", 3.0)
    assert {w.word for w in words} <= {"dog", "walks", "sleeps", "house"}
    assert about["corpus"][0]["name"] == "c.txt"
    again = build_words(
        "en", size=3, corpus=[("c.txt", "The dog walks. The dog sleeps quickly. A dog, a house.")]
    )
    assert render_words(words, about) == render_words(*again)


def test_building_from_a_chinese_corpus():
    words, _ = build_words("zh", size=5, corpus=[("c", "老师帮助学生。学生学习历史。")])
    assert words[0].word == "学生"
    assert "学习" in {w.word for w in words}


def test_the_shipped_list_is_what_building_gives_today():
    words, about = build_words("zh", size=5000)
    if about["tools"] != load_words("zh").about["tools"]:
        pytest.skip("other versions of the tools are installed")
    assert tuple(w.word for w in words) == load_words("zh").words


def test_charged_words_are_left_out(tmp_path):
    text = "love love love table table murder"
    words, about = build_words("en", size=5, corpus=[("c", text)], max_valence=0.3)
    assert [w.word for w in words] == ["table"]
    assert about["max_valence"] == 0.3
    assert any(tool.startswith("vaderSentiment") for tool in about["tools"])
    with pytest.raises(SettingsError, match="no built-in lexicon for Chinese"):
        build_words("zh", size=5, max_valence=0.3)


def test_valences_of_the_users_own(tmp_path, capsys):
    corpus, valence, out = tmp_path / "c.txt", tmp_path / "v.tsv", tmp_path / "w.jsonl"
    corpus.write_text("战争 学校 学校", encoding="utf-8")
    valence.write_text("战争\t-0.9\n", encoding="utf-8")
    arguments = ["csi", "build", "--language", "zh", "--corpus", str(corpus)]
    arguments += ["--max-valence", "0.5", "--valence", str(valence), "--out", str(out)]
    assert main(arguments) == 0
    assert load_words(str(out)).words == ("学校",)
    valence.write_text("战争 -0.9\n", encoding="utf-8")
    assert main(arguments) == 2
    assert "line 1: needs a word, a tab and a number" in capsys.readouterr().err


def test_a_tool_that_is_not_installed_is_named_with_its_remedy(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jieba", None)
    assert main(["csi", "build", "--language", "zh"]) == 2
    assert "pip install 'pytest-promptse[psychometrics]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["--size", "0"], ["--max-valence", "2"], ["--corpus", "missing.txt"]],
)
def test_misuse_of_build_is_said_in_one_line(arguments, capsys):
    assert main(["csi", "build", "--language", "en", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no words"),
        ("a\na", "line 2: 'a' comes twice"),
        ('{"x": 1}', "line 1: has no 'word'"),
    ],
)
def test_lists_that_are_none_are_refused(text, said):
    with pytest.raises(SettingsError, match=said):
        read_words(text, name="w")


def test_the_published_layout_is_read():
    text = "\n".join(json.dumps({"word": w, "tags": {"NN": 3}}) for w in ("is", "you"))
    assert read_words(text, name="w").words == ("is", "you")


def test_prompts_number_the_words_and_name_both_anchors():
    for pair in ANCHORS:
        for language in LANGUAGES:
            anchors = anchors_for(pair, language)
            prompt = batch_prompt(["a", "b"], language=language, anchors=anchors)
            assert "1. a\n2. b" in prompt
            assert anchors.positive in prompt
            assert anchors.negative in prompt


def test_anchors_of_the_users_own():
    assert anchors_for("warm/cold", "en").negative == "cold"
    for wrong in ("warm", "warm/", "warm/Warm"):
        with pytest.raises(SettingsError, match="two different words"):
            anchors_for(wrong, "en")


def test_the_big_five_questionnaire_has_ten_items_for_each_trait():
    scale = big_five()
    assert len(scale.items) == len(set(scale.items)) == 50
    assert {len(numbers) for numbers in scale.categories.values()} == {10}
    assert "public domain" in scale.source


def test_reliability_by_hand():
    scale = big_five()
    first = Ratings(ratings={1: 3, 2: 4, 3: 5})
    second = Ratings(ratings={1: 3, 2: 4, 3: 1, 4: 3})
    found = reliability(scale, [first, second])
    assert found.consistency == 2 / 50
    assert found.reluctancy == 3 / 7
    assert found.coverage == 7 / 100
    assert reliability(scale, [Ratings(ratings={})] * 2).reluctancy is None
