"""The jobs that users copy are valid, and do what they promise, step by step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest
import yaml
from forge import Forge
from runners import COMMENT, GITHUB, GITLAB, GitHub, GitLab

SERVICES = ("github", "gitlab")


@pytest.mark.parametrize(
    "arguments",
    [
        ("vendor.github-workflows", GITHUB),
        ("vendor.gitlab-ci", "--data-transform", "gitlab-ci", GITLAB),
    ],
    ids=SERVICES,
)
def test_a_recipe_follows_its_services_schema(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


class Project:
    """A repository at a service, its checkouts, and the jobs run in them."""

    def __init__(self, service, shell, folder, api):
        self.service, self.shell, self.folder = service, shell, folder
        self.origin = folder / "origin.git"
        place = shell.project / f".{service}" / "comment.py"
        place.parent.mkdir()
        shutil.copy(COMMENT, place)
        prompts = shell.project / "tests" / "prompts"
        prompts.mkdir(parents=True)
        (shell.project / "test_slug.py").rename(prompts / "test_slug.py")
        (shell.project / "pytest.ini").write_text("[pytest]\npromptse_variants = 1\n")
        script = (
            f"git add . && git commit --quiet -m Recipe && git clone --quiet --bare . {self.origin}"
        )
        assert shell(script).returncode == 0
        runner: Any = GitHub if service == "github" else GitLab
        self.runner = runner(shell, folder, api)
        self._checkouts = 0

    def checkout(self):
        self._checkouts += 1
        into = self.folder / f"checkout{self._checkouts}"
        # Where GitLab's job pushes to lies here.
        url = "https://promptse:t@gitlab.example.org/team/project.git"
        script = (
            f"git clone --quiet {self.origin} {into} && cd {into}"
            f" && git config url.{self.origin}.insteadOf {url}"
        )
        assert self.shell(script).returncode == 0
        return into

    def renew_baseline(self):
        """Run the job that makes the baseline, and merge its branch."""
        if self.service == "github":
            job = self.runner.run("baseline", "workflow_dispatch", self.checkout())
        else:
            job = self.runner.run("promptse-baseline", self.checkout(), CI_COMMIT_BRANCH="main")
        assert job.ok, job.output
        merge = "git merge --quiet origin/promptse-baseline-1 && git push --quiet"
        merged = self.shell(merge, self.checkout())
        assert merged.returncode == 0, merged.stderr

    def push(self):
        """Run the job of a push to the main branch in a fresh checkout, and return it."""
        if self.service == "github":
            return self.runner.run("promptse", "push", self.checkout())
        more = {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"}
        return self.runner.run("promptse", self.checkout(), **more)

    def request_merge(self):
        """Run the job of a merge request in a fresh checkout; return it with the checkout."""
        checkout = self.checkout()
        if self.service == "github":
            return self.runner.run("promptse", "pull_request", checkout), checkout
        more = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "7"}
        return self.runner.run("promptse", checkout, **more), checkout


@pytest.fixture(params=SERVICES)
def service(request):
    return request.param


@pytest.fixture
def forge():
    # More comments of others than one page of the service's answer holds.
    with Forge(others=130) as running:
        yield running


@pytest.fixture
def project(service, shell, tmp_path, forge):
    return Project(service, shell, tmp_path, forge.url)


def ours(forge):
    return [body for body in forge.comments.values() if body != "Looks good"]


def usage(checkout):
    return json.loads((checkout / "report/run.json").read_text())["usage"]


def test_a_merge_request_is_compared_commented_on_and_paid_for_once(project, forge):
    project.renew_baseline()
    job, first = project.request_merge()
    assert job.ok, job.output
    [comment] = ours(forge)
    assert "Stable enough across variants" in comment
    assert json.loads((first / "report/run.json").read_text())["comparisons"]
    assert (first / "report/junit.xml").exists()
    assert (first / "report/promptse.html").exists()
    again, second = project.request_merge()
    assert again.ok, again.output
    assert usage(second)["requests"] == 0
    assert len(ours(forge)) == 1


def test_a_loss_fails_the_job_and_is_still_reported_and_kept(project, forge, paid_model):
    project.renew_baseline()
    # From now on the model fails on every prompt except the original.
    right = paid_model.behaviour.answer
    paid_model.behaviour.answer = lambda body, number: (
        right(body, number) if is_original(body) else "```python\ndef slugify(title): ...\n```"
    )
    edit = "sed -i 's/single hyphens/one hyphen each/' tests/prompts/test_slug.py"
    change = f"{edit} && git commit --quiet -a -m Edit && git push --quiet"
    assert project.shell(change, project.checkout()).returncode == 0
    job, checkout = project.request_merge()
    assert not job.ok
    assert "more than 0.05 allowed" in job.output
    [comment] = ours(forge)
    assert "❌" in comment
    paid = usage(checkout)["requests"]
    assert paid > 0
    _, second = project.request_merge()
    assert usage(second)["requests"] == 0
    assert len(ours(forge)) == 1


def test_a_fork_without_the_key_is_judged_from_the_store_and_never_red(project, paid_model):
    project.renew_baseline()
    job, _ = project.request_merge()
    assert job.ok, job.output
    sent = len(paid_model.requests)
    project.runner.key = ""
    fork, _ = project.request_merge()
    assert fork.ok, fork.output
    assert " passed" in fork.output
    edit = "sed -i 's/single hyphens/one hyphen each/' tests/prompts/test_slug.py"
    change = f"{edit} && git commit --quiet -a -m Edit && git push --quiet"
    assert project.shell(change, project.checkout()).returncode == 0
    edited, _ = project.request_merge()
    assert edited.ok, edited.output
    assert "--promptse-replay-only requests none" in edited.output
    assert len(paid_model.requests) == sent


def test_a_push_without_the_key_skips_nothing(project, paid_model):
    """Otherwise a secret with a wrong name would leave the gates off, in green."""
    project.renew_baseline()
    # As after a week without a run.
    shutil.rmtree(project.folder / "cache", ignore_errors=True)
    sent = len(paid_model.requests)
    project.runner.key = ""
    job = project.push()
    assert " skipped" not in job.output
    # The server of this test needs no key. OpenAI's own ends the run with one line.
    assert len(paid_model.requests) > sent


def is_original(body) -> bool:
    return body["messages"][-1]["content"].startswith("Write `slugify(title: str) -> str`: lower")


def test_without_a_baseline_the_job_says_how_to_make_one_and_pays_nothing(project, paid_model):
    job, _ = project.request_merge()
    assert not job.ok
    assert "ERROR: --promptse-compare: there is no baseline 'main' yet" in job.output
    assert "--promptse-save main" in job.output
    assert paid_model.requests == []


def jobs_of(service):
    """Return the shell script of the job that renews the baseline, and the drift job's steps."""
    recipe = yaml.safe_load((GITHUB if service == "github" else GITLAB).read_text("utf-8"))
    if service == "github":
        jobs = recipe["jobs"]
        [script] = [s["run"] for s in jobs["baseline"]["steps"] if "--promptse-save" in str(s)]
        return script, [step.get("uses", "") for step in jobs["drift"]["steps"]]
    return "\n".join(recipe["promptse-baseline"]["script"]), recipe["promptse-drift"]["cache"]


@pytest.fixture
def comment(tmp_path, forge):
    """Run the script that writes the comment, with the variables of GitHub's job."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    given = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": "team/project",
        "GITHUB_EVENT_PATH": str(event),
    }

    def run(path, **variables):
        command = [sys.executable, str(COMMENT), str(path)]
        return subprocess.run(
            command, env=given | variables, capture_output=True, text=True, check=False
        )

    return run


def test_a_comment_that_cannot_be_written_is_explained_in_one_line(comment, tmp_path):
    report = tmp_path / "comment.md"
    report.write_text("Stable")
    reasons = [
        (comment(report), "GITHUB_TOKEN is not set"),
        (comment(report, GITHUB_TOKEN="other"), "HTTP Error 404"),
        (comment(tmp_path / "none.md", GITHUB_TOKEN="t"), "none.md does not exist"),
    ]
    for done, reason in reasons:
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert line.startswith("comment.py: ")
        assert reason in line


@pytest.mark.parametrize("lines", [1, 2_000])
def test_a_comment_is_never_longer_than_github_allows(comment, tmp_path, forge, lines):
    report = tmp_path / "comment.md"
    report.write_text("| `a row of a table with thirteen figures of one suite` |\n" * lines)
    assert comment(report, GITHUB_TOKEN="t").returncode == 0
    [body] = ours(forge)
    assert len(body) <= 65_536
    assert ("The rest is in `comment.md`" in body) == (lines > 1)


def test_a_drift_job_restores_no_completions(service):
    _, steps = jobs_of(service)
    assert not any("cache" in step for step in steps)


@pytest.mark.parametrize("status", range(6))
def test_a_baseline_is_pushed_only_after_a_run_that_ended_in_order(service, status, tmp_path):
    script, _ = jobs_of(service)
    for name, body in {"pytest": f"exit {status}", "git": 'echo "$1" >>said'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env={"PATH": path}, check=False)
    said = tmp_path / "said"
    assert (said.exists() and "push" in said.read_text()) == (status in (0, 1))
