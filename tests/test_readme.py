"""What the README tells a newcomer to type, and what it says comes out of it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    from fork_server import ForkServer

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def commands() -> list[str]:
    return re.findall(r"^\$ (.+)$", README, re.MULTILINE)


def test_two_commands_clone_set_up_and_run_the_example():
    clone, run = commands()[:2]
    assert clone.startswith("git clone ")
    assert (
        run == "tools/setup && .venv/bin/pytest --promptse-model tiny example_suites/failing_gate"
    )


@pytest.fixture
def run(tmp_path: Path, fork_server: ForkServer) -> Callable[..., CompletedProcess[str]]:
    def run(*arguments: str) -> CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:hypothesispytest"]
        command += [*arguments, "-o", f"promptse_store={tmp_path}", "-p", "no:cacheprovider"]
        return fork_server.run(command, cwd=str(ROOT), env=dict(os.environ))

    return run


def test_the_failing_gate_fails_as_shown(run):
    done = run("--promptse-model", "tiny", "example_suites/failing_gate")
    assert done.returncode == 1
    shown = README.partition("<!-- failing gate -->")[2].partition("<!-- end -->")[0]
    for line in ("test_title_case[drop]", "most harmful variants", "1 failed, 17 passed"):
        assert line in shown
        assert line in done.stdout
    # Samples may differ in the last place between processors; the gate may not.
    message = re.compile(r"^drop 0\.\d\d > 0\.10, 95 % interval 0\.\d\d to 0\.\d\d$", re.MULTILINE)
    assert message.search(shown)
    assert message.search(done.stdout)


LINKS = re.findall(r"""(?:\]\(|src="|srcset=")((?!https?:)[^)#"]+)""", README)


@pytest.mark.parametrize("link", sorted(set(LINKS)))
def test_every_link_leads_somewhere(link):
    assert (ROOT / link).exists()
