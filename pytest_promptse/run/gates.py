"""From rows to scores: the one place where measured wordings meet the formulas."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec.structs import replace

from pytest_promptse.errors import NotScoredError
from pytest_promptse.scoring.samples import Samples, TaskSamples
from pytest_promptse.scoring.suite import score_suite
from pytest_promptse.store.run_log import OutcomeRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.scoring.scores import SuiteScore
    from pytest_promptse.store.run_log import RunLog, SuiteKey, SuiteRow

Mode = Literal["promptse", "light"]


class Scores:
    """The scores of a run's suites, made of what its run_log holds of them so far."""

    def __init__(self, run_log: RunLog) -> None:
        self._run_log = run_log
        self._made: dict[SuiteKey, tuple[int, SuiteScore | None]] = {}

    def of(self, suite: SuiteRow) -> SuiteScore | None:
        """Score a suite, once for as many of its wordings as were measured.

        Tasks of which the original was not measured are left out: nothing can be said of them.
        Without any such original there is no score.

        Raises
        ------
        NotScoredError
            If mode promptse was asked for and a log-probability is missing.
        """
        n = self._run_log.count(suite.key)
        known, made = self._made.get(suite.key, (None, None))
        if known != n:
            made = _score(suite, self._run_log)
            self._made[suite.key] = (n, made)
        return made

    def of_task(self, suite: SuiteRow, task: str) -> SuiteScore | None:
        """Score one task as `of` does a suite of that task alone: its interval is the task's."""
        return _score(replace(suite, tasks=[task]), self._run_log)


def _score(suite: SuiteRow, run_log: RunLog) -> SuiteScore | None:
    """Score what was measured of one suite and model, reading it task by task."""
    tasks = (
        _to_task(rows, suite.distances)
        for rows in run_log.measured(suite, OutcomeRow)
        if rows[0].distance == 0.0
    )
    first = next(tasks, None)
    if first is None:
        return None
    everything = (row for rows in run_log.measured(suite, OutcomeRow) for row in rows)
    return score_suite(
        chain([first], tasks),
        distances=suite.distances,
        mode=_mode_of(everything, suite.mode),
        weighting=suite.weighting,
        seed=suite.seed,
        looks=len(suite.looks),
        planned=suite.looks[-1] if len(suite.looks) > 1 else None,
    )


def _to_task(rows: Sequence[OutcomeRow], distances: Iterable[float]) -> TaskSamples:
    variants: dict[float, list[Samples]] = {distance: [] for distance in distances}
    for row in rows[1:]:
        variants[row.distance].append(to_samples(row))
    return TaskSamples(task_id=rows[0].task, original=to_samples(rows[0]), variants=variants)


def to_samples(row: OutcomeRow) -> Samples:
    """Turn one wording's outcome into the arrays that the formulas take."""
    scored = row.has_logprobs
    return Samples(
        passed=np.array([cause == "" for cause in row.causes]),
        logprob=np.array(row.logprobs, dtype=float) if scored else None,
        n_tokens=np.array(row.n_tokens, dtype=int) if scored else None,
        causes=tuple(row.causes),
    )


def _mode_of(rows: Iterable[OutcomeRow], asked: Literal["auto", "promptse", "light"]) -> Mode:
    """Return the mode that `rows` allow: ``auto`` is promptse where nothing is missing."""
    if asked == "light":
        return "light"
    missing = next((row for row in rows if not row.has_logprobs), None)
    if missing is None:
        return "promptse"
    if asked == "promptse":
        raise NotScoredError(
            f"mode promptse needs log-probabilities, and {missing.model} gave none for "
            f"{missing.task} {missing.variant}; give --promptse-mode light"
        )
    return "light"
