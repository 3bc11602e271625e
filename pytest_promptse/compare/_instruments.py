"""The suites of instruments in several records side by side, as sections of a comparison."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from pytest_promptse.reports._escaping import escaped
from pytest_promptse.reports._instruments import Administered, side_by_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.compare._entry import NamedRecord
    from pytest_promptse.record._schema import Record
    from pytest_promptse.record._sections import Section

__all__ = ["instrument_sections"]


def instrument_sections(runs: Sequence[NamedRecord]) -> tuple[Section, ...]:
    """Return a section for each instrument of which a record of `runs` has a suite."""
    results = [
        (run, record, result)
        for run in runs
        for record in [escaped(run.record)]
        for result in record.instruments
    ]
    runs_of: dict[tuple[str, str], set[str]] = {}
    headings_of: dict[tuple[str, str, str], set[str]] = {}
    for run, _, result in results:
        runs_of.setdefault((result.instrument, result.model), set()).add(run.path)
        same = headings_of.setdefault((result.instrument, result.model, run.path), set())
        same.add(result.heading)
    administered = []
    for run, record, result in results:
        label = result.model
        if len(headings_of[result.instrument, result.model, run.path]) > 1:
            label += f", {result.heading}"
        if run.name or len(runs_of[result.instrument, result.model]) > 1:
            label += f" ({run.name or run.path})"
        administered.append(Administered(label, result, _auc_e(record, result.model)))
    return tuple(side_by_side(administered))


def _auc_e(record: Record, model: str) -> float | None:
    """Return the mean AUC-E of the stability suites of a model."""
    curves = [
        suite.auc_e for suite in record.suites if suite.model == model and suite.auc_e is not None
    ]
    return fmean(curves) if curves else None
