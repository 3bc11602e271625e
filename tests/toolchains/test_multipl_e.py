"""Tasks in the layout of MultiPL-E: right answers pass the tests beside them, wrong ones fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from program_runs import RunProgram, installed_runtime

from pytest_promptse.runtimes._runtime import runtime_of
from pytest_promptse.tasks import multipl_e

CASES = yaml.safe_load(Path(__file__).with_name("multipl_e.yaml").read_text("utf-8"))


def program(sandbox, task, answer):
    """Return the program of an answer, with the task's tests."""
    runtime = runtime_of(task.language, task.reached_by("program"))
    extraction = runtime.extract(
        answer,
        prompt=task.prompt,
        entry_point=task.entry_point,
        form="chat" if "```" in answer else "completion",
        finish_reason="stop",
    )
    return RunProgram(sandbox, runtime, task.whole(extraction.program))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_right_answers_pass_and_a_wrong_one_fails(sandbox, tmp_path, case):
    path = tmp_path / "copy.jsonl"
    path.write_text(json.dumps(case) + "\n", encoding="utf-8")
    (task,) = multipl_e.tasks(path)
    installed_runtime(task.language)
    for answer in case["right"]:
        task.check(program(sandbox, task, answer))
    with pytest.raises(AssertionError):
        task.check(program(sandbox, task, case["wrong"]))
