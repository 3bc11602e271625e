"""The ``promptse`` command as a whole."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_a_reader_that_leaves_early_is_no_error():
    program = 'from pytest_promptse.cli._main import main; raise SystemExit(main(["schema"]))'
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -c '{program}' | head -c 1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "{"
    assert done.stderr == ""
    assert done.returncode in (0, 141)


@pytest.mark.parametrize("arguments", [["variants", "show", "--help"], ["templates", "tired"]])
def test_a_terminal_without_utf_8_shows_escapes_instead_of_a_traceback(arguments):
    program = f"from pytest_promptse.cli._main import main; raise SystemExit(main({arguments}))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u" in done.stdout
