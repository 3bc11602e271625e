"""The plots of a study, made from its results.

They follow the paper's figures 1 (performance and stability), 2 (distance, size and family) and 3
(light against full, emotion and calibration).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_promptse.compare import _plots
from pytest_promptse.compare._entry import SIZES
from pytest_promptse.reports.html._plots import Cell, heat_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.compare._study import Study
    from pytest_promptse.scoring._scores import Curve

_GROUPS_OF_SIZE = [name for name, _ in SIZES]
_MODELS_MAPPED = 40


class Plot(NamedTuple):
    """A plot as SVG with its heading. ``keys`` are the names of series that are not models.

    ``svg`` is the text of an SVG element.
    """

    heading: str
    svg: str
    keys: tuple[str, ...] = ()


def numbers_of(study: Study) -> dict[str, int]:
    """Return the number of each entry in all plots: its rank on the leaderboard."""
    return {s.entry.label: n for n, s in enumerate(study.ranked, start=1)}


def figures_of(study: Study) -> dict[str, list[Plot]]:
    """Return the plots of each section by its name."""
    numbers = numbers_of(study)
    return {
        "quadrants": _stability(study, numbers),
        "rq2": _sensitivity(study, numbers),
        "rq3": _screening(study, numbers),
        "rq4": _emotion_groups(study, numbers),
    }


def _stability(study: Study, numbers: Mapping[str, int]) -> list[Plot]:
    if study.cut is None:
        return []
    placed = [(s, s.drop) for s in study.leaderboard if s.auc_e is not None and s.drop is not None]
    plane = _plots.scatter(
        [
            _plots.Point(
                numbers[s.entry.label],
                s.pass_at_1,
                drop,
                s.intervals["pass_at_1"],
                s.intervals["drop"],
            )
            for s, drop in placed
        ],
        name="plane",
        title="Drop against pass@1, cut at the medians into quadrants",
        labels=("pass@1", "drop"),
        cut=(study.cut.pass_at_1, study.cut.drop),
    )
    plots = [Plot("Performance and stability", plane)]
    sized = [(s, drop, s.entry.size) for s, drop in placed if s.entry.size is not None]
    if len({size for *_, size in sized}) > 1:
        points = [
            _plots.Point(numbers[s.entry.label], size or 0.0, drop, None, s.intervals["drop"])
            for s, drop, size in sized
        ]
        svg = _plots.scatter(
            points,
            name="size",
            title="Drop against size in billions of parameters",
            labels=("billions of parameters", "drop"),
            by_decades=True,
        )
        plots.append(Plot("Size and stability", svg))
    return plots


def _sensitivity(study: Study, numbers: Mapping[str, int]) -> list[Plot]:
    plots = []
    by_size = [g for g in study.moderation.groups if g.factor == "size" and g.distance is not None]
    overall = [g for g in study.moderation.groups if g.factor == "distance"]
    names = [name for name in _GROUPS_OF_SIZE if any(g.value == name for g in by_size)] or ["all"]
    series = []
    for number, group in enumerate(names, start=1):
        of_size = [g for g in by_size if g.value == group] or overall
        if not of_size:
            return []
        where = [float(g.value) if g.distance is None else g.distance for g in of_size]
        series.append(
            _plots.PlotSeries(
                number,
                [(d, g.sensitivity) for d, g in zip(where, of_size, strict=True)],
                [g.spread for g in of_size],
            )
        )
    svg = _plots.lines(
        series,
        name="sensitivity",
        title="Mean absolute change of the pass rate by distance, bars are standard deviations",
        label="|ΔPass|",
        numbered=False,
    )
    heading = "Sensitivity by size" if by_size else "Sensitivity"
    plots.append(Plot(heading, svg, tuple(names) if by_size else ()))
    cells = study.moderation.cells
    if len(cells) > 1:
        families = sorted({family for _, family in cells})
        sizes = [name for name in _GROUPS_OF_SIZE if any(size == name for size, _ in cells)]
        drawn = {key: Cell(-squared, text=f"{squared:.2f}") for key, squared in cells.items()}
        title = "Squared sensitivity by size and family"
        svg = heat_map(drawn, sizes, families, name="cells", title=title)
        plots.append(Plot(title, svg))
    curves = {s.entry.label: s.elasticity for s in study.leaderboard}
    plots += _by_distance(curves, numbers, "Elasticity", "E(d)", name="curves")
    soft = {s.entry.label: s.soft for s in study.leaderboard}
    plots += _by_distance(soft, numbers, "Change of SoftExec", "Δ SoftExec", name="soft", zero=True)
    return plots


def _by_distance(
    curves: Mapping[str, Curve],
    numbers: Mapping[str, int],
    heading: str,
    label: str,
    *,
    name: str,
    zero: bool = False,
) -> list[Plot]:
    series = []
    for entry, number in numbers.items():
        points = [(d, value) for d, value in curves[entry].items() if value is not None]
        if points:
            series.append(_plots.PlotSeries(number, points, [None] * len(points)))
    if not series:
        return []
    title = f"{heading} by distance"
    return [Plot(heading, _plots.lines(series, name=name, title=title, label=label, zero=zero))]


def _screening(study: Study, numbers: Mapping[str, int]) -> list[Plot]:
    if study.subset.mode == "light":
        return []
    points = [
        _plots.Point(numbers[s.entry.label], s.light, s.auc_e)
        for s in study.leaderboard
        if s.light is not None and s.auc_e is not None
    ]
    if not points:
        return []
    svg = _plots.scatter(
        points,
        name="light",
        title="AUC-E by PromptSE against PromptSELight; on the dashed line they agree",
        labels=("PromptSELight", "PromptSE"),
        same=True,
    )
    return [Plot("AUC-E, light and full", svg)]


def _emotion_groups(study: Study, numbers: Mapping[str, int]) -> list[Plot]:
    plots = []
    by_emotion = [m for m in study.emotions.emotions if m.kind == "emotion"]
    rated = [m for m in by_emotion if m.ece is not None]
    if rated and len(numbers) <= _MODELS_MAPPED:
        cells = {
            (str(numbers[m.entry.label]), m.value): Cell(
                # An ECE of 0.5 has the darkest colour.
                -0.6 * (m.ece or 0.0),
                text=f"{m.ece:.2f}",
            )
            for m in rated
        }
        rows = sorted({row for row, _ in cells}, key=int)
        columns = list(dict.fromkeys(m.value for m in rated))
        svg = heat_map(cells, rows, columns, name="ece", title="ECE by model and emotion")
        plots.append(Plot("ECE by model and emotion", svg))
    points = []
    for row in study.leaderboard:
        moods = [m for m in by_emotion if m.entry is row.entry]
        if moods and row.sensitivity is not None:
            rate = float(np.average([m.pass_rate for m in moods], weights=[m.n for m in moods]))
            number = numbers[row.entry.label]
            points.append(_plots.Point(number, rate, row.sensitivity))
    if points:
        svg = _plots.scatter(
            points,
            name="coupling",
            title="Mean absolute change of the pass rate against the pass rate in a mood",
            labels=("pass rate in a mood", "|ΔPass|"),
        )
        plots.append(Plot("Performance and sensitivity in a mood", svg))
    biased = []
    for row in study.leaderboard:
        subgroups = row.entry.subgroups
        calibration = ((subgroups.calibration if subgroups else None) or {}).get("all")
        if calibration is not None:
            number = numbers[row.entry.label]
            biased.append(
                _plots.Point(number, calibration.underconfident, calibration.overconfident)
            )
    if biased:
        svg = _plots.scatter(
            biased,
            name="bias",
            title="Share of over-confident failures against under-confident successes",
            labels=("under-confident successes", "over-confident failures"),
        )
        plots.append(Plot("Over- and under-confidence", svg))
    return plots
