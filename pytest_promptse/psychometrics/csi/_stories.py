"""The validity check: the correlation of stories' ratings with the words given for them."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.errors import SettingsError
from pytest_promptse.instruments._responses import clean
from pytest_promptse.models._base import derive_seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.psychometrics.csi._words import Language

__all__ = [
    "SEEDS_PER_STORY",
    "RatedStory",
    "StorySeeds",
    "Validity",
    "choose_seeds",
    "rater_prompt",
    "read_rating",
    "story_prompt",
    "validity",
]

SEEDS_PER_STORY = 5
_LOWEST, _HIGHEST = 1, 10
_FEWEST = 3

_STORY: dict[Language, str] = {
    "en": "Write a short story of about 200 words in which each of these words occurs: {words}.",
    "zh": "写一个约三百字的短篇故事，其中要用到以下每一个词：{words}。",
}
_RATER: dict[Language, str] = {
    "en": (
        "Read the story below and judge its mood.\n"
        "Give two whole numbers from 1 to 10. “tragedy” says how sad or tragic the story is: 1 "
        "not at all, 5 it has setbacks, 10 deeply tragic. “comedy” says how happy or funny it is: "
        "1 not at all, 5 it is light in places, 10 it delights and ends well.\n"
        'Answer with JSON only: {{"tragedy": number, "comedy": number}}\n\n'
        "The story:\n{story}"
    ),
    "zh": (
        "请阅读下面的故事并判断它的基调。\n"
        "给出两个 1 到 10 的整数。"
        "“tragedy”表示故事有多悲伤：1 完全没有，5 有一些挫折，10 极其悲惨。"
        "“comedy”表示故事有多欢快：1 完全没有，5 有些轻松之处，10 令人愉快且结局圆满。\n"
        '只用 JSON 回答：{{"tragedy": 数字, "comedy": 数字}}\n\n故事：\n{story}'
    ),
}
_TRAGEDY_KEYS = ("tragedy", "TragedyDegree", "悲剧程度")


@dataclass(frozen=True, kw_only=True)
class StorySeeds:
    """The words of one story, of which ``n_negative`` are negative."""

    words: tuple[str, ...]
    n_negative: int


@dataclass(frozen=True, kw_only=True)
class RatedStory:
    """A story's share of negative seed words, in [0, 1], and its rating, in [1, 10]."""

    negative_share: float
    tragedy: int


@dataclass(frozen=True, kw_only=True)
class Validity:
    """The correlation of the stories' ratings with their seed words.

    Parameters
    ----------
    n_stories, n_unrated
        Number of stories with a rating, and of stories that are missing or have an unreadable
        rating.
    per_story, per_group
        Pearson's correlation of the rating with the share of negative seed words. It is taken over
        stories, and over the mean ratings of groups with the same share. None if it is not defined.
    group_means
        Share of negative seed words, mean rating and number of stories of each group.
    """

    n_stories: int
    n_unrated: int
    per_story: float | None
    per_story_ci95: tuple[float, float] | None
    per_group: float | None
    group_means: tuple[tuple[float, float, int], ...]


def choose_seeds(
    positive: Sequence[str], negative: Sequence[str], *, per_group: int, seed: int
) -> tuple[StorySeeds, ...]:
    """Return the seeds of `per_group` stories for each number of negative words from 0 to 5.

    Parameters
    ----------
    positive, negative
        The words that were labelled positive, and negative, in all runs.
    per_group
        Number of stories for each number of negative words.
    seed
        Seed of the choice.

    Raises
    ------
    SettingsError
        If there are fewer than five words of a class.
    """
    for name, words in (("positive", positive), ("negative", negative)):
        if len(words) < SEEDS_PER_STORY:
            raise SettingsError(
                f"stories: the model labelled only {len(words)} words as {name} in all runs; "
                f"{SEEDS_PER_STORY} are needed, so ask about more words"
            )
    chosen: list[StorySeeds] = []
    for n_negative in range(SEEDS_PER_STORY + 1):
        for number in range(per_group):
            draw = random.Random(derive_seed("csi-story", seed, n_negative, number))  # noqa: S311
            words = draw.sample(list(negative), n_negative)
            words += draw.sample(list(positive), SEEDS_PER_STORY - n_negative)
            draw.shuffle(words)
            chosen.append(StorySeeds(words=tuple(words), n_negative=n_negative))
    return tuple(chosen)


def story_prompt(seeds: StorySeeds, language: Language) -> str:
    """Return the prompt for a story from `seeds`."""
    return _STORY[language].format(words=("、" if language == "zh" else ", ").join(seeds.words))


def rater_prompt(story: str, language: Language) -> str:
    """Return the prompt for a rater model to judge `story`.

    It requests a rating of how tragic the story is, from 1 to 10.
    """
    return _RATER[language].format(story=story.strip())


def read_rating(response: str) -> int | None:
    """Return the tragedy rating in a rater's response, or None if there is none in [1, 10].

    The keys in the authors' published ratings are also read.
    """
    for text in (response, clean(response)):
        for match in re.finditer(r"\{[^{}]*\}", text):
            try:
                rating = json.loads(match.group())
            except ValueError:
                continue
            for key in _TRAGEDY_KEYS:
                value = rating.get(key)
                if isinstance(value, int) and not isinstance(value, bool):
                    return value if _LOWEST <= value <= _HIGHEST else None
    return None


def validity(stories: Sequence[RatedStory], *, n_unrated: int = 0) -> Validity:
    """Return the correlation of ratings with the share of negative seed words.

    The paper plots this relation (section 4.3, figure 4) and reports a correlation above 0.85. Over
    group means it is close to 1 for nearly any model, so the correlation over stories is returned
    too.

    `n_unrated` is the number of stories without a rating, which is only reported. A correlation is
    None if there are too few values or all are equal.
    """
    shares = np.array([story.negative_share for story in stories])
    ratings = np.array([story.tragedy for story in stories], dtype=float)
    groups = tuple(
        (float(share), float(ratings[shares == share].mean()), int((shares == share).sum()))
        for share in np.unique(shares)
    )
    per_story, interval = _pearson(shares, ratings)
    per_group, _ = _pearson(
        np.array([share for share, _, _ in groups]), np.array([mean for _, mean, _ in groups])
    )
    return Validity(
        n_stories=len(stories),
        n_unrated=n_unrated,
        per_story=per_story,
        per_story_ci95=interval,
        per_group=per_group,
        group_means=groups,
    )


def _pearson(
    x: np.ndarray[tuple[int], np.dtype[np.float64]], y: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[float | None, tuple[float, float] | None]:
    if len(x) < _FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    result = stats.pearsonr(x, y)
    if len(x) == _FEWEST:
        return float(result.statistic), None
    interval = result.confidence_interval(0.95)
    return float(result.statistic), (float(interval.low), float(interval.high))
