"""The judge of variants that were not made by rules."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._comparison import content_findings, line_findings
from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._interface import interface_findings
from pytest_promptse.variants.invariance._reading import read
from pytest_promptse.variants.invariance._vocabulary import language_of, vocabulary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["Judge", "normalised"]


def normalised(text: str) -> str:
    """Return `text` without case, punctuation and line breaks, to recognise duplicates."""
    return " ".join(re.findall(r"[\w'\u2019]+|[^\w\s.,;:!?…()\-\u2013—'\u2019]+", text.casefold()))


class Judge:
    """Decide by rules whether a text makes the same request as a prompt.

    Parameters
    ----------
    prompt
        The original prompt, of any kind.
    known
        Sentences that are known to be unrelated to the task. A variant may contain them.

    Notes
    -----
    ``docs/explanation/judge.md`` describes the rules and their error rates.
    """

    def __init__(self, prompt: str, *, known: Collection[str] = ()) -> None:
        self._prompt = prompt
        self._known = frozenset(map(normalised, known))
        self._language = language_of(prompt)
        self._vocabulary = vocabulary(self._language)
        self._reading = read(prompt, self._vocabulary)

    def findings(
        self, text: str, *, others: Collection[str] = (), waived: Collection[str] = ()
    ) -> tuple[Finding, ...]:
        """Return every rule that `text` breaks, or nothing if it makes the same request.

        Parameters
        ----------
        text
            The variant.
        others
            The ``normalised`` texts of variants that are already accepted.
        waived
            Names of rules to leave out.
        """
        found = (
            *self._duplicate(text, others),
            *_differences(self._prompt, text, self._language, self._known),
        )
        return tuple(finding for finding in found if finding.rule not in waived)

    def _duplicate(self, text: str, others: Collection[str]) -> Iterator[Finding]:
        if text.split() == self._prompt.split():
            yield Finding("duplicate", "the variant is the original")
        elif normalised(text) in others:
            yield Finding("duplicate", "another variant has this text")


@lru_cache(maxsize=256)
def _differences(
    prompt: str, text: str, language: str, known: frozenset[str]
) -> tuple[Finding, ...]:
    words = vocabulary(language)
    original, variant = read(prompt, words), read(text, words)
    found: list[Finding] = []
    if language_of(text) != language:
        found.append(Finding("language", "the variant is in another language"))
    if original.stub is not None:
        found.extend(interface_findings(original.stub, variant.stub))
        if variant.stub is None:
            return tuple(found)
    found.extend(line_findings(original.lines, variant.lines))
    found.extend(
        content_findings(
            original.sentences,
            variant.sentences,
            words,
            known=lambda sentence: normalised(sentence) in known,
        )
    )
    return tuple(dict.fromkeys(found))
