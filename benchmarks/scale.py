"""Cost of a run that is too large for one machine: shards, merges, and a simulated cluster.

    python benchmarks/scale.py shards [--tasks 8]
    python benchmarks/scale.py merge [--tasks 2000] [--shards 4]
    python benchmarks/scale.py plan [--replicas 16] [--tokens-per-second 2500] ...

``shards`` runs HumanEval tasks at preset ``paper`` from existing completions: as one run, and as 2
and 4 shards, two at a time, with a merge. It shows the additional cost of a shard.

``merge`` makes the records of all shards of a simulated run, in which each sample passes with the
probability of its task. It merges them in a separate process.

``plan`` simulates a cluster, event by event. Replicas of a model answer parts of a batch, requests
fail and are sent again, and replicas are lost and their parts repeated. Judging and merging take
the times that ``shards`` and ``merge`` measured; give those figures as options.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec
import numpy as np
import paper_scale

from pytest_promptse import __version__
from pytest_promptse.config._settings import resolve
from pytest_promptse.record._files import write
from pytest_promptse.record._schema import SCHEMA, Record, UsageRecord
from pytest_promptse.run._gates import Scores
from pytest_promptse.run._record_builder import fill_record
from pytest_promptse.store._measured_variant import (
    DrawRecord,
    SampleRecord,
    VariantRecord,
    text_key,
)
from pytest_promptse.store._run_log import (
    PlannedGate,
    RunLog,
    ShardRow,
    ShardSuiteRow,
    SuiteRow,
    VariantRow,
)
from pytest_promptse.store._store import Store

DISTANCES = [0.1, 0.2, 0.3]
SAMPLES = 16
CORES = 2
SUITE, MODEL = "test_scale.py::test_scale", "openai:simulated"
_MERGE = (
    "import sys; from pytest_promptse.cli._main import main; "
    "sys.exit(main(['merge', *sys.argv[1:]]))"
)


def variant_row(task: str, distance: float, rng: random.Random) -> VariantRow:
    """Return a measured variant of `task`, or its original for distance 0."""
    passed = [rng.random() < 0.8 - distance for _ in range(SAMPLES)]
    n_failed = passed.count(False)
    program = (
        f"def {task}(values):\n" + "    values = sorted(values)\n" * 12 + "    return values\n"
    )
    draws = [
        DrawRecord(
            cause=None if each else "wrong_answer",
            logprob=-rng.random() * 20,
            n_tokens=60,
            answer=place,
        )
        for place, each in enumerate(passed)
    ]
    variant = VariantRecord(
        task_id=task,
        id=f"d{distance:g}-tired-expert.senior.plan-0" if distance else "original",
        text=f"Write `{task}`, which returns its values in order. " * 8,
        distance=distance,
        index=0,
        emotion="tired" if distance else None,
        personality="expert.senior.plan" if distance else None,
        measured_distance=distance,
        rewriter="rules/1" if distance else "",
        n=SAMPLES,
        pass_rate=1.0 - n_failed / SAMPLES,
        causes={"wrong_answer": n_failed} if n_failed else {},
        details={"wrong_answer": "assert [] == [1]"} if n_failed else {},
        samples=[SampleRecord(n=SAMPLES - n_failed, cause=None, detail="", text=text_key(program))],
        draws=draws,
        prompt_tokens=120.0,
        completion_tokens=60.0,
    )
    return VariantRow(
        suite=SUITE,
        model=MODEL,
        template=None,
        variant=variant,
        texts={text_key(program): program},
    )


class NoScores(Scores):
    """Leave the records of shards without scores, which a merge does not read."""

    def of(self, suite: SuiteRow, *, comparisons: int = 1) -> None:  # noqa: ARG002 - as in the base class
        return None


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
    gate = PlannedGate(place=0, name="auc-e", threshold=0.5, distances=tuple(DISTANCES))
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
            write(fill_record(head, run_log, NoScores(run_log)), path)
        paths.append(path)
    return paths


def measure_merge(n_tasks: int, count: int) -> None:
    """Merge simulated records in a separate process, and print time and memory."""
    completions = n_tasks * 4 * SAMPLES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_shards(folder, n_tasks, count)
        size = sum(path.stat().st_size for path in paths) / 1e6
        done = timed([sys.executable, "-c", _MERGE, *map(str, paths)], folder)
    print(
        f"{completions:,} completions in {count} records of {size:.0f} MB: merged in "
        f"{done.wall:.1f} s ({done.cpu:.1f} s of CPU) with {done.peak:.0f} MiB"
    )


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Wall and CPU time in seconds, and peak memory in MiB, of processes that ended."""

    wall: float
    cpu: float
    peak: float


def timed(command: list[str], folder: Path) -> Timed:
    """Run a command to its end, with its children."""
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:4])} … ended with code {process.returncode}")
    # Kibibytes on Linux.
    return Timed(
        wall=time.perf_counter() - began,
        cpu=usage.ru_utime + usage.ru_stime,
        peak=usage.ru_maxrss / 1024,
    )


def run_shards(folder: Path, count: int) -> Timed:
    """Run all shards, two at a time. Return their total time and the largest memory."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["--promptse-model", "replay:answers.jsonl", "--promptse-preset", "paper"]
    command += ["--promptse-original-samples", str(paper_scale.SAMPLES)]

    def run(index: int) -> Timed:
        own = ["--promptse-store", f"store-{index}-{count}"]
        own += ["--promptse-report", f"json:shard-{index}-{count}.json"]
        if count > 1:
            own += ["--promptse-shard", f"{index}/{count}"]
        return timed([*command, *own], folder)

    began = time.perf_counter()
    with ThreadPoolExecutor(max_workers=CORES) as pool:
        done = list(pool.map(run, range(1, count + 1)))
    return Timed(
        wall=time.perf_counter() - began,
        cpu=sum(each.cpu for each in done),
        peak=max(each.peak for each in done),
    )


def measure_shards(n_tasks: int) -> None:
    """Print the cost of 1, 2 and 4 shards and their merges, as ratios to a single run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_humaneval.py").write_text(paper_scale.SUITE.format(tasks=n_tasks))
        completions = paper_scale.write_completions(folder / "answers.jsonl", n_tasks)
        print(f"{completions:,} completions of {n_tasks} tasks, {CORES} shards at a time")
        single = run_shards(folder, 1)
        size = sum(path.stat().st_size for path in (folder / "store-1-1").rglob("*"))
        for count in (1, 2, 4):
            done = single if count == 1 else run_shards(folder, count)
            line = (
                f"{count} shards: {done.wall:.1f} s ({done.wall / single.wall:.2f} of a single "
                f"run), {done.cpu:.1f} s of CPU ({done.cpu / single.cpu:.2f}), {done.peak:.0f} MiB "
                "in the largest process"
            )
            if count > 1:
                paths = [f"shard-{index}-{count}.json" for index in range(1, count + 1)]
                merged = timed([sys.executable, "-c", _MERGE, *paths], folder)
                line += f"; merge {merged.wall:.1f} s"
            print(line)
        print(
            f"a single run: {completions / single.cpu:.0f} completions for a second of CPU, "
            f"{size / completions:.0f} bytes of store for a completion"
        )
    print(f"cores: {len(os.sched_getaffinity(0))}, load: {os.getloadavg()[0]:.1f}")


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A simulated cluster. The rates of judging, store and merge are those of one process.

    Attributes
    ----------
    replicas
        Replicas of the model.
    tokens_per_second
        Completion tokens of one replica with a full batch.
    tokens
        Completion tokens of one completion.
    latency
        Seconds between the end of a part and the first token of the next part on the same replica.
    failures
        Fraction of requests that fail and are sent again.
    hours_to_loss
        Mean hours until a replica is lost, together with its current part.
    minutes_to_restart
        Minutes until a lost replica works again.
    cores
        Cores that judge, one shard each.
    judged
        Completions that one core judges in a second.
    store_bytes
        Bytes of store for one completion.
    shard_base, merge_base
        MiB of a shard, and of a merge, without completions.
    shard_bytes, merge_bytes
        Bytes of memory for one completion of a shard, and of a merge.
    merge_rate
        Completions that a merge takes in a second.
    """

    replicas: int = 16
    tokens_per_second: float = 2500.0
    tokens: float = 150.0
    latency: float = 0.5
    failures: float = 0.01
    hours_to_loss: float = 24.0
    minutes_to_restart: float = 10.0
    cores: int = 64
    judged: float = 300.0
    store_bytes: float = 1600.0
    shard_base: float = 140.0
    shard_bytes: float = 1850.0
    merge_base: float = 130.0
    merge_bytes: float = 320.0
    merge_rate: float = 5900.0


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """The result of a simulated batch: seconds, repeated completions, lost replicas."""

    seconds: float
    repeated: int
    losses: int


PART = 64
"""Requests of one part, as in ``promptse batch run``."""


def simulate(completions: int, cluster: Cluster, rng: np.random.Generator) -> Sampled:
    """Answer a batch on a cluster, part by part."""
    size = PART * SAMPLES
    waiting = -(-completions // size)
    part = cluster.latency + size * cluster.tokens / cluster.tokens_per_second
    # Each replica by the time at which it is free, and the time at which it will be lost.
    mean = 3600 * cluster.hours_to_loss
    replicas = [(0.0, number) for number in range(cluster.replicas)]
    lost_at = [float(rng.exponential(mean)) for _ in replicas]
    end, repeated, losses = 0.0, 0, 0
    while waiting:
        now, number = heapq.heappop(replicas)
        failed = int(rng.binomial(PART, cluster.failures))
        until = now + part * (1 + failed / PART)
        if until > lost_at[number]:
            losses += 1
            repeated += size
            again = max(now, lost_at[number]) + 60 * cluster.minutes_to_restart
            lost_at[number] = again + float(rng.exponential(mean))
            heapq.heappush(replicas, (again, number))
            continue
        waiting -= 1
        repeated += failed * SAMPLES
        end = max(end, until)
        heapq.heappush(replicas, (until, number))
    return Sampled(seconds=end, repeated=repeated, losses=losses)


def plan(name: str, records: int, completions: int, cluster: Cluster) -> None:
    """Print time, store size and memory of `records` records of `completions` each."""
    rng = np.random.default_rng(0)
    total = records * completions
    sampled = simulate(total, cluster, rng)
    judging = total / (cluster.judged * cluster.cores)
    # One merge after another, on one core.
    merging = total / cluster.merge_rate
    own = completions / cluster.cores
    stages = {"sampling": sampled.seconds, "judging": judging, "merging": merging}
    slowest = max(stages, key=lambda stage: stages[stage])
    merge = cluster.merge_base + completions * cluster.merge_bytes / 2**20
    shard = cluster.shard_base + own * cluster.shard_bytes / 2**20
    hours = ", ".join(f"{stage} {seconds / 3600:.2f} h" for stage, seconds in stages.items())
    print(
        f"{name}: {total:,} completions in {records} records: {hours}; bottleneck {slowest}\n"
        f"  {sampled.losses} replicas lost, {sampled.repeated / total:.2%} of the completions made "
        f"again; store {total * cluster.store_bytes / 1e9:.1f} GB; {shard:,.0f} MiB in each of "
        f"{cluster.cores} shards, {merge:,.0f} MiB in a merge"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    shards = commands.add_parser("shards")
    shards.add_argument("--tasks", type=int, default=8)
    merge = commands.add_parser("merge")
    merge.add_argument("--tasks", type=int, default=2000)
    merge.add_argument("--shards", type=int, default=4)
    planned = commands.add_parser("plan")
    for field in fields(Cluster):
        kind = type(field.default)
        planned.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    chosen = parser.parse_args()
    if chosen.command == "shards":
        measure_shards(chosen.tasks)
    elif chosen.command == "merge":
        measure_merge(chosen.tasks, chosen.shards)
    else:
        cluster = Cluster(**{each.name: getattr(chosen, each.name) for each in fields(Cluster)})
        print(cluster)
        plan("15 models at the scale of the paper", 15, 238_784, cluster)
        plan("the same completions in one record", 1, 15 * 238_784, cluster)
        plan("10^8 completions, a record of 10^6 each", 100, 1_000_000, cluster)
        plan("10^8 completions in one record", 1, 100_000_000, cluster)


if __name__ == "__main__":
    main()
