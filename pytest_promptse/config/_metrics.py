"""The table of metrics: everything that options, gates, records and reports know about a figure.

A metric is added by one entry in `METRICS`, or by another package through the hook
``pytest_promptse_metrics``. This module needs only the standard library, since options are made
from it in every pytest session.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.config._task_outcomes import PromptGroup, TaskOutcomes

Direction: TypeAlias = Literal["at least", "at most"]
Unit: TypeAlias = Literal["share", "difference", "ratio"]


Figure: TypeAlias = "Callable[[TaskOutcomes], Any]"
"""Returns the figure of one task: a number for outcomes without further axes, else an array of the
shape of these axes. NaN means that the task has no such figure."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A figure of a suite: the mean of one value per task, with an interval over the tasks.

    Attributes
    ----------
    name
        The metric's key in the record, in lower case with underscores. The name of the metric's
        gate has hyphens instead of underscores.
    label, short_label
        The metric's name in messages and tables, and a shorter name for narrow columns.
    figure
        A function that returns the figure of a task from its `TaskOutcomes`. None for a built-in
        metric that is not a mean over tasks.
    direction
        ``"at least"`` if larger values are better, ``"at most"`` if smaller values are better.
    bounds
        The smallest and the largest possible figure of a task.
    unit
        The format of values. A ``"share"`` is written as a plain number, a ``"difference"`` with a
        sign, and a large ``"ratio"`` with a power of ten.
    threshold_help
        One line for ``--help`` about the option that sets the threshold, or None if there is no
        gate. The name of the option is ``min_`` or ``max_`` followed by `name`.
    needs_variants
        False if the figure depends only on the original prompt.
    is_unbiased
        True if the expected figure does not depend on the number of samples. If False, the figure
        is not compared between runs with different numbers of samples.
    may_stop_early
        True if the expected figure does not depend on the number of variants, and if its interval
        allows for variants that are not sampled yet. With ``samples = auto``, only gates of such
        metrics stop a suite before its last round.
    is_compared
        True if the figure is compared with its value in a baseline.
    always_shown
        True if a comparison with a baseline shows the figure even without a margin.
    gate_without_threshold
        True if a suite has a pytest item for the figure even without a threshold.
    by_distance
        True if there is a figure, a threshold and a gate for each distance.
    loss_of
        ``"scores"`` if the mean score of the originals limits how much variants can change the
        figure, ``"rates"`` if their mean pass rate does. A gate with a threshold beyond this limit
        could never fail, so the gate must not pass either. None if a gate can fail at every
        threshold.
    copies_cause
        The verdict that becomes unreliable if the server returns copies of completions instead of
        independent ones. If there are copies, the gate is inconclusive instead of giving this
        verdict. Use ``"fail"`` if the figure subtracts the noise of independent samples, because a
        figure computed from copies varies more. Use ``"pass"`` if the figure is the probability
        that several attempts pass, because copies of one completion all pass or all fail.
    narrowed_by
        The remedy to print if the threshold is in the interval ``exact`` but not in ``ci95``.
    """

    name: str
    label: str
    short_label: str = ""
    figure: Figure | None = None
    direction: Direction = "at least"
    bounds: tuple[float, float] = (0.0, 1.0)
    unit: Unit = "share"
    threshold_help: str | None = None
    needs_variants: bool = True
    is_unbiased: bool = False
    may_stop_early: bool = False
    is_compared: bool = True
    always_shown: bool = False
    gate_without_threshold: bool = False
    by_distance: bool = False
    loss_of: Literal["scores", "rates"] | None = None
    copies_cause: Literal["fail", "pass"] | None = None
    narrowed_by: str = "More tasks would narrow it"

    @property
    def option(self) -> str | None:
        """The option that sets the threshold, such as ``min_auc_e``."""
        if self.threshold_help is None:
            return None
        return ("min_" if self.direction == "at least" else "max_") + self.name

    @property
    def gate(self) -> str:
        """The name of the gate in item ids, such as ``robust-pass``."""
        return self.name.replace("_", "-")

    @property
    def less_is_better(self) -> bool:
        """True if smaller values are better."""
        return self.direction == "at most"

    def gate_at(self, distance: float) -> str:
        """Return the name of the gate at one distance, such as ``elasticity-d0.3``."""
        return f"{self.gate}-d{distance:g}"


def _pass_hat(prompts: PromptGroup, *, k: int) -> Any:
    """Return the probability that k attempts at the same prompt all pass, as a mean over prompts.

    If c of n samples pass, C(c, k) / C(n, k) is an unbiased estimate of it. The source is Yao et
    al., tau-bench, 2024, arXiv:2406.12045, section 3.
    """
    if prompts.n.min() < k:
        return math.nan
    share: Any = 1.0
    for attempt in range(k):
        share = share * (prompts.passes - attempt).clip(0.0) / (prompts.n - attempt)
    return share.mean(axis=-1)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="auc_e",
            label="AUC-E",
            threshold_help="minimum AUC-E of a suite",
            may_stop_early=True,
            always_shown=True,
            gate_without_threshold=True,
            loss_of="scores",
        ),
        Metric(
            name="elasticity",
            label="elasticity",
            threshold_help="minimum elasticity of a suite: one value such as 0.8, or values per "
            "distance such as 0.1=0.9,0.3=0.7",
            may_stop_early=True,
            gate_without_threshold=True,
            by_distance=True,
            loss_of="scores",
        ),
        Metric(
            name="pass_at_1",
            label="pass@1",
            figure=lambda task: task.original.rates[..., 0],
            needs_variants=False,
            is_unbiased=True,
            always_shown=True,
        ),
        Metric(
            name="reworded_pass",
            label="pass rate of the variants",
            short_label="reworded",
            figure=lambda task: task.variants.rates.mean(axis=-1),
            is_unbiased=True,
        ),
        Metric(
            name="excess",
            label="excess sensitivity",
            short_label="excess",
            direction="at most",
            unit="difference",
            threshold_help="maximum excess sensitivity (beyond sampling noise) of a suite",
            may_stop_early=True,
            loss_of="scores",
            copies_cause="fail",
        ),
        Metric(
            name="drop",
            label="drop",
            direction="at most",
            bounds=(-1.0, 1.0),
            unit="difference",
            threshold_help="maximum drop of a suite: mean pass rate of the originals minus that "
            "of the variants",
            is_unbiased=True,
            may_stop_early=True,
            always_shown=True,
            loss_of="rates",
        ),
        Metric(
            name="squared_sensitivity",
            label="squared sensitivity",
            short_label="squared",
            direction="at most",
            bounds=(-1.0, 1.0),
            unit="difference",
            threshold_help="maximum unbiased squared sensitivity of a suite; comparable between "
            "runs with different numbers of samples",
            is_unbiased=True,
            loss_of="rates",
            copies_cause="fail",
        ),
        Metric(
            name="robust_pass",
            label="robust pass@1",
            threshold_help="minimum robust pass@1 of a suite (the worst case over 5 variants)",
            is_compared=False,
        ),
        Metric(
            name="pass_hat_4",
            label="pass^4",
            figure=lambda task: _pass_hat(task.variants, k=4),
            threshold_help="minimum pass^4 of a suite: the probability that 4 attempts at the same "
            "variant all pass",
            copies_cause="pass",
            is_unbiased=True,
        ),
        Metric(
            name="original_pass_hat_4",
            label="pass^4 of the originals",
            short_label="originals",
            figure=lambda task: _pass_hat(task.original, k=4),
            needs_variants=False,
            is_unbiased=True,
        ),
        Metric(
            name="shortfall",
            label="shortfall of the worst tenth",
            short_label="shortfall",
            direction="at most",
            bounds=(-1.0, 1.0),
            unit="difference",
            threshold_help="maximum one-sided drop in the worst tenth of the tasks of a suite",
            is_compared=False,
            loss_of="scores",
            copies_cause="fail",
        ),
        Metric(
            name="flips",
            label="share of tasks that flip",
            short_label="flips",
            direction="at most",
            threshold_help="maximum share of the tasks of a suite whose majority verdict differs "
            "between original and variants",
            is_compared=False,
            loss_of="scores",
        ),
        Metric(
            name="odds_ratio",
            label="odds ratio",
            unit="ratio",
            threshold_help="minimum odds ratio of a suite (variants against originals, estimated "
            "with a mixed model)",
            is_compared=False,
            narrowed_by="No number of tasks excludes 0: take min_task_auc_e or max_drop for a pass",
        ),
    )
}
"""Every metric by name, in the order of gates and reports."""


def metric_of(name: str) -> Metric | None:
    """Return the metric with the name of a key of the record or of a gate, or None.

    Hyphens count as underscores. The gate of one distance, such as ``elasticity-d0.3``, has the
    metric ``elasticity``.
    """
    plain = name.replace("-", "_")
    metric = METRICS.get(plain) or METRICS.get(plain.rpartition("_d")[0])
    return metric if metric is None or metric.by_distance or plain == metric.name else None


def metric_label(name: str, distance: float | None = None, *, short: bool = False) -> str:
    """Return the name of a metric for readers, such as ``AUC-E``, ``pass@1`` or ``E(0.3)``.

    Parameters
    ----------
    name
        A metric or gate, see `metric_of`. An unknown name is returned unchanged.
    distance
        The distance of an elasticity, in (0, 1), or None for every other metric.
    short
        True for the short name, for columns of a table: ``excess``, ``squared``.
    """
    if distance is not None:
        return f"E({distance:g})"
    metric = metric_of(name)
    if metric is None:
        return name
    if metric.by_distance and name != metric.name:
        return f"E({name.rpartition('-d')[2]})"
    return metric.short_label or metric.label if short else metric.label


def compared_metrics() -> list[Metric]:
    """Return the metrics that a comparison with a baseline has, in the order of its tables."""
    return [metric for metric in METRICS.values() if metric.is_compared]
