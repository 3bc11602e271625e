from __future__ import annotations

import json
import sys
from importlib import resources

import pytest

from pytest_promptse.cli._main import main
from pytest_promptse.errors import SettingsError
from pytest_promptse.instruments._scales import Ratings, item_order, read_ratings
from pytest_promptse.psychometrics.csi._build import build_words, read_lexicon, render_words
from pytest_promptse.psychometrics.csi._comparator import big_five, reliability
from pytest_promptse.psychometrics.csi._prompts import ANCHORS, anchors_for, batch_prompt
from pytest_promptse.psychometrics.csi._words import LANGUAGES, load_words, read_words


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
    assert about["valence"]["name"].startswith("vaderSentiment ")
    assert len(about["valence"]["sha256"]) == 64


def test_charged_chinese_words_are_left_out_by_the_own_lexicon():
    corpus = [("c", "学校 战争 学校 朋友 学校 学习")]
    kept = {}
    for bound in (0.2, 0.5, 0.8):
        words, about = build_words("zh", size=9, corpus=corpus, max_valence=bound)
        kept[bound] = {word.word for word in words}
        assert about["valence"]["name"] == "valence_zh.tsv"
    assert kept == {0.2: {"学校"}, 0.5: {"学校", "学习"}, 0.8: {"学校", "学习", "朋友"}}


def test_the_chinese_lexicon_says_who_wrote_it_and_covers_the_shipped_list():
    data = resources.files("pytest_promptse.psychometrics.csi") / "data" / "valence_zh.tsv"
    assert "Written for pytest-promptse by its authors" in data.read_text(encoding="utf-8")
    with resources.as_file(data) as path:
        valence = read_lexicon(path).valence
    charged = [valence[word] for word in load_words("zh").words if word in valence]
    assert len(charged) > 900
    assert {abs(value) for value in charged} == {0.3, 0.6, 0.9}
    assert 0.3 < sum(value < 0 for value in charged) / len(charged) < 0.7


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
    [
        ["--size", "0"],
        ["--max-valence", "2"],
        ["--corpus", "missing.txt"],
        ["--valence", "v.tsv"],
    ],
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


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_big_five_questionnaire_has_ten_items_for_each_trait(language):
    scale = big_five(language)
    assert len(scale.items) == len(set(scale.items)) == 50
    assert {len(numbers) for numbers in scale.categories.values()} == {10}
    assert scale.categories == big_five("en").categories
    assert scale.reverse == big_five("en").reverse
    assert "public domain" in scale.source


def test_ratings_of_the_chinese_questionnaire_are_read_by_number_and_by_item():
    scale = big_five("zh")
    order = item_order(50, shuffle=True, seed=1)
    by_number = "\n".join(f"{place}：{1 + number % 5}" for place, number in enumerate(order, 1))
    by_item = "\n".join(f"{scale.items[number - 1]}：{1 + number % 5}" for number in order)
    for response in (by_number, by_item):
        found = read_ratings(response, scale, order)
        assert found.complete
        assert found.ratings == {number: 1 + number % 5 for number in order}


def test_reliability_by_hand():
    scale = big_five("en")
    first = Ratings(ratings={1: 3, 2: 4, 3: 5})
    second = Ratings(ratings={1: 3, 2: 4, 3: 1, 4: 3})
    found = reliability(scale, [first, second])
    assert found.consistency == 2 / 50
    assert found.reluctancy == 3 / 7
    assert found.coverage == 7 / 100
    nothing = reliability(scale, [Ratings(ratings={})] * 2)
    assert (nothing.consistency, nothing.reluctancy, nothing.coverage) == (None, None, 0)
