from __future__ import annotations

import pytest

from pytest_promptse.record._sections import col, filled, table_of
from pytest_promptse.reports._cells import sort_value, written
from pytest_promptse.reports._formatting import DASH, MINUS


def test_each_column_stands_beside_what_computes_its_cells():
    table = table_of(
        "words",
        "Words",
        ["ab", "c"],
        col("word", "word", str, "text"),
        col("letters", "n", len, "count"),
        brief=1,
    )
    assert [column.key for column in table.columns] == ["word", "n"]
    assert table.rows == (("ab", 2), ("c", 1))
    assert table.brief == 1


def test_tables_without_rows_are_left_out():
    full, empty = (table_of("t", "T", items, col("a", "a", str, "text")) for items in ("a", ""))
    assert filled((empty, full)) == (full,)


@pytest.mark.parametrize(
    ("cell", "kind", "shown"),
    [
        (None, "figure", "·"),
        ("model", "text", "model"),
        (0.9996, "figure", "0.999"),
        (1234, "count", "1,234"),
        (-0.25, "signed", f"{MINUS}0.25"),
        (0.0004, "p", "<0.001"),
        (12.345, "statistic", "12.35"),
        ((0.1, 0.25), "interval", f"0.10{DASH}0.25"),
        ((-0.1, 0.25), "signed interval", f"{MINUS}0.10 to +0.25"),
    ],
)
def test_a_cell_is_written_by_its_kind(cell, kind, shown):
    assert written(cell, kind) == shown


def test_an_interval_is_sorted_by_its_lower_limit():
    assert [sort_value(cell) for cell in ((0.1, 0.9), 0.5, "a", None)] == [0.1, 0.5, "a", None]
