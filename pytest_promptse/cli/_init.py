"""``promptse init``: write a first test, the settings and a CI job into a project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.cli._extensions import extensions
from pytest_promptse.cli._ini import ini_file
from pytest_promptse.errors import SettingsError
from pytest_promptse.models._registry import split_spec

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.cli._ini import IniFile

_CI = ("github", "gitlab", "none")
# The extra of the package that each backend needs.
_EXTRAS = {"tiny": "tiny", "ct2": "tiny", "openai": "openai", "litellm": "litellm", "vllm": "vllm"}

# The first test has 13 prompts, and 128 requests to a server that returns one completion each.
_MAX_REQUESTS = 500

_TEST = '''"""Does the model still write `slugify` if the prompt comes in another tone?"""

import pytest

SOLUTION = """
import re

def slugify(title):
    return "-".join(re.findall("[a-z0-9]+", title.lower()))
"""


@pytest.mark.promptse(
    """Write `slugify(title: str) -> str`: lower-case the title, keep letters and digits,
    join the words with single hyphens.""",
    # The reference proves that the test accepts a right program:
    # pytest --promptse-model reference
    reference=SOLUTION,
    # The suite fails if reworded prompts are solved less often than this one, by more than 0.1.
    # `promptse plan` shows how large a drop this gate detects.
    max_drop=0.1,
)
def test_slugify(candidate):
    assert candidate("Hello,  World!") == "hello-world"
    assert candidate("") == ""
'''

_SUITE = """\
# Does the model still write `slugify` if the prompt comes in another tone?
promptse: 1
# The suite fails if reworded prompts are solved less often than this one, by more than 0.1.
# `promptse plan` shows how large a drop this gate detects.
settings: {max_drop: 0.1}

tasks:
  - id: slugify
    # Indented below `|`, a text may have quotes, colons and backticks.
    prompt: |
      Write `slugify(title: str) -> str`: lower-case the title, keep letters and digits,
      join the words with single hyphens.
    # The reference proves that the examples accept a right program:
    # pytest --promptse-model reference
    reference: |
      import re

      def slugify(title):
          return "-".join(re.findall("[a-z0-9]+", title.lower()))
    examples:
      - call: slugify("Hello,  World!")
        expect: hello-world
      - call: slugify("")
        expect: ""
"""
_SUITE_NAME = ".promptse.yaml"

_GITHUB = """\
name: promptse

on:
  pull_request:
  push:
    branches: [main] # fills the store that pull requests start from

jobs:
  promptse:
    runs-on: ubuntu-24.04
    timeout-minutes: 60
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false
      - uses: actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0
        with:
          python-version: "3.12"
      - name: Install
        run: |
          sudo apt-get update
          sudo apt-get install --yes bubblewrap libseccomp2
          # Ubuntu 24.04 does not let ordinary users create the namespaces of the sandbox.
          sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0
          if grep -Eqs '^\\[(project|build-system)\\]' pyproject.toml
          then pip install --editable .; fi
          pip install '{requirement}'
      # Completions that were paid for are not requested again.
      - uses: actions/cache/restore@27d5ce7f107fe9357f9df03efb73ab90386fccae # v5.0.5
        with:
          path: .promptse/promptse.db*
          key: promptse-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
          restore-keys: promptse-
      - name: Test
{env}        run: >-
          pytest {test} --promptse-model {model} --promptse-require-model
          {paid}--promptse-report github
      # Also after a failed gate, since its completions are paid for.
      - uses: actions/cache/save@27d5ce7f107fe9357f9df03efb73ab90386fccae # v5.0.5
        if: always()
        with:
          path: .promptse/promptse.db*
          key: promptse-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
"""

_GITLAB = """\
promptse:
  image: python:3.12
  timeout: 1 hour
  rules:
    # On the main branch it fills the store that merge requests start from.
    - if: $CI_PIPELINE_SOURCE == "merge_request_event" || $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  before_script:
    - apt-get update
    - apt-get install --yes bubblewrap libseccomp2
    - if grep -Eqs '^\\[(project|build-system)\\]' pyproject.toml; then pip install --editable .; fi
    - pip install '{requirement}'
  cache:
    key: promptse
    paths: [".promptse/promptse.db*"]
    when: always
    # Merge requests start from the store of the main branch, although that branch is protected.
    unprotect: true
  script:
    - >-
      pytest {test} --promptse-model {model} --promptse-require-model
      {paid}--promptse-report html:report/promptse.html --junitxml report/junit.xml
  artifacts:
    when: always
    paths: [report/]
    reports:
      junit: report/junit.xml
"""


class _Answers(NamedTuple):
    model: str
    ci: str
    test: Path


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``init`` command, which sets ``func``. ``func`` returns the exit code."""
    init = subparsers.add_parser(
        "init",
        help="write a first test, the settings and a CI job",
        description=(
            "Write a first test, the settings and a CI job into the current folder. The command "
            "asks questions only on a terminal, and only if no flag gives the answer. It "
            "overwrites no files."
        ),
    )
    init.add_argument("--model", metavar="BACKEND:NAME", help="model to test (default: tiny)")
    init.add_argument(
        "--ci", choices=_CI, help="CI service for which a job is written (default: none)"
    )
    init.add_argument(
        "--test",
        metavar="FILE",
        help="file for the first test, or NAME.promptse.yaml to write a suite file, which needs "
        "no Python (default: tests/test_promptse.py)",
    )
    init.add_argument("--yes", action="store_true", help="ask no questions; use the defaults")
    init.set_defaults(func=_init)


def _init(chosen: argparse.Namespace) -> int:
    here = Path.cwd()
    answers = _answers(chosen)
    files = {answers.test: _first_test(answers.test)}
    requirement = _requirement(answers.model)
    if answers.ci == "github":
        files[Path(".github/workflows/promptse.yml")] = _job(_GITHUB, answers, requirement)
    elif answers.ci == "gitlab":
        with_page = _requirement(answers.model, "html")
        files[Path("promptse.gitlab-ci.yml")] = _job(_GITLAB, answers, with_page)
    settings = {
        "promptse_model": answers.model,
        "promptse_preset": "ci",
        # The gates are about the project's own prompts. To speak for others takes dozens of them.
        "promptse_interval": "reruns",
    }
    configuration = ini_file(here)
    if configuration is None:
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        files[Path("pytest.ini")] = f"[pytest]\n{lines}"
    for path in files:
        if path.exists():
            raise SettingsError(
                f"init: {str(path)!r} exists; remove it, or name another file with --test"
            )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
    if configuration is not None:
        sys.stdout.write(_to_add(configuration, settings))
    if answers.ci == "gitlab":
        sys.stdout.write("\nAdd to .gitlab-ci.yml:\n\ninclude: promptse.gitlab-ci.yml\n")
    sys.stdout.write(
        f"\nNext:\n\n  pip install '{requirement}'\n"
        f"  pytest {answers.test} --promptse-model reference\n"
        f"  pytest {answers.test}\n"
    )
    return 0


def _answers(chosen: argparse.Namespace) -> _Answers:
    def answer(flag: str | None, question: str, default: str) -> str:
        if flag is not None or chosen.yes or not sys.stdin.isatty():
            return flag or default
        return input(f"{question} [{default}]: ").strip() or default

    model = answer(chosen.model, "Model to test, as in openai:gpt-4.1-mini", "tiny")
    added = extensions().names("backend")
    if model.partition(":")[0] not in added:
        split_spec(model, also=added)
    ci = answer(chosen.ci, f"CI service ({', '.join(_CI)})", "none")
    if ci not in _CI:
        raise SettingsError(f"init: there is no CI service {ci!r}; give one of {', '.join(_CI)}")
    test = answer(chosen.test, "File of the first test", "tests/test_promptse.py")
    return _Answers(model=model, ci=ci, test=Path(test))


def _first_test(path: Path) -> str:
    if path.name.endswith(_SUITE_NAME):
        return _SUITE
    if path.suffix == ".py":
        return _TEST
    raise SettingsError(
        f"init: {str(path)!r} is not a test file; name one that ends in .py, or in {_SUITE_NAME} "
        "for a suite without Python"
    )


def _requirement(model: str, *more: str) -> str:
    extras = ",".join(filter(None, (_EXTRAS.get(model.partition(":")[0]), *more)))
    return f"pytest-promptse[{extras}]" if extras else "pytest-promptse"


def _job(template: str, answers: _Answers, requirement: str) -> str:
    backend, _, name = answers.model.partition(":")
    key = ""
    if backend == "openai":
        key = "OPENAI_API_KEY"
    elif backend == "litellm":
        key = f"{name.partition('/')[0].upper()}_API_KEY"
    env = f"        env:\n          {key}: ${{{{ secrets.{key} }}}}\n" if key else ""
    # A request from a fork has no key. What the store lacks is then skipped. A push without a key
    # fails, so that a secret with a wrong name is noticed.
    event = {
        "github": '"$GITHUB_EVENT_NAME" != pull_request',
        "gitlab": '"$CI_PIPELINE_SOURCE" != merge_request_event',
    }[answers.ci]
    replay = f'$([ -n "${key}" ] || [ {event} ] || echo --promptse-replay-only)'
    paid = f"{replay} --promptse-max-requests {_MAX_REQUESTS} " if key else ""
    return template.format(
        requirement=requirement,
        model=answers.model,
        test=answers.test.as_posix(),
        env=env,
        paid=paid,
    )


def _to_add(file: IniFile, settings: Mapping[str, str]) -> str:
    """Return which settings the user should add to the ini file, without those that it has."""
    name, given = file.path.name, file.values
    missing = {setting: value for setting, value in settings.items() if setting not in given}
    text = f"\nAdd to {name}:\n\n{_lines_for(name, missing)}" if missing else ""
    wanted = settings["promptse_model"]
    if given.get("promptse_model", wanted) not in (wanted, [wanted]):
        text += f"\n{name} has another promptse_model, {given['promptse_model']}: change it there\n"
    return text


def _lines_for(file: str, settings: Mapping[str, str]) -> str:
    if not file.endswith(".toml"):
        return "".join(f"{name} = {value}\n" for name, value in settings.items())
    repeatable = ("promptse_model",)
    return "".join(
        f'{name} = ["{value}"]\n' if name in repeatable else f'{name} = "{value}"\n'
        for name, value in settings.items()
    )
