"""The figures of the HTML report, drawn by `_plots` from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.record._queries import Series, by_personality, left_out_without_cue, tasks_of
from pytest_promptse.reports.html import _plots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.record._schema import Record, SubgroupsRecord, SuiteRecord, TaskRecord

PANELS = 12
"""The largest number of drawn suites. Those with the lowest AUC-E are drawn first."""

_TRAITS = ("technical", "experience", "collaboration")
_STRONG = 0.05


class Drawing(NamedTuple):
    """A figure as SVG, with its heading."""

    heading: str
    svg: str


class Curves(NamedTuple):
    """One panel per suite, of ``n`` suites. All vertical axes begin at ``floor``.

    ``floor`` is an elasticity in [0, 1]. ``panels`` may have fewer than ``n`` items, those with the
    lowest AUC-E.
    """

    panels: list[Drawing]
    n: int
    floor: float


class SubgroupFigures(NamedTuple):
    """Figures of the subgroups of one model.

    ``label`` names the model. ``note`` explains what is not shown, or is None.
    """

    label: str
    drawings: list[Drawing]
    note: str | None


def curves(record: Record, series: Sequence[Series]) -> Curves:
    """Draw elasticity by distance for each suite, a line for each of `series`.

    The colour of a line follows its position in `series`. If there are too many suites, those with
    the lowest AUC-E are drawn.
    """
    suites: dict[str, list[tuple[int, SuiteRecord]]] = {}
    for suite in record.suites:
        if any(value is not None for value in suite.elasticity.values()):
            place = series.index(Series(suite.model, suite.template))
            suites.setdefault(suite.id, []).append((place, suite))
    chosen = list(suites)
    if len(chosen) > PANELS:
        worst = sorted(chosen, key=lambda id_: min(s.auc_e or 0.0 for _, s in suites[id_]))
        chosen = [id_ for id_ in chosen if id_ in worst[:PANELS]]
    floor = _floor(suite for id_ in chosen for _, suite in suites[id_])
    panels = [
        Drawing(
            id_,
            _plots.elasticity(
                suites[id_],
                name=f"curve-{number}",
                title=f"Elasticity by distance, {id_}",
                floor=floor,
            ),
        )
        for number, id_ in enumerate(chosen)
    ]
    return Curves(panels, len(suites), floor)


def _floor(suites: Iterable[SuiteRecord]) -> float:
    """Return a round number below all drawn values."""
    drawn = [1.0]
    for suite in suites:
        drawn += [value for value in suite.elasticity.values() if value is not None]
        drawn += [interval[0] for interval in suite.elasticity_ci95.values() if interval]
    return max(0.0, int((min(drawn) - 0.05) * 10) / 10)


def subgroups(record: Record) -> list[SubgroupFigures]:
    """Draw for each model the changes by emotion, trait and persona, and in the circumplex."""
    return [
        _one_model(record, of_model, name=f"subgroups-{number}")
        for number, of_model in enumerate(record.subgroups)
        if of_model.subgroups
    ]


def _one_model(record: Record, subgroups: SubgroupsRecord, *, name: str) -> SubgroupFigures:
    label = Series(subgroups.model, subgroups.template).label
    emotions: dict[tuple[str, str], _plots.Cell] = {}
    traits: dict[tuple[str, str], _plots.Cell] = {}
    for subgroup in subgroups.subgroups:
        column = "all" if subgroup.distance is None else f"{subgroup.distance:g}"
        cells = emotions if subgroup.trait == "emotion" else traits
        cells[subgroup.value, column] = _plots.Cell(subgroup.change, subgroup.p_adjusted < _STRONG)
    columns = [*sorted({d for _, d in {**emotions, **traits}} - {"all"}, key=float), "all"]
    by_trait = (
        v
        for trait in _TRAITS
        for v in sorted(v.value for v in subgroups.subgroups if v.trait == trait)
    )
    library_emotions = [name for name in record.emotions if (name, "all") in emotions]
    rows = list(dict.fromkeys([*library_emotions, *(emotion for emotion, _ in emotions)]))
    drawings = []
    if emotions:
        heading = "Emotion by distance"
        svg = _plots.heat_map(
            emotions, rows, columns, name=f"{name}-emotion", title=f"{heading}, {label}"
        )
        drawings.append(Drawing(heading, svg))
    if library_emotions:
        heading = "Valence and arousal"
        overall = {emotion: emotions[emotion, "all"] for emotion in library_emotions}
        svg = _plots.plane(
            record.emotions, overall, name=f"{name}-plane", title=f"{heading}, {label}"
        )
        drawings.append(Drawing(heading, svg))
    if traits:
        heading = "Personality trait by distance"
        svg = _plots.heat_map(
            traits,
            list(dict.fromkeys(by_trait)),
            columns,
            name=f"{name}-trait",
            title=f"{heading}, {label}",
        )
        drawings.append(Drawing(heading, svg))
    if traits:
        tasks = tasks_of(record, Series(subgroups.model, subgroups.template))
        drawings.append(_profiles(tasks, name=f"{name}-profile", label=label))
    return SubgroupFigures(label, drawings, left_out_without_cue(subgroups.subgroups))


def _profiles(tasks: Iterable[TaskRecord], *, name: str, label: str) -> Drawing:
    cells: dict[tuple[str, str], _plots.Cell] = {}
    for personality, change in by_personality(tasks).items():
        technical, _, rest = personality.partition(".")
        cells[rest.replace(".", ", "), technical] = _plots.Cell(change)
    heading = "Personality profile"
    svg = _plots.heat_map(
        cells,
        sorted({row for row, _ in cells}),
        sorted({column for _, column in cells}),
        name=name,
        title=f"{heading}, {label}",
    )
    return Drawing(heading, svg)
