"""What RQ1 to RQ4 come to, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.compare.table import Column, Section, Table, filled, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.compare.study import Study
    from pytest_promptse.compare.table import Cell
    from pytest_promptse.scoring.association import Correlation

_P = Column(title="p", key="p_value", kind="p")
_P_ADJUSTED = Column(title="p adjusted", key="p_adjusted", kind="p")


def performance(study: Study) -> Section:
    """Answer RQ1, whether performance and stability trade off."""
    models = len({row.entry.model for row in study.leaderboard})
    lead = "Do performance and stability trade off? pass@1 against AUC-E over models."
    if models < len(study.leaderboard) and study.trade_off.correlations:
        lead += (
            f" {len(study.leaderboard)} entries are of {models} models: those of one model are not "
            "independent, and p-values are too small."
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
    """Answer RQ2, what distance, size and family change."""
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
        "Friedman knows that distances share their tasks. Effects are ε² and Kendall's W."
    )
    return Section(
        name="rq2",
        title="RQ2: distance, size and family",
        lead=lead,
        tables=filled((groups, tests, pairs, cells)),
        missing=found.missing,
    )


def light(study: Study) -> Section:
    """Answer RQ3, whether PromptSELight stands for PromptSE."""
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
    """Answer RQ4, what valence and arousal change."""
    return Section(
        name="rq4",
        title="RQ4: valence and arousal",
        lead=(
            "What mood does to correctness, stability and calibration. ECE, over- and "
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
            Column(title="wordings", key="n", kind="count", brief=False),
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
