"""Texts that a model writes or judges during the run: request them, judge them, request again."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import LOWER_LENGTH, SHORTEN, completion_key, derive_seed
from pytest_promptse.sampling._job import Job
from pytest_promptse.sampling._sampler import Sampler
from pytest_promptse.store._run_log import EntailmentRow, RewriteRow
from pytest_promptse.store._store import Store
from pytest_promptse.variants._entailment import DECODING as ENTAILMENT_DECODING
from pytest_promptse.variants._entailment import can_be_cleared
from pytest_promptse.variants._generate import requests_for, variant_of
from pytest_promptse.variants._llm import DECODING, MOST_RETRIES
from pytest_promptse.variants._rewriter import Draft
from pytest_promptse.variants.invariance._judge import Judge, normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from pytest_promptse.models._base import Backend, Usage
    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._entailment import EntailmentJudge
    from pytest_promptse.variants._generate import Selection
    from pytest_promptse.variants._llm import LlmRewriter
    from pytest_promptse.variants._rewriter import RewriteRequest
    from pytest_promptse.variants._variant import Variant
    from pytest_promptse.variants.invariance._finding import Finding

__all__ = [
    "DoubtedText",
    "ModelVariants",
    "PendingText",
    "Rewrite",
    "Written",
    "no_room",
    "rewrites",
    "write_all",
]

_LONGER_CONTEXT = (
    "use a model with a longer context to write or judge variants: it must hold the instruction "
    f"(about 600 tokens), the prompt and up to {DECODING.max_tokens} tokens of answer"
)


def _no_findings(_text: str) -> Iterable[Finding]:
    return ()


@dataclass(frozen=True, kw_only=True, eq=False)
class PendingText:
    """A variant whose text is not yet written, or not yet judged.

    Attributes
    ----------
    task
        The task of the variant.
    variant
        The variant without its final text. It has an id already, so that pytest items exist before
        the text does.
    entailment
        The model that judges reworded sentences, or None if there is none.
    """

    task: Task
    variant: Variant
    entailment: EntailmentJudge | None = None

    def questions(self, findings: Iterable[Finding]) -> tuple[Job, ...]:
        """Return the requests whose confirmation clears `findings`, without a judge none."""
        judge = self.entailment
        if judge is None:
            return ()
        pairs = dict.fromkeys(pair for finding in findings for pair in finding.questions)
        jobs = []
        for number, (premise, hypothesis) in enumerate(pairs):
            prompt = judge.prompt(premise, hypothesis)
            seed = derive_seed("entailment")
            jobs.append(
                Job(
                    key=completion_key(judge.identity, prompt, ENTAILMENT_DECODING, seed),
                    model=judge.spec,
                    prompt=prompt,
                    decoding=ENTAILMENT_DECODING,
                    n=1,
                    seed=seed,
                    task_id=self.variant.task_id,
                    variant_id=f"{self.variant.id}-entailment-{number}",
                )
            )
        return tuple(jobs)


@dataclass(frozen=True, kw_only=True, eq=False)
class DoubtedText(PendingText):
    """A text from a file, with doubtful findings that a model may clear.

    Attributes
    ----------
    findings
        The findings of the rules. A model may clear all of them.
    place
        The place of the text, for error messages.
    """

    findings: tuple[Finding, ...]
    place: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewrite(PendingText):
    """A text that a model must write.

    Attributes
    ----------
    rewriter
        The model and its instruction.
    request
        The properties of the text: emotion, persona and distance.
    also
        Returns findings against a text, in addition to those of the invariance rules.
    earlier
        The texts for the variants before this one. Theirs are not accepted again.
    """

    rewriter: LlmRewriter
    request: RewriteRequest
    earlier: tuple[Rewrite, ...] = ()
    also: Callable[[str], Iterable[Finding]] = _no_findings

    def job(self, rejected: list[tuple[str, tuple[Finding, ...]]]) -> Job:
        """Return the request for the next text, given the texts that were `rejected`."""
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
    selection: Selection,
    *,
    rewriter: LlmRewriter,
    also: Callable[[str], Iterable[Finding]] = _no_findings,
    entailment: EntailmentJudge | None = None,
) -> list[Rewrite]:
    """Return the texts that `rewriter` must write for a task.

    Parameters
    ----------
    task
        The task to reword.
    selection
        Which variants to make.
    rewriter
        The model and its instruction.
    also, entailment
        As in `Rewrite`.

    Raises
    ------
    VariantError
        If the selection cannot be used.
    """
    wanted: list[Rewrite] = []
    for request in requests_for(task, selection, source=rewriter.label):
        rewrite = Rewrite(
            task=task,
            rewriter=rewriter,
            request=request,
            variant=variant_of(request, Draft(text=""), rewriter.label),
            also=also,
            entailment=entailment,
            earlier=tuple(wanted),
        )
        wanted.append(rewrite)
    return wanted


@dataclass
class _Progress:
    """The state of one pending text.

    ``job`` is the request whose answer comes next. While ``doubted`` is not None, ``job`` is a
    question about that text, and ``further`` has the questions after it.

    ``rejected`` has each rejected text with its findings. ``n_doubted`` counts doubtful texts,
    ``n_questions`` answers of the judge model, and ``n_cleared`` findings that it cleared.
    """

    job: Job
    rejected: list[tuple[str, tuple[Finding, ...]]] = field(default_factory=list)
    accepted: Variant | None = None
    doubted: tuple[str, tuple[Finding, ...]] | None = None
    further: tuple[Job, ...] = ()
    n_doubted: int = 0
    n_questions: int = 0
    n_cleared: int = 0


class ModelVariants:
    """Take each text that a model writes or judges from the first request to acceptance.

    The models' answers are in the store. So every process accepts the same texts, and a later run
    requests none of them again.

    Parameters
    ----------
    store
        Returns the store with the answers.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._known: dict[PendingText, _Progress] = {}

    def next_step(self, pending: PendingText) -> Variant | Job:
        """Return the variant if a text was accepted, else the next request.

        Raises
        ------
        ModelError
            If the first text and ``MOST_RETRIES`` further ones were rejected, or if the text of a
            file was rejected.
        """
        progress = self._progress(pending)
        while progress.accepted is None:
            if isinstance(pending, DoubtedText) and progress.rejected:
                raise ModelError(_not_the_same(pending))
            if isinstance(pending, Rewrite) and len(progress.rejected) > MOST_RETRIES:
                raise ModelError(_given_up(pending, progress.rejected))
            if self._store().missing({progress.job.key: 1})[progress.job.key]:
                return progress.job
            [completion] = self._store().completions(progress.job.key, 1)
            if progress.doubted is not None:
                self._weigh(pending, progress, completion.text)
            elif isinstance(pending, Rewrite):
                # Every process must accept the same texts, so the order of variants decides which
                # of two may have a text, and not the order of answers.
                taken = self._earlier_texts(pending)
                if isinstance(taken, Job):
                    return taken
                self._judge(pending, progress, completion.text, taken)
        return progress.accepted

    def _earlier_texts(self, rewrite: Rewrite) -> set[str] | Job:
        """Return the normalised texts of earlier variants, or a request that one still needs."""
        taken: set[str] = set()
        for earlier in rewrite.earlier:
            try:
                step = self.next_step(earlier)
            except ModelError:
                continue  # its own item reports that it has no text
            if isinstance(step, Job):
                return step
            taken.add(normalised(step.text))
        return taken

    def expected_jobs(self, pending: PendingText) -> list[Job]:
        """Return all requests that a text may still need, as an upper bound for the cost.

        Texts that do not exist yet count with the original's sentences, and each request by a key
        of its own.
        """
        if isinstance(pending, DoubtedText):
            return list(pending.questions(pending.findings))
        if not isinstance(pending, Rewrite):
            return []
        rejected = self._progress(pending).rejected
        variant = f"{pending.variant.id}-{pending.variant.seed}"
        questions = pending.questions(
            Judge(pending.task.prompt, pending.rewriter.library).most_doubts()
        )
        jobs = []
        for text in range(len(rejected), MOST_RETRIES + 1):
            if text > len(rejected):
                jobs.append(replace(pending.job(rejected), key=f"{variant}-text-{text}"))
            jobs += [
                replace(job, key=f"{variant}-{text}-{number}")
                for number, job in enumerate(questions)
            ]
        return jobs

    def rows(self, pending: PendingText) -> list[RewriteRow | EntailmentRow]:
        """Return the log entries of the texts that were judged so far."""
        progress = self._progress(pending)
        variant = f"{pending.variant.id}-{pending.variant.seed}"
        found: list[RewriteRow | EntailmentRow] = []
        if isinstance(pending, Rewrite):
            rules = Counter(
                rule
                for _, findings in progress.rejected
                for rule in {finding.rule for finding in findings}
            )
            accepted = progress.accepted is not None
            found.append(
                RewriteRow(
                    rewriter=pending.rewriter.label,
                    model=pending.rewriter.spec,
                    instruction=pending.rewriter.instruction,
                    task=pending.variant.task_id,
                    variant=variant,
                    texts=len(progress.rejected) + accepted,
                    accepted=accepted,
                    rules=dict(sorted(rules.items())),
                    rejected=[
                        (text, list(map(str, findings))) for text, findings in progress.rejected
                    ],
                )
            )
        if pending.entailment is not None and progress.n_doubted:
            found.append(
                EntailmentRow(
                    model=pending.entailment.spec,
                    instruction=pending.entailment.digest,
                    task=pending.variant.task_id,
                    variant=variant,
                    texts=progress.n_doubted,
                    questions=progress.n_questions,
                    cleared=progress.n_cleared,
                )
            )
        return found

    def _progress(self, pending: PendingText) -> _Progress:
        if pending not in self._known:
            if isinstance(pending, Rewrite):
                progress = _Progress(job=pending.job([]))
            elif isinstance(pending, DoubtedText):
                first, *further = pending.questions(pending.findings)
                progress = _Progress(
                    job=first,
                    further=tuple(further),
                    doubted=(pending.variant.text, pending.findings),
                    n_doubted=1,
                )
            else:
                raise TypeError(f"{type(pending).__name__} is neither written nor doubted")
            self._known[pending] = progress
        return self._known[pending]

    def _judge(
        self, rewrite: Rewrite, progress: _Progress, answer: str, taken: Collection[str]
    ) -> None:
        """Judge the text in an answer by the rules, and accept, doubt or reject it.

        `answer` is the response of the rewriter's model, and `taken` are the normalised texts of
        other variants. A text is doubtful if a
        judge model can be asked and may clear all findings. The decision is stored in `progress`.
        """
        original = rewrite.task.prompt
        text = rewrite.rewriter.read(answer, original)
        findings = rewrite.rewriter.refusal(text, original) or Judge(
            original, rewrite.rewriter.library
        ).findings(text, others=taken)
        others = tuple(rewrite.also(text))
        if not findings and not others:
            self._accept(rewrite, progress, text)
        elif can_be_cleared(findings) and not others and (jobs := rewrite.questions(findings)):
            progress.doubted = (text, findings)
            progress.job, *further = jobs
            progress.further = tuple(further)
            progress.n_doubted += 1
        else:
            self._reject(rewrite, progress, text, findings or others)

    def _weigh(self, pending: PendingText, progress: _Progress, answer: str) -> None:
        """Apply the judge model's answer about a doubtful text.

        `answer` is the response to one question of `progress`. The text is accepted after the last
        confirmation, and rejected at once without one.
        """
        if progress.doubted is None or pending.entailment is None:
            return
        text, findings = progress.doubted
        progress.n_questions += 1
        if not pending.entailment.confirms(answer):
            self._reject(pending, progress, text, findings)
        elif progress.further:
            progress.job, *further = progress.further
            progress.further = tuple(further)
        else:
            progress.n_cleared += len(findings)
            self._accept(pending, progress, text)

    @staticmethod
    def _accept(pending: PendingText, progress: _Progress, text: str) -> None:
        progress.doubted = None
        if isinstance(pending, Rewrite):
            draft = Draft(text=text)
            progress.accepted = variant_of(pending.request, draft, pending.rewriter.label)
        else:
            progress.accepted = pending.variant

    @staticmethod
    def _reject(
        pending: PendingText, progress: _Progress, text: str, findings: tuple[Finding, ...]
    ) -> None:
        progress.doubted, progress.further = None, ()
        progress.rejected.append((text, findings))
        if isinstance(pending, Rewrite):
            progress.job = pending.job(progress.rejected)


@dataclass(frozen=True)
class Written:
    """Variants that models wrote outside of a run.

    Attributes
    ----------
    variants
        The variants with their texts.
    rejected
        Number of texts that each rule rejected, by rule.
    n_texts
        Number of texts, including rejected ones.
    usage
        Requests and tokens used.
    """

    variants: dict[Rewrite, Variant]
    rejected: dict[Rewrite, dict[str, int]]
    n_texts: int
    usage: Usage


def write_all(
    wanted: Sequence[Rewrite], create_backend: Callable[[], Backend], *, folder: Path
) -> Written:
    """Let a model write texts, with the queue and the retries of a run.

    Parameters
    ----------
    wanted
        The texts to write, all by one model.
    create_backend
        Returns the backend of the model.
    folder
        The folder of the store. Texts that it contains are not requested again.

    Raises
    ------
    NotScoredError
        If the model does not answer, or every text for a variant was rejected.
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
                    try:
                        sampler.wait(step)
                    except ModelError as error:
                        if message := no_room(error):
                            raise ModelError(message) from error
                        raise
                steps[each] = step
        rows = {
            each: row for each in wanted for row in texts.rows(each) if isinstance(row, RewriteRow)
        }
        usage = store.usage(run)
        store.finish_run(run)
    return Written(
        variants={each: step for each, step in steps.items() if not isinstance(step, Job)},
        rejected={each: row.rules for each, row in rows.items()},
        n_texts=sum(row.texts for row in rows.values()),
        usage=usage,
    )


def no_room(error: ModelError) -> str:
    """Return the message for a text that does not fit into a model's context, or ``""``.

    ``--promptse-max-tokens``, which other messages name, does not apply to texts.
    """
    for remedy in (SHORTEN, LOWER_LENGTH):
        if remedy in str(error):
            return str(error).replace(remedy, _LONGER_CONTEXT)
    return ""


def _not_the_same(doubted: DoubtedText) -> str:
    judge = doubted.entailment.spec if doubted.entailment else ""
    findings = "; ".join(map(str, doubted.findings))
    return (
        f"task {doubted.variant.task_id!r}: {doubted.variant.id} in {doubted.place} is not the "
        f"same task, and {judge} does not say that it is: {findings}; see 'promptse variants audit'"
    )


def _given_up(rewrite: Rewrite, rejected: list[tuple[str, tuple[Finding, ...]]]) -> str:
    last = "; ".join(map(str, rejected[-1][1][:3]))
    return (
        f"{rewrite.rewriter.name}: none of {len(rejected)} texts for "
        f"{rewrite.variant.task_id}[{rewrite.variant.id}] asks for the same thing as the original; "
        f"the last one: {last}; use a stronger model, or --promptse-rewriter rules"
    )
