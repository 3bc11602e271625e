"""The run log: what one run planned, measured and decided, as rows in the store.

Every process of the run writes to the log, and the reporting process reads it. So a run with
several workers has the same record as a run in one process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from pytest_promptse.models._base import Usage  # noqa: TC001 - msgspec reads it
from pytest_promptse.scoring._scores import Gate  # noqa: TC001 - msgspec reads it
from pytest_promptse.store._measured_variant import (
    OutcomeFields,  # noqa: TC001 - msgspec reads it
    VariantRecord,  # noqa: TC001 - msgspec reads it
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.store._store import Store


class SuiteKey(NamedTuple):
    """A suite with a model and a prompt template, or with None if there is no template.

    ``model`` is the model's specification, and ``template`` the name of the template.
    """

    model: str
    template: str | None
    id: str


class SuiteRow(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of one suite for one model and one prompt template.

    ``template_source`` is the path of the template, relative to the root directory, and its text.
    ``n_gates`` is the number of gates with a threshold.
    ``shares_process`` is True if the tests of a task run in the process of the program.
    """

    id: str
    model: str
    template: str | None
    tasks: list[str]
    n_variants: int
    distances: list[float]
    mode: Literal["auto", "promptse", "light"]
    weighting: Literal["sum", "mean", "uniform"]
    seed: int
    settings: dict[str, Any]
    line: int | None
    looks: list[int]
    n_controls: int = 0
    n_gates: int = 0
    template_source: tuple[str, str] | None = None
    shares_process: bool = False

    @property
    def key(self) -> SuiteKey:
        return SuiteKey(self.model, self.template, self.id)


class LookRow(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a suite that is sampled in rounds, numbered from 0.

    Attributes
    ----------
    decided
        True if every gate with a threshold is decided.
    ended
        True if the suite ends here: its gates are decided, or this is the last round.
    variants, completions
        Numbers of variants and completions that the look is based on.
    max_completions
        Number of completions in the whole plan.
    cached
        Number of samples of the next round that were already in the store.
    """

    suite: str
    model: str
    template: str | None
    look: int
    decided: bool
    ended: bool
    variants: int
    completions: int
    max_completions: int
    cached: int

    @property
    def key(self) -> SuiteKey:
        return SuiteKey(self.model, self.template, self.suite)


class _MeasuredRow(msgspec.Struct, frozen=True, kw_only=True):
    """The suite of a measured variant. ``control`` is True for a control variant.

    Control variants are not part of the figures of variants.
    """

    suite: str
    model: str
    template: str | None
    control: bool = False

    @property
    def key(self) -> SuiteKey:
        return SuiteKey(self.model, self.template, self.suite)


class VariantRow(_MeasuredRow, frozen=True, kw_only=True):
    """A measured variant, without scores, and the texts of its ``samples`` by `text_key`."""

    variant: VariantRecord
    texts: dict[str, str]


class OutcomeRow(_MeasuredRow, frozen=True, kw_only=True):
    """What scores need of a `VariantRow`; reading it leaves out all texts."""

    variant: OutcomeFields


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of one gate; ``place`` is its position among the gates of the suite."""

    place: int
    suite: str
    model: str
    template: str | None
    gate: Gate

    @property
    def key(self) -> SuiteKey:
        return SuiteKey(self.model, self.template, self.suite)


class PlannedGate(msgspec.Struct, frozen=True, kw_only=True):
    """A gate of a suite; ``place`` is its position among the gates of the suite.

    Attributes
    ----------
    name
        The name of a metric with hyphens, such as ``auc-e``, or ``elasticity-d0.3`` at one
        distance.
    threshold
        None if the gate only reports its figure.
    distances
        The distances whose variants the figure needs.
    task
        The id of the task to which the gate applies, or None for the whole suite.
    """

    place: int
    name: str
    threshold: float | None
    distances: tuple[float, ...]
    task: str | None = None


class ShardSuiteRow(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of one suite over all shards of a run, with one model and prompt template.

    Attributes
    ----------
    suite
        The suite with all of its tasks.
    tasks
        The variants of each task that the run measures, in all shards together. Control variants
        are left out, because no gate needs them.
    gates
        The gates that the run decides.
    """

    suite: SuiteRow
    tasks: dict[str, list[str]]
    gates: list[PlannedGate]


class ShardRow(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a run in shards. ``index`` is the number of this shard, from 1 to ``count``."""

    index: int
    count: int
    suites: list[ShardSuiteRow]


class RewriteRow(msgspec.Struct, frozen=True, kw_only=True):
    """The texts that a model wrote for one variant.

    Attributes
    ----------
    rewriter
        Name and version, such as ``llm:openai:gpt-4.1/1a2b3c4d``.
    instruction
        The instruction of the model, before the task's own values are inserted.
    variant
        Id and seed of the variant.
    texts
        Number of texts, including the accepted one.
    accepted
        True if one of the texts was accepted.
    rules
        For each rule, the number of rejected texts that broke it.
    rejected
        The rejected texts, each with its findings.
    """

    rewriter: str
    model: str
    instruction: str
    task: str
    variant: str
    texts: int
    accepted: bool
    rules: dict[str, int]
    rejected: list[tuple[str, list[str]]] = []


class EntailmentRow(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of what the model of ``--promptse-variant-judge`` decided about one variant.

    A rewriter may propose several texts for one variant. The model judges those that break only
    soft rules of invariance, and may clear their findings.

    Attributes
    ----------
    model
        The model as ``BACKEND:NAME``.
    instruction
        Digest of the instruction.
    task, variant
        The task, and id and seed of the variant.
    texts
        Number of texts that break only soft rules.
    questions
        Number of questions that the model answered.
    cleared
        Number of findings that the model cleared.
    """

    model: str
    instruction: str
    task: str
    variant: str
    texts: int
    questions: int
    cleared: int


class ErrorRow(msgspec.Struct, frozen=True, kw_only=True):
    """An item that could not be measured, with the reason.

    ``where`` is a node id. ``skipped`` is True if ``--promptse-replay-only`` skipped the item.
    """

    where: str
    message: str
    skipped: bool = False


class CachedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Number of planned samples that were in the store when a process started.

    ``oldest`` is the time at which the first of them was stored, in seconds since 1970.
    ``batch_cost`` is the cost of those from batches.
    """

    process: int
    cached: int
    oldest: float | None = None
    batch_cost: float | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of sampling.

    Attributes
    ----------
    done, total
        Samples of the plan in the store, and all samples of the plan.
    cached
        Samples that were in the store before this run.
    rate
        Samples per second since sampling began.
    eta
        Seconds left at this rate; None without a rate.
    usage
        Requests and tokens that the run has used so far.
    last_error
        The error of the last failed attempt, if that was within the last minute.
    """

    done: int
    total: int
    cached: int
    rate: float
    eta: float | None
    usage: Usage
    last_error: str | None = None


class ProgressRow(msgspec.Struct, frozen=True, kw_only=True):
    """The last progress that the reporting process read, at time `at` in seconds since 1970."""

    at: float
    progress: Progress


Row = TypeVar(
    "Row",
    SuiteRow,
    LookRow,
    VariantRow,
    GateRow,
    ShardRow,
    RewriteRow,
    EntailmentRow,
    ErrorRow,
    CachedRow,
    ProgressRow,
)
Measured = TypeVar("Measured", OutcomeRow, VariantRow)
AnyRow = (
    SuiteRow
    | LookRow
    | VariantRow
    | GateRow
    | ShardRow
    | RewriteRow
    | EntailmentRow
    | ErrorRow
    | CachedRow
    | ProgressRow
)


_SEPARATOR = "\x1f"


def _key_parts(key: SuiteKey) -> tuple[str, ...]:
    return (key.model, key.template or "", key.id)


def _prefix(key: SuiteKey, *parts: str) -> str:
    """Return the common prefix of the names of the variants of a suite, or of one of its tasks.

    `parts` is empty, or has the id of the task.
    """
    return _SEPARATOR.join((*_key_parts(key), *parts, ""))


def _name(row: AnyRow) -> str:
    parts: tuple[str, ...]
    match row:
        case SuiteRow():
            parts = _key_parts(row.key)
        case LookRow():
            parts = (*_key_parts(row.key), str(row.look))
        case VariantRow():
            parts = (*_key_parts(row.key), row.variant.task_id, row.variant.id)
        case GateRow():
            parts = (*_key_parts(row.key), row.gate.task or "", row.gate.name)
        case RewriteRow():
            parts = (row.rewriter, row.task, row.variant)
        case EntailmentRow():
            parts = (row.model, row.task, row.variant)
        case ErrorRow():
            parts = (row.where,)
        case CachedRow():
            parts = (str(row.process),)
        case ShardRow() | ProgressRow():
            parts = ()
    return _SEPARATOR.join(parts)


def _in_plan(row: OutcomeRow | VariantRow) -> tuple[bool, float, int]:
    return row.control, row.variant.distance, row.variant.index


class RunLog:
    """The log of the run named `run`, kept in `store`."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = run
        self._encoder = msgspec.msgpack.Encoder()

    def add(self, row: AnyRow) -> None:
        """Write a row. It replaces a row of the same name."""
        self._store.put(self._run, type(row).__name__, _name(row), self._encoder.encode(row))

    def add_if_absent(self, row: LookRow) -> LookRow:
        """Write a look unless another process has written it. Return the look in the log."""
        value = self._encoder.encode(row)
        kept = self._store.put_if_absent(self._run, type(row).__name__, _name(row), value)
        return msgspec.msgpack.decode(kept, type=LookRow)

    def look(self, key: SuiteKey, look: int) -> LookRow | None:
        """Return one look at a suite, or None if no process has taken it yet.

        `look` is the number of the look.
        """
        name = _SEPARATOR.join((*_key_parts(key), str(look)))
        value = self._store.get(self._run, LookRow.__name__, name)
        return None if value is None else msgspec.msgpack.decode(value, type=LookRow)

    def rows(self, kind: type[Row]) -> Iterator[Row]:
        """Yield all rows of a kind, in the order in which they were first written."""
        decoder = msgspec.msgpack.Decoder(kind)
        for _, value in self._store.scan(self._run, kind.__name__):
            yield decoder.decode(value)

    def measured(self, suite: SuiteRow, kind: type[Measured]) -> Iterator[list[Measured]]:
        """Yield the measured variants of a suite, one list per task.

        The order is that of the plan, with the original prompt first and control variants last.
        Tasks without a measured variant are left out.

        Parameters
        ----------
        suite
            The planned suite.
        kind
            `OutcomeRow` reads only what scores need, `VariantRow` everything.
        """
        decoder = msgspec.msgpack.Decoder(kind)
        for task in suite.tasks:
            prefix = _prefix(suite.key, task)
            entries = self._store.scan(self._run, VariantRow.__name__, prefix=prefix)
            rows = [decoder.decode(value) for _, value in entries]
            if rows:
                yield sorted(rows, key=_in_plan)

    def count(self, suite: SuiteKey) -> int:
        """Return the number of measured variants of a suite."""
        return self._store.count(self._run, VariantRow.__name__, prefix=_prefix(suite))

    def variant(
        self, suite: SuiteKey, task: str, variant: str, kind: type[Measured]
    ) -> Measured | None:
        """Return one variant, or None if this run has not measured it.

        Parameters
        ----------
        suite, task, variant
            Key of the suite and ids of task and variant.
        kind
            `OutcomeRow` reads only what scores need, `VariantRow` everything.
        """
        name = _SEPARATOR.join((*_key_parts(suite), task, variant))
        value = self._store.get(self._run, VariantRow.__name__, name)
        return None if value is None else msgspec.msgpack.decode(value, type=kind)
