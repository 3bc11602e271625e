"""Make the variants of a run's tasks, and the prompts that are sent for them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from pytest_promptse import variants as variants_package
from pytest_promptse.config.data_files import templates_dir
from pytest_promptse.errors import VariantError
from pytest_promptse.models.base import Prompt
from pytest_promptse.run.model_variants import Rewrite, rewrites
from pytest_promptse.tasks.template import render
from pytest_promptse.variants.audit import frozen
from pytest_promptse.variants.files import folder_of, load_frozen, write
from pytest_promptse.variants.generate import generate, measured
from pytest_promptse.variants.length_control import length_matched
from pytest_promptse.variants.library import Library
from pytest_promptse.variants.llm import LlmRewriter
from pytest_promptse.variants.registry import REWRITERS
from pytest_promptse.variants.rewriter import label
from pytest_promptse.variants.templated import View, change_of_all
from pytest_promptse.variants.variant import Variant, original, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.tasks.template import Template
    from pytest_promptse.variants.generate import Rewriter
    from pytest_promptse.variants.invariance import Finding

_WITHOUT_VOICE = frozenset(REWRITERS) - {"rules"}
"""The built-in rewriters whose variants have no emotion and no persona."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantPrompt:
    """A variant with the prompt that is sent for it.

    Attributes
    ----------
    variant
        The variant. Its text is what was reworded: the task, or the whole prompt if the template
        is reworded too.
    prompt
        The messages that are sent.
    task_text
        The task as the prompt words it.
    control
        Whether it is a length-matched control variant.
    pending
        The texts that a model has still to write; None if there are none. Until they are written,
        variant and prompt have the original's text.
    """

    variant: Variant
    prompt: Prompt
    task_text: str
    control: bool = False
    pending: PendingTexts | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingTexts:
    """The texts that a prompt waits for.

    Attributes
    ----------
    rewrites
        The texts.
    finish
        Returns the prompt, given the variants with their texts in the order of `rewrites`.
    """

    rewrites: tuple[Rewrite, ...]
    finish: Callable[[Sequence[Variant]], VariantPrompt]


@dataclass(frozen=True, kw_only=True, eq=False)
class _PendingControl:
    """A control variant that is made once the text of the variant beside it is written.

    ``variant`` is the control variant without its text. ``match`` returns it, given the written
    variant.
    """

    rewrite: Rewrite
    variant: Variant
    match: Callable[[Variant], Variant]


class _Drawn(TypedDict):
    """What decides which variants of a task are made."""

    distances: Sequence[float]
    per_distance: int
    emotions: Sequence[str] | None
    personalities: Sequence[str] | None
    seed: int
    library: Library
    within: str
    also: Callable[[str], Iterable[Finding]]


class VariantMaker:
    """Makes variants of tasks as the settings of their suite say.

    Parameters
    ----------
    root
        Folder that relative paths in settings start from.
    settings
        Settings of the run. They name the folder of frozen variants and the user's own library.
    create_rewriter
        Returns the rewriter of a name, given the library.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        create_rewriter: Callable[[str, Library], Rewriter | LlmRewriter],
    ) -> None:
        self._root = root
        self._settings = settings
        self._create_rewriter = create_rewriter
        self._rewriters: dict[str, Rewriter | LlmRewriter] = {}
        self._unkept: dict[Path, tuple[Path, Task, Sequence[Variant]]] = {}

    @cached_property
    def library(self) -> Library:
        """The library of emotions and personalities, with the user's own entries."""
        own = self._settings.library_dir
        return Library.load(self._root / own if own else None)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that write variants, as ``BACKEND:NAME``."""
        written = (each for each in self._rewriters.values() if isinstance(each, LlmRewriter))
        return tuple(each.spec for each in written)

    def variants_of(self, task: Task, settings: Settings) -> Sequence[Variant | Rewrite]:
        """Return the variants of a task, without the original.

        A variant that a model is to write is a `Rewrite`: its text comes while the run samples.

        Parameters
        ----------
        task
            The task to reword.
        settings
            Settings of the task's suite.

        Raises
        ------
        VariantError
            If a variant cannot be made, or a frozen one is missing, out of date or invalid.
        """
        if settings.variants_dir and not settings.aa:
            return self._read_frozen(self._root / settings.variants_dir, task, settings)
        if settings.control != "none" and settings.rewriter in _WITHOUT_VOICE:
            raise VariantError(
                f"control {settings.control}: variants by {settings.rewriter!r} have no emotion or "
                "persona to tell from their length; take rewriter rules or llm:BACKEND:NAME, or "
                "give control none"
            )
        rewriter = self._rewriter("original" if settings.aa else settings.rewriter)
        return self._make_once(rewriter, task, settings)

    def prompts_of(
        self,
        task: Task,
        settings: Settings,
        variants: Sequence[Variant | Rewrite],
        template: Template | None,
    ) -> tuple[VariantPrompt, ...]:
        """Return the prompts of the original and of the variants of a task.

        Parameters
        ----------
        task, settings
            As in `variants_of`.
        variants
            The variants of the task.
        template
            The prompt template around the task, or None. It is reworded if ``perturb`` in
            `settings` says so.

        Raises
        ------
        TaskError
            If the template cannot be rendered; names file and line.
        VariantError
            If the template has to be reworded and cannot be.
        """
        plain = original(task.id, task.prompt)
        view = None
        if template is not None and settings.perturb != "task" and not settings.aa:
            view = View.of(template)
            if view is None and settings.perturb == "template":
                raise VariantError(
                    f"{template.path}: there is no sentence in this template to reword; have the "
                    "task reworded (perturb 'task' or 'both'), or say something around it"
                )
        if view is None:
            controls = self._controls(task, variants, settings)
            return (
                *(_with_task(task, each, template) for each in (plain, *variants)),
                *(_as_control(_with_task(task, each, template)) for each in controls),
            )
        rewriter = self._rewriter(settings.rewriter)
        reworded = self._make_once(rewriter, view.task, settings, view=view, within=task.prompt)
        controls = self._controls(view.task, reworded, settings, view=view)
        plain_tasks: Sequence[Variant | Rewrite | _PendingControl] = [plain] * len(reworded)
        task_variants, task_controls = plain_tasks, plain_tasks[: len(controls)]
        if settings.perturb == "both":
            task_variants, task_controls = variants, self._controls(task, variants, settings)
        return (
            _prompt_of_template_variant(task, plain, view, None),
            *(
                _with_template(task, of_task, view, of_template)
                for of_task, of_template in zip(task_variants, reworded, strict=True)
            ),
            *(
                _as_control(_with_template(task, of_task, view, of_template))
                for of_task, of_template in zip(task_controls, controls, strict=True)
            ),
        )

    def keep(self) -> None:
        """Keep the variants that were made, so that later runs need not make them again.

        Not called while tests are only collected, which leaves nothing behind.
        """
        if not self._unkept:
            return
        with _locked(self._kept):
            for target, (folder, task, made) in self._unkept.items():
                if not target.is_dir():
                    _write_whole(folder, task, made)
        self._unkept.clear()

    def _rewriter(self, name: str) -> Rewriter | LlmRewriter:
        if name not in self._rewriters:
            self._rewriters[name] = self._create_rewriter(name, self.library)
        return self._rewriters[name]

    def _controls(
        self,
        task: Task,
        variants: Sequence[Variant | Rewrite],
        settings: Settings,
        *,
        view: View | None = None,
    ) -> Sequence[Variant | _PendingControl]:
        """Return a control variant for each of `variants` of a task, or of a template's `view`."""
        if settings.control == "none":
            return ()
        match = partial(
            length_matched,
            task,
            library=self.library,
            also=view.findings if view else lambda _: (),
        )
        known = [each for each in variants if not isinstance(each, Rewrite)]
        if len(known) == len(variants):
            identity = [
                settings.control,
                task.prompt,
                [(each.id, each.seed, each.rewriter, text_hash(each.text)) for each in known],
                view.template.digest if view else "",
                self._code_digest,
            ]
            return self._kept_or_made(task, identity, lambda: match(known))
        return [
            _PendingControl(
                rewrite=each,
                variant=replace(
                    each.variant, emotion=None, personality=None, rewriter=settings.control
                ),
                match=lambda written: match([written])[0],
            )
            for each in variants
            if isinstance(each, Rewrite)
        ]

    def _read_frozen(self, folder: Path, task: Task, settings: Settings) -> Sequence[Variant]:
        return frozen(
            folder,
            task,
            self.library,
            distances=settings.distances,
            per_distance=settings.variants,
        )

    def _make(
        self,
        rewriter: Rewriter | LlmRewriter,
        task: Task,
        settings: Settings,
        *,
        view: View | None = None,
        within: str = "",
    ) -> Sequence[Variant | Rewrite]:
        also = view.findings if view else lambda _: ()
        drawn: _Drawn = {
            "distances": settings.distances,
            "per_distance": settings.variants,
            "emotions": settings.emotions,
            "personalities": settings.personalities,
            "seed": settings.seed,
            "library": self.library,
            "within": within,
            "also": also,
        }
        if isinstance(rewriter, LlmRewriter):
            return rewrites(task, rewriter, **drawn)
        return generate(task, rewriter=rewriter, **drawn).variants

    def _make_once(
        self,
        rewriter: Rewriter | LlmRewriter,
        task: Task,
        settings: Settings,
        *,
        view: View | None = None,
        within: str = "",
    ) -> Sequence[Variant | Rewrite]:
        """Make variants, or read them from the store if the package's own rewriters made them.

        They are made again if the code of the package or the library has changed. What a model is
        to write is only planned here.
        """
        make = partial(self._make, rewriter, task, settings, view=view, within=within)
        if isinstance(rewriter, LlmRewriter) or rewriter.name not in REWRITERS:
            # Nothing is known of the code of other packages' rewriters.
            return make()
        identity = [
            label(rewriter),
            settings.distances,
            settings.variants,
            settings.emotions,
            settings.personalities,
            settings.seed,
            within + task.prompt,
            view.template.digest if view else "",
            self._code_digest,
        ]
        return self._kept_or_made(
            task,
            identity,
            lambda: tuple(each for each in make() if not isinstance(each, Rewrite)),
        )

    def _kept_or_made(
        self, task: Task, identity: Sequence[object], make: Callable[[], tuple[Variant, ...]]
    ) -> tuple[Variant, ...]:
        """Return the variants that `identity` decides, from the store or made and to be kept."""
        folder = self._kept / text_hash(json.dumps(identity))[:16]
        target = folder_of(folder, task.id)
        if target.is_dir():
            return load_frozen(folder, task)
        made = make()
        self._unkept[target] = (folder, task, made)
        return made

    @property
    def _kept(self) -> Path:
        return self._root / self._settings.store / "variants"

    @cached_property
    def _code_digest(self) -> str:
        """A hash of all files that the variants of the package's own rewriters depend on."""
        own = self._settings.library_dir
        folders = [Path(variants_package.__file__).parent, templates_dir()]
        folders += [self._root / own] if own else []
        digest = hashlib.sha256()
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".py", ".yaml", ".yml", ".txt", ".json"):
                    digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
        return digest.hexdigest()


def _as_control(made: VariantPrompt) -> VariantPrompt:
    """Return a prompt, and what it becomes once its texts are written, as a control variant."""
    pending = made.pending
    if pending is not None:
        written = pending.finish
        pending = replace(pending, finish=lambda texts: replace(written(texts), control=True))
    return replace(made, control=True, pending=pending)


def _rewrite_of(pending: Rewrite | _PendingControl) -> Rewrite:
    """Return the text that a variant waits for; a control variant waits for that beside it."""
    return pending.rewrite if isinstance(pending, _PendingControl) else pending


def _written(pending: Rewrite | _PendingControl, text: Variant) -> Variant:
    return pending.match(text) if isinstance(pending, _PendingControl) else text


def _with_task(
    task: Task, variant: Variant | Rewrite | _PendingControl, template: Template | None
) -> VariantPrompt:
    """Return the prompt of a variant of the task in `template`."""
    if isinstance(variant, Variant):
        return _prompt(task, variant, template)

    def finish(texts: Sequence[Variant]) -> VariantPrompt:
        return _prompt(task, _written(variant, texts[0]), template)

    sketch = _prompt(task, replace(variant.variant, text=task.prompt), template)
    pending = PendingTexts(rewrites=(_rewrite_of(variant),), finish=finish)
    return replace(sketch, pending=pending)


def _with_template(
    task: Task,
    of_task: Variant | Rewrite | _PendingControl,
    view: View,
    of_template: Variant | Rewrite | _PendingControl,
) -> VariantPrompt:
    """Return the prompt of a variant of the template around a variant of the task."""

    def with_texts(inner: Variant, outer: Variant) -> VariantPrompt:
        return _prompt_of_template_variant(task, inner, view, outer)

    def finish(written: Sequence[Variant]) -> VariantPrompt:
        texts = iter(written)
        return with_texts(
            of_task if isinstance(of_task, Variant) else _written(of_task, next(texts)),
            of_template if isinstance(of_template, Variant) else _written(of_template, next(texts)),
        )

    def unwritten(each: Variant | Rewrite | _PendingControl) -> Variant:
        if isinstance(each, Variant):
            return each
        return replace(each.variant, text=_rewrite_of(each).request.task.prompt)

    pending = tuple(
        _rewrite_of(each) for each in (of_task, of_template) if not isinstance(each, Variant)
    )
    if not pending:
        return finish([])
    sketch = with_texts(unwritten(of_task), unwritten(of_template))
    return replace(sketch, pending=PendingTexts(rewrites=pending, finish=finish))


def _prompt(task: Task, variant: Variant, template: Template | None) -> VariantPrompt:
    if template is None:
        prompt = Prompt(user=variant.text)
    else:
        system, user = render(template, task, variant.text)
        prompt = Prompt(user=user, system=system)
    return VariantPrompt(variant=variant, prompt=prompt, task_text=variant.text)


def _prompt_of_template_variant(
    task: Task, of_task: Variant, view: View, of_template: Variant | None
) -> VariantPrompt:
    """Return the prompt of a reworded template around a variant of the task.

    `of_template` is the variant of the view, None for the template as it is. The variant in the
    result has the text of the whole prompt, and the distance between both whole prompts.
    """
    unchanged = _whole_text(_prompt(task, replace(of_task, text=task.prompt), view.template))
    template = view.template if of_template is None else view.reworded(of_template.text)
    made = _prompt(task, of_task, template)
    if of_template is None:
        variant = of_task
    else:
        texts = [(view.text, of_template.text), (task.prompt, of_task.text)]
        variant = replace(of_template, task_id=task.id)
        if of_task.text != task.prompt:
            variant = replace(variant, **measured(change_of_all(texts)))
    variant = replace(variant, text=_whole_text(made), original=text_hash(unchanged))
    return replace(made, variant=variant)


def _whole_text(made: VariantPrompt) -> str:
    system, user = made.prompt.system, made.prompt.user
    return user if system is None else f"{system}\n\n{user}"


def _write_whole(folder: Path, task: Task, made: Sequence[Variant]) -> None:
    """Write the variants of a task so that a run that is killed leaves none or all of them."""
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    write(unfinished, task, made)
    target = folder_of(folder, task.id)
    target.parent.mkdir(parents=True, exist_ok=True)
    folder_of(unfinished, task.id).rename(target)
    shutil.rmtree(unfinished)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from making the same variants at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
