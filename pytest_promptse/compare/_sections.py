"""The sections of a study: leaderboard, quadrants, changes, and RQ1 to RQ4, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pytest_promptse.compare._leaderboard import QUADRANTS
from pytest_promptse.record._queries import describe_metric
from pytest_promptse.record._sections import Column, Section, Table, col, filled, table_of
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
    from collections.abc import Callable, Iterator, Sequence

    from pytest_promptse.compare._leaderboard import LeaderboardRow
    from pytest_promptse.compare._questions import Group
    from pytest_promptse.compare._study import Study
    from pytest_promptse.config._metrics import Metric
    from pytest_promptse.record._schema import ControlLevelRecord, ControlRecord
    from pytest_promptse.record._sections import Cell, Kind
    from pytest_promptse.scoring._association import Correlation

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


def _metric_columns(metric: Metric) -> Iterator[tuple[Column, Callable[[_Row], Cell]]]:
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
) -> tuple[Column, Callable[[tuple[int, LeaderboardRow]], Cell]]:
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


def _changes_in(
    study: Study, metric: str
) -> Iterator[tuple[Column, Callable[[LeaderboardRow], Cell]]]:
    first = study.leaderboard[0].entry.label
    return difference_columns(
        metric, lambda row: difference_of(study.ranking, row.entry.label, first, metric)
    )


def performance(study: Study) -> Section:
    """Show RQ1: the relation of performance and stability."""
    models = len({row.entry.model for row in study.leaderboard})
    lead = "Do performance and stability trade off? pass@1 against squared sensitivity over models."
    if models < len(study.leaderboard) and study.trade_off.correlations:
        lead += (
            f" {len(study.leaderboard)} entries are of {models} model{'s' if models > 1 else ''}: "
            "those of one model are not independent, and p-values are too small."
        )
    pairs = [
        ("pass@1 and squared sensitivity", coefficient)
        for coefficient in study.trade_off.correlations
    ]
    table = _correlations("rq1_correlations", pairs)
    return Section(
        name="rq1",
        title="RQ1: performance and stability",
        lead=lead,
        blocks=filled((table,)),
        missing=study.trade_off.missing,
    )


def _correlations(name: str, pairs: Sequence[tuple[str, Correlation]]) -> Table:
    """Return a table of correlations, each with a name of what is correlated."""
    return table_of(
        name,
        "Correlation",
        pairs,
        col("of", "of", lambda pair: pair[0], "text"),
        col("coefficient", "coefficient", lambda pair: pair[1].coefficient, "text"),
        col("n", "n", lambda pair: pair[1].n, "count"),
        col("value", "value", lambda pair: pair[1].value, "signed"),
        col("95 %", "ci95", lambda pair: pair[1].ci95, "signed interval"),
        col("p", "p_value", lambda pair: pair[1].p_value, "p"),
        brief=3,
    )


def distance(study: Study) -> Section:
    """Show RQ2: the effects of distance, size and family."""
    moderation = study.moderation
    groups = table_of(
        "rq2_groups",
        "Sensitivity by group",
        moderation.groups,
        col("by", "factor", lambda g: g.factor, "text"),
        col("group", "group", lambda g: g.value, "text"),
        col(
            "distance",
            "distance",
            lambda g: "all" if g.distance is None else f"{g.distance:g}",
            "text",
        ),
        col("n", "n", lambda g: g.n, "count"),
        col("|ΔPass|", "sensitivity", lambda g: g.sensitivity),
        col("sd", "sd", lambda g: g.spread),
        col("losses", "losses", lambda g: g.losses),
        col("E(d)", "elasticity", lambda g: g.elasticity),
        col("Δ SoftExec", "soft_exec_change", lambda g: g.soft, "signed"),
    )
    tests = table_of(
        "rq2_tests",
        "Does it matter?",
        moderation.tests,
        col("by", "factor", lambda t: t.factor, "text"),
        col("figure", "figure", lambda t: t.figure, "text"),
        col("test", "test", lambda t: t.overall.test, "text"),
        col("n", "n", lambda t: t.overall.n, "count"),
        col("statistic", "statistic", lambda t: t.overall.statistic, "statistic"),
        col("df", "df", lambda t: t.overall.df, "count"),
        col("p", "p_value", lambda t: t.overall.p_value, "p"),
        col("effect", "effect", lambda t: t.overall.effect),
    )
    pairs = table_of(
        "rq2_pairs",
        "Group against group (Mann-Whitney U)",
        [(test, pair) for test in moderation.tests for pair in test.pairs],
        col("by", "factor", lambda r: r[0].factor, "text"),
        col("figure", "figure", lambda r: r[0].figure, "text"),
        col("one", "one", lambda r: r[1].one, "text"),
        col("other", "other", lambda r: r[1].other, "text"),
        col("U", "u", lambda r: r[1].statistic, "statistic"),
        col("p", "p_value", lambda r: r[1].p_value, "p"),
        col("p adjusted", "p_adjusted", lambda r: r[1].p_adjusted, "p"),
        col("Cliff's δ", "cliffs_delta", lambda r: r[1].effect, "signed"),
        brief=0,
    )
    cells = table_of(
        "rq2_size_by_family",
        "AUC-E by size and family",
        moderation.cells.items(),
        col("size", "size", lambda cell: cell[0][0], "text"),
        col("family", "family", lambda cell: cell[0][1], "text"),
        col("AUC-E", "auc_e", lambda cell: cell[1]),
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
        blocks=filled((groups, tests, pairs, cells)),
        missing=moderation.missing,
    )


def _level(group: Group) -> str:
    return "all" if group.distance is None else f"{group.distance:g}"


def light(study: Study) -> Section:
    """Show RQ3: the agreement of PromptSELight and PromptSE."""
    screening = study.screening
    agreements = table_of(
        "rq3_agreement",
        "Agreement of AUC-E",
        screening.approximations,
        col("over", "over", lambda a: a.units, "text"),
        col("n", "n", lambda a: a.agreement.n, "count"),
        col("MAE", "mae", lambda a: a.agreement.mae),
        col("RMSE", "rmse", lambda a: a.agreement.rmse),
        col("R²", "r2", lambda a: a.agreement.r2, "signed"),
        col("sMAPE", "smape", lambda a: a.agreement.smape),
        col("rank drift", "rank_drift", lambda a: a.agreement.drift),
        col("worst", "worst_rank_drift", lambda a: a.agreement.worst_drift, "count"),
    )
    pairs = [(a.units, c) for a in screening.approximations for c in a.correlations]
    drifts = table_of(
        "rq3_ranks",
        "Ranks",
        screening.drifts,
        col("model", "model", lambda d: d.entry.label, "text"),
        col("AUC-E", "auc_e", lambda d: d.full),
        col("light", "light_auc_e", lambda d: d.light),
        col("rank", "rank", lambda d: d.full_rank, "count"),
        col("light", "light_rank", lambda d: d.light_rank, "count"),
    )
    return Section(
        name="rq3",
        title="RQ3: PromptSELight against PromptSE",
        lead="Does the score that needs no log-probabilities stand for the one that does?",
        blocks=filled((agreements, _correlations("rq3_correlations", pairs), drifts)),
        missing=screening.missing,
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
        blocks=filled(
            (
                _emotion_groups(study, "quadrant"),
                _emotion_groups(study, "emotion"),
                *_emotion_tests(study),
            )
        ),
        missing=study.emotions.missing,
    )


def _emotion_groups(study: Study, kind: str) -> Table:
    return table_of(
        f"rq4_{kind}s",
        f"By {kind}",
        [m for m in study.emotions.emotions if m.kind == kind],
        col("model", "model", lambda m: m.entry.label, "text"),
        col(kind, kind, lambda m: m.value, "text"),
        col("variants", "n", lambda m: m.n, "count", brief=False),
        col("pass", "pass_rate", lambda m: m.pass_rate),
        col("change", "change", lambda m: m.change, "signed"),
        col("E", "elasticity", lambda m: m.elasticity),
        col("ECE", "ece", lambda m: m.ece),
        col("over", "overconfident", lambda m: m.overconfident),
        col("under", "underconfident", lambda m: m.underconfident),
        col("confidence", "confidence", lambda m: m.confidence, brief=False),
        brief=None if kind == "quadrant" else 0,
    )


def _emotion_tests(study: Study) -> tuple[Table, ...]:
    emotions = study.emotions
    regression = table_of(
        "rq4_regression",
        "What emotion explains",
        emotions.explained,
        col("model", "model", lambda e: e.entry.label, "text"),
        col("of", "figure", lambda e: e.figure, "text"),
        col("n", "n", lambda e: e.increment.n, "count"),
        col("R² controls", "r2_controls", lambda e: e.increment.r2_controls),
        col("gain", "r2_gain", lambda e: e.increment.gain),
        col("F", "f", lambda e: e.increment.f, "statistic"),
        col("p", "p_value", lambda e: e.increment.p_value, "p"),
    )
    terms = table_of(
        "rq4_terms",
        "Terms of the regression",
        [(fit, term) for fit in emotions.explained for term in fit.increment.terms],
        col("model", "model", lambda r: r[0].entry.label, "text"),
        col("of", "figure", lambda r: r[0].figure, "text"),
        col("term", "term", lambda r: r[1].name, "text"),
        col("coefficient", "coefficient", lambda r: r[1].value, "signed"),
        col("error", "error", lambda r: r[1].error),
        col("p", "p_value", lambda r: r[1].p_value, "p"),
        brief=0,
    )
    distributions = table_of(
        "rq4_distributions",
        "Quadrant against quadrant (Kolmogorov-Smirnov)",
        [(tested, pair) for tested in emotions.distributions for pair in tested.pairs],
        col("model", "model", lambda r: r[0].entry.label, "text"),
        col("of", "figure", lambda r: r[0].figure, "text"),
        col("one", "one", lambda r: r[1].one, "text"),
        col("other", "other", lambda r: r[1].other, "text"),
        col("D", "d", lambda r: r[1].statistic),
        col("p", "p_value", lambda r: r[1].p_value, "p"),
        col("p adjusted", "p_adjusted", lambda r: r[1].p_adjusted, "p"),
        brief=0,
    )
    return regression, terms, distributions


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


_SECTIONS = (leaderboard, quadrants, against_first, performance, distance, light, emotion)


def sections_of(study: Study) -> list[Section]:
    """Return all sections of a study. A section without a result names what is missing."""
    controls = [length_control(study)]
    sections = [*(make(study) for make in _SECTIONS), *study.instruments]
    # Few runs have a length control, so its absence is not reported.
    return [*sections, *(section for section in controls if filled(section.tables))]
