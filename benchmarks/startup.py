"""Compare pytest's start-up with and without the plugin, in a session without a promptse mark.

    python benchmarks/startup.py [ROUNDS]

Rounds are interleaved. Of each kind the fastest one counts, since it was disturbed least.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

WITHOUT = ("-p", "no:promptse")
# Other plugins in this environment would only hide the difference.
BARE = tuple(
    argument
    for plugin in entry_points(group="pytest11")
    if plugin.name != "promptse"
    for argument in ("-p", f"no:{plugin.name}")
)
ROUNDS = 20


def cpu_seconds(folder: Path, *arguments: str) -> float:
    """Return the CPU seconds for collecting and running one empty test."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *BARE, *arguments]
    # The files are compiled first, as on any machine after the first use.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text("def test_nothing(): pass\n")
        with_plugin, without = [], []
        for _ in range(rounds):
            with_plugin.append(cpu_seconds(folder))
            without.append(cpu_seconds(folder, *WITHOUT))
    ratio = min(with_plugin) / min(without)
    print(
        f"with {min(with_plugin):.3f} s, without {min(without):.3f} s of CPU: "
        f"{100 * (ratio - 1):+.1f} %"
    )


if __name__ == "__main__":
    main()
