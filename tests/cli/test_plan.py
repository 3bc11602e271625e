"""``promptse plan``."""

from __future__ import annotations

import pytest

from pytest_promptse.cli._main import main
from pytest_promptse.config._metrics import METRICS


def test_a_plan_says_what_its_gate_decides(capsys):
    assert main(["plan", "--tasks", "4", "--interval", "reruns"]) == 0
    size, decides = capsys.readouterr().out.splitlines()
    assert size.endswith("12 variants: 512 completions")
    assert decides.startswith("max_drop 0.1 fails a drop of 0.2")
    assert "To pass" not in decides


def test_a_plan_that_cannot_pass_names_those_that_can(capsys):
    assert main(["plan", "--tasks", "4", "--max-drop", "0.05"]) == 0
    out = capsys.readouterr().out
    assert "passes a model that loses nothing in 0 %. To pass it in 80 %:" in out
    assert "interval reruns if no other tasks matter" in out


@pytest.mark.parametrize(
    "arguments", [["--tasks", "0"], ["--pass-rate", "0"], ["--spread", "-1"], ["--max-drop", "1"]]
)
def test_numbers_that_make_no_plan_are_refused(capsys, arguments):
    assert main(["plan", *arguments]) == 2
    assert capsys.readouterr().err.startswith("promptse: plan")


def test_every_metric_has_a_range_without_and_with_the_loss(capsys):
    assert main(["plan", "--variants", "1", "--samples", "2", "--figures"]) == 0
    shown = capsys.readouterr().out
    for metric in METRICS.values():
        assert f"\n{'E(0.3)' if metric.by_distance else metric.label}  " in shown
