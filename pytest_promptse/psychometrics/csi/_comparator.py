"""A Big Five questionnaire, whose reliability is compared with that of the inventory.

The paper compares with the Big Five Inventory (section 4.2, table 5), whose items are not free.
This questionnaire has the 50 items of the International Personality Item Pool, which are in the
public domain. Their Chinese translation is this project's own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from pytest_promptse.instruments._scales import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.instruments._scales import Ratings
    from pytest_promptse.psychometrics.csi._words import Language

__all__ = ["Reliability", "big_five", "reliability"]

_NEITHER = 3


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """The reliability of a questionnaire over several runs.

    Parameters
    ----------
    scale
        The name of the questionnaire.
    n_items, n_runs
        Numbers of items and runs.
    consistency
        Share of items with the same rating in all runs, or None without items.
    reluctancy
        Ratings of 3, "neither", as a share of all given ratings, or None without ratings.
    coverage
        Given ratings as a share of the requested ones.
    """

    scale: str
    n_items: int
    n_runs: int
    consistency: float | None
    reluctancy: float | None
    coverage: float


@cache
def big_five(language: Language) -> Scale:
    """Return the 50 items in `language` with their scoring key. The data file names the sources."""
    data = resources.files(__package__) / "data" / "ipip_big_five.json"
    document = json.loads(data.read_text(encoding="utf-8"))
    rows = document["items"]
    traits = dict.fromkeys(row["trait"] for row in rows)
    return Scale(
        name="IPIP Big Five",
        items=tuple(row[language] for row in rows),
        low=1,
        high=5,
        instructions=document["instructions"][language],
        categories={
            trait: tuple(n for n, row in enumerate(rows, start=1) if row["trait"] == trait)
            for trait in traits
        },
        reverse=frozenset(n for n, row in enumerate(rows, start=1) if row["key"] == "-"),
        source=document["source"],
    )


def reliability(scale: Scale, runs: Sequence[Ratings]) -> Reliability:
    """Return the reliability of `scale` by the definitions of the paper's section 4.2.

    An item without a rating in some run is not consistent. It is not a reluctant answer either; it
    lowers the coverage.
    """
    numbers = range(1, len(scale.items) + 1)
    same = (
        sum(
            len({run.ratings.get(number) for run in runs}) == 1 and number in runs[0].ratings
            for number in numbers
        )
        if runs
        else 0
    )
    given = [value for run in runs for value in run.ratings.values()]
    requested = len(scale.items) * len(runs)
    return Reliability(
        scale=scale.name,
        n_items=len(scale.items),
        n_runs=len(runs),
        consistency=same / len(scale.items) if given else None,
        reluctancy=given.count(_NEITHER) / len(given) if given else None,
        coverage=len(given) / requested if requested else 0.0,
    )
