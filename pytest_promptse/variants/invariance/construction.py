"""Checks what the rules of this package wrote."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.variants import meaning
from pytest_promptse.variants.distance import measure, words
from pytest_promptse.variants.grammar import sentences
from pytest_promptse.variants.invariance.finding import Finding
from pytest_promptse.variants.invariance.judge import normalised
from pytest_promptse.variants.invariance.old_interface import interface_findings
from pytest_promptse.variants.language import is_english
from pytest_promptse.variants.paragraphs import Document, read_prompt
from pytest_promptse.variants.spans import Span, mask
from pytest_promptse.variants.stubs import interface_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_promptse.tasks.task import Task
    from pytest_promptse.variants.lexicon import Lexicon

_OWN_SHARE, _OWN_WORDS = 0.5, 3
_DROPPED_SHARE = 0.5
_CODE = re.compile(r"^\s*(?:>>>|```|~~~)")
_BLANKS = re.compile(r"\s+")


class ConstructionJudge:
    """Compares wordings with one original.

    Parameters
    ----------
    task
        Its prompt is the original, its entry point says which docstring is the task's.
    lexicon
        Phrases that count as the same when content is compared.
    any_language
        Take an original in another language, too.

    Raises
    ------
    VariantError
        If the original is not in English, or has no prose to reword.
    """

    def __init__(self, task: Task, lexicon: Lexicon, *, any_language: bool = False) -> None:
        self._task = task
        self._lexicon = lexicon
        self._document = read_prompt(task.prompt, task.entry_point)
        self._names = interface_names(task.prompt, task.entry_point)
        self._is_english = is_english(self._document.prose or task.prompt)
        if not any_language and not self._is_english:
            raise VariantError(
                f"task {task.id!r}: the prompt is not in English, which the offline rewriters "
                "need; use a model that knows the language: --promptse-rewriter llm:BACKEND:NAME"
            )
        if not words(self._document.prose):
            raise VariantError(
                f"task {task.id!r}: there is no sentence to reword, all of the prompt is code; say "
                "in words what is asked for"
            )

    @cached_property
    def original_words(self) -> list[str]:
        """The words of the original's prose."""
        return words(self._document.prose)

    def distance(self, text: str) -> float:
        """Return the measured distance of `text` from the original, in [0, 1]."""
        return measure(self.original_words, words(self._read(text).prose))

    def findings(
        self, text: str, *, others: Collection[str] = (), waived: Collection[str] = ()
    ) -> tuple[Finding, ...]:
        """Return every rule that `text` breaks; empty where it is the same task in other words.

        `others` are the ``normalised`` texts of accepted wordings, `waived` names rules to leave
        out.
        """
        found: list[Finding] = []
        rules = (self._duplicate(text, others), self._code(text), self._spans(text))
        for rule in (*rules, self._content(text, edited="dropped" in waived), self._language(text)):
            found.extend(finding for finding in rule if finding.rule not in waived)
        return tuple(found)

    def _read(self, text: str) -> Document:
        return read_prompt(text, self._task.entry_point)

    # -- one rule each -------------------------------------------------------------------------

    def _duplicate(self, text: str, others: Collection[str]) -> Iterator[Finding]:
        bare = normalised(text)
        if bare == self._normalised:
            yield Finding("duplicate", "the wording is the original's")
        elif bare in others:
            yield Finding("duplicate", "another variant has this wording")

    @cached_property
    def _normalised(self) -> str:
        return normalised(self._task.prompt)

    def _code(self, text: str) -> Iterator[Finding]:
        """Code, examples and whatever else stands outside the sentences: kept, nothing added."""
        for rule, detail in interface_findings(self._task.prompt, text, self._task.entry_point):
            yield Finding(rule, detail)
        remaining = iter(self._read(text).lines)
        for line in self._document.kept:
            if not any(line == candidate for candidate in remaining):
                rule = "example" if line.startswith(">>>") else "verbatim"
                yield Finding(rule, f"the line {line!r} is missing or out of its place")
                break
        was, now = (
            Counter(map(str.strip, filter(_CODE.match, t.splitlines())))
            for t in (self._task.prompt, text)
        )
        for line in now - was:
            yield Finding("example", f"{line!r} was added")

    def _spans(self, text: str) -> Iterator[Finding]:
        was, now = self._original_spans, self._count_spans(self._read(text).prose)
        for span in was - now:
            if span.kind != "name" or not now[span]:
                yield Finding(span.kind, f"{span.text!r} was lost")
        for span in now - was:
            # A name that is a word, too, may come in with a sentence that begins with a verb.
            if span.kind != "name":
                yield Finding(span.kind, f"{span.text!r} was added")

    @cached_property
    def _original_spans(self) -> Counter[Span]:
        return self._count_spans(self._document.prose)

    def _count_spans(self, prose: str) -> Counter[Span]:
        counted: Counter[Span] = Counter()
        for paragraph in prose.split("\n"):
            for span in mask(paragraph, self._names).spans:
                counted[Span(span.kind, _BLANKS.sub(" ", span.text))] += 1
        return counted

    def _content(self, text: str, *, edited: bool) -> Iterator[Finding]:
        """What the task's own sentences say, and that the sentences around them ask nothing.

        In a wording that was `edited` in place all sentences are the task's.
        """
        own: list[str] = []
        for sentence in self._sentences(self._read(text)):
            if edited or self._is_own(sentence):
                own.append(sentence)
            elif problem := meaning.adds_instruction(sentence):
                yield Finding("instruction", f"{sentence!r} was added, and {problem}")
        told = "\n".join(own)
        for rule, count in (("negation", meaning.instruction_words), ("term", meaning.terms)):
            was, now = count(self._plain), count(told)
            for kind in sorted(set(was) | set(now)):
                if was[kind] != now[kind] and (
                    rule == "negation" or _matters(was[kind], now[kind])
                ):
                    name = kind if rule == "negation" else "term"
                    yield Finding(name, f"{kind!r} occurs {now[kind]} times, not {was[kind]}")
        yield from self._dropped(told)

    def _sentences(self, document: Document) -> Iterator[str]:
        for paragraph in document.paragraphs:
            masked = mask(paragraph.text)
            for sentence in sentences(masked.text, opens=True, closes=True):
                yield masked.restore(sentence.text).replace("\x1f", " ")

    @cached_property
    def _original_sentences(self) -> tuple[str, ...]:
        return tuple(self._sentences(self._document))

    @cached_property
    def _plain(self) -> str:
        return "\n".join(self._original_sentences)

    @cached_property
    def _vocabulary(self) -> Counter[str]:
        return self._content_words(self._plain)

    def _content_words(self, text: str) -> Counter[str]:
        found = words(self._lexicon.canonical(text))
        return Counter(_stem(word) for word in found if word not in _FILLERS)

    def _is_own(self, sentence: str) -> bool:
        """Whether `sentence` is one of the task's, rather than the asker's own beside it."""
        content = self._content_words(sentence)
        shared = sum(count for word, count in content.items() if word in self._vocabulary)
        return (
            shared >= _OWN_WORDS
            or shared > _OWN_SHARE * content.total()
            or any((part & content).total() > _OWN_SHARE * part.total() for part in self._contents)
        )

    @cached_property
    def _contents(self) -> tuple[Counter[str], ...]:
        return tuple(self._content_words(part) for part in self._original_sentences)

    def _dropped(self, told: str) -> Iterator[Finding]:
        missing = self._vocabulary - self._content_words(told)
        for sentence, content in zip(self._original_sentences, self._contents, strict=True):
            lost = sum((content & missing).values())
            if lost > _DROPPED_SHARE * content.total():
                yield Finding("dropped", f"what {sentence!r} says is missing")

    def _language(self, text: str) -> Iterator[Finding]:
        if not self._is_english:
            if is_english(self._read(text).prose):
                yield Finding("language", "the wording is in English, the original is not")
            return
        for sentence in self._sentences(self._read(text)):
            if sentence not in self._plain and not is_english(sentence):
                yield Finding("language", f"{sentence!r} is not in English")


def _matters(was: int, now: int) -> bool:
    """A term may be repeated, but neither vanish nor come in."""
    return (was == 0) != (now == 0) or now < was


def _stem(word: str) -> str:
    for ending in ("ing", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:  # noqa: PLR2004 - "is", "red"
            return word[: -len(ending)]
    return word


_FILLERS = frozenset(
    """a an the and or but of to in on at for with by from as is are was were be been being it its
    this that these those there here i i'm i've i'd you you're your he she we we're our they them
    their my me us do does did done so then than if when what which who whose how why into out up
    will would can could should must may might just please one also have has had not no yes oh okay
    um ugh right well""".split()  # noqa: SIM905 - a list of words
)
