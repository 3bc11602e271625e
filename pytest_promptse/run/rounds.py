"""Sample a suite in rounds and stop as soon as its gates are decided.

After each round the gates are evaluated in an interim analysis, a "look". The run log keeps one
result per look for all processes of a run. The result depends only on what was measured, so a run
over several workers, and a second run over the same store, stop at the same look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.store.run_log import LookRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.run.plan import PlannedVariant, Suite
    from pytest_promptse.sampling.job import Job
    from pytest_promptse.sampling.sampler import Sampler
    from pytest_promptse.store.run_log import RunLog, SuiteKey


class Rounds:
    """The looks of all suites that one run samples in rounds.

    Parameters
    ----------
    run_log
        Keeps the result of each look.
    sampler
        Receives the jobs of the next round when a look leaves a gate undecided.
    """

    def __init__(self, run_log: RunLog, sampler: Sampler) -> None:
        self._run_log = run_log
        self._sampler = sampler
        self._looks: dict[tuple[SuiteKey, int], LookRow] = {}

    def end_before(
        self, suite: Suite, round_: int, *, decided: Callable[[Sequence[PlannedVariant]], bool]
    ) -> LookRow | None:
        """Return the look that ended a suite before a round, or None if the round is needed.

        Parameters
        ----------
        suite
            A suite in rounds.
        round_
            The round, counted from 0.
        decided
            Measures the given variants, unless that was done, and returns whether they decide
            all gates.
        """
        for look in range(round_):
            row = self._look(suite, look, decided)
            if row.ended:
                return row
        return None

    def end(self, suite: Suite, *, decided: Callable[[Sequence[PlannedVariant]], bool]) -> LookRow:
        """Return the look that ends a suite, which is the last one at the latest.

        The parameters are those of `end_before`.
        """
        look = 0
        while not (row := self._look(suite, look, decided)).ended:
            look += 1
        return row

    def _look(
        self, suite: Suite, look: int, decided: Callable[[Sequence[PlannedVariant]], bool]
    ) -> LookRow:
        key = (suite.key, look)
        if key not in self._looks:
            known = self._run_log.look(suite.key, look)
            row = self._looks[key] = known or self._take_look(suite, look, decided)
            if not row.ended:
                self._sampler.request(_jobs_of_round(suite, look + 1))
        return self._looks[key]

    def _take_look(
        self, suite: Suite, look: int, decided: Callable[[Sequence[PlannedVariant]], bool]
    ) -> LookRow:
        sampled = suite.sampled_by(look)
        enough = decided(sampled)
        ended = enough or look + 1 == len(suite.looks)
        row = LookRow(
            suite=suite.id,
            model=suite.model,
            template=suite.key.template,
            look=look,
            decided=enough,
            ended=ended,
            wordings=len(sampled),
            completions=sum(planned.job.n for planned in sampled),
            most=sum(planned.job.n for planned in suite.variants),
            cached=0 if ended else self._sampler.count_stored(_jobs_of_round(suite, look + 1)),
        )
        return self._run_log.add_if_absent(row)


def _jobs_of_round(suite: Suite, round_: int) -> list[Job]:
    return [planned.job for planned in suite.variants if suite.round_of(planned) == round_]
