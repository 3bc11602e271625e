"""Everything a study says, in the order in which it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.compare.overview_tables import against_first, leaderboard, quadrants
from pytest_promptse.compare.question_tables import distance, emotion, light, performance

if TYPE_CHECKING:
    from pytest_promptse.compare.study import Study
    from pytest_promptse.compare.table import Section

_SECTIONS = (leaderboard, quadrants, against_first, performance, distance, light, emotion)


def sections_of(study: Study) -> list[Section]:
    """Return the sections of a study, those too that only say what is missing."""
    return [make(study) for make in _SECTIONS]
