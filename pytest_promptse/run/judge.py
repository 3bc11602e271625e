"""Judging: completion → program → verdict, each distinct program once per check."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.errors import NotScoredError
from pytest_promptse.models.extract import extract
from pytest_promptse.sandbox.candidate import ProgramStopped
from pytest_promptse.sandbox.limits import Limits, fit, needs_confirmation
from pytest_promptse.store.run_log import SampleRow
from pytest_promptse.store.store import StoredVerdict
from pytest_promptse.variants.variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.models.base import Capabilities, Completion
    from pytest_promptse.run.plan import Wording
    from pytest_promptse.sandbox.candidate import Candidate
    from pytest_promptse.sandbox.pool import SandboxPool
    from pytest_promptse.store.store import Store
    from pytest_promptse.tasks.task import Task

DETAIL_CHARS = 600
# What a record keeps of a wording's samples, so that it stays a file one can send.
_OUTCOMES = 8
_TEXT_CHARS = 8000


class Finding(NamedTuple):
    """What a check made of a candidate: ``cause`` is empty where it was satisfied."""

    cause: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """What decides whether a program is right.

    ``run`` calls the candidate on the trusted side and reports what it found; an error of the
    check itself propagates from it. ``key`` names everything the verdict depends on apart from
    the program, so that a changed check never meets an old verdict.
    """

    key: str
    run: Callable[[Candidate, Task], Finding]
    limits: Limits


@dataclass(frozen=True, kw_only=True)
class JudgedSample:
    """One completion with its verdict; ``cause`` is empty where the program passed."""

    completion: Completion
    program: str | None
    cause: str
    detail: str


def outcomes(judged: Sequence[JudgedSample]) -> list[SampleRow]:
    """Return the most frequent outcomes, at least one of every cause, most frequent first."""
    alike: dict[tuple[str, str], list[JudgedSample]] = {}
    for sample in judged:
        text = sample.completion.text if sample.program is None else sample.program
        alike.setdefault((sample.cause, text[:_TEXT_CHARS]), []).append(sample)
    ranked = sorted(alike, key=lambda key: -len(alike[key]))
    firsts = list({cause: (cause, text) for cause, text in reversed(ranked)}.values())
    others = [key for key in ranked if key not in firsts]
    kept = {*firsts, *others[: max(0, _OUTCOMES - len(firsts))]}
    return [
        SampleRow(
            n=len(alike[cause, text]),
            cause=cause,
            detail=alike[cause, text][0].detail[:DETAIL_CHARS],
            text=text,
        )
        for cause, text in ranked
        if (cause, text) in kept
    ]


class Judge:
    """Turns completions into verdicts, through the store and the sandbox."""

    def __init__(self, store: Store, sandbox: Callable[[], SandboxPool]) -> None:
        self._store = store
        self._sandbox = sandbox
        self._references: dict[tuple[str, str], Limits] = {}

    def judge(
        self,
        wording: Wording,
        completions: Sequence[Completion],
        capabilities: Capabilities,
        check: Check,
    ) -> tuple[JudgedSample, ...]:
        """Return the completions of one wording with their verdicts, in sample order.

        Raises
        ------
        NotScoredError
            If the sandbox fails, or the task's own reference does not pass the check.
        """
        task = wording.task
        extracted = {
            (text, finish_reason): extract(
                text,
                prompt=task.prompt if task.is_stub else wording.spoken,
                entry_point=task.entry_point,
                form=capabilities.form,
                finish_reason=finish_reason,
            )
            for text, finish_reason in {(c.text, c.finish_reason) for c in completions}
        }
        programs = {
            text_hash(found.program): found.program
            for found in extracted.values()
            if found.program is not None
        }
        verdicts = self._verdicts(programs, task, check)
        judged = []
        for completion in completions:
            found = extracted[completion.text, completion.finish_reason]
            if found.program is None:
                verdict = StoredVerdict(cause=found.cause or "no_code", detail="", seconds=0.0)
            else:
                verdict = verdicts[text_hash(found.program)]
            judged.append(
                JudgedSample(
                    completion=completion,
                    program=found.program,
                    cause=verdict.cause,
                    detail=verdict.detail,
                )
            )
        return tuple(judged)

    def _verdicts(
        self, programs: dict[str, str], task: Task, check: Check
    ) -> dict[str, StoredVerdict]:
        key = text_hash(f"{check.key}:{task.id}:{task.check_digest}")
        check = replace(check, limits=self._fitted(key, task, check))
        verdicts = dict(self._store.verdicts(key, list(programs)))
        for sha in programs.keys() - verdicts.keys():
            verdicts[sha] = self._evaluate(programs[sha], task, check)
            self._store.add_verdict(key, sha, verdicts[sha])
        return verdicts

    def _fitted(self, key: str, task: Task, check: Check) -> Limits:
        """Fit the limits to the reference's own time, which proves the check sound as well."""
        if task.reference is None:
            return check.limits
        if (key, task.id) not in self._references:
            sha = text_hash(task.reference)
            known = self._store.verdicts(key, [sha]).get(sha)
            verdict = known or self._evaluate(task.reference, task, check)
            if known is None:
                self._store.add_verdict(key, sha, verdict)
            if verdict.cause:
                raise NotScoredError(
                    f"task {task.id!r}: its own reference fails its check ({verdict.cause}: "
                    f"{verdict.detail.strip().splitlines()[0] if verdict.detail else 'no detail'})"
                    "; mend the check or the reference"
                )
            self._references[key, task.id] = fit(check.limits, reference_seconds=verdict.seconds)
        return self._references[key, task.id]

    def _evaluate(self, program: str, task: Task, check: Check) -> StoredVerdict:
        verdict, doubtful = self._turn(program, task, check, alone=False)
        if doubtful:
            verdict, _ = self._turn(program, task, check, alone=True)
        return verdict

    def _turn(
        self, program: str, task: Task, check: Check, *, alone: bool
    ) -> tuple[StoredVerdict, bool]:
        """Judge once; say also whether the crowd on the machine may be to blame."""
        with self._sandbox().load(
            program, entry_point=task.entry_point, limits=check.limits, alone=alone
        ) as candidate:
            try:
                finding = check.run(candidate, task)
            except ProgramStopped:
                finding = Finding("exception")
        failure = candidate.failure
        if failure is not None:
            finding = Finding(failure.cause, failure.detail)
        doubtful = needs_confirmation(
            failure, cpu_seconds=candidate.cpu_seconds, limits=check.limits
        )
        verdict = StoredVerdict(
            cause=finding.cause, detail=_storable(finding.detail), seconds=candidate.seconds
        )
        return verdict, doubtful


def _storable(text: str) -> str:
    """Write out lone surrogates, which a program may raise with and no file can hold."""
    return text.encode(errors="backslashreplace").decode()
