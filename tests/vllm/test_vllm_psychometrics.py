"""Psychometric suites with vLLM, on a model that cannot answer them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_promptse.record._schema import Record

pytest.importorskip("vllm")

# vLLM's own imports issue many warnings that do not concern this package.
pytestmark = pytest.mark.filterwarnings("default")

CSI = """
promptse: 1
settings: {words: 20, words_per_prompt: 10, comparator: false, max_tokens: 48,
           min_coverage: 0.5, min_consistency: 0.5, max_reluctancy: 0.9}
"""
BENCH = """
promptse: 1
settings: {emotions: [Fear], per_factor: 1, runs: 1, default_runs: 2, max_tokens: 48,
           min_delta_negative: 1, max_refusals: 0.5, min_coverage: 0.5}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, server):
    folder = tmp_path_factory.mktemp("psychometrics")
    (folder / "words.csi.yaml").write_text(CSI)
    (folder / "fear.emotionbench.yaml").write_text(BENCH)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-rA", "--promptse-report=json:record.json"]
    command += ["--promptse-model=openai:tiny", f"--promptse-base-url={server}"]
    env = os.environ | {"OPENAI_API_KEY": "none"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done, Record.load(folder / "record.json").instruments


def test_only_gates_fail_and_say_why(run):
    done, _ = run
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stdout
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    assert len(failed) == 5
    assert all("::suite[" in line for line in failed)
    assert "coverage 0.00 < 0.50" in done.stdout
    assert "reluctancy was not measured" in done.stdout
    assert "negative-affect was not measured" in done.stdout


def test_every_malformed_response_is_counted_by_its_kind(run):
    _, found = run
    csi, bench = sorted(found, key=lambda suite: suite.instrument)
    for suite, n_prompts, n_items in ((csi, 4, 10), (bench, 2 + 5, 20)):
        assert suite.n_responses == suite.n_planned == n_prompts
        kinds = {"refusal", "prose", "empty", "wrong_count"}
        assert sum(suite.problems.get(kind, 0) for kind in kinds) == n_prompts
        assert suite.problems["missing"] == n_prompts * n_items
        assert suite.worst


def test_the_record_holds_no_score_that_nothing_was_answered_for(run):
    _, found = run
    csi, bench = sorted(found, key=lambda suite: suite.instrument)
    assert csi.figure("coverage").value == 0
    assert csi.figure("optimism").value is None
    assert {gate.name: gate.verdict for gate in csi.gates} == {
        "coverage": "fail",
        "consistency": None,
        "reluctancy": None,
    }
    assert bench.data["n_scored"] == 0
    (scale,) = bench.data["scales"]
    assert all(summary["mean"] is None for summary in scale["default"].values())
    assert {gate.name: gate.verdict for gate in bench.gates} == {
        "negative-affect": None,
        "refusals": "pass",
        "coverage": "fail",
    }
