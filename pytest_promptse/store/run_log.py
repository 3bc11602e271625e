"""The run log: what one run planned, measured, decided and could not do, as rows in the store.

Any process of the run adds to it, and whoever reports reads it, so that a run spread over workers
is reported exactly like a run in one process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from pytest_promptse.models.base import Usage  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.store.store import Store


class SuiteKey(NamedTuple):
    """A suite as one model is asked it, through a prompt template or plainly."""

    model: str
    template: str | None
    id: str


class SuiteRow(msgspec.Struct, frozen=True, kw_only=True):
    """One suite asked of one model through one template: what was planned.

    ``template_source`` is the template's path, seen from the root directory, and its text.
    """

    id: str
    model: str
    template: str | None
    tasks: list[str]
    n_wordings: int
    distances: list[float]
    mode: Literal["auto", "promptse", "light"]
    weighting: Literal["sum", "mean", "uniform"]
    seed: int
    settings: dict[str, Any]
    line: int | None
    looks: list[int]
    template_source: tuple[str, str] | None = None

    @property
    def key(self) -> SuiteKey:
        return SuiteKey(self.model, self.template, self.id)


class LookRow(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a suite that is drawn in rounds, numbered from 0.

    ``decided`` says whether every gate with a threshold was; the suite ended there if so, or if
    no wordings were left (``ended``). It rested on ``completions`` of at most ``most``, in
    ``wordings`` wordings; ``cached`` samples of the next round were in the store already.
    """

    suite: str
    model: str
    template: str | None
    look: int
    decided: bool
    ended: bool
    wordings: int
    completions: int
    most: int
    cached: int

    @property
    def key(self) -> SuiteKey:
        return SuiteKey(self.model, self.template, self.suite)


class SampleRow(msgspec.Struct, frozen=True, kw_only=True):
    """What became of ``n`` samples alike: one text (a program, or an answer without one)."""

    n: int
    cause: str
    detail: str
    text: str


class OutcomeRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the samples of one wording came to: all that scores are made of, and no texts.

    The lists run over the samples, in sample order; ``causes`` holds ``""`` for one that passed.
    """

    suite: str
    model: str
    template: str | None
    task: str
    variant: str
    distance: float
    index: int
    emotion: str | None
    personality: str | None
    causes: list[str]
    logprobs: list[float | None]
    n_tokens: list[int | None]

    @property
    def key(self) -> SuiteKey:
        return SuiteKey(self.model, self.template, self.suite)

    @property
    def n(self) -> int:
        return len(self.causes)

    @property
    def passes(self) -> int:
        return self.causes.count("")

    @property
    def has_logprobs(self) -> bool:
        return None not in self.logprobs and None not in self.n_tokens


class VariantRow(OutcomeRow, frozen=True, kw_only=True):
    """One measured wording.

    ``details`` holds one example of what was wrong per cause; ``samples`` the most frequent
    outcomes with what was answered; ``node`` the pytest item that measures it; ``tokens`` are
    those of one attempt, in and out.
    """

    node: str | None
    text: str
    measured_distance: float
    rewriter: str
    details: dict[str, str]
    samples: list[SampleRow]
    tokens: tuple[float, float] | None = None


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One gate as it was decided; ``place`` is its own among the suite's gates, as planned."""

    place: int
    suite: str
    model: str
    template: str | None
    task: str | None
    name: str
    threshold: float | None
    value: float | None
    verdict: str | None
    message: str

    @property
    def key(self) -> SuiteKey:
        return SuiteKey(self.model, self.template, self.suite)


class ErrorRow(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that could not be measured, and why."""

    where: str
    message: str


class CachedRow(msgspec.Struct, frozen=True, kw_only=True):
    """How many samples of the plan a process found in the store when it began."""

    process: int
    cached: int


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far sampling has come.

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
        What the run has paid.
    """

    done: int
    total: int
    cached: int
    rate: float
    eta: float | None
    usage: Usage


class ProgressRow(msgspec.Struct, frozen=True, kw_only=True):
    """The progress that the last reporting process saw at time `at`, in seconds since 1970."""

    at: float
    progress: Progress


Row = TypeVar("Row", SuiteRow, LookRow, VariantRow, GateRow, ErrorRow, CachedRow, ProgressRow)
Measured = TypeVar("Measured", OutcomeRow, VariantRow)
AnyRow = SuiteRow | LookRow | VariantRow | GateRow | ErrorRow | CachedRow | ProgressRow


_SEPARATOR = "\x1f"


def _key_parts(key: SuiteKey) -> tuple[str, ...]:
    return (key.model, key.template or "", key.id)


def _prefix(key: SuiteKey, *parts: str) -> str:
    """Return what the names of a suite's wordings begin with, or of those of one task."""
    return _SEPARATOR.join((*_key_parts(key), *parts, ""))


def _name(row: AnyRow) -> str:
    parts: tuple[str, ...]
    match row:
        case SuiteRow():
            parts = _key_parts(row.key)
        case LookRow():
            parts = (*_key_parts(row.key), str(row.look))
        case VariantRow():
            parts = (*_key_parts(row.key), row.task, row.variant)
        case GateRow():
            parts = (*_key_parts(row.key), row.task or "", row.name)
        case ErrorRow():
            parts = (row.where,)
        case CachedRow():
            parts = (str(row.process),)
        case ProgressRow():
            parts = ()
    return _SEPARATOR.join(parts)


class RunLog:
    """The rows of the run named `run`, kept in `store`."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = run
        self._encoder = msgspec.msgpack.Encoder()

    def add(self, row: AnyRow) -> None:
        """Write a row; a second one of the same name replaces the first."""
        self._store.put(self._run, type(row).__name__, _name(row), self._encoder.encode(row))

    def settle(self, row: LookRow) -> LookRow:
        """Write a row unless another process was first; return the one that holds for all."""
        value = self._encoder.encode(row)
        settled = self._store.settle(self._run, type(row).__name__, _name(row), value)
        return msgspec.msgpack.decode(settled, type=LookRow)

    def look(self, key: SuiteKey, look: int) -> LookRow | None:
        """Return one look at a suite, or None where nobody has looked yet."""
        name = _SEPARATOR.join((*_key_parts(key), str(look)))
        value = self._store.get(self._run, LookRow.__name__, name)
        return None if value is None else msgspec.msgpack.decode(value, type=LookRow)

    def rows(self, kind: type[Row]) -> Iterator[Row]:
        """Read all rows of a kind, in the order in which they were first written."""
        decoder = msgspec.msgpack.Decoder(kind)
        for _, value in self._store.scan(self._run, kind.__name__):
            yield decoder.decode(value)

    def measured(self, suite: SuiteRow, kind: type[Measured]) -> Iterator[list[Measured]]:
        """Read what was measured of a suite, or of that only what scores are made of.

        Task by task as planned, the original first, in whatever order several processes measured
        them; a task of which nothing was measured is left out.
        """
        decoder = msgspec.msgpack.Decoder(kind)
        for task in suite.tasks:
            prefix = _prefix(suite.key, task)
            found = self._store.scan(self._run, VariantRow.__name__, prefix=prefix)
            rows = [decoder.decode(value) for _, value in found]
            if rows:
                yield sorted(rows, key=lambda row: (row.distance, row.index))

    def count(self, suite: SuiteKey) -> int:
        """Return how many wordings of a suite were measured."""
        return self._store.count(self._run, VariantRow.__name__, prefix=_prefix(suite))

    def wording(self, suite: SuiteKey, task: str, variant: str) -> OutcomeRow | None:
        """Return one wording's outcome, or None where it was not measured in this run."""
        name = _SEPARATOR.join((*_key_parts(suite), task, variant))
        value = self._store.get(self._run, VariantRow.__name__, name)
        return None if value is None else msgspec.msgpack.decode(value, type=OutcomeRow)
