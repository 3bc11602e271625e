"""Put the real output of the failing gate into the README.

python tools/readme_output.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "pytest --promptse-model tiny example_suites/failing_gate"
BLOCK = re.compile(r"(<!-- failing gate -->\n).*?(<!-- end -->\n)", re.DOTALL)


def failing_gate() -> str:
    """Run the failing gate with an empty store, 80 columns wide. Return its output.

    The session's header, which names this machine, and the seconds are left out.
    """
    with tempfile.TemporaryDirectory() as store:
        answer = subprocess.run(
            [
                sys.executable,
                "-m",
                *COMMAND.split(),
                "-p",
                "no:xdist",
                "-p",
                "no:cacheprovider",
                "-o",
                f"promptse_store={store}",
            ],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "80"},
            capture_output=True,
            text=True,
            check=False,
        )
    if answer.returncode != 1:
        sys.exit(f"the failing gate ended with {answer.returncode}\n{answer.stdout}{answer.stderr}")
    printed = answer.stdout.partition("= FAILURES =")
    first = printed[0].rpartition("\n")[2]
    # From a minute on, pytest adds the time in hours: 75.03s (0:01:15).
    seconds = r" in [\d.]+s(?: \([\d:]+\))? ="
    return re.sub(seconds, " =", first + printed[1] + printed[2]).rstrip()


def main() -> None:
    readme = ROOT / "README.md"
    block = f"```console\n$ {COMMAND}\n{failing_gate()}\n```\n"
    readme.write_text(BLOCK.sub(lambda found: found[1] + block + found[2], readme.read_text()))


if __name__ == "__main__":
    main()
