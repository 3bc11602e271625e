"""Results of one scale, by factor, by emotion and overall: values, figures, and what to show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.psychometrics.emotionbench._factors import (
    EMOTIONS,
    PANAS,
    POSITIVE,
    factor_name,
    human_norms,
)
from pytest_promptse.psychometrics.emotionbench._importer import OVERALL_CATEGORY
from pytest_promptse.psychometrics.emotionbench._scoring import (
    OVERALL,
    HumanChange,
    Summary,
    summarise,
)
from pytest_promptse.record._instruments import FigureRecord
from pytest_promptse.record._sections import Intervals, PlottedInterval, Prose, col, table_of
from pytest_promptse.reports._formatting import ARROWS, NOT_MEASURED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.psychometrics.emotionbench._scoring import AffectChange
    from pytest_promptse.record._sections import Block, ColumnOf, Table

__all__ = ["ScaleResult", "change_label", "rows_with_norms", "scale_blocks", "scale_figures"]

Changes = dict[str, tuple["AffectChange", ...]]
_FEWEST_FACTORS = 3


@dataclass(frozen=True, kw_only=True)
class ScaleResult:
    """The totals of one scale, by category.

    ``default`` summarises the default measure. ``counterparts`` are the changes in the situations'
    positive counterparts. ``contrasts`` are those from the situations to their counterparts.
    """

    scale: str
    default: dict[str, Summary]
    changes: Changes
    counterparts: Changes
    contrasts: Changes

    @classmethod
    def of(
        cls,
        scale: str,
        *,
        default: Mapping[str, Sequence[float]],
        changes: Mapping[str, Iterable[AffectChange]],
        counterparts: Mapping[str, Iterable[AffectChange]] | None = None,
        contrasts: Mapping[str, Iterable[AffectChange]] | None = None,
        norms: Collection[str] = (),
    ) -> ScaleResult:
        """Return the results of a scale. `norms` names the changes that get human norms."""
        return cls(
            scale=scale,
            default={category: summarise(totals) for category, totals in default.items()},
            changes={
                category: tuple(_with_norm(change, category, norms) for change in rows)
                for category, rows in changes.items()
            },
            counterparts={name: tuple(rows) for name, rows in (counterparts or {}).items()},
            contrasts={name: tuple(rows) for name, rows in (contrasts or {}).items()},
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


def _with_norm(change: AffectChange, category: str, norms: Collection[str]) -> AffectChange:
    norm = human_norms().get(change.name) if change.name in norms else None
    if norm is None:
        return change
    delta, sd = (
        (norm.delta_positive, norm.sd_positive)
        if category == POSITIVE
        else (norm.delta_negative, norm.sd_negative)
    )
    return replace(change, human=HumanChange(delta=delta, sd=sd))


def change_label(name: str) -> str:
    """Return the name of a factor, an emotion or ``Overall`` as words."""
    return name if name == OVERALL else factor_name(name)


def _is_factor(change: AffectChange) -> bool:
    return "-" in change.name


def scale_figures(scale: ScaleResult) -> Iterator[FigureRecord]:
    """Yield the changes of a scale, and how far those of factors are from human subjects'."""
    for group, wanted, brief in (("by emotion", False, True), ("by factor", True, False)):
        for category, changes in scale.changes.items():
            for change in changes:
                if _is_factor(change) == wanted:
                    yield FigureRecord(
                        name=f"{scale.scale}/{change.name}/{category}",
                        label=f"{change_label(change.name)}, {category}",
                        group=f"{scale.scale}, {group}",
                        kind="signed",
                        value=change.delta,
                        ci95=change.ci95,
                        reference=change.human.delta if change.human else None,
                        brief=brief,
                    )
    for category, changes in scale.changes.items():
        pairs = [
            (change.delta, change.human.delta)
            for change in changes
            if _is_factor(change) and change.delta is not None and change.human
        ]
        if pairs:
            difference, correlation = _alignment(pairs)
            for name, label, value in (
                ("difference", f"mean |difference|, {category}", difference),
                ("r", f"correlation, {category}", correlation),
            ):
                yield FigureRecord(
                    name=f"{scale.scale}/human-{name}/{category}",
                    label=label,
                    group=f"Against human subjects, over {len(pairs)} factors",
                    kind="statistic",
                    value=value,
                )


def _alignment(pairs: Sequence[tuple[float, float]]) -> tuple[float, float | None]:
    """Return the mean absolute difference of pairs and Pearson's correlation."""
    model, human = np.array(pairs).T
    difference = float(np.abs(model - human).mean())
    if len(pairs) < _FEWEST_FACTORS or np.ptp(model) == 0 or np.ptp(human) == 0:
        return difference, None
    return difference, float(np.corrcoef(model, human)[0, 1])


def scale_blocks(scale: ScaleResult, *, plots: bool = True) -> Iterator[Block]:
    """Yield the tables of a scale with changes by emotion and by factor, and plots."""
    if plots:
        yield from _plots(scale)
    summaries = ", ".join(f"{name} {_written(summary)}" for name, summary in scale.default.items())
    yield Prose(text=f"{scale.scale} default measure: {summaries}")
    for name, title, changes in (
        ("changes", f"{scale.scale}: change from the default measure", scale.changes),
        (
            "counterparts",
            f"{scale.scale}: after the positive counterparts, from the default measure",
            scale.counterparts,
        ),
        (
            "contrasts",
            f"{scale.scale}: from situations to their positive counterparts",
            scale.contrasts,
        ),
    ):
        if any(changes.values()):
            shown = name != "counterparts"
            yield _table(name, title, changes, factors=False, brief=None if shown else 0)
            if any(map(_is_factor, next(iter(changes.values())))):
                yield _table(
                    f"{name}-factors", f"{title}, by factor", changes, factors=True, brief=0
                )


def _written(summary: Summary) -> str:
    if summary.mean is None:
        return NOT_MEASURED
    sd = "" if summary.sd is None else f" ± {summary.sd:.1f}"
    return f"{summary.mean:.1f}{sd}"


def _plots(scale: ScaleResult) -> Iterator[Intervals]:
    for category, changes in scale.changes.items():
        rows = tuple(
            PlottedInterval(
                label=change_label(change.name),
                value=change.delta,
                ci95=change.ci95,
                reference=change.human.delta if change.human else None,
            )
            for change in changes
            if not _is_factor(change)
        )
        if any(row.value is not None for row in rows):
            yield Intervals(
                title=f"{category} by emotion",
                axis="change in points",
                rows=rows,
                reference="human",
            )


def _table(
    name: str,
    title: str,
    changes: Changes,
    *,
    factors: bool,
    brief: int | None,
) -> Table:
    has_norms = any(change.human for rows in changes.values() for change in rows)
    return table_of(
        name,
        title,
        [row for row in zip(*changes.values(), strict=True) if _is_factor(row[0]) == factors],
        col("situations", "situations", lambda row: change_label(row[0].name), "text"),
        *(
            column
            for place, category in enumerate(changes)
            # Imported scales may have more totals than fit a terminal. Other reports show them all.
            for column in _columns(
                place,
                category,
                has_norms=has_norms,
                brief=category == OVERALL_CATEGORY or OVERALL_CATEGORY not in changes,
            )
        ),
        brief=brief,
    )


def _columns(
    place: int, category: str, *, has_norms: bool, brief: bool
) -> Iterator[ColumnOf[tuple[AffectChange, ...]]]:
    """Yield the columns of a category, whose change is at `place` in each row."""

    def human(row: tuple[AffectChange, ...]) -> float | None:
        norm = row[place].human
        return norm.delta if norm else None

    yield col("", f"{category} arrow", lambda row: _arrow(row[place]), "text", brief=brief)
    yield col(category, category, lambda row: row[place].delta, "points", brief=brief)
    key = f"{category} ci95"
    yield col("95 %", key, lambda row: row[place].ci95, "signed interval", brief=False)
    if has_norms:
        yield col("human", f"{category} human", human, "points", brief=brief)


def _arrow(change: AffectChange) -> str:
    return "" if change.delta is None else ARROWS[change.arrow]
