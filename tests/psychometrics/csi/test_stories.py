from __future__ import annotations

import pytest

from pytest_promptse.errors import SettingsError
from pytest_promptse.psychometrics.csi._stories import (
    RatedStory,
    choose_seeds,
    rater_prompt,
    read_rating,
    story_prompt,
    validity,
)

POSITIVE = [f"p{i}" for i in range(9)]
NEGATIVE = [f"n{i}" for i in range(9)]


def test_seeds_have_every_share_of_negative_words():
    seeds = choose_seeds(POSITIVE, NEGATIVE, per_group=4, seed=1)
    assert [each.n_negative for each in seeds] == [n for n in range(6) for _ in range(4)]
    for each in seeds:
        assert len(set(each.words)) == 5
        assert sum(word in NEGATIVE for word in each.words) == each.n_negative
    assert seeds == choose_seeds(POSITIVE, NEGATIVE, per_group=4, seed=1)


def test_too_few_words_of_a_class_are_said():
    with pytest.raises(SettingsError, match="only 4 words as negative"):
        choose_seeds(POSITIVE, NEGATIVE[:4], per_group=1, seed=1)


@pytest.mark.parametrize(
    ("response", "rating"),
    [
        ('{"tragedy": 7, "comedy": 2}', 7),
        ('```json\n{"tragedy": 7, "comedy": 2}\n```', 7),
        ('Here: {"TragedyDegree": 1, "ComedyDegree": 8}.', 1),
        ('{"悲剧程度": 3, "喜剧程度": 7}', 3),
        ('｛"tragedy"： ４｝', 4),
        ('{"tragedy": 11}', None),
        ('{"tragedy": "7"}', None),
        ('{"tragedy": true}', None),
        ("tragedy: 7", None),
        ("I cannot rate this story.", None),
        ("", None),
    ],
)
def test_ratings_are_read_or_left_out(response, rating):
    assert read_rating(response) == rating


def test_validity_over_stories_and_over_groups():
    stories = [
        RatedStory(negative_share=share, tragedy=rating)
        for share, ratings in ((0.0, (1, 3)), (0.4, (2, 6)), (1.0, (6, 8)))
        for rating in ratings
    ]
    found = validity(stories, n_unrated=2)
    assert found.group_means == ((0.0, 2.0, 2), (0.4, 4.0, 2), (1.0, 7.0, 2))
    assert found.per_group > found.per_story > 0
    assert found.per_story_ci95[0] < found.per_story < found.per_story_ci95[1]


def test_validity_is_undefined_where_nothing_varies():
    assert validity([]).per_story is None
    assert validity([RatedStory(negative_share=0.2, tragedy=5)] * 5).per_story is None


def test_prompts_hold_words_and_story():
    seeds = choose_seeds(POSITIVE, NEGATIVE, per_group=1, seed=2)[3]
    for language in ("en", "zh"):
        assert all(word in story_prompt(seeds, language) for word in seeds.words)
        assert '{"tragedy"' in rater_prompt("Once {upon}.", language)
        assert "Once {upon}." in rater_prompt("Once {upon}.", language)
