"""The ranking of prompt templates in the terminal summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rich.text import Text

from pytest_promptse.config._metrics import metric_label
from pytest_promptse.record._queries import FIGURES, gap, remarks, victories
from pytest_promptse.reports._formatting import (
    NOT_MEASURED,
    WIDE,
    columns,
    cost_unit,
    per_solved,
    short,
    shortened,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._queries import Gap
    from pytest_promptse.record._schema import RankedRecord, RankingRecord

_PARETO = "◆"
_LEAST_NAME, _MOST_NAME = 10, 40
_Cells: TypeAlias = "Sequence[tuple[str, str]]"


def ranking_lines(ranking: RankingRecord, *, width: int) -> Iterator[Text]:
    """Yield the metrics of each template, its differences from the best, and significance.

    `width` is that of the terminal in columns. A narrow terminal gets a shorter form of the
    intervals.
    """
    over = "one task" if ranking.n_tasks == 1 else f"{ranking.n_tasks} tasks"
    yield Text("templates", "bold").append(f", over {over}", "not bold dim")
    rows = [_figures(ranked) for ranked in ranking.templates]
    head: _Cells = [
        *((metric_label(metric, short=True), "dim") for metric in FIGURES),
        (cost_unit(ranking), "dim"),
    ]
    marks = [f"{_PARETO} " if ranked.pareto else "  " for ranked in ranking.templates]
    names = [m + ranked.template for m, ranked in zip(marks, ranking.templates, strict=True)]
    yield from _table(f"{_PARETO} Pareto set", names, head, rows, width=width)
    gaps = [
        [_gap(gap(ranking, ranked.template, metric), wide=width >= WIDE) for metric in FIGURES]
        for ranked in ranking.templates
    ]
    head = [(f"{metric_label(metric, short=True)}{' ' * 13}", "dim") for metric in FIGURES]
    names = [f"  {ranked.template}" for ranked in ranking.templates]
    yield from _table("to the best", names, head, gaps, width=width)
    for line in significant_differences(ranking):
        yield Text(f"significant: {line}")
    for remark in remarks(ranking):
        yield Text(remark, "dim yellow")


def significant_differences(ranking: RankingRecord) -> list[str]:
    """Return one line per metric with the significant differences."""
    lines = []
    for metric in FIGURES:
        won = [
            f"{', '.join(better)} better than {', '.join(worse)}"
            for better, worse in victories(ranking, metric)
        ]
        if won:
            lines.append(f"{metric_label(metric, short=True)}: {'; '.join(won)}")
    return lines


def _figures(ranked: RankedRecord) -> _Cells:
    return [
        (short(ranked.pass_at_1), "bold"),
        (short(ranked.auc_e), ""),
        (signed(ranked.excess), ""),
        (per_solved(ranked), ""),
    ]


def _gap(behind: Gap, *, wide: bool) -> tuple[str, str]:
    if behind.difference is None:
        return (f"best{' ' * 13}", "dim")
    between = " to " if wide else "…"
    around = between.join(signed(end) for end in behind.ci95) if behind.ci95 else NOT_MEASURED
    text = f"{signed(behind.difference)}{'*' if behind.significant else ' '}"
    return (f"{text} {around:<{10 + len(between)}}", "" if behind.significant else "dim")


def _table(
    title: str, names: Sequence[str], head: _Cells, rows: Sequence[_Cells], *, width: int
) -> Iterator[Text]:
    cells = [head, *rows]
    widths = [2 + max(len(text) for text, _ in column) for column in zip(*cells, strict=True)]
    longest = max(map(len, [title, *names]))
    room = min(longest, _MOST_NAME, max(_LEAST_NAME, width - sum(widths)))
    yield Text(shortened(title, room), "dim").append_text(columns(head, widths))
    for name, row in zip(names, rows, strict=True):
        line = Text(shortened(name, room)).append_text(columns(row, widths))
        line.rstrip()
        yield line
