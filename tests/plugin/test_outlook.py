"""What a dry run says about gates on the drop."""

from __future__ import annotations

import json

import pytest

TASKS = [
    {
        "id": f"t{number}",
        "prompt": "Write `add(a: int, b: int) -> int`: return a + b.",
        "examples": [{"call": "add(1, 2)", "expect": 3}],
    }
    for number in range(3)
]
PLAN = "promptse: plan for sums.promptse.yaml, max_drop 0.1 fails a loss of"


def outlook(pytester, **settings):
    suite = {"promptse": 1, "settings": {"max_drop": 0.1, **settings}, "tasks": TASKS}
    pytester.path.joinpath("sums.promptse.yaml").write_text(json.dumps(suite))
    result = pytester.runpytest_subprocess(
        "-p", "no:asyncio", "-p", "no:randomly", "--promptse-model", "tiny", "--promptse-dry-run"
    )
    assert result.ret == 0
    return [line for line in result.outlines if line.startswith(PLAN)]


@pytest.mark.parametrize(
    ("settings", "can_pass"), [({"interval": "reruns", "samples": 32}, True), ({}, False)]
)
def test_a_dry_run_says_what_the_gate_can_decide(pytester, settings, can_pass):
    [line] = outlook(pytester, **settings)
    assert ("To pass it in 80 %: 39 tasks" not in line) == can_pass
    assert ("interval reruns" not in line) == can_pass


@pytest.mark.parametrize("settings", [{"samples": "auto"}, {"gate": "point"}])
def test_gates_without_a_single_interval_have_no_outlook(pytester, settings):
    assert outlook(pytester, **settings) == []
