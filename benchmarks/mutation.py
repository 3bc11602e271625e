"""Put small faults into the package, and count those that the tests of the mirrored folder notice.

    python benchmarks/mutation.py --faults 200 --seed 1 --results build/mutation/results.jsonl
    python benchmarks/mutation.py --faults 200 --seed 1 --results … --again   # the survivors
    python benchmarks/mutation.py --folder run --tests tests/run             # with these tests only

``mutation_faults.py`` says what a fault is. Equivalent faults, which no test can notice, are listed
with the reason in ``mutation_equivalent.toml``, each after somebody has looked at it. The rate is
printed with and without them.

Faults are drawn by the seed: the folders take turns, and within a folder the kinds do. So a run
that is stopped has about as many faults of each. It goes on where the results file ends.

The faults are made in a clone of the last commit, which has an environment of its own and is
installed there in editable mode. So processes that tests start import the faulty package as well;
a fault that raises only in those processes proves it before the first fault is tried. Coverage
records once which tests reach which line, in the processes that they start too. Only those tests
are run, until the first failure. A test that takes too long has noticed the fault. A line that no
test reaches counts as a survivor without a run. Properties take the same examples every time.

One process imports the package, collects the tests and is forked for each fault. A fork gives the
functions that are imported already the faulty code (``mutation_swap.py``). A fault in code that
runs at import needs new processes. A test that notices a fault must pass without it, run alone in
the same way; otherwise it is left out.

Neither mutmut 3.8 nor Cosmic Ray 8.7 fits. mutmut finds the tests of a function by what runs in the
process of the tests, and so misses all tests that run pytest in another. Cosmic Ray selects no
tests and has no faults of the kinds return, argument and statement.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import tomllib
from collections import defaultdict
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

import coverage
import pytest
from mutation_faults import ROOT, draw
from mutation_plugin import FAULTS, SURVIVED, TEST, TESTS_FILE, TIME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from mutation_faults import Fault

# The tests that mirror a folder. Most of `run` has no door but a run of the plugin.
TESTS = {
    "scoring": ("tests/scoring",),
    "run": ("tests/run", "tests/plugin"),
    "record": ("tests/record",),
    "plugin": ("tests/plugin",),
}
# A quick test that starts pytest in another process.
NESTED_RUN = "tests/plugin/test_items.py::test_a_mark_becomes_one_item_per_variant_and_the_gates"


def main() -> None:
    """Draw faults, try each, and print the share that was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--faults", type=int, default=200, help="in all folders together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", nargs="*", choices=TESTS, default=[*TESTS])
    parser.add_argument("--results", type=Path, default=ROOT / "build/mutation/results.jsonl")
    parser.add_argument(
        *("--tests", "-T"),
        nargs="*",
        default=[],
        help="folders and files of tests, such as those that start no other process, instead of "
        "all that mirror the folders of faults; the share is then a lower limit",
    )
    parser.add_argument("--work", type=Path, default=ROOT / "build/mutation", help="for the clone")
    parser.add_argument("--again", action="store_true", help="try the survivors again")
    parser.add_argument("--report", action="store_true", help="only print what the results hold")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no fault after them")
    parser.add_argument(
        *("--test-seconds", "-t"),
        type=float,
        default=120,
        help="run the quickest tests that reach a fault, those that take so long together",
    )
    options = parser.parse_args()
    last_begin = time.monotonic() + 60 * options.minutes
    drawn = draw(options.folder, options.seed, options.faults)
    earlier = read_results(options.results, options.seed)
    if options.report:
        report(drawn, earlier)
        return
    todo = [
        fault
        for fault in drawn
        if (fault.key in earlier and not earlier[fault.key].noticed) == options.again
        and (options.again or fault.key not in earlier)
    ]
    copy = Copy(options.work.resolve())
    copy.make()
    chosen_tests = dict.fromkeys(TESTS, tuple(options.tests)) if options.tests else TESTS
    reach = copy.reach({tests for fault in todo for tests in chosen_tests[fault.folder]})
    with closing(Runs(copy, reach)) as tests:
        tests.check()
        for number, fault in enumerate(todo):
            if time.monotonic() > last_begin:
                break
            chosen = reach.of(fault, options.test_seconds, chosen_tests[fault.folder])
            began = time.monotonic()
            outcome = tests.outcome(fault, chosen) if chosen else "no test reaches it"
            result = Result(
                **{
                    name: getattr(fault, name)
                    for name in ("path", "kind", "before", "after", "line")
                },
                seed=options.seed,
                commit=copy.commit,
                noticed=bool(chosen) and outcome != SURVIVED,
                outcome=outcome,
                n_tests=len(chosen),
                seconds=round(time.monotonic() - began, 1),
            )
            options.results.parent.mkdir(parents=True, exist_ok=True)
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")
            earlier[result.key] = result
            place = f"{result.path}:{result.line}"
            print(
                f"{number + 1}/{len(todo)} {place} {result.kind}: {outcome} ({result.seconds:g} s)",
                flush=True,
            )
    report(drawn, earlier)


@dataclass(frozen=True)
class Reach:
    """Which tests reach which lines.

    Attributes
    ----------
    tests
        The node ids.
    seconds
        What each took while coverage was measured.
    lines
        By module and line, the numbers of the tests that reach it. The number -1 stands for imports
        outside of tests.
    """

    tests: Sequence[str]
    seconds: Sequence[float]
    lines: Mapping[str, Mapping[str, Sequence[int]]]

    def of(self, fault: Fault, most_seconds: float, among: Collection[str]) -> dict[str, float]:
        """Return the seconds of the tests that reach a fault, in the order to run them.

        The tests of the module's own file come first, since they notice most, and then quick ones
        before slow ones. All tests reach what is executed at import. A test whose lines coverage
        has lost may reach any line. Only those of the folders and files `among` count.
        """
        numbers = self._numbers(fault) | self._lost
        if self.at_import(fault):
            numbers = set(range(len(self.tests)))
        begins = tuple(path + ("::" if path.endswith(".py") else "/") for path in among)
        numbers = {number for number in numbers if self.tests[number].startswith(begins)}
        own = f"/test_{Path(fault.path).stem.lstrip('_')}.py::"

        def order(number: int) -> tuple[bool, bool, float]:
            return own not in self.tests[number], number in self._lost, self.seconds[number]

        chosen: dict[str, float] = {}
        for number in sorted(numbers, key=order):
            if sum(chosen.values()) + self.seconds[number] <= most_seconds or not chosen:
                chosen[self.tests[number]] = self.seconds[number]
        return chosen

    def at_import(self, fault: Fault) -> bool:
        """Return whether the faulty code runs before the tests do."""
        return fault.at_import or -1 in self._numbers(fault)

    @cached_property
    def _lost(self) -> set[int]:
        """The tests of which coverage has recorded no line. They may reach any."""
        recorded = (number for lines in self.lines.values() for number in chain(*lines.values()))
        return set(range(len(self.tests))).difference(recorded)

    def _numbers(self, fault: Fault) -> set[int]:
        per_line = self.lines.get(fault.path, {})
        return {
            number
            for line in range(fault.first, fault.last + 1)
            for number in per_line.get(str(line), ())
        }


class Copy:
    """A clone of the last commit, with an environment that imports it."""

    def __init__(self, work: Path) -> None:
        self.work, self.path = work, work / "clone"
        self.python = self.path / ".venv/bin/python"
        self.commit = output("git", "rev-parse", "HEAD", cwd=ROOT)[:8]
        # Tests give their processes the bytecode of their imports.
        kept = {
            name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
        }
        self._env = {
            **kept,
            "PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(work / "plugin"),
            "OPENBLAS_NUM_THREADS": "1",
        }

    def make(self) -> None:
        """Clone the last commit, or bring the clone to it, and install it."""
        changed = output("git", "status", "--porcelain", "pytest_promptse", "tests", cwd=ROOT)
        if changed:
            raise SystemExit(f"commit first, since the faults are made in a clone:\n{changed}")
        if not self.path.exists():
            output("git", "clone", "-q", str(ROOT), str(self.path), cwd=ROOT)
        output("git", "fetch", "-q", str(ROOT), "HEAD", cwd=self.path)
        # It also removes a fault that an interrupted run has left.
        output("git", "checkout", "-q", "-f", "--detach", "FETCH_HEAD", cwd=self.path)
        if not self.python.exists():
            print("making the environment of the clone", flush=True)
            output("tools/setup", "--dev", ".venv", cwd=self.path)
        plugin = self.work / "plugin"
        plugin.mkdir(exist_ok=True)
        # A folder of its own: some scripts beside them have names of packages.
        for name in ("mutation_plugin.py", "mutation_swap.py", "mutation_faults.py"):
            shutil.copy(Path(__file__).with_name(name), plugin)

    def reach(self, folders: Collection[str]) -> Reach:
        """Run the tests of folders without a fault, and record which lines each reaches."""
        trees = output("git", "rev-parse", "HEAD:pytest_promptse", "HEAD:tests", cwd=ROOT).split()
        version = "-".join(tree[:8] for tree in trees)
        names = sorted(folders)
        # A digest, since many names make too long a name of a file.
        name = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
        recorded = self.work / f"reach-{name}-{version}.json"
        if not recorded.exists():
            print(f"recording which lines {', '.join(names)} reach", flush=True)
            data_folder = self.work / "coverage"
            shutil.rmtree(data_folder, ignore_errors=True)
            data_folder.mkdir()
            settings = data_folder / "coveragerc"
            settings.write_text(
                f"[run]\nparallel = true\ncontext = ${{{TEST}-}}\n"
                f"data_file = {data_folder}/data\nsource = {self.path}/pytest_promptse\n"
                f"disable_warnings = no-data-collected,module-not-measured\n"
            )
            run = [str(self.python), "-m", "coverage", "run", f"--rcfile={settings}"]
            tests_file = data_folder / "tests.json"
            env = {"COVERAGE_PROCESS_START": str(settings), TESTS_FILE: str(tests_file)}
            status, printed = self.pytest(names, math.inf, env, before=run)
            if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
                raise SystemExit(f"pytest ended with {status}:\n{printed}")
            tests = json.loads(tests_file.read_text())
            lines = lines_reached(data_folder, self.path)
            recorded.write_text(json.dumps(asdict(Reach([*tests], [*tests.values()], lines))))
        return Reach(**json.loads(recorded.read_text()))

    def pytest(
        self,
        arguments: Sequence[str],
        limit: float,
        env: Mapping[str, str],
        before: Sequence[str] = (),
    ) -> tuple[int | None, str]:
        """Run tests in the clone; the status is None if they take too long."""
        with self.started(arguments, env, before=before, stdout=subprocess.PIPE) as process:
            try:
                printed, _ = process.communicate(timeout=None if math.isinf(limit) else limit)
            except subprocess.TimeoutExpired:
                return None, ""
            return process.returncode, printed

    @contextmanager
    def started(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        *,
        before: Sequence[str] = (),
        stdout: int | IO[str],
        descriptors: Sequence[int] = (),
    ) -> Iterator[subprocess.Popen[str]]:
        """Start pytest in the clone, and end it at the end of the block."""
        options = ["-q", "-p", "mutation_plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
        # Outside of the project, whose settings pytest would find from a folder below it.
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
            subprocess.Popen(
                [
                    *(*(before or [str(self.python)]), "-m", "pytest", *options),
                    *(f"--basetemp={scratch}/pytest", *arguments),
                ],
                cwd=self.path,
                env={**self._env, **env},
                stdout=stdout,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                pass_fds=descriptors,
            ) as process,
        ):
            try:
                yield process
            finally:
                # Also if somebody stops this script.
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


class Runs:
    """Runs tests of the clone with a fault."""

    def __init__(self, copy: Copy, reach: Reach) -> None:
        self._copy, self._reach = copy, reach
        self._timeout = f"--timeout={60 + 5 * max(reach.seconds):.0f}"
        # Whether a test passes without a fault.
        self._passes: dict[str, bool] = {}
        self._resources = ExitStack()
        ours, theirs = socket.socketpair()
        folders = sorted({str(Path(test.partition("::")[0]).parent) for test in reach.tests})
        with theirs, (copy.work / "forks.txt").open("w", encoding="utf-8") as log:
            self._resources.enter_context(
                copy.started(
                    [self._timeout, *folders, NESTED_RUN],
                    {FAULTS: str(theirs.fileno())},
                    stdout=log,
                    descriptors=[theirs.fileno()],
                )
            )
        self._lines = self._resources.enter_context(ours.makefile("rw", encoding="utf-8"))

    def close(self) -> None:
        """End the process of the tests."""
        self._resources.close()

    def check(self) -> None:
        """Check that processes which tests start have the fault."""
        module = self._copy.path / "pytest_promptse/plugin/_hooks.py"
        right = module.read_bytes()
        # The variable is unset when pytest loads the plugin itself, and set in its nested runs.
        raising = f"    1 / ({TEST!r} not in __import__('os').environ)\n"
        marked = b"def _is_marked(node: pytest.Item) -> bool:\n"
        wrong = right.replace(marked, marked + raising.encode())
        if self._forked(module, right, {NESTED_RUN: 60.0}) != SURVIVED:
            raise SystemExit(f"{NESTED_RUN} fails in a fork without a fault")
        if self._forked(module, wrong, {NESTED_RUN: 60.0}) != NESTED_RUN:
            raise SystemExit("forked runs do not have the fault")

    def outcome(self, fault: Fault, tests: Mapping[str, float]) -> str:
        """Return which test noticed a fault, or that none did."""
        module = self._copy.path / fault.path
        wrong = fault.applied(module.read_bytes())
        tests = {test: tests[test] for test in tests if self._passes.get(test, True)}
        while tests:
            outcome = None
            if not self._reach.at_import(fault):
                outcome = self._forked(module, wrong, tests)
            if outcome is None:
                outcome = self._in_new_processes(module, wrong, tests)
            if outcome not in tests or self._passes_alone(outcome):
                return outcome
            tests = {test: tests[test] for test in tests if test != outcome}
        return SURVIVED

    def _passes_alone(self, test: str) -> bool:
        if test not in self._passes:
            module = self._copy.path / "pytest_promptse/__init__.py"
            outcome = self._forked(module, module.read_bytes(), {test: 60.0})
            self._passes[test] = outcome == SURVIVED
            if outcome != SURVIVED:
                print(f"left out, since it fails without a fault: {test}", flush=True)
        return self._passes[test]

    def _forked(self, module: Path, wrong: bytes, tests: Mapping[str, float]) -> str | None:
        """Return the outcome of tests in a fork, or None if the fault needs new processes."""
        right = module.read_bytes()
        fault = {"path": str(module), "right": right.decode(), "wrong": wrong.decode()}
        with written(module, wrong):
            limits = {test: 60.0 + 5 * seconds for test, seconds in tests.items()}
            self._lines.write(json.dumps({"fault": fault, "tests": limits}) + "\n")
            self._lines.flush()
            answer = self._lines.readline()
        if not answer:
            raise SystemExit(f"the process of the tests has ended; see {self._copy.work}/forks.txt")
        outcome: str | None = json.loads(answer)
        return outcome

    def _in_new_processes(self, module: Path, wrong: bytes, tests: Mapping[str, float]) -> str:
        arguments = self._copy.work / "tests.txt"
        arguments.write_text("\n".join(tests))
        limit = 120 + 5 * sum(tests.values())
        with written(module, wrong):
            status, printed = self._copy.pytest([f"@{arguments}", self._timeout, "-x"], limit, {})
        if status is None:
            return TIME_LIMIT
        if status == pytest.ExitCode.OK:
            return SURVIVED
        if status == pytest.ExitCode.NO_TESTS_COLLECTED:
            raise SystemExit(f"no test was collected:\n{printed}")
        failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", printed, re.MULTILINE)
        return failed[1] if failed else f"pytest ended with {status}"


@contextmanager
def written(module: Path, wrong: bytes) -> Iterator[None]:
    """Let a module have a fault in the block."""
    right = module.read_bytes()
    try:
        write_module(module, wrong)
        yield
    finally:
        write_module(module, right)


def lines_reached(data_folder: Path, clone: Path) -> dict[str, dict[str, list[int]]]:
    """Return the numbers of the tests that reach each line of each module."""
    reached: defaultdict[str, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for file in data_folder.glob("data.*"):
        data = coverage.CoverageData(str(file))
        data.read()
        tests = {int(context) for context in data.measured_contexts() if context}
        # A process that a test has started loses its context at times.
        without = tests if len(tests) == 1 else {-1}
        for module in data.measured_files():
            lines = reached[str(Path(module).relative_to(clone))]
            for line, contexts in data.contexts_by_lineno(module).items():
                for context in contexts:
                    lines[line] |= {int(context)} if context else without
    return {
        module: {str(line): sorted(numbers) for line, numbers in lines.items()}
        for module, lines in reached.items()
    }


def write_module(module: Path, source: bytes) -> None:
    """Write a module, and remove its bytecode, which tells versions apart by seconds only."""
    module.write_bytes(source)
    for cached in (module.parent / "__pycache__").glob(f"{module.stem}.*"):
        cached.unlink()


def output(*command: str, cwd: Path) -> str:
    """Return what a command prints."""
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True)
class Result:
    """What became of a fault: one line of the results file."""

    path: str
    kind: str
    before: str
    after: str
    line: int
    seed: int
    commit: str
    noticed: bool
    outcome: str
    n_tests: int
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, str]:
        """That of the fault."""
        return self.path, self.kind, self.before, self.after


def read_results(path: Path, seed: int) -> dict[tuple[str, str, str, str], Result]:
    """Return the last result of each fault of a seed."""
    if not path.exists():
        return {}
    rows = (Result(**json.loads(row)) for row in path.read_text(encoding="utf-8").splitlines())
    return {row.key: row for row in rows if row.seed == seed}


def equivalent_faults() -> dict[tuple[str, str, str], str]:
    """Return the reasons why faults cannot be noticed, by module, line and faulty line."""
    listed = Path(__file__).with_name("mutation_equivalent.toml").read_text(encoding="utf-8")
    return {
        (entry["path"], entry["before"], entry["after"]): entry["reason"]
        for entry in tomllib.loads(listed).get("fault", [])
    }


def report(drawn: Iterable[Fault], results: Mapping[tuple[str, str, str, str], Result]) -> None:
    """Print the shares of noticed faults, and the survivors."""
    tried = [results[fault.key] for fault in drawn if fault.key in results]
    reasons = equivalent_faults()

    def is_equivalent(result: Result) -> bool:
        return not result.noticed and (result.path, result.before, result.after) in reasons

    counted = [result for result in tried if not is_equivalent(result)]
    n_equivalent = len(tried) - len(counted)
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"
    commits = ", ".join(sorted({result.commit for result in tried}))
    print(f"\n{len(tried)} faults at {commits}; {machine}; {n_equivalent} equivalent\n")
    print("| | noticed | share | 95 % interval |\n|---|---|---|---|")
    row("all", counted)
    row("all, equivalent ones as survivors", tried)
    by: tuple[Callable[[Result], str], ...] = (
        lambda one: one.path.split("/")[1],
        lambda one: one.kind,
    )
    for group_of in by:
        for name in sorted({group_of(result) for result in counted}):
            row(name, [result for result in counted if group_of(result) == name])
    print("\nSurvivors:\n")
    for result in counted:
        if not result.noticed:
            print(f"{result.path}:{result.line} {result.kind}, {result.outcome}")
            print(f"    - {result.before}\n    + {result.after}")


def row(name: str, results: Sequence[Result]) -> None:
    """Print the share of noticed faults with its Wilson interval."""
    total, noticed = len(results), sum(result.noticed for result in results)
    if total:
        low, high = wilson(noticed, total)
        print(
            f"| {name} | {noticed} of {total} | {noticed / total:.0%} | {low:.0%} to {high:.0%} |"
        )


def wilson(noticed: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    z = 1.959964
    share = noticed / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2) / (1 + z * z / total)
    return max(0.0, middle - half), min(1.0, middle + half)


if __name__ == "__main__":
    main()
