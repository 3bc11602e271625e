"""The ``promptse`` command as a whole."""

from __future__ import annotations

import subprocess
import sys


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
