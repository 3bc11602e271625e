"""What is sent for a wording: the wording itself, or a team's template around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_promptse.models.base import Prompt
from pytest_promptse.tasks.template import render
from pytest_promptse.variants.templated import distance_of_all
from pytest_promptse.variants.variant import text_hash

if TYPE_CHECKING:
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.tasks.template import Template
    from pytest_promptse.variants.templated import View
    from pytest_promptse.variants.variant import Variant


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A variant with the prompt that it is asked by.

    ``spoken`` is the task as it is worded in the prompt. The variant's text is what was reworded:
    the task, or all of the prompt where that is the template's wording too.
    """

    variant: Variant
    prompt: Prompt
    spoken: str


def ask(task: Task, variant: Variant, template: Template | None) -> Asked:
    """Ask a wording of the task, in its template if there is one.

    Raises
    ------
    TaskError
        With file and line, if the template cannot be rendered.
    """
    if template is None:
        prompt = Prompt(user=variant.text)
    else:
        system, user = render(template, task, variant.text)
        prompt = Prompt(user=user, system=system)
    return Asked(variant=variant, prompt=prompt, spoken=variant.text)


def ask_reworded(task: Task, spoken: Variant, view: View, wording: Variant | None) -> Asked:
    """Ask a wording of the task in a reworded template.

    Parameters
    ----------
    spoken
        How the task is worded in it.
    view
        The template.
    wording
        That of the view, None for the template as it stands.

    Raises
    ------
    TaskError
        With file and line, if the template cannot be rendered.
    """
    whole = _whole(ask(task, replace(spoken, text=task.prompt), view.template))
    template = view.template if wording is None else view.reworded(wording.text)
    asked = ask(task, spoken, template)
    if wording is None:
        variant = spoken
    else:
        texts = [(view.text, wording.text), (task.prompt, spoken.text)]
        moved = wording.measured_distance
        if spoken.text != task.prompt:
            moved = round(distance_of_all(task, texts), 6)
        variant = replace(wording, task_id=task.id, measured_distance=moved)
    variant = replace(variant, text=_whole(asked), original=text_hash(whole))
    return replace(asked, variant=variant)


def _whole(asked: Asked) -> str:
    system, user = asked.prompt.system, asked.prompt.user
    return user if system is None else f"{system}\n\n{user}"
