"""The leaderboard, the quadrants and the changes, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.compare.leaderboard import QUADRANTS
from pytest_promptse.compare.table import Column, Section, Table, filled, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.compare.leaderboard import LeaderboardRow
    from pytest_promptse.compare.study import Study
    from pytest_promptse.compare.table import Cell

_CHANGES_SHOWN = 8


def ranked(rows: Iterable[LeaderboardRow]) -> list[LeaderboardRow]:
    """Return rows by AUC-E, the most stable first, those without one last."""
    return sorted(rows, key=lambda s: (s.auc_e is None, -(s.auc_e or 0.0), -s.pass_at_1))


def leaderboard(study: Study) -> Section:
    """Rank all entries by AUC-E."""
    distances = study.subset.distances
    rows: list[tuple[Cell, ...]] = []
    for number, one in enumerate(ranked(study.leaderboard), start=1):
        rows.append(
            (
                number,
                one.entry.label,
                one.pass_at_1,
                one.pass_ci95,
                one.auc_e,
                one.auc_ci95,
                one.ceiling,
                one.light,
                one.quadrant,
                *(one.elasticity[d] for d in distances),
                one.excess,
                one.sensitivity,
                one.entry.family,
                one.entry.size,
            )
        )
    columns = (
        Column(title="#", key="rank", kind="count"),
        text("model", "model"),
        Column(title="pass@1", key="pass_at_1"),
        Column(title="95 %", key="pass_at_1_ci95", kind="interval", brief=False),
        Column(title="AUC-E", key="auc_e"),
        Column(title="95 %", key="auc_e_ci95", kind="interval"),
        Column(title="noise", key="noise_ceiling"),
        Column(title="light", key="light_auc_e"),
        text("quadrant", "quadrant"),
        *(Column(title=f"E({d:g})", key=f"elasticity_{d:g}", brief=False) for d in distances),
        Column(title="excess", key="excess", kind="signed", brief=False),
        Column(title="|ΔPass|", key="sensitivity", brief=False),
        text("family", "family", brief=False),
        Column(title="size, 10⁹", key="size", kind="count", brief=False),
    )
    n = len(study.subset.tasks)
    lead = (
        f"Means over {n} task{'s' if n > 1 else ''} that all have, by AUC-E. Intervals are "
        f"clustered on tasks{'' if n > 1 else ', so they need two'}. Noise is the AUC-E of a model "
        "to which wording does not matter."
    )
    table = Table(name="leaderboard", title="Leaderboard", columns=columns, rows=tuple(rows))
    return Section(name="leaderboard", title="Leaderboard", lead=lead, tables=(table,))


def quadrants(study: Study) -> Section:
    """Name the entries of each quadrant of pass@1 and AUC-E."""
    rows: list[tuple[Cell, ...]] = []
    for quadrant in QUADRANTS:
        own = [s.entry.label for s in ranked(study.leaderboard) if s.quadrant == quadrant]
        rows.append((quadrant, len(own), ", ".join(own)))
    columns = (
        text("quadrant", "quadrant"),
        Column(title="models", key="n", kind="count"),
        text("which", "models"),
    )
    table = Table(name="quadrants", title="Quadrants", columns=columns, rows=tuple(rows))
    if study.cut is None:
        missing = ("quadrants need models with an AUC-E",)
        return Section(name="quadrants", title="Quadrants", lead="", tables=(), missing=missing)
    lead = (
        f"Cut at the medians of these models: pass@1 {study.cut.pass_at_1:.3f} and AUC-E "
        f"{study.cut.auc_e:.3f}. A figure on the median counts as strong or stable."
    )
    return Section(name="quadrants", title="Quadrants", lead=lead, tables=(table,))


def against_first(study: Study) -> Section:
    """Show what changed against the first entry, by model and by task."""
    first = study.leaderboard[0].entry.label
    gaps = Table(
        name="changes_by_model",
        title="By model",
        columns=(
            text("model", "model"),
            Column(title="Δ pass@1", key="pass_at_1_change", kind="signed"),
            Column(title="95 %", key="pass_at_1_change_ci95", kind="signed interval"),
            Column(title="p", key="pass_at_1_p_adjusted", kind="p"),
            Column(title="Δ AUC-E", key="auc_e_change", kind="signed"),
            Column(title="95 %", key="auc_e_change_ci95", kind="signed interval"),
            Column(title="p", key="auc_e_p_adjusted", kind="p"),
        ),
        rows=tuple(
            (
                s.entry.label,
                s.gap_pass,
                s.gap_pass_ci95,
                s.gap_pass_p,
                s.gap_auc,
                s.gap_auc_ci95,
                s.gap_auc_p,
            )
            for s in study.leaderboard[1:]
        ),
    )
    changes = Table(
        name="changes_by_task",
        title="By task",
        columns=(
            text("task", "task"),
            text("suite", "suite", brief=False),
            text("model", "model"),
            Column(title="pass was", key="pass_rate_before"),
            Column(title="now", key="pass_rate"),
            Column(title="p", key="p_adjusted", kind="p"),
            Column(title="AUC-E was", key="auc_e_before"),
            Column(title="now", key="auc_e"),
        ),
        rows=tuple(
            (
                c.key[1],
                c.key[0],
                c.entry.label,
                c.pass_before,
                c.pass_now,
                c.p_adjusted,
                c.auc_before,
                c.auc_now,
            )
            for c in study.changes
        ),
        brief=_CHANGES_SHOWN,
    )
    lead = (
        "Paired by task, against the model that was given first. p of a model is Wilcoxon's "
        "over tasks, p of a task Fisher's over the samples of its original; both are adjusted by "
        "Benjamini and Hochberg. Tasks come with the largest change first."
    )
    return Section(
        name="changes", title=f"Changes against {first}", lead=lead, tables=filled((gaps, changes))
    )
