"""Sample a suite in rounds and stop as soon as its gates are decided.

After each round the gates are evaluated in an interim analysis, a "look". The run log keeps one
result per look for all processes of a run. The result depends only on the measured data. So all
workers of a run, and a second run with the same store, stop at the same look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.store._run_log import LookRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.run._plan import PlannedVariant, Suite
    from pytest_promptse.sampling._job import Job
    from pytest_promptse.store._run_log import RunLog, SuiteKey


class Rounds:
    """The looks of all suites that one run samples in rounds.

    Parameters
    ----------
    run_log
        Keeps the result of each look.
    request
        Called with a suite and the variants of its next round when a look leaves a gate undecided.
    count_stored
        Returns how many samples of jobs are in the store.
    """

    def __init__(
        self,
        run_log: RunLog,
        *,
        request: Callable[[Suite, Sequence[PlannedVariant]], object],
        count_stored: Callable[[Sequence[Job]], int],
    ) -> None:
        self._run_log = run_log
        self._request = request
        self._count_stored = count_stored
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
            Measures the given variants if necessary, and returns whether they decide all gates.
        """
        for look in range(round_):
            row = self._look(suite, look, decided)
            if row.ended:
                return row
        return None

    def end(self, suite: Suite, *, decided: Callable[[Sequence[PlannedVariant]], bool]) -> LookRow:
        """Return the look that ends a suite; this is the last one if none ends it earlier.

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
            logged = self._run_log.look(suite.key, look)
            row = self._looks[key] = logged or self._take_look(suite, look, decided)
            if not row.ended:
                self._request(suite, _variants_of_round(suite, look + 1))
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
            variants=len(sampled),
            completions=sum(planned.n_completions for planned in sampled),
            max_completions=sum(planned.n_completions for planned in suite.variants),
            cached=0 if ended else self._count_cached(suite, look + 1),
        )
        return self._run_log.add_if_absent(row)

    def _count_cached(self, suite: Suite, round_: int) -> int:
        return self._count_stored([planned.job for planned in _variants_of_round(suite, round_)])


def _variants_of_round(suite: Suite, round_: int) -> list[PlannedVariant]:
    return [planned for planned in suite.variants if suite.round_of(planned) == round_]
