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
from typing import TYPE_CHECKING

from pytest_promptse import variants as variants_package
from pytest_promptse.config.data_files import templates_dir
from pytest_promptse.errors import VariantError
from pytest_promptse.models.base import Prompt, Usage
from pytest_promptse.tasks.template import render
from pytest_promptse.variants.audit import frozen
from pytest_promptse.variants.files import folder_of, load_frozen, write
from pytest_promptse.variants.generate import generate
from pytest_promptse.variants.library import Library
from pytest_promptse.variants.llm import LlmRewriter
from pytest_promptse.variants.registry import REWRITERS
from pytest_promptse.variants.rewriter import label
from pytest_promptse.variants.templated import View, distance_of_all
from pytest_promptse.variants.variant import original, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.tasks.template import Template
    from pytest_promptse.variants.generate import Rewriter
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
    """

    variant: Variant
    prompt: Prompt
    task_text: str


class VariantMaker:
    """Makes variants of tasks as the settings of their suite say.

    Parameters
    ----------
    root
        Folder that relative paths in settings start from.
    settings
        Settings of the run. They name the folder of frozen variants, the user's own library and
        the store, which keeps the variants that a model wrote.
    create_rewriter
        Returns the rewriter of a name, given the library.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        create_rewriter: Callable[[str, Library], Rewriter],
    ) -> None:
        self._root = root
        self._settings = settings
        self._create_rewriter = create_rewriter
        self._rewriters: dict[str, Rewriter] = {}
        self._unkept: dict[Path, tuple[Path, Task, Sequence[Variant]]] = {}

    @cached_property
    def library(self) -> Library:
        """The library of emotions and personalities, with the user's own entries."""
        own = self._settings.library_dir
        return Library.load(self._root / own if own else None)

    def variants_of(self, task: Task, settings: Settings) -> Sequence[Variant]:
        """Return the variants of a task, without the original.

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
        make = partial(self._make, rewriter, task, settings)
        return self._make_once(rewriter, task, settings, make)

    def prompts_of(
        self,
        task: Task,
        settings: Settings,
        variants: Sequence[Variant],
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
            return tuple(_prompt(task, variant, template) for variant in (plain, *variants))
        view = View.of(template)
        if view is None and settings.perturb == "both":
            return tuple(_prompt(task, variant, template) for variant in (plain, *variants))
        if view is None:
            raise VariantError(
                f"{template.path}: there is no sentence in this template to reword; have the task "
                "reworded (perturb 'task' or 'both'), or say something around it"
            )
        reworded = self._template_variants(view, task, settings)
        task_variants = variants if settings.perturb == "both" else [plain] * len(reworded)
        return (
            _prompt_of_template_variant(task, plain, view, None),
            *(
                _prompt_of_template_variant(task, of_task, view, of_template)
                for of_task, of_template in zip(task_variants, reworded, strict=True)
            ),
        )

    @property
    def usage(self) -> Usage:
        """Requests and tokens that this process spent on rewording, apart from sampling."""
        paid = (each.usage for each in self._rewriters.values() if isinstance(each, LlmRewriter))
        return sum(paid, start=Usage())

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

    def close(self) -> None:
        """Close the models that reword."""
        for rewriter in self._rewriters.values():
            if isinstance(rewriter, LlmRewriter):
                rewriter.close()

    def _template_variants(self, view: View, task: Task, settings: Settings) -> Sequence[Variant]:
        rewriter = self._rewriter(settings.rewriter)
        make = partial(self._make, rewriter, view.task, settings, view=view, within=task.prompt)
        return self._make_once(
            rewriter, view.task, settings, make, within=task.prompt, template=view.template.digest
        )

    def _rewriter(self, name: str) -> Rewriter:
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
        rewriter: Rewriter,
        task: Task,
        settings: Settings,
        *,
        view: View | None = None,
        within: str = "",
    ) -> Sequence[Variant]:
        made = generate(
            task,
            distances=settings.distances,
            per_distance=settings.variants,
            emotions=settings.emotions,
            personalities=settings.personalities,
            seed=settings.seed,
            rewriter=rewriter,
            library=self.library,
            within=within,
            also=view.findings if view else lambda _: (),
        )
        return made.variants

    def _make_once(
        self,
        rewriter: Rewriter,
        task: Task,
        settings: Settings,
        make: Callable[[], Sequence[Variant]],
        *,
        within: str = "",
        template: str = "",
    ) -> Sequence[Variant]:
        """Make variants that cost requests or time, or read them if the store has them.

        What a model wrote is checked again whenever it is read, as the rules may have changed.
        Variants of the package's own rewriters are made again if its code has changed.
        """
        paid = isinstance(rewriter, LlmRewriter)
        if not paid and rewriter.name not in REWRITERS:
            # Nothing is known of the code of other packages' rewriters.
            return make()
        identity: list[object] = [
            label(rewriter),
            settings.distances,
            settings.variants,
            settings.emotions,
            settings.personalities,
            settings.seed,
            within + task.prompt,
        ]
        if not paid:
            identity += [template, self._code_digest]
        folder = self._kept / text_hash(json.dumps(identity))[:16]
        if paid:
            with _locked(self._kept):
                if not folder_of(folder, task.id).is_dir():
                    _write_whole(folder, task, make())
            return self._read_frozen(folder, task, settings)
        if folder_of(folder, task.id).is_dir():
            return load_frozen(folder, task)
        made = make()
        self._unkept[folder_of(folder, task.id)] = (folder, task, made)
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
        measured = of_template.measured_distance
        if of_task.text != task.prompt:
            measured = round(distance_of_all(texts), 6)
        variant = replace(of_template, task_id=task.id, measured_distance=measured)
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
