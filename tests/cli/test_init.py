"""``promptse init`` writes a test that passes, a CI job and the settings."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
import yaml

from pytest_promptse.cli._main import main


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_questions_the_defaults_are_written(project, capsys):
    assert main(["init", "--yes"]) == 0
    assert sorted(str(path.relative_to(project)) for path in project.rglob("*.*")) == [
        "pytest.ini",
        "tests/test_promptse.py",
    ]
    assert (project / "pytest.ini").read_text() == (
        "[pytest]\npromptse_model = tiny\npromptse_preset = ci\npromptse_interval = reruns\n"
    )
    assert "pip install 'pytest-promptse[tiny]'" in capsys.readouterr().out


def test_the_first_test_passes_with_its_reference(pytester, monkeypatch):
    monkeypatch.chdir(pytester.path)
    assert main(["init", "--yes"]) == 0
    arguments = ("-p", "no:asyncio", "-p", "no:randomly", "-p", "no:django")
    result = pytester.runpytest_subprocess(*arguments, "--promptse-model", "reference")
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 18}


def test_a_suite_file_is_a_first_test_without_python(pytester, monkeypatch):
    monkeypatch.chdir(pytester.path)
    assert main(["init", "--test", "prompts/first.promptse.yaml", "--yes"]) == 0
    assert not list(pytester.path.rglob("*.py"))
    arguments = ("-p", "no:asyncio", "-p", "no:randomly", "-p", "no:django")
    result = pytester.runpytest_subprocess(
        *arguments, "--promptse-model", "reference", "prompts/first.promptse.yaml"
    )
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 18}


def test_a_first_test_of_another_kind_is_refused(project, capsys):
    assert main(["init", "--test", "prompts.yaml", "--yes"]) == 2
    assert "'prompts.yaml' is not a test file" in capsys.readouterr().err
    assert not list(project.iterdir())


def test_the_first_run_decides_its_gate(pytester, monkeypatch):
    monkeypatch.chdir(pytester.path)
    assert main(["init", "--yes"]) == 0
    arguments = ("-p", "no:asyncio", "-p", "no:randomly", "-p", "no:django")
    result = pytester.runpytest_subprocess(*arguments, "--promptse-model", "tiny")
    result.stdout.fnmatch_lines(["drop 0.?? > 0.10, 95 % interval 0.?? to 0.??"])
    assert result.parseoutcomes() == {"passed": 17, "failed": 1}


def test_a_github_job_requires_the_model_and_has_its_key(project):
    assert main(["init", "--model", "openai:m", "--ci", "github", "--yes"]) == 0
    job = yaml.safe_load((project / ".github/workflows/promptse.yml").read_text())
    steps = job["jobs"]["promptse"]["steps"]
    test = steps[4]
    assert (
        "tests/test_promptse.py --promptse-model openai:m --promptse-require-model" in test["run"]
    )
    assert "--promptse-max-requests 500" in test["run"]
    assert steps[5]["if"] == "always()"
    assert test["env"] == {"OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"}
    assert "pip install 'pytest-promptse[openai]'" in steps[2]["run"]
    assert steps[3]["with"]["key"] == "promptse-${{ github.run_id }}-${{ github.run_attempt }}"


@pytest.mark.parametrize(
    ("service", "file", "event", "request_event"),
    [
        (
            "github",
            ".github/workflows/promptse.yml",
            "GITHUB_EVENT_NAME",
            "pull_request",
        ),
        ("gitlab", "promptse.gitlab-ci.yml", "CI_PIPELINE_SOURCE", "merge_request_event"),
    ],
)
def test_only_a_request_without_the_key_is_replayed(project, service, file, event, request_event):
    """A fork is not red for its missing key, and a push is not green for it."""
    assert main(["init", "--model", "openai:m", "--ci", service, "--yes"]) == 0
    job = yaml.safe_load((project / file).read_text())
    if service == "github":
        script = job["jobs"]["promptse"]["steps"][4]["run"]
    else:
        [script] = job["promptse"]["script"]

    def replays(key, name):
        done = subprocess.run(
            ["bash", "-ec", f'pytest() {{ echo "$@"; }}; {script}'],
            env={"OPENAI_API_KEY": key, event: name},
            capture_output=True,
            text=True,
            check=True,
        )
        return "--promptse-replay-only" in done.stdout

    assert replays("", request_event)
    assert not replays("sk-1", request_event)
    assert not replays("", "push")


def test_a_job_for_another_provider_has_its_extra_and_key(project):
    assert main(["init", "--model", "litellm:anthropic/m", "--ci", "github", "--yes"]) == 0
    text = (project / ".github/workflows/promptse.yml").read_text()
    assert "pip install 'pytest-promptse[litellm]'" in text
    assert "ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}" in text


def test_a_gitlab_job_is_a_file_to_include(project, capsys):
    assert main(["init", "--model", "tiny", "--ci", "gitlab", "--yes"]) == 0
    job = yaml.safe_load((project / "promptse.gitlab-ci.yml").read_text())["promptse"]
    assert job["artifacts"]["reports"] == {"junit": "report/junit.xml"}
    # The page that the job writes needs an extra of its own.
    assert any("pytest-promptse[tiny,html]" in line for line in job["before_script"])
    assert "include: promptse.gitlab-ci.yml" in capsys.readouterr().out


def test_no_file_is_overwritten(project, capsys):
    (project / "tests").mkdir()
    (project / "tests/test_promptse.py").write_text("mine")
    assert main(["init", "--yes"]) == 2
    assert "'tests/test_promptse.py' exists" in capsys.readouterr().err
    assert [path.name for path in project.iterdir()] == ["tests"]


@pytest.mark.parametrize(
    ("file", "content", "line"),
    [
        ("pytest.ini", "[pytest]\n", "promptse_model = tiny\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", 'promptse_model = ["tiny"]\n'),
        ("tox.ini", "[pytest]\n", "promptse_model = tiny\n"),
        ("setup.cfg", "[tool:pytest]\n", "promptse_model = tiny\n"),
    ],
)
def test_an_existing_configuration_is_left_to_its_owner(project, capsys, file, content, line):
    (project / file).write_text(content)
    assert main(["init", "--yes"]) == 0
    out = capsys.readouterr().out
    assert f"Add to {file}:" in out
    assert line in out
    assert (project / file).read_text() == content


def test_settings_that_the_project_has_are_not_to_be_added_again(project, capsys):
    (project / "pytest.ini").write_text("[pytest]\npromptse_model = tiny\npromptse_preset = ci\n")
    assert main(["init", "--yes"]) == 0
    out = capsys.readouterr().out
    assert "Add to pytest.ini:\n\npromptse_interval = reruns\n" in out
    assert "promptse_model" not in out
    (project / "pytest.ini").write_text("[pytest]\npromptse_model = openai:m\n")
    assert main(["init", "--yes", "--test", "test_other.py"]) == 0
    assert "pytest.ini has another promptse_model, openai:m" in capsys.readouterr().out


def test_questions_appear_on_a_terminal(project, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("openai:m\ngithub\n\n"))
    assert main(["init"]) == 0
    assert (project / ".github/workflows/promptse.yml").exists()
    assert (project / "tests/test_promptse.py").exists()


def test_a_wrong_model_writes_nothing(project, capsys):
    assert main(["init", "--model", "opnai:m", "--yes"]) == 2
    assert "did you mean 'openai'" in capsys.readouterr().err
    assert list(project.iterdir()) == []
