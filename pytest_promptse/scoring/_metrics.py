"""The metrics of a suite that gates decide: their names, directions and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Direction: TypeAlias = Literal["at least", "at most"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A figure of a whole suite and the option that sets its threshold.

    Attributes
    ----------
    name
        The field of the record. The gate has hyphens instead of underscores.
    label, short_label
        The name in messages, and in columns of a table.
    direction
        ``"at least"`` if larger values are better.
    option
        The setting with the threshold of its gate, or None for a figure without a gate.
    fails_by
        The intervals by which its gate fails, as in `judge_gate`.
    """

    name: str
    label: str
    short_label: str = ""
    direction: Direction = "at least"
    option: str | None = None
    fails_by: Literal["both", "ci95"] = "both"

    @property
    def gate(self) -> str:
        """The name of the gate in item ids, such as ``robust-pass``."""
        return self.name.replace("_", "-")


METRICS = (
    Metric(name="auc_e", label="AUC-E", option="min_auc_e"),
    Metric(name="pass_at_1", label="pass@1"),
    Metric(
        name="excess",
        label="excess sensitivity",
        short_label="excess",
        direction="at most",
        option="max_excess",
    ),
    Metric(name="drop", label="drop", direction="at most", option="max_drop", fails_by="ci95"),
    Metric(
        name="squared_sensitivity",
        label="squared sensitivity",
        short_label="squared",
        direction="at most",
        option="max_squared_sensitivity",
    ),
    Metric(name="robust_pass", label="robust pass@1", option="min_robust_pass"),
    Metric(
        name="shortfall",
        label="shortfall of the worst tenth",
        direction="at most",
        option="max_shortfall",
    ),
    Metric(name="flips", label="share of tasks that flip", direction="at most", option="max_flips"),
    Metric(name="odds_ratio", label="odds ratio", option="min_odds_ratio"),
    Metric(name="pass_rate", label="pass rate"),
)
"""Every metric in the order of gates and reports. Elasticities by distance are not among them."""
_BY_NAME = {metric.name: metric for metric in METRICS}


def metric_of(name: str) -> Metric | None:
    """Return the metric with the name of a record's field or of a gate, or None if none has it."""
    return _BY_NAME.get(name.replace("-", "_"))


def metric_label(metric: str, distance: float | None = None, *, short: bool = False) -> str:
    """Return the name of a metric, such as ``AUC-E``, ``pass@1`` or ``E(0.3)``.

    Parameters
    ----------
    metric
        A metric or gate. Hyphens count as underscores: ``auc-e`` is ``auc_e``. An unknown name is
        returned unchanged.
    distance
        The distance of an elasticity, in (0, 1), or None for every other metric.
    short
        True for the short name, for columns of a table: ``excess``, ``squared``.
    """
    if distance is not None:
        return f"E({distance:g})"
    entry = metric_of(metric)
    if entry is None:
        return metric
    return entry.short_label or entry.label if short else entry.label
