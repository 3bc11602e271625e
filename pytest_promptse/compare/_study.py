"""A study: the comparison of several records, made from the records alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse.compare._common_subset import common_subset_of
from pytest_promptse.compare._emotion import emotion_analysis
from pytest_promptse.compare._entry import entries_of
from pytest_promptse.compare._instruments import instrument_sections
from pytest_promptse.compare._leaderboard import changes_of, leaderboard_of
from pytest_promptse.compare._questions import moderation, screening, trade_off
from pytest_promptse.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.compare._common_subset import CommonSubset
    from pytest_promptse.compare._emotion import EmotionAnalysis
    from pytest_promptse.compare._entry import NamedRecord
    from pytest_promptse.compare._leaderboard import Cut, LeaderboardRow, TaskChange
    from pytest_promptse.compare._questions import Moderation, Screening, TradeOff
    from pytest_promptse.record._sections import Section
    from pytest_promptse.scoring._scores import Ranking


@dataclass(frozen=True, kw_only=True)
class Study:
    """Several entries over their common subset: the leaderboard and the results of RQ1 to RQ4.

    ``ranking`` orders the entries by their labels. ``cut`` is None if there are no quadrants.
    ``changes`` compares tasks with the first entry.
    """

    subset: CommonSubset
    leaderboard: tuple[LeaderboardRow, ...]
    ranking: Ranking
    cut: Cut | None
    changes: tuple[TaskChange, ...]
    trade_off: TradeOff
    moderation: Moderation
    screening: Screening
    emotions: EmotionAnalysis
    instruments: tuple[Section, ...] = ()

    @property
    def ranked(self) -> list[LeaderboardRow]:
        """The rows of the leaderboard in the order of the ranking."""
        rows = {row.entry.label: row for row in self.leaderboard}
        return [rows[entry.name] for entry in self.ranking.entries]

    @property
    def title(self) -> str:
        """The numbers of models and of records."""
        records = len({id(entry.source.record) for entry in self.subset.entries})
        return self.subset.title + (f", from {records} records" if records > 1 else "")


def study_of(
    runs: Sequence[NamedRecord],
    *,
    families: Mapping[str, str] | None = None,
    sizes: Mapping[str, float] | None = None,
) -> Study:
    """Compare the models of `runs`.

    Changes are measured against the first entry.

    Parameters
    ----------
    families, sizes
        Families and sizes (in billions of parameters) of models whose names do not imply them.

    Raises
    ------
    RecordError
        If there are fewer than two models, or they have no task or distance in common.
    """
    entries = entries_of(runs, families=families, sizes=sizes)
    if len(entries) < 2:  # noqa: PLR2004 - a comparison
        raise RecordError(
            f"{runs[0].path} holds one model, {entries[0].label}, and nothing to compare it with; "
            "give the record of another model or of another day"
        )
    subset = common_subset_of(entries)
    leaderboard, cut, ranking = leaderboard_of(subset)
    return Study(
        subset=subset,
        leaderboard=tuple(leaderboard),
        ranking=ranking,
        cut=cut,
        changes=tuple(changes_of(leaderboard, subset.distances)),
        trade_off=trade_off(leaderboard),
        moderation=moderation(subset, leaderboard),
        screening=screening(subset, leaderboard),
        emotions=emotion_analysis(subset, leaderboard),
        instruments=instrument_sections(runs),
    )
