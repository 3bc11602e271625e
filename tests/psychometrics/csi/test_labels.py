from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.psychometrics.csi._labels import read_labels

WORDS = ("dishes", "calculations", "engaged", "manager")
P, N, Z = "positive", "negative", "neutral"


def read(response, words=WORDS, positive="comedy", negative="tragedy"):
    return read_labels(response, words, positive=positive, negative=negative)


def test_a_well_formed_response_labels_every_word():
    found = read(
        "1. dishes - comedy\n2. calculations - tragedy\n3. engaged - neutral\n4. manager: comedy"
    )
    assert found.labels == (P, N, Z, P)
    assert found.problems == {}


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        ("I'm sorry, as an AI I have no feelings about words.", "refusal"),
        ("Sure! Comedy is fun and dishes are useful.", "prose"),
        ("", "empty"),
        ("\x1b[2J\x1b[H", "empty"),
    ],
)
def test_a_response_without_labels_is_counted_by_its_kind(response, kind):
    found = read(response)
    assert found.labels == (None,) * 4
    assert found.problems == {kind: 1, "missing": 4}


@pytest.mark.parametrize(
    ("response", "labels", "problems"),
    [
        pytest.param(
            "1. dishes - comedy 2. calculations - tragedy",
            (P, N, None, None),
            {"merged": 2, "missing": 2},
            id="merged lines",
        ),
        pytest.param(
            "dishes: comedy, calculations: tragedy, engaged: comedy, manager: tragedy",
            (P, N, P, N),
            {"merged": 4},
            id="one line without numbers",
        ),
        pytest.param(
            "１．dishes：comedy\n２．calculations：tragedy",
            (P, N, None, None),
            {"missing": 2},
            id="full-width digits",
        ),
        pytest.param(
            "1. dishes - comedy and tragedy",
            (Z, None, None, None),
            {"both_anchors": 1, "missing": 3},
            id="both anchors",
        ),
        pytest.param(
            "1. calculations - tragedy\n2. engaged - comedy",
            (None, N, P, None),
            {"renumbered": 2, "missing": 2},
            id="shifted numbers",
        ),
        pytest.param(
            "manager - tragedy\ndishes - comedy",
            (P, None, None, N),
            {"missing": 2},
            id="re-ordered",
        ),
        pytest.param(
            "1. dishes - comedy\n2. calc - tragedy",
            (P, N, None, None),
            {"missing": 2},
            id="truncated word",
        ),
        pytest.param(
            "\x1b[1m1. dishes\x1b[0m - \x1b[32mcomedy\x1b[0m",
            (P, None, None, None),
            {"missing": 3},
            id="escape sequences",
        ),
        pytest.param(
            "1. apples - comedy",
            (None,) * 4,
            {"prose": 1, "missing": 4},
            id="another word",
        ),
        pytest.param(
            "1. dishes - comedy\n1. dishes - tragedy\n2. calculations - tragedy",
            (None, N, None, None),
            {"contradictory": 1, "missing": 3},
            id="contradiction",
        ),
        pytest.param(
            "1. dishes - comedy\n1. dishes - comedy",
            (P, None, None, None),
            {"duplicate": 1, "missing": 3},
            id="repetition",
        ),
        pytest.param("1. comedy\n2. tragedy", (P, N, None, None), {"missing": 2}, id="no words"),
        pytest.param(
            "| # | Word | Choice |\n|---|---|---|\n| 1 | dishes | comedy |",
            (P, None, None, None),
            {"missing": 3},
            id="table",
        ),
        pytest.param("1. dishes\n2. calculations\n3. engaged\n4. manager", (Z,) * 4, {}, id="echo"),
        pytest.param(
            "7. dishes - comedy\n99. x",
            (P, None, None, None),
            {"renumbered": 1, "unknown_word": 1, "missing": 3},
            id="wrong numbers",
        ),
    ],
)
def test_malformed_responses_are_read_as_far_as_they_are_clear(response, labels, problems):
    found = read(response)
    assert found.labels == labels
    assert found.problems == problems


def test_a_cut_off_response_says_so():
    found = read_labels(
        "1. dishes - comedy\n2. calcu", WORDS, positive="comedy", negative="tragedy", truncated=True
    )
    assert found.labels == (P, None, None, None)
    assert found.problems == {"truncated": 1, "missing": 3}


def test_a_stimulus_may_be_an_anchor_word_itself():
    found = read(
        "1. good - bad\n2. bad - bad\n3. tea - good", ("good", "bad", "tea"), "good", "bad"
    )
    assert found.labels == (N, N, P)


def test_chinese_words_are_not_found_inside_others():
    found = read("2. 个人：悲剧\n1. 人：喜剧", ("人", "个人"), "喜剧", "悲剧")
    assert found.labels == (P, N)


@given(st.text(max_size=300))
def test_no_text_makes_reading_fail(text):
    found = read(text)
    assert len(found.labels) == len(WORDS)
    assert found.problems.get("missing", 0) == found.labels.count(None)


@given(st.permutations(range(4)), st.lists(st.sampled_from([P, N]), min_size=4, max_size=4))
def test_the_order_of_lines_does_not_matter(order, labels):
    anchors = {P: "comedy", N: "tragedy"}
    lines = [f"{i + 1}. {WORDS[i]} - {anchors[labels[i]]}" for i in order]
    assert read("\n".join(lines)).labels == tuple(labels)
