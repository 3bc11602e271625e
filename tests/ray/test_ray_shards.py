"""Shards on a cluster give the record of a single run, even if a node is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.cli._main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.ray.conftest import Nodes

TASKS = {"add": "a + b", "times": "a * b", "least": "min(a, b)", "most": "max(a, b)"}
# Every shard reports that it started, and then takes long enough to be killed.
CONFTEST = """
import time

def pytest_sessionstart():
    with open({trace!r}, "a") as file:
        file.write("x")
    time.sleep(2)
"""
PYTEST = (
    *("--promptse-model", "reference", "--promptse-samples", "2", "--promptse-variants", "1"),
    *("--promptse-distances", "0.1,0.3"),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a suite of four tasks. Every start of pytest adds a character to the file trace."""
    tasks = "\n".join(
        f"  - id: {name}\n    prompt: Write `{name}(a, b)` and no more.\n"
        f"    reference: |\n      def {name}(a, b):\n          return {body}\n"
        f"    examples: [{{call: '{name}(3, 2)', expect: {eval(body, {'a': 3, 'b': 2})}}}]"
        for name, body in TASKS.items()
    )
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST.format(trace=str(folder / "trace")))
    (folder / "sums.promptse.yaml").write_text(
        f"promptse: 1\nsettings: {{min_auc_e: 0.9}}\ntasks:\n{tasks}\n"
    )
    return folder


def run_pytest(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", *PYTEST, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def record(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    for suite in found["suites"]:
        for name in ("report", "store"):
            del suite["settings"][name]
    return found


def test_merged_shards_of_a_cluster_that_lost_a_node_give_the_record_of_a_single_run(
    project: Path, cluster: Nodes, promptse: Callable[..., subprocess.Popen[str]]
) -> None:
    trace = project / "trace"
    run_pytest(project, "-k", "add")
    trace.write_text("")
    driver = promptse(
        *(
            "shard",
            "run",
            "--ray",
            cluster.address,
            "--shards",
            "4",
            "--report",
            "json:merged.json",
        ),
        *("--", *PYTEST),
        folder="project",
    )
    deadline = time.monotonic() + 300
    while len(trace.read_text()) < 2:
        # A driver that ended will start no more shards, and says why.
        assert driver.poll() is None, driver.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    cluster.kill()
    out, err = driver.communicate(timeout=500)
    assert driver.returncode == 0, err
    assert "promptse: merged 4 shards" in out
    assert len(trace.read_text()) > 4

    # The completions of the shards were added to the store, so a single run needs no request.
    run_pytest(project, "--promptse-report", "json:single.json")
    merged, single = record(project / "merged.json"), record(project / "single.json")
    for part in ("suites", "tasks", "errors", "models"):
        assert merged[part] == single[part]
    assert single["usage"]["requests"] == 0
    # One of the four tasks was in the store before.
    assert merged["usage"]["cached"] == single["usage"]["cached"] // 4 > 0


def test_an_argument_that_a_shard_cannot_run_is_an_error_of_one_line(
    project: Path, cluster: Nodes, promptse: Callable[..., subprocess.Popen[str]]
) -> None:
    common = ("shard", "run", "--ray", cluster.address, "--shards")
    failed = promptse(*common, "1", "--", "--no-such-option", folder="project")
    _, err = failed.communicate(timeout=500)
    assert failed.returncode == 2
    assert "pytest ended shard 1/1 with code 4" in err
    assert "--no-such-option" in err
    assert len(err.splitlines()) == 1


def test_options_of_single_shards_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shard", "run", "--ray", "local", "--shards", "0"]) == 2
    assert "--shards 0: must be at least 1" in capsys.readouterr().err
