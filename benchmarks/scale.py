"""Time and memory of `promptse merge` for records of many completions.

Makes the records of all shards of a simulated run, in which each sample passes with the probability
of its task, and merges them in a process of its own.

    python benchmarks/scale.py --tasks 2000 --shards 4
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import msgspec

from pytest_promptse import __version__
from pytest_promptse.config.settings import resolve
from pytest_promptse.record.files import write
from pytest_promptse.record.schema import SCHEMA, Record, UsageRecord
from pytest_promptse.run.gates import Scores
from pytest_promptse.run.record_builder import fill_record
from pytest_promptse.store.run_log import (
    GatePlanRow,
    RunLog,
    SampleRow,
    ShardRow,
    ShardSuiteRow,
    SuiteRow,
    VariantRow,
)
from pytest_promptse.store.store import Store

DISTANCES = [0.1, 0.2, 0.3]
SAMPLES = 16
SUITE, MODEL = "test_scale.py::test_scale", "openai:simulated"
_MERGE = (
    "import sys; from pytest_promptse.cli.main import main; "
    "sys.exit(main(['merge', *sys.argv[1:]]))"
)


def variant_row(task: str, distance: float, rng: random.Random) -> VariantRow:
    """Return a measured variant of `task`, or its original for distance 0."""
    passed = [rng.random() < 0.8 - distance for _ in range(SAMPLES)]
    n_failed = passed.count(False)
    program = (
        f"def {task}(values):\n" + "    values = sorted(values)\n" * 12 + "    return values\n"
    )
    return VariantRow(
        suite=SUITE,
        model=MODEL,
        template=None,
        task=task,
        variant=f"d{distance:g}-tired-expert.senior.plan-0" if distance else "original",
        distance=distance,
        index=0,
        emotion="tired" if distance else None,
        personality="expert.senior.plan" if distance else None,
        causes=["" if each else "wrong_answer" for each in passed],
        logprobs=[-rng.random() * 20 for _ in passed],
        n_tokens=[60] * SAMPLES,
        node=None,
        text=f"Write `{task}`, which returns its values in order. " * 8,
        measured_distance=distance,
        rewriter="rules/1" if distance else "",
        details={"wrong_answer": "assert [] == [1]"} if n_failed else {},
        samples=[SampleRow(n=SAMPLES - n_failed, cause="", detail="", text=program)],
        tokens=(120.0, 60.0),
    )


def write_shards(folder: Path, n_tasks: int, count: int) -> list[Path]:
    """Write the records of all shards and return their files."""
    tasks = [f"task{number}" for number in range(n_tasks)]
    settings = resolve([({"min_auc_e": "0.5"}, str)]).as_json_values()
    suite = SuiteRow(
        id=SUITE,
        model=MODEL,
        template=None,
        tasks=tasks,
        n_variants=n_tasks * 4,
        distances=DISTANCES,
        mode="auto",
        weighting="sum",
        seed=0,
        settings=settings,
        line=1,
        looks=[1],
    )
    names = ["original", *(f"d{d:g}-tired-expert.senior.plan-0" for d in DISTANCES)]
    gate = GatePlanRow(place=0, name="auc-e", threshold=0.5, distances=DISTANCES, task=None)
    planned = ShardSuiteRow(suite=suite, tasks=dict.fromkeys(tasks, names), gates=[gate])
    paths = []
    for index in range(1, count + 1):
        head = Record(
            schema=SCHEMA,
            tool={"name": "pytest-promptse", "version": __version__},
            started="2026-01-01T00:00:00+00:00",
            finished="2026-01-01T01:00:00+00:00",
            environment={},
            git=None,
            settings=settings,
            models=[],
            suites=[],
            tasks=[],
            usage=UsageRecord(
                requests=0, prompt_tokens=0, completion_tokens=0, cost=None, cached=0
            ),
            errors=[],
            shard=ShardRow(index=index, count=count, suites=[planned]),
        )
        with closing(Store(folder / f"store{index}")) as store:
            run_log = RunLog(store, "shard")
            own = tasks[index - 1 :: count]
            with store.transaction():
                run_log.add(msgspec.structs.replace(suite, tasks=own))
                for task in own:
                    rng = random.Random(task)  # noqa: S311 - a simulation
                    for distance in (0.0, *DISTANCES):
                        run_log.add(variant_row(task, distance, rng))
            path = folder / f"shard-{index}.json"
            write(fill_record(head, run_log, Scores(run_log)), path)
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--shards", type=int, default=4)
    chosen = parser.parse_args()
    completions = chosen.tasks * 4 * SAMPLES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_shards(folder, chosen.tasks, chosen.shards)
        size = sum(path.stat().st_size for path in paths) / 1e6
        began = time.perf_counter()
        command = [sys.executable, "-c", _MERGE, *map(str, paths)]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
        seconds = time.perf_counter() - began
        # Kibibytes on Linux, of the largest child so far: the merge is the only one.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{completions:,} completions in {chosen.shards} records of {size:.0f} MB: merged in "
        f"{seconds:.1f} s with {peak:.0f} MiB, exit code {done.returncode}"
    )


if __name__ == "__main__":
    main()
