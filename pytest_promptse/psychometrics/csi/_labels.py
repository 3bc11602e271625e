"""Read one response of the Core Sentiment Inventory: the anchor word chosen for each word."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_promptse.instruments._responses import (
    Entry,
    ItemIndex,
    clean,
    holds_word,
    is_refusal,
    normal_form,
    split_entries,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PROBLEMS", "BatchLabels", "Label", "read_labels"]

Label = Literal["positive", "negative", "neutral"]

PROBLEMS = {
    "refusal": "responses that decline to answer",
    "prose": "responses without any line for a word",
    "empty": "empty responses",
    "truncated": "responses that the token limit cut off",
    "missing": "words without a label",
    "both_anchors": "lines that hold both anchor words, counted as neutral",
    "merged": "words that share a line with others",
    "renumbered": "lines whose number belongs to another word; the word decides",
    "duplicate": "words labelled again with the same label",
    "contradictory": "words labelled twice with different labels, so not labelled",
    "unknown_word": "lines about a word that the prompt does not list",
}
"""The kinds of problems of a response, which are counted."""


@dataclass(frozen=True, kw_only=True)
class BatchLabels:
    """The labels of one response.

    Parameters
    ----------
    labels
        One label for each word of the prompt, in its order. None if the response has none.
    problems
        Number of occurrences of each kind of `PROBLEMS`.
    """

    labels: tuple[Label | None, ...]
    problems: Mapping[str, int] = field(default_factory=dict)


def read_labels(
    response: str, words: Sequence[str], *, positive: str, negative: str, truncated: bool = False
) -> BatchLabels:
    """Return the labels that `response` gives to `words`.

    A line is matched to its word by its number and by the word itself. If the two disagree the word
    decides, since a model that skips a line shifts all later numbers. A line with one anchor word
    gets its label; any other line is neutral. A word without a line has no label, and none is
    guessed.

    Parameters
    ----------
    response
        The model's text.
    words
        The words in the order in which the prompt numbers them, from 1.
    positive, negative
        The two anchor words.
    truncated
        True if the model stopped at its token limit.
    """
    problems: Counter[str] = Counter()
    text = clean(response)
    index = ItemIndex(words)
    labels_at: dict[int, list[Label]] = {}
    entries = split_entries(text, words)
    if truncated and not any(
        holds_word(e.body, a) for e in entries[-1:] for a in (positive, negative)
    ):
        # The last line may have been cut off before its label.
        entries = entries[:-1]
    for entry in entries:
        position = _position(entry, words, index, (positive, negative), problems)
        if position is None:
            continue
        if entry.merged:
            problems["merged"] += 1
        label = _label(entry.body, words[position], positive, negative, problems)
        labels_at.setdefault(position, []).append(label)
    labels: list[Label | None] = []
    for position in range(len(words)):
        given = labels_at.get(position, [])
        if len(set(given)) > 1:
            problems["contradictory"] += 1
            labels.append(None)
        elif given:
            problems["duplicate"] += len(given) - 1
            labels.append(given[0])
        else:
            labels.append(None)
    if not labels_at:
        problems.clear()
        problems["empty" if not text.strip() else "refusal" if is_refusal(text) else "prose"] = 1
    problems["missing"] = sum(label is None for label in labels)
    problems["truncated"] = int(truncated)
    return BatchLabels(labels=tuple(labels), problems={k: n for k, n in problems.items() if n})


def _position(
    entry: Entry,
    words: Sequence[str],
    index: ItemIndex,
    anchors: tuple[str, str],
    problems: Counter[str],
) -> int | None:
    numbered = entry.number - 1 if entry.number and entry.number <= len(words) else None
    subject = _subject(entry.body, anchors)
    if numbered is not None and (
        index.find(subject) == numbered
        or (index.exact(subject) is None and index.agrees(subject, numbered))
        or _starts_with(entry.body, words[numbered])
    ):
        return numbered
    if not subject and numbered is None:
        return None
    named = index.find(subject)
    if named is None:
        if entry.number is not None:
            problems["unknown_word"] += 1
        return None
    if not any(holds_word(entry.body, anchor) for anchor in anchors) and entry.number is None:
        # A sentence that happens to contain one of the words is not a line of the list. A line that
        # consists of the word alone is.
        return named if normal_form(entry.body) == normal_form(words[named]) else None
    if entry.number is not None:
        problems["renumbered"] += 1
    return named


def _starts_with(body: str, word: str) -> bool:
    # The word may itself be an anchor word.
    form = normal_form(word)
    return normal_form(body[: len(word)]) == form and not body[len(word) : len(word) + 1].isalnum()


def _subject(body: str, anchors: tuple[str, str]) -> str:
    """Return the subject of a line: the text beside the anchor word or the separator.

    `anchors` are the positive and the negative word. Upper and lower case are equal.
    """
    subject = body
    folded = body.casefold()
    places = [folded.rfind(anchor.casefold()) for anchor in anchors]
    last = max(places)
    if last > 0:
        subject = body[:last]
    elif last == 0:
        anchor = anchors[places.index(last)]
        subject = body[len(anchor) :]
    for separator in (" - ", " \u2013 ", " \u2014 ", ": ", ":", "\u2192", "->", "=", "("):
        head, divider, _ = subject.partition(separator)
        if divider and normal_form(head):
            return head
    return subject


def _label(body: str, word: str, positive: str, negative: str, problems: Counter[str]) -> Label:
    rest = body[len(word) :] if _starts_with(body, word) else body
    holds_positive, holds_negative = holds_word(rest, positive), holds_word(rest, negative)
    if holds_positive and holds_negative:
        problems["both_anchors"] += 1
        return "neutral"
    if holds_positive:
        return "positive"
    return "negative" if holds_negative else "neutral"
