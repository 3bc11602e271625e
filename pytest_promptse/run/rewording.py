"""Where a run's wordings come from: made by rules, frozen by the team, or bought from a model."""

from __future__ import annotations

import fcntl
import json
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.models.base import Usage
from pytest_promptse.run.asking import ask, ask_reworded
from pytest_promptse.variants.audit import frozen
from pytest_promptse.variants.files import folder_of, write
from pytest_promptse.variants.generate import generate
from pytest_promptse.variants.library import Library
from pytest_promptse.variants.llm import LlmRewriter
from pytest_promptse.variants.rewriter import label
from pytest_promptse.variants.templated import View
from pytest_promptse.variants.variant import original, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.run.asking import Asked
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.tasks.template import Template
    from pytest_promptse.variants.generate import Rewriter
    from pytest_promptse.variants.variant import Variant


class Rewording:
    """Words tasks as a suite's settings say.

    Parameters
    ----------
    root
        Folder that relative paths in settings start from.
    settings
        Of the run: where frozen wordings and own templates lie, and the store, in which what a
        model worded is kept, since it was paid for.
    rewriter
        What turns a rewriter's name into a rewriter, given the templates.
    """

    def __init__(
        self, root: Path, settings: Settings, rewriter: Callable[[str, Library], Rewriter]
    ) -> None:
        self._root = root
        self._settings = settings
        self._make = rewriter
        self._rewriters: dict[str, Rewriter] = {}

    @cached_property
    def library(self) -> Library:
        """The templates, the user's own among them."""
        extra = self._settings.templates_dir
        return Library.load(self._root / extra if extra else None)

    def __call__(self, task: Task, settings: Settings) -> Sequence[Variant]:
        """Return the variants of `task` that `settings` ask for.

        Raises
        ------
        VariantError
            If they cannot be made, or frozen ones are missing, stale or no longer valid.
        """
        name = "original" if settings.aa else settings.rewriter
        if settings.variants_dir and not settings.aa:
            return self._frozen(self._root / settings.variants_dir, task, settings)
        rewriter = self._rewriter(name)
        if isinstance(rewriter, LlmRewriter):
            make = partial(self._made, rewriter, task, settings)
            return self._bought(rewriter, task, settings, make)
        return self._made(rewriter, task, settings)

    def asked(
        self,
        task: Task,
        settings: Settings,
        variants: Sequence[Variant],
        template: Template | None,
    ) -> tuple[Asked, ...]:
        """Return the original and `variants` of `task` as they are asked through `template`.

        Where `settings` have the template reworded, its wordings speak in the same voices.

        Raises
        ------
        TaskError
            With file and line, if the template cannot be rendered.
        VariantError
            If the template is to be reworded and cannot be, or has no sentence.
        """
        plain = original(task.id, task.prompt)
        if template is None or settings.perturb == "task" or settings.aa:
            return tuple(ask(task, variant, template) for variant in (plain, *variants))
        view = View.of(template)
        if view is None and settings.perturb == "both":
            return tuple(ask(task, variant, template) for variant in (plain, *variants))
        if view is None:
            raise VariantError(
                f"{template.path}: there is no sentence in this template to reword; have the task "
                "reworded (perturb 'task' or 'both'), or say something around it"
            )
        worded = self._templated(view, task, settings)
        spoken = variants if settings.perturb == "both" else [plain] * len(worded)
        return (
            ask_reworded(task, plain, view, None),
            *(
                ask_reworded(task, said, view, own)
                for said, own in zip(spoken, worded, strict=True)
            ),
        )

    def _templated(self, view: View, task: Task, settings: Settings) -> Sequence[Variant]:
        rewriter = self._rewriter(settings.rewriter)
        make = partial(self._made, rewriter, view.task, settings, view=view, within=task.prompt)
        if isinstance(rewriter, LlmRewriter):
            return self._bought(rewriter, view.task, settings, make, within=task.prompt)
        return make()

    def _rewriter(self, name: str) -> Rewriter:
        if name not in self._rewriters:
            self._rewriters[name] = self._make(name, self.library)
        return self._rewriters[name]

    def _frozen(self, folder: Path, task: Task, settings: Settings) -> Sequence[Variant]:
        return frozen(
            folder,
            task,
            self.library,
            distances=settings.distances,
            per_distance=settings.variants,
        )

    def _made(
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

    def _bought(
        self,
        rewriter: Rewriter,
        task: Task,
        settings: Settings,
        make: Callable[[], Sequence[Variant]],
        *,
        within: str = "",
    ) -> Sequence[Variant]:
        asked = [
            label(rewriter),
            settings.distances,
            settings.variants,
            settings.emotions,
            settings.personalities,
            settings.seed,
            within + task.prompt,
        ]
        variants = self._root / self._settings.store / "variants"
        folder = variants / text_hash(json.dumps(asked))[:16]
        with _locked(variants):
            if not folder_of(folder, task.id).is_dir():
                write(folder, task, make())
        return self._frozen(folder, task, settings)

    @property
    def usage(self) -> Usage:
        """What this process has paid models for wordings, apart from the run's own usage."""
        bought = (each.usage for each in self._rewriters.values() if isinstance(each, LlmRewriter))
        return sum(bought, start=Usage())

    def close(self) -> None:
        """Give back the models that reworded."""
        for rewriter in self._rewriters.values():
            if isinstance(rewriter, LlmRewriter):
                rewriter.close()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes of the run from buying the same wordings at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
