"""The record names the item of every variant, also of those that only a gate measured."""

from __future__ import annotations

import json

BOTH = """
import pytest
from pytest_promptse import Task

@pytest.mark.parametrize("again", ["no", "auc-e", "one"])
@pytest.mark.promptse(
    [Task(id="one", prompt="Write `one() -> int`, which returns the number one, and keep it short.",
          reference="def one(): return 1")],
    samples=2, original_samples=2, variants=1)
def test_auc_e_excess(candidate, task, again):
    assert candidate() == 1
"""
FILE = """promptse: 1
settings: {variants: 1, samples: 2, original_samples: 2}
tasks:
  - id: two
    prompt: Write `two() -> int`, which returns the number two, and keep the code short.
    reference: "def two(): return 2"
    examples: [{call: 'two()', expect: 2}]
"""


def test_what_a_gate_measured_is_named_as_pytest_collects_it(pytester, run):
    folder = pytester.mkdir("sub")
    (folder / "test_both.py").write_text(BOTH)
    (folder / "two.promptse.yaml").write_text(FILE)
    pytester.makeconftest(
        "from pytest_promptse.models._reference import ReferenceBackend\n"
        "def pytest_promptse_backend(name):\n"
        "    return ReferenceBackend() if name == 'twin' else None\n"
    )
    models = ("--promptse-model", "reference", "--promptse-model=twin:m", "-q")
    listed = run("--collect-only", *models).outlines
    variants = [line for line in listed if "original" in line or "-d0." in line]
    variants = [line for line in variants if "elasticity" not in line]
    report = ("--promptse-report", "json:run.json")
    done = run(*models, *report, "-k", "auc-e and not original and not junior and not senior")
    assert done.ret == 0
    record = json.loads((pytester.path / "run.json").read_text())
    named = [
        variant["node"]
        for task in record["tasks"]
        for variant in (task["original"], *task["variants"])
    ]
    assert sorted(named) == sorted(variants)
    assert len(named) == 8 * 4
    assert record["invocation"] == {
        "directory": ".",
        "options": ["--promptse-model", "reference", "--promptse-model=twin:m"],
    }
