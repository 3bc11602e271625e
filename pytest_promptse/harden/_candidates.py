"""The candidates: prompt templates that may keep a model stable, each with its idea."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import TaskError
from pytest_promptse.harden._search import UNTOUCHED
from pytest_promptse.tasks._prompt_examples import prompt_examples
from pytest_promptse.tasks._task import find_entry_point
from pytest_promptse.tasks._template import load_templates

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_promptse.record._schema import Record, TaskRecord
    from pytest_promptse.tasks._template import Template

# A template says what it is for in a Jinja2 comment, which no model sees.
_IDEA = re.compile(r"\{#\s*(.*?)\s*#\}", re.DOTALL)


class TemplateCandidate(NamedTuple):
    """A template with its idea, the first comment of its file."""

    template: Template
    idea: str

    @property
    def name(self) -> str:
        """The name of the template."""
        return self.template.name


def load_candidates(patterns: Sequence[str], root: Path) -> dict[str, TemplateCandidate]:
    """Return the candidates by name: those of this package, then those of `patterns`.

    Candidates of one request come before those of several, since the first of equally good ones is
    taken.

    Parameters
    ----------
    patterns
        Paths or globs of further templates, relative to `root`.
    root
        The folder of the project.

    Raises
    ------
    TaskError
        If a template cannot be used, or two have one name.
    """
    shipped = str(templates_dir() / "harden" / "*.j2")
    templates = sorted(load_templates([shipped, *patterns], root), key=_requests)
    candidates = {
        template.name: TemplateCandidate(template, _idea(template)) for template in templates
    }
    if UNTOUCHED not in candidates:
        raise TaskError(f"harden: {shipped} has no template {UNTOUCHED!r}; install again")
    return candidates


def _requests(template: Template) -> int:
    """Return the number of requests for one answer."""
    return template.programs + bool(template.first)


def is_for(candidate: TemplateCandidate, record: Record) -> bool:
    """Return whether a candidate may mend what the untouched prompts of `record` lose.

    A template that names the causes it helps against takes part if a variant failed for one of
    them. One that draws several programs needs a prompt with examples to choose by.
    """
    template = candidate.template
    causes = {
        cause for task in record.tasks for variant in task.variants for cause in variant.causes
    }
    if template.helps and causes.isdisjoint(template.helps):
        return False
    return template.programs == 1 or any(_has_examples(task) for task in record.tasks)


def _has_examples(task: TaskRecord) -> bool:
    prompt = task.original.text if task.original else ""
    return bool(prompt_examples(prompt, find_entry_point(prompt) or ""))


def _idea(template: Template) -> str:
    comment = _IDEA.search(template.body)
    return " ".join(comment[1].split()) if comment else "No comment in the file says what it does."
