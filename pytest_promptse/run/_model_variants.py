"""Texts that a model writes or judges during the run: request them, judge them, request again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from pytest_promptse.errors import ModelError, PromptseError, VariantError
from pytest_promptse.models._base import (
    LOWER_LENGTH,
    SHORTEN,
    Prompt,
    completion_key,
    derive_seed,
)
from pytest_promptse.sampling._job import Job
from pytest_promptse.store._run_log import EntailmentRow, RewriteRow
from pytest_promptse.variants._distance import normalised
from pytest_promptse.variants._entailment import DECODING as ENTAILMENT_DECODING
from pytest_promptse.variants._entailment import can_be_cleared
from pytest_promptse.variants._generate import outline_of, requests_for, variant_of
from pytest_promptse.variants._rewriter import WRITING, Ask, Draft
from pytest_promptse.variants.invariance._finding import Finding, no_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from pytest_promptse.models._base import Backend
    from pytest_promptse.store._store import Store
    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._entailment import EntailmentJudge
    from pytest_promptse.variants._generate import Selection
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._rewriter import (
        Candidates,
        Rewriter,
        RewriteRequest,
        WritingModel,
    )
    from pytest_promptse.variants._variant import Variant
    from pytest_promptse.variants.invariance._judge import Judge

_LONGER_CONTEXT = (
    "use a model with a longer context to write or judge variants: it must hold the instruction "
    f"(about 600 tokens), the prompt and up to {WRITING.max_tokens} tokens of answer"
)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question to the judge model. A control is one that it must deny."""

    job: Job
    is_control: bool


_Rejected: TypeAlias = tuple[str, "tuple[Finding, ...]"]
"""A rejected text with its findings."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PendingText(ABC):
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

    @abstractmethod
    def all_rejected(self, rejected: Sequence[_Rejected]) -> str:
        """Return the message of the error if no text was accepted. `rejected` are all texts."""

    def questions(self, findings: Iterable[Finding]) -> tuple[Question, ...]:
        """Return the questions whose answers clear `findings`, without a judge none.

        Those that the judge must deny come first. They are the same for all texts, so each is asked
        once.
        """
        judge = self.entailment
        if judge is None:
            return ()
        pairs = dict.fromkeys(pair for finding in findings for pair in finding.questions)
        questions = []
        for number, (premise, hypothesis) in enumerate([*judge.controls, *pairs]):
            prompt = judge.prompt(premise, hypothesis)
            seed = derive_seed("entailment")
            job = Job(
                key=completion_key(judge.identity, prompt, ENTAILMENT_DECODING, seed),
                model=judge.spec,
                prompt=prompt,
                decoding=ENTAILMENT_DECODING,
                n=1,
                seed=seed,
                task_id=self.variant.task_id,
                variant_id=f"{self.variant.id}-entailment-{number}",
            )
            questions.append(Question(job=job, is_control=number < len(judge.controls)))
        return tuple(questions)


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

    def all_rejected(self, rejected: Sequence[_Rejected]) -> str:
        """Return the message for a text that differs from its original."""
        judge = self.entailment.spec if self.entailment else ""
        last = rejected[-1][1]
        return (
            f"task {self.variant.task_id!r}: {self.variant.id} in {self.place} is not the same "
            f"task, and {judge} does not say that it is: {'; '.join(map(str, last))}; "
            "see 'promptse variants audit'"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewrite(PendingText):
    """A text that a model must write.

    Attributes
    ----------
    rewriter
        The rewriter, which asks `model`.
    identity
        The values that identify `model` in the store.
    library
        The library whose sentences a text may contain.
    request
        The properties of the text: emotion, persona and distance.
    also
        Returns findings against a text, in addition to those of the invariance rules.
    earlier
        The texts for the variants before this one. Theirs are not accepted again.
    """

    rewriter: Rewriter
    model: WritingModel
    identity: Mapping[str, str]
    library: Library
    request: RewriteRequest
    earlier: tuple[Rewrite, ...] = ()
    also: Callable[[str], Iterable[Finding]] = no_findings

    def all_rejected(self, rejected: Sequence[_Rejected]) -> str:
        """Return the message with the last text's findings."""
        variant = f"{self.variant.task_id}[{self.variant.id}]"
        if not rejected:
            return f"{self.rewriter.name}: no text for {variant}"
        findings = rejected[-1][1]
        if all(finding.rule == "refusal" for _, reasons in rejected for finding in reasons):
            return (
                f"{self.rewriter.name}: {findings[0].detail} ({len(rejected)} times for "
                f"{variant}); use another model, or --promptse-rewriter rules"
            )
        last = "; ".join(map(str, findings[:3]))
        return (
            f"{self.rewriter.name}: none of {len(rejected)} texts for {variant} asks for the same "
            f"thing as the original; the last one: {last}; use a stronger model, or "
            "--promptse-rewriter rules"
        )

    def job(self, question: Ask, number: int) -> Job:
        """Return the request for the rewriter's `question`, which is its number `number`."""
        seed = derive_seed(self.request.seed, "candidate", number)
        return Job(
            key=completion_key(self.identity, question.prompt, question.decoding, seed),
            model=self.model.spec,
            prompt=question.prompt,
            decoding=question.decoding,
            n=1,
            seed=seed,
            task_id=self.variant.task_id,
            variant_id=f"{self.variant.id}-text-{number}",
        )


def rewrites(
    task: Task,
    selection: Selection,
    *,
    rewriter: Rewriter,
    backend: Callable[[str], Backend],
    also: Callable[[str], Iterable[Finding]] = no_findings,
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
        A rewriter that asks a model.
    backend
        Returns the backend of a ``BACKEND:NAME``. It is not started here.
    also, entailment
        As in `Rewrite`.

    Raises
    ------
    VariantError
        If the selection cannot be used, or `rewriter` asks no model.
    """
    model = rewriter.model
    if model is None:
        raise VariantError(f"rewriter {rewriter.label} asks no model")
    identity = dict(backend(model.spec).identity)
    wanted: list[Rewrite] = []
    for request in requests_for(task, selection, rewriter):
        rewrite = Rewrite(
            task=task,
            rewriter=rewriter,
            model=model,
            identity=identity,
            library=selection.library,
            request=request,
            variant=outline_of(request, rewriter),
            also=also,
            entailment=entailment,
            earlier=tuple(wanted),
        )
        wanted.append(rewrite)
    return wanted


@dataclass
class _Progress:
    """The state of one pending text.

    Attributes
    ----------
    candidates
        The rewriter's candidates and requests; None for the text of a file.
    n_asked
        Number of the rewriter's requests.
    draft
        The candidate that is judged next.
    job
        The request whose answer comes next: for a candidate, or about the draft in ``doubted``.
    doubted, questions
        A draft with findings that a model may clear, and its questions from ``job`` on.
    failure
        The exception that the rewriter raised, as a message.
    rejected
        Each rejected text with its findings.
    n_doubted, n_questions, n_cleared
        Numbers of doubtful texts, of answers of the judge model, and of findings that it cleared.
    """

    candidates: Candidates | None = None
    n_asked: int = 0
    draft: Draft | None = None
    job: Job | None = None
    doubted: tuple[Draft, tuple[Finding, ...]] | None = None
    questions: tuple[Question, ...] = ()
    failure: str = ""
    rejected: list[_Rejected] = field(default_factory=list)
    accepted: Variant | None = None
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
            If every text of the rewriter was rejected, or the text of a file, or if the rewriter
            raised an exception.
        """
        progress = self._progress(pending)
        while progress.accepted is None:
            if progress.job is not None:
                if self._store().missing({progress.job.key: 1})[progress.job.key]:
                    return progress.job
                [completion] = self._store().completions(progress.job.key, 1)
                self._take(pending, progress, completion.text)
            elif not isinstance(pending, Rewrite) or progress.draft is None:
                raise ModelError(progress.failure or pending.all_rejected(progress.rejected))
            else:
                # Every process must accept the same texts, so the order of variants decides which
                # of two may have a text, and not the order of answers.
                taken = self._earlier_texts(pending)
                if isinstance(taken, Job):
                    return taken
                self._judge(pending, progress, progress.draft, taken)
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
        progress = self._progress(pending)
        if progress.accepted is not None:
            return []
        if isinstance(pending, DoubtedText):
            return [question.job for question in pending.questions(pending.findings)]
        if not isinstance(pending, Rewrite):
            return []
        variant = f"{pending.variant.id}-{pending.variant.seed}"
        doubts = _judge_of(pending).most_doubts()
        questions = pending.questions(doubts)
        prompt = progress.job.prompt if progress.job else Prompt(user=pending.task.prompt)
        text = pending.job(Ask(prompt=prompt, decoding=WRITING), 0)
        n_asked = progress.n_asked
        jobs = [
            replace(text, key=f"{variant}-text-{number}")
            for number in range(n_asked, pending.model.max_requests)
        ]
        for number in range(len(progress.rejected), pending.model.max_requests):
            jobs += [
                question.job
                if question.is_control
                else replace(question.job, key=f"{variant}-{number}-{place}")
                for place, question in enumerate(questions)
            ]
        return jobs

    def rows(self, pending: PendingText) -> list[RewriteRow | EntailmentRow]:
        """Return the log entries of the texts that were judged so far."""
        progress = self._progress(pending)
        variant = f"{pending.variant.id}-{pending.variant.seed}"
        entries: list[RewriteRow | EntailmentRow] = []
        if isinstance(pending, Rewrite):
            rules = Counter(
                rule
                for _, findings in progress.rejected
                for rule in {finding.rule for finding in findings}
            )
            accepted = progress.accepted is not None
            entries.append(
                RewriteRow(
                    rewriter=pending.rewriter.label,
                    model=pending.model.spec,
                    instruction=pending.model.instruction,
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
            entries.append(
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
        return entries

    def _progress(self, pending: PendingText) -> _Progress:
        if pending not in self._known:
            progress = self._known[pending] = _Progress()
            if isinstance(pending, Rewrite):
                progress.candidates = pending.rewriter.candidates(pending.request)
                self._continue(pending, progress, None)
            elif isinstance(pending, DoubtedText):
                self._doubt(pending, progress, Draft(text=pending.variant.text), pending.findings)
        return self._known[pending]

    @staticmethod
    def _continue(
        rewrite: Rewrite, progress: _Progress, sent: str | tuple[Finding, ...] | None
    ) -> None:
        """Send a model's answer, or the findings about a draft, to the rewriter."""
        step = None
        try:
            if progress.candidates is not None:
                step = progress.candidates.send(sent)
        except StopIteration:
            pass
        except PromptseError as error:
            progress.failure = str(error)
        except Exception as error:  # noqa: BLE001 - code of another package
            progress.failure = f"the rewriter {rewrite.rewriter.label} raised {error!r}"
        progress.job = progress.draft = None
        most = rewrite.model.max_requests
        if isinstance(step, Ask) and progress.n_asked < most:
            progress.job = rewrite.job(step, progress.n_asked)
            progress.n_asked += 1
        elif isinstance(step, Draft | str) and len(progress.rejected) < most:
            progress.draft = step if isinstance(step, Draft) else Draft(text=step)

    def _take(self, pending: PendingText, progress: _Progress, answer: str) -> None:
        """Take the answer to the request of `progress`."""
        if progress.doubted is not None:
            self._weigh(pending, progress, answer)
        elif isinstance(pending, Rewrite):
            self._continue(pending, progress, answer)

    def _judge(
        self, rewrite: Rewrite, progress: _Progress, draft: Draft, taken: Collection[str]
    ) -> None:
        """Judge a draft by the rules, and accept, doubt or reject it.

        `taken` are the normalised texts of other variants. A draft is doubtful if a judge model can
        be asked and may clear all findings.
        """
        findings = draft.findings or _judge_of(rewrite).findings(
            draft.text, others=taken, waived=rewrite.rewriter.waives
        )
        others = tuple(rewrite.also(draft.text))
        if not findings and not others:
            self._accept(rewrite, progress, draft)
        elif others or not can_be_cleared(findings) or rewrite.entailment is None:
            self._reject(rewrite, progress, draft, findings or others)
        else:
            self._doubt(rewrite, progress, draft, findings)

    @staticmethod
    def _doubt(
        pending: PendingText, progress: _Progress, draft: Draft, findings: tuple[Finding, ...]
    ) -> None:
        progress.doubted, progress.questions = (draft, findings), pending.questions(findings)
        progress.job = progress.questions[0].job
        progress.n_doubted += 1

    def _weigh(self, pending: PendingText, progress: _Progress, answer: str) -> None:
        """Apply the judge model's answer about a doubtful draft.

        The draft is accepted after the last answer if each is as it must be, and else rejected.
        """
        judge = pending.entailment
        if progress.doubted is None or judge is None:
            return
        draft, findings = progress.doubted
        question, *further = progress.questions
        progress.questions = tuple(further)
        progress.n_questions += not question.is_control
        if question.is_control and judge.confirms(answer):
            detail = f"{judge.spec} says yes to a request that differs, so it cannot judge"
            self._reject(pending, progress, draft, (*findings, Finding("judge", detail)))
        elif not question.is_control and not judge.confirms(answer):
            self._reject(pending, progress, draft, findings)
        elif further:
            progress.job = further[0].job
        else:
            progress.n_cleared += len(findings)
            self._accept(pending, progress, draft)

    @staticmethod
    def _accept(pending: PendingText, progress: _Progress, draft: Draft) -> None:
        progress.doubted = progress.job = None
        progress.accepted = (
            variant_of(pending.request, draft, pending.rewriter)
            if isinstance(pending, Rewrite)
            else pending.variant
        )

    def _reject(
        self,
        pending: PendingText,
        progress: _Progress,
        draft: Draft,
        findings: tuple[Finding, ...],
    ) -> None:
        progress.doubted, progress.questions, progress.job = None, (), None
        progress.rejected.append((draft.text, findings))
        if isinstance(pending, Rewrite):
            self._continue(pending, progress, findings)


def _judge_of(rewrite: Rewrite) -> Judge:
    # Most runs have no text by a model, and its patterns take time to compile.
    from pytest_promptse.variants.invariance._judge import Judge  # noqa: PLC0415

    return Judge(rewrite.task.prompt, rewrite.library)


def no_room(error: ModelError) -> str:
    """Return the message for a text that does not fit into a model's context, or ``""``.

    ``--promptse-max-tokens``, which other messages name, does not apply to texts.
    """
    for remedy in (SHORTEN, LOWER_LENGTH):
        if remedy in str(error):
            return str(error).replace(remedy, _LONGER_CONTEXT)
    return ""
