"""The values of the psychometric sections of the HTML report, from the record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pytest_promptse.reports._formatting import ARROWS
from pytest_promptse.reports.html import _psychometric_plots
from pytest_promptse.reports.html._psychometric_plots import PlottedShift, Shares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.record._psychometrics import (
        ChangeRecord,
        CsiRecord,
        EmotionBenchRecord,
        ManipulationRecord,
        ScaleRecord,
    )
    from pytest_promptse.record._schema import Record


def sections(record: Record) -> dict[str, Any]:
    """Return the values of the psychometric sections; empty lists in a record without them."""
    if isinstance(record.psychometrics, msgspec.UnsetType):
        return {
            "csi": [],
            "csi_shares": "",
            "emotionbench": [],
            "manipulation": [],
            "arrows": ARROWS,
        }
    csi = record.psychometrics.csi
    return {
        "csi": csi,
        "csi_shares": _csi_shares(csi),
        "emotionbench": [
            {"of": found, "scales": [_scale(found, place, scale) for scale in found.scales]}
            for place, found in enumerate(record.psychometrics.emotionbench)
        ],
        "manipulation": [_manipulation(found) for found in record.psychometrics.manipulation],
        "arrows": ARROWS,
    }


def _manipulation(found: ManipulationRecord) -> dict[str, Any]:
    tables = []
    for perspective, heading in (
        ("own", "Affect that the model reports as its own"),
        ("writer", "Affect that the model reads in the writer"),
    ):
        cells = {
            (each.emotion, each.distance): each
            for each in found.shifts
            if each.perspective == perspective
        }
        tables.append(
            {
                "heading": heading,
                "emotions": list(dict.fromkeys(emotion for emotion, _ in cells)),
                "levels": sorted({distance for _, distance in cells}),
                "cells": cells,
                "baseline": found.baseline[perspective],
            }
        )
    return {"of": found, "tables": tables}


def _csi_shares(csi: Sequence[CsiRecord]) -> str:
    rows = [
        Shares(
            label=f"{found.model}, {found.language}",
            positive=found.optimism.value or 0.0,
            neutral=found.neutrality.value or 0.0,
            negative=found.pessimism.value or 0.0,
        )
        for found in csi
        if found.coverage.value
    ]
    if not rows:
        return ""
    title = "Shares of words by label: " + "; ".join(
        f"{row.label}: optimism {row.positive:.2f}, neutrality {row.neutral:.2f}, pessimism "
        f"{row.negative:.2f}"
        for row in rows
    )
    return _psychometric_plots.shares(rows, name="csi-shares", title=title)


def _scale(found: EmotionBenchRecord, place: int, scale: ScaleRecord) -> dict[str, Any]:
    categories = list(scale.default)
    drawings = []
    for number, category in enumerate(categories):
        shifts = [
            PlottedShift(
                label=change.label,
                delta=change.delta,
                ci95=change.ci95,
                human=change.human.delta if change.human else None,
            )
            for change in scale.changes.get(category, [])
            if "-" not in change.name
        ]
        if any(shift.delta is not None for shift in shifts):
            name = f"affect-{place}-{scale.scale.lower()}-{number}"
            title = f"Change of {category} by emotion, {found.model}"
            svg = _psychometric_plots.shifts(shifts, name=name, title=title)
            drawings.append({"heading": category, "svg": svg})
    return {
        "of": scale,
        "categories": categories,
        "rows": _rows(scale.changes),
        "counterparts": _rows(scale.counterparts),
        "contrasts": _rows(scale.contrasts),
        "has_norms": any(change.human for changes in scale.changes.values() for change in changes),
        "drawings": drawings,
    }


def _rows(
    changes: Mapping[str, Sequence[ChangeRecord]],
) -> list[tuple[str, str, dict[str, ChangeRecord]]]:
    """Return name, label and cells by category of each row."""
    rows: dict[str, dict[str, ChangeRecord]] = {}
    for category, of_category in changes.items():
        for change in of_category:
            rows.setdefault(change.name, {})[category] = change
    return [(name, next(iter(cells.values())).label, cells) for name, cells in rows.items()]
