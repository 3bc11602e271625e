"""Make the variants of a run's tasks and the prompts that contain them."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_promptse import variants as variants_package
from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import PromptseError, VariantError
from pytest_promptse.run._model_variants import DoubtedText, PendingText, rewrites
from pytest_promptse.run._variant_prompts import (
    MadeVariant,
    PendingControl,
    PlannedPrompt,
    TaskVariants,
    around_task,
    around_view,
    prompt_of,
    prompt_of_template_variant,
)
from pytest_promptse.variants._choices import selection_of
from pytest_promptse.variants._entailment import EntailmentJudge
from pytest_promptse.variants._files import folder_of, template_folder
from pytest_promptse.variants._generate import generate, outlines
from pytest_promptse.variants._length_control import length_matched
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._registry import REWRITERS
from pytest_promptse.variants._templated import View
from pytest_promptse.variants._variant import Variant, original, text_hash
from pytest_promptse.variants.invariance._finding import no_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend
    from pytest_promptse.run._variant_prompts import VariantPrompt
    from pytest_promptse.store._store import Store
    from pytest_promptse.tasks._task import Task
    from pytest_promptse.tasks._template import Template
    from pytest_promptse.variants._generate import Rewriter, Selection
    from pytest_promptse.variants._library import Library


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
            selection_of(settings, self.library).check()

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
                _original_prompt(plain, make=partial(prompt_of, task, plain, template)),
                *around_task(task, variants, template),
                *around_task(task, controls, template, control=True),
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
                plain, make=partial(prompt_of_template_variant, task, plain, view, None)
            ),
            *around_view(task, of_task, view, reworded),
            *around_view(task, control_of_task, view, controls, control=True),
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
    ) -> Sequence[MadeVariant]:
        """Make the control variants, or read them from the store.

        `view` is that of the template if the variants are of a template, else None. The control of
        a text that a model has yet to write is made when that text exists.
        """
        match = partial(
            length_matched,
            task,
            library=self.library,
            also=view.findings if view else no_findings,
        )
        finished = [variant for variant in variants.made if isinstance(variant, Variant)]
        if len(finished) < len(variants.made):
            matched = iter(match(finished))
            return [
                PendingControl(
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
        selection = selection_of(settings, self.library, within=within)
        return TaskVariants(
            places=selection.places,
            draw=partial(outlines, task, selection, rewriter=rewriter),
            make=partial(self._make, rewriter, task, selection, view),
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
        also = view.findings if view else no_findings
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


def _original_prompt(plain: Variant, make: Callable[[], VariantPrompt]) -> PlannedPrompt:
    return PlannedPrompt(distance=0.0, index=0, draw=lambda: plain, make=make)


def _control_outline(variant: Variant, settings: Settings) -> Variant:
    """Return the control variant of `variant`, without its text.

    It has the distance and number of `variant`, no emotion and no persona, and the rewriter of the
    setting ``control``.
    """
    return structs.replace(
        variant, emotion=None, personality=None, cues={}, text="", rewriter=settings.control
    )
