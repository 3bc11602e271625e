"""Results of instruments' suites: what every report shows of one, and several side by side."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.record._sections import Section, col, table_of
from pytest_promptse.reports._formatting import cause_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.record._instruments import BoundsRecord, FigureRecord, InstrumentRecord
    from pytest_promptse.record._sections import Block, ColumnOf, Kind, Table

_FEWEST_MODELS = 3


class Administered(NamedTuple):
    """A result with a label of its own, and the AUC-E of the same model if it is known."""

    label: str
    result: InstrumentRecord
    auc_e: float | None = None


def shown_blocks(result: InstrumentRecord) -> list[Block]:
    """Return the blocks of a result, and the changes of its figures against a baseline."""
    compared = [figure for figure in result.figures if figure.baseline is not None]
    if not compared:
        return list(result.blocks)
    title = f"Changes against {result.baseline}"
    tables = [
        table_of(
            f"baseline-{number}" if number else "baseline",
            f"{title}: {group}" if group else title,
            figures,
            col("figure", "figure", lambda figure: figure.label, "text"),
            col("was", "baseline", lambda f: f.baseline, figures[0].kind),
            col("now", "value", lambda f: f.value, figures[0].kind),
            col("change", "change", _change, "signed"),
            brief=None if figures[0].brief else 0,
        )
        for number, (group, figures) in enumerate(_groups(compared).items())
    ]
    return [*result.blocks, *tables]


def _change(figure: FigureRecord) -> float | None:
    if figure.value is None or figure.baseline is None:
        return None
    return figure.value - figure.baseline


def _groups(figures: Sequence[FigureRecord]) -> dict[str, list[FigureRecord]]:
    groups: dict[str, list[FigureRecord]] = {}
    for figure in figures:
        groups.setdefault(figure.group, []).append(figure)
    return groups


def problems_in_words(problems: Mapping[str, int]) -> str:
    """Return the problems of responses with their counts, the most frequent first."""
    ranked = sorted(problems.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{cause_words(kind)} {count:,}" for kind, count in ranked)


def gate_line(gate: BoundsRecord) -> str:
    """Return what was decided on a gate, after its scope if the message does not name it."""
    scope = f"{gate.scope} " if gate.scope and gate.scope not in gate.message else ""
    return f"{scope}{gate.message}"


def side_by_side(administered: Sequence[Administered]) -> Iterator[Section]:
    """Yield a section for each instrument, with the figures of all of its results."""
    ranked = sorted(administered, key=lambda side: side.result.instrument)
    for _, same in groupby(ranked, key=lambda side: side.result.instrument):
        yield _compared(list(same))


def _compared(administered: Sequence[Administered]) -> Section:
    first = administered[0].result
    groups: dict[str, dict[str, FigureRecord]] = {}
    for side in administered:
        for figure in side.result.figures:
            groups.setdefault(figure.group, {}).setdefault(figure.name, figure)
    return Section(
        name=first.instrument,
        title=first.title,
        lead=" ".join([first.about, *_correlations(administered)]),
        blocks=tuple(
            _figures(administered, group, list(figures.values()), number)
            for number, (group, figures) in enumerate(groups.items())
        ),
        missing=tuple(_differences(administered)),
    )


def _figures(
    administered: Sequence[Administered], group: str, figures: Sequence[FigureRecord], number: int
) -> Table:
    """Return a table with one row for each figure, and the columns of each result."""
    kind, instrument = figures[0].kind, administered[0].result
    columns: list[ColumnOf[FigureRecord]] = [
        col("figure", "figure", lambda figure: figure.label, "text")
    ]
    for side in administered:
        columns += _side_columns(side, kind)
    references = {
        figure.name: figure.reference
        for side in administered
        for figure in side.result.figures
        if figure.reference is not None
    }
    if any(figure.name in references for figure in figures):
        title = instrument.reference or "reference"
        columns.append(col(title, "reference", lambda f: references.get(f.name), kind))
    return table_of(
        f"{instrument.instrument}-{number}" if number else instrument.instrument,
        group or "Figures",
        figures,
        *columns,
        brief=None if figures[0].brief else 0,
    )


def _side_columns(side: Administered, kind: Kind) -> Iterator[ColumnOf[FigureRecord]]:
    """Yield the columns of the figures of one result."""

    def value(figure: FigureRecord) -> float | None:
        same = side.result.figure(figure.name)
        return same.value if same else None

    def ci95(figure: FigureRecord) -> tuple[float, float] | None:
        same = side.result.figure(figure.name)
        return same.ci95 if same else None

    yield col(side.label, side.label, value, kind)
    yield col("95 %", f"{side.label} ci95", ci95, "interval", brief=False)


def _correlations(administered: Sequence[Administered]) -> Iterator[str]:
    """Yield the correlation with AUC-E over models of each figure that requests it."""
    for name, label in {
        figure.name: figure.label
        for side in administered
        for figure in side.result.figures
        if figure.correlated
    }.items():
        pairs = [
            (figure.value, side.auc_e)
            for side in administered
            if (figure := side.result.figure(name)) is not None
            and figure.value is not None
            and side.auc_e is not None
        ]
        correlation = _spearman(pairs)
        if correlation is None:
            yield (
                f"Exploratory: the correlation of AUC-E with “{label}” needs {_FEWEST_MODELS} "
                "models that have both and differ."
            )
        else:
            yield (
                f"Exploratory: Spearman's correlation of AUC-E with “{label}” over {len(pairs)} "
                f"models is {correlation:+.2f}. Models are few and differ in much else."
            )


def _spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    if len(pairs) < _FEWEST_MODELS:
        return None
    first, second = zip(*pairs, strict=True)
    if len(set(first)) == 1 or len(set(second)) == 1:
        return None
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    return float(stats.spearmanr(first, second).statistic)


def _differences(administered: Sequence[Administered]) -> Iterator[str]:
    """Yield the conditions in which results differ, so that their figures differ for that too."""
    names = dict.fromkeys(name for side in administered for name in side.result.conditions)
    for name in names:
        values = [side.result.conditions.get(name, "none") for side in administered]
        if len(set(values)) > 1:
            shown = "; ".join(
                f"{value} ({side.label})" for side, value in zip(administered, values, strict=True)
            )
            yield f"equal {name}, so the figures differ for that too: {shown}"
