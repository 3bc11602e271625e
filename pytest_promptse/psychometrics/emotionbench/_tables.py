"""Records of the results of one scale, by factor, by emotion and overall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.psychometrics.emotionbench._factors import (
    EMOTIONS,
    PANAS,
    POSITIVE,
    factor_name,
    human_norms,
)
from pytest_promptse.psychometrics.emotionbench._scoring import OVERALL, summarise
from pytest_promptse.record._psychometrics import (
    ChangeRecord,
    HumanRecord,
    ScaleRecord,
    SummaryRecord,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pytest_promptse.psychometrics.emotionbench._scoring import AffectChange

__all__ = ["rows_with_norms", "scale_record", "summary_record"]


def scale_record(
    scale: str,
    *,
    default: Mapping[str, Sequence[float]],
    changes: Mapping[str, Iterable[AffectChange]],
    counterparts: Mapping[str, Iterable[AffectChange]] | None = None,
    contrasts: Mapping[str, Iterable[AffectChange]] | None = None,
    norms: Collection[str] = (),
) -> ScaleRecord:
    """Return the results of `scale`.

    Parameters
    ----------
    default
        The default totals of each category.
    changes
        The changes of each category.
    counterparts
        The changes in the situations' positive counterparts.
    contrasts
        The changes from the situations to their counterparts.
    norms
        Names of the changes that get human norms, see `rows_with_norms`.
    """
    return ScaleRecord(
        scale=scale,
        default={category: summary_record(totals) for category, totals in default.items()},
        changes=_records(changes, norms),
        counterparts=_records(counterparts or {}),
        contrasts=_records(contrasts or {}),
    )


def rows_with_norms(scale: str, factors: Collection[str]) -> frozenset[str]:
    """Return the names of the rows that pool the same factors as a human norm does.

    Parameters
    ----------
    scale
        The name of the scale. Human subjects rated only the PANAS.
    factors
        The factors that were measured.
    """
    if scale != PANAS.name:
        return frozenset()
    pooled = {
        emotion: {f"{emotion}-{number}" for number in range(len(names))}
        for emotion, names in EMOTIONS.items()
    }
    pooled[OVERALL] = set().union(*pooled.values())
    return frozenset(factors) | {name for name, parts in pooled.items() if parts <= set(factors)}


def summary_record(totals: Sequence[float]) -> SummaryRecord:
    """Return the mean and the standard deviation of `totals`."""
    summary = summarise(totals)
    return SummaryRecord(n=summary.n, mean=summary.mean, sd=summary.sd)


def _records(
    changes: Mapping[str, Iterable[AffectChange]], norms: Collection[str] = ()
) -> dict[str, list[ChangeRecord]]:
    return {
        category: [
            _record(change, _human(change.name, category) if change.name in norms else None)
            for change in rows
        ]
        for category, rows in changes.items()
    }


def _human(name: str, category: str) -> HumanRecord | None:
    norm = human_norms().get(name)
    if norm is None:
        return None
    if category == POSITIVE:
        return HumanRecord(delta=norm.delta_positive, sd=norm.sd_positive)
    return HumanRecord(delta=norm.delta_negative, sd=norm.sd_negative)


def _record(change: AffectChange, human: HumanRecord | None) -> ChangeRecord:
    return ChangeRecord(
        name=change.name,
        label=change.name if change.name == OVERALL else factor_name(change.name),
        n_situations=change.n_situations,
        n_runs=change.n_runs,
        delta=change.delta,
        sd=change.sd,
        ci95=change.ci95,
        p_value=change.p_value,
        test=change.test,
        arrow=change.arrow,
        icc=change.icc,
        human=human,
    )
