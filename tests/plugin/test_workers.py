"""A run spread over xdist workers is the same run."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from pytest_promptse.tasks._task import Task

TASKS = [
    Task(id=name, prompt=f"Write `{name}(a, b)`: return {what} of both numbers, and no more.")
    for name, what in (("add", "the sum"), ("times", "the product"), ("least", "the smaller"))
]
ANSWERS = {"add": "a + b", "times": "a * b", "least": "a"}


@pytest.fixture
def suite(pytester, replay) -> str:
    tasks = "\n".join(
        f"  - id: {task.id}\n    prompt: {json.dumps(task.prompt)}\n"
        f"    examples: [{{call: '{task.id}(3, 2)', expect: {value}}}]"
        for task, value in zip(TASKS, (5, 6, 2), strict=True)
    )
    (pytester.path / "sums.promptse.yaml").write_text(
        "promptse: 1\nsettings: {variants: 1, samples: 2, original_samples: 2, min_auc_e: 0.5}\n"
        f"tasks:\n{tasks}\n"
    )
    lines = ""
    for task in TASKS:
        program = f"def {task.id}(a, b):\n    return {ANSWERS[task.id]}\n"
        replay({task.id: [program, "def nothing(): pass\n"]}, task.prompt)
        lines += (pytester.path / "answers.jsonl").read_text()
    (pytester.path / "answers.jsonl").write_text(lines)
    return "replay:answers.jsonl"


def record(pytester, name: str, *arguments: str) -> dict:
    """Run into a store of its own and return the record without what names time and place."""
    pytester.runpytest_subprocess(
        *("-p", "no:hypothesispytest", "-p", "no:anyio", "--promptse-store", name),
        *("--promptse-report", f"json:{name}.json", *arguments),
    )
    found = json.loads((pytester.path / f"{name}.json").read_text())
    for volatile in ("started", "finished", "settings", "invocation"):
        del found[volatile]
    for part in ("tasks", "suites", "errors"):
        found[part].sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    for one in found["suites"]:
        del one["settings"]
    return found


def test_two_workers_find_pay_and_tell_junit_the_same_as_one_process(pytester, suite, two_workers):
    records = {
        name: record(pytester, name, *spread, "--promptse-model", suite, f"--junitxml={name}.xml")
        # Without a terminal, nothing shows the progress of the workers.
        for name, spread in (
            ("alone", ("-p", "no:xdist")),
            ("shared", (*two_workers, "-p", "no:terminal")),
        )
    }
    assert records["alone"]["usage"]["cached"] == 0
    assert records["alone"]["suites"][0]["pass_at_1"] == pytest.approx(1 / 3)
    assert records["shared"] == records["alone"]
    alone, shared = (figures(pytester.path / f"{name}.xml") for name in ("alone", "shared"))
    assert len(alone) == 16
    gate = next(found for name, found in alone.items() if name.endswith("auc-e]"))
    assert set(gate) == {
        "promptse_auc-e",
        "promptse_ci95_low",
        "promptse_ci95_high",
        "promptse_excess",
    }
    assert shared == alone


def figures(path) -> dict[str, dict[str, str]]:
    """Return the properties of each test case, without how long it waited for the model."""
    return {
        case.get("name"): {
            found.get("name"): found.get("value")
            for found in case.iter("property")
            if found.get("name") != "promptse_wait_seconds"
        }
        for case in ET.parse(path).iter("testcase")
    }


def test_a_dry_run_shows_its_plan_once_and_starts_no_worker(pytester, suite):
    result = pytester.runpytest_subprocess(
        "--promptse-model", suite, "--promptse-dry-run", "-n", "2", "--promptse-store", "planned"
    )
    assert result.ret == 0, result.stdout.str()
    assert result.stdout.str().count("promptse: plan for") == 1
    # The folder of this test is that of a worker too.
    assert "gw0" not in result.stdout.str().replace("popen-gw0", "")
