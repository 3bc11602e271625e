"""Plots among the blocks of sections as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.record._sections import Bars
from pytest_promptse.reports.html._plots import INK, LETTER, LINE, MUTED, PAPER, drawn, heat_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pytest_promptse.record._sections import Intervals

_LEAST_LABELLED = 0.09
# The first and the last of the nine steps of the heat map that are used for parts of a bar.
_FIRST, _LAST = 7, 1


def plot(block: Bars | Intervals, name: str) -> str:
    """Return a plot as an SVG element. `name` is the prefix of its ids, unique in the page."""
    labels = [row[0] if isinstance(row, tuple) else row.label for row in block.rows]
    left = 16 + LETTER * max(map(len, labels), default=0)
    is_bars = isinstance(block, Bars)
    width = round(left + (420 if is_bars else 300))
    height = 46 + 34 * len(labels) if is_bars else 40 + 24 * len(labels)
    with drawn(width, height, name=name, title=_title(block)) as (figure, axes, out):
        if isinstance(block, Bars):
            _bars(axes, block)
            top, bottom = 1 - 22 / height, 0.02
        else:
            _intervals(axes, block)
            top, bottom = 0.99, min(0.5, 38 / height)
        axes.set_yticks(range(len(labels)), labels)
        axes.tick_params(length=0)
        axes.tick_params(axis="y", labelcolor=INK)
        figure.subplots_adjust(left=left / width, right=0.98, top=top, bottom=bottom)
    return out[0]


def _title(block: Bars | Intervals) -> str:
    """Return a description for screen readers."""
    if not isinstance(block, Bars):
        return block.title
    rows = (
        f"{label}: "
        + ", ".join(f"{p} {share:.2f}" for p, share in zip(block.parts, shares, strict=True))
        for label, shares in block.rows
    )
    return f"{block.title}: {'; '.join(rows)}"


def _bars(axes: Axes, block: Bars) -> None:
    step = (_FIRST - _LAST) / max(1, len(block.parts) - 1)
    for y, (_, shares) in enumerate(block.rows):
        start = 0.0
        for number, (part, share) in enumerate(zip(block.parts, shares, strict=True)):
            colour, middle = round(_FIRST - number * step), start + share / 2
            axes.barh(y, share, left=start, height=0.68, color=heat_colour(colour), linewidth=0)
            if share >= _LEAST_LABELLED:
                axes.annotate(
                    f"{share:.2f}",
                    (middle, y),
                    ha="center",
                    va="center_baseline",
                    color=heat_colour(colour, text=True),
                )
            if y == 0:
                axes.annotate(
                    part,
                    (middle, -0.62),
                    ha="center",
                    va="baseline",
                    color=MUTED,
                    annotation_clip=False,
                )
            start += share
    axes.set_xlim(0, 1)
    axes.set_ylim(len(block.rows) - 0.5, -0.55)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _intervals(axes: Axes, block: Intervals) -> None:
    """Draw values as dots with intervals, and references as hollow diamonds."""
    axes.axvline(0, color=LINE, linewidth=1.2, zorder=1)
    for y, row in enumerate(block.rows):
        if row.reference is not None:
            axes.plot(row.reference, y, "D", ms=6.5, mfc=PAPER, mec=MUTED, mew=1.2)
        if row.value is None:
            continue
        colour = heat_colour(8 if row.value >= 0 else 0)
        if row.ci95 is not None:
            axes.plot(row.ci95, [y, y], color=colour, linewidth=1.4)
        axes.plot(row.value, y, "o", ms=7, color=colour, mec=PAPER)
    axes.set_ylim(len(block.rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(block.axis)
