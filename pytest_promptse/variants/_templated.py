"""Reword a team's template: its prose changes, its code and `task.prompt` never do.

A rewriter receives a *view* of the template. The view reaches from the first part that contains
sentences to the last one. Each Jinja2 statement and comment in it is one opaque placeholder. So the
rules of invariance for a task's prompt also apply to a template.

Two kinds of lines are placeholders as a whole. Lines that mix a statement with text would let
sentences move into or out of a branch. Lines with little more than expressions, such as ``{{
task.prompt }}`` alone, contain no sentence.
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

# A view is an instruction that requests no name of its own.
_ENTRY_POINT = "prompt_template"
# A line with fewer words beside expressions is not a sentence.
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

    ``before`` and ``after`` are the parts of the body around ``text``. ``hidden`` has the code
    behind the placeholders in ``text``, in their order.
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
        """The view as a task, which is the input of a rewriter."""
        return Task(id=self.template.name, prompt=self.text, entry_point=_ENTRY_POINT)

    def reworded(self, text: str) -> Template:
        """Return the template that contains `text`, a variant of the view.

        Raises
        ------
        TaskError
            If the code in `text` differs from the original's.
        """
        shown = _PLACEHOLDER.sub(lambda match: self._hidden(int(match[1])), text)
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
    """Return the joint difference of several texts from their originals.

    `texts` are pairs of original and new text.
    """

    def prose(prompts: Sequence[str]) -> list[str]:
        return [w for p in prompts for w in words(p)]

    return compare_words(prose([was for was, _ in texts]), prose([now for _, now in texts]))


def _regions(body: str) -> list[tuple[int, int]]:
    """Return the offsets of the parts of a body, without the tags around them."""
    tags = [match.span() for match in _BLOCK.finditer(body)]
    if not tags:
        return [(0, len(body))]
    return [(start, end) for (_, start), (end, _) in zip(tags[::2], tags[1::2], strict=False)]


def _end(body: str, start: int, end: int) -> int:
    """Return where the sentences of a part end, before a label such as "Answer:".

    `start` and `end` limit the part in `body`, as character offsets; the result is an offset in
    `body`, too. A code fence that the part leaves open is not included.
    """
    part = body[start:end]
    if len(_FENCE.findall(part)) % 2:
        part = _OPEN_FENCE.sub("", part)
    part = _CUE.sub("", part) if "\n" in part.strip() else part
    return start + len(part.rstrip())


def _hide(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace the template's code by placeholders, counted from 0."""
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
            whole = _PLACEHOLDER.sub(lambda match: hidden[int(match[1])], line)
            hidden.append(whole)
            lines[number] = f"{{jinja:{len(hidden) - 1}}}"
    return "\n".join(lines), tuple(hidden)
