"""Self-report scales: items and scoring keys, prompts, and the ratings in a response."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pytest_promptse.instruments._responses import (
    Entry,
    ItemIndex,
    clean,
    is_refusal,
    split_entries,
)
from pytest_promptse.models._base import derive_seed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PROBLEMS", "Ratings", "Scale", "item_order", "read_ratings", "scale_prompt"]

Compute = Literal["sum", "double_sum", "mean"]

PROBLEMS = {
    "refusal": "responses that decline to answer",
    "prose": "responses without any rating",
    "empty": "empty responses",
    "truncated": "responses that the token limit cut off",
    "wrong_count": "lists of bare numbers with another length than the scale",
    "missing": "items without a rating",
    "off_scale": "ratings outside of the scale, or no whole numbers",
    "several_numbers": "items with more than one rating on their line",
    "contradictory": "items rated twice with different ratings, so not rated",
    "renumbered": "lines whose number belongs to another item; the item decides",
    "merged": "items that share a line with others",
    "unknown_item": "lines about an item that the scale does not have",
}
"""The kinds of problems of a response. The last three alone do not make a response malformed."""

_HARMLESS = frozenset({"renumbered", "merged", "unknown_item"})
_RATING = re.compile(r"(?<![\w.,/])(?P<number>-?\d+(?:[.,]\d+)?)(?:\s*/\s*(?P<of>\d+))?(?![\w])")
_STATEMENT = re.compile(r"(?<!\S)\d+\.\s+")
_RANGE = re.compile(r"(?<!\d)\d+\s*(?:-|\u2013|to|or)\s*\d+(?!\d)")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A questionnaire.

    Parameters
    ----------
    name
        The short name of the scale, such as ``PANAS``.
    items
        The items in published order. The item numbers in ``categories`` and ``reverse`` start at 1.
    low
        The smallest rating.
    high
        The largest rating.
    instructions
        The text above the items in the prompt. A situation, if there is one, precedes these
        instructions.
    categories
        The item numbers that are combined in each total, keyed by the name of the total.
    reverse
        Numbers of the items that are scored as ``low + high - rating``.
    compute
        How the total of a category is computed from its ratings.
    source
        The source of the items and of the scoring key.
    """

    name: str
    items: tuple[str, ...]
    low: int
    high: int
    instructions: str
    categories: Mapping[str, tuple[int, ...]]
    reverse: frozenset[int] = frozenset()
    compute: Compute = "sum"
    source: str = ""

    def totals(self, ratings: Mapping[int, int]) -> dict[str, float]:
        """Return the sum, twice the sum or the mean of each category, as selected by ``compute``.

        Parameters
        ----------
        ratings
            The rating of each item, in [low, high], keyed by item number. Item numbers start at 1.

        Raises
        ------
        KeyError
            If an item of a category has no rating.
        """
        totals: dict[str, float] = {}
        for name, numbers in self.categories.items():
            values = [
                self.low + self.high - ratings[number]
                if number in self.reverse
                else ratings[number]
                for number in numbers
            ]
            total = float(sum(values))
            if self.compute == "double_sum":
                total *= 2
            elif self.compute == "mean":
                total /= len(values)
            totals[name] = total
        return totals

    def plain(self) -> Scale:
        """Return the scale with plain sums and no reversed items."""
        return replace(self, reverse=frozenset(), compute="sum")


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """The ratings that were read from one response.

    Parameters
    ----------
    ratings
        The rating of each item, keyed by the item's number in the scale. Items without a rating are
        left out.
    problems
        Number of problems of each kind.
    complete
        True if every item has a rating, so that totals can be computed.
    """

    ratings: Mapping[int, int]
    problems: Mapping[str, int] = field(default_factory=dict)
    complete: bool = False

    @property
    def malformed(self) -> bool:
        """True if the response has a problem that is not harmless."""
        return any(kind not in _HARMLESS for kind in self.problems)


def item_order(n_items: int, *, shuffle: bool, seed: int) -> tuple[int, ...]:
    """Return the order in which a prompt lists the items, as item numbers of the scale.

    Without `shuffle`, the order is 1 to `n_items`. The same `seed` gives the same order.
    """
    order = list(range(1, n_items + 1))
    if shuffle:
        random.Random(derive_seed("scale-order", seed)).shuffle(order)  # noqa: S311
    return tuple(order)


def scale_prompt(scale: Scale, order: Sequence[int], *, situation: str | None = None) -> str:
    """Return the prompt of `scale` with its items in `order`, numbered from 1.

    The situation replaces ``SCENARIO`` in the instructions of an imported scale.
    """
    items = "\n".join(f"{place}. {scale.items[n - 1]}" for place, n in enumerate(order, start=1))
    imagine = situation or ""
    if "SCENARIO" in scale.instructions:
        text = " ".join(scale.instructions.replace("SCENARIO", imagine).split())
        return f"{text}\n{items}"
    before = f"{imagine}\n\n" if imagine else ""
    return f"{before}{scale.instructions}\n\n{items}"


def read_ratings(
    response: str, scale: Scale, order: Sequence[int], *, truncated: bool = False
) -> Ratings:
    """Return the ratings in `response` to a prompt that listed the items in `order`.

    A line is matched to an item by the number and by the text of the item. If the number and the
    text disagree, the text takes precedence. On a scale from 1 to 5, ``4/5`` and ``5 (extremely)``
    are ratings, but ``3.5`` and ``7`` are not. If a response consists of exactly one number for
    each item, the numbers are assigned in the prompt's order. Ratings are never imputed: an item
    without a single clear rating has no rating.

    Parameters
    ----------
    truncated
        True if the model stopped at its token limit.
    """
    problems: Counter[str] = Counter()
    text = clean(response)
    items, text = _without_statements([scale.items[number - 1] for number in order], text)
    given: dict[int, list[int]] = {}
    entries = split_entries(text, items)
    bare = _bare_numbers(entries, text, scale, len(items))
    if bare is not None:
        if len(bare) == len(items):
            for number, value in zip(order, bare, strict=True):
                _take(value, scale, given.setdefault(number, []), problems)
        else:
            problems["wrong_count"] = 1
    else:
        index = ItemIndex(items)
        for entry in entries:
            _read_entry(
                entry, index=index, order=order, scale=scale, given=given, problems=problems
            )
    ratings = _agreed(given, problems)
    if not ratings and not any(n for kind, n in problems.items() if kind not in _HARMLESS):
        problems.clear()
        kind = "empty" if not text.strip() else "refusal" if is_refusal(text) else "prose"
        problems[kind] = 1
    problems["missing"] = len(items) - len(ratings)
    if truncated:
        problems["truncated"] = 1
    counted = {kind: n for kind, n in problems.items() if n}
    return Ratings(ratings=ratings, problems=counted, complete=len(ratings) == len(items))


def _agreed(given: Mapping[int, Sequence[int]], problems: Counter[str]) -> dict[int, int]:
    """Return the rating of each item whose ratings are all equal.

    `given` has the ratings of each item by its number. An item with different ratings is counted in
    `problems` as ``contradictory``.
    """
    ratings: dict[int, int] = {}
    for number, values in given.items():
        if len(set(values)) == 1:
            ratings[number] = values[0]
        elif len(values) > 1:
            problems["contradictory"] += 1
    return ratings


def _without_statements(items: Sequence[str], text: str) -> tuple[list[str], str]:
    """Return `items` and `text` without the numbers of numbered statements within an item.

    An item may consist of statements, ``1. … 2. …``. If a response repeats such an item as a whole,
    these numbers must not be read as ratings.
    """
    plain: list[str] = []
    for item in items:
        unnumbered = _STATEMENT.sub("", item)
        if unnumbered != item:
            text = text.replace(clean(item), unnumbered)
        plain.append(unnumbered)
    return plain, text


def _bare_numbers(
    entries: Sequence[Entry], text: str, scale: Scale, n_items: int
) -> list[str] | None:
    """Return the numbers of a response that contains only numbers, one for each item.

    Lines such as ``1. 4`` have the item's number, so they are not bare numbers.

    The result is None for another response, or if `n_items` is 1.
    """
    if any(character.isalpha() for character in text):
        return None
    if any(entry.number is not None and entry.body for entry in entries):
        return None
    numbers = re.findall(r"-?\d+(?:\.\d+)?(?:\s*/\s*\d+)?", text)
    if not numbers or n_items == 1:
        return None
    return [re.sub(rf"\s*/\s*{scale.high}$", "", number) for number in numbers]


def _take(value: str, scale: Scale, into: list[int], problems: Counter[str]) -> None:
    try:
        number = int(value)
    except ValueError:
        problems["off_scale"] += 1
        return
    if scale.low <= number <= scale.high:
        into.append(number)
    else:
        problems["off_scale"] += 1


def _read_entry(
    entry: Entry,
    *,
    index: ItemIndex,
    order: Sequence[int],
    scale: Scale,
    given: dict[int, list[int]],
    problems: Counter[str],
) -> None:
    subject, rest = _parted(entry.body, index)
    numbered = entry.number - 1 if entry.number and entry.number <= len(order) else None
    place = numbered
    if subject:
        named = index.find(subject)
        if (
            numbered is not None
            and named != numbered
            and (index.exact(subject) is not None or not index.agrees(subject, numbered))
        ):
            place = named
            if named is None:
                problems["unknown_item"] += 1
                return
            problems["renumbered"] += 1
        elif numbered is None:
            place = named
    if place is None:
        problems["unknown_item"] += entry.number is not None
        return
    values = list(_RATING.finditer(rest))
    if not values:
        return
    if entry.merged:
        problems["merged"] += 1
    if _RANGE.search(rest) or len({match["number"] for match in values}) > 1:
        problems["several_numbers"] += 1
        return
    match = values[0]
    if match["of"] is not None and int(match["of"]) != scale.high:
        problems["off_scale"] += 1
        return
    _take(match["number"], scale, given.setdefault(order[place], []), problems)


def _parted(body: str, index: ItemIndex) -> tuple[str, str]:
    """Split a line into the item's text and the part with the rating.

    `index` finds items by their text. The second part is empty if there is no rating.
    """
    for separator in (": ", ":", " - ", " \u2013 ", " \u2014 ", "=", "->", "\u2192", "\t"):
        head, present, tail = body.partition(separator)
        if present and any(map(str.isalpha, head)) and index.find(head) is not None:
            return head, tail
    match = _RATING.search(body)
    if match is None:
        return body, ""
    before, after = body[: match.start()].strip(" -:=(["), body[match.end() :].strip(" -:)=].")
    if any(map(str.isalpha, before)):
        return before, body[match.start() :]
    # "4 Interested" and "4 (quite a bit)": the text after the number may be the item. In "4
    # Interested 3" the first number counts the item and the second one rates it.
    if any(map(str.isalpha, after)):
        second = _RATING.search(after)
        name = after[: second.start()] if second else after
        if index.find(name) is not None:
            return name, after[second.start() :] if second else match.group()
    return "", body
