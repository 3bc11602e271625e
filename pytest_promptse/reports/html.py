"""``html:PATH``: the record as one page that needs nothing beside itself (see `paging`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_promptse.reports import paging
from pytest_promptse.reports.digest import (
    asked,
    causes,
    compared,
    losses,
    overall,
    series_of,
    unscored,
    worst_change,
)
from pytest_promptse.reports.payload import LIMIT_BYTES, embed
from pytest_promptse.reports.ranked import FIGURES, gap, remarks, victories
from pytest_promptse.reports.ranking_text import NAMES, per_solved, unit
from pytest_promptse.reports.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_promptse.reports.ranked import RankingRecord
    from pytest_promptse.reports.record import Record

_HARMFUL = 8


def check_installed() -> None:
    """Refuse to go on without what the page is made with.

    Raises
    ------
    SettingsError
        Naming the extra to install.
    """
    paging.check_installed("an html report")


def write(record: Record, path: Path) -> None:
    """Write a record as a page, making the folder if it is missing.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    SettingsError
        If the extra is not installed.
    """
    check_installed()
    paging.save(render(record), path, what=f"report html:{path}")


def render(record: Record, *, limit: int = LIMIT_BYTES) -> str:
    """Return the page of a record, with at most `limit` bytes of samples in it."""
    from pytest_promptse.reports import figures  # noqa: PLC0415 - needs the extra

    record = visible(record)
    series = series_of(record)
    harmful, n_harmful = losses(record.tasks, most=_HARMFUL)
    return paging.rendered(
        paging.FOLDER / "page.html.j2",
        [paging.FOLDER / "sort.js", paging.FOLDER / "page.js"],
        record=record,
        series=series,
        verdict=overall(record),
        unscored=unscored(record),
        compared=compared(record),
        distances=sorted({d for suite in record.suites for d in suite.elasticity}, key=float),
        several_suites=len({suite.id for suite in record.suites}) > 1,
        rankings=[_ranking(ranking) for ranking in record.rankings],
        curves=figures.curves(record, series),
        voices=figures.voices(record),
        causes=_causes(record),
        harmful=harmful,
        n_harmful=n_harmful,
        worst=worst_change,
        payload=embed(record, limit=limit),
    )


def _ranking(ranking: RankingRecord) -> dict[str, Any]:
    return {
        "of": ranking,
        "figures": [NAMES[metric] for metric in FIGURES],
        "unit": unit(ranking),
        "rows": [
            (one, per_solved(one), [gap(ranking, one.template, metric) for metric in FIGURES])
            for one in ranking.templates
        ],
        "victories": [
            (NAMES[metric], better, worse)
            for metric in FIGURES
            for better, worse in victories(ranking, metric)
        ],
        "remarks": remarks(ranking),
    }


def _causes(record: Record) -> list[dict[str, Any]]:
    tables = []
    for one in series_of(record):
        rows = causes(asked(record, one))
        names = sorted({cause for row in rows for cause in row.counts})
        if names:
            tables.append({"label": one.label, "rows": rows, "names": names})
    return tables
