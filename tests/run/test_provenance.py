from __future__ import annotations

import platform
import subprocess

import pytest

from pytest_promptse.run import _provenance
from pytest_promptse.run._provenance import environment, git_state


def git(folder, *arguments):
    own = ["-c", "user.name=n", "-c", "user.email=n@example.invalid", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *own, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q", "-b", "work")
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "test_a.py").write_text("")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_the_state_names_commit_branch_and_folder(repository):
    commit = git(repository, "rev-parse", "HEAD")
    expected = {"commit": commit, "branch": "work", "dirty": "false", "folder": ""}
    assert git_state(repository) == expected
    assert git_state(repository / "suite") == expected | {"folder": "suite/"}


def test_a_changed_file_makes_the_tree_dirty(repository):
    (repository / "suite" / "test_a.py").write_text("changed")
    assert git_state(repository)["dirty"] == "true"


def test_without_a_commit_or_git_there_is_no_state(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    assert git_state(tmp_path) is None
    monkeypatch.setattr(_provenance.shutil, "which", lambda _: None)
    assert git_state(tmp_path) is None


def test_the_environment_has_versions_of_installed_packages_only(monkeypatch):
    monkeypatch.setattr(_provenance, "_PACKAGES", ("pytest", "not-installed-anywhere"))
    found = environment()
    assert found["python"] == platform.python_version()
    assert found["pytest"] == pytest.__version__
    assert "not-installed-anywhere" not in found
