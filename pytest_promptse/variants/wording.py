"""One wording of one task: words exchanged, sentences put differently, the asker's own around."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_promptse.variants import grammar
from pytest_promptse.variants.distance import SHORTEST, changed, words
from pytest_promptse.variants.grammar import Sentence, lowered, raised
from pytest_promptse.variants.lexicon import Site, choose, put
from pytest_promptse.variants.voice import spoken

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pytest_promptse.variants.library import Strength
    from pytest_promptse.variants.paragraphs import Document
    from pytest_promptse.variants.spans import Masked
    from pytest_promptse.variants.voice import Kind, Voice

_FRAME_WORDS, _LINK_WORDS = 9, 3
_BESIDE = 0.5
_LONG = 100
_TRIES = 40
_STANDS_ALONE = ("Note", "Also", "And", "Otherwise", "However", "E.g", "Moreover", "One note")

Slot = Literal["request", "opener", "link", "aside", "before", "after"]


@dataclass(frozen=True)
class Source:
    """What every wording of one task starts from; ``sites`` are those of its masked paragraphs."""

    document: Document
    masked: tuple[Masked, ...]
    sites: tuple[Site, ...]
    words: tuple[str, ...]


class Wording:
    """A draft that is changed step by step until as many words differ as the band asks for.

    Parameters
    ----------
    band
        Measured distances ``[low, high)`` to aim into. The draft may miss; who takes it measures.
    rng
        Everything that is left to chance.
    """

    def __init__(
        self,
        source: Source,
        voice: Voice,
        strength: Strength,
        band: tuple[float, float],
        rng: Random,
    ) -> None:
        self._source = source
        self._voice = voice
        self._strength = strength
        self._rng = rng
        self._paragraphs = source.document.paragraphs
        low, high = band
        margin = (high - low) / 6
        share = rng.uniform(low + margin, high - margin)
        # Most of a change is words added, which lengthen what is measured.
        self._budget = share * max(2 * len(source.words) / (1 - 0.6 * share), 2 * SHORTEST)
        self._draft: list[list[Sentence]] = []
        self._before: list[str] = []
        self._after: list[str] = []
        self._used: set[str] = set()
        self._touched: set[tuple[int, int]] = set()

    def render(self) -> str:
        """Return the prompt in the new wording."""
        self._exchange_words()
        self._restructure()
        self._add()
        self._punctuate()
        return self._assemble()

    # -- words ---------------------------------------------------------------------------------

    def _exchange_words(self) -> None:
        limit = self._lexical_budget()
        texts = [part.text for part in self._source.masked]
        chosen: list[tuple[Site, str]] = []
        by_phrase: dict[str, list[Site]] = {}
        for site in self._source.sites:
            by_phrase.setdefault(site.phrase, []).append(site)
        phrases = list(by_phrase)
        self._rng.shuffle(phrases)
        spent = 0
        for phrase in phrases:
            sites = by_phrase[phrase]
            layer = self._voice.layer(self._rng)
            say = choose(
                sites[0], layer.register, self._rng, contractions=self._voice.top.contractions
            )
            if say is None:
                continue
            cost = _cost(phrase, say) * len(sites)
            if spent + cost <= limit:
                spent += cost
                chosen.extend((site, say) for site in sites)
        for site, say in sorted(chosen, key=lambda pair: -pair[0].start):
            texts[site.paragraph] = put(texts[site.paragraph], site, say)
        self._draft = [
            grammar.sentences(text, opens=paragraph.opens, closes=paragraph.closes)
            for text, paragraph in zip(texts, self._paragraphs, strict=True)
        ]

    def _lexical_budget(self) -> float:
        """Words to change by exchange: a share, or what the asker's own sentences leave over."""
        share = self._strength.lexical * self._rng.uniform(0.6, 1.3)
        long = len(self._source.words) / 15
        room = self._strength.frames * _FRAME_WORDS + self._strength.links * long * _LINK_WORDS
        return max(min(share * self._budget, self._budget - 3), self._budget - room)

    # -- sentences -----------------------------------------------------------------------------

    def _restructure(self) -> None:
        likely = self._strength.structure
        for number, paragraph in enumerate(self._paragraphs):
            sentences = self._draft[number]
            sentences = [
                (self._maybe(likely, grammar.swap_clauses, sentence) or sentence)
                for sentence in sentences
            ]
            if not paragraph.item:
                sentences = self._split_and_join(sentences, likely)
                if self._rng.random() < likely:
                    sentences = grammar.reorder(sentences, self._rng) or sentences
            before = self._changed()
            kept, self._draft[number] = self._draft[number], sentences
            if self._changed() > max(self._budget - 3, before):
                self._draft[number] = kept

    def _maybe(
        self, likely: float, change: Callable[[Sentence], Sentence | None], sentence: Sentence
    ) -> Sentence | None:
        return change(sentence) if self._rng.random() < likely else None

    def _split_and_join(self, sentences: list[Sentence], likely: float) -> list[Sentence]:
        top = self._voice.top
        parted: list[Sentence] = []
        for sentence in sentences:
            halves = None
            if self._rng.random() < likely * top.split:
                halves = grammar.split_sentence(sentence)
            parted.extend(halves or [sentence])
        joined: list[Sentence] = []
        for sentence in parted:
            one = None
            if joined and self._rng.random() < likely * top.join:
                joint = self._rng.choice([";", " —", ", and"])
                one = grammar.join_sentences(joined[-1], sentence, joint)
            if one is None:
                joined.append(sentence)
            else:
                joined[-1] = one
        return joined

    def _changed(self) -> int:
        now = words("\n".join(s.text for sentences in self._draft for s in sentences))
        return changed(self._source.words, now)

    # -- the asker's own -----------------------------------------------------------------------

    def _add(self) -> None:
        left = self._budget - self._changed()
        count = sum(map(len, self._draft))
        # A long prompt leaves room for more than a short one.
        frames = self._strength.frames * max(1.0, len(self._source.words) / _LONG)
        request = self._rng.random() < self._strength.request
        room = {
            "request": int(request),
            "opener": int(not request),
            "link": math.ceil(self._strength.links * (count - 1)),
            "aside": math.ceil(self._strength.asides * count),
            "before": math.ceil(frames / 2),
            "after": math.ceil(frames / 2),
        }
        first = [slot for slot in ("request", "before", "after", "opener") if room[slot]]
        self._rng.shuffle(first)
        # The top layer speaks first, so that a wording of few words still has its mood.
        for slot in first:
            spent = self._fill(slot, left, top=True)
            if spent:
                left -= spent
                room[slot] -= 1
                break
        for _ in range(_TRIES):
            open_slots = [slot for slot, free in room.items() if free > 0]
            if left < 1.5 or not open_slots:  # noqa: PLR2004 - no snippet is shorter
                break
            slot = self._rng.choice(open_slots)
            spent = self._fill(slot, left)
            left -= spent
            room[slot] -= 1 if spent else 0

    def _fill(self, slot: str, left: float, *, top: bool = False) -> int:
        """Put one snippet into `slot` that costs at most `left` words; return what it cost."""
        return int(getattr(self, f"_add_{slot}")(left, top=top))

    def _draw(self, kind: Kind, left: float, *, top: bool) -> str | None:
        for snippet in self._voice.snippets(kind, self._rng, top=top):
            text = spoken(snippet, self._rng)
            bare = text.replace("{do}", "").replace("{do^}", "").replace("{say}", "")
            if snippet not in self._used and len(words(bare)) <= left + 1:
                self._used.add(snippet)
                return text
        return None

    def _add_request(self, left: float, *, top: bool) -> int:
        found = self._requestable()
        if found is not None:
            number, place = found
            template = self._draw("asks", left, top=top)
            if template is None:
                return 0
            told = grammar.ask(self._draft[number][place], template)
        else:
            number, place = self._head() or (-1, -1)
            if number < 0:
                return 0
            template = self._draw("intros", left, top=top)
            if template is None:
                return 0
            told = template.replace("{say}", lowered(self._draft[number][place].text))
        if told is None:
            return 0
        return self._replace(number, place, Sentence(told))

    def _requestable(self) -> tuple[int, int] | None:
        probe = "{do}"
        found = [
            (n, k)
            for n, sentences in enumerate(self._draft)
            for k, sentence in enumerate(sentences)
            if not self._paragraphs[n].item
            and (n, k) not in self._touched
            and grammar.ask(sentence, probe) is not None
        ]
        return found[0] if found else None

    def _head(self) -> tuple[int, int] | None:
        """The first sentence, where something may be put before it."""
        if not self._draft or self._paragraphs[0].item or not self._draft[0][0].whole:
            return None
        return None if (0, 0) in self._touched else (0, 0)

    def _add_opener(self, left: float, *, top: bool) -> int:
        head = self._head()
        opener = self._draw("openers", left, top=top) if head else None
        if head is None or opener is None:
            return 0
        text = self._draft[0][0].text
        opener = _without_second_colon(opener, text)
        fit = raised(text) if opener.endswith("!") else lowered(text)
        return self._replace(*head, Sentence(f"{opener} {fit}"))

    def _add_link(self, left: float, *, top: bool) -> int:
        found = [
            (n, k)
            for n, sentences in enumerate(self._draft)
            for k in range(1, len(sentences))
            if sentences[k].whole
            and sentences[k - 1].ended
            and (n, k) not in self._touched
            and not self._paragraphs[n].item
            and not sentences[k].text.startswith(_STANDS_ALONE)
        ]
        link = self._draw("links", left, top=top) if found else None
        if link is None:
            return 0
        number, place = self._rng.choice(found)
        text = self._draft[number][place].text
        link = _without_second_colon(link, text)
        return self._replace(number, place, Sentence(f"{link} {lowered(text)}"))

    def _add_aside(self, left: float, *, top: bool) -> int:
        found = [
            (n, k)
            for n, sentences in enumerate(self._draft)
            for k, sentence in enumerate(sentences)
            if sentence.whole
            and sentence.text.endswith(".")
            and not sentence.text.endswith(("..", ")."))
            and (n, k) not in self._touched
            and not self._paragraphs[n].item
        ]
        aside = self._draw("asides", left, top=top) if found else None
        if aside is None:
            return 0
        number, place = self._rng.choice(found)
        text = self._draft[number][place].text[:-1] + aside
        return self._replace(number, place, Sentence(text if text[-1] in ".?!" else f"{text}."))

    def _replace(self, number: int, place: int, sentence: Sentence) -> int:
        old = self._draft[number][place]
        self._draft[number][place] = sentence
        self._touched.add((number, place))
        return max(1, _cost(old.text, sentence.text))

    def _add_before(self, left: float, *, top: bool) -> int:
        if self._source.document.stub and self._inside_first() is None:
            return 0
        frame = self._draw("before", left, top=top)
        if frame is None:
            return 0
        self._before.append(frame)
        return len(words(frame))

    def _add_after(self, left: float, *, top: bool) -> int:
        if self._source.document.stub and self._inside_last() is None:
            return 0
        frame = self._draw("after", left, top=top)
        if frame is None:
            return 0
        self._after.append(frame)
        return len(words(frame))

    def _inside_first(self) -> int | None:
        """The paragraph that sentences of the asker's own can begin."""
        first = self._paragraphs[0]
        return 0 if first.opens and not first.item else None

    def _inside_last(self) -> int | None:
        """The paragraph that sentences of the asker's own can end."""
        for number in reversed(range(len(self._paragraphs))):
            paragraph = self._paragraphs[number]
            if paragraph.closes and not paragraph.item and not paragraph.text.endswith((":", ",")):
                return number
        return None

    # -- punctuation and layout ----------------------------------------------------------------

    def _punctuate(self) -> None:
        top, marks = self._voice.top, self._strength.marks
        for number, sentences in enumerate(self._draft):
            if self._paragraphs[number].item:
                continue
            for place, sentence in enumerate(sentences):
                if (
                    not sentence.whole
                    or not sentence.text.endswith(".")
                    or sentence.text.endswith("..")
                ):
                    continue
                roll = self._rng.random()
                if roll < top.exclamation * marks:
                    end = "!"
                elif roll < (top.exclamation + top.ellipsis) * marks:
                    end = "..."
                else:
                    continue
                sentences[place] = Sentence(sentence.text[:-1] + end)

    def _assemble(self) -> str:
        document = self._source.document
        texts = [
            masked.restore(" ".join(sentence.text for sentence in sentences))
            for masked, sentences in zip(self._source.masked, self._draft, strict=True)
        ]
        opening, closing = " ".join(self._before), " ".join(self._after)
        beside = self._rng.random() < _BESIDE and not document.stub
        apart = beside and not isinstance(document.pieces[0], str) and not document.margin
        first = None if apart else self._inside_first()
        if opening and first is not None:
            texts[first] = f"{opening} {texts[first]}"
            opening = ""
        last = self._inside_last()
        # In an instruction the asker's last words come last, also after a list or a fence.
        at_end = last == len(texts) - 1 and not isinstance(document.pieces[-1], str)
        if closing and last is not None and (document.stub or (at_end and not beside)):
            text = texts[last]
            texts[last] = f"{text if text[-1] in '.!?' else text + '.'} {closing}"
            closing = ""
        return document.render(texts, opening=opening, closing=closing)


def _without_second_colon(lead: str, text: str) -> str:
    return f"{lead[:-1]} —" if lead.endswith(":") and ": " in text else lead


def _cost(old: str, new: str) -> int:
    was, now = Counter(words(old)), Counter(words(new))
    return sum((was - now).values()) + sum((now - was).values())
