"""Prompts with variants in them, which are made when they are first needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from pytest_promptse.errors import TaskError
from pytest_promptse.models._base import Prompt
from pytest_promptse.run._model_variants import PendingText
from pytest_promptse.tasks._template import render, render_first
from pytest_promptse.variants._generate import measured
from pytest_promptse.variants._templated import View, change_of_all
from pytest_promptse.variants._variant import Variant, original, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_promptse.tasks._task import Task
    from pytest_promptse.tasks._template import Template


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantPrompt:
    """A variant with the prompt that is sent for it.

    Attributes
    ----------
    variant
        The variant. Its text is the part that was reworded: the task, or the whole prompt if the
        template is reworded too.
    prompt
        The messages to send for its samples.
    task_text
        The text of the task in the prompt.
    pending
        The answers that the prompt still needs, or None if there are none. Until then, variant and
        prompt have the original's text in their place.
    """

    variant: Variant
    prompt: Prompt
    task_text: str
    pending: PendingAnswers | None = None


Answer: TypeAlias = Variant | str
"""A variant with its text, or the measured model's answer to a prompt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingAnswers:
    """The answers of models that a prompt needs before it can be sent.

    Attributes
    ----------
    needed
        Texts that a model writes or judges, and prompts that the measured model answers first.
    finish
        Returns the prompt, given the answers in the order of `needed`.
    later
        The answers that the finished prompt will need, if its texts are the original's. The
        estimate of the cost counts them.
    """

    needed: tuple[PendingText | Prompt, ...]
    finish: Callable[[Sequence[Answer]], VariantPrompt]
    later: PendingAnswers | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedPrompt:
    """A prompt whose variant is drawn, and whose text is made, when it is first needed.

    Attributes
    ----------
    distance, index
        As in `Variant`.
    draw
        Returns the variant without its text.
    make
        Returns the prompt. Raises VariantError if its variant cannot be made, and TaskError if its
        template cannot be rendered.
    control
        True for the prompt of a length-matched control variant.
    """

    distance: float
    index: int
    draw: Callable[[], Variant]
    make: Callable[[], VariantPrompt]
    control: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class PendingControl:
    """A control variant that is made after the text of its variant is written.

    ``variant`` is the control variant without its text. ``match`` makes it from the written
    variant.
    """

    rewrite: PendingText
    variant: Variant
    match: Callable[[Variant], Variant]


@dataclass(frozen=True, kw_only=True)
class TaskVariants:
    """The variants of a task or a template. They are drawn together, and their texts made together.

    Attributes
    ----------
    places
        The distance and the index of each variant.
    draw
        Returns the variants without their texts, in the order of `places`.
    make
        Returns the variants with their texts, in the same order.
    """

    places: tuple[tuple[float, int], ...]
    draw: Callable[[], Sequence[Variant]]
    make: Callable[[], Sequence[MadeVariant]]

    @cached_property
    def outlines(self) -> Sequence[Variant]:
        """The variants without their texts."""
        return self.draw()

    @cached_property
    def made(self) -> Sequence[MadeVariant]:
        """The variants with their texts.

        Raises
        ------
        VariantError
            If one of them cannot be made.
        """
        return self.make()


MadeVariant: TypeAlias = Variant | PendingText | PendingControl
"""A variant, or a pending variant whose text a model must still write."""


def around_task(
    task: Task, variants: TaskVariants, template: Template | None, *, control: bool = False
) -> Iterator[PlannedPrompt]:
    """Plan the prompts of variants of a task whose template is not reworded.

    `template` is None if the task is sent without a prompt template. `control` is True for
    length-matched control variants.
    """
    for place, (distance, index) in enumerate(variants.places):
        yield PlannedPrompt(
            distance=distance,
            index=index,
            draw=partial(_outline, task, variants, place),
            make=partial(_with_task_variant, task, variants, place, template),
            control=control,
        )


def around_view(
    task: Task,
    of_task: TaskVariants | None,
    view: View,
    reworded: TaskVariants,
    *,
    control: bool = False,
) -> Iterator[PlannedPrompt]:
    """Plan the prompts of variants of a template, with variants of the task in them if given.

    `view` is what a template makes of the task, and `reworded` are its variants. `of_task` is None
    if the task itself is not reworded. `control` is that of `around_task`.
    """
    for place, (distance, index) in enumerate(reworded.places):
        yield PlannedPrompt(
            distance=distance,
            index=index,
            draw=partial(_outline, task, reworded, place),
            make=partial(_with_template_variant, task, of_task, view, reworded, place),
            control=control,
        )


def _outline(task: Task, variants: TaskVariants, place: int) -> Variant:
    """Return one of `variants` without its text, as one of `task`, which may be a template."""
    return structs.replace(variants.outlines[place], task_id=task.id)


def _with_task_variant(
    task: Task, variants: TaskVariants, place: int, template: Template | None
) -> VariantPrompt:
    return with_texts([variants.made[place]], lambda text: prompt_of(task, text, template))


def _with_template_variant(
    task: Task, of_task: TaskVariants | None, view: View, reworded: TaskVariants, place: int
) -> VariantPrompt:
    inner = of_task.made[place] if of_task else original(task.id, task.prompt)
    return with_texts(
        [inner, reworded.made[place]],
        lambda inner, outer: prompt_of_template_variant(task, inner, view, outer),
    )


def with_texts(parts: Sequence[MadeVariant], build: Callable[..., VariantPrompt]) -> VariantPrompt:
    """Return the prompt that `build` makes of `parts`, which are one argument each.

    If a model has yet to write some of them, the prompt is pending.
    """
    texts = tuple(text_of(part) for part in parts if not isinstance(part, Variant))

    def finish(answers: Sequence[Answer]) -> VariantPrompt:
        given = iter(answers)
        return build(*(_finished(part, given) for part in parts))

    if not texts:
        return finish(())
    sketch = build(*map(_sketched, parts))
    pending = PendingAnswers(needed=texts, finish=finish, later=sketch.pending)
    return replace(sketch, pending=pending)


def text_of(pending: PendingText | PendingControl) -> PendingText:
    """Return the pending text of a variant. For a control variant, it is that of its variant."""
    return pending.rewrite if isinstance(pending, PendingControl) else pending


def _finished(part: MadeVariant, answers: Iterator[Answer]) -> Answer:
    """Return a variant with its text, which is the next of `answers` if a model wrote it."""
    if isinstance(part, Variant):
        return part
    written = next(answers)
    if isinstance(part, PendingControl) and isinstance(written, Variant):
        return part.match(written)
    return written


def _sketched(part: MadeVariant) -> Variant:
    """Return a variant that has the original's text as long as a model has yet to write its own."""
    if isinstance(part, Variant):
        return part
    return structs.replace(part.variant, text=text_of(part).task.prompt)


def prompt_of(task: Task, variant: Variant, template: Template | None) -> VariantPrompt:
    """Return the prompt with a variant of the task, which is pending if `template` asks first."""
    text = variant.text
    if template is None:
        return VariantPrompt(variant=variant, prompt=Prompt(user=text), task_text=text)

    def finish(answers: Sequence[Answer]) -> VariantPrompt:
        system, user = render(template, task, text, first=str(answers[0]) if answers else "")
        prompt = Prompt(user=user, system=system)
        return VariantPrompt(variant=variant, prompt=prompt, task_text=text)

    if not template.first:
        return finish(())
    system, user = render_first(template, task, text)
    pending = PendingAnswers(needed=(Prompt(user=user, system=system),), finish=finish)
    # The answer should be a part of the task, so it is assumed to be as long.
    return replace(finish([text]), pending=pending)


def prompt_of_template_variant(
    task: Task, of_task: Variant, view: View, of_template: Variant | None
) -> VariantPrompt:
    """Return the prompt of a reworded template with a variant of the task in it.

    `of_template` is the variant of the view, or None for the template as it is. The returned
    variant has the text of the whole prompt. Its distance is that between the whole original prompt
    and the whole prompt.
    """
    if view.template.first:
        raise TaskError(
            f"{view.template.path}: a template of two requests cannot be reworded; leave out "
            "--promptse-perturb"
        )
    unchanged = _whole_text(
        prompt_of(task, structs.replace(of_task, text=task.prompt), view.template)
    )
    template = view.template if of_template is None else view.reworded(of_template.text)
    made = prompt_of(task, of_task, template)
    if of_template is None:
        variant = of_task
    else:
        texts = [(view.text, of_template.text), (task.prompt, of_task.text)]
        variant = structs.replace(of_template, task_id=task.id)
        if of_task.text != task.prompt:
            variant = structs.replace(variant, **measured(change_of_all(texts)))
    variant = structs.replace(variant, text=_whole_text(made), original=text_hash(unchanged))
    return replace(made, variant=variant)


def _whole_text(made: VariantPrompt) -> str:
    system, user = made.prompt.system, made.prompt.user
    return user if system is None else f"{system}\n\n{user}"
