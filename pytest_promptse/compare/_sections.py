"""The sections of a study: leaderboard, quadrants, changes, and RQ1 to RQ4, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.compare._leaderboard import QUADRANTS
from pytest_promptse.compare._table import Column, Section, Table, filled, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.compare._leaderboard import LeaderboardRow
    from pytest_promptse.compare._study import Study
    from pytest_promptse.compare._table import Cell
    from pytest_promptse.record._schema import EstimateRecord
    from pytest_promptse.scoring._association import Correlation

_CHANGES_SHOWN = 8
_LOSSES_SHOWN = 12
_P = Column(title="p", key="p_value", kind="p")
_P_ADJUSTED = Column(title="p adjusted", key="p_adjusted", kind="p")


def ranked(rows: Iterable[LeaderboardRow]) -> list[LeaderboardRow]:
    """Return rows sorted by AUC-E, the most stable first. Rows without AUC-E are last."""
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
                one.odds_ratio.value,
                one.odds_ratio.ci95,
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
        Column(title="odds ratio", key="odds_ratio", brief=False),
        Column(title="95 %", key="odds_ratio_ci95", kind="interval", brief=False),
        text("family", "family", brief=False),
        Column(title="size, 10⁹", key="size", kind="count", brief=False),
    )
    n = len(study.subset.tasks)
    lead = (
        f"Means over {n} task{'s' if n > 1 else ''} that all have, sorted by AUC-E. Intervals are "
        f"clustered on tasks{'' if n > 1 else ', so they need two'}. Noise is the AUC-E of a model "
        "on which variants have no effect."
    )
    table = Table(name="leaderboard", title="Leaderboard", columns=columns, rows=tuple(rows))
    return Section(name="leaderboard", title="Leaderboard", lead=lead, tables=(table,))


def quadrants(study: Study) -> Section:
    """List the entries of each quadrant of pass@1 and AUC-E."""
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
        f"{study.cut.auc_e:.3f}. A model is undecided if one of its 95 % intervals contains the "
        "median."
    )
    return Section(name="quadrants", title="Quadrants", lead=lead, tables=(table,))


def against_first(study: Study) -> Section:
    """Show the changes against the first entry, by model and by task."""
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


def performance(study: Study) -> Section:
    """Show RQ1: the relation of performance and stability."""
    models = len({row.entry.model for row in study.leaderboard})
    lead = "Do performance and stability trade off? pass@1 against AUC-E over models."
    if models < len(study.leaderboard) and study.trade_off.correlations:
        lead += (
            f" {len(study.leaderboard)} entries are of {models} model{'s' if models > 1 else ''}: "
            "those of one model are not independent, and p-values are too small."
        )
    rows = _correlation_rows("pass@1 and AUC-E", study.trade_off.correlations)
    table = _correlations("rq1_correlations", rows)
    return Section(
        name="rq1",
        title="RQ1: performance and stability",
        lead=lead,
        tables=filled((table,)),
        missing=study.trade_off.missing,
    )


def _correlation_rows(what: str, found: Sequence[Correlation]) -> list[tuple[Cell, ...]]:
    return [(what, c.coefficient, c.n, c.value, c.ci95, c.p_value) for c in found]


def _correlations(name: str, rows: Sequence[tuple[Cell, ...]]) -> Table:
    return Table(
        name=name,
        title="Correlation",
        columns=(
            text("of", "of"),
            text("coefficient", "coefficient"),
            Column(title="n", key="n", kind="count"),
            Column(title="value", key="value", kind="signed"),
            Column(title="95 %", key="ci95", kind="signed interval"),
            _P,
        ),
        rows=tuple(rows),
        brief=3,
    )


def distance(study: Study) -> Section:
    """Show RQ2: the effects of distance, size and family."""
    found = study.moderation
    groups = Table(
        name="rq2_groups",
        title="Sensitivity by group",
        columns=(
            text("by", "factor"),
            text("group", "group"),
            text("distance", "distance"),
            Column(title="n", key="n", kind="count"),
            Column(title="|ΔPass|", key="sensitivity"),
            Column(title="sd", key="sd"),
            Column(title="losses", key="losses"),
            Column(title="E(d)", key="elasticity"),
            Column(title="Δ SoftExec", key="soft_exec_change", kind="signed"),
        ),
        rows=tuple(
            (
                g.factor,
                g.value,
                "all" if g.distance is None else f"{g.distance:g}",
                g.n,
                g.sensitivity,
                g.spread,
                g.losses,
                g.elasticity,
                g.soft,
            )
            for g in found.groups
        ),
    )
    tests = Table(
        name="rq2_tests",
        title="Does it matter?",
        columns=(
            text("by", "factor"),
            text("figure", "figure"),
            text("test", "test"),
            Column(title="n", key="n", kind="count"),
            Column(title="statistic", key="statistic", kind="statistic"),
            Column(title="df", key="df", kind="count"),
            _P,
            Column(title="effect", key="effect"),
        ),
        rows=tuple(
            (
                t.factor,
                t.figure,
                t.overall.test,
                t.overall.n,
                t.overall.statistic,
                t.overall.df,
                t.overall.p_value,
                t.overall.effect,
            )
            for t in found.tests
        ),
    )
    pairs = Table(
        name="rq2_pairs",
        title="Group against group (Mann-Whitney U)",
        columns=(
            text("by", "factor"),
            text("figure", "figure"),
            text("one", "one"),
            text("other", "other"),
            Column(title="U", key="u", kind="statistic"),
            _P,
            _P_ADJUSTED,
            Column(title="Cliff's δ", key="cliffs_delta", kind="signed"),
        ),
        rows=tuple(
            (
                t.factor,
                t.figure,
                p.one,
                p.other,
                p.statistic,
                p.p_value,
                p.p_adjusted,
                p.effect,
            )
            for t in found.tests
            for p in t.pairs
        ),
        brief=0,
    )
    cells = Table(
        name="rq2_size_by_family",
        title="AUC-E by size and family",
        columns=(
            text("size", "size"),
            text("family", "family"),
            Column(title="AUC-E", key="auc_e"),
        ),
        rows=tuple((size, family, value) for (size, family), value in found.cells.items()),
        brief=0,
    )
    lead = (
        "How sensitivity depends on distance, size and family. An observation is one task of one "
        "model at one distance. Kruskal-Wallis and Mann-Whitney take observations as independent; "
        "Friedman's test takes into account that distances share their tasks. Effects are ε² and "
        "Kendall's W."
    )
    return Section(
        name="rq2",
        title="RQ2: distance, size and family",
        lead=lead,
        tables=filled((groups, tests, pairs, cells)),
        missing=found.missing,
    )


def light(study: Study) -> Section:
    """Show RQ3: the agreement of PromptSELight and PromptSE."""
    found = study.screening
    agreements = Table(
        name="rq3_agreement",
        title="Agreement of AUC-E",
        columns=(
            text("over", "over"),
            Column(title="n", key="n", kind="count"),
            Column(title="MAE", key="mae"),
            Column(title="RMSE", key="rmse"),
            Column(title="R²", key="r2", kind="signed"),
            Column(title="sMAPE", key="smape"),
            Column(title="rank drift", key="rank_drift"),
            Column(title="worst", key="worst_rank_drift", kind="count"),
        ),
        rows=tuple(
            (
                a.units,
                a.agreement.n,
                a.agreement.mae,
                a.agreement.rmse,
                a.agreement.r2,
                a.agreement.smape,
                a.agreement.drift,
                a.agreement.worst_drift,
            )
            for a in found.approximations
        ),
    )
    rows = [r for a in found.approximations for r in _correlation_rows(a.units, a.correlations)]
    drifts = Table(
        name="rq3_ranks",
        title="Ranks",
        columns=(
            text("model", "model"),
            Column(title="AUC-E", key="auc_e"),
            Column(title="light", key="light_auc_e"),
            Column(title="rank", key="rank", kind="count"),
            Column(title="light", key="light_rank", kind="count"),
        ),
        rows=tuple(
            (d.entry.label, d.full, d.light, d.full_rank, d.light_rank) for d in found.drifts
        ),
    )
    return Section(
        name="rq3",
        title="RQ3: PromptSELight against PromptSE",
        lead="Does the score that needs no log-probabilities stand for the one that does?",
        tables=filled((agreements, _correlations("rq3_correlations", rows), drifts)),
        missing=found.missing,
    )


def emotion(study: Study) -> Section:
    """Show RQ4: the effects of valence and arousal."""
    return Section(
        name="rq4",
        title="RQ4: valence and arousal",
        lead=(
            "The effect of mood on correctness, stability and calibration. ECE, over- and "
            "under-confidence are over all samples of a run in that mood; the regression adds "
            "valence, arousal and their product to length, edit magnitude, term density and "
            "distance, with errors clustered on tasks."
        ),
        tables=filled(
            (
                _emotion_groups(study, "quadrant"),
                _emotion_groups(study, "emotion"),
                *_emotion_tests(study),
            )
        ),
        missing=study.emotions.missing,
    )


def _emotion_groups(study: Study, kind: str) -> Table:
    return Table(
        name=f"rq4_{kind}s",
        title=f"By {kind}",
        columns=(
            text("model", "model"),
            text(kind, kind),
            Column(title="variants", key="n", kind="count", brief=False),
            Column(title="pass", key="pass_rate"),
            Column(title="change", key="change", kind="signed"),
            Column(title="E", key="elasticity"),
            Column(title="ECE", key="ece"),
            Column(title="over", key="overconfident"),
            Column(title="under", key="underconfident"),
            Column(title="confidence", key="confidence", brief=False),
        ),
        rows=tuple(
            (
                m.entry.label,
                m.value,
                m.n,
                m.pass_rate,
                m.change,
                m.elasticity,
                m.ece,
                m.overconfident,
                m.underconfident,
                m.confidence,
            )
            for m in study.emotions.emotions
            if m.kind == kind
        ),
        brief=None if kind == "quadrant" else 0,
    )


def _emotion_tests(study: Study) -> tuple[Table, ...]:
    found = study.emotions
    regression = Table(
        name="rq4_regression",
        title="What emotion explains",
        columns=(
            text("model", "model"),
            text("of", "figure"),
            Column(title="n", key="n", kind="count"),
            Column(title="R² controls", key="r2_controls"),
            Column(title="gain", key="r2_gain"),
            Column(title="F", key="f", kind="statistic"),
            _P,
        ),
        rows=tuple(
            (
                e.entry.label,
                e.figure,
                e.increment.n,
                e.increment.r2_controls,
                e.increment.gain,
                e.increment.f,
                e.increment.p_value,
            )
            for e in found.explained
        ),
    )
    terms = Table(
        name="rq4_terms",
        title="Terms of the regression",
        columns=(
            text("model", "model"),
            text("of", "figure"),
            text("term", "term"),
            Column(title="coefficient", key="coefficient", kind="signed"),
            Column(title="error", key="error"),
            _P,
        ),
        rows=tuple(
            (e.entry.label, e.figure, t.name, t.value, t.error, t.p_value)
            for e in found.explained
            for t in e.increment.terms
        ),
        brief=0,
    )
    distributions = Table(
        name="rq4_distributions",
        title="Quadrant against quadrant (Kolmogorov-Smirnov)",
        columns=(
            text("model", "model"),
            text("of", "figure"),
            text("one", "one"),
            text("other", "other"),
            Column(title="D", key="d"),
            _P,
            _P_ADJUSTED,
        ),
        rows=tuple(
            (d.entry.label, d.figure, p.one, p.other, p.statistic, p.p_value, p.p_adjusted)
            for d in found.distributions
            for p in d.pairs
        ),
        brief=0,
    )
    return regression, terms, distributions


def length_control(study: Study) -> Section:
    """Show the loss of each suite after the effect of length is removed."""
    rows: list[tuple[Cell, ...]] = []
    for one in ranked(study.leaderboard):
        for suite in one.entry.suites.values():
            control = suite.control
            if control is None:
                continue
            figures: list[tuple[str, float | None, float | None, EstimateRecord]] = [
                ("all", control.loss, control.control_loss, control.left),
                *(
                    (distance, level.loss, level.control_loss, level.left)
                    for distance, level in control.levels.items()
                ),
            ]
            rows += [
                (one.entry.label, suite.id, distance, loss, lost, left.value, left.ci95, left.exact)
                for distance, loss, lost, left in figures
            ]
    columns = (
        text("model", "model"),
        text("suite", "suite"),
        text("distance", "distance"),
        Column(title="loss", key="loss", kind="signed"),
        Column(title="loss of the control", key="control_loss", kind="signed"),
        Column(title="left", key="left", kind="signed"),
        Column(title="95 %", key="left_ci95", kind="signed interval"),
        Column(title="with tasks not seen", key="left_exact", kind="signed interval", brief=False),
    )
    lead = (
        "Loss is the mean score of the originals minus that of the variants; the control variants "
        "have as many added words without emotion or persona. What is left is the difference, "
        "paired by task. Each suite counts with all of its own tasks."
    )
    table = Table(
        name="length_control",
        title="Length control",
        columns=columns,
        rows=tuple(rows),
        brief=_LOSSES_SHOWN,
    )
    return Section(name="length-control", title="Length control", lead=lead, tables=(table,))


_SECTIONS = (leaderboard, quadrants, against_first, performance, distance, light, emotion)


def sections_of(study: Study) -> list[Section]:
    """Return all sections of a study. A section without a result names what is missing."""
    controls = [length_control(study)]
    found = [*(make(study) for make in _SECTIONS), *study.psychometrics]
    # Few runs have a length control, so its absence is not reported.
    return [*found, *(section for section in controls if filled(section.tables))]
