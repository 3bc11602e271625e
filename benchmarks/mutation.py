"""Put small faults into the package, and count those that the tests notice.

    pip install cosmic-ray
    python benchmarks/mutation.py --faults 200 --seed 1 --results benchmarks/results/mutation.json

Each fault changes one place of one module: an operator, a number, a comparison, a keyword, a
decorator. The tests of the folder that mirrors the module's package must fail then. A fault is
drawn at random among all places that Cosmic Ray can change in the given packages. Annotations are
left out, since nothing evaluates them. Faults are made in a copy of the tree.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("scoring", "run", "record", "plugin")
IGNORED = shutil.ignore_patterns(
    ".git", ".venv", ".nox", "dist", "build", "__pycache__", ".promptse"
)


def main() -> None:
    """Draw faults, try each, and print the share that was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packages", nargs="*", default=PACKAGES)
    parser.add_argument("--workers", type=int, default=2, help="faults tried at once")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no fault after them")
    parser.add_argument("--results", type=Path, help="JSON file to write")
    options = parser.parse_args()

    places = list(all_places(options.packages))
    drawn = random.Random(options.seed).sample(places, options.faults)  # noqa: S311 - no secret
    copies: SimpleQueue[Path] = SimpleQueue()
    last_begin = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.workers):
            copy = Path(folder, str(number))
            shutil.copytree(ROOT, copy, ignore=IGNORED)
            copies.put(copy)

        def tried(place: MutationSpec) -> dict[str, object] | None:
            copy = copies.get()
            try:
                return try_fault(place, copy) if time.monotonic() < last_begin else None
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.workers) as pool:
            outcomes = []
            for outcome in filter(None, pool.map(tried, drawn)):
                outcomes.append(outcome)
                print(len(outcomes), *outcome.values(), sep="  ", flush=True)
    report(outcomes, len(places), options.seed, options.results)


def all_places(packages: Sequence[str]) -> Iterator[MutationSpec]:
    """Yield every place of the packages' code that can be changed."""
    modules = [
        path
        for package in packages
        for path in sorted((ROOT / "pytest_promptse" / package).rglob("*.py"))
    ]
    work = WorkDB(":memory:", WorkDB.Mode.create)
    init(modules, work, {})
    spans = {str(path): annotated_lines(path) for path in modules}
    for item in work.work_items:
        [place] = item.mutations
        if place.start_pos[0] not in spans[str(place.module_path)]:
            yield place


def annotated_lines(path: Path) -> set[int]:
    """Return the lines of signatures, annotated fields and blocks for type checkers."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            parts = [node.returns, *(argument.annotation for argument in arguments)]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            parts = [node]
        for part in parts:
            if isinstance(part, ast.expr | ast.stmt):
                lines |= set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return lines


def try_fault(place: MutationSpec, copy: Path) -> dict[str, object]:
    """Put one fault into the copy, and run the tests that should notice it."""
    relative = Path(place.module_path).relative_to(ROOT)
    module = copy / relative
    right = module.read_text(encoding="utf-8")
    operator = get_operator(place.operator_name)(**place.operator_args)
    wrong = mutate_code(right, operator, place.occurrence)
    if wrong is None:
        raise ValueError(f"{relative}:{place.start_pos[0]}: nothing to change")
    began = time.monotonic()
    try:
        module.write_text(wrong, encoding="utf-8")
        noticed = any(not passes(copy, tests) for tests in mirrored_tests(relative, copy))
    finally:
        module.write_text(right, encoding="utf-8")
    changed = {line.strip() for line in wrong.splitlines()} - {
        line.strip() for line in right.splitlines()
    }
    return {
        "place": f"{relative}:{place.start_pos[0]}",
        "operator": place.operator_name.partition("/")[2],
        "line": next(iter(changed), ""),
        "noticed": noticed,
        "seconds": round(time.monotonic() - began, 1),
    }


def mirrored_tests(module: Path, copy: Path) -> Iterator[str]:
    """Yield the tests of a module, those of its own name first, since they notice most."""
    for own in sorted(copy.glob(f"tests/**/test_{module.stem.lstrip('_')}.py")):
        yield str(own.relative_to(copy))
    yield str(Path("tests", module.parts[1]))


def passes(copy: Path, tests: str) -> bool:
    """Return whether the tests pass in the copy. Tests that hang do not."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", tests]
    environment = ["env", f"PYTHONPATH={copy}", "PYTHONDONTWRITEBYTECODE=1"]
    try:
        done = subprocess.run(
            [*environment, *command], cwd=copy, capture_output=True, timeout=900, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def report(
    outcomes: Sequence[dict[str, object]], n_places: int, seed: int, results: Path | None
) -> None:
    """Print the share of noticed faults by package, and write all outcomes."""
    totals: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    for outcome in outcomes:
        package = str(outcome["place"]).split("/")[1]
        for name in (package, "all"):
            totals[name] += 1
            noticed[name] += bool(outcome["noticed"])
    for name, total in totals.items():
        print(f"{name:10} {noticed[name]:4} of {total:4} = {noticed[name] / total:.0%}")
    if results is not None:
        header = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": platform.platform(),
            "places": n_places,
            "seed": seed,
            "noticed": noticed["all"],
            "faults": totals["all"],
        }
        text = json.dumps(header | {"outcomes": list(outcomes)}, indent=1)
        results.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
