"""Make the prompts that need answers of a model, before the variants are measured."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import Prompt
from pytest_promptse.run._model_variants import ModelVariants, PendingText, no_room
from pytest_promptse.sampling._job import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_promptse.run._plan import PlannedVariant, Suite
    from pytest_promptse.run._variant_prompts import Answer
    from pytest_promptse.sampling._sampler import Sampler
    from pytest_promptse.store._run_log import RunLog, SuiteKey
    from pytest_promptse.store._store import Store

_CHECK_SECONDS = 0.2
"""Seconds between two checks for texts that have arrived."""
_CHECK_SHARE = 9.0
"""Pause after a check, as a multiple of the duration of the check."""


class _Waiting(NamedTuple):
    """A variant whose texts were requested, with these requests."""

    suite: Suite
    planned: PlannedVariant
    jobs: list[Job]


class TextRequests:
    """Request the texts and then the samples of variants, in the order in which they are needed.

    Parameters
    ----------
    store, run_log, sampler
        Return these parts of the run.
    """

    def __init__(
        self,
        *,
        store: Callable[[], Store],
        run_log: Callable[[], RunLog],
        sampler: Callable[[], Sampler],
    ) -> None:
        self._store = store
        self._run_log = run_log
        self._sampler = sampler
        self._model_variants = ModelVariants(store)
        self._waiting: dict[str, _Waiting] = {}
        self._checked = 0.0
        self._controls: dict[SuiteKey, list[PlannedVariant]] = defaultdict(list)

    def select(self, selected: Iterable[tuple[Suite, PlannedVariant]]) -> None:
        """Remember the control variants among the selected ones, for `request_round`."""
        for suite, planned in selected:
            if planned.control:
                self._controls[suite.key].append(planned)

    def expected_jobs(self, suite: Suite, planned: PlannedVariant) -> list[Job]:
        """Return all requests that a variant may still need, as an upper bound for the cost."""
        jobs = self.next_jobs(suite, planned)
        if planned.job.key in self._waiting:
            jobs.append(planned.job)
        pending = planned.pending
        while pending is not None:
            for needed in pending.needed:
                jobs += (
                    [planned.job_for(needed, first=True)]
                    if isinstance(needed, Prompt)
                    else self._model_variants.expected_jobs(needed)
                )
            pending = pending.later
        return jobs

    def next_jobs(self, suite: Suite, planned: PlannedVariant) -> list[Job]:
        """Return the next requests for a variant: for the answers that it needs, or its samples.

        The list is empty if the rewriter's model failed; the item of the variant reports that
        error.
        """
        try:
            jobs = self._jobs_before_samples(planned)
        except ModelError:
            # The item that measures the variant reports the error.
            self._waiting.pop(planned.job.key, None)
            return []
        if isinstance(jobs, list):
            self._waiting[planned.job.key] = _Waiting(suite, planned, jobs)
            return jobs
        self._waiting.pop(planned.job.key, None)
        return [jobs.job]

    def _jobs_before_samples(self, planned: PlannedVariant) -> list[Job] | PlannedVariant:
        """Return the requests that a prompt still needs, or the variant with its prompt."""
        while planned.pending is not None:
            steps = [self._step(planned, needed) for needed in planned.pending.needed]
            if jobs := [step for step in steps if isinstance(step, Job)]:
                return jobs
            planned = planned.given([step for step in steps if not isinstance(step, Job)])
        return planned

    def _step(self, planned: PlannedVariant, needed: PendingText | Prompt) -> Answer | Job:
        """Return an answer that a prompt needs, or the next request for it."""
        if isinstance(needed, PendingText):
            return self._model_variants.next_step(needed)
        job = planned.job_for(needed, first=True)
        completions = self._store().completions(job.key, 1, since=job.since)
        return completions[0].text if completions else job

    def request(self, suite: Suite, variants: Sequence[PlannedVariant]) -> None:
        """Request what variants of a suite need next."""
        jobs = [job for planned in variants for job in self.next_jobs(suite, planned)]
        self._sampler().request(jobs)

    def request_round(self, suite: Suite, variants: Sequence[PlannedVariant]) -> None:
        """Request the variants of the next round, and the selected controls beside them.

        A control variant belongs to the round of its variant.
        """
        rounds = {suite.round_of(planned) for planned in variants}
        controls = self._controls.get(suite.key, ())
        beside = [planned for planned in controls if suite.round_of(planned) in rounds]
        self.request(suite, [*variants, *beside])

    def process_arrived(self) -> None:
        """Process the texts that have arrived, at most at intervals; called while an item waits."""
        began = time.monotonic()
        if not self._waiting or began < self._checked + _CHECK_SECONDS:
            return
        keys = {job.key: 1 for waiting in self._waiting.values() for job in waiting.jobs}
        missing = self._store().missing(keys)
        for waiting in list(self._waiting.values()):
            if not any(missing[job.key] for job in waiting.jobs):
                self.request(waiting.suite, [waiting.planned])
        # Checking many variants takes long, so a pause follows that leaves time for other work.
        now = time.monotonic()
        self._checked = now + _CHECK_SHARE * (now - began)

    def written(self, planned: PlannedVariant, tick: Callable[[], object]) -> PlannedVariant:
        """Wait for all that the prompt of a variant needs, and return the variant with its prompt.

        `tick` is called while it waits.

        Raises
        ------
        NotScoredError
            If a text is missing or every text was rejected.
        """
        while planned.pending is not None:
            needed = planned.pending.needed
            planned = planned.given([self._answer(planned, answer, tick) for answer in needed])
        return planned

    def _answer(
        self, planned: PlannedVariant, needed: PendingText | Prompt, tick: Callable[[], object]
    ) -> Answer:
        try:
            while isinstance(step := self._step(planned, needed), Job):
                self._sampler().wait(step, tick=tick)
        except ModelError as error:
            if isinstance(needed, PendingText) and (message := no_room(error)):
                raise ModelError(message) from error
            raise
        finally:
            if isinstance(needed, PendingText):
                for row in self._model_variants.rows(needed):
                    self._run_log().add(row)
        return step
