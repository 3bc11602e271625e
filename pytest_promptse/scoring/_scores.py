"""The results of scoring: the figures of a prompt, a task and a suite, as plain values.

``None`` always means "not measured"; it is never replaced by 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.scoring._causes import CauseShare
    from pytest_promptse.scoring._samples import Mode, Weighting

Verdict: TypeAlias = Literal["pass", "fail", "inconclusive"]
Interval: TypeAlias = tuple[float, float]
DECIDING = ("drop", "reworded_pass")
"""The metrics by which a ranking separates its entries."""
Standing: TypeAlias = Literal["first", "undecided", "drops more", "solves fewer"]
"""The place of an entry of a ranking after the first, with the reason."""
Curve: TypeAlias = "dict[float, float | None]"
SpeaksFor: TypeAlias = Literal["tasks", "tasks+emotions", "reruns"]
"""The population that an interval covers: further tasks with the same emotions, further tasks and
emotions, or another run of the same prompts.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptScore:
    """One prompt with ``n`` samples. ``ess`` is in [1, n], the other figures are in [0, 1].

    ``score`` is the figure that elasticity compares: SoftExec in mode ``promptse``, the pass rate
    in mode ``light``. ``soft_exec`` and ``ess`` are None without log-probabilities.
    """

    n: int
    pass_rate: float
    soft_exec: float | None
    score: float
    ess: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantScore(PromptScore):
    """One variant compared with the original.

    ``delta`` is the variant's score minus the original's, in [-1, 1]. ``excess`` is ``abs(delta)``
    minus the difference that sampling alone produces. ``p_value`` is the probability of a
    difference at least as large if variants have no effect. ``p_adjusted`` is this value adjusted
    by Benjamini-Hochberg over all variants of the suite. All are None if the original is missing.
    """

    delta: float | None
    excess: float | None
    p_value: float | None
    p_adjusted: float | None


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Elasticity of a task or suite, by distance and as the area under the curve.

    Every elasticity has three companions. ``null``, the noise ceiling, is the expected elasticity
    of a stable model whose pass rates are those of the originals. ``excess`` is what the
    differences exceed those of a stable model by, with expectation 0 if variants have no effect.
    It uses the passes of original and variant together (see `null_gap`), so it is not ``null`` -
    elasticity. The p-value is from a permutation test of the hypothesis that all
    prompts do equally well.
    """

    elasticity: Curve
    elasticity_null: Curve
    elasticity_excess: Curve
    elasticity_p_value: Curve
    auc_e: float | None
    auc_e_null: float | None
    excess: float | None
    p_value: float | None


@dataclass(frozen=True, kw_only=True)
class SuiteFigures(Figures):
    """Figures of a suite with their 95 % intervals; `ci95` is that of AUC-E.

    Intervals named ``exact`` hold for every population of tasks, unseen ones included (see
    `_intervals.exact_interval`). They are None for a suite of one task.
    """

    elasticity_ci95: Mapping[float, Interval | None]
    elasticity_exact: Mapping[float, Interval | None]
    ci95: Interval | None
    exact: Interval | None
    excess_ci95: Interval | None
    excess_exact: Interval | None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure of a suite with its 95 % interval, and an interval that also holds for unseen tasks.

    These are None if the figure was not measured. ``note`` adds to the name of the figure.
    """

    value: float | None = None
    ci95: Interval | None = None
    exact: Interval | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class TaskScore(Figures):
    """One task in the suite's mode, and in ``light`` by PromptSELight.

    ``p_adjusted`` is the p-value of AUC-E, adjusted by Benjamini-Hochberg over the suite's tasks.
    ``causes`` splits 1 minus each elasticity by the causes of failed samples; it is empty if causes
    are unknown. ``controls`` are the length-matched control variants by distance.
    """

    task_id: str
    p_adjusted: float | None
    original: PromptScore | None
    variants: dict[float, tuple[VariantScore, ...]]
    causes: dict[float, dict[str, CauseShare]]
    light: Figures
    controls: dict[float, tuple[PromptScore, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LengthControlLevel:
    """One distance of `LengthControl`, over the ``n_tasks`` tasks that have both kinds of variants.

    ``loss`` and ``control_loss`` are mean losses in [-1, 1], ``excess_loss`` is their difference.
    """

    n_tasks: int
    loss: float
    control_loss: float
    excess_loss: Estimate


@dataclass(frozen=True, kw_only=True)
class LengthControl:
    """The loss that remains after subtracting the effect of length (see `_length_control`).

    The figures over all distances are areas under the curves, or None if a distance is missing.
    """

    loss: float | None
    control_loss: float | None
    excess_loss: Estimate
    levels: Mapping[float, LengthControlLevel]


@dataclass(frozen=True, kw_only=True)
class SuiteScore(SuiteFigures):
    """A suite: the mean over its tasks. Each distance is averaged over the tasks that have it.

    ``estimates`` has the estimate of every metric that has no figure by distance, by name, also of
    AUC-E and excess. Their definitions are in `_robustness`, `_odds_ratio` and the plugins that add
    metrics. ``drops`` has the drop at each distance, and over all distances with the weights of
    AUC-E, by the distances. ``speaks_for`` is the population that the intervals cover.
    ``ess_median`` is the median effective sample size over all prompts.
    ``tasks`` are in the order of the input. ``copied`` is True if answers are copies of others (see
    `_copies`). ``looks`` is the number of intervals that share the level of 95 %.
    """

    n_tasks: int
    mode: Mode
    weighting: Weighting
    distances: tuple[float, ...]
    estimates: Mapping[str, Estimate]
    drops: Mapping[tuple[float, ...], Estimate]
    speaks_for: SpeaksFor
    length_control: LengthControl | None
    ess_median: float | None
    light: SuiteFigures
    causes: Mapping[float, Mapping[str, CauseShare]]
    warnings: tuple[str, ...]
    tasks: tuple[TaskScore, ...]
    copied: bool = False
    looks: int = 1

    @property
    def pass_at_1(self) -> float | None:
        """The mean pass rate of the originals, in [0, 1]."""
        return self.estimates["pass_at_1"].value


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A decided gate, as stored in the run log and the record.

    ``verdict`` is None if there was nothing to decide: no threshold, or no measured figure.
    ``task`` is None for a gate of the whole suite. ``ci95`` is the 95 % interval of ``value``, and
    ``exact`` is the interval that also holds for tasks outside the suite. ``value`` and the
    intervals are in the unit of ``threshold``. ``excess`` is the excess sensitivity of the gate's
    figure. ``message`` is one line, and so is each of ``warnings``.
    """

    name: str
    task: str | None = None
    threshold: float | None
    value: float | None
    ci95: tuple[float, float] | None = None
    exact: tuple[float, float] | None = None
    excess: float | None = None
    verdict: Verdict | None
    message: str
    warnings: list[str] = []


class TaskDrop(msgspec.Struct, frozen=True, kw_only=True):
    """The drop of one task: the pass rate of its original minus the mean pass rate of its variants.

    ``ci95`` is an interval for a rerun of the same prompts. ``shrunken`` is between ``value`` and
    the mean of the suite. On average, ``shrunken`` is closer to the true drop than ``value``.
    ``equivalent`` is True if the interval for two one-sided tests at 5 % excludes a drop and a gain
    of ``margin`` or more. The margin is the threshold of the suite's drop, or 0.1 without a
    threshold.
    """

    value: float
    ci95: tuple[float, float]
    shrunken: float
    margin: float
    equivalent: bool


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a ranking: a template or a model, compared on the common tasks and variants.

    ``figures`` maps the name of each compared metric to its value, or to None if it was not
    measured. ``standing`` is ``first`` for the first entry, and states the reason for the place of
    every later entry. A later entry has ``solves fewer`` if it solves fewer variants than at least
    one other entry. Otherwise the entry has ``drops more`` if its drop is larger than that of the
    first entry, or ``undecided`` if the intervals do not show which of the two is better.

    ``tokens_per_solved`` and ``cost_per_solved`` are the tokens and the cost of one attempt at the
    original prompt, divided by pass@1. Both are None without token counts or if no task is solved,
    and the cost is also None without a price. ``pareto`` is True if no other entry is at least as
    good in pass@1, reworded pass, drop and price, and better in one of them.
    """

    name: str
    figures: dict[str, float | None]
    standing: Standing
    tokens_per_solved: float | None = None
    cost_per_solved: float | None = None
    pareto: bool


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of the entry ``name`` minus that of the entry ``other``, paired by task.

    The intervals ``ci95`` of all differences of a ranking have a joint confidence level of 95 %.
    ``better`` is the entry with the better figure, or None if the interval contains 0, so that the
    pair is undecided. With a single task, the intervals state only what a rerun of its prompts may
    give, and nothing about other tasks.
    """

    metric: str
    name: str
    other: str
    difference: float
    ci95: tuple[float, float]
    better: str | None

    def turned(self) -> Difference:
        """Return the same difference as that of ``other`` minus ``name``."""
        low, high = self.ci95
        return replace(
            self,
            name=self.other,
            other=self.name,
            difference=-self.difference,
            ci95=(-high, -low),
        )


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """Entries in their order, and the difference of every pair in reworded pass and drop.

    ``choice`` is the first entry if every other one drops more or solves fewer variants, else None.
    ``tasks_to_decide`` is roughly the number of tasks that separates the first entry from the next
    undecided one with 80 %, if they differ as measured. It is None if no entry is undecided, or if
    more than 10,000 tasks would be needed.
    """

    n_tasks: int
    entries: list[Ranked]
    differences: list[Difference]
    choice: str | None
    tasks_to_decide: int | None
