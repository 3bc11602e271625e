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
from pytest_promptse.variants.library import Library
from pytest_promptse.variants.llm import LlmRewriter
from pytest_promptse.variants.registry import REWRITERS
from pytest_promptse.variants.rewriter import label
from pytest_promptse.variants.templated import View, change_of_all
from pytest_promptse.variants.variant import original, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.tasks.template import Template
    from pytest_promptse.variants.generate import Rewriter
    from pytest_promptse.variants.invariance import Finding
    from pytest_promptse.variants.variant import Variant


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
    pending
        The texts that a model has still to write; None if there are none. Until they are written,
        variant and prompt have the original's text.
    """

    variant: Variant
    prompt: Prompt
    task_text: str
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
        if template is None or settings.perturb == "task" or settings.aa:
            return tuple(_with_task(task, each, template) for each in (plain, *variants))
        view = View.of(template)
        if view is None and settings.perturb == "both":
            return tuple(_with_task(task, each, template) for each in (plain, *variants))
        if view is None:
            raise VariantError(
                f"{template.path}: there is no sentence in this template to reword; have the task "
                "reworded (perturb 'task' or 'both'), or say something around it"
            )
        rewriter = self._rewriter(settings.rewriter)
        reworded = self._make_once(rewriter, view.task, settings, view=view, within=task.prompt)
        task_variants = variants if settings.perturb == "both" else [plain] * len(reworded)
        return (
            _prompt_of_template_variant(task, plain, view, None),
            *(
                _with_template(task, of_task, view, of_template)
                for of_task, of_template in zip(task_variants, reworded, strict=True)
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
        folder = self._kept / text_hash(json.dumps(identity))[:16]
        target = folder_of(folder, task.id)
        if target.is_dir():
            return load_frozen(folder, task)
        made = tuple(each for each in make() if not isinstance(each, Rewrite))
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


def _with_task(task: Task, variant: Variant | Rewrite, template: Template | None) -> VariantPrompt:
    """Return the prompt of a variant of the task in `template`."""
    if not isinstance(variant, Rewrite):
        return _prompt(task, variant, template)

    def finish(written: Sequence[Variant]) -> VariantPrompt:
        return _prompt(task, written[0], template)

    sketch = finish([replace(variant.variant, text=task.prompt)])
    return replace(sketch, pending=PendingTexts(rewrites=(variant,), finish=finish))


def _with_template(
    task: Task, of_task: Variant | Rewrite, view: View, of_template: Variant | Rewrite
) -> VariantPrompt:
    """Return the prompt of a variant of the template around a variant of the task."""

    def finish(written: Sequence[Variant]) -> VariantPrompt:
        texts = iter(written)
        inner = next(texts) if isinstance(of_task, Rewrite) else of_task
        outer = next(texts) if isinstance(of_template, Rewrite) else of_template
        return _prompt_of_template_variant(task, inner, view, outer)

    pending = tuple(each for each in (of_task, of_template) if isinstance(each, Rewrite))
    if not pending:
        return finish([])
    sketch = finish([replace(each.variant, text=each.request.task.prompt) for each in pending])
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
