"""What a dry run says about gates on the drop."""

from __future__ import annotations

import json

TASKS = [
    {
        "id": f"t{number}",
        "prompt": "Write `add(a: int, b: int) -> int`: return a + b.",
        "examples": [{"call": "add(1, 2)", "expect": 3}],
    }
    for number in range(3)
]
PLAN = "promptse: plan for sums.promptse.yaml, max_drop 0.1 fails a drop of"


def test_a_dry_run_says_what_the_gate_can_decide(pytester):
    suite = {"promptse": 1, "settings": {"max_drop": 0.1}, "tasks": TASKS}
    pytester.path.joinpath("sums.promptse.yaml").write_text(json.dumps(suite))
    result = pytester.runpytest_subprocess(
        "-p", "no:asyncio", "-p", "no:randomly", "--promptse-model", "tiny", "--promptse-dry-run"
    )
    assert result.ret == 0
    [line] = [line for line in result.outlines if line.startswith(PLAN)]
    assert "To pass it in 80 %: 36 tasks" in line
    assert line.endswith("or interval reruns if no other tasks matter")
