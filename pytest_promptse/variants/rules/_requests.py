"""The request act of a prompt: find the few words that make the request, and rephrase them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_promptse.variants._document import Document
    from pytest_promptse.variants._library import Form, Language
    from pytest_promptse.variants.rules._layout import Edit

_PRONOUN = re.compile(r"\bI\b")
_COLON = re.compile("[:\uff1a]")
_STOP_WITHIN = re.compile(r"[.!?][\"'`)*_]*\s")
_SENTENCE_ENDS = tuple(".!?:\u2026")
_MOST_WORDS = 45
_FIRST = 3


@dataclass(frozen=True, slots=True)
class RequestAct:
    """The position of the request for code in a prompt.

    ``start`` and ``end`` are the offsets of the words that make the request. ``stop`` is the offset
    of the sentence's final mark, or None if it has none. ``forms`` are the possible other forms.
    """

    start: int
    end: int
    stop: int | None
    verb: str
    forms: tuple[Form, ...]


def find_request(document: Document, language: Language) -> RequestAct | None:
    """Return the request act in the first sentences of `document`, or None in case of doubt.

    A prompt with several requests stays unchanged, and so do list items and docstrings. In *I'd
    like to refactor this. Define a type for the pages* the type is a requirement. A request inside
    a tag has only light forms, since a sentence that hands over the task belongs outside the tag.
    A sentence with a colon has no form with another one, and one below a heading is no question,
    since it fills in a template.
    """
    requests = language.requests
    text = document.text
    sentences = [span for span in document.sentences if span.kind != "item"]
    contents = [document.content(span) for span in sentences]
    if sum(any(act.find.match(content) for act in requests.acts) for content in contents) > 1:
        return None
    for span in sentences[:_FIRST]:
        content = document.content(span)
        start = span.start + text[span.start : span.end].index(content) if content else span.start
        for act in requests.acts:
            opening = act.find.match(content)
            if opening is None:
                continue
            others = (other for other in contents if other != content)
            elsewhere = language.coherence.facts_of_prompt(others)
            if "asks" in elsewhere or _goes_on(document, content, start):
                return None
            if opening[0].isupper():  # A different form would be in small letters.
                return None
            verb = (opening.groupdict().get("verb") or "").lower()
            last = content[-1]
            stop = start + len(content) - 1 if last in requests.stops else None
            statement, question = requests.stops
            asks = last == question
            if asks != (act.kind == "question"):
                break
            plain = (
                last == statement
                and not content.endswith(statement * 2)
                and "\n" not in content
                and len(content.split()) <= _MOST_WORDS
                and requests.no_question.search(content, opening.end()) is None
                and _STOP_WITHIN.search(content, opening.end()) is None
            )
            tagged = text[:start].rstrip().endswith(">")
            is_first = not text[document.body : start].strip()
            is_headed = _is_below_heading(document, start)
            forms = tuple(
                form
                for form in requests.forms
                if act.kind in form.of
                and (not form.make or verb in requests.make or not verb)
                and (form.end != question or (plain and not is_headed))
                and (form.light or not tagged)
                and (is_first or not form.first)
                and not (_COLON.search(form.say) and _COLON.search(content, opening.end()))
                and form.say.replace("{verb}", verb) != content[: opening.end()]
            )
            return RequestAct(start, start + opening.end(), stop, verb, forms) if forms else None
    return None


def _is_below_heading(document: Document, start: int) -> bool:
    """Return whether the last line with words before `start` is a heading."""
    before = [span for span in document.spans if span.end <= start and span.kind != "blank"]
    return bool(before) and before[-1].kind == "heading"


def _goes_on(document: Document, content: str, start: int) -> bool:
    """Return whether the sentence at `start` goes on from words before it, as after a table."""
    before = document.text[document.body : start].rstrip()
    return bool(before) and content[0].islower() and not before.endswith(_SENTENCE_ENDS)


def put(document: Document, act: RequestAct, form: Form, *, lower: bool) -> list[Edit]:
    """Return the edits that put `act` into `form`.

    `act` is the request as found in `document`. `lower` makes the new text begin in lower case.
    Edits are (start, end, new text), with character offsets.
    """
    said = form.say.replace("{verb}", act.verb)
    if lower:
        said = _PRONOUN.sub("i", said[0].lower() + said[1:])
    edits = [(act.start, act.end, said)]
    if form.end and act.stop is not None and document.text[act.stop] != form.end:
        edits.append((act.stop, act.stop + 1, form.end))
    return edits
