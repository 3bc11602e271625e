"""Put small faults into the package, and count those that the tests of the mirrored folder notice.

    python benchmarks/mutation.py --faults 200 --seed 1 --results build/mutation/results.jsonl
    python benchmarks/mutation.py --faults 200 --seed 1 --results … --again   # the survivors

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

Neither mutmut 3.8 nor Cosmic Ray 8.7 fits. mutmut finds the tests of a function by what runs in the
process of the tests, and so misses all tests that run pytest in another. Cosmic Ray selects no
tests and has no faults of the kinds return, argument and statement.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest
from mutation_faults import ROOT, draw
from mutation_plugin import TEST, TESTS_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mutation_faults import Fault

# The tests that mirror a folder. Most of `run` has no door but a run of the plugin.
TESTS = {
    "scoring": ("tests/scoring",),
    "run": ("tests/run", "tests/plugin"),
    "record": ("tests/record",),
    "plugin": ("tests/plugin",),
}


def main() -> None:
    """Draw faults, try each, and print the share that was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--faults", type=int, default=200, help="in all folders together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", nargs="*", choices=TESTS, default=[*TESTS])
    parser.add_argument("--results", type=Path, default=ROOT / "build/mutation/results.jsonl")
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
    reached = {folder: copy.reach(folder) for folder in sorted({fault.folder for fault in todo})}
    copy.check()
    for number, fault in enumerate(todo):
        if time.monotonic() > last_begin:
            break
        tests = reached[fault.folder].of(fault, options.test_seconds)
        began = time.monotonic()
        outcome = copy.outcome(fault, tests) if tests else "no test reaches it"
        result = Result(
            **{name: getattr(fault, name) for name in ("path", "kind", "before", "after", "line")},
            seed=options.seed,
            commit=copy.commit,
            noticed=bool(tests) and outcome != SURVIVED,
            outcome=outcome,
            n_tests=len(tests),
            seconds=round(time.monotonic() - began, 1),
        )
        options.results.parent.mkdir(parents=True, exist_ok=True)
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        earlier[result.key] = result
        place = f"{result.path}:{result.line}"
        print(f"{number + 1}/{len(todo)} {place} {result.kind}: {outcome}", flush=True)
    report(drawn, earlier)


SURVIVED = "survived"


@dataclass(frozen=True)
class Reach:
    """Which tests of a folder reach which lines.

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

    def of(self, fault: Fault, most_seconds: float) -> dict[str, float]:
        """Return the seconds of the tests that reach a fault, in the order to run them.

        The tests of the module's own file come first, since they notice most, and quick ones
        before slow ones. All tests reach what is executed at import.
        """
        per_line = self.lines.get(fault.path, {})
        numbers = {
            number
            for line in range(fault.first, fault.last + 1)
            for number in per_line.get(str(line), ())
        }
        if fault.at_import or -1 in numbers:
            numbers = set(range(len(self.tests)))
        own = f"/test_{Path(fault.path).stem.lstrip('_')}.py::"

        def order(number: int) -> tuple[bool, bool, str, float]:
            test, seconds = self.tests[number], self.seconds[number]
            return own not in test, seconds > 1, test.partition("::")[0], seconds

        chosen: dict[str, float] = {}
        for number in sorted(numbers, key=order):
            if sum(chosen.values()) + self.seconds[number] <= most_seconds or not chosen:
                chosen[self.tests[number]] = self.seconds[number]
        return chosen


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
        # A folder of its own: some scripts beside it have names of packages.
        shutil.copy(Path(__file__).with_name("mutation_plugin.py"), plugin)

    def reach(self, folder: str) -> Reach:
        """Run the tests of a folder without a fault, and record which lines each reaches."""
        trees = output("git", "rev-parse", "HEAD:pytest_promptse", "HEAD:tests", cwd=ROOT).split()
        version = "-".join(tree[:8] for tree in trees)
        recorded = self.work / f"reach-{folder}-{version}.json"
        if not recorded.exists():
            print(f"recording which lines the tests of {folder} reach", flush=True)
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
            status, printed = self._pytest(TESTS[folder], math.inf, env, before=run)
            if status != pytest.ExitCode.OK:
                raise SystemExit(f"tests of {folder} fail without a fault:\n{printed}")
            tests = json.loads(tests_file.read_text())
            lines = lines_reached(data_folder, self.path)
            reach = {"tests": [*tests], "seconds": [*tests.values()], "lines": lines}
            recorded.write_text(json.dumps(reach))
        return Reach(**json.loads(recorded.read_text()))

    def check(self) -> None:
        """Check that processes which tests start import the faulty package."""
        hooks = self.path / "pytest_promptse/plugin/_hooks.py"
        # The variable is unset when pytest loads the plugin itself, and set in its nested runs.
        raising = f"\nimport os\nif {TEST!r} in os.environ:\n    raise RuntimeError('a fault')\n"
        status, printed = self._with(
            hooks, hooks.read_bytes() + raising.encode(), ["tests/plugin/test_items.py"], 600
        )
        if status != pytest.ExitCode.TESTS_FAILED or "a fault" not in printed:
            raise SystemExit(f"nested runs do not import the faulty package:\n{printed}")

    def outcome(self, fault: Fault, tests: Mapping[str, float]) -> str:
        """Return which test noticed a fault, or that none did."""
        module = self.path / fault.path
        wrong = fault.applied(module.read_bytes())
        arguments = self.work / "tests.txt"
        arguments.write_text("\n".join(tests))
        # A test that waits without end fails by the first limit, unless it cannot be interrupted.
        timeout = f"--timeout={60 + 5 * max(tests.values()):.0f}"
        limit = 120 + 5 * sum(tests.values())
        status, printed = self._with(module, wrong, [f"@{arguments}", timeout], limit)
        if status is None:
            return "time limit"
        if status == pytest.ExitCode.OK:
            return SURVIVED
        if status == pytest.ExitCode.NO_TESTS_COLLECTED:
            raise SystemExit(f"no test was collected:\n{printed}")
        failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", printed, re.MULTILINE)
        return failed[1] if failed else f"pytest ended with {status}"

    def _with(
        self, module: Path, wrong: bytes, arguments: Sequence[str], limit: float
    ) -> tuple[int | None, str]:
        right = module.read_bytes()
        try:
            write_module(module, wrong)
            return self._pytest([*arguments, "-x"], limit, {})
        finally:
            write_module(module, right)

    def _pytest(
        self,
        arguments: Sequence[str],
        limit: float,
        env: Mapping[str, str],
        before: Sequence[str] = (),
    ) -> tuple[int | None, str]:
        """Run tests in the clone; the status is None if they take too long."""
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
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            ) as process,
        ):
            try:
                printed, _ = process.communicate(timeout=None if math.isinf(limit) else limit)
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                # Also if somebody stops this script.
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
            return process.returncode, printed


def lines_reached(data_folder: Path, clone: Path) -> dict[str, dict[int, list[int]]]:
    """Return the numbers of the tests that reach each line of each module."""
    data = coverage.CoverageData(str(data_folder / "combined"))
    for file in data_folder.glob("data.*"):
        part = coverage.CoverageData(str(file))
        part.read()
        data.update(part)
    return {
        str(Path(file).relative_to(clone)): {
            line: sorted(int(context or -1) for context in contexts)
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
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
