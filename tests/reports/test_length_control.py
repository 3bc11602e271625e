"""The sentence agrees with the interval and claims no more."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from record_builders import make_record, make_suite, make_task

from pytest_promptse.record._figures import ControlLevelRecord, ControlRecord, EstimateRecord
from pytest_promptse.record._tables import rows, write_csv
from pytest_promptse.reports._length_control import control_lines, control_sentence
from pytest_promptse.reports._markdown import render as markdown
from pytest_promptse.reports.html._html import render as html


def control(loss=0.12, lost=0.09, ci95=(-0.02, 0.08), **changed):
    left = None if loss is None else loss - lost
    figures = {"loss": loss, "control_loss": lost, "excess_loss": estimate(left, ci95)}
    level = ControlLevelRecord(
        n_tasks=2,
        loss=0.1,
        control_loss=0.1,
        excess_loss=estimate(0.0, ci95),
        words_added=5.0,
        control_words_added=5.5,
    )
    return ControlRecord(
        **{"name": "neutral", "n_planned": 4, "n_measured": 4, "levels": {"0.1": level}}
        | figures
        | changed
    )


def estimate(value, ci95):
    return EstimateRecord(value=value, ci95=ci95, exact=None)


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (
            {},
            "0.03 (\N{MINUS SIGN}0.02 to 0.08) is left once length is taken away: the length",
        ),
        ({"lost": 0.02, "ci95": (0.05, 0.15)}, "it is not due to the added text alone."),
        # A limit of 0.004 is printed as 0.00, so the sentence must not claim that it excludes 0.
        ({"lost": 0.02, "ci95": (0.004, 0.15)}, "may explain all of it."),
        ({"lost": 0.30, "ci95": (-0.3, -0.1)}, "control variants of the same length lose more"),
        ({"lost": 0.14, "ci95": (-0.1, 0.1)}, "the length explains all of it."),
        ({"ci95": None}, "0.03 is left once length is taken away: the length explains the rest."),
        ({"loss": 0.001, "lost": 0.0}, "The variants lose nothing on average (loss 0.00)"),
        ({"loss": None, "lost": None}, "The control was not measured at every distance."),
        ({"n_measured": 3}, "(3 of 4 control variants were measured)"),
    ],
)
def test_the_sentence_says_what_is_left(figures, expected):
    assert expected in control_sentence(control(**figures))


def suite(name, **figures):
    made = make_suite([make_task("a", 1.0, {0.1: [1.0]}, suite=name)])
    return replace(made, control=control(**figures) if figures.get("loss", 1) else None)


def test_suites_that_lose_nothing_share_a_line():
    suites = [suite("a.py::t"), *(suite(f"{n}.py::t", loss=0.001, lost=0.0) for n in "bc")]
    lines = list(control_lines(suites, verbose=False))
    assert len(lines) == 2
    assert lines[1].startswith("2 suites: no loss on average")
    assert sum("distance 0.1: " in line for line in control_lines(suites, verbose=True)) == 3
    assert list(control_lines([replace(suites[0], control=None)], verbose=True)) == []


def test_every_report_and_table_has_it(tmp_path):
    task = make_task("a", 1.0, {0.1: [0.5]})
    task = replace(task, controls=[replace(one, id="d0.1-neutral-0") for one in task.variants])
    record = make_record((replace(make_suite([task]), control=control()), [task]))
    sentence = control_sentence(control())
    assert sentence in markdown(record)
    assert sentence in html(record)
    [row] = rows(record, "suites")
    names = ("loss_mean", "loss_control", "excess_loss", "excess_loss_low", "excess_loss_high")
    assert [row[name] for name in names] == pytest.approx([0.12, 0.09, 0.03, -0.02, 0.08])
    assert [row["variant"] for row in rows(record, "controls")] == ["d0.1-neutral-0"]
    assert "d0.1-neutral-0" not in [row["variant"] for row in rows(record, "variants")]
    write_csv(record, tmp_path)
    assert (tmp_path / "controls.csv").is_file()
