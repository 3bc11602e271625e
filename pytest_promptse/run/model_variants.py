"""Variants that a model writes while the run samples: requested, judged and requested again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_promptse.errors import ModelError
from pytest_promptse.models.base import completion_key, derive_seed
from pytest_promptse.sampling.job import Job
from pytest_promptse.store.run_log import RewriteRow
from pytest_promptse.variants.distance import compare
from pytest_promptse.variants.generate import measured, requests_for, variant_of
from pytest_promptse.variants.invariance import Judge
from pytest_promptse.variants.llm import DECODING, MOST_RETRIES
from pytest_promptse.variants.rewriter import Draft, label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.store.store import Store
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.variants.invariance import Finding
    from pytest_promptse.variants.library import Library
    from pytest_promptse.variants.llm import LlmRewriter
    from pytest_promptse.variants.rewriter import RewriteRequest
    from pytest_promptse.variants.variant import Variant

__all__ = ["ModelVariants", "Rewrite", "rewrites"]


def _no_findings(_text: str) -> Iterable[Finding]:
    return ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewrite:
    """A text that a model is to write.

    Attributes
    ----------
    rewriter
        The model and its instruction.
    request
        What is wanted.
    variant
        The variant without its text. It has its id, so that items exist before the text does.
    also
        Returns what speaks against a text besides the rules of invariance.
    """

    rewriter: LlmRewriter
    request: RewriteRequest
    variant: Variant
    also: Callable[[str], Iterable[Finding]] = _no_findings

    def job(self, rejected: list[tuple[str, tuple[Finding, ...]]]) -> Job:
        """Return the request for the next text after those that were `rejected`."""
        prompt = self.rewriter.prompt(self.request, rejected)
        seed = derive_seed(self.request.seed, "candidate", len(rejected))
        return Job(
            key=completion_key(self.rewriter.identity, prompt, DECODING, seed),
            model=self.rewriter.spec,
            prompt=prompt,
            decoding=DECODING,
            n=1,
            seed=seed,
            task_id=self.variant.task_id,
            variant_id=f"{self.variant.id}-text-{len(rejected)}",
        )


def rewrites(
    task: Task,
    settings: Settings,
    rewriter: LlmRewriter,
    *,
    library: Library,
    within: str = "",
    also: Callable[[str], Iterable[Finding]] = _no_findings,
) -> list[Rewrite]:
    """Return the texts that `rewriter` is to write for a task.

    Parameters
    ----------
    task
        The task.
    settings
        Settings of its suite: distances, number of variants, emotions, personas and seed.
    rewriter
        The model.
    library
        The library of emotions and personas.
    within
        The prompt of a task if `task` is the template around it.
    also
        As in `Rewrite`.

    Raises
    ------
    VariantError
        If a setting cannot be used.
    """
    wanted = requests_for(
        task,
        distances=settings.distances,
        per_distance=settings.variants,
        emotions=settings.emotions,
        personalities=settings.personalities,
        seed=settings.seed,
        label=label(rewriter),
        library=library,
        within=within,
    )
    return [
        Rewrite(
            rewriter=rewriter,
            request=request,
            variant=variant_of(request, Draft(text=""), label(rewriter)),
            also=also,
        )
        for request in wanted
    ]


@dataclass
class _Progress:
    """The texts of a variant so far; ``accepted`` is None until one is."""

    judge: Judge
    job: Job
    rejected: list[tuple[str, tuple[Finding, ...]]] = field(default_factory=list)
    accepted: Variant | None = None


class ModelVariants:
    """Follows the texts that models write from request to acceptance.

    What a model answered lies in the store, so every process comes to the same texts, and a
    later run requests none of them again.

    Parameters
    ----------
    store
        Returns the store with the answers.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._known: dict[Rewrite, _Progress] = {}

    def next_step(self, rewrite: Rewrite) -> Variant | Job:
        """Return the variant if a text of it was accepted, else the request that comes next.

        Raises
        ------
        ModelError
            If the first text and ``MOST_RETRIES`` further ones were rejected.
        """
        progress = self._progress(rewrite)
        while progress.accepted is None:
            if len(progress.rejected) > MOST_RETRIES:
                raise ModelError(_given_up(rewrite, progress.rejected))
            if self._store().missing({progress.job.key: 1})[progress.job.key]:
                return progress.job
            self._judge(rewrite, progress)
        return progress.accepted

    def row(self, rewrite: Rewrite) -> RewriteRow:
        """Return the log entry of the texts that were judged so far."""
        progress = self._progress(rewrite)
        rules = Counter(
            rule
            for _, findings in progress.rejected
            for rule in {finding.rule for finding in findings}
        )
        accepted = progress.accepted is not None
        return RewriteRow(
            rewriter=label(rewrite.rewriter),
            model=rewrite.rewriter.spec,
            instruction=rewrite.rewriter.instruction,
            task=rewrite.variant.task_id,
            variant=f"{rewrite.variant.id}-{rewrite.request.seed}",
            texts=len(progress.rejected) + accepted,
            accepted=accepted,
            rules=dict(sorted(rules.items())),
        )

    def _progress(self, rewrite: Rewrite) -> _Progress:
        if rewrite not in self._known:
            judge = Judge(rewrite.request.task.prompt)
            self._known[rewrite] = _Progress(judge=judge, job=rewrite.job([]))
        return self._known[rewrite]

    def _judge(self, rewrite: Rewrite, progress: _Progress) -> None:
        [completion] = self._store().completions(progress.job.key, 1)
        original = rewrite.request.task.prompt
        text = rewrite.rewriter.read(completion.text, original)
        findings = progress.judge.findings(text) or tuple(rewrite.also(text))
        if findings:
            progress.rejected.append((text, findings))
            progress.job = rewrite.job(progress.rejected)
        else:
            change = measured(compare(original, text))
            progress.accepted = replace(rewrite.variant, text=text, **change)


def _given_up(rewrite: Rewrite, rejected: list[tuple[str, tuple[Finding, ...]]]) -> str:
    last = "; ".join(map(str, rejected[-1][1][:3]))
    return (
        f"{rewrite.rewriter.name}: none of {len(rejected)} texts for "
        f"{rewrite.variant.task_id}[{rewrite.variant.id}] asks for the same thing as the original; "
        f"the last one: {last}; use a stronger model, or --promptse-rewriter rules"
    )
