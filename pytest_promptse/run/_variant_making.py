"""Make the variants of a run's tasks and the prompts that contain them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import structs

from pytest_promptse import variants as variants_package
from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import PromptseError, TaskError, VariantError
from pytest_promptse.models._base import Prompt
from pytest_promptse.run._model_variants import DoubtedText, PendingText, rewrites
from pytest_promptse.tasks._template import render, render_first
from pytest_promptse.variants._entailment import EntailmentJudge
from pytest_promptse.variants._files import folder_of, template_folder
from pytest_promptse.variants._generate import Selection, generate, measured, outlines
from pytest_promptse.variants._length_control import length_matched
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._registry import REWRITERS
from pytest_promptse.variants._templated import View, change_of_all
from pytest_promptse.variants._variant import Variant, original, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend
    from pytest_promptse.store._store import Store
    from pytest_promptse.tasks._task import Task
    from pytest_promptse.tasks._template import Template
    from pytest_promptse.variants._generate import Rewriter
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants.invariance._finding import Finding


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
class _PendingControl:
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
    make: Callable[[], Sequence[_MadeVariant]]

    @cached_property
    def outlines(self) -> Sequence[Variant]:
        """The variants without their texts."""
        return self.draw()

    @cached_property
    def made(self) -> Sequence[_MadeVariant]:
        """The variants with their texts.

        Raises
        ------
        VariantError
            If one of them cannot be made.
        """
        return self.make()


_MadeVariant: TypeAlias = Variant | PendingText | _PendingControl
"""A variant, or a pending variant whose text a model must still write."""


class VariantMaker:
    """Make variants of tasks according to the settings of their suite.

    Parameters
    ----------
    root
        Folder that relative paths in settings start from.
    settings
        Settings of the run. They name the folder of frozen variants and the user's own library.
    create_rewriter
        Returns the rewriter of a name, given the library.
    create_backend
        Returns the backend of a ``BACKEND:NAME``.
    store
        Returns the store, which keeps the variants of the package's own rewriters.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        *,
        create_rewriter: Callable[[str, Library], Rewriter],
        create_backend: Callable[[str], Backend],
        store: Callable[[], Store],
    ) -> None:
        self._root = root
        self._settings = settings
        self._create_rewriter = create_rewriter
        self._create_backend = create_backend
        self._store = store
        self._rewriters: dict[str, Rewriter] = {}

    @cached_property
    def library(self) -> Library:
        """The library of emotions and personalities, with the user's own entries."""
        folder = self._settings.library_dir
        return load_library(self._root / folder if folder else None)

    @cached_property
    def entailment(self) -> EntailmentJudge | None:
        """The model that judges doubtful texts, or None if the settings name none."""
        spec = self._settings.variant_judge
        if spec is None:
            return None
        return EntailmentJudge(self._create_backend(spec), library=self.library)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that write or judge variants, as ``BACKEND:NAME``."""
        written = (rewriter.model for rewriter in self._rewriters.values())
        judges = [self._settings.variant_judge] if self._settings.variant_judge else []
        return (*(model.spec for model in written if model is not None), *judges)

    def check(self, settings: Settings) -> None:
        """Raise VariantError if no task can have the variants that `settings` ask for."""
        if not settings.variants_dir or settings.aa:
            self._selection(settings).check()

    def variants_of(self, task: Task, settings: Settings) -> TaskVariants:
        """Plan the variants of a task, without the original.

        A variant that a model writes or judges is a `PendingText`, since its text is known only
        during sampling.

        Parameters
        ----------
        task
            The task to reword.
        settings
            Settings of the task's suite.

        Raises
        ------
        VariantError
            If a setting cannot be used, or a frozen variant is missing or out of date.
        """
        if settings.variants_dir and not settings.aa:
            return self._read_frozen(self._root / settings.variants_dir, task, settings)
        rewriter = self._rewriter("original" if settings.aa else settings.rewriter)
        if settings.control != "none" and not (settings.aa or rewriter.has_persona):
            raise VariantError(
                f"control {settings.control}: variants by {settings.rewriter!r} have no emotion or "
                "persona whose effect a control could separate from that of length; take rewriter "
                "rules or llm:BACKEND:NAME, or give control none"
            )
        return self._plan(rewriter, task, settings)

    def prompts_of(
        self,
        task: Task,
        settings: Settings,
        variants: TaskVariants,
        template: Template | None,
    ) -> tuple[PlannedPrompt, ...]:
        """Plan the prompts of the original and of the variants of a task.

        Parameters
        ----------
        task, settings
            As in `variants_of`.
        variants
            The variants of the task.
        template
            The prompt template around the task, or None. Variants of the template are made if
            `settings.perturb` is ``template`` or ``both``.

        Raises
        ------
        VariantError
            If variants of the template are required and it has no sentence to reword.
        """
        plain = original(task.id, task.prompt)
        view = None
        if template is not None and settings.perturb != "task" and not settings.aa:
            view = View.of(template)
            if view is None and settings.perturb == "template":
                raise VariantError(
                    f"{template.path}: there is no sentence in this template to reword; reword the "
                    "task (perturb 'task' or 'both'), or add a sentence to the template"
                )
        if view is None:
            controls = self._controls(task, variants, settings)
            return (
                _original_prompt(plain, make=partial(_prompt, task, plain, template)),
                *_around_task(task, variants, template),
                *map(_as_control, _around_task(task, controls, template)),
            )
        if settings.variants_dir:
            folder = template_folder(self._root / settings.variants_dir, task.id)
            reworded = self._read_frozen(folder, view.task, settings, view=view)
        else:
            rewriter = self._rewriter(settings.rewriter)
            reworded = self._plan(rewriter, view.task, settings, view=view, within=task.prompt)
        controls = self._controls(view.task, reworded, settings, view=view)
        of_task, control_of_task = None, None
        if settings.perturb == "both":
            of_task, control_of_task = variants, self._controls(task, variants, settings)
        return (
            _original_prompt(
                plain, make=partial(_prompt_of_template_variant, task, plain, view, None)
            ),
            *_around_view(task, of_task, view, reworded),
            *map(_as_control, _around_view(task, control_of_task, view, controls)),
        )

    def _rewriter(self, name: str) -> Rewriter:
        if name not in self._rewriters:
            self._rewriters[name] = self._create_rewriter(name, self.library)
        return self._rewriters[name]

    def _controls(
        self, task: Task, variants: TaskVariants, settings: Settings, *, view: View | None = None
    ) -> TaskVariants:
        """Plan a control variant for each of `variants` of a task, or of a template's `view`.

        No variant is planned if the setting ``control`` is ``none``.
        """
        if settings.control == "none":
            return TaskVariants(places=(), draw=tuple, make=tuple)
        return TaskVariants(
            places=variants.places,
            draw=lambda: [_control_outline(outline, settings) for outline in variants.outlines],
            make=partial(self._make_controls, task, variants, settings, view),
        )

    def _make_controls(
        self, task: Task, variants: TaskVariants, settings: Settings, view: View | None
    ) -> Sequence[_MadeVariant]:
        """Make the control variants, or read them from the store.

        `view` is that of the template if the variants are of a template, else None. The control of
        a text that a model has yet to write is made when that text exists.
        """
        match = partial(
            length_matched,
            task,
            library=self.library,
            also=view.findings if view else _no_findings,
        )
        finished = [variant for variant in variants.made if isinstance(variant, Variant)]
        if len(finished) < len(variants.made):
            matched = iter(match(finished))
            return [
                _PendingControl(
                    rewrite=made,
                    variant=_control_outline(made.variant, settings),
                    match=lambda written: match([written])[0],
                )
                if isinstance(made, PendingText)
                else next(matched)
                for made in variants.made
            ]
        identity = [
            settings.control,
            task.id,
            task.entry_point,
            task.prompt,
            [(v.id, v.seed, v.rewriter, text_hash(v.text)) for v in finished],
            view.template.digest if view else "",
            self._code_digest,
        ]
        return self._kept_or_made(identity, lambda: match(finished))

    def _read_frozen(
        self, folder: Path, task: Task, settings: Settings, *, view: View | None = None
    ) -> TaskVariants:
        from pytest_promptse.variants._audit import check_frozen, frozen  # noqa: PLC0415 - the judge

        stored = frozen(folder, task, distances=settings.distances, per_distance=settings.variants)

        def checked() -> Sequence[Variant | PendingText]:
            for variant in stored:
                for finding in view.findings(variant.text) if view else ():
                    raise VariantError(
                        f"{folder_of(folder, task.id)}: {variant.id} changes the code of the "
                        f"template: {finding}"
                    )
            judge = self.entailment
            may_ask = judge is not None
            doubts = check_frozen(folder, task, stored, self.library, may_ask=may_ask)
            return tuple(
                DoubtedText(
                    task=task,
                    variant=variant,
                    entailment=judge,
                    findings=doubts[variant.id],
                    place=str(folder_of(folder, task.id)),
                )
                if variant.id in doubts
                else variant
                for variant in stored
            )

        places = tuple((variant.distance, variant.index) for variant in stored)
        return TaskVariants(places=places, draw=lambda: stored, make=checked)

    def _plan(
        self,
        rewriter: Rewriter,
        task: Task,
        settings: Settings,
        *,
        view: View | None = None,
        within: str = "",
    ) -> TaskVariants:
        """Plan variants. They are drawn and their texts are made when one of them is needed.

        `view` is that of the template if `task` stands for a template, else None. `within`
        distinguishes the draws for a task inside a template.
        """
        selection = self._selection(settings, within=within)
        return TaskVariants(
            places=selection.places,
            draw=partial(outlines, task, selection, rewriter=rewriter),
            make=partial(self._make, rewriter, task, selection, view),
        )

    def _selection(self, settings: Settings, *, within: str = "") -> Selection:
        return Selection(
            distances=settings.distances,
            per_distance=settings.variants,
            emotions=settings.emotions,
            exclude_emotions=settings.exclude_emotions,
            personalities=settings.personalities,
            seed=settings.seed,
            library=self.library,
            within=within,
        )

    def _make(
        self,
        rewriter: Rewriter,
        task: Task,
        selection: Selection,
        view: View | None,
    ) -> Sequence[Variant | PendingText]:
        """Make variants, or read them from the store if the package's own rewriters made them.

        The variants are made again if the code of the package or the library has changed.
        """
        also = view.findings if view else _no_findings
        if rewriter.model is not None:
            return rewrites(
                task,
                selection,
                rewriter=rewriter,
                backend=self._create_backend,
                also=also,
                entailment=self.entailment,
            )
        if rewriter.name not in REWRITERS:
            # The code of other packages' rewriters may change unnoticed, so their variants are not
            # stored.
            try:
                return generate(task, selection, rewriter=rewriter, also=also).variants
            except PromptseError:
                raise
            except Exception as error:
                raise VariantError(
                    f"task {task.id!r}: the rewriter {rewriter.label} raised {error!r}; "
                    "--full-trace shows where"
                ) from error
        identity = [
            task.id,
            task.entry_point,
            rewriter.label,
            selection.distances,
            selection.per_distance,
            selection.emotions,
            selection.exclude_emotions,
            selection.personalities,
            selection.seed,
            selection.within,
            task.prompt,
            view.template.digest if view else "",
            self._code_digest,
        ]
        return self._kept_or_made(
            identity, lambda: generate(task, selection, rewriter=rewriter, also=also).variants
        )

    def _kept_or_made(
        self, identity: Sequence[object], make: Callable[[], tuple[Variant, ...]]
    ) -> tuple[Variant, ...]:
        """Return the variants with this `identity` from the store, or make and store them.

        `identity` is everything that the texts depend on, as values for JSON. `make` is called only
        if the store lacks the variants.
        """
        key = text_hash(json.dumps(identity))
        kept = self._store().made_variants(key)
        if kept is not None:
            return msgspec.json.decode(kept, type=tuple[Variant, ...])
        made = make()
        self._store().keep_variants(key, msgspec.json.encode(made))
        return made

    @cached_property
    def _code_digest(self) -> str:
        """A hash of all files that the variants of the package's own rewriters depend on."""
        library_dir = self._settings.library_dir
        folders = [Path(variants_package.__file__).parent, templates_dir()]
        folders += [self._root / library_dir] if library_dir else []
        digest = hashlib.sha256()
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".py", ".yaml", ".yml", ".txt", ".json"):
                    text = path.read_bytes().replace(b"\r\n", b"\n")
                    digest.update(f"{path.relative_to(folder)}\0".encode() + text)
        return digest.hexdigest()


def _no_findings(_text: str) -> Iterable[Finding]:
    return ()


def _control_outline(variant: Variant, settings: Settings) -> Variant:
    """Return the control variant of `variant`, without its text.

    It has the distance and number of `variant`, no emotion and no persona, and the rewriter of the
    setting ``control``.
    """
    return structs.replace(
        variant, emotion=None, personality=None, cues={}, text="", rewriter=settings.control
    )


def _original_prompt(plain: Variant, make: Callable[[], VariantPrompt]) -> PlannedPrompt:
    return PlannedPrompt(distance=0.0, index=0, draw=lambda: plain, make=make)


def _as_control(planned: PlannedPrompt) -> PlannedPrompt:
    return replace(planned, control=True)


def _around_task(
    task: Task, variants: TaskVariants, template: Template | None
) -> Iterator[PlannedPrompt]:
    """Plan the prompts of variants of a task whose template is not reworded.

    `template` is None if the task is sent without a prompt template.
    """
    for place, (distance, index) in enumerate(variants.places):
        yield PlannedPrompt(
            distance=distance,
            index=index,
            draw=partial(_outline, task, variants, place),
            make=partial(_with_task_variant, task, variants, place, template),
        )


def _around_view(
    task: Task, of_task: TaskVariants | None, view: View, reworded: TaskVariants
) -> Iterator[PlannedPrompt]:
    """Plan the prompts of variants of a template, with variants of the task in them if given.

    `view` is what a template makes of the task, and `reworded` are its variants. `of_task` is None
    if the task itself is not reworded.
    """
    for place, (distance, index) in enumerate(reworded.places):
        yield PlannedPrompt(
            distance=distance,
            index=index,
            draw=partial(_outline, task, reworded, place),
            make=partial(_with_template_variant, task, of_task, view, reworded, place),
        )


def _outline(task: Task, variants: TaskVariants, place: int) -> Variant:
    """Return one of `variants` without its text, for `task` also if it is one of a template."""
    return structs.replace(variants.outlines[place], task_id=task.id)


def _with_task_variant(
    task: Task, variants: TaskVariants, place: int, template: Template | None
) -> VariantPrompt:
    return _with_texts([variants.made[place]], lambda text: _prompt(task, text, template))


def _with_template_variant(
    task: Task, of_task: TaskVariants | None, view: View, reworded: TaskVariants, place: int
) -> VariantPrompt:
    inner = of_task.made[place] if of_task else original(task.id, task.prompt)
    return _with_texts(
        [inner, reworded.made[place]],
        lambda inner, outer: _prompt_of_template_variant(task, inner, view, outer),
    )


def _with_texts(
    parts: Sequence[_MadeVariant], build: Callable[..., VariantPrompt]
) -> VariantPrompt:
    """Return the prompt that `build` makes of `parts`, which are one argument each.

    If a model has yet to write some of them, the prompt is pending.
    """
    texts = tuple(_text_of(part) for part in parts if not isinstance(part, Variant))

    def finish(answers: Sequence[Answer]) -> VariantPrompt:
        given = iter(answers)
        return build(*(_finished(part, given) for part in parts))

    if not texts:
        return finish(())
    sketch = build(*map(_sketched, parts))
    pending = PendingAnswers(needed=texts, finish=finish, later=sketch.pending)
    return replace(sketch, pending=pending)


def _text_of(pending: PendingText | _PendingControl) -> PendingText:
    """Return the pending text of a variant. For a control variant, it is that of its variant."""
    return pending.rewrite if isinstance(pending, _PendingControl) else pending


def _finished(part: _MadeVariant, answers: Iterator[Answer]) -> Answer:
    """Return a variant with its text, which is the next of `answers` if a model wrote it."""
    if isinstance(part, Variant):
        return part
    written = next(answers)
    if isinstance(part, _PendingControl) and isinstance(written, Variant):
        return part.match(written)
    return written


def _sketched(part: _MadeVariant) -> Variant:
    """Return a variant that has the original's text as long as a model has yet to write its own."""
    if isinstance(part, Variant):
        return part
    return structs.replace(part.variant, text=_text_of(part).task.prompt)


def _prompt(task: Task, variant: Variant, template: Template | None) -> VariantPrompt:
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


def _prompt_of_template_variant(
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
        _prompt(task, structs.replace(of_task, text=task.prompt), view.template)
    )
    template = view.template if of_template is None else view.reworded(of_template.text)
    made = _prompt(task, of_task, template)
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
