"""Control conditions: rewriters that edit a prompt without emotion and persona."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import TYPE_CHECKING

from pytest_promptse.models._base import derive_seed
from pytest_promptse.variants._document import read_document
from pytest_promptse.variants._rewriter import Rewriter
from pytest_promptse.variants._spans import GLUE, interface_names, mask
from pytest_promptse.variants.rules._layout import apply

if TYPE_CHECKING:
    from pytest_promptse.variants._rewriter import Candidates, RewriteRequest

_WORD = re.compile(r"(?<![\w'\u2019\-])[A-Za-z]+(?![\w'\u2019\-])")
_SPARED = frozenset(
    """
    above after all allowed any ascending at average before below bigger biggest can column
    columns consonant consonants decreasing descending divisible duplicate duplicates each
    eight empty even every exactly except exclusive exclusively false fewer first five four
    greater greatest has have higher highest hour hours identical inclusive increasing
    larger largest last least left less littlest longest lower lowercase lowest mandatory
    max maximum may mean median merely might min minimum minute minutes more most must need
    needs negative neither never nine no nobody none nor not nothing nowhere obligatory
    obliged odd of only optional optionally ought palindrome palindromes palindromic
    positive postfix prefix prefixes prime primes product required reverse reversed right
    row rows same second seconds seven shall shortest should six smaller smallest solely
    sorted suffix suffixes sum supposed ten than three to true two unique unless unsorted up
    upper uppercase vowel vowels without zero
    """.split()  # noqa: SIM905 - a list of words
)
"""Words of an instruction, or words with an opposite: a typo could turn one into another word."""
_SAME_WORDS = frozenset({"duplicate"})
"""The rule that changes of case or blanks break by design, since duplicates ignore them."""
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SHORTEST = 3


@dataclass(frozen=True)
class OriginalControl(Rewriter):
    """The A/A condition: the original itself, to be sampled again with other seeds."""

    name: str = "original"
    version: str = "1"
    has_persona: bool = False
    waives: frozenset[str] = frozenset({"duplicate", "copy"})

    def candidates(self, request: RewriteRequest) -> Candidates:
        """Yield the original."""
        yield request.task.prompt


class _EditControl(Rewriter):
    """A condition that edits the sentences of the original in place and adds none.

    The nominal distance is the share of edited words. The measured distance depends on the edit:
    changes of case and blanks measure 0.
    """

    version = "1"
    has_persona = False

    @abstractmethod
    def edited(self, text: str, share: float, rng: Random) -> str:
        """Return a masked paragraph with changes.

        `share` is the share of places to change, in (0, 1]. All random decisions come from `rng`.
        """

    def candidates(self, request: RewriteRequest) -> Candidates:
        """Yield edited originals without end."""
        task = request.task
        document = read_document(task.prompt, task.entry_point)
        names = interface_names(task.prompt, task.entry_point)
        spans = document.sentences
        masked = [mask(task.prompt[span.start : span.end], names) for span in spans]
        for number in count():
            rng = Random(derive_seed(request.seed, "candidate", number))  # noqa: S311 - no secret
            # A short prompt has few distinct edits at a small share, so the share grows slowly.
            share = min(1.0, request.distance * (1 + number / 20))
            edits = [
                (span.start, span.end, part.restore(self.edited(part.text, share, rng)))
                for span, part in zip(spans, masked, strict=True)
            ]
            yield apply(task.prompt, edits).replace(GLUE, " ")


class TyposControl(_EditControl):
    """Typos: exchanged, dropped and doubled letters, and neighbours on the keyboard.

    Words of an instruction and words of fewer than three letters are kept. `share` is about the
    share of words that are changed.
    """

    name = "typos"

    def edited(self, text: str, share: float, rng: Random) -> str:
        """Return `text` with typos."""

        def mistyped(match: re.Match[str]) -> str:
            word = match[0]
            if len(word) < _SHORTEST or word.lower() in _SPARED:
                return word
            if rng.random() >= share * _longer(text):
                return word
            place = rng.randrange(1, len(word) - 1)
            here, following = word[place], word[place + 1]
            return word[:place] + rng.choice(
                (
                    following + here + word[place + 2 :],
                    word[place + 1 :],
                    here + word[place:],
                    _beside(here, rng) + word[place + 1 :],
                )
            )

        return _WORD.sub(mistyped, text)


class CaseControl(_EditControl):
    """The first letters of words in the other case.

    Words in capitals only are skipped, since readers take them for names.
    """

    name = "case"
    waives = _SAME_WORDS

    def edited(self, text: str, share: float, rng: Random) -> str:
        """Return `text` with each word changed with probability `share`."""

        def recased(match: re.Match[str]) -> str:
            word = match[0]
            if rng.random() >= share:
                return word
            forms = [form for form in (word.lower(), word.capitalize()) if form != word]
            return rng.choice(forms or [word])

        return _WORD.sub(recased, text)


class WhitespaceControl(_EditControl):
    """Double blanks between words and after sentences."""

    name = "whitespace"
    waives = _SAME_WORDS

    def edited(self, text: str, share: float, rng: Random) -> str:
        """Return `text` with each blank doubled with probability `share`."""
        return re.sub(
            r"(?<=[\w,.;])( )(?=\S)", lambda _: "  " if rng.random() < share else " ", text
        )


def _longer(text: str) -> float:
    """Return the ratio of all words to the words that can be mistyped."""
    words = _WORD.findall(text)
    can = sum(len(word) >= _SHORTEST and word.lower() not in _SPARED for word in words)
    return len(text.split()) / can if can else 1.0


def _beside(letter: str, rng: Random) -> str:
    for row in _KEYS:
        at = row.find(letter.lower())
        if at >= 0:
            return rng.choice(row[max(at - 1, 0) : at] + row[at + 1 : at + 2])
    return letter
