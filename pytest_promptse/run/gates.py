"""Score what a run has measured and decide its gates."""

from __future__ import annotations

from dataclasses import replace as replaced
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from msgspec.structs import replace

from pytest_promptse.errors import NotScoredError
from pytest_promptse.scoring.gate import judge_gate
from pytest_promptse.scoring.samples import Samples, TaskSamples
from pytest_promptse.scoring.suite import score_suite
from pytest_promptse.store.run_log import OutcomeRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.run.plan import PlannedGate, Suite
    from pytest_promptse.scoring.gate import Direction, Gate
    from pytest_promptse.scoring.scores import Estimate, Interval, SuiteScore
    from pytest_promptse.store.run_log import RunLog, SuiteKey, SuiteRow

Mode = Literal["promptse", "light"]


class Scores:
    """The scores of a run's suites, computed from the variants measured so far.

    Parameters
    ----------
    run_log
        The log of the run.
    """

    def __init__(self, run_log: RunLog) -> None:
        self._run_log = run_log
        self._computed: dict[SuiteKey, tuple[int, SuiteScore | None]] = {}

    def of(self, suite: SuiteRow) -> SuiteScore | None:
        """Return the score of a suite, computed again whenever another variant was measured.

        A task whose original was not measured is left out. Without any measured original the
        result is None.

        Raises
        ------
        NotScoredError
            If the mode is ``promptse`` and a log-probability is missing.
        """
        n_measured = self._run_log.count(suite.key)
        known, score = self._computed.get(suite.key, (None, None))
        if known != n_measured:
            score = _score(suite, self._run_log)
            self._computed[suite.key] = (n_measured, score)
        return score

    def of_task(self, suite: SuiteRow, task: str) -> SuiteScore | None:
        """Return the score of one task, computed like that of a suite with this task only.

        All tasks of a suite are judged together, so its intervals are at a level divided by the
        number of tasks: the probability of any false failure is that of one interval.

        Raises
        ------
        NotScoredError
            As `of`.
        """
        return _score(replace(suite, tasks=[task]), self._run_log, comparisons=len(suite.tasks))

    def decide(self, suite: Suite, planned: PlannedGate) -> Gate:
        """Compare the figure of a gate with its threshold, from what was measured so far.

        Raises
        ------
        NotScoredError
            As `of`, and if no original was measured.
        """
        task = planned.task
        score = self.of_task(suite.row, task.id) if task else self.of(suite.row)
        if score is None:
            raise NotScoredError(f"{suite.id}: no original was measured, so there is no score")
        figure = _figure(planned, score)
        gate = judge_gate(
            planned.name,
            figure.value,
            planned.threshold,
            ci95=figure.ci95,
            exact=figure.exact,
            kind=suite.settings.gate,
            null=figure.null,
            samples=suite.settings.samples,
            original_samples=suite.settings.original_samples,
            direction=figure.direction,
        )
        return replaced(gate, excess=figure.excess)


def to_samples(
    *, causes: Sequence[str], logprobs: Sequence[float | None], n_tokens: Sequence[int | None]
) -> Samples:
    """Return the samples of one prompt as the arrays that the formulas take.

    Parameters
    ----------
    causes
        Why each sample failed, in sample order; empty for one that passed.
    logprobs, n_tokens
        Log-probability and number of tokens of each sample. The result has neither if one is
        missing.
    """
    has_logprobs = None not in logprobs and None not in n_tokens
    return Samples(
        passed=np.array([cause == "" for cause in causes]),
        logprob=np.array(logprobs, dtype=float) if has_logprobs else None,
        n_tokens=np.array(n_tokens, dtype=int) if has_logprobs else None,
        causes=tuple(causes),
    )


class _Figure(NamedTuple):
    value: float | None
    ci95: Interval | None
    exact: Interval | None
    direction: Direction = "at least"
    null: float | None = None
    excess: float | None = None


def _figure(planned: PlannedGate, score: SuiteScore) -> _Figure:
    match planned.name:
        case "auc-e":
            return _Figure(
                score.auc_e,
                score.ci95,
                score.exact,
                null=score.auc_e_null,
                excess=score.excess,
            )
        case "excess":
            return _Figure(
                score.excess,
                score.excess_ci95,
                score.excess_exact,
                "at most",
                excess=score.excess,
            )
        case "loss" | "shortfall" | "flips":
            found: Estimate = getattr(score, planned.name)
            return _Figure(found.value, found.ci95, found.exact, "at most")
        case "squared-sensitivity":
            found = score.squared_sensitivity
            return _Figure(found.value, found.ci95, found.exact, "at most")
        case "robust-pass":
            found = score.robust_pass
            return _Figure(found.value, found.ci95, found.exact)
    [distance] = planned.distances
    return _Figure(
        score.elasticity[distance],
        score.elasticity_ci95[distance],
        score.elasticity_exact[distance],
        null=score.elasticity_null[distance],
        excess=score.elasticity_excess[distance],
    )


def _score(suite: SuiteRow, run_log: RunLog, *, comparisons: int = 1) -> SuiteScore | None:
    # One task at a time, so that memory does not grow with the number of tasks.
    tasks = (
        _to_task(rows, suite.distances)
        for rows in run_log.measured(suite, OutcomeRow)
        if rows[0].distance == 0.0
    )
    first = next(tasks, None)
    if first is None:
        return None
    all_rows = (row for rows in run_log.measured(suite, OutcomeRow) for row in rows)
    return score_suite(
        chain([first], tasks),
        distances=suite.distances,
        mode=_mode_of(all_rows, suite.mode),
        weighting=suite.weighting,
        seed=suite.seed,
        over_emotions=suite.settings.get("interval") == "tasks+emotions",
        looks=len(suite.looks) * comparisons,
        planned=suite.looks[-1] if len(suite.looks) > 1 else None,
    )


def _to_task(rows: Sequence[OutcomeRow], distances: Iterable[float]) -> TaskSamples:
    variants: dict[float, list[Samples]] = {distance: [] for distance in distances}
    emotions: dict[float, list[str]] = {distance: [] for distance in variants}
    for row in rows[1:]:
        variants[row.distance].append(_samples_of(row))
        emotions[row.distance].append(row.emotion or "")
    return TaskSamples(
        task_id=rows[0].task,
        original=_samples_of(rows[0]),
        variants=variants,
        emotions=emotions,
    )


def _samples_of(row: OutcomeRow) -> Samples:
    try:
        return to_samples(causes=row.causes, logprobs=row.logprobs, n_tokens=row.n_tokens)
    except ValueError as error:
        # Such as a log-probability above 0, which only the model can have returned.
        raise NotScoredError(f"{row.task} {row.variant} ({row.model}): {error}") from None


def _mode_of(rows: Iterable[OutcomeRow], chosen: Literal["auto", "promptse", "light"]) -> Mode:
    """Return the mode to score in; ``auto`` is ``promptse`` if no log-probability is missing."""
    if chosen == "light":
        return "light"
    missing = next((row for row in rows if not row.has_logprobs), None)
    if missing is None:
        return "promptse"
    if chosen == "promptse":
        raise NotScoredError(
            f"mode promptse needs log-probabilities, and {missing.model} gave none for "
            f"{missing.task} {missing.variant}; give --promptse-mode light"
        )
    return "light"
