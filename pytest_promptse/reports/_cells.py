"""The cells of tables as text and as values for sorting and for files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.reports._formatting import (
    DASH,
    NOT_MEASURED,
    exact,
    points,
    probability,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_promptse.record._sections import Cell, Kind

_WRITERS: Mapping[str, Callable[[float], str]] = {
    "count": lambda value: f"{value:,.10g}",
    "statistic": lambda value: f"{value:,.2f}",
    "figure": exact,
    "signed": signed,
    "points": points,
    "p": probability,
}


def written(cell: Cell, kind: Kind) -> str:
    """Return a cell as text.

    `kind` is that of the column and selects the number format. None is shown as not measured, and
    an interval as its two limits.
    """
    if cell is None:
        return NOT_MEASURED
    if isinstance(cell, str):
        return cell
    if isinstance(cell, tuple):
        low, high = cell
        is_signed = kind == "signed interval"
        return f"{signed(low)} to {signed(high)}" if is_signed else f"{low:.2f}{DASH}{high:.2f}"
    return _WRITERS[kind](cell)


def sort_value(cell: Cell) -> float | str | None:
    """Return the value by which a cell is sorted. An interval is sorted by its lower limit."""
    return cell[0] if isinstance(cell, tuple) else cell
