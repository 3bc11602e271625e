"""Figures of psychometric suites as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.reports.html._plots import INK, LETTER, LINE, MUTED, PAPER, drawn, heat_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEGATIVE, _NEUTRAL, _POSITIVE = 1, 4, 7
_LEAST_LABELLED = 0.09


class Shares(NamedTuple):
    """Optimism, neutrality and pessimism of one administration, which add up to 1.

    ``label`` names the administration. ``positive`` is optimism and ``negative`` is pessimism; all
    shares are in [0, 1].
    """

    label: str
    positive: float
    neutral: float
    negative: float


class PlottedShift(NamedTuple):
    """A change with its interval, and the change of human subjects. None if not available.

    ``delta`` and ``human`` are changes in points of the scale, and ``ci95`` is the 95 % interval of
    ``delta``.
    """

    label: str
    delta: float | None
    ci95: tuple[float, float] | None
    human: float | None


def shares(rows: Sequence[Shares], *, name: str, title: str) -> str:
    """Draw the shares of each administration as one bar of length 1.

    `name` is the prefix of ids in the SVG, and `title` its text for screen readers. The result is
    an SVG element.
    """
    left = 16 + LETTER * max((len(row.label) for row in rows), default=0)
    width, height = round(left + 420), 46 + 34 * len(rows)
    with drawn(width, height, name=name, title=title) as (figure, axes, out):
        for y, row in enumerate(rows):
            start = 0.0
            for value, colour, word in (
                (row.positive, _POSITIVE, "optimism"),
                (row.neutral, _NEUTRAL, "neutrality"),
                (row.negative, _NEGATIVE, "pessimism"),
            ):
                axes.barh(y, value, left=start, height=0.68, color=heat_colour(colour), linewidth=0)
                if value >= _LEAST_LABELLED:
                    axes.annotate(
                        f"{value:.2f}",
                        (start + value / 2, y),
                        ha="center",
                        va="center_baseline",
                        color=heat_colour(colour, text=True),
                    )
                if y == 0:
                    axes.annotate(
                        word,
                        (start + value / 2, -0.62),
                        ha="center",
                        va="baseline",
                        color=MUTED,
                        annotation_clip=False,
                    )
                start += value
        axes.set_xlim(0, 1)
        axes.set_ylim(len(rows) - 0.5, -0.55)
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.set_xticks([])
        axes.tick_params(length=0, labelcolor=INK)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        figure.subplots_adjust(left=left / width, right=0.995, top=1 - 22 / height, bottom=0.02)
    return out[0]


def shifts(rows: Sequence[PlottedShift], *, name: str, title: str) -> str:
    """Draw changes as dots with intervals, and human norms as hollow diamonds.

    `name` is the prefix of ids in the SVG, and `title` its text for screen readers. The result is
    an SVG element. A row without a change shows only the norm.
    """
    left = 16 + LETTER * max((len(row.label) for row in rows), default=0)
    width, height = round(left + 300), 40 + 24 * len(rows)
    with drawn(width, height, name=name, title=title) as (figure, axes, out):
        axes.axvline(0, color=LINE, linewidth=1.2, zorder=1)
        for y, row in enumerate(rows):
            if row.human is not None:
                axes.plot(row.human, y, "D", ms=6.5, mfc=PAPER, mec=MUTED, mew=1.2)
            if row.delta is None:
                continue
            colour = heat_colour(8 if row.delta >= 0 else 0)
            if row.ci95 is not None:
                axes.plot(row.ci95, [y, y], color=colour, linewidth=1.4)
            axes.plot(row.delta, y, "o", ms=7, color=colour, mec=PAPER)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.tick_params(length=0)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.set_xlabel("change in points")
        figure.subplots_adjust(
            left=left / width, right=0.98, top=0.99, bottom=min(0.5, 38 / height)
        )
    return out[0]
