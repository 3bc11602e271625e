"""The request act of a prompt: the few words that ask, found and put in another form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_promptse.variants._document import Document
    from pytest_promptse.variants._library import Form, Language
    from pytest_promptse.variants.rules._layout import Edit

_PRONOUN = re.compile(r"\bI\b")
_STOP_WITHIN = re.compile(r"[.!?][\"'`)*_]*\s")
_MOST_WORDS = 45
_FIRST = 3


@dataclass(frozen=True, slots=True)
class RequestAct:
    """The position in a prompt of the request for code.

    ``start`` and ``end`` are the offsets of the words that ask, ``stop`` that of the sentence's
    final mark, None where the sentence has none. ``forms`` are the ways in which it can be put.
    """

    start: int
    end: int
    stop: int | None
    verb: str
    forms: tuple[Form, ...]


def find_request(document: Document, language: Language) -> RequestAct | None:
    """Return the request act among the first sentences of `document`, None in doubt.

    A prompt with several requests is left alone, and so are list items and docstrings. Inside a
    tag a request has light forms alone: what hands it over belongs outside.
    """
    asked = language.requests
    text = document.text
    sentences = [span for span in document.sentences if span.kind != "item"]
    contents = [document.content(span) for span in sentences]
    if sum(any(act.find.match(content) for act in asked.acts) for content in contents) > 1:
        return None
    for span in sentences[:_FIRST]:
        content = document.content(span)
        start = span.start + text[span.start : span.end].index(content) if content else span.start
        for act in asked.acts:
            found = act.find.match(content)
            if found is None:
                continue
            verb = (found.groupdict().get("verb") or "").lower()
            last = content[-1]
            stop = start + len(content) - 1 if last in asked.stops else None
            statement, question = asked.stops
            asks = last == question
            if asks != (act.kind == "question"):
                break
            plain = (
                last == statement
                and not content.endswith(statement * 2)
                and "\n" not in content
                and len(content.split()) <= _MOST_WORDS
                and asked.no_question.search(content, found.end()) is None
                and _STOP_WITHIN.search(content, found.end()) is None
            )
            tagged = text[:start].rstrip().endswith(">")
            forms = tuple(
                form
                for form in asked.forms
                if act.kind in form.of
                and (not form.make or verb in asked.make or not verb)
                and (form.end != question or plain)
                and (form.light or not tagged)
            )
            return RequestAct(start, start + found.end(), stop, verb, forms) if forms else None
    return None


def put(document: Document, act: RequestAct, form: Form, *, lower: bool) -> list[Edit]:
    """Return the edits that put `act` into `form`."""
    said = form.say.replace("{verb}", act.verb)
    if lower:
        said = _PRONOUN.sub("i", said[0].lower() + said[1:])
    edits = [(act.start, act.end, said)]
    if form.end and act.stop is not None and document.text[act.stop] != form.end:
        edits.append((act.stop, act.stop + 1, form.end))
    return edits
