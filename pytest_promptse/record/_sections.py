"""Sections: the common form of results for the terminal, the page, Markdown, CSV and LaTeX.

A section consists of blocks. Each report renders each kind of block in one way, so it does not know
what a section is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_T = TypeVar("_T")

Cell: TypeAlias = str | int | float | tuple[float, float] | None
Kind: TypeAlias = Literal[
    "text", "count", "figure", "signed", "points", "interval", "signed interval", "p", "statistic"
]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table. The terminal shows the column only if ``brief`` is True.

    ``title`` is the heading, ``key`` is the name of the column in CSV files, and ``kind`` defines
    the format of the cells.
    """

    title: str
    key: str
    kind: Kind = "figure"
    brief: bool = True


class Table(msgspec.Struct, frozen=True, kw_only=True, tag="table"):
    """A table. A cell is a text, a number, the two limits of an interval, or None.

    ``name`` is the name of the CSV file without its extension. The terminal shows only the first
    ``brief`` rows, or all rows if ``brief`` is None. The terminal omits the table if ``brief`` is
    0.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    brief: int | None = None

    def only_brief(self, *, intervals: bool = False) -> Table:
        """Return the columns that the terminal shows, with all rows.

        With `intervals`, columns of signed intervals are included too; the terminal shows them with
        ``-v``.
        """
        shown = [
            number
            for number, column in enumerate(self.columns)
            if column.brief or (intervals and column.kind == "signed interval")
        ]
        return replace(
            self,
            columns=tuple(self.columns[number] for number in shown),
            rows=tuple(tuple(row[number] for number in shown) for row in self.rows),
        )


ColumnOf: TypeAlias = "tuple[Column, Callable[[_T], Cell]]"
"""A column of a table of items of one type, and the function that computes its cells."""


class Prose(msgspec.Struct, frozen=True, kw_only=True, tag="prose"):
    """A paragraph of text."""

    text: str


class Listing(msgspec.Struct, frozen=True, kw_only=True, tag="listing"):
    """Text whose line breaks are kept, such as a diff or lines to paste.

    The terminal shows a listing only if ``brief`` is True, or with ``-v``.
    """

    title: str
    text: str
    brief: bool = True


class Bars(msgspec.Struct, frozen=True, kw_only=True, tag="bars"):
    """A plot of shares: one bar of length 1 for each row, divided into ``parts``.

    Each of ``rows`` has a label and the share of each part, in [0, 1].
    """

    title: str
    parts: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]


class PlottedInterval(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a plot of intervals. ``reference`` is a value with which ``value`` is compared."""

    label: str
    value: float | None
    ci95: tuple[float, float] | None = None
    reference: float | None = None


class Intervals(msgspec.Struct, frozen=True, kw_only=True, tag="intervals"):
    """A plot that shows one value with its 95 % interval for each row.

    ``axis`` is the label of the values with their unit. ``reference`` is the label of the reference
    values.
    """

    title: str
    axis: str
    rows: tuple[PlottedInterval, ...]
    reference: str = ""


Block: TypeAlias = Table | Prose | Listing | Bars | Intervals


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks about one question, with an explanation and a list of what is missing.

    ``name`` identifies the section in files, ``lead`` is the explanation, and ``missing`` has one
    reason for each result that could not be computed.
    """

    name: str
    title: str
    lead: str = ""
    blocks: tuple[Block, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables among the blocks."""
        return tables_in(self.blocks)


def tables_in(blocks: Iterable[Block]) -> tuple[Table, ...]:
    """Return the tables among `blocks`."""
    return tuple(block for block in blocks if isinstance(block, Table))


def col(
    title: str, key: str, cell: Callable[[_T], Cell], kind: Kind = "figure", *, brief: bool = True
) -> ColumnOf[_T]:
    """Return a column and the function that computes its cells, for `table_of`.

    `title`, `key`, `kind` and `brief` are those of the column.
    """
    return Column(title=title, key=key, kind=kind, brief=brief), cell


def table_of(
    name: str,
    title: str,
    items: Iterable[_T],
    *columns: ColumnOf[_T],
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
