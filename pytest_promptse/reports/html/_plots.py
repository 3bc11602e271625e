"""Figures as SVG for the HTML pages.

Matplotlib draws them. Its SVG is then parsed as XML, so that the page gets only elements, escaped
text and the colours of its own palette.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure

from pytest_promptse.reports._formatting import signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from pytest_promptse.record._schema import EmotionRecord, SuiteRecord

SERIES = 8
"""Number of series colours. Further series repeat them with other marks."""
MARKS = "osD^vPX*"
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}"
_DPI = 72  # Matplotlib's points per inch, so that its points are the page's pixels
# Placeholders for the colours of the page, which differ between light and dark mode.
INK, MUTED, LINE, PAPER = "#010101", "#020202", "#030303", "#040404"
_SERIES, _HEAT, _ON_HEAT = (
    [f"#{kind:02x}00{i:02x}" for i in range(n)] for kind, n in ((5, SERIES), (6, 9), (7, 9))
)
_PALETTE = {INK: "var(--ink)", MUTED: "var(--muted)", LINE: "var(--line)"}
_PALETTE |= {PAPER: "var(--paper)"}
_PALETTE |= {colour: f"var(--series-{i})" for i, colour in enumerate(_SERIES)}
_PALETTE |= {colour: f"var(--heat-{i})" for i, colour in enumerate(_HEAT)}
_PALETTE |= {colour: f"var(--on-heat-{i})" for i, colour in enumerate(_ON_HEAT)}
_COLOUR = re.compile("|".join(_PALETTE))
LETTER, _LINE_HEIGHT = 6.0, 14.0  # mean width of a letter and height of a line in the page's font
_STEPS = (0.02, 0.05, 0.15, 0.3)
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "ytick.major.size": 0,
}


class Cell(NamedTuple):
    """One cell of a heat map. ``strong`` marks a significant change.

    ``text`` is the label. None shows the change.
    """

    change: float
    strong: bool = False
    text: str | None = None


def series_colour(number: int) -> str:
    """Return the colour of a series, in [0, ∞).

    `number` counts the series from 0.
    """
    return _SERIES[number % SERIES]


def heat_colour(number: int, *, text: bool = False) -> str:
    """Return the colour of a step of the heat map, or with `text` that of text on it.

    `number` is the step, from 0 to 8, and 4 is no change. The result is a placeholder, such as
    ``#060004``, that `drawn` replaces by a variable of the page's style.
    """
    return (_ON_HEAT if text else _HEAT)[number]


def step(change: float) -> int:
    """Return the colour step of a change, 0 to 8: 4 for no change, lower steps for losses."""
    size = sum(abs(change) >= least for least in _STEPS)
    return 4 + (size if change > 0 else -size)


def elasticity(
    suites: Sequence[tuple[int, SuiteRecord]], *, name: str, title: str, floor: float
) -> str:
    """Draw E(d) with intervals and noise ceilings.

    Parameters
    ----------
    suites
        Suites with the numbers of their series, in [0, ∞): one suite for each of several models.
    name
        Prefix of the ids, different for each figure of a page.
    title
        Description of the figure for screen readers.
    floor
        Start of the vertical axis, the same for figures side by side.
    """
    with drawn(320, 210, name=name, title=title) as (figure, axes, out):
        distances = sorted({float(d) for _, suite in suites for d in suite.elasticity})
        gap = min((b - a for a, b in pairwise(distances)), default=1.0)
        for place, (series, suite) in enumerate(suites):
            shift = (place - (len(suites) - 1) / 2) * gap * min(0.12, 0.5 / len(suites))
            _curve(axes, series, suite, shift)
        axes.set_xticks(distances, [f"{distance:g}" for distance in distances])
        axes.set_xlim(distances[0] - gap * 0.35, distances[-1] + gap * 0.35)
        axes.set_ylim(floor, 1.0)
        axes.set_yticks([tick for tick in axes.get_yticks() if floor <= tick <= 1.0])
        axes.set_ylim(floor, 1.0 + 0.02 * (1.0 - floor))
        axes.set_xlabel("distance")
        figure.subplots_adjust(left=0.11, right=0.99, top=0.97, bottom=0.2)
    return out[0]


def _curve(axes: Axes, series: int, suite: SuiteRecord, shift: float) -> None:
    colour = series_colour(series)
    ceiling = [(float(d), e) for d, e in suite.elasticity_null.items() if e is not None]
    axes.plot(*columns_of(ceiling), color=colour, linestyle=(0, (1, 2)), linewidth=1.4)
    points = [(float(d) + shift, e) for d, e in suite.elasticity.items() if e is not None]
    for distance, value in suite.elasticity.items():
        interval = suite.elasticity_ci95.get(distance)
        if interval and value is not None:
            axes.plot([float(distance) + shift] * 2, interval, color=colour, linewidth=1.2)
    axes.plot(
        *columns_of(points),
        color=colour,
        marker=MARKS[series % len(MARKS)],
        markersize=7,
        markeredgecolor=PAPER,
        linewidth=1.8,
    )


def columns_of(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def heat_map(
    cells: Mapping[tuple[str, str], Cell],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    name: str,
    title: str,
) -> str:
    """Draw changes by row and column, each with its number and ``*`` if it is significant.

    Parameters
    ----------
    cells
        Change by (row, column). A pair without an entry is left blank.
    rows, columns
        Labels in the order of display.
    name, title
        Prefix of the ids in the SVG, unique in the page, and the text for screen readers.

    Returns
    -------
    str
        An SVG element.
    """
    left = 12 + LETTER * max((len(row) for row in rows), default=0)
    wide = max(48.0, 8 + LETTER * max((len(column) for column in columns), default=0))
    width, height = max(340, round(left + wide * len(columns))), 34 + 27 * len(rows)
    with drawn(width, height, name=name, title=title) as (figure, axes, out):
        for y, row in enumerate(rows):
            for x, column in enumerate(columns):
                if (cell := cells.get((row, column))) is not None:
                    _tile(axes, x, y, cell)
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        figure.subplots_adjust(
            left=min(left / width, 0.5), right=0.995, top=1 - 26 / height, bottom=0.01
        )
    return out[0]


def _tile(axes: Axes, x: int, y: int, cell: Cell) -> None:
    colour = step(cell.change)
    axes.add_patch(
        mpl.patches.Rectangle(
            (x - 0.48, y - 0.46), 0.96, 0.92, facecolor=_HEAT[colour], linewidth=0
        )
    )
    axes.annotate(
        (cell.text or signed(cell.change)) + ("*" if cell.strong else ""),
        (x, y),
        ha="center",
        va="center_baseline",
        color=_ON_HEAT[colour],
        fontweight="bold" if cell.strong else "normal",
    )


def plane(
    emotions: Mapping[str, EmotionRecord], changes: Mapping[str, Cell], *, name: str, title: str
) -> str:
    """Draw the emotions by valence and arousal, coloured by the mean change.

    `emotions` has positions by name, and `changes` the mean change of each emotion to draw. `name`
    is the prefix of ids in the SVG, and `title` its text for screen readers. The result is an SVG
    element.
    """
    with drawn(340, 330, name=name, title=title) as (figure, axes, out):
        axes.axhline(0, color=LINE, linewidth=1, zorder=1)
        axes.axvline(0, color=LINE, linewidth=1, zorder=1)
        axes.set_xlim(-1.15, 1.15)
        axes.set_ylim(-1.15, 1.15)
        axes.set_xticks([-0.8, 0, 0.8], ["unpleasant", "0", "pleasant"])
        axes.set_yticks([-0.9, 0, 0.9], ["calm", "0", "active"])
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("valence")
        axes.set_ylabel("arousal", labelpad=2)
        figure.subplots_adjust(left=0.15, right=0.99, top=0.99, bottom=0.13)
        _dots(axes, emotions, changes)
    return out[0]


def _dots(axes: Axes, emotions: Mapping[str, EmotionRecord], changes: Mapping[str, Cell]) -> None:
    """Draw each emotion, with its label at a free position beside the dot.

    `changes` selects the emotions, and `emotions` must contain each of them. Positions are tried in
    a fixed order.
    """
    at = {name: (emotions[name].valence, emotions[name].arousal) for name in changes}
    pixels = {name: axes.transData.transform(place) for name, place in at.items()}
    right = axes.bbox.x1
    taken = [(x - 9, y - 9, x + 9, y + 9) for x, y in pixels.values()]
    for emotion in sorted(changes, key=lambda name: -at[name][1]):
        cell = changes[emotion]
        axes.plot(*at[emotion], "o", ms=14, mfc=_HEAT[step(cell.change)], mec=MUTED, mew=0.6)
        text = f"{emotion} {signed(cell.change)}{'*' * cell.strong}"
        wide, (x, y) = len(text) * LETTER, pixels[emotion]
        boxes = [
            (left, low, left + wide, low + _LINE_HEIGHT)
            for left, low in (
                (x - wide / 2, y + 10),
                (x - wide / 2, y - 10 - _LINE_HEIGHT),
                (x + 11, y - _LINE_HEIGHT / 2),
                (x - 11 - wide, y - _LINE_HEIGHT / 2),
                (x - wide / 2, y + 10 + _LINE_HEIGHT),
                (x - wide / 2, y - 10 - 2 * _LINE_HEIGHT),
            )
        ]
        free = (
            box
            for box in boxes
            if box[0] > 0 and box[2] < right and not any(_overlap(box, other) for other in taken)
        )
        box = next(free, boxes[0])
        taken.append(box)
        axes.annotate(
            text,
            ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2),
            xycoords="figure pixels",
            ha="center",
            va="center_baseline",
        )


_Box = tuple[float, float, float, float]


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@contextmanager
def drawn(
    width: int, height: int, *, name: str, title: str
) -> Iterator[tuple[Figure, Axes, list[str]]]:
    """Yield a figure of `width` x `height` pixels. The list contains its SVG afterwards.

    `name` is the prefix of ids in the SVG, unique in the page. `title` is its text for screen
    readers.
    """
    out: list[str] = []
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        yield figure, axes, out
        drawing = BytesIO()
        figure.savefig(drawing, format="svg", metadata={"Date": None})
    out.append(_inline(drawing.getvalue(), name=name, title=title))


def _inline(drawing: bytes, *, name: str, title: str) -> str:
    """Return the SVG without prolog, metadata and global style, in the colours of the page.

    `drawing` is the SVG file that Matplotlib wrote. `name` is put before each id, so that drawings
    of one page do not share ids. `title` becomes the text for screen readers.
    """
    ET.register_namespace("", _SVG)
    root = ET.fromstring(drawing)  # noqa: S314 - Matplotlib's own, which declares no entities
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    used = {value.removeprefix("#") for e in root.iter() for value in _references(e)}
    for element in root.iter():
        _dress(element, used, name)
    root.attrib.update({"role": "img", "aria-labelledby": f"{name}-title"})
    for side in ("width", "height"):
        root.attrib[side] = root.attrib[side].removesuffix("pt")
    heading = ET.Element(f"{{{_SVG}}}title", {"id": f"{name}-title"})
    heading.text = title
    root.insert(0, heading)
    return ET.tostring(root, encoding="unicode")


def _references(element: ET.Element) -> Iterator[str]:
    if (link := element.get(f"{_XLINK}href")) is not None:
        yield link
    yield from re.findall(r"url\((#[^)]+)\)", element.get("clip-path", ""))


def _dress(element: ET.Element, used: set[str], name: str) -> None:
    identifier = element.attrib.pop("id", None)
    if identifier in used:
        element.set("id", f"{name}-{identifier}")
    if (link := element.attrib.pop(f"{_XLINK}href", None)) is not None:
        element.set("href", f"#{name}-{link.removeprefix('#')}")
    if (clip := element.get("clip-path")) is not None:
        element.set("clip-path", clip.replace("url(#", f"url(#{name}-"))
    if (style := element.get("style")) is not None:
        kept = [part for part in style.split("; ") if not part.startswith("font-family")]
        element.set("style", _COLOUR.sub(lambda c: _PALETTE[c[0]], "; ".join(kept)))
