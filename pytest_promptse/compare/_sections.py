"""The sections of a study: leaderboard, quadrants, changes, and RQ1 to RQ4, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.compare._leaderboard import QUADRANTS, tasks_to_decide
from pytest_promptse.record._sections import Column, Section, Table, filled, table_of, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.compare._leaderboard import LeaderboardRow
    from pytest_promptse.compare._study import Study
    from pytest_promptse.record._schema import EstimateRecord
    from pytest_promptse.record._sections import Cell
    from pytest_promptse.scoring._association import Correlation

_CHANGES_SHOWN = 8
_LOSSES_SHOWN = 12
_P = Column(title="p", key="p_value", kind="p")
_P_ADJUSTED = Column(title="p adjusted", key="p_adjusted", kind="p")


def ranked(rows: Iterable[LeaderboardRow]) -> list[LeaderboardRow]:
    """Return rows sorted by drop, the most stable first. Rows without AUC-E are last.

    AUC-E is no order of stability: sampling noise lowers it most at pass rates near one half.
    """
    return sorted(rows, key=lambda s: (s.auc_e is None, s.drop or 0.0, -s.pass_at_1))


def decision(study: Study) -> str:
    """Return the sentence that says which entry loses least, or what would decide it."""
    best, *others = ranked(study.leaderboard)
    if best.places is None or best.drop is None:
        return "One task cannot decide which model loses least."
    if best.places[1] == 1:
        return f"{best.entry.label} loses least: significantly less than every other model."
    rivals = [s for s in others if s.places and s.places[0] <= best.places[1]] or others[:1]
    names = ", ".join(row.entry.label for row in rivals)
    needed = tasks_to_decide(best, rivals[0], study.subset.distances)
    remedy = f"; about {needed} tasks would decide between the first two" if needed else ""
    return f"Undecided which loses least of {best.entry.label}, {names}{remedy}."


def leaderboard(study: Study) -> Section:
    """Rank all entries by drop."""
    distances = study.subset.distances
    rows: list[tuple[Cell, ...]] = []
    for number, one in enumerate(ranked(study.leaderboard), start=1):
        first, last = one.places or (1, len(study.leaderboard))
        rows.append(
            (
                number,
                one.entry.label,
                f"{first}" if first == last else f"{first} to {last}",
                one.pass_at_1,
                one.pass_ci95,
                one.drop,
                one.drop_ci95,
                one.auc_e,
                one.auc_ci95,
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
        text("place", "places"),
        Column(title="pass@1", key="pass_at_1"),
        Column(title="95 %", key="pass_at_1_ci95", kind="interval", brief=False),
        Column(title="drop", key="drop", kind="signed"),
        Column(title="95 %", key="drop_ci95", kind="signed interval"),
        Column(title="AUC-E", key="auc_e"),
        Column(title="95 %", key="auc_e_ci95", kind="interval", brief=False),
        Column(title="light", key="light_auc_e", brief=False),
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
        f"{decision(study)} Means over {n} task{'s' if n > 1 else ''} that all have, sorted by "
        f"drop. Intervals are clustered on tasks{'' if n > 1 else ', so they need two'}. Places "
        "are the ranks that the differences of drop leave open (sign flips over tasks, Holm)."
    )
    table = Table(name="leaderboard", title="Leaderboard", columns=columns, rows=tuple(rows))
    return Section(name="leaderboard", title="Leaderboard", lead=lead, blocks=(table,))


def quadrants(study: Study) -> Section:
    """List the entries of each quadrant of pass@1 and drop."""
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
        missing = ("quadrants need models with a drop",)
        return Section(name="quadrants", title="Quadrants", missing=missing)
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
        (text("model", "model"), lambda s: s.entry.label),
        (Column(title="Δ pass@1", key="pass_at_1_change", kind="signed"), lambda s: s.gap_pass),
        (
            Column(title="95 %", key="pass_at_1_change_ci95", kind="signed interval"),
            lambda s: s.gap_pass_ci95,
        ),
        (Column(title="p", key="pass_at_1_p_adjusted", kind="p"), lambda s: s.gap_pass_p),
        (Column(title="Δ drop", key="drop_change", kind="signed"), lambda s: s.gap_drop),
        (
            Column(title="95 %", key="drop_change_ci95", kind="signed interval"),
            lambda s: s.gap_drop_ci95,
        ),
        (Column(title="p", key="drop_p_adjusted", kind="p"), lambda s: s.gap_drop_p),
    )
    changes = table_of(
        "changes_by_task",
        "By task",
        study.changes,
        (text("task", "task"), lambda c: c.key[1]),
        (text("suite", "suite", brief=False), lambda c: c.key[0]),
        (text("model", "model"), lambda c: c.entry.label),
        (Column(title="pass was", key="pass_rate_before"), lambda c: c.pass_before),
        (Column(title="now", key="pass_rate"), lambda c: c.pass_now),
        (Column(title="p", key="p_adjusted", kind="p"), lambda c: c.p_adjusted),
        (Column(title="AUC-E was", key="auc_e_before"), lambda c: c.auc_before),
        (Column(title="now", key="auc_e"), lambda c: c.auc_now),
        brief=_CHANGES_SHOWN,
    )
    lead = (
        "Paired by task, against the model that was given first. p of a model is from sign flips "
        "over tasks, p of a task Fisher's over the samples of its original; both are adjusted by "
        "Benjamini and Hochberg. Tasks come with the largest change first."
    )
    return Section(
        name="changes", title=f"Changes against {first}", lead=lead, blocks=filled((gaps, changes))
    )


def performance(study: Study) -> Section:
    """Show RQ1: the relation of performance and stability."""
    models = len({row.entry.model for row in study.leaderboard})
    lead = "Do performance and stability trade off? pass@1 against drop over models."
    if models < len(study.leaderboard) and study.trade_off.correlations:
        lead += (
            f" {len(study.leaderboard)} entries are of {models} model{'s' if models > 1 else ''}: "
            "those of one model are not independent, and p-values are too small."
        )
    rows = _correlation_rows("pass@1 and drop", study.trade_off.correlations)
    table = _correlations("rq1_correlations", rows)
    return Section(
        name="rq1",
        title="RQ1: performance and stability",
        lead=lead,
        blocks=filled((table,)),
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
    groups = table_of(
        "rq2_groups",
        "Sensitivity by group",
        found.groups,
        (text("by", "factor"), lambda g: g.factor),
        (text("group", "group"), lambda g: g.value),
        (
            text("distance", "distance"),
            lambda g: "all" if g.distance is None else f"{g.distance:g}",
        ),
        (Column(title="n", key="n", kind="count"), lambda g: g.n),
        (Column(title="|ΔPass|", key="sensitivity"), lambda g: g.sensitivity),
        (Column(title="sd", key="sd"), lambda g: g.spread),
        (Column(title="losses", key="losses"), lambda g: g.losses),
        (Column(title="E(d)", key="elasticity"), lambda g: g.elasticity),
        (Column(title="Δ SoftExec", key="soft_exec_change", kind="signed"), lambda g: g.soft),
    )
    tests = table_of(
        "rq2_tests",
        "Does it matter?",
        found.tests,
        (text("by", "factor"), lambda t: t.factor),
        (text("figure", "figure"), lambda t: t.figure),
        (text("test", "test"), lambda t: t.overall.test),
        (Column(title="n", key="n", kind="count"), lambda t: t.overall.n),
        (
            Column(title="statistic", key="statistic", kind="statistic"),
            lambda t: t.overall.statistic,
        ),
        (Column(title="df", key="df", kind="count"), lambda t: t.overall.df),
        (_P, lambda t: t.overall.p_value),
        (Column(title="effect", key="effect"), lambda t: t.overall.effect),
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
        blocks=filled((groups, tests, pairs, cells)),
        missing=found.missing,
    )


def light(study: Study) -> Section:
    """Show RQ3: the agreement of PromptSELight and PromptSE."""
    found = study.screening
    agreements = table_of(
        "rq3_agreement",
        "Agreement of AUC-E",
        found.approximations,
        (text("over", "over"), lambda a: a.units),
        (Column(title="n", key="n", kind="count"), lambda a: a.agreement.n),
        (Column(title="MAE", key="mae"), lambda a: a.agreement.mae),
        (Column(title="RMSE", key="rmse"), lambda a: a.agreement.rmse),
        (Column(title="R²", key="r2", kind="signed"), lambda a: a.agreement.r2),
        (Column(title="sMAPE", key="smape"), lambda a: a.agreement.smape),
        (Column(title="rank drift", key="rank_drift"), lambda a: a.agreement.drift),
        (
            Column(title="worst", key="worst_rank_drift", kind="count"),
            lambda a: a.agreement.worst_drift,
        ),
    )
    rows = [r for a in found.approximations for r in _correlation_rows(a.units, a.correlations)]
    drifts = table_of(
        "rq3_ranks",
        "Ranks",
        found.drifts,
        (text("model", "model"), lambda d: d.entry.label),
        (Column(title="AUC-E", key="auc_e"), lambda d: d.full),
        (Column(title="light", key="light_auc_e"), lambda d: d.light),
        (Column(title="rank", key="rank", kind="count"), lambda d: d.full_rank),
        (Column(title="light", key="light_rank", kind="count"), lambda d: d.light_rank),
    )
    return Section(
        name="rq3",
        title="RQ3: PromptSELight against PromptSE",
        lead="Does the score that needs no log-probabilities stand for the one that does?",
        blocks=filled((agreements, _correlations("rq3_correlations", rows), drifts)),
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
        (text("model", "model"), lambda m: m.entry.label),
        (text(kind, kind), lambda m: m.value),
        (Column(title="variants", key="n", kind="count", brief=False), lambda m: m.n),
        (Column(title="pass", key="pass_rate"), lambda m: m.pass_rate),
        (Column(title="change", key="change", kind="signed"), lambda m: m.change),
        (Column(title="E", key="elasticity"), lambda m: m.elasticity),
        (Column(title="ECE", key="ece"), lambda m: m.ece),
        (Column(title="over", key="overconfident"), lambda m: m.overconfident),
        (Column(title="under", key="underconfident"), lambda m: m.underconfident),
        (Column(title="confidence", key="confidence", brief=False), lambda m: m.confidence),
        brief=None if kind == "quadrant" else 0,
    )


def _emotion_tests(study: Study) -> tuple[Table, ...]:
    found = study.emotions
    regression = table_of(
        "rq4_regression",
        "What emotion explains",
        found.explained,
        (text("model", "model"), lambda e: e.entry.label),
        (text("of", "figure"), lambda e: e.figure),
        (Column(title="n", key="n", kind="count"), lambda e: e.increment.n),
        (Column(title="R² controls", key="r2_controls"), lambda e: e.increment.r2_controls),
        (Column(title="gain", key="r2_gain"), lambda e: e.increment.gain),
        (Column(title="F", key="f", kind="statistic"), lambda e: e.increment.f),
        (_P, lambda e: e.increment.p_value),
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
    return Section(name="length-control", title="Length control", lead=lead, blocks=(table,))


_SECTIONS = (leaderboard, quadrants, against_first, performance, distance, light, emotion)


def sections_of(study: Study) -> list[Section]:
    """Return all sections of a study. A section without a result names what is missing."""
    controls = [length_control(study)]
    found = [*(make(study) for make in _SECTIONS), *study.instruments]
    # Few runs have a length control, so its absence is not reported.
    return [*found, *(section for section in controls if filled(section.tables))]
