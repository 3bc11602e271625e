"""The names of metrics in messages and reports."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "auc_e": "AUC-E",
        "pass_at_1": "pass@1",
        "excess": "excess sensitivity",
        "drop": "drop",
        "squared_sensitivity": "squared sensitivity",
        "robust_pass": "robust pass@1",
        "shortfall": "shortfall of the worst tenth",
        "flips": "share of tasks that flip",
        "odds_ratio": "odds ratio",
        "pass_rate": "pass rate",
    }
)
_SHORT_LABELS: Mapping[str, str] = MappingProxyType(
    {"excess": "excess", "squared_sensitivity": "squared"}
)


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
    key = metric.replace("-", "_")
    if short and key in _SHORT_LABELS:
        return _SHORT_LABELS[key]
    return _LABELS.get(key, metric)
