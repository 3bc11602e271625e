"""Words and phrases that may stand for each other in a request for code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_promptse.variants.spans import MARKS

if TYPE_CHECKING:
    from collections.abc import Collection
    from random import Random

REGISTERS = ("plain", "casual", "formal")
_TAGS = {"~": "casual", "^": "formal"}
# How readily a voice of one register (row) takes a word of another (column).
_AFFINITY = {
    "plain": {"plain": 1.0, "casual": 0.4, "formal": 0.4},
    "casual": {"plain": 0.7, "casual": 2.0, "formal": 0.0},
    "formal": {"plain": 1.0, "casual": 0.0, "formal": 1.5},
}
_BEFORE = re.compile(r"([\w'\u2019]+|[,:\-])\W*$")
_AFTER = re.compile(r"\W*?([\w'\u2019]+|[,:])")
_ARTICLE = re.compile(r"\b(an?) $", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """Phrases that are found, and what may be said instead (with ~ and ^ for their register)."""

    find: tuple[str, ...]
    say: tuple[str, ...]
    unless_after: frozenset[str]
    unless_before: frozenset[str]

    @cached_property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """``(phrase, register)`` for everything that may be said."""
        return tuple((text.lstrip("~^"), _TAGS.get(text[0], "plain")) for text in self.say)


@dataclass(frozen=True)
class Site:
    """A place in a masked paragraph where another phrase may stand."""

    paragraph: int
    start: int
    end: int
    entry: Entry
    text: str

    @property
    def phrase(self) -> str:
        """The phrase found, in lower case."""
        return self.text.lower()


@dataclass(frozen=True)
class Lexicon:
    """All entries; where two find the same phrase, both offer their choices."""

    entries: tuple[Entry, ...]

    @cached_property
    def _by_phrase(self) -> dict[str, tuple[Entry, ...]]:
        found: dict[str, tuple[Entry, ...]] = {}
        for entry in self.entries:
            for phrase in entry.find:
                found[phrase.lower()] = (*found.get(phrase.lower(), ()), entry)
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._by_phrase, key=lambda phrase: (-len(phrase), phrase))
        phrases = "|".join(re.escape(phrase) for phrase in longest_first)
        edge = rf"[\w'\u2019\-{MARKS}]"
        return re.compile(rf"(?<!{edge})(?:{phrases or '(?!)'})(?!{edge})", re.IGNORECASE)

    def sites(self, text: str, paragraph: int = 0) -> list[Site]:
        """Return where in `text` (masked) something else may be said, in order."""
        found = []
        for match in self._pattern.finditer(text):
            before = _BEFORE.search(text[: match.start()])
            after = _AFTER.match(text[match.end() :])
            last = before[1].lower() if before else ""
            following = after[1].lower() if after else ""
            ahead = text[match.end() :].lower().lstrip()
            for entry in self._by_phrase[match[0].lower()]:
                blocked = last in entry.unless_after or following in entry.unless_before
                if not blocked and not any(
                    " " in phrase and ahead.startswith(phrase) for phrase in entry.unless_before
                ):
                    found.append(Site(paragraph, match.start(), match.end(), entry, match[0]))
                    break
        return found

    @cached_property
    def _canonical(self) -> dict[str, str]:
        leader: dict[str, str] = {}

        def root(phrase: str) -> str:
            while leader.get(phrase, phrase) != phrase:
                phrase = leader[phrase]
            return phrase

        for entry in self.entries:
            phrases = [*(p.lower() for p in entry.find), *(p.lower() for p, _ in entry.choices)]
            for phrase in phrases[1:]:
                leader[root(phrase)] = root(phrases[0])
        return {phrase: root(phrase) for phrase in list(leader)}

    @cached_property
    def _canonical_pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._canonical, key=lambda phrase: (-len(phrase), phrase))
        phrases = "|".join(re.escape(phrase) for phrase in longest_first)
        return re.compile(rf"(?<![\w'\u2019\-])(?:{phrases or '(?!)'})(?![\w'\u2019\-])")

    def canonical(self, text: str) -> str:
        """Return `text` in lower case with each phrase replaced by the one that stands for all."""
        canonical = self._canonical
        return self._canonical_pattern.sub(lambda match: canonical[match[0]], text.lower())


def choose(
    site: Site,
    register: str,
    rng: Random,
    *,
    contractions: float | None,
    avoid: Collection[str] = (),
) -> str | None:
    """Return what a voice of `register` says at `site`, None where it would say the same."""
    affinity = _AFFINITY[register]
    options: list[str] = []
    weights: list[float] = []
    for phrase, kind in site.entry.choices:
        if phrase.lower() == site.phrase or phrase in avoid:
            continue
        weight = affinity[kind]
        if contractions is not None and ("'" in phrase) != ("'" in site.phrase):
            weight *= contractions if "'" in phrase else 1 - contractions
        if weight > 0:
            options.append(phrase)
            weights.append(weight)
    if not options:
        return None
    return rng.choices(options, weights)[0]


def put(text: str, site: Site, phrase: str) -> str:
    """Return `text` with `phrase` at `site`, its capital and the article before it adapted."""
    if site.text[0].isupper():
        phrase = phrase[0].upper() + phrase[1:]
    before = text[: site.start]
    article = _ARTICLE.search(before)
    if article and site.text[0].isalpha():
        was, now = _starts_with_vowel(site.text), _starts_with_vowel(phrase)
        if was != now and (article[1].lower() == "an") == was:
            word = {"a": "an", "an": "a", "A": "An", "An": "A"}.get(article[1], article[1])
            before = f"{before[: article.start()]}{word} "
    return before + phrase + text[site.end :]


def _starts_with_vowel(word: str) -> bool:
    return word[:1].lower() in "aeio" or word[:2].lower() in ("un", "up")
