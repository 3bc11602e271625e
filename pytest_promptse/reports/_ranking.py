"""What every report shows of a ranking: a sentence that decides, two tables and remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pytest_promptse.config._metrics import METRICS, metric_label
from pytest_promptse.record._queries import metric_in
from pytest_promptse.record._sections import Prose, Section, col, table_of
from pytest_promptse.reports._formatting import MINUS, exact
from pytest_promptse.scoring._scores import DECIDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_promptse.record._figures import MetricRecord
    from pytest_promptse.record._schema import RankingRecord, Record
    from pytest_promptse.record._sections import Cell, ColumnOf, Kind, Table
    from pytest_promptse.scoring._scores import Difference, Ranked, Ranking

_T = TypeVar("_T")

RULE = (
    "The order is by drop, lowest first. An entry that solves fewer reworded prompts, by more than "
    "chance explains, comes after the others. All intervals of differences together are right with "
    "95 % probability. Entries that they do not separate are undecided."
)

PARETO = (
    "◆ Pareto set: no other template is at least as good in pass@1, reworded pass, drop and price "
    "per solved task, and better in one."
)


def ranking_section(record: Record, ranking: RankingRecord) -> Section:
    """Return the ranking of the templates of a model in a record."""
    over = "one task" if ranking.n_tasks == 1 else f"{ranking.n_tasks} tasks"
    has_costs = any(entry.cost_per_solved is not None for entry in ranking.entries)
    table = table_of(
        "templates",
        "Templates",
        ranking.entries,
        col("template", "template", lambda entry: entry.name, "text"),
        col("◆", "pareto", lambda entry: "◆" if entry.pareto else "", "text"),
        col("order", "standing", lambda entry: entry.standing, "text"),
        *(metric_column(record, name) for name in ranking.entries[0].figures),
        col("tokens per solved", "tokens_per_solved", _tokens, "count", brief=not has_costs),
        *([col("cost per solved", "cost_per_solved", _cost)] if has_costs else []),
    )
    return Section(
        name="templates",
        title=f"Templates of {ranking.model}, over {over}",
        lead=decision(ranking),
        blocks=(
            table,
            differences_table(ranking, "template"),
            *(Prose(text=text) for text in (RULE, PARETO, *remarks(ranking))),
        ),
    )


def shown_metrics(ranking: Ranking) -> list[str]:
    """Return the metrics of a ranking that the terminal shows, see `figure_column`."""
    return [name for name in ranking.entries[0].figures if is_shown(name)]


def metric_column(record: Record, name: str) -> ColumnOf[Ranked]:
    """Return a column for a metric of the entries of a ranking in a record, for `table_of`."""
    return figure_column(name, lambda entry: entry.figures.get(name), metric_in(record, name))


def figure_column(name: str, value: Callable[[_T], Cell], described: MetricRecord) -> ColumnOf[_T]:
    """Return a column for a metric and what computes its cells, for `table_of`.

    The terminal shows the figures that decide, and those that every comparison shows.

    Parameters
    ----------
    name
        The metric.
    value
        Returns the figure of a row.
    described
        Name and labels of the metric, as in a record.
    """
    kind: Kind = "signed" if described.unit == "difference" else "figure"
    return col(described.short_label, name, value, kind, brief=is_shown(name))


def is_shown(name: str) -> bool:
    """Return whether the terminal shows a metric in a ranking."""
    metric = METRICS.get(name)
    return name in DECIDING or (metric is not None and metric.always_shown)


def differences_table(ranking: Ranking, what: str) -> Table:
    """Return the differences of all pairs in both deciding figures, later minus earlier entry.

    `what` is what the entries are, such as ``template``. The terminal shows those from the first.
    """
    names = [entry.name for entry in ranking.entries]
    rows = [
        _PairOfEntries.of(ranking, later, earlier)
        for at, earlier in enumerate(names)
        for later in names[at + 1 :]
    ]
    return table_of(
        "differences",
        "Differences",
        [row for row in rows if any(row.gaps.values())],
        col(what, what, lambda row: row.later, "text"),
        col("minus", "minus", lambda row: row.earlier, "text"),
        *(column for metric in DECIDING for column in difference_columns(metric, _gap_in(metric))),
        col("separated in", "separated", lambda row: row.separated, "text"),
        brief=len(names) - 1,
    )


class _PairOfEntries(NamedTuple):
    """Two entries, and the differences of the later one from the earlier one by metric."""

    later: str
    earlier: str
    gaps: dict[str, Difference | None]

    @classmethod
    def of(cls, ranking: Ranking, later: str, earlier: str) -> _PairOfEntries:
        gaps = {name: difference_of(ranking, later, earlier, name) for name in DECIDING}
        return cls(later, earlier, gaps)

    @property
    def separated(self) -> str:
        separated = [_label(metric) for metric, gap in self.gaps.items() if gap and gap.better]
        return ", ".join(separated) or "undecided"


def difference_columns(
    metric: str, gap_of: Callable[[_T], Difference | None]
) -> Iterator[ColumnOf[_T]]:
    """Yield the columns of a difference in `metric` and of its interval, for `table_of`.

    `gap_of` returns the difference of a row.
    """

    def difference(row: _T) -> Cell:
        gap = gap_of(row)
        return None if gap is None else gap.difference

    def interval(row: _T) -> Cell:
        gap = gap_of(row)
        return None if gap is None else gap.ci95

    yield col(f"Δ {_label(metric)}", f"{metric}_change", difference, "signed")
    is_brief = metric == "drop"
    yield col("95 %", f"{metric}_change_ci95", interval, "signed interval", brief=is_brief)


def _gap_in(metric: str) -> Callable[[_PairOfEntries], Difference | None]:
    return lambda row: row.gaps[metric]


def _label(metric: str) -> str:
    return metric_label(metric, short=True)


def decision(ranking: Ranking, quote: Callable[[str], str] = str) -> str:
    """Return the sentence that says which entry to take, or what would decide it.

    `quote` writes the name of an entry.
    """
    text = _taken(ranking, quote) if ranking.choice else _undecided(ranking, quote)
    return f"{text} One task does not show how others behave." if ranking.n_tasks == 1 else text


def _undecided(ranking: Ranking, quote: Callable[[str], str]) -> str:
    first, *others = ranking.entries
    rivals = [entry for entry in others if entry.standing == "undecided"]
    names = ", ".join(quote(entry.name) for entry in (first, *rivals[:-1]))
    text = f"Undecided between {names} and {quote(rivals[-1].name)}"
    gap = difference_of(ranking, rivals[0].name, first.name, "drop")
    if gap is None:
        return f"{text}: their drops could not be compared."
    more = f"{quote(gap.name)} drops {_size(gap)} more than {quote(first.name)} ({_limits(gap)})"
    text += f": {more if gap.difference else 'their drops are equal'}."
    if ranking.n_tasks == 1:
        return text
    if ranking.tasks_to_decide is None:
        return f"{text} No practical number of tasks would separate so small a difference."
    between = "them" if len(rivals) == 1 else "these two"
    return f"{text} About {ranking.tasks_to_decide:,} tasks would decide between {between}."


def _taken(ranking: Ranking, quote: Callable[[str], str]) -> str:
    first, *others = ranking.entries
    losing = [entry for entry in others if entry.standing == "drops more"]
    gap = difference_of(ranking, losing[0].name, first.name, "drop") if losing else None
    if gap is None:
        return f"Take {quote(first.name)}: {_solves_more(ranking, first, others, quote)}."
    than = f"{'the next, ' if losing[1:] else ''}{quote(gap.name)}"
    return f"Take {quote(first.name)}: it drops {_size(gap)} less than {than} ({_limits(gap)})."


def _solves_more(
    ranking: Ranking, first: Ranked, others: list[Ranked], quote: Callable[[str], str]
) -> str:
    """Say that all others solve fewer variants, against the one that solves most of them."""
    pairs = [
        (gap, entry)
        for entry in others
        if (gap := difference_of(ranking, first.name, entry.name, "reworded_pass"))
        and gap.better == first.name
    ]
    gap, entry = min(pairs, key=lambda pair: pair[0].difference)
    text = (
        f"it solves {_size(gap)} more of the reworded prompts than {quote(entry.name)} "
        f"({_limits(gap)})"
    )
    drop = difference_of(ranking, entry.name, first.name, "drop")
    if drop is not None and drop.better == entry.name:
        text += f", although that drops {_size(drop)} less"
    return text


def _size(gap: Difference) -> str:
    return exact(abs(gap.difference))


def _limits(gap: Difference) -> str:
    return " to ".join(exact(limit).replace("-", MINUS) for limit in gap.ci95)


def difference_of(ranking: Ranking, name: str, other: str, metric: str) -> Difference | None:
    """Return the difference of two entries in a metric as `name` minus `other`."""
    for pair in ranking.differences:
        if pair.metric == metric and {pair.name, pair.other} == {name, other}:
            return pair if pair.name == name else pair.turned()
    return None


def _cost(entry: Ranked) -> Cell:
    return entry.cost_per_solved


def _tokens(entry: Ranked) -> Cell:
    return entry.tokens_per_solved and round(entry.tokens_per_solved)


def remarks(ranking: RankingRecord) -> Iterator[str]:
    """Yield remarks that a reader needs to interpret the ranking of a record."""
    if ranking.uneven:
        yield (
            "The templates have different numbers of samples: AUC-E is lower with fewer samples, "
            "drop and reworded pass are not."
        )
