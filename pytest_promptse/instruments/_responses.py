"""Read free text that should be a numbered list: clean it, split it, match lines to items."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Entry",
    "ItemIndex",
    "clean",
    "holds_word",
    "is_refusal",
    "normal_form",
    "split_entries",
]

# ECMA-48 control sequences, operating system commands and two-character escapes.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\].*?(?:\x07|\x1b\\)|\x1b[PX^_].*?\x1b\\|\x1b[@-Z\\-_]",
    re.DOTALL,
)
_LINE_BREAKS = re.compile(r"\r\n?|[\u2028\u2029\x0b\x0c\x85]")
_MARKUP = re.compile(r"[*`#>~]+|(?<!\w)_+|_+(?!\w)")
_TABLE_ROW = re.compile(r"^\s*\|(.*)\|\s*$", re.MULTILINE)
_BULLET = re.compile(r"^\s*[-+\u2022\u00b7\u25cf]\s+")
# A number that counts an entry. The start of a decimal such as 3.5 or a fraction such as 4/5 does
# not count. A colon may stand directly before a rating, as in 1:4.
_NUMBER = re.compile(
    r"(?<![\w.,/:])[(\[]?(?P<number>\d{1,4})\s*(?:[.)\]\u3001](?!\d)|:|-(?=\s))[.)\]:]?\s*"
)
_SEPARATORS = (
    " \t.,;:!?-=()[]{}\"'/\\<\u2013\u2014\u2192\u3001\u3002"
    "\u201c\u201d\u2018\u2019\u300a\u300b\u300c\u300d"
)
_REFUSALS = re.compile(
    r"\bas an? (?:ai|artificial|large language|language)\b"
    r"|\b(?:i am|i'm) (?:just |only )?an? (?:ai|artificial|language model)"
    r"|\bi (?:can ?not|can't|do not|don't|am unable|won't|will not|must decline)\b[^.\n]{0,60}"
    r"\b(?:feel|feelings|emotions?|answer|assist|help|comply|rate|provide|continue|fulfil\w*|"
    r"do that|respond)"
    r"|\b(?:i'm|i am) sorry\b|\bunable to (?:answer|assist|rate|provide|comply)"
    r"|作为(?:一个|一名)?(?:人工智能|AI|语言模型|大型语言模型)"
    r"|我(?:没有|不具备|无法(?:回答|提供|体验))|抱歉|对不起",
    re.IGNORECASE,
)
_SMALLEST_PREFIX = 4


def clean(text: str) -> str:
    """Return `text` without escape sequences, markup and look-alike characters.

    Full-width digits and punctuation become ASCII (Unicode normalisation form NFKC). Every kind of
    line break becomes a newline. Control and formatting characters are removed. The cells of a
    table's row are joined by colons.
    """
    text = _LINE_BREAKS.sub("\n", _ESCAPES.sub("", text))
    text = unicodedata.normalize("NFKC", text)
    kept = (
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Co", "Cs"}
    )
    text = _MARKUP.sub("", "".join(kept))
    return _TABLE_ROW.sub(lambda row: ": ".join(c.strip() for c in row[1].split("|")), text)


def is_refusal(text: str) -> bool:
    """Return whether `text` declines to answer, in English or Chinese."""
    return _REFUSALS.search(unicodedata.normalize("NFKC", text).replace("\u2019", "'")) is not None


def normal_form(text: str) -> str:
    """Return `text` in the form for comparisons: NFKC, case folded, no punctuation at the ends."""
    folded = unicodedata.normalize("NFKC", text).casefold().strip(_SEPARATORS)
    return re.sub(r"\s+", " ", folded)


@lru_cache(maxsize=4096)
def _word_pattern(word: str) -> re.Pattern[str]:
    pattern = re.escape(word)
    if word.isascii():
        pattern = rf"(?<![^\W_]){pattern}(?![^\W_])"
    return re.compile(pattern, re.IGNORECASE)


def holds_word(text: str, word: str) -> bool:
    """Return whether `text` contains `word` as a whole word, or as a substring in Chinese.

    Upper and lower case are equal.
    """
    return _word_pattern(word).search(text) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry of a list.

    Parameters
    ----------
    number
        The entry's number, or None if the line has none.
    body
        The rest of the line.
    merged
        True if the entry shared its line with others.
    """

    number: int | None
    body: str
    merged: bool = False


def split_entries(text: str, items: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Return the entries of a cleaned list, one for each line that is not empty.

    A line with several numbered entries is split where the numbers count up by one. A line without
    numbers is split at commas if at least two of its parts contain one of `items`.
    """
    entries: list[Entry] = []
    for line in text.split("\n"):
        stripped = _BULLET.sub("", line).strip()
        if stripped:
            entries.extend(_split_line(stripped, items))
    return tuple(entries)


def _split_line(line: str, items: Sequence[str]) -> list[Entry]:
    first = _NUMBER.match(line)
    if first is None:
        parts = [part.strip() for part in re.split(r"[,;\u3001\uff0c]", line) if part.strip()]
        if len(parts) > 1 and items:
            holding = [part for part in parts if any(holds_word(part, item) for item in items)]
            if len(holding) > 1:
                return [Entry(number=None, body=part, merged=True) for part in holding]
        return [Entry(number=None, body=line)]
    starts = [first]
    for match in _NUMBER.finditer(line, first.end()):
        # In "1. 2" and "1. 2. a statement" the second number is the answer.
        is_between = line[starts[-1].end() : match.start()].strip() and line[match.end() :].strip()
        if is_between and int(match["number"]) == int(starts[-1]["number"]) + 1:
            starts.append(match)
    ends = [match.start() for match in starts[1:]] + [len(line)]
    return [
        Entry(
            number=int(match["number"]),
            body=line[match.end() : end].strip().rstrip(",;"),
            merged=len(starts) > 1,
        )
        for match, end in zip(starts, ends, strict=True)
    ]


class ItemIndex:
    """Find the item of a prompt that an entry is about, by the entry's text.

    Parameters
    ----------
    items
        The items in the order in which the prompt numbers them, from 1.
    """

    def __init__(self, items: Sequence[str]) -> None:
        self._forms = [normal_form(item) for item in items]
        self._positions: dict[str, int] = {}
        for position, form in enumerate(self._forms):
            self._positions.setdefault(form, position)

    def exact(self, text: str) -> int | None:
        """Return the position of the item that equals `text`, or None if there is none."""
        return self._positions.get(normal_form(text))

    def find(self, text: str) -> int | None:
        """Return the position of the item that `text` names, or None if there is none or several.

        An item may be cut short: a prefix of at least four characters that only one item has.
        """
        form = normal_form(text)
        if not form:
            return None
        if form in self._positions:
            return self._positions[form]
        if len(form) >= _SMALLEST_PREFIX:
            starting = [i for i, item in enumerate(self._forms) if item.startswith(form)]
            if len(starting) == 1:
                return starting[0]
        held = [i for i, item in enumerate(self._forms) if holds_word(form, item)]
        # If "strong" and "strong will" both occur in a text, the longer one is meant.
        longest = [
            i for i in held if not any(j != i and self._forms[i] in self._forms[j] for j in held)
        ]
        return longest[0] if len(longest) == 1 else None

    def agrees(self, text: str, position: int) -> bool:
        """Return whether `text` is empty, or a shortened or inflected form of one item.

        `position` is the index of the item.
        """
        form, item = normal_form(text), self._forms[position]
        if not form or form == item:
            return True
        shared = 0
        for ours, theirs in zip(item, form, strict=False):
            if ours != theirs:
                break
            shared += 1
        return shared >= max(min(len(item), _SMALLEST_PREFIX), (7 * len(item) + 9) // 10)
