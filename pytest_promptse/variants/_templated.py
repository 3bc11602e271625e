"""A team's template in other words: its prose is reworded, its code and `task.prompt` never are.

A rewriter is shown a *view*: the template from its first part that holds sentences to its last,
with each Jinja2 statement and comment as one opaque placeholder. So what holds of a task's prompt
holds of a template, and the rules of invariance are the same. Two kinds of lines are placeholders
as a whole: those that mix a statement with text, or sentences could move in and out of a branch,
and those that are little more than expressions, such as ``{{ task.prompt }}`` by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_promptse.errors import TaskError
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._distance import Change, compare_words, words
from pytest_promptse.variants._document import read_document
from pytest_promptse.variants.invariance._finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.tasks._template import Template

# A view is an instruction that asks for no name of its own.
_ENTRY_POINT = "prompt_template"
# Fewer words beside expressions are no sentence.
_SENTENCE = 2
_STATEMENT = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_BLOCK = re.compile(r"\{%-?\+?\s*(?:block\s+\w+[^%]*|endblock[^%]*)%\}\n?")
_EXPRESSION = re.compile(r"\{\{.*?\}\}")
_PLACEHOLDER = re.compile(r"\{jinja:(\d+)\}")
_CUE = re.compile(r"(?:\s*(?:[A-Z][\w /-]{0,30}:|\{\{.*?\}\}:)\s*)\Z")
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})", re.MULTILINE)
_OPEN_FENCE = re.compile(r"\s*^(?:`{3,}|~{3,})[\w ]*\s*\Z", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class View:
    """The part of a template that a rewriter receives.

    ``before`` and ``after`` are what of its body stands around ``text``; ``hidden`` is what the
    placeholders in ``text`` stand for, in their order.
    """

    template: Template
    before: str
    text: str
    after: str
    hidden: tuple[str, ...]

    @classmethod
    def of(cls, template: Template) -> View | None:
        """Return the view of `template`, or None if the template has no sentence."""
        body = template.body
        prose = [
            (start, end)
            for start, end in _regions(body)
            if words(read_document(_hide(body[start:end])[0]).prose)
        ]
        if not prose:
            return None
        start, end = prose[0][0], _end(body, *prose[-1])
        text, hidden = _hide(body[start:end])
        return cls(
            template=template, before=body[:start], text=text, after=body[end:], hidden=hidden
        )

    @cached_property
    def task(self) -> Task:
        """The view as a rewriter takes it."""
        return Task(id=self.template.name, prompt=self.text, entry_point=_ENTRY_POINT)

    def reworded(self, text: str) -> Template:
        """Return the template that contains `text`, a variant of the view.

        Raises
        ------
        TaskError
            If its code is not the original's.
        """
        shown = _PLACEHOLDER.sub(lambda found: self._hidden(int(found[1])), text)
        return self.template.with_body(self.before + shown + self.after)

    def _hidden(self, number: int) -> str:
        return self.hidden[number] if number < len(self.hidden) else ""

    def findings(self, text: str) -> Iterator[Finding]:
        """Yield what `text` did to the template's code."""
        try:
            self.reworded(text)
        except TaskError as error:
            yield Finding("template", str(error))


def change_of_all(texts: Sequence[tuple[str, str]]) -> Change:
    """Return what separates several texts together from their originals.

    `texts` are pairs of what was and what is.
    """

    def prose(prompts: Sequence[str]) -> list[str]:
        return [w for p in prompts for w in words(p)]

    return compare_words(prose([was for was, _ in texts]), prose([now for _, now in texts]))


def _regions(body: str) -> list[tuple[int, int]]:
    """Return where the parts of a body stand, without the tags around them."""
    tags = [match.span() for match in _BLOCK.finditer(body)]
    if not tags:
        return [(0, len(body))]
    return [(start, end) for (_, start), (end, _) in zip(tags[::2], tags[1::2], strict=False)]


def _end(body: str, start: int, end: int) -> int:
    """Return where the sentences of a part end: before the cue that an answer is to follow."""
    part = body[start:end]
    if len(_FENCE.findall(part)) % 2:
        part = _OPEN_FENCE.sub("", part)
    part = _CUE.sub("", part) if "\n" in part.strip() else part
    return start + len(part.rstrip())


def _hide(text: str) -> tuple[str, tuple[str, ...]]:
    """Put placeholders for the template's code, each counted from 0."""
    hidden: list[str] = []

    def hide(match: re.Match[str]) -> str:
        hidden.append(match[0])
        return f"{{jinja:{len(hidden) - 1}}}"

    text = _STATEMENT.sub(hide, text)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        mixed = _PLACEHOLDER.search(line) and _PLACEHOLDER.sub("", line).strip()
        bare = "{{" in line and len(words(_EXPRESSION.sub("", line))) < _SENTENCE
        if mixed or bare:
            whole = _PLACEHOLDER.sub(lambda found: hidden[int(found[1])], line)
            hidden.append(whole)
            lines[number] = f"{{jinja:{len(hidden) - 1}}}"
    return "\n".join(lines), tuple(hidden)
