"""The psychometric suites of several records side by side, as sections of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_promptse.record._sections import Column, Section, Table, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.compare._entry import NamedRecord
    from pytest_promptse.record._psychometrics import (
        ChangeRecord,
        CsiRecord,
        EmotionBenchRecord,
        ManipulationRecord,
        PsychometricsRecord,
    )
    from pytest_promptse.record._sections import Cell

__all__ = ["psychometric_sections"]

_PANAS = ("Positive Affect", "Negative Affect")
_FEWEST_FACTORS = 3
_FEWEST_MODELS = 3
_CONTROL = "neutral"


@dataclass(frozen=True, kw_only=True)
class _Named:
    """A psychometric suite of a record, with a unique label."""

    label: str
    csi: CsiRecord | None = None
    bench: EmotionBenchRecord | None = None


def psychometric_sections(runs: Sequence[NamedRecord]) -> tuple[Section, ...]:
    """Return a section for each psychometric suite that a record of `runs` has."""
    csi, benches = _csi(runs), _benches(runs)
    sections = []
    if csi:
        sections.append(_csi_section(csi))
    if benches:
        sections.append(_emotionbench_section(benches))
    if any(part.manipulation for _, part in _parts(runs)):
        sections.append(_manipulation_section(runs))
    return tuple(sections)


def _manipulation_section(runs: Sequence[NamedRecord]) -> Section:
    """Show recognition and affect shift of each model, and its elasticity if it has one."""
    found = [(run, check) for run, part in _parts(runs) for check in part.manipulation]
    labels = _labels([(run, check.model) for run, check in found])
    rows: list[tuple[Cell, ...]] = []
    pairs: list[tuple[float, float]] = []
    for label, (run, check) in zip(labels, found, strict=True):
        emotions = [each for each in check.recognition if each.label != _CONTROL]
        shift = _mean_shift(check)
        curves = [
            suite.auc_e
            for suite in run.record.suites
            if suite.model == check.model and suite.auc_e is not None
        ]
        auc_e = sum(curves) / len(curves) if curves else None
        if shift is not None and auc_e is not None:
            pairs.append((shift, auc_e))
        rows.append(
            (
                label,
                f"{sum(each.recognised for each in emotions)} of {len(emotions)}",
                shift,
                auc_e,
            )
        )
    columns = (
        text("model", "administration"),
        text("labels recognised", "recognised"),
        Column(title="mean shift of own affect", key="mean_shift", kind="statistic"),
        Column(title="AUC-E", key="auc_e"),
    )
    correlation = _spearman(pairs)
    return Section(
        name="manipulation",
        title="Manipulation check",
        lead=(
            "Mean absolute shift of the affect that a model reports as its own, over emotions, "
            "levels and both totals, in points. Exploratory: "
            + (
                f"Spearman's correlation with AUC-E over {len(pairs)} models is "
                f"{correlation:+.2f}. Models are few and differ in much else."
                if correlation is not None
                else f"its correlation with AUC-E needs {_FEWEST_MODELS} models that have both."
            )
        ),
        blocks=(Table(name="manipulation", title="By model", columns=columns, rows=tuple(rows)),),
    )


def _mean_shift(check: ManipulationRecord) -> float | None:
    sizes = [
        abs(shift.delta)
        for each in check.shifts
        if each.perspective == "own" and each.emotion != _CONTROL
        for shift in (each.positive, each.negative)
        if shift.delta is not None
    ]
    return sum(sizes) / len(sizes) if sizes else None


def _spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    if len(pairs) < _FEWEST_MODELS:
        return None
    first, second = zip(*pairs, strict=True)
    if len(set(first)) == 1 or len(set(second)) == 1:
        return None
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    return float(stats.spearmanr(first, second).statistic)


def _parts(runs: Sequence[NamedRecord]) -> list[tuple[NamedRecord, PsychometricsRecord]]:
    return [
        (run, run.record.psychometrics)
        for run in runs
        if not isinstance(run.record.psychometrics, msgspec.UnsetType)
    ]


def _csi(runs: Sequence[NamedRecord]) -> list[_Named]:
    found = [(run, each) for run, part in _parts(runs) for each in part.csi]
    labels = _labels([(run, each.model) for run, each in found])
    return [_Named(label=label, csi=each) for label, (_, each) in zip(labels, found, strict=True)]


def _benches(runs: Sequence[NamedRecord]) -> list[_Named]:
    found = [(run, each) for run, part in _parts(runs) for each in part.emotionbench]
    labels = _labels([(run, each.model) for run, each in found])
    return [_Named(label=label, bench=each) for label, (_, each) in zip(labels, found, strict=True)]


def _labels(found: Sequence[tuple[NamedRecord, str]]) -> list[str]:
    """Return the models' names, with the run's name if several runs have the same model."""
    runs_of: dict[str, set[str]] = {}
    for run, model in found:
        runs_of.setdefault(model, set()).add(run.path)
    return [
        f"{model} ({run.name or run.path})" if len(runs_of[model]) > 1 or run.name else model
        for run, model in found
    ]


def _csi_section(found: Sequence[_Named]) -> Section:
    csi = [(one.label, one.csi) for one in found if one.csi is not None]
    scores: list[tuple[Cell, ...]] = [
        (
            label,
            one.language,
            one.optimism.value,
            one.optimism.ci95,
            one.pessimism.value,
            one.pessimism.ci95,
            one.neutrality.value,
            "/".join(one.anchors),
            one.n_words,
            one.stories.per_story if one.stories else None,
        )
        for label, one in csi
    ]
    reliability: list[tuple[Cell, ...]] = [
        (
            label,
            one.language,
            one.consistency.value,
            one.reluctancy.value,
            one.coverage.value,
            one.kappa.value,
            one.comparator.consistency if one.comparator else None,
            one.comparator.reluctancy if one.comparator else None,
        )
        for label, one in csi
    ]
    who = (text("model", "administration"), text("words", "language"))
    score_columns = (
        *who,
        Column(title="optimism", key="optimism"),
        Column(title="95 %", key="optimism_ci95", kind="interval"),
        Column(title="pessimism", key="pessimism"),
        Column(title="95 %", key="pessimism_ci95", kind="interval"),
        Column(title="neutral", key="neutrality"),
        text("anchors", "anchors", brief=False),
        Column(title="n", key="n_words", kind="count", brief=False),
        Column(title="stories r", key="stories_r", kind="signed", brief=False),
    )
    reliability_columns = (
        *who,
        Column(title="consistency", key="consistency"),
        Column(title="reluctancy", key="reluctancy"),
        Column(title="coverage", key="coverage", brief=False),
        Column(title="kappa", key="kappa"),
        Column(title="Big Five", key="comparator_consistency"),
        Column(title="its neutral", key="comparator_reluctancy"),
    )
    lists = {(one.word_list_sha256, one.n_words) for _, one in csi}
    missing = (
        ("the inventories have different words, so their scores differ for that too",)
        if len(lists) > len({one.language for _, one in csi})
        else ()
    )
    return Section(
        name="csi",
        title="Core Sentiment Inventory",
        lead=(
            "Shares of words that go with the positive and the negative anchor in all runs, with "
            "intervals over batches. Big Five is the consistency of a questionnaire for comparison."
        ),
        blocks=(
            Table(name="csi", title="Scores", columns=score_columns, rows=tuple(scores)),
            Table(
                name="csi_reliability",
                title="Reliability",
                columns=reliability_columns,
                rows=tuple(reliability),
            ),
        ),
        missing=missing,
    )


def _emotionbench_section(found: Sequence[_Named]) -> Section:
    benches = [(one.label, one.bench) for one in found if one.bench is not None]
    changes = [(label, _changes(bench)) for label, bench in benches]
    emotions = _change_table(
        "emotionbench", "By emotion", changes, lambda name: "-" not in name, brief=None
    )
    factors = _change_table(
        "emotionbench_factors", "By factor", changes, lambda name: "-" in name, brief=0
    )
    return Section(
        name="emotionbench",
        title="EmotionBench",
        lead=(
            "Change of PANAS totals from the default to the evoked measure. Human changes are "
            "those of the 1,266 subjects of Huang et al., in other situations of the same factors."
        ),
        blocks=(emotions, factors, _alignment_table(changes)),
    )


_Changes = dict[tuple[str, str], "ChangeRecord"]


def _changes(bench: EmotionBenchRecord) -> _Changes:
    """Return the changes of PANAS by row and category."""
    return {
        (change.name, category): change
        for scale in bench.scales
        for category, rows in scale.changes.items()
        if category in _PANAS
        for change in rows
    }


def _change_table(
    name: str,
    title: str,
    changes: Sequence[tuple[str, _Changes]],
    wanted: Callable[[str], bool],
    *,
    brief: int | None,
) -> Table:
    names = dict.fromkeys(row for _, found in changes for row, _ in found if wanted(row))
    rows: list[tuple[Cell, ...]] = []
    for row in names:
        cells: list[Cell] = []
        label = row
        human: dict[str, float | None] = dict.fromkeys(_PANAS)
        for _, found in changes:
            for category in _PANAS:
                change = found.get((row, category))
                cells.append(change.delta if change else None)
                if change:
                    label = change.label
                    if change.human:
                        human[category] = change.human.delta
        rows.append((label, *cells, *human.values()))
    columns = [text("situations", "situations")]
    for number, (label, _) in enumerate(changes, start=1):
        columns += [
            Column(title=f"{label} ΔP", key=f"delta_positive_{number}", kind="signed"),
            Column(title="ΔN", key=f"delta_negative_{number}", kind="signed"),
        ]
    columns += [
        Column(title="human ΔP", key="human_positive", kind="signed"),
        Column(title="ΔN", key="human_negative", kind="signed"),
    ]
    return Table(name=name, title=title, columns=tuple(columns), rows=tuple(rows), brief=brief)


def _alignment_table(changes: Sequence[tuple[str, _Changes]]) -> Table:
    """Compare each model with the human subjects over factors."""
    rows: list[tuple[Cell, ...]] = []
    for label, found in changes:
        cells: list[Cell] = []
        n_factors = 0
        for category in _PANAS:
            pairs = [
                (change.delta, change.human.delta)
                for (row, of), change in found.items()
                if of == category and "-" in row and change.delta is not None and change.human
            ]
            n_factors = max(n_factors, len(pairs))
            cells += _alignment(pairs)
        rows.append((label, n_factors, *cells))
    columns = (
        text("model", "administration"),
        Column(title="factors", key="n_factors", kind="count"),
        Column(title="mean |ΔP - human|", key="difference_positive", kind="statistic"),
        Column(title="r", key="r_positive", kind="signed"),
        Column(title="mean |ΔN - human|", key="difference_negative", kind="statistic"),
        Column(title="r", key="r_negative", kind="signed"),
    )
    return Table(
        name="emotionbench_alignment",
        title="Against human subjects, over factors",
        columns=columns,
        rows=tuple(rows),
    )


def _alignment(pairs: Sequence[tuple[float, float]]) -> list[Cell]:
    """Return the mean absolute difference of pairs and Pearson's correlation."""
    if not pairs:
        return [None, None]
    model, human = np.array(pairs).T
    difference = float(np.abs(model - human).mean())
    if len(pairs) < _FEWEST_FACTORS or np.ptp(model) == 0 or np.ptp(human) == 0:
        return [difference, None]
    return [difference, float(np.corrcoef(model, human)[0, 1])]
