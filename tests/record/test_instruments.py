"""Figures of instruments' suites: their table, their bounds, and their values in a baseline."""

from __future__ import annotations

import pytest
from instrument_records import survey
from msgspec.structs import replace

from pytest_promptse.record._instruments import (
    BoundsRecord,
    FigureRecord,
    figure_table,
    with_baseline,
)
from pytest_promptse.record._sections import (
    Column,
    Prose,
    Section,
    Table,
    col,
    filled,
    table_of,
    tables_in,
)


def bounds(low=None, high=None):
    return BoundsRecord(name="n", low=low, high=high, value=0.5, verdict="pass", message="")


def test_the_threshold_of_a_range_is_its_lower_bound_or_else_the_upper_one():
    assert [bounds(0.2, 0.8).threshold, bounds(high=0.8).threshold, bounds().threshold] == [
        *(0.2, 0.8),
        None,
    ]


def test_figures_are_a_table_with_their_intervals():
    figures = survey("tiny", 0.5).figures[2:]
    table = figure_table("scores", "Scores", figures)
    assert [(c.title, c.key, c.kind, c.brief) for c in table.columns] == [
        ("figure", "figure", "text", True),
        ("value", "value", "points", True),
        ("95 %", "ci95", "interval", True),
    ]
    assert table.rows == (
        ("label of shift", 5.0, (4.9, 5.1)),
        ("label of detail", 0.25, (0.15, 0.35)),
    )
    assert (table.name, table.title, table.brief) == ("scores", "Scores", None)
    assert figure_table("scores", "Scores", []).columns[1].kind == "figure"


def compared(suites, baseline):
    """Return the baseline and the first figure's value in it, for each suite."""
    found = with_baseline(suites, baseline, name="main")
    return [(suite.baseline, suite.figures[0].baseline) for suite in found]


def test_a_suite_is_compared_with_the_same_model_or_if_alone_with_another():
    one, two, other = survey("one", 0.1), survey("two", 0.2), survey("other", 0.3)
    assert compared([one, two], [two, one]) == [("main", 0.1), ("main", 0.2)]
    assert compared([one], [other]) == [("main", 0.3)]
    assert compared([one], [other, two]) == [(None, None)]
    assert compared([one, two], [other]) == [(None, None)] * 2
    assert compared([one, two], [two]) == [(None, None), ("main", 0.2)]


@pytest.mark.parametrize("changed", [{"instrument": "quiz"}, {"id": "other.yaml"}])
def test_a_suite_of_another_file_or_instrument_is_no_counterpart(changed):
    one = survey("one", 0.1)
    assert compared([one], [replace(one, **changed)]) == [(None, None)]
    assert compared([one], [one, replace(survey("two", 0.2), **changed)]) == [("main", 0.1)]


def test_a_figure_that_the_baseline_lacks_has_no_value_in_it():
    one = survey("one", 0.1)
    new = FigureRecord(name="new", label="new", value=1.0)
    [found] = with_baseline([replace(one, figures=[new, *one.figures])], [one], name="main")
    assert [figure.baseline for figure in found.figures[:2]] == [None, 0.1]
    assert found.figure("new") == new
    assert found.figure("none") is None


TABLE = table_of(
    "t",
    "T",
    [1, 2],
    col("a", "a", lambda item: item, "count"),
    col("b", "b", lambda item: 2 * item, brief=False),
    col("c", "c", lambda item: (item, item), "signed interval", brief=False),
    brief=1,
)


def test_a_table_has_a_row_for_each_item_and_shows_brief_columns():
    assert TABLE.rows == ((1, 2, (1, 1)), (2, 4, (2, 2)))
    assert TABLE.columns[1] == Column(title="b", key="b", kind="figure", brief=False)
    assert TABLE.brief == 1
    shown, wide = TABLE.only_brief(), TABLE.only_brief(intervals=True)
    assert (shown.rows, [column.key for column in shown.columns]) == (((1,), (2,)), ["a"])
    assert (wide.rows, [column.key for column in wide.columns]) == (
        ((1, (1, 1)), (2, (2, 2))),
        ["a", "c"],
    )


def test_the_tables_of_a_section_are_found_and_those_without_rows_left_out():
    empty = Table(name="e", title="E", columns=(), rows=())
    section = Section(name="s", title="S", blocks=(Prose(text="p"), TABLE, empty))
    assert section.tables == tables_in(section.blocks) == (TABLE, empty)
    assert filled(section.tables) == (TABLE,)
