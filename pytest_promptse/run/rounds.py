"""Rounds: a suite is looked at after each, and stops once its gates are decided.

A look is settled once for all processes of a run, and follows from what was measured alone, so
that a run over workers and a second run over the same store stop where the first one did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.store.run_log import LookRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.run.plan import Suite, Wording
    from pytest_promptse.sampling.job import Job
    from pytest_promptse.sampling.sampler import Sampler
    from pytest_promptse.store.run_log import RunLog, SuiteKey


class Rounds:
    """The looks at the suites of one run that are drawn in rounds.

    Parameters
    ----------
    run_log
        Where looks are settled.
    sampler
        Asked for the next round as soon as a look leaves a gate open.
    """

    def __init__(self, run_log: RunLog, sampler: Sampler) -> None:
        self._run_log = run_log
        self._sampler = sampler
        self._looks: dict[tuple[SuiteKey, int], LookRow] = {}

    def end(
        self, suite: Suite, *, before: int, decided: Callable[[Sequence[Wording]], bool]
    ) -> LookRow | None:
        """Return the look at which `suite` ended among the first `before`, None where it goes on.

        `decided` measures the wordings up to a look, as far as that has not been done, and says
        whether every gate is decided by them.
        """
        for look in range(before):
            row = self._look(suite, look, decided)
            if row.ended:
                return row
        return None

    def _look(
        self, suite: Suite, look: int, decided: Callable[[Sequence[Wording]], bool]
    ) -> LookRow:
        key = (suite.key, look)
        if key not in self._looks:
            known = self._run_log.look(suite.key, look)
            row = self._looks[key] = known or self._settle(suite, look, decided)
            if not row.ended:
                self._sampler.request(_round(suite, look + 1))
        return self._looks[key]

    def _settle(
        self, suite: Suite, look: int, decided: Callable[[Sequence[Wording]], bool]
    ) -> LookRow:
        drawn = suite.drawn(look)
        enough = decided(drawn)
        ended = enough or look + 1 == len(suite.looks)
        row = LookRow(
            suite=suite.id,
            model=suite.model,
            template=suite.key.template,
            look=look,
            decided=enough,
            ended=ended,
            wordings=len(drawn),
            completions=sum(wording.job.n for wording in drawn),
            most=sum(wording.job.n for wording in suite.wordings),
            cached=0 if ended else self._sampler.count_stored(_round(suite, look + 1)),
        )
        return self._run_log.settle(row)


def _round(suite: Suite, number: int) -> list[Job]:
    return [wording.job for wording in suite.wordings if suite.round_of(wording) == number]
