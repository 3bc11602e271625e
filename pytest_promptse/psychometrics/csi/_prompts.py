"""Prompts of the Core Sentiment Inventory and the batches of words that they list."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.errors import SettingsError
from pytest_promptse.models._base import derive_seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.psychometrics.csi._words import Language

__all__ = ["ANCHORS", "Anchors", "WordBatch", "anchors_for", "batch_prompt", "make_batches"]


@dataclass(frozen=True, kw_only=True)
class Anchors:
    """The two words between which a model chooses."""

    positive: str
    negative: str


ANCHORS: dict[str, dict[Language, Anchors]] = {
    "comedy/tragedy": {
        "en": Anchors(positive="comedy", negative="tragedy"),
        "zh": Anchors(positive="喜剧", negative="悲剧"),
    },
    "good/bad": {
        "en": Anchors(positive="good", negative="bad"),
        "zh": Anchors(positive="好", negative="坏"),
    },
    "enjoyable/unpleasant": {
        "en": Anchors(positive="enjoyable", negative="unpleasant"),
        "zh": Anchors(positive="愉快", negative="难受"),
    },
}
"""The anchor pairs of the paper's Appendix C.3, by their English names and by language."""

_INSTRUCTIONS: dict[Language, str] = {
    "en": (
        "Here is a numbered list of {count} words. For every word, say which of two words it "
        "makes you think of first: “{positive}” or “{negative}”.\n"
        "Go with your first thought and give no reasons. Write one line for each word: its "
        "number, the word, a hyphen, and either {positive} or {negative}.\n\n{words}"
    ),
    "zh": (
        "下面有 {count} 个编号的词。"
        "请逐一说出每个词首先让你想到的是“{positive}”还是“{negative}”。\n"
        "凭第一感觉作答，不要说明理由。每个词写一行：编号、该词、连字符，然后写{positive}或{negative}。"
        "\n\n{words}"
    ),
}


def anchors_for(pair: str, language: Language) -> Anchors:
    """Return the anchor words of `pair` in `language`.

    Parameters
    ----------
    pair
        A name in `ANCHORS`, or two words of the user's own as ``POSITIVE/NEGATIVE``.

    Raises
    ------
    SettingsError
        If `pair` is not two different words.
    """
    if pair in ANCHORS:
        return ANCHORS[pair][language]
    positive, _, negative = (part.strip() for part in pair.partition("/"))
    if not positive or not negative or positive.casefold() == negative.casefold():
        raise SettingsError(
            f"anchors {pair!r}: give two different words as POSITIVE/NEGATIVE, or one of "
            f"{', '.join(ANCHORS)}"
        )
    return Anchors(positive=positive, negative=negative)


@dataclass(frozen=True, kw_only=True)
class WordBatch:
    """The words of one prompt.

    Parameters
    ----------
    run, number
        Indices of the run, and of the prompt within the run, from 0.
    positions
        Index in the word list of each word of the prompt, in the prompt's order.
    """

    run: int
    number: int
    positions: tuple[int, ...]


def make_batches(
    n_words: int, *, runs: int, words_per_prompt: int, seed: int
) -> tuple[WordBatch, ...]:
    """Return the batches of all runs. Each run permutes all words and cuts them into batches.

    The last batch of a run may be smaller. Equal arguments give equal batches on every machine.

    Parameters
    ----------
    n_words
        Number of words of the list.
    runs
        Number of runs over all words.
    words_per_prompt
        Number of words in a prompt.
    seed
        Seed of the permutations.
    """
    batches: list[WordBatch] = []
    for run in range(runs):
        order = list(range(n_words))
        random.Random(derive_seed("csi-order", seed, run)).shuffle(order)  # noqa: S311
        for number, start in enumerate(range(0, n_words, words_per_prompt)):
            chunk = tuple(order[start : start + words_per_prompt])
            batches.append(WordBatch(run=run, number=number, positions=chunk))
    return tuple(batches)


def batch_prompt(words: Sequence[str], *, language: Language, anchors: Anchors) -> str:
    """Return the prompt that lists `words`, with its instructions in `language`.

    The words are numbered from 1.
    """
    numbered = "\n".join(f"{number}. {word}" for number, word in enumerate(words, start=1))
    return _INSTRUCTIONS[language].format(
        count=len(words), positive=anchors.positive, negative=anchors.negative, words=numbered
    )
