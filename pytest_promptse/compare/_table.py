"""Tables: the common form of a study's results for the terminal, CSV files and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from pytest_promptse.reports._formatting import DASH, NOT_MEASURED, exact, probability, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_T = TypeVar("_T")

Cell: TypeAlias = "str | float | tuple[float, float] | None"
Kind: TypeAlias = Literal[
    "text", "count", "figure", "signed", "interval", "signed interval", "p", "statistic"
]
_WRITERS: Mapping[str, Callable[[float], str]] = {
    "count": lambda value: f"{value:,.10g}",
    "statistic": lambda value: f"{value:,.2f}",
    "figure": exact,
    "signed": signed,
    "p": probability,
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column. ``key`` is its name in CSV. The terminal shows only ``brief`` columns.

    ``title`` is the heading, and ``kind`` defines how `written` formats the cells.
    """

    title: str
    key: str
    kind: Kind = "figure"
    brief: bool = True


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table for terminal, CSV and HTML.

    ``name`` is the name of the CSV file without its extension. The terminal shows the first
    ``brief`` rows. It shows all rows if ``brief`` is None, and no table if ``brief`` is 0.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    brief: int | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """Tables about one question, with an explanation and a list of what is missing.

    ``name`` identifies the section in files, ``lead`` is the explanation, and ``missing`` has one
    reason for each result that could not be computed. ``listing`` is text of which every line break
    counts, such as a diff or lines to paste.
    """

    name: str
    title: str
    lead: str
    tables: tuple[Table, ...]
    missing: tuple[str, ...] = ()
    listing: str = ""


def text(title: str, key: str, *, brief: bool = True) -> Column:
    """Return a column of words.

    `title` is the heading and `key` the name in CSV. The terminal shows the column only if `brief`
    is True.
    """
    return Column(title=title, key=key, kind="text", brief=brief)


def table_of(
    name: str,
    title: str,
    items: Iterable[_T],
    *columns: tuple[Column, Callable[[_T], Cell]],
    brief: int | None = None,
) -> Table:
    """Return a table with one row for each item, from each column and what computes its cells.

    Parameters
    ----------
    name, title
        Identifier and heading of the table.
    items
        One object per row.
    columns
        Pairs of a column and the function that returns its cell for an item.
    brief
        Number of rows that the terminal shows; None for all.
    """
    return Table(
        name=name,
        title=title,
        columns=tuple(column for column, _ in columns),
        rows=tuple(tuple(cell(item) for _, cell in columns) for item in items),
        brief=brief,
    )


def filled(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables that have rows."""
    return tuple(table for table in tables if table.rows)


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
