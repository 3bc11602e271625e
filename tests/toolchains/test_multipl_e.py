"""Tasks in the layout of MultiPL-E: right answers pass the tests beside them, wrong ones fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from program_runs import installed_runtime

from pytest_promptse.runtimes._runtime import call_text, runtime_of
from pytest_promptse.sandbox._causes import Failure
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.tasks import multipl_e

CASES = yaml.safe_load(Path(__file__).with_name("multipl_e.yaml").read_text("utf-8"))


class Program:
    """The ``program`` of a check, run without pytest."""

    def __init__(self, sandbox, task, answer):
        runtime = runtime_of(task.language, task.reached_by("program"))
        self.limits = runtime.limits(Limits(wall=10.0, cpu=10.0))
        extraction = runtime.extract(
            answer,
            prompt=task.prompt,
            entry_point=task.entry_point,
            form="chat" if "```" in answer else "completion",
            finish_reason="stop",
        )
        self.sandbox = sandbox
        self.prepared = runtime.prepare(task.whole(extraction.program), sandbox, self.limits)

    def run(self):
        assert not isinstance(self.prepared, Failure), self.prepared
        with self.sandbox.load(
            self.prepared, entry_point="launch", limits=self.limits
        ) as candidate:
            return candidate.run("", [call_text((), {}, {})])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_right_answers_pass_and_a_wrong_one_fails(sandbox, tmp_path, case):
    path = tmp_path / "copy.jsonl"
    path.write_text(json.dumps(case) + "\n", encoding="utf-8")
    (task,) = multipl_e.tasks(path)
    installed_runtime(task.language)
    for answer in case["right"]:
        task.check(Program(sandbox, task, answer))
    with pytest.raises(AssertionError):
        task.check(Program(sandbox, task, case["wrong"]))
