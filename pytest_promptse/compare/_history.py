"""The history of a project's figures: one line for each saved run, beside its baseline.

``.promptse/baselines/NAME.history.jsonl`` has a line in JSON for every run that was saved as the
baseline NAME. A line has the figures of each suite, but no prompts, so a year of nights is small.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_promptse.compare._baseline import FOLDER
from pytest_promptse.errors import RecordError
from pytest_promptse.record._figures import Interval  # noqa: TC001 - msgspec reads it
from pytest_promptse.record._schema import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._schema import SuiteRecord, TaskRecord

SUFFIX = ".history.jsonl"
# Settings that change what is requested, so that runs before and after are different measurements.
_REQUESTED = ("temperature", "top_p", "max_tokens", "distances")


class MeasuredFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of one run. ``error`` is its standard error over repetitions of the same requests.

    The standard error covers the sampling of completions only, and not other tasks or variants,
    because a later run has the same ones.
    """

    value: float
    error: float


class SuiteEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one suite in one run.

    ``requested`` identifies the prompts and decoding: two entries are comparable if it is equal.
    ``pass_at_1`` is the pass rate of the originals, ``reworded`` that of the variants, and ``drop``
    the first minus the second. ``gated`` has the values of the other metrics on which the suite has
    a gate, by name.
    """

    id: str
    model: str
    template: str | None
    requested: str
    n_tasks: int
    pass_at_1: MeasuredFigure
    reworded: MeasuredFigure
    drop: MeasuredFigure
    auc_e: float | None
    ci95: Interval | None
    gated: dict[str, float | None] = {}


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One run. ``oldest`` is the time of its oldest stored completion, None if all are its own.

    Times are in ISO 8601.
    """

    started: str
    finished: str
    commit: str | None
    oldest: str | None
    suites: list[SuiteEntry]


def entry_of(record: Record) -> RunEntry:
    """Return the entry of a run. Suites without a measured variant are left out."""
    tasks: dict[tuple[str, str, str | None], list[TaskRecord]] = defaultdict(list)
    for task in record.tasks:
        if task.original is not None and task.variants:
            tasks[task.suite, task.model, task.template].append(task)
    usage = record.usage
    return RunEntry(
        started=record.started,
        finished=record.finished,
        commit=record.git.get("commit") if record.git else None,
        oldest=None if usage.oldest is msgspec.UNSET else usage.oldest,
        suites=[
            _suite_entry(suite, measured)
            for suite in record.suites
            if (measured := tasks[suite.id, suite.model, suite.template])
        ],
    )


def append(name: str, record: Record, root: Path) -> None:
    """Append the entry of a run to the history of a baseline.

    Parameters
    ----------
    name
        The name of the baseline.
    record
        The record of the run.
    root
        The project's root folder.

    Raises
    ------
    RecordError
        If the file cannot be written.
    """
    path = root / FOLDER / f"{name}{SUFFIX}"
    try:
        with path.open("ab") as file:
            file.write(msgspec.json.encode(entry_of(record)) + b"\n")
    except OSError as error:
        raise RecordError(f"history {path}: {error.strerror or error}") from None


def read_history(sources: Sequence[str], root: Path) -> list[RunEntry]:
    """Return the runs of histories and records, sorted by time, each once.

    Parameters
    ----------
    sources
        Names of baselines, history files, records, and folders whose ``*.json`` are records. If it
        is empty, the histories of all baselines are read.
    root
        The project's root folder.

    Raises
    ------
    RecordError
        If there is no such source, or a file cannot be read. The message names it.
    """
    paths = [path for source in sources for path in _paths(source, root)]
    if not sources:
        paths = sorted((root / FOLDER).glob(f"*{SUFFIX}"))
    if not paths:
        raise RecordError(
            f"history: no run is saved in {root / FOLDER}; save one with "
            "pytest … --promptse-save NAME, or name a folder of records"
        )
    runs = {(run.started, run.finished): run for path in paths for run in _runs_in(path)}
    return [runs[key] for key in sorted(runs)]


def _paths(source: str, root: Path) -> list[Path]:
    path = Path(source)
    if path.is_dir():
        return sorted(path.glob("*.json"))
    if path.is_file():
        return [path]
    history = root / FOLDER / f"{source}{SUFFIX}"
    if not history.is_file():
        raise RecordError(
            f"history: {source!r} is not a baseline with a history ({history}), a folder or a "
            f"file; save a run with pytest … --promptse-save {source}"
        )
    return [history]


def _runs_in(path: Path) -> Iterator[RunEntry]:
    if not path.name.endswith(".jsonl"):
        yield entry_of(Record.load(path))
        return
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise RecordError(f"history {path}: {error.strerror or error}") from None
    for number, line in enumerate(lines, start=1):
        try:
            yield msgspec.json.decode(line, type=RunEntry)
        except msgspec.DecodeError as error:
            raise RecordError(
                f"{path}:{number}: not a run of a history ({error}); delete this line"
            ) from None


def _suite_entry(suite: SuiteRecord, tasks: Sequence[TaskRecord]) -> SuiteEntry:
    originals = [_original(task) for task in tasks]
    reworded = [_reworded(task) for task in tasks]
    drops = [
        (p - q, noise + more) for (p, noise), (q, more) in zip(originals, reworded, strict=True)
    ]
    return SuiteEntry(
        id=suite.id,
        model=suite.model,
        template=suite.template,
        requested=_requested(suite, tasks),
        n_tasks=len(tasks),
        pass_at_1=_mean(originals),
        reworded=_mean(reworded),
        drop=_mean(drops),
        auc_e=suite.auc_e,
        ci95=suite.ci95,
        gated={
            name: suite.estimate(name).value
            for gate in suite.gates
            if gate.threshold is not None and gate.task is None
            if (name := gate.name.replace("-", "_")) in suite.estimates
            if name not in ("auc_e", "drop")
        },
    )


def _original(task: TaskRecord) -> tuple[float, float]:
    """Return the pass rate of a task's original, and the variance of its sampling."""
    assert task.original is not None
    return task.original.pass_rate, _variance([(task.original.pass_rate, task.original.n)])


def _reworded(task: TaskRecord) -> tuple[float, float]:
    """Return the pass rate of a task's variants over its distances, and its sampling variance."""
    distances = sorted({variant.distance for variant in task.variants})
    rate = variance = 0.0
    for distance in distances:
        group = [(v.pass_rate, v.n) for v in task.variants if v.distance == distance]
        rate += fmean(share for share, _ in group) / len(distances)
        variance += _variance(group) / len(distances) ** 2
    return rate, variance


def _variance(prompts: Sequence[tuple[float, int]]) -> float:
    """Return the variance of the mean of pass rates, given with their numbers of samples.

    The prompts share one rate here, which overstates the variance if their rates differ. Half a
    pass and half a failure are added, so that prompts that always pass have a variance as well.
    """
    n = sum(count for _, count in prompts)
    rate = (sum(share * count for share, count in prompts) + 0.5) / (n + 1.0)
    return (
        rate * (1.0 - rate) * float(np.mean([1.0 / count for _, count in prompts])) / len(prompts)
    )


def _mean(figures: Sequence[tuple[float, float]]) -> MeasuredFigure:
    values, variances = zip(*figures, strict=True)
    return MeasuredFigure(
        value=float(np.mean(values)), error=float(np.sqrt(sum(variances)) / len(figures))
    )


def _requested(suite: SuiteRecord, tasks: Sequence[TaskRecord]) -> str:
    parts: list[object] = [suite.template_sha256, *(suite.settings.get(n) for n in _REQUESTED)]
    for task in sorted(tasks, key=lambda task: task.id):
        parts += [task.id, task.original and task.original.text]
        parts += sorted((variant.id, variant.text) for variant in task.variants)
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]
