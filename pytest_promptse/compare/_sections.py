"""The sections of a study: leaderboard, quadrants, changes, and RQ1 to RQ4, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pytest_promptse.compare._leaderboard import QUADRANTS
from pytest_promptse.compare._research_questions import QUESTIONS
from pytest_promptse.record._queries import describe_metric
from pytest_promptse.record._sections import Section, col, filled, table_of
from pytest_promptse.reports._ranking import (
    RULE,
    decision,
    difference_columns,
    difference_of,
    differences_table,
    figure_column,
    is_shown,
)
from pytest_promptse.scoring._ranking import ranked_metrics
from pytest_promptse.scoring._scores import DECIDING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.compare._leaderboard import LeaderboardRow
    from pytest_promptse.compare._study import Study
    from pytest_promptse.config._metrics import Metric
    from pytest_promptse.record._figures import ControlLevelRecord, ControlRecord
    from pytest_promptse.record._sections import Cell, ColumnOf, Kind

_CHANGES_SHOWN = 8
_LOSSES_SHOWN = 12


def leaderboard(study: Study) -> Section:
    """Rank all entries, with the differences of all pairs and the sentence that decides."""
    table = table_of(
        "leaderboard",
        "Leaderboard",
        list(enumerate(study.ranked, start=1)),
        col("#", "rank", lambda r: r[0], "count"),
        col("model", "model", lambda r: r[1].entry.label, "text"),
        col("order", "standing", lambda r: r[1].ranked.standing, "text"),
        *(column for metric in ranked_metrics() for column in _metric_columns(metric)),
        col("light", "light_auc_e", lambda r: r[1].light, brief=False),
        col("quadrant", "quadrant", lambda r: r[1].quadrant, "text", brief=False),
        *map(_elasticity, study.subset.distances),
        col("|ΔPass|", "sensitivity", lambda r: r[1].sensitivity, brief=False),
        col("odds ratio", "odds_ratio", lambda r: r[1].odds_ratio.value, brief=False),
        col("95 %", "odds_ratio_ci95", lambda r: r[1].odds_ratio.ci95, "interval", brief=False),
        col("family", "family", lambda r: r[1].entry.family, "text", brief=False),
        col("size, 10⁹", "size", lambda r: r[1].entry.size, "count", brief=False),
    )
    n = len(study.subset.tasks)
    lead = (
        f"{decision(study.ranking)} Means over {n} task{'s' if n > 1 else ''} that all have. {RULE}"
    )
    return Section(
        name="leaderboard",
        title="Leaderboard",
        lead=lead,
        blocks=filled((table, differences_table(study.ranking, "model"))),
    )


_Row: TypeAlias = "tuple[int, LeaderboardRow]"


def _metric_columns(metric: Metric) -> Iterator[ColumnOf[_Row]]:
    """Yield the columns of a metric, with its interval if the leaderboard has one."""

    def value(row: _Row) -> Cell:
        return row[1].ranked.figures[metric.name]

    def interval(row: _Row) -> Cell:
        return row[1].intervals[metric.name]

    yield figure_column(metric.name, value, describe_metric(metric))
    if is_shown(metric.name):
        kind: Kind = "signed interval" if metric.unit == "difference" else "interval"
        is_brief = metric.name == "drop"
        yield col("95 %", f"{metric.name}_ci95", interval, kind, brief=is_brief)


def _elasticity(
    distance: float,
) -> ColumnOf[_Row]:
    title, key = f"E({distance:g})", f"elasticity_{distance:g}"
    return col(title, key, lambda r: r[1].elasticity[distance], brief=False)


def quadrants(study: Study) -> Section:
    """List the entries of each quadrant of pass@1 and drop."""
    if study.cut is None:
        missing = ("quadrants need models with a drop",)
        return Section(name="quadrants", title="Quadrants", missing=missing)
    labels = {
        quadrant: [s.entry.label for s in study.ranked if s.quadrant == quadrant]
        for quadrant in QUADRANTS
    }
    table = table_of(
        "quadrants",
        "Quadrants",
        labels.items(),
        col("quadrant", "quadrant", lambda pair: pair[0], "text"),
        col("models", "n", lambda pair: len(pair[1]), "count"),
        col("which", "models", lambda pair: ", ".join(pair[1]), "text"),
    )
    lead = (
        f"Cut at the medians of these models: pass@1 {study.cut.pass_at_1:.3f} and drop "
        f"{study.cut.drop:.3f}. A model is undecided if one of its 95 % intervals contains the "
        "median."
    )
    return Section(name="quadrants", title="Quadrants", lead=lead, blocks=(table,))


def against_first(study: Study) -> Section:
    """Show the changes against the first entry, by model and by task."""
    first = study.leaderboard[0].entry.label
    gaps = table_of(
        "changes_by_model",
        "By model",
        study.leaderboard[1:],
        col("model", "model", lambda s: s.entry.label, "text"),
        col("Δ pass@1", "pass_at_1_change", lambda s: s.gap_pass, "signed"),
        col(
            "95 %",
            "pass_at_1_change_ci95",
            lambda s: s.gap_pass_ci95,
            "signed interval",
            brief=False,
        ),
        *(column for metric in DECIDING for column in _changes_in(study, metric)),
    )
    changes = table_of(
        "changes_by_task",
        "By task",
        study.changes,
        col("task", "task", lambda c: c.key[1], "text"),
        col("suite", "suite", lambda c: c.key[0], "text", brief=False),
        col("model", "model", lambda c: c.entry.label, "text"),
        col("pass was", "pass_rate_before", lambda c: c.pass_before),
        col("now", "pass_rate", lambda c: c.pass_now),
        col("p", "p_adjusted", lambda c: c.p_adjusted, "p"),
        col("AUC-E was", "auc_e_before", lambda c: c.auc_before),
        col("now", "auc_e", lambda c: c.auc_now),
        brief=_CHANGES_SHOWN,
    )
    lead = (
        "Paired by task, against the model that was given first. Intervals of drop and reworded "
        "pass are those of the leaderboard, and that of pass@1 holds alone. p of a task is "
        "Fisher's over the samples of its original, adjusted by Benjamini and Hochberg. Tasks come "
        "with the largest change first."
    )
    return Section(
        name="changes", title=f"Changes against {first}", lead=lead, blocks=filled((gaps, changes))
    )


def _changes_in(study: Study, metric: str) -> Iterator[ColumnOf[LeaderboardRow]]:
    first = study.leaderboard[0].entry.label
    return difference_columns(
        metric, lambda row: difference_of(study.ranking, row.entry.label, first, metric)
    )


def _by_distance(
    control: ControlRecord,
) -> list[tuple[str, ControlRecord | ControlLevelRecord]]:
    return [("all", control), *control.levels.items()]


def length_control(study: Study) -> Section:
    """Show the loss of each suite after the effect of length is removed."""
    parts = [
        (row.entry.label, suite.id, distance, part)
        for row in study.ranked
        for suite in row.entry.suites.values()
        if suite.control is not None
        for distance, part in _by_distance(suite.control)
    ]
    table = table_of(
        "length_control",
        "Length control",
        parts,
        col("model", "model", lambda r: r[0], "text"),
        col("suite", "suite", lambda r: r[1], "text"),
        col("distance", "distance", lambda r: r[2], "text"),
        col("loss", "loss", lambda r: r[3].loss, "signed"),
        col("loss of the control", "control_loss", lambda r: r[3].control_loss, "signed"),
        col("excess loss", "excess_loss", lambda r: r[3].excess_loss.value, "signed"),
        col("95 %", "excess_loss_ci95", lambda r: r[3].excess_loss.ci95, "signed interval"),
        col(
            "with tasks not seen",
            "excess_loss_exact",
            lambda r: r[3].excess_loss.exact,
            "signed interval",
            brief=False,
        ),
        brief=_LOSSES_SHOWN,
    )
    lead = (
        "Loss is the mean score of the originals minus that of the variants; the control variants "
        "have as many added words without emotion or persona. The excess loss is the difference, "
        "paired by task. Each suite counts with all of its own tasks."
    )
    return Section(name="length-control", title="Length control", lead=lead, blocks=(table,))


def sections_of(study: Study) -> list[Section]:
    """Return all sections of a study. A section without a result names what is missing."""
    controls = [length_control(study)]
    sections = [
        leaderboard(study),
        quadrants(study),
        against_first(study),
        *(question.answered(study) for question in QUESTIONS),
        *study.instruments,
    ]
    # Few runs have a length control, so its absence is not reported.
    return [*sections, *(section for section in controls if filled(section.tables))]
