"""Rounded figures never look better or more certain than they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from record_builders import falling, make_record, make_suite, make_task, with_estimates
from rich.cells import cell_len

from pytest_promptse.record._verdicts import verdicts_in_words
from pytest_promptse.reports._formatting import exact, short, shortened
from pytest_promptse.reports.terminal._overview import overview


@pytest.mark.parametrize(
    ("value", "two", "three"),
    [
        (1.0, "1.00", "1.000"),
        (1.0 - 1e-12, "1.00", "1.000"),
        (0.9996, "0.99", "0.999"),
        (0.994, "0.99", "0.994"),
        (-1e-16, "0.00", "0.000"),
        (0.5, "0.50", "0.500"),
    ],
)
def test_only_one_is_shown_as_one_and_nothing_as_minus_zero(value, two, three):
    assert (short(value), exact(value)) == (two, three)


def test_suites_of_one_name_in_two_folders_are_distinguished():
    tasks = [
        make_task("t", *falling(1.0, 0.5, 0.0), suite=f"{folder}/test_a.py::test_a")
        for folder in ("api", "web")
    ]
    suites = [
        with_estimates(replace(make_suite([task]), verdict="fail"), pass_at_1=1.0) for task in tasks
    ]
    record = make_record(*((suite, [task]) for suite, task in zip(suites, tasks, strict=True)))
    rows = "\n".join(str(line) for line in overview(suites, width=200))
    said = "\n".join(map(str, verdicts_in_words(record)))
    for folder in ("api", "web"):
        assert f"{folder}/test_a.py::test_a " in rows
        assert f"{folder}/test_a.py::test_a fails" in said


@given(st.text(alphabet="ab漢字é", max_size=12), st.integers(1, 12))
def test_names_with_wide_characters_take_exactly_the_width_of_their_column(name, width):
    assert cell_len(shortened(name, width)) == width
