"""The judge of variants that were not made by rules."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._comparison import content_findings, line_findings
from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._interface import interface_findings
from pytest_promptse.variants.invariance._library_talk import library_talk
from pytest_promptse.variants.invariance._reading import read
from pytest_promptse.variants.invariance._vocabulary import language_of, vocabulary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants.invariance._library_talk import LibraryTalk
    from pytest_promptse.variants.invariance._reading import Reading

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
    library
        The library of phrases. A variant may contain its sentences in the prompt's language.

    Notes
    -----
    ``docs/explanation/judge.md`` describes the rules and their error rates.
    """

    def __init__(self, prompt: str, library: Library) -> None:
        self._prompt = prompt
        self._talk = library_talk(prompt, library)

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
            *_differences(self._prompt, text, self._talk),
        )
        return tuple(finding for finding in found if finding.rule not in waived)

    def _duplicate(self, text: str, others: Collection[str]) -> Iterator[Finding]:
        if text.split() == self._prompt.split():
            yield Finding("duplicate", "the variant is the original")
        elif normalised(text) in others:
            yield Finding("duplicate", "another variant has this text")


@lru_cache(maxsize=256)
def _differences(prompt: str, text: str, talk: LibraryTalk) -> tuple[Finding, ...]:
    language = language_of(prompt)
    words = vocabulary(language)
    original, variant = read(prompt, words), read(text, words, talk=talk, original=prompt)
    found: list[Finding] = []
    if language_of(text) != language and _prose_language(variant) != _prose_language(original):
        found.append(Finding("language", "the variant is in another language"))
    if original.stub is not None:
        found.extend(interface_findings(original.stub, variant.stub))
        if variant.stub is None:
            return tuple(found)
    found.extend(line_findings(original.lines, variant.lines))
    found.extend(content_findings(original.sentences, variant.sentences, words))
    return tuple(dict.fromkeys(found))


def _prose_language(reading: Reading) -> str:
    return language_of(" ".join(sentence.text for sentence in reading.sentences))
