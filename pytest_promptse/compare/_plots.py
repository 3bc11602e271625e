"""The plots of a study as SVG, similar to the paper's figures."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_promptse.reports.html._plots import (
    INK,
    LINE,
    MARKS,
    MUTED,
    PAPER,
    columns_of,
    drawn,
    series_colour,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 340, 300
_MARK, _NUMBER = 8.0, 10.0
# Stars are drawn larger, since they look smaller than other marks.
_LARGER = {"*": 13.0}
_DECADES = tuple(step * 10.0**power for power in range(-2, 4) for step in (1, 2, 5))
# Possible offsets of a number from its mark, in points: right, left, above, below, corners.
_NEAR = ((9, -4), (-9, -4), (0, 7), (0, -15), (8, 6), (8, -14), (-8, 6), (-8, -14))
_SPOTS = tuple((x * far, (y + 4) * far - 4) for far in (1, 2, 3, 4) for x, y in _NEAR)


class Point(NamedTuple):
    """A mark with the number of its series, from 1, and its intervals if they are known.

    ``x`` and ``y`` are in units of the axes. ``x_ci95`` and ``y_ci95`` are the limits of 95 %
    intervals.
    """

    number: int
    x: float
    y: float
    x_ci95: tuple[float, float] | None = None
    y_ci95: tuple[float, float] | None = None


class PlotSeries(NamedTuple):
    """One series by distance. A point may have a spread above and below it.

    ``number`` begins with 1. ``points`` are (distance, value), and ``spreads`` has the half-height
    of each spread in units of the value, or None without one.
    """

    number: int
    points: list[tuple[float, float]]
    spreads: list[float | None]


def scatter(
    points: Sequence[Point],
    *,
    name: str,
    title: str,
    labels: tuple[str, str],
    cut: tuple[float, float] | None = None,
    same: bool = False,
    by_decades: bool = False,
) -> str:
    """Draw one numbered mark for each series.

    Parameters
    ----------
    points
        The points, at least one.
    name, title
        Prefix of the ids in the page, and a description of the plot for screen readers.
    labels
        The labels of the axes.
    cut
        The values at which the plane is divided into quadrants.
    same
        True if both axes show the same figure. They then get one scale and the diagonal.
    by_decades
        True for a logarithmic horizontal axis.
    """
    with drawn(_WIDTH, _HEIGHT, name=name, title=title) as (figure, axes, out):
        axes.set_axisbelow(True)
        axes.grid(visible=True, axis="both")
        if by_decades:
            axes.set_xscale("log")
        for point in points:
            colour = series_colour(point.number - 1)
            if point.x_ci95:
                axes.plot(point.x_ci95, [point.y] * 2, color=colour, linewidth=1, alpha=0.55)
            if point.y_ci95:
                axes.plot([point.x] * 2, point.y_ci95, color=colour, linewidth=1, alpha=0.55)
        for point in points:
            _mark(axes, point.number, point.x, point.y)
        axes.margins(0.12)
        axes.autoscale_view()
        _within_unit(axes, horizontal=not by_decades)
        if same:
            low = min(axes.get_xlim()[0], axes.get_ylim()[0])
            high = max(axes.get_xlim()[1], axes.get_ylim()[1])
            axes.set_xlim(low, high)
            axes.set_ylim(low, high)
            axes.plot([low, high], [low, high], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        if cut:
            axes.axvline(cut[0], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
            axes.axhline(cut[1], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1], labelpad=2)
        if by_decades:
            low, high = axes.get_xlim()
            ticks = [tick for tick in _DECADES if low <= tick <= high]
            axes.minorticks_off()
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        figure.subplots_adjust(left=0.18, right=0.98, top=0.98, bottom=0.16)
        _number(axes, points)
    return out[0]


def _within_unit(axes: Axes, *, horizontal: bool) -> None:
    """Limit the axes of figures in [0, 1] to slightly more than that range.

    The y axis is always limited, and the x axis only if `horizontal` is True.
    """
    room = 0.03
    low, high = axes.get_ylim()
    axes.set_yticks([tick for tick in axes.get_yticks() if max(0.0, low) <= tick <= min(1.0, high)])
    axes.set_ylim(max(-room, low), min(1.0 + room, high))
    if horizontal:
        low, high = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticks() if max(0.0, low) <= tick <= min(1.0, high)]
        axes.set_xticks(ticks)
        axes.set_xlim(max(-room, low), min(1.0 + room, high))


def _mark(axes: Axes, number: int, x: float, y: float) -> None:
    axes.plot([x], [y], linestyle="none", **_look(number))


def _look(number: int) -> dict[str, Any]:
    mark = MARKS[(number - 1) % len(MARKS)]
    return {
        "color": series_colour(number - 1),
        "marker": mark,
        "markersize": _LARGER.get(mark, _MARK),
        "markeredgecolor": PAPER,
    }


def _number(axes: Axes, points: Sequence[Point]) -> None:
    """Write each number beside its mark, at a free position.

    A position is free if no mark and no earlier number overlaps it. `points` must be drawn already.
    """
    taken = [tuple(axes.transData.transform((point.x, point.y))) for point in points]
    for point in points:
        x, y = axes.transData.transform((point.x, point.y))
        wide = 1.0 + 0.4 * (len(str(point.number)) - 1)
        spots = [(x + dx * wide, y + dy) for dx, dy in _SPOTS]
        free = (
            spot
            for spot in spots
            if all(
                abs(spot[0] - other[0]) > _MARK or abs(spot[1] + 4 - other[1]) > _NUMBER
                for other in taken
            )
        )
        spot = next(free, spots[0])
        taken.append((spot[0], spot[1] + 4))
        axes.annotate(
            str(point.number), spot, xycoords="figure pixels", ha="center", color=INK, fontsize=10
        )


def lines(
    series: Sequence[PlotSeries],
    *,
    name: str,
    title: str,
    label: str,
    zero: bool = False,
    numbered: bool = True,
) -> str:
    """Draw a line by distance for each series.

    Parameters
    ----------
    series
        The series, at least one. Each series has at least one point.
    label
        Label of the vertical axis.
    zero
        True to mark 0, for a figure that is a change.
    numbered
        True to write the number of each line at its end.
    name, title
        Prefix of the ids in the SVG, unique in the page, and its text for screen readers.
    """
    with drawn(_WIDTH, _HEIGHT - 60, name=name, title=title) as (figure, axes, out):
        distances = sorted({x for line in series for x, _ in line.points})
        gap = min((b - a for a, b in pairwise(distances)), default=1.0)
        if zero:
            axes.axhline(0.0, color=LINE, linewidth=1.4)
        for place, line in enumerate(series):
            shift = (place - (len(series) - 1) / 2) * gap * min(0.1, 0.5 / len(series))
            _line(axes, line, shift)
        axes.set_xticks(distances, [f"{distance:g}" for distance in distances])
        axes.set_xlim(distances[0] - gap * 0.4, distances[-1] + gap * 0.4)
        if not zero:
            _within_unit(axes, horizontal=False)
        axes.set_xlabel("distance")
        axes.set_ylabel(label, labelpad=2)
        right = 0.92 if numbered else 0.98
        figure.subplots_adjust(left=0.18, right=right, top=0.97, bottom=0.2)
        if numbered:
            _end(axes, series)
    return out[0]


def _end(axes: Axes, series: Sequence[PlotSeries]) -> None:
    """Write the number of each line at the right edge, near its end and without overlaps.

    `axes` must have its final limits. The end of a line is its last point.
    """
    ends = [(axes.transData.transform(line.points[-1])[1], line.number) for line in series]
    low = -_NUMBER
    x = axes.bbox.x1 + 4
    for y, number in sorted(ends):
        low = max(y - 4, low + _NUMBER)
        axes.annotate(str(number), (x, low), xycoords="figure pixels", color=INK, fontsize=9)


def _line(axes: Axes, line: PlotSeries, shift: float) -> None:
    colour = series_colour(line.number - 1)
    points = [(x + shift, y) for x, y in line.points]
    for (x, y), spread in zip(points, line.spreads, strict=True):
        if spread is not None:
            axes.plot([x, x], [max(0.0, y - spread), y + spread], color=colour, linewidth=1.1)
    axes.plot(*columns_of(points), linewidth=1.6, **_look(line.number))


def course(
    figures: Sequence[Sequence[tuple[float, float]]],
    *,
    name: str,
    title: str,
    changes: Sequence[int],
) -> str:
    """Draw figures over the runs of a suite, with their intervals.

    Parameters
    ----------
    figures
        For each figure, the (value, half-width of the interval) of every run.
    name, title
        Prefix of the ids in the page, and a description of the plot for screen readers.
    changes
        The indices of the runs at which a figure changed, which get a vertical line.
    """
    with drawn(2 * _WIDTH, _HEIGHT * 3 // 4, name=name, title=title) as (figure, axes, out):
        for start in changes:
            axes.axvline(start + 0.5, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        for number, values in enumerate(figures, start=1):
            runs = range(1, len(values) + 1)
            axes.errorbar(
                runs,
                [value for value, _ in values],
                yerr=[half for _, half in values],
                elinewidth=1,
                linewidth=1,
                **_look(number) | {"markersize": 4.0},
            )
        axes.set_xlabel("run")
        figure.subplots_adjust(left=0.07, right=0.99, top=0.97, bottom=0.2)
    return out[0]
