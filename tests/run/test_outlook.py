"""What a gate on the drop can decide is said with plans that decide more."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from planned_suites import plan

from pytest_promptse.run._outlook import outlook, outlooks
from pytest_promptse.scoring._planning import POWER, DropPlan

PLAN = DropPlan(tasks=3, variants=6, samples=4, original_samples=16, reruns=True)


def test_every_remedy_lets_the_gate_pass():
    text = outlook(PLAN, 0.05)
    tasks, completions = map(int, re.search(r"(\d+) tasks \((\d+) compl", text).groups())
    more_tasks = replace(PLAN, tasks=tasks)
    assert more_tasks.completions == completions
    assert more_tasks.passes(0.05) >= POWER
    counts = re.search(r"(\d+) samples a variant and (\d+) an original \((\d+) compl", text)
    samples, original, completions = map(int, counts.groups())
    more_samples = replace(PLAN, samples=samples, original_samples=original)
    assert more_samples.completions == completions
    assert more_samples.passes(0.05) >= POWER
    least = float(text.rpartition("max_drop ")[2])
    assert PLAN.passes(least) >= POWER > PLAN.passes(least - 0.01)
    assert "interval reruns" not in text


def test_a_gate_that_can_pass_has_no_remedy():
    assert outlook(replace(PLAN, samples=256, original_samples=1024), 0.2).endswith(" 100 %")


def test_a_gate_that_passes_just_often_enough_has_no_remedy(monkeypatch):
    monkeypatch.setattr(DropPlan, "passes", lambda _plan, _threshold: POWER)
    assert outlook(PLAN, 0.2).endswith(" in 80 %")


def test_suites_with_the_same_outlook_share_a_line():
    reruns = {"interval": "reruns", "samples": 64, "max_drop": 0.3}
    suites = [
        plan(suite_id="a.py::t", **reruns),
        plan(suite_id="a.py::t", planned_model="fake:other", **reruns),
        plan(suite_id="b.py::t", **reruns),
        plan(["one", "two"], suite_id="c.py::t", **reruns),
    ]
    lines = list(outlooks(suites))
    assert [line.partition(",")[0] for line in lines] == ["a.py::t and 1 more", "c.py::t"]
    for line, suite in zip(lines, (suites[0], suites[3]), strict=True):
        size = DropPlan(
            tasks=len(suite.tasks),
            variants=len(suite.variants) // len(suite.tasks) - 1,
            samples=64,
            original_samples=suite.settings.original_samples,
            reruns=True,
        )
        assert line.endswith(outlook(size, 0.3))


@pytest.mark.parametrize(
    "chosen", [{}, {"max_drop": 0.1, "gate": "point"}, {"max_drop": 0.1, "samples": "auto"}]
)
def test_gates_without_a_single_interval_have_no_outlook(chosen):
    assert list(outlooks([plan(**chosen)])) == []
