"""The composite action is valid, and its steps do what it promises in a user's project."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "action.yml"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("vendor.github-actions", ACTION),
        ("vendor.github-workflows", *WORKFLOWS),
        ("vendor.github-issue-forms", *FORMS),
        ("vendor.dependabot", ROOT / ".github" / "dependabot.yml"),
        ("vendor.citation-file-format", ROOT / "CITATION.cff"),
    ],
    ids=["action", "workflows", "forms", "dependabot", "citation"],
)
def test_the_file_follows_its_schema(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "path", [ACTION, *WORKFLOWS, ROOT / "docs/recipes/github.yml"], ids=lambda path: path.name
)
def test_each_foreign_action_is_pinned_by_its_commit(path):
    uses = re.findall(r"uses: (\S+)( # v[\d.]+)?", path.read_text())
    assert uses
    assert all(re.search(r"@[0-9a-f]{40}$", action) and version for action, version in uses)


def steps_named(name):
    action = yaml.safe_load(ACTION.read_text())
    return [step for step in action["runs"]["steps"] if step["name"] == name]


@pytest.mark.parametrize(
    ("model", "no_secrets", "replays"),
    [
        ("openai:gpt-4.1-mini", "true", True),
        ("litellm:anthropic/m", "true", True),
        ("tiny", "true", False),
        ("openai:gpt-4.1-mini", "false", False),
    ],
)
def test_a_request_without_secrets_is_replayed(model, no_secrets, replays):
    [step] = steps_named("Test")
    script = f"""pytest() {{ printf '%s\\n' "$@"; }}\n{step["run"]}"""
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env={"MODEL": model, "TESTS": "-k 'a or b'", "REPORT": "r", "NO_SECRETS": no_secrets},
        capture_output=True,
        text=True,
        check=True,
    )
    words = done.stdout.splitlines()
    assert words[:2] == ["-k", "a or b"]
    assert ("--promptse-replay-only" in words) == replays


def test_each_use_of_the_action_can_have_names_of_its_own():
    action = yaml.safe_load(ACTION.read_text())
    named = [
        value
        for step in action["runs"]["steps"]
        for key, value in step.get("with", {}).items()
        if key in ("name", "key", "restore-keys")
    ]
    assert len(named) == 4
    assert all(value.startswith("${{ inputs.name }}") for value in named)


def test_the_steps_write_every_report(shell):
    action = yaml.safe_load(ACTION.read_text())
    [step] = steps_named("Test")
    inputs = {name: given.get("default", "") for name, given in action["inputs"].items()}
    inputs |= {
        "model": "openai:gpt-4.1-mini",
        "tests": "test_slug.py -k 'original or auc-e' --promptse-variants 1",
    }
    variables = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: inputs[match[1]], value)
        for name, value in step["env"].items()
    }
    summary = shell.project / "summary.md"
    done = shell(step["run"], GITHUB_STEP_SUMMARY=str(summary), GITHUB_ACTIONS="true", **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    report = shell.project / inputs["report"]
    assert {path.name for path in report.iterdir()} == {
        "junit.xml",
        "comment.md",
        "promptse.html",
        "run.json",
    }
    assert json.loads((report / "run.json").read_text())["tasks"]
    assert "test_slugify" in summary.read_text()
