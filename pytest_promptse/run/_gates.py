"""Score what a run has measured and decide its gates."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from msgspec.structs import replace

from pytest_promptse.config._metrics import metric_of
from pytest_promptse.errors import NotScoredError
from pytest_promptse.scoring._copies import PromptAnswers, count_answers
from pytest_promptse.scoring._gate import judge_gate
from pytest_promptse.scoring._noiseless import least_flips, least_sensitivity, least_shortfall
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._scores import Estimate
from pytest_promptse.scoring._suite import score_suite
from pytest_promptse.store._run_log import OutcomeRow, SuiteRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_promptse.config._metrics import Metric
    from pytest_promptse.scoring._scores import Gate, SuiteScore
    from pytest_promptse.store._measured_variant import DrawRecord
    from pytest_promptse.store._run_log import PlannedGate, RunLog, SuiteKey

Mode = Literal["promptse", "light"]

# The level of one side of an interval.
_LEVEL = 0.025
_RESAMPLES = 9999
# The number of comparisons whose level this number of resamples resolves.
_RESOLVED = 100
# The remedy for the most frequent cause of failure if no original is solved.
_HINTS = {
    "truncated": "raise --promptse-max-tokens, which is {max_tokens}",
    "no_code": "the completions contain no program; look at them in the report",
}


class Scores:
    """The scores of a run's suites, computed from the variants measured so far.

    Parameters
    ----------
    run_log
        The log of the run. Variants that are added to it later count as well.
    """

    def __init__(self, run_log: RunLog) -> None:
        self._run_log = run_log
        self._computed: dict[tuple[SuiteKey, int], tuple[int, SuiteScore | None]] = {}

    def of(self, suite: SuiteRow, *, comparisons: int = 1) -> SuiteScore | None:
        """Return the score of a suite, computed again whenever another variant was measured.

        A task whose original was not measured is left out. Without any measured original the
        result is None. The level of the intervals is divided by the number of comparisons.

        Raises
        ------
        NotScoredError
            If the mode is ``promptse`` and a log-probability is missing.
        """
        n_measured = self._run_log.count(suite.key)
        n_scored, score = self._computed.get((suite.key, comparisons), (None, None))
        if n_scored != n_measured:
            score = _score(suite, self._run_log, comparisons=comparisons)
            self._computed[suite.key, comparisons] = (n_measured, score)
        return score

    def of_task(self, suite: SuiteRow, task: str, *, comparisons: int) -> SuiteScore | None:
        """Return the score of one task, computed like that of a suite with this task only.

        The level of its intervals is divided by the number of comparisons.

        Raises
        ------
        NotScoredError
            As in `of`.
        """
        alone = replace(suite, tasks=[task], n_controls=0)
        return _score(alone, self._run_log, comparisons=comparisons)

    def decide(self, suite: SuiteRow, planned: PlannedGate) -> Gate:
        """Compare the figure of a gate with its threshold, using what is measured so far.

        Raises
        ------
        NotScoredError
            As in `of`, and if no original was measured.

        Notes
        -----
        A gate that passes is inconclusive if it could not have failed. This is so if the originals
        score so little that losing all of it would still meet the threshold.

        All tasks of a suite are judged together, so the level of each task's interval is divided by
        their number. The probability of any false failure is then that of a single interval. With
        ``family_level``, a gate fails only if it also fails at that level divided by the number of
        gates of the run (Bonferroni). Holm's method fails further gates only if one fails in this
        way, so it would decide the same runs, but only after the last gate.
        """
        gate = self._judged(suite, planned, self._of_gate(suite, planned))
        level = suite.settings["family_level"]
        if level is None or gate.verdict != "fail" or suite.settings["gate"] != "confident":
            return gate
        n_gates = sum(row.n_gates for row in self._run_log.rows(SuiteRow))
        together = self._of_gate(suite, planned, comparisons=math.ceil(n_gates * _LEVEL / level))
        if self._judged(suite, planned, together).verdict == "fail":
            return gate
        reason = f"all {n_gates} gates of this run (promptse_family_level = {level:g})"
        return replace(
            gate,
            verdict="inconclusive",
            message=f"{gate.message}; it fails alone, but not together with {reason}",
        )

    def _judged(self, suite: SuiteRow, planned: PlannedGate, score: SuiteScore) -> Gate:
        figure = _figure(planned, score)
        metric, estimate = figure.metric, figure.estimate
        gate = judge_gate(
            planned.name,
            estimate.value,
            planned.threshold,
            ci95=estimate.ci95,
            exact=estimate.exact,
            kind=suite.settings["gate"],
            null=figure.null,
            samples=suite.settings["samples"],
            original_samples=suite.settings["original_samples"],
            direction=metric.direction,
            noiseless=figure.noiseless,
            narrowed_by=metric.narrowed_by,
        )
        gate = replace(gate, task=planned.task, excess=figure.excess)
        if score.copied and suite.settings["gate"] == "confident":
            gate = _despite_copies(gate, score, metric)
        return _with_possible_loss(gate, score, metric)

    def decide_measured(self, suite: SuiteRow, planned: PlannedGate) -> Gate:
        """Decide a gate after everything that it needs is measured.

        Raises
        ------
        NotScoredError
            As in `decide`, and if the gate has a threshold but no original is ever solved.
        """
        if planned.threshold is not None:
            reason = self.why_nothing_is_solved(suite, planned)
            if reason is not None:
                raise NotScoredError(reason)
        return self.decide(suite, planned)

    def why_nothing_is_solved(self, suite: SuiteRow, planned: PlannedGate) -> str | None:
        """Return why no sample of an original passes, or None if one does.

        If no original is solved, variants cannot lose anything, so a gate on stability has nothing
        to decide.

        Raises
        ------
        NotScoredError
            As in `decide`.
        """
        if self._of_gate(suite, planned).pass_at_1 != 0.0:
            return None
        causes: Counter[str] = Counter()
        for rows in self._run_log.measured(suite, OutcomeRow):
            original = rows[0].variant
            if original.distance == 0.0 and planned.task in (None, original.task_id):
                causes.update(draw.cause or "" for draw in original.draws)
        n = causes.total()
        [(cause, count)] = causes.most_common(1)
        hint = _HINTS.get(cause, "see the report for examples, and test the check with reference=")
        return (
            f"no sample of the original prompt passes ({count} of {n}: "
            f"{cause.replace('_', ' ')}), so there is no stability to measure; "
            f"{hint.format(max_tokens=suite.settings['max_tokens'])}"
        )

    def _of_gate(
        self, suite: SuiteRow, planned: PlannedGate, *, comparisons: int | None = None
    ) -> SuiteScore:
        """Return the score that decides a gate, among `comparisons` gates if given."""
        if planned.task is None:
            score = self.of(suite, comparisons=comparisons or 1)
        else:
            n = comparisons or len(suite.tasks)
            score = self.of_task(suite, planned.task, comparisons=n)
        if score is None:
            raise NotScoredError(f"{suite.id}: no original was measured, so there is no score")
        return score


def to_samples(draws: Sequence[DrawRecord]) -> Samples:
    """Return the samples of one prompt as the arrays that the scoring functions take.

    If one log-probability or number of tokens is missing, the result has none of them.
    """
    logprobs = [draw.logprob for draw in draws]
    n_tokens = [draw.n_tokens for draw in draws]
    has_logprobs = None not in logprobs and None not in n_tokens
    return Samples(
        passed=np.array([draw.cause is None for draw in draws]),
        logprob=np.array(logprobs, dtype=float) if has_logprobs else None,
        n_tokens=np.array(n_tokens, dtype=int) if has_logprobs else None,
        causes=tuple(draw.cause or "" for draw in draws),
    )


class _Figure(NamedTuple):
    metric: Metric
    estimate: Estimate
    null: float | None = None
    excess: float | None = None
    noiseless: float | None = None


def _figure(planned: PlannedGate, score: SuiteScore) -> _Figure:
    metric = metric_of(planned.name)
    if metric is None:
        raise NotScoredError(
            f"the metric of the gate {planned.name} is not known here; install the plugin that "
            "adds it"
        )
    if not metric.by_distance:
        return _figure_of_suite(metric, planned, score)
    [distance] = planned.distances
    ci95, value = score.elasticity_ci95[distance], score.elasticity[distance]
    excess = score.elasticity_excess[distance]
    limits = None
    if ci95 is not None and value is not None and excess is not None:
        # The noise floor varies far less than the elasticity and has no interval.
        limits = (value + excess - ci95[1], value + excess - ci95[0])
    return _Figure(
        metric,
        Estimate(value=value, ci95=ci95, exact=score.elasticity_exact[distance]),
        null=score.elasticity_null[distance],
        excess=excess,
        noiseless=_largest_elasticity(
            Estimate(value=excess, ci95=limits), score, planned.distances
        ),
    )


def _figure_of_suite(metric: Metric, planned: PlannedGate, score: SuiteScore) -> _Figure:
    figure = _Figure(metric, score.estimates[metric.name])
    if metric.name in _NOISELESS:
        return figure._replace(noiseless=_NOISELESS[metric.name](score))
    if metric.name not in ("auc_e", "excess"):
        return figure
    figure = figure._replace(excess=score.excess)
    area_excess = Estimate(value=score.excess, ci95=score.excess_ci95)
    if metric.name == "auc_e":
        most = _largest_elasticity(area_excess, score, planned.distances)
        return figure._replace(null=score.auc_e_null, noiseless=most)
    if score.speaks_for != "reruns":
        return figure
    # The interval of the excess over reruns does not hold if the true difference is 0.
    least = least_sensitivity(area_excess, score, planned.distances)
    return figure._replace(noiseless=least)


def _largest_odds_ratio(score: SuiteScore) -> float | None:
    """Return 1 if the exact interval of the drop contains 0.

    With many tasks, the interval of the mixed model misses the 1 of stable models too often.
    """
    drop = score.estimates["drop"]
    limits = drop.exact or drop.ci95
    return 1.0 if limits is not None and limits[0] <= 0.0 else None


_NOISELESS: dict[str, Callable[[SuiteScore], float | None]] = {
    "shortfall": least_shortfall,
    "flips": least_flips,
    "odds_ratio": _largest_odds_ratio,
}
"""The limits of true figures, for `judge_gate`."""


def _largest_elasticity(
    excess: Estimate, score: SuiteScore, distances: Sequence[float]
) -> float | None:
    least = least_sensitivity(excess, score, distances)
    return None if least is None else 1.0 - least


def _despite_copies(gate: Gate, score: SuiteScore, metric: Metric) -> Gate:
    """Make a gate inconclusive whose verdict assumes that samples are independent.

    Intervals over tasks show how much tasks vary, copies included. Intervals over reruns, and the
    sampling noise that a figure subtracts, would have to know which samples are copies. So would
    the probability that several samples pass.
    """
    doubtful = score.speaks_for == "reruns" or gate.verdict == metric.copies_cause
    if gate.verdict is None or not doubtful:
        return gate
    message = (
        f"{gate.message}. But too many answers are equal: if the server returns copies, the "
        "samples vary more than independent ones. Let it sample, or give gate = point"
    )
    return replace(gate, verdict="inconclusive", message=message)


def _with_possible_loss(gate: Gate, score: SuiteScore, metric: Metric) -> Gate:
    """Make a passing gate inconclusive if it would pass even when the variants lose everything."""
    originals = [
        task.original.pass_rate if metric.loss_of == "rates" else task.original.score
        for task in score.tasks
        if task.original is not None
    ]
    if gate.verdict != "pass" or gate.threshold is None or not originals:
        return gate
    most = float(np.mean(originals))
    least = 1.0 - most
    could_fail = most > gate.threshold if metric.direction == "at most" else least < gate.threshold
    if could_fail or metric.loss_of is None:
        return gate
    message = (
        f"{gate.message}, but the originals score only {most:.2f}, so even the loss "
        "of all of it would pass"
    )
    return replace(gate, verdict="inconclusive", message=message)


def _score(suite: SuiteRow, run_log: RunLog, *, comparisons: int = 1) -> SuiteScore | None:
    all_rows = (row for rows in run_log.measured(suite, OutcomeRow) for row in rows)
    mode = _mode_of((row for row in all_rows if not row.control), suite.mode)
    # One task at a time, so that memory does not grow with the number of tasks.
    answered: list[PromptAnswers] = []

    def scored(rows: Sequence[OutcomeRow]) -> TaskSamples:
        answered.extend(answers_of(row.variant.draws) for row in rows if not row.control)
        return _to_task(rows, suite, mode)

    tasks = (
        scored(rows)
        for rows in run_log.measured(suite, OutcomeRow)
        if rows[0].variant.distance == 0.0
    )
    first = next(tasks, None)
    if first is None:
        return None
    score = score_suite(
        chain([first], tasks),
        distances=suite.distances,
        mode=mode,
        weighting=suite.weighting,
        seed=suite.seed,
        # More comparisons are decided farther out in the tails.
        resamples=_RESAMPLES * math.ceil(comparisons / _RESOLVED),
        speaks_for=suite.settings.get("interval", "tasks"),
        looks=len(suite.looks) * comparisons,
        planned=suite.looks[-1] if len(suite.looks) > 1 else None,
    )
    counted = count_answers(answered, temperature=float(suite.settings["temperature"]))
    return dataclasses.replace(score, copied=counted.copied)


def answers_of(draws: Sequence[DrawRecord]) -> PromptAnswers:
    """Return the completions of one prompt as `count_answers` takes them."""
    return PromptAnswers(
        labels=[draw.answer for draw in draws],
        logprobs=[draw.logprob for draw in draws],
        n_tokens=[draw.n_tokens for draw in draws],
    )


def _to_task(rows: Sequence[OutcomeRow], suite: SuiteRow, mode: Mode) -> TaskSamples:
    variants: dict[float, list[Samples]] = {distance: [] for distance in suite.distances}
    emotions: dict[float, list[str]] = {distance: [] for distance in variants}
    controls: dict[float, list[Samples]] = {}
    for row in rows[1:]:
        if row.control:
            # Samples without log-probabilities cannot be scored, so they must not decide the mode.
            if suite.n_controls and (mode == "light" or row.variant.has_logprobs):
                controls.setdefault(row.variant.distance, []).append(_samples_of(row))
            continue
        variants[row.variant.distance].append(_samples_of(row))
        emotions[row.variant.distance].append(row.variant.emotion or "")
    return TaskSamples(
        task_id=rows[0].variant.task_id,
        original=_samples_of(rows[0]),
        variants=variants,
        emotions=emotions,
        controls=controls,
    )


def _samples_of(row: OutcomeRow) -> Samples:
    try:
        return to_samples(row.variant.draws)
    except ValueError as error:
        # The data of the model are invalid, such as a log-probability above 0.
        raise NotScoredError(
            f"{row.variant.task_id} {row.variant.id} ({row.model}): {error}"
        ) from None


def _mode_of(rows: Iterable[OutcomeRow], chosen: Literal["auto", "promptse", "light"]) -> Mode:
    """Return the mode to score in; ``auto`` is ``promptse`` if no log-probability is missing.

    `chosen` is the mode of the settings. NotScoredError is raised if it is ``promptse`` and a row
    lacks log-probabilities.
    """
    if chosen == "light":
        return "light"
    missing = next((row for row in rows if not row.variant.has_logprobs), None)
    if missing is None:
        return "promptse"
    if chosen == "promptse":
        raise NotScoredError(
            f"mode promptse needs log-probabilities, but {missing.model} returned none for "
            f"{missing.variant.task_id} {missing.variant.id}; give --promptse-mode light"
        )
    return "light"
