"""Variants that a model writes while the run samples: requested, judged and requested again."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from pytest_promptse.errors import ModelError
from pytest_promptse.models.base import completion_key, derive_seed
from pytest_promptse.sampling.job import Job
from pytest_promptse.sampling.sampler import Sampler
from pytest_promptse.store.run_log import RewriteRow
from pytest_promptse.store.store import Store
from pytest_promptse.variants.generate import requests_for, variant_of
from pytest_promptse.variants.invariance import Judge
from pytest_promptse.variants.llm import DECODING, MOST_RETRIES
from pytest_promptse.variants.rewriter import Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from pytest_promptse.models.base import Backend, Usage
    from pytest_promptse.tasks.task import Task
    from pytest_promptse.variants.invariance import Finding
    from pytest_promptse.variants.library import Library
    from pytest_promptse.variants.llm import LlmRewriter
    from pytest_promptse.variants.rewriter import RewriteRequest
    from pytest_promptse.variants.variant import Variant

__all__ = ["ModelVariants", "Rewrite", "Written", "rewrites", "write_all"]


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
    rewriter: LlmRewriter,
    *,
    distances: Sequence[float],
    per_distance: int,
    emotions: Sequence[str] | None,
    personalities: Sequence[str] | None,
    seed: int,
    library: Library,
    within: str = "",
    also: Callable[[str], Iterable[Finding]] = _no_findings,
) -> list[Rewrite]:
    """Return the texts that `rewriter` is to write for a task.

    Parameters
    ----------
    task
        The task.
    rewriter
        The model.
    distances, per_distance, emotions, personalities, seed, library, within
        As in `generate`.
    also
        As in `Rewrite`.

    Raises
    ------
    VariantError
        If a setting cannot be used.
    """
    wanted = requests_for(
        task,
        distances=distances,
        per_distance=per_distance,
        emotions=emotions,
        personalities=personalities,
        seed=seed,
        source=rewriter.label,
        library=library,
        within=within,
    )
    return [
        Rewrite(
            rewriter=rewriter,
            request=request,
            variant=variant_of(request, Draft(text=""), rewriter.label),
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
            rewriter=rewrite.rewriter.label,
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
            draft = Draft(text=text)
            progress.accepted = variant_of(rewrite.request, draft, rewrite.rewriter.label)


@dataclass(frozen=True)
class Written:
    """What models wrote outside of a run.

    Attributes
    ----------
    variants
        The variants with their texts.
    rejected
        The rules that rejected texts of each variant broke.
    n_texts
        Number of texts, the rejected ones included.
    usage
        Requests and tokens spent.
    """

    variants: dict[Rewrite, Variant]
    rejected: dict[Rewrite, dict[str, int]]
    n_texts: int
    usage: Usage


def write_all(
    wanted: Sequence[Rewrite], create_backend: Callable[[], Backend], *, folder: Path
) -> Written:
    """Have a model write texts, with the queue and the retries of a run.

    Parameters
    ----------
    wanted
        The texts, all of one model.
    create_backend
        Returns the model.
    folder
        The folder of the store. Texts in it are not requested again.

    Raises
    ------
    NotScoredError
        If the model cannot answer, or every text for a variant was rejected.
    SettingsError
        If the settings of the model prevent every request.
    """
    run = f"variants-{uuid4().hex}"
    with closing(Store(folder)) as store:
        texts = ModelVariants(lambda: store)
        sampler = Sampler(
            store, [], {each.rewriter.spec: create_backend for each in wanted}, run=run
        )
        with closing(sampler):
            steps = {each: texts.next_step(each) for each in wanted}
            sampler.request([step for step in steps.values() if isinstance(step, Job)])
            for each in wanted:
                while isinstance(step := texts.next_step(each), Job):
                    sampler.wait(step)
                steps[each] = step
        rows = {each: texts.row(each) for each in wanted}
        usage = store.usage(run)
        store.finish_run(run)
    return Written(
        variants={each: step for each, step in steps.items() if not isinstance(step, Job)},
        rejected={each: row.rules for each, row in rows.items()},
        n_texts=sum(row.texts for row in rows.values()),
        usage=usage,
    )


def _given_up(rewrite: Rewrite, rejected: list[tuple[str, tuple[Finding, ...]]]) -> str:
    last = "; ".join(map(str, rejected[-1][1][:3]))
    return (
        f"{rewrite.rewriter.name}: none of {len(rejected)} texts for "
        f"{rewrite.variant.task_id}[{rewrite.variant.id}] asks for the same thing as the original; "
        f"the last one: {last}; use a stronger model, or --promptse-rewriter rules"
    )
