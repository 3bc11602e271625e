"""The judge of variants that were not made by rules."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants._distance import normalised
from pytest_promptse.variants._language import NAMES, language_of, main_language
from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._interface import interface_findings
from pytest_promptse.variants.invariance._layout import line_findings
from pytest_promptse.variants.invariance._library_talk import library_talk
from pytest_promptse.variants.invariance._reading import read
from pytest_promptse.variants.invariance._reworded import meaning_findings, shared
from pytest_promptse.variants.invariance._talk import Talk
from pytest_promptse.variants.invariance._verbatim import align
from pytest_promptse.variants.invariance._vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants.invariance._library_talk import LibraryTalk
    from pytest_promptse.variants.invariance._reading import Reading
    from pytest_promptse.variants.invariance._verbatim import ChangedPart
    from pytest_promptse.variants.invariance._vocabulary import Vocabulary

__all__ = ["Judge"]


class Judge:
    """Decide by rules whether a text makes the same request as a prompt.

    It does if the sentences and the code of the prompt stand in the text word for word, and all
    other sentences are talk.

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
        findings = (
            *self._duplicate(text, others),
            *_differences(self._prompt, text, self._talk),
        )
        return tuple(finding for finding in findings if finding.rule not in waived)

    def most_doubts(self) -> tuple[Finding, ...]:
        """Return the findings of a text with all sentences reworded, to count the questions."""
        sentences = read(self._prompt).sentences
        findings = [_reworded(sentence.text, f"{sentence.text} ") for sentence in sentences]
        foreign = Finding("talk", "", questions=((self._prompt, self._prompt),))
        return (*findings, foreign)

    def _duplicate(self, text: str, others: Collection[str]) -> Iterator[Finding]:
        if text.split() == self._prompt.split():
            yield Finding("duplicate", "the variant is the original")
        elif normalised(text) in others:
            yield Finding("duplicate", "another variant has this text")


@lru_cache(maxsize=256)
def _differences(prompt: str, text: str, talk: LibraryTalk) -> tuple[Finding, ...]:
    original, variant = read(prompt), read(text, talk=talk, original=prompt)
    findings: list[Finding] = []
    if original.stub is not None:
        findings.extend(interface_findings(original.stub, variant.stub))
        if variant.stub is None:
            return tuple(findings)
    findings.extend(line_findings(original.lines, variant.lines))
    findings.extend(_prose_findings(prompt, text, original, variant, talk))
    return tuple(dict.fromkeys(findings))


def _prose_findings(
    prompt: str, text: str, original: Reading, variant: Reading, library: LibraryTalk
) -> Iterator[Finding]:
    language = main_language(sentence.text for sentence in original.sentences)
    alignment = align(original.sentences, variant.sentences)
    added = [fragment.sentence.text for gap in alignment.gaps for fragment in gap.fragments]
    spoken = language_of(" ".join(added))
    if original.sentences and spoken not in (None, language):
        yield Finding("language", f"the variant has sentences in {NAMES[spoken]}")
    for sentence in alignment.moved:
        yield Finding("order", f"{sentence.text!r} stands in another place")
    words = vocabulary(language)
    talk = Talk(prompt, text, original.sentences, words, library)
    for gap in alignment.gaps:
        yield from _gap_findings(gap, talk, words)


def _gap_findings(gap: ChangedPart, talk: Talk, words: Vocabulary | None) -> Iterator[Finding]:
    """Yield findings about the sentences that differ at one place.

    A sentence that the variant lacks is compared with the one that shares most with it. The others
    are judged as talk.
    """
    fragments = list(gap.fragments)
    for sentence in gap.missing:
        n_shared = [shared(sentence.tokens, added.tokens, words) for added in fragments]
        if not any(n_shared):
            yield Finding("lost", f"{sentence.text!r} is missing")
            continue
        partner = fragments.pop(n_shared.index(max(n_shared)))
        changes = list(meaning_findings(sentence.tokens, partner.tokens, words))
        yield from changes or [_reworded(sentence.text, partner.sentence.text)]
    for fragment in fragments:
        yield from talk.findings(fragment)


def _reworded(was: str, now: str) -> Finding:
    detail = f"{now!r} is not word for word {was!r}"
    return Finding("reworded", detail, questions=((was, now), (now, was)))
