from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.instruments._scales import Scale, item_order, read_ratings, scale_prompt
from pytest_promptse.psychometrics.emotionbench._factors import NEGATIVE, PANAS, POSITIVE

SCALE = Scale(
    name="four",
    items=("Interested", "Distressed", "Excited", "Upset"),
    low=1,
    high=5,
    instructions="Rate.",
    categories={"P": (1, 3), "N": (2, 4)},
)
ORDER = (2, 1, 4, 3)
ALL = {1: 3, 2: 4, 3: 5, 4: 1}


def read(response, **keywords):
    return read_ratings(response, SCALE, ORDER, **keywords)


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(
            "1. Distressed: 4\n2. Interested: 3\n3. Upset: 1\n4. Excited: 5", id="in order"
        ),
        pytest.param("1. 4\n2. 3\n3. 1\n4. 5", id="numbers and ratings"),
        pytest.param("1:4\n2:3\n3:1\n4:5", id="numbers and ratings without blanks"),
        pytest.param("1：4\n2：3\n3：1\n4：5", id="numbers and ratings, full width"),
        pytest.param("4\n3\n1\n5", id="bare lines"),
        pytest.param("4, 3, 1, 5", id="bare row"),
        pytest.param("Interested - 3\nDistressed - 4\nExcited - 5\nUpset - 1", id="re-ordered"),
        pytest.param(
            "1. Distressed: 4/5\n2. Interested: 3/5\n3. Upset: 1/5\n4. Excited: 5/5", id="fractions"
        ),
        pytest.param(
            "1. Distressed: 4 (quite a bit)\n2. Interested: 3 (moderately)\n3. Upset: 1\n"
            "4. Excited: 5 (extremely)",
            id="with words",
        ),
        pytest.param(
            "１．Distressed：４\n２．Interested：３\n３．Upset：１\n４．Excited：５",
            id="full width",
        ),
        pytest.param("1. Distr: 4\n2. Inter: 3\n3. Upset: 1\n4. Excit: 5", id="truncated items"),
        pytest.param(
            "| # | Item | Rating |\n|--|--|--|\n| 1 | Distressed | 4 |\n| 2 | Interested | 3 |\n"
            "| 3 | Upset | 1 |\n| 4 | Excited | 5 |",
            id="table",
        ),
        pytest.param(
            "\x1b[1m1. Distressed: 4\x1b[0m\n2. Interested: 3\n3. Upset: 1\n4. Excited: 5",
            id="escapes",
        ),
        pytest.param(
            "**Distressed**: **4**\n- Interested: 3\n• Upset: 1\n* Excited: 5", id="markup"
        ),
        pytest.param("4 Distressed\n3 Interested\n1 Upset\n5 Excited", id="rating first"),
    ],
)
def test_clear_responses_are_complete(response):
    found = read(response)
    assert found.ratings == ALL
    assert found.complete
    assert not found.malformed


@pytest.mark.parametrize(
    ("response", "ratings", "problems"),
    [
        pytest.param(
            "1. Distressed: 4 2. Interested: 3 3. Upset: 1 4. Excited: 5",
            ALL,
            {"merged": 4},
            id="merged lines",
        ),
        pytest.param(
            "1. Interested: 3\n2. Distressed: 4",
            {1: 3, 2: 4},
            {"renumbered": 2, "missing": 2},
            id="shifted",
        ),
        pytest.param("4\n3\n1", {}, {"wrong_count": 1, "missing": 4}, id="too few"),
        pytest.param("4 3 1 5 2", {}, {"wrong_count": 1, "missing": 4}, id="too many"),
        pytest.param(
            "Distressed: 4/10\nUpset: 7", {}, {"off_scale": 2, "missing": 4}, id="off the scale"
        ),
        pytest.param("Distressed: 3.5", {}, {"off_scale": 1, "missing": 4}, id="no whole number"),
        pytest.param(
            "Distressed: 3-4\nUpset: 1 or 2", {}, {"several_numbers": 2, "missing": 4}, id="ranges"
        ),
        pytest.param(
            "Distressed: 4\nDistressed: 2",
            {},
            {"contradictory": 1, "missing": 4},
            id="contradiction",
        ),
        pytest.param(
            "As an AI, I do not have feelings.", {}, {"refusal": 1, "missing": 4}, id="refusal"
        ),
        pytest.param("What a day!", {}, {"prose": 1, "missing": 4}, id="prose"),
        pytest.param("", {}, {"empty": 1, "missing": 4}, id="empty"),
        pytest.param(
            "1. Distressed\n2. Interested\n3. Upset\n4. Excited",
            {},
            {"prose": 1, "missing": 4},
            id="echo",
        ),
        pytest.param("1. Joyful: 3", {}, {"prose": 1, "missing": 4}, id="another item"),
    ],
)
def test_malformed_responses_are_counted_and_nothing_is_imputed(response, ratings, problems):
    found = read(response)
    assert found.ratings == ratings
    assert found.problems == problems
    assert found.complete == (len(ratings) == 4)


def test_a_cut_off_response_says_so():
    found = read("1. Distressed: 4\n2. Inter", truncated=True)
    assert found.problems == {"truncated": 1, "missing": 3}
    assert found.malformed


@given(st.text(max_size=300))
def test_no_text_makes_reading_fail(text):
    found = read(text)
    assert all(SCALE.low <= value <= SCALE.high for value in found.ratings.values())
    assert found.problems.get("missing", 0) == len(SCALE.items) - len(found.ratings)


@given(st.lists(st.integers(1, 5), min_size=20, max_size=20), st.integers(0, 99))
def test_any_order_gives_the_same_totals(values, seed):
    order = item_order(20, shuffle=True, seed=seed)
    response = "\n".join(
        f"{place}. {PANAS.items[number - 1]}: {values[number - 1]}"
        for place, number in enumerate(order, start=1)
    )
    found = read_ratings(response, PANAS, order)
    assert found.complete
    totals = PANAS.totals(found.ratings)
    assert totals[POSITIVE] + totals[NEGATIVE] == sum(values)
    assert totals[POSITIVE] == sum(values[n - 1] for n in (1, 3, 5, 9, 10, 12, 14, 16, 17, 19))


def test_totals_need_every_rating():
    with pytest.raises(KeyError):
        SCALE.totals({1: 3, 2: 4, 3: 5})


def test_reversed_items_are_turned_round_on_any_scale():
    scale = Scale(
        name="r",
        items=("a", "b"),
        low=0,
        high=3,
        instructions="",
        categories={"all": (1, 2)},
        reverse=frozenset({2}),
        compute="double_sum",
    )
    assert scale.totals({1: 1, 2: 0}) == {"all": 8}


def test_a_prompt_numbers_the_items_in_their_shuffled_order():
    prompt = scale_prompt(SCALE, ORDER, situation="It rains.")
    assert prompt == "It rains.\n\nRate.\n\n1. Distressed\n2. Interested\n3. Upset\n4. Excited"


def test_an_imported_prompt_takes_the_situation_where_it_says_so():
    scale = Scale(
        name="i",
        items=("a",),
        low=1,
        high=2,
        instructions="Reply. SCENARIO Rate:",
        categories={"all": (1,)},
    )
    assert scale_prompt(scale, (1,)) == "Reply. Rate:\n1. a"
    assert scale_prompt(scale, (1,), situation="It rains.") == "Reply. It rains. Rate:\n1. a"


STATEMENTS = Scale(
    name="choices",
    items=("0. I am well. 1. I am ill. 2. I am very ill.", "0. I sleep. 1. I lie awake."),
    low=0,
    high=2,
    instructions="",
    categories={"all": (1, 2)},
)


@pytest.mark.parametrize(
    "response",
    [
        "1. 2\n2. 1",
        "1: 2\n2: 1",
        "1. 2. I am very ill.\n2. 1. I lie awake.",
        "1. 0. I am well. 1. I am ill. 2. I am very ill.: 2\n2. 0. I sleep. 1. I lie awake.: 1",
        "0. I sleep. 1. I lie awake. - 1\n0. I am well. 1. I am ill. 2. I am very ill. - 2",
    ],
)
def test_items_may_consist_of_numbered_statements(response):
    assert read_ratings(response, STATEMENTS, (1, 2)).ratings == {1: 2, 2: 1}


def test_plain_scores_turn_nothing_round():
    scale = replace(STATEMENTS, reverse=frozenset({1}), compute="double_sum")
    assert scale.totals({1: 2, 2: 1}) == {"all": 2.0}
    assert scale.plain().totals({1: 2, 2: 1}) == {"all": 3.0}
