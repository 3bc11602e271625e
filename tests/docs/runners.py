"""Run the recipes' jobs locally as the services do: their steps, variables and conditions."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import yaml
from pages import DOCS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

GITHUB = DOCS / "recipes" / "github.yml"
GITLAB = DOCS / "recipes" / "gitlab-ci.yml"
COMMENT = DOCS / "recipes" / "comment.py"


@dataclass(kw_only=True)
class Job:
    """The result of a job."""

    ok: bool = True
    output: str = ""
    ran: list[str] = field(default_factory=list)

    @property
    def has_files(self) -> bool:
        """False if pytest ended before any test, so that no report was written."""
        return re.search("^ERROR: ", self.output, re.MULTILINE) is None

    def add(self, name: str, done: Any) -> None:
        self.ok &= done.returncode == 0
        self.output += done.stdout + done.stderr
        self.ran.append(name)


class GitHub:
    """Runs jobs of the workflow in checkouts, with one cache for all of them."""

    def __init__(self, shell: Callable[..., Any], folder: Path, api: str) -> None:
        self._shell, self._folder, self._api = shell, folder, api
        self._cache = folder / "cache"
        self._workflow = yaml.safe_load(GITHUB.read_text())
        self._runs = 0
        self.key = "sk-none"

    def run(self, name: str, event: str, checkout: Path) -> Job:
        job = self._workflow["jobs"][name]
        self._runs += 1
        github = SimpleNamespace(
            event_name=event,
            run_id=self._runs,
            run_attempt=1,
            token="t",
            repository="team/project",
            event=_named({"pull_request": {"number": 7, "head": {"repo": _REPOSITORY}}}),
        )
        payload = self._folder / "event.json"
        payload.write_text(json.dumps({"pull_request": {"number": 7}}))
        names = {
            "github": github,
            "secrets": SimpleNamespace(OPENAI_API_KEY=self.key),
            "hashFiles": lambda file: "1" if (checkout / file).exists() else "",
            "always": lambda: True,
            "cancelled": lambda: False,
        }
        assert _value(job["if"], names)
        variables = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_API_URL": self._api,
            "GITHUB_REPOSITORY": github.repository,
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_RUN_ID": str(github.run_id),
            "GITHUB_STEP_SUMMARY": str(self._folder / "summary.md"),
            "GITHUB_WORKSPACE": str(checkout),
            **self._workflow["env"],
        }
        done = Job()
        for step in job["steps"]:
            # A step without a condition on the job's state only runs if all earlier steps
            # succeeded.
            condition = str(step.get("if", "true"))
            if not done.ok and not re.search(r"always\(\)|cancelled\(\)", condition):
                continue
            if not _value(condition, names):
                continue
            if "uses" in step:
                action, given = step["uses"].partition("@")[0], step.get("with", {})
                self._use(action, given, checkout, has_files=done.has_files)
                continue
            own = {key: _filled(value, names) for key, value in step.get("env", {}).items()}
            done.add(step["name"], self._shell(step["run"], checkout, **variables, **own))
        return done

    def _use(
        self, action: str, given: Mapping[str, str], checkout: Path, *, has_files: bool
    ) -> None:
        if action == "actions/cache/restore" and self._cache.exists():
            _restore(self._cache, checkout)
        elif action == "actions/cache/save":
            _keep(checkout, given["path"], self._cache)
        elif action == "actions/upload-artifact" and not has_files:
            assert given["if-no-files-found"] == "ignore"
        elif action == "actions/upload-artifact":
            assert list((checkout / given["path"]).iterdir())


def _keep(checkout: Path, pattern: str, cache: Path) -> None:
    """Copy the files that a job's cache names, which may be a pattern."""
    for file in checkout.glob(pattern):
        kept = cache / file.relative_to(checkout)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, kept)


def _restore(cache: Path, checkout: Path) -> None:
    shutil.copytree(cache, checkout, dirs_exist_ok=True)


_REPOSITORY = {"full_name": "team/project"}


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _named(held) for key, held in value.items()})
    return value


def _value(expression: str, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression of a workflow, as far as the recipes need it."""
    for ours, theirs in ((" and ", "&&"), (" or ", "||"), ("True", "true")):
        expression = expression.replace(theirs, ours)
    return eval(re.sub(r"!(?!=)", " not ", expression).strip(), {}, dict(names))


def _filled(text: str, names: Mapping[str, Any]) -> str:
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(_value(found[1], names)), text)


class GitLab:
    """Runs jobs of the pipeline in checkouts, with one cache for all of them."""

    def __init__(self, shell: Callable[..., Any], folder: Path, api: str) -> None:
        self._shell, self._folder, self._api = shell, folder, api
        self._cache = folder / "cache"
        self._pipeline = yaml.safe_load(GITLAB.read_text())
        self._runs = 0
        self.key = "sk-none"

    def run(self, name: str, checkout: Path, **service: str) -> Job:
        own = self._pipeline[name]
        job = {**self._pipeline[own["extends"]], **own}
        [rule] = job["rules"]
        self._runs += 1
        variables = {
            "CI": "true",
            "CI_API_V4_URL": self._api,
            "CI_PROJECT_ID": "12",
            "CI_PROJECT_PATH": "team/project",
            "CI_PIPELINE_ID": str(self._runs),
            "CI_SERVER_HOST": "gitlab.example.org",
            "CI_DEFAULT_BRANCH": "main",
            "PROMPTSE_TOKEN": "t",
            "OPENAI_API_KEY": self.key,
            **service,
        }
        sides = re.sub(r"\$(\w+)", lambda found: repr(variables.get(found[1])), rule["if"])
        assert eval(sides.replace("||", "or"))
        [kept] = job["cache"]["paths"]
        if self._cache.exists():
            _restore(self._cache, checkout)
        variables |= job["variables"]
        done = Job()
        begin = [*job["before_script"], *job["script"]]
        done.add("script", self._shell("\n".join(begin), checkout, **variables))
        if after := job.get("after_script"):
            # Its exit code is shown and does not count.
            found = self._shell("\n".join(after), checkout, **variables)
            done.output += found.stdout + found.stderr
            done.ran.append("after_script")
        assert job["cache"]["when"] == "always"
        _keep(checkout, kept, self._cache)
        artifacts = job.get("artifacts", {})
        for path in [*artifacts.get("paths", []), *artifacts.get("reports", {}).values()]:
            # The service only warns if a file is missing.
            assert (checkout / path).exists() == done.has_files
        return done
