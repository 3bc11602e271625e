"""The ``html`` report: one self-contained page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_promptse.record._files import write_chunks
from pytest_promptse.record._queries import (
    causes,
    compared,
    losses,
    overall,
    series_of,
    tasks_of,
    unscored,
    worst_change,
)
from pytest_promptse.record._verdicts import remedy, verdict_word, verdicts_in_words
from pytest_promptse.reports._escaping import escaped
from pytest_promptse.reports._estimates import estimates, scopes
from pytest_promptse.reports._instruments import (
    Administered,
    problems_in_words,
    shown_blocks,
    side_by_side,
)
from pytest_promptse.reports._length_control import control_rows, control_sentence
from pytest_promptse.reports._ranking import ranking_section
from pytest_promptse.reports.html import _standalone_page
from pytest_promptse.reports.html._embedded_data import LIMIT_BYTES, embed

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_promptse.record._schema import Record

_HARMFUL = 8


def check_installed() -> None:
    """Check that the packages of the extra ``html`` are installed.

    Raises
    ------
    SettingsError
        If a package is missing. The message names the extra to install.
    """
    _standalone_page.check_installed("an html report")


def write(record: Record, path: Path) -> None:
    """Write a record as a page to `path` and create the folder if it is missing.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    SettingsError
        If the extra ``html`` is not installed.
    """
    check_installed()
    write_chunks([render(record).encode()], path, what=f"report html:{path}")


def render(record: Record, *, limit: int = LIMIT_BYTES) -> str:
    """Return the page of a record, with at most `limit` bytes of embedded data.

    All text of the record is escaped first. The page is one file without external resources.
    `limit` applies to the compressed data of variants, not to the page.
    """
    from pytest_promptse.reports.html import _figures  # noqa: PLC0415 - the extra

    record = escaped(record)
    series = series_of(record)
    harmful, n_harmful = losses(record.tasks, most=_HARMFUL)
    return _standalone_page.rendered(
        _standalone_page.FOLDER / "page.html.j2",
        [_standalone_page.FOLDER / "sort.js", _standalone_page.FOLDER / "page.js"],
        record=record,
        series=series,
        labels=[entry.label for entry in series] or [model.spec for model in record.models],
        verdict=overall(record),
        in_words=verdicts_in_words(record),
        remedy=" ".join(remedy(record)),
        verdict_word=verdict_word,
        unscored=unscored(record),
        compared=compared(record),
        distances=sorted({d for suite in record.suites for d in suite.elasticity}, key=float),
        several_suites=len({suite.id for suite in record.suites}) > 1,
        rankings=[ranking_section(record, ranking) for ranking in record.rankings],
        curves=_figures.curves(record, series),
        subgroups=_figures.subgroups(record),
        instruments=_instruments(record),
        shown_blocks=shown_blocks,
        problems_in_words=problems_in_words,
        # A run without any suite is shown as a stability run without measurements.
        stability=bool(record.suites) or not record.instruments,
        causes=_causes(record),
        harmful=harmful,
        n_harmful=n_harmful,
        worst=worst_change,
        estimates=estimates,
        scopes=scopes,
        control_sentence=control_sentence,
        control_rows=control_rows,
        payload=embed(record, limit=limit),
    )


def _instruments(record: Record) -> list[dict[str, Any]]:
    instruments = []
    for name in dict.fromkeys(suite.instrument for suite in record.instruments):
        results = [suite for suite in record.instruments if suite.instrument == name]
        several = len({suite.heading for suite in results}) > 1
        compared = side_by_side(
            [
                Administered(
                    f"{result.model}, {result.heading}" if several else result.model, result
                )
                for result in results
            ]
        )
        instruments.append(
            {
                "name": name,
                "title": results[0].title,
                "about": results[0].about,
                "results": results,
                "compared": next(compared) if len(results) > 1 else None,
            }
        )
    return instruments


def _causes(record: Record) -> list[dict[str, Any]]:
    tables = []
    for entry in series_of(record):
        rows = causes(tasks_of(record, entry))
        names = sorted({cause for row in rows for cause in row.counts})
        if names:
            tables.append({"label": entry.label, "rows": rows, "names": names})
    return tables
