from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from faulty_server import FaultyServer
from pages import UPDATE
from stand_ins import environment, solution

if TYPE_CHECKING:
    from pathlib import Path

SLUG = '''import pytest


@pytest.mark.promptse(
    """Write `slugify(title: str) -> str`: lower-case the title, keep only letters
    and digits, join the words with single hyphens. If no word is left, return an
    empty string."""
)
def test_slugify(candidate):
    assert candidate("Hello,  World!") == "hello-world"
    assert candidate("") == ""
'''


def pytest_addoption(parser):
    parser.addoption(
        UPDATE, action="store_true", help="put what commands print now into the pages that differ"
    )


@pytest.fixture
def paid_model():
    """A server on this machine that replaces the paid one."""
    with FaultyServer() as server:
        server.behaviour.models = ("gpt-4.1-mini", "MODEL")
        server.behaviour.answer = solution
        yield server


@pytest.fixture
def shell(tmp_path, paid_model, fork_server):
    """Run scripts in a project with one marked test, under version control."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_slug.py").write_text(SLUG)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = A\nemail = a@example.org\n[init]\ndefaultBranch = main\n"
    )

    commands = home / "bin"
    commands.mkdir()
    for name in ("pytest", "promptse"):
        fork_server.write_command(commands, name)
    paid = {"OPENAI_BASE_URL": paid_model.base_url, "OPENAI_API_KEY": "sk-none"}

    def shell(script: str, folder: Path = project, **variables: str):
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=folder,
            env=environment(home, **{**paid, **variables}),
            capture_output=True,
            text=True,
            check=False,
        )

    assert shell("git init --quiet && git add . && git commit --quiet -m Begin").returncode == 0
    shell.project = project  # type: ignore[attr-defined]
    return shell
