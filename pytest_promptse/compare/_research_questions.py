"""The research questions of the paper as data: what is asked, and the tables that answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pytest_promptse.compare._emotion import Distributions, EmotionGroup, Explained
from pytest_promptse.compare._questions import Approximation, Drift, Group, Test
from pytest_promptse.record._sections import Section, col, filled, table_of
from pytest_promptse.scoring._association import Correlation
from pytest_promptse.scoring._groups import Pairwise
from pytest_promptse.scoring._regression import Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_promptse.compare._study import Study
    from pytest_promptse.record._sections import ColumnOf, Table

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class _Answer(Generic[_T]):
    """A table with one row for each of the ``items`` of a study.

    The other attributes are those of `table_of`.
    """

    name: str
    title: str
    items: Callable[[Study], Iterable[_T]]
    columns: tuple[ColumnOf[_T], ...]
    brief: int | None = None

    def of(self, study: Study) -> Table:
        return table_of(self.name, self.title, self.items(study), *self.columns, brief=self.brief)


@dataclass(frozen=True, kw_only=True)
class ResearchQuestion:
    """A research question.

    ``missing`` returns a reason for each analysis that a study does not allow, and ``caveat`` what
    a reader must know about the answers of a study.
    """

    name: str
    title: str
    lead: str
    answers: tuple[_Answer[Any], ...]
    missing: Callable[[Study], Sequence[str]]
    caveat: Callable[[Study], str] = lambda _: ""

    def answered(self, study: Study) -> Section:
        """Return the section of the question: its tables that have rows."""
        return Section(
            name=self.name,
            title=self.title,
            lead=f"{self.lead}{self.caveat(study)}",
            blocks=filled([answer.of(study) for answer in self.answers]),
            missing=tuple(self.missing(study)),
        )


def _share_models(study: Study) -> str:
    models = len({row.entry.model for row in study.leaderboard})
    if models == len(study.leaderboard) or not study.trade_off.correlations:
        return ""
    return (
        f" {len(study.leaderboard)} entries are of {models} model{'s' if models > 1 else ''}: "
        "those of one model are not independent, and p-values are too small."
    )


_Correlated = tuple[str, Correlation]
_CORRELATIONS: tuple[ColumnOf[_Correlated], ...] = (
    col("of", "of", lambda pair: pair[0], "text"),
    col("coefficient", "coefficient", lambda pair: pair[1].coefficient, "text"),
    col("n", "n", lambda pair: pair[1].n, "count"),
    col("value", "value", lambda pair: pair[1].value, "signed"),
    col("95 %", "ci95", lambda pair: pair[1].ci95, "signed interval"),
    col("p", "p_value", lambda pair: pair[1].p_value, "p"),
)


def _rq4_groups(kind: str, *, brief: int | None) -> _Answer[EmotionGroup]:
    return _Answer[EmotionGroup](
        name=f"rq4_{kind}s",
        title=f"By {kind}",
        items=lambda study: [group for group in study.emotions.emotions if group.kind == kind],
        columns=(
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
        ),
        brief=brief,
    )


QUESTIONS = (
    ResearchQuestion(
        name="rq1",
        title="RQ1: performance and stability",
        lead="Do performance and stability trade off? pass@1 against squared sensitivity over "
        "models.",
        caveat=_share_models,
        answers=(
            _Answer[_Correlated](
                name="rq1_correlations",
                title="Correlation",
                items=lambda study: [
                    ("pass@1 and squared sensitivity", coefficient)
                    for coefficient in study.trade_off.correlations
                ],
                columns=_CORRELATIONS,
                brief=3,
            ),
        ),
        missing=lambda study: study.trade_off.missing,
    ),
    ResearchQuestion(
        name="rq2",
        title="RQ2: distance, size and family",
        lead="How sensitivity depends on distance, size and family. An observation is one task of "
        "one model at one distance. The tests compare squared sensitivity and the drop, which have "
        "no sampling noise in their means; |ΔPass| and E(d) have. Kruskal-Wallis and Mann-Whitney "
        "take observations as independent; Friedman's test takes into account that distances share "
        "their tasks. Effects are ε² and Kendall's W.",
        answers=(
            _Answer[Group](
                name="rq2_groups",
                title="Sensitivity by group",
                items=lambda study: study.moderation.groups,
                columns=(
                    col("by", "factor", lambda g: g.factor, "text"),
                    col("group", "group", lambda g: g.value, "text"),
                    col("distance", "distance", lambda g: g.level, "text"),
                    col("n", "n", lambda g: g.n, "count"),
                    col("|ΔPass|", "sensitivity", lambda g: g.sensitivity),
                    col("sd", "sd", lambda g: g.spread, brief=False),
                    col("losses", "losses", lambda g: g.losses, brief=False),
                    col("squared", "squared_sensitivity", lambda g: g.squared, "signed"),
                    col("drop", "drop", lambda g: g.drop, "signed"),
                    col("E(d)", "elasticity", lambda g: g.elasticity),
                    col("Δ SoftExec", "soft_exec_change", lambda g: g.soft, "signed"),
                ),
            ),
            _Answer[Test](
                name="rq2_tests",
                title="Does it matter?",
                items=lambda study: study.moderation.tests,
                columns=(
                    col("by", "factor", lambda t: t.factor, "text"),
                    col("figure", "figure", lambda t: t.figure, "text"),
                    col("test", "test", lambda t: t.overall.test, "text"),
                    col("n", "n", lambda t: t.overall.n, "count"),
                    col("statistic", "statistic", lambda t: t.overall.statistic, "statistic"),
                    col("df", "df", lambda t: t.overall.df, "count"),
                    col("p", "p_value", lambda t: t.overall.p_value, "p"),
                    col("effect", "effect", lambda t: t.overall.effect),
                ),
            ),
            _Answer[tuple[Test, Pairwise]](
                name="rq2_pairs",
                title="Group against group (Mann-Whitney U)",
                items=lambda study: [
                    (test, pair) for test in study.moderation.tests for pair in test.pairs
                ],
                columns=(
                    col("by", "factor", lambda r: r[0].factor, "text"),
                    col("figure", "figure", lambda r: r[0].figure, "text"),
                    col("one", "one", lambda r: r[1].one, "text"),
                    col("other", "other", lambda r: r[1].other, "text"),
                    col("U", "u", lambda r: r[1].statistic, "statistic"),
                    col("p", "p_value", lambda r: r[1].p_value, "p"),
                    col("p adjusted", "p_adjusted", lambda r: r[1].p_adjusted, "p"),
                    col("Cliff's δ", "cliffs_delta", lambda r: r[1].effect, "signed"),
                ),
                brief=0,
            ),
            _Answer[tuple[tuple[str, str], float]](
                name="rq2_size_by_family",
                title="Squared sensitivity by size and family",
                items=lambda study: study.moderation.cells.items(),
                columns=(
                    col("size", "size", lambda cell: cell[0][0], "text"),
                    col("family", "family", lambda cell: cell[0][1], "text"),
                    col("squared", "squared_sensitivity", lambda cell: cell[1], "signed"),
                ),
                brief=0,
            ),
        ),
        missing=lambda study: study.moderation.missing,
    ),
    ResearchQuestion(
        name="rq3",
        title="RQ3: PromptSELight against PromptSE",
        lead="Does the score that needs no log-probabilities stand for the one that does?",
        answers=(
            _Answer[Approximation](
                name="rq3_agreement",
                title="Agreement of AUC-E",
                items=lambda study: study.screening.approximations,
                columns=(
                    col("over", "over", lambda a: a.units, "text"),
                    col("n", "n", lambda a: a.agreement.n, "count"),
                    col("MAE", "mae", lambda a: a.agreement.mae),
                    col("RMSE", "rmse", lambda a: a.agreement.rmse),
                    col("R²", "r2", lambda a: a.agreement.r2, "signed"),
                    col("sMAPE", "smape", lambda a: a.agreement.smape),
                    col("rank drift", "rank_drift", lambda a: a.agreement.drift),
                    col("worst", "worst_rank_drift", lambda a: a.agreement.worst_drift, "count"),
                ),
            ),
            _Answer[_Correlated](
                name="rq3_correlations",
                title="Correlation",
                items=lambda study: [
                    (approximation.units, coefficient)
                    for approximation in study.screening.approximations
                    for coefficient in approximation.correlations
                ],
                columns=_CORRELATIONS,
                brief=3,
            ),
            _Answer[Drift](
                name="rq3_ranks",
                title="Ranks",
                items=lambda study: study.screening.drifts,
                columns=(
                    col("model", "model", lambda d: d.entry.label, "text"),
                    col("AUC-E", "auc_e", lambda d: d.full),
                    col("light", "light_auc_e", lambda d: d.light),
                    col("rank", "rank", lambda d: d.full_rank, "count"),
                    col("light", "light_rank", lambda d: d.light_rank, "count"),
                ),
            ),
        ),
        missing=lambda study: study.screening.missing,
    ),
    ResearchQuestion(
        name="rq4",
        title="RQ4: valence and arousal",
        lead="The effect of mood on correctness, stability and calibration. ECE, over- and "
        "under-confidence are over all samples of a run in that mood; the regression adds valence, "
        "arousal and their product to length, edit magnitude, term density and distance, with "
        "errors clustered on tasks.",
        answers=(
            _rq4_groups("quadrant", brief=None),
            _rq4_groups("emotion", brief=0),
            _Answer[Explained](
                name="rq4_regression",
                title="What emotion explains",
                items=lambda study: study.emotions.explained,
                columns=(
                    col("model", "model", lambda e: e.entry.label, "text"),
                    col("of", "figure", lambda e: e.figure, "text"),
                    col("n", "n", lambda e: e.increment.n, "count"),
                    col("R² controls", "r2_controls", lambda e: e.increment.r2_controls),
                    col("gain", "r2_gain", lambda e: e.increment.gain),
                    col("F", "f", lambda e: e.increment.f, "statistic"),
                    col("p", "p_value", lambda e: e.increment.p_value, "p"),
                ),
            ),
            _Answer[tuple[Explained, Term]](
                name="rq4_terms",
                title="Terms of the regression",
                items=lambda study: [
                    (fit, term) for fit in study.emotions.explained for term in fit.increment.terms
                ],
                columns=(
                    col("model", "model", lambda r: r[0].entry.label, "text"),
                    col("of", "figure", lambda r: r[0].figure, "text"),
                    col("term", "term", lambda r: r[1].name, "text"),
                    col("coefficient", "coefficient", lambda r: r[1].value, "signed"),
                    col("error", "error", lambda r: r[1].error),
                    col("p", "p_value", lambda r: r[1].p_value, "p"),
                ),
                brief=0,
            ),
            _Answer[tuple[Distributions, Pairwise]](
                name="rq4_distributions",
                title="Quadrant against quadrant (Kolmogorov-Smirnov)",
                items=lambda study: [
                    (tested, pair)
                    for tested in study.emotions.distributions
                    for pair in tested.pairs
                ],
                columns=(
                    col("model", "model", lambda r: r[0].entry.label, "text"),
                    col("of", "figure", lambda r: r[0].figure, "text"),
                    col("one", "one", lambda r: r[1].one, "text"),
                    col("other", "other", lambda r: r[1].other, "text"),
                    col("D", "d", lambda r: r[1].statistic),
                    col("p", "p_value", lambda r: r[1].p_value, "p"),
                    col("p adjusted", "p_adjusted", lambda r: r[1].p_adjusted, "p"),
                ),
                brief=0,
            ),
        ),
        missing=lambda study: study.emotions.missing,
    ),
)
