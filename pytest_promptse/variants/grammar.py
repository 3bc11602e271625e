"""Sentences of a masked paragraph, and the ways to put them that keep what they say."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_promptse.variants.meaning import instruction_words
from pytest_promptse.variants.spans import MARKS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_IMPERATIVES = (
    "write|create|implement|complete|return|find|compute|calculate|count|check|test|determine"
    "|evaluate|insert|filter|concatenate|remove|perform|separate|sort|order|convert|add|change"
    "|replace|generate|produce|build|make|split|parse|output|reverse|merge|join|encode|decode"
    "|simplify|apply|select|choose|pick|append|round|sum|shift|put together|code up|define|use"
    "|track down|locate|identify|see whether|verify|work out|figure out|tally|obtain|get|derive"
    "|place|put|go through|screen|drop|delete|take out|eliminate|glue together|give back|hand back"
    "|design|group|swap|turn|transform|normali[sz]e|validate|format|extract|list|rotate|flip|read"
    "|divide|multiply|tell|print|given|add up|look up|keep|assign|map|cap|pad|strip|trim|clamp"
)
_IMPERATIVE = re.compile(rf"(?:please\s+)?(?:{_IMPERATIVES})\b(?![-'\u2019])", re.IGNORECASE)
_GIVEN = re.compile(r"(?:given|for|from|out of|in)\b", re.IGNORECASE)
_END = re.compile(
    rf"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bcf\.)\s+"
    rf"(?=[A-Z{MARKS}\"'(]|(?<!\.\.\s)[a-z])"
)
_REFERS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|such|otherwise|also|then|next|again|result"
    r"|resulting|above|following|former|latter|same|here|there|however|moreover|similarly|first"
    r"|finally|instead|but|and|or)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:if|when|whenever|unless|otherwise|else|in case|only)\b", re.IGNORECASE
)
_IF_FIRST = re.compile(
    r"(?P<if>If|When|Whenever|In case) (?P<condition>[^,.;:]+), (?:then )?"
    r"(?P<do>(?:return|give back|hand back) [^,.;:]+)(?P<end>[.!]?)$"
)
_IF_LAST = re.compile(
    r"(?P<do>(?:Return|Give back|Hand back) (?:(?!\b(?:if|when|whenever|in case)\b)[^,.;:])+?) "
    r"(?P<if>if|when|whenever|in case) (?P<condition>(?:(?!\b(?:if|when|and|or)\b)[^,.;:])+)"
    r"(?P<end>[.!]?)$"
)
_GIVEN_FIRST = re.compile(
    rf"(?P<given>Given [^.;:]+?), (?P<do>(?:{_IMPERATIVES})\b[^.;:]+?)(?P<end>[.!]?)$"
)
_AND_THEN = re.compile(r",? and (?P<then>return|give back|hand back) ")


@dataclass(frozen=True)
class Sentence:
    """One sentence of the task, masked. ``whole`` is False for a piece that a formula goes on."""

    text: str
    whole: bool = True

    @property
    def ended(self) -> bool:
        """Whether a full stop, question or exclamation mark closes it."""
        return self.text[-1:] in ".!?"

    @property
    def imperative(self) -> bool:
        """Whether it tells what to do."""
        return self.whole and bool(_IMPERATIVE.match(self.text)) and not _starts_given(self.text)


def _starts_given(text: str) -> bool:
    return bool(re.match(r"given\b", text, re.IGNORECASE))


def sentences(text: str, *, opens: bool, closes: bool) -> list[Sentence]:
    """Part a masked paragraph into sentences; `opens` and `closes` as in Paragraph."""
    parts = [part for part in _END.split(text) if part.strip()]
    last = len(parts) - 1
    return [
        Sentence(part.strip(), whole=(opens or n > 0) and (closes or n < last))
        for n, part in enumerate(parts)
    ]


def lowered(text: str) -> str:
    """Return `text` with a small first letter, unless its first word is always written large."""
    first = re.match(r"[A-Za-z'\u2019]+", text)
    if (
        first is None
        or first[0] in ("I", "I'm", "I've", "I'd", "I'll")
        or not first[0][1:].islower()
    ):
        return text[0].lower() + text[1:] if first and first[0] == "A" else text
    return text[0].lower() + text[1:]


def raised(text: str) -> str:
    """Return `text` with a capital first letter."""
    return text[:1].upper() + text[1:]


def ask(sentence: Sentence, template: str) -> str | None:
    """Put an imperative into `template`, None where the sentence does not lend itself.

    ``Given …, return …`` keeps its first part in front, *Given …, could you return …?*, but where
    the template announces the task: *The task: given …, return …*
    """
    body = sentence.text.rstrip(".!")
    ahead = ""
    if not sentence.imperative:
        split = _given(body)
        if split is None or not sentence.whole:
            return None
        ahead, body = split
    if not _fits_request(body):
        return None
    body = re.sub(r"^please\s+", "", body, flags=re.IGNORECASE)
    if ahead and re.search(r"[:…]|\.\.|[—?!] ", template.partition("{do")[0]):
        ahead, body = "", f"{ahead}, {body}"
    told = template.replace("{do^}", raised(body)).replace("{do}", lowered(body))
    return f"{ahead}, {lowered(told)}" if ahead else raised(told)


def _given(body: str) -> tuple[str, str] | None:
    if not _GIVEN.match(body):
        return None
    for comma in re.finditer(r", ", body):
        rest = body[comma.end() :]
        if _IMPERATIVE.match(rest) and not _starts_given(rest):
            return body[: comma.start()], rest
    return None


def _fits_request(body: str) -> bool:
    """Whether one clause can be asked for: no further sentence hangs on it."""
    return not re.search(r"[?;]|\.\s", body) and not body.endswith((":", ","))


def swap_clauses(sentence: Sentence) -> Sentence | None:  # noqa: PLR0911 - one per pattern
    """Put a condition behind what depends on it, or in front; None where there is none to move."""
    if not sentence.whole:
        return None
    if match := _IF_FIRST.match(sentence.text):
        return replace(
            sentence,
            text=f"{raised(match['do'])} {match['if'].lower()} {match['condition']}{match['end']}",
        )
    if match := _IF_LAST.match(sentence.text):
        if re.search(r"\bwhether\b|\bout\b|\bcheck\b", match["do"]):
            return None
        return replace(
            sentence,
            text=f"{raised(match['if'])} {match['condition']}, "
            f"{lowered(match['do'])}{match['end']}",
        )
    if match := _GIVEN_FIRST.match(sentence.text):
        if _REFERS.search(match["do"]) or _CONDITIONAL.search(match["do"]) or "," in match["given"]:
            return None
        return replace(
            sentence, text=f"{raised(match['do'])}, {lowered(match['given'])}{match['end']}"
        )
    return None


def split_sentence(sentence: Sentence) -> list[Sentence] | None:
    """Part a sentence at a semicolon, or before a second imperative; None where it has none."""
    if not sentence.whole:
        return None
    if re.search(r"; +\S", sentence.text) and sentence.text.count(";") == 1:
        first, second = re.split(r"; +", sentence.text)
        if instruction_words(second):
            return None
        return [Sentence(f"{first}."), Sentence(raised(second))]
    found = list(_AND_THEN.finditer(sentence.text))
    if len(found) != 1 or not sentence.imperative or _CONDITIONAL.search(sentence.text):
        return None
    cut = found[0]
    first, second = sentence.text[: cut.start()], sentence.text[cut.end() :]
    if "," in first or " to " in first:
        return None
    return [Sentence(f"{first}."), Sentence(f"{raised(cut['then'])} {second}")]


def join_sentences(first: Sentence, second: Sentence, joint: str) -> Sentence | None:
    """Make one sentence of two with ``;``, a dash or ``, and``; None where that would not read."""
    if not (first.whole and second.whole and first.text.endswith(".")):
        return None
    both = first.text + second.text
    if re.search(r"[;:—\u2013]", both) or len(both.split()) > 34:  # noqa: PLR2004 - longer ones tire
        return None
    if joint == ", and" and (first.imperative != second.imperative or _CONDITIONAL.search(both)):
        joint = ";"
    if re.match(r"(?:note|also|and|moreover|however|e\.g)\b", second.text, re.IGNORECASE):
        return None
    return Sentence(f"{first.text[:-1]}{joint} {lowered(second.text)}")


def reorder(sentences: Sequence[Sentence], rng: Random) -> list[Sentence] | None:
    """Exchange two neighbouring sentences that do not hang on each other, None if there are none.

    The first sentence stays first: it says what is asked for. Neither of the two may refer back
    or forth, and at most one may hold a condition, since of two the order can matter.
    """
    pairs = [
        n
        for n in range(1, len(sentences) - 1)
        if _independent(sentences[n])
        and _independent(sentences[n + 1])
        and not (
            _CONDITIONAL.search(sentences[n].text) and _CONDITIONAL.search(sentences[n + 1].text)
        )
    ]
    # What follows a moved pair must not refer back to its last sentence.
    pairs = [n for n in pairs if n + 2 == len(sentences) or _independent(sentences[n + 2])]
    if not pairs:
        return None
    n = rng.choice(pairs)
    moved = list(sentences)
    moved[n], moved[n + 1] = moved[n + 1], moved[n]
    return moved


def _independent(sentence: Sentence) -> bool:
    return sentence.whole and sentence.ended and not _REFERS.search(sentence.text)
