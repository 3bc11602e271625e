"""Merge the records of all shards of a run into the record of the whole run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from pytest_promptse import __version__
from pytest_promptse.errors import NotScoredError, RecordError
from pytest_promptse.record._queries import prompts_of
from pytest_promptse.record._schema import UsageRecord
from pytest_promptse.run._gates import Scores
from pytest_promptse.run._record_builder import fill_record
from pytest_promptse.store._run_log import (
    ErrorRow,
    GateRow,
    OutcomeRow,
    RunLog,
    ShardRow,
    ShardSuiteRow,
    SuiteRow,
    VariantRow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pytest_promptse.record._schema import (
        EntailmentRecord,
        Record,
        RewritingRecord,
        TaskRecord,
    )
    from pytest_promptse.store._run_log import PlannedGate
    from pytest_promptse.store._store import Store

# Settings that may differ between shards because no score depends on them.
_FREE_SETTINGS = frozenset(
    {"base_url", "concurrency", "dry_run", "max_cost", "max_requests", "price", "report", "store"}
)
_RUN = "merge"
_T = TypeVar("_T")


def merge_shards(records: Iterable[tuple[str, Record]], store: Store) -> Record:
    """Return the record of a whole run from the records of all of its shards.

    Scores, intervals and gates are computed from the samples of all shards by the same code as in
    a single run.

    Parameters
    ----------
    records
        The records with their file names for errors. Only one of them is in memory at a time.
    store
        An empty store for the samples.

    Raises
    ------
    RecordError
        If a record is not a shard, a shard is missing or occurs twice, or the shards belong to
        different runs.
    """
    run_log = RunLog(store, _RUN)
    merge = _Merge(run_log)
    for name, record in records:
        with store.transaction():
            merge.add(name, record)
    return merge.finish()


class _Merge:
    """Collect shards in a run log."""

    def __init__(self, run_log: RunLog) -> None:
        self._run_log = run_log
        self._files: dict[int, str] = {}
        self._plan: ShardRow | None = None
        self._head: Record | None = None
        self._measured: dict[tuple[str, str, str | None, str], str] = {}

    def add(self, name: str, record: Record) -> None:
        shard = record.shard
        if shard is msgspec.UNSET:
            raise RecordError(
                f"{name}: not the record of a shard; run pytest with --promptse-shard INDEX/COUNT"
            )
        if record.tool.get("version") != __version__:
            raise RecordError(
                f"{name}: made by version {record.tool.get('version')}, this is {__version__}; "
                "merge with the version that ran the shards"
            )
        if shard.index in self._files:
            raise RecordError(
                f"{name}: shard {shard.index}/{shard.count} is also in {self._files[shard.index]}; "
                "name each shard once"
            )
        head = replace(record, tasks=[], suites=[], subgroups=[], rankings=[])
        if self._plan is None or self._head is None:
            self._plan, self._head = shard, head
            for planned in shard.suites:
                self._run_log.add(planned.suite)
        else:
            first = next(iter(self._files.values()))
            _require_same_plan(self._plan, shard, name=name, first=first)
            _require_same_models(self._head, head, name=name, first=first)
            self._head = _joined(self._head, head)
        self._files[shard.index] = name
        for error in record.errors:
            self._run_log.add(
                ErrorRow(where=error.where, message=error.message, skipped=error.skipped)
            )
        for task in record.tasks:
            self._add_task(name, task)

    def _add_task(self, name: str, task: TaskRecord) -> None:
        key = (task.suite, task.model, task.template, task.id)
        if key in self._measured:
            raise RecordError(
                f"{name}: task {task.id!r} of {task.suite} is also in {self._measured[key]}; "
                "the files do not belong to one run"
            )
        self._measured[key] = name
        for row in _rows_of(task):
            self._run_log.add(row)

    def finish(self) -> Record:
        plan, head = self._plan, self._head
        if plan is None or head is None:
            raise RecordError("merge: there is no record; name the records of all shards")
        missing = [index for index in range(1, plan.count + 1) if index not in self._files]
        if missing:
            shards = ", ".join(f"{index}/{plan.count}" for index in missing)
            raise RecordError(f"merge: missing shards: {shards}; name the records of all shards")
        scores = Scores(self._run_log)
        for planned in plan.suites:
            for gate in planned.gates:
                self._decide(planned, gate, scores)
        return fill_record(replace(head, shard=msgspec.UNSET), self._run_log, scores)

    def _decide(self, planned: ShardSuiteRow, gate: PlannedGate, scores: Scores) -> None:
        suite = planned.suite
        try:
            self._require_measured(planned, gate)
            decided = scores.decide_measured(suite, gate)
        except NotScoredError as error:
            self._run_log.add(ErrorRow(where=f"{suite.id}[{gate.name}]", message=str(error)))
            return
        self._run_log.add(
            GateRow(
                place=gate.place,
                suite=suite.id,
                model=suite.model,
                template=suite.template,
                gate=decided,
            )
        )

    def _require_measured(self, planned: ShardSuiteRow, gate: PlannedGate) -> None:
        """Raise NotScoredError if a variant that the gate needs was not measured.

        `planned` lists the variants of the suite in all shards, and `gate` the distances and the
        task that it is about.
        """
        suite = planned.suite
        tasks = [gate.task] if gate.task is not None else suite.tasks
        needed = {"original", *(f"d{distance:g}" for distance in gate.distances)}
        for task in tasks:
            for variant in planned.tasks.get(task, ()):
                if variant.partition("-")[0] not in needed:
                    continue
                if self._run_log.variant(suite.key, task, variant, OutcomeRow) is None:
                    raise NotScoredError(f"{task} {variant} was not measured in any shard")


def _require_same_plan(first_plan: ShardRow, plan: ShardRow, *, name: str, first: str) -> None:
    if plan.count != first_plan.count:
        raise RecordError(
            f"{name}: one of {plan.count} shards, but {first} is one of {first_plan.count}"
        )
    for ours, theirs in zip(_sorted(first_plan), _sorted(plan), strict=False):
        differences = _differing_settings(ours.suite, theirs.suite)
        if differences:
            raise RecordError(
                f"{name}: the settings of {theirs.suite.id} differ from those in {first}: "
                f"{', '.join(differences)}; run all shards with the same settings"
            )
    if _comparable(first_plan) != _comparable(plan):
        raise RecordError(
            f"{name}: its plan differs from that of {first}; run all shards on the same tests and "
            "tasks"
        )


def _differing_settings(ours: SuiteRow, theirs: SuiteRow) -> list[str]:
    return [
        f"{name} {theirs.settings.get(name)!r} instead of {value!r}"
        for name, value in ours.settings.items()
        if name not in _FREE_SETTINGS and theirs.settings.get(name) != value
    ]


def _comparable(plan: ShardRow) -> list[ShardSuiteRow]:
    """Return the parts of a plan that must be equal in all shards, in a fixed order.

    Another plugin may shuffle the tests of each shard differently.
    """
    return [
        replace(
            planned,
            suite=replace(planned.suite, settings=_fixed(planned.suite.settings)),
            tasks={task: sorted(variants) for task, variants in sorted(planned.tasks.items())},
            gates=sorted(planned.gates, key=lambda gate: (gate.place, gate.name)),
        )
        for planned in _sorted(plan)
    ]


def _sorted(plan: ShardRow) -> list[ShardSuiteRow]:
    def key(planned: ShardSuiteRow) -> tuple[str, str, str]:
        return planned.suite.id, planned.suite.model, planned.suite.template or ""

    return sorted(plan.suites, key=key)


def _fixed(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in _FREE_SETTINGS}


def _require_same_models(ours: Record, theirs: Record, *, name: str, first: str) -> None:
    for model, other in zip(ours.models, theirs.models, strict=False):
        if model.identity != other.identity:
            raise RecordError(
                f"{name}: {other.spec} is a different model from that in {first}: {other.identity} "
                f"instead of {model.identity}"
            )


def _joined(ours: Record, theirs: Record) -> Record:
    """Return the head of the merged record: first start, last end and the usage of both records.

    A model's capabilities are taken from the record that has them.
    """
    models = [
        other if model.capabilities is None else model
        for model, other in zip(ours.models, theirs.models, strict=True)
    ]
    return replace(
        ours,
        started=min(ours.started, theirs.started),
        finished=max(ours.finished, theirs.finished),
        models=models,
        instruments=[*ours.instruments, *theirs.instruments],
        usage=_sum(ours.usage, theirs.usage),
        rewriting=_joined_lists(
            ours.rewriting,
            theirs.rewriting,
            key=lambda row: row.rewriter,
            join=_joined_rewriting,
        ),
        entailment=_joined_lists(
            ours.entailment,
            theirs.entailment,
            key=lambda row: (row.model, row.instruction),
            join=_joined_entailment,
        ),
    )


def _joined_rewriting(ours: RewritingRecord, theirs: RewritingRecord) -> RewritingRecord:
    """Return the texts that one rewriter wrote in both runs, counted together."""
    return replace(
        ours,
        variants=ours.variants + theirs.variants,
        texts=ours.texts + theirs.texts,
        accepted=ours.accepted + theirs.accepted,
        rules=dict(sorted((Counter(ours.rules) + Counter(theirs.rules)).items())),
        rejected=[*ours.rejected, *theirs.rejected],
    )


def _joined_entailment(ours: EntailmentRecord, theirs: EntailmentRecord) -> EntailmentRecord:
    """Return the requests to one judge model in both runs, counted together."""
    return replace(
        ours,
        texts=ours.texts + theirs.texts,
        questions=ours.questions + theirs.questions,
        cleared=ours.cleared + theirs.cleared,
    )


def _joined_lists(
    ours: list[_T], theirs: list[_T], *, key: Callable[[_T], object], join: Callable[[_T, _T], _T]
) -> list[_T]:
    """Return the entries of both lists. Entries with the same key become one.

    `key` returns the key of an entry. `join` gets the entry of `ours` and that of `theirs` and
    returns one. The order is that of `ours`, then of `theirs`.
    """
    joined = {key(entry): entry for entry in ours}
    for other in theirs:
        same = joined.get(key(other))
        joined[key(other)] = other if same is None else join(same, other)
    return list(joined.values())


def _sum(ours: UsageRecord, theirs: UsageRecord) -> UsageRecord:
    costs = [cost for cost in (ours.cost, theirs.cost) if cost is not None]
    times = [usage.oldest for usage in (ours, theirs) if usage.oldest is not msgspec.UNSET]
    batches = [
        usage.batch_cost for usage in (ours, theirs) if usage.batch_cost is not msgspec.UNSET
    ]
    return UsageRecord(
        requests=ours.requests + theirs.requests,
        prompt_tokens=ours.prompt_tokens + theirs.prompt_tokens,
        completion_tokens=ours.completion_tokens + theirs.completion_tokens,
        cost=sum(costs) if costs else None,
        cached=ours.cached + theirs.cached,
        oldest=min(times) if times else msgspec.UNSET,
        batch_cost=sum(batches) if batches else msgspec.UNSET,
    )


def _rows_of(task: TaskRecord) -> Iterator[VariantRow]:
    """Yield the rows of the run log that a task was recorded from."""
    for control, variants in ((False, prompts_of(task)), (True, task.controls)):
        for variant in variants:
            yield VariantRow(
                suite=task.suite,
                model=task.model,
                template=task.template,
                control=control,
                variant=variant,
                texts={sample.text: task.texts[sample.text] for sample in variant.samples},
            )
