"""The result record: what a run found, in names that other tools may rely on.

Everything people look at is made from it: the terminal summary, reports, baselines, comparisons.
What was not measured is None, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - msgspec reads it
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_promptse.errors import RecordError
from pytest_promptse.reports.compared import ComparisonRecord  # noqa: TC001 - msgspec reads it
from pytest_promptse.reports.ranked import RankingRecord  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = "promptse.run/1"
Curve = dict[str, float | None]
Interval = tuple[float, float]


class GateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A gate as decided; ``verdict`` is None where there was no threshold."""

    name: str
    threshold: float | None
    value: float | None
    verdict: str | None
    message: str
    task: str | None = None


class LightRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The same figures by PromptSELight."""

    elasticity: Curve
    auc_e: float | None
    ci95: Interval | None
    auc_e_null: float | None
    excess: float | None


class LossRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What one cause of failure does to the score when the wording changes.

    ``loss`` is its part of 1 - E; ``drop`` by how much the share of samples that fail for it grew.
    """

    loss: float
    drop: float


Losses = dict[str, dict[str, LossRecord]]
"""By distance and cause."""


class RobustnessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """ReCode's worst-case figures over ``s`` variants, means over ``n_tasks`` tasks.

    ``rp`` is robust pass, ``rd`` robust drop (None where ``nominal`` is under 0.05), ``rr``
    robust relative.
    """

    s: int
    n_tasks: int
    nominal: float
    rp: float
    rd: float | None
    rr: float


class BinRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Samples with a confidence in (lower, upper] and their means, None in an empty bin."""

    lower: float
    upper: float
    n: int
    confidence: float | None
    pass_rate: float | None


class CalibrationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Whether confidence, exp(logprob / tokens), says which of ``n`` samples pass.

    ``overconfident`` is the share that failed with a confidence of at least ``threshold``,
    ``underconfident`` the share that passed with less.
    """

    n: int
    ece: float
    threshold: float
    overconfident: float
    underconfident: float
    bins: list[BinRecord]


Calibrations = dict[str, CalibrationRecord]
"""By group: ``all``, ``original``, and the quadrants or emotions that were asked in."""


class RoundsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where a suite that was drawn in rounds stopped.

    At look ``look`` of at most ``looks``, with ``n_wordings`` wordings and ``completions`` of at
    most ``most``; ``decided`` says whether every gate with a threshold was.
    """

    look: int
    looks: int
    decided: bool
    n_wordings: int
    completions: int
    most: int


class SuiteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One suite asked of one model; ``n_measured`` of its ``n_wordings`` were measured.

    ``rounds`` says where it stopped if it was drawn in rounds; None where it was not, or where
    the run ended before it did.
    ``line`` is where it begins in the file that ``id`` starts with. ``template_sha256`` is that of
    the template's file, which the record's ``templates`` hold.
    """

    id: str
    model: str
    template: str | None
    mode: str | None
    weighting: str
    n_tasks: int
    n_wordings: int
    n_measured: int
    pass_at_1: float | None
    pass_at_1_ci95: Interval | None = None
    elasticity: Curve
    elasticity_null: Curve
    elasticity_excess: Curve = {}
    elasticity_p_value: Curve = {}
    elasticity_ci95: dict[str, Interval | None]
    auc_e: float | None
    ci95: Interval | None
    auc_e_null: float | None
    excess: float | None
    excess_ci95: Interval | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    ess_median: float | None
    light: LightRecord | None
    losses: Losses = {}
    robustness: RobustnessRecord | None = None
    calibration: Calibrations | None = None
    rounds: RoundsRecord | None = None
    gates: list[GateRecord]
    verdict: str | None
    warnings: list[str]
    settings: dict[str, Any]
    line: int | None = None
    template_sha256: str | None = None

    @property
    def n_missing(self) -> int:
        """How many wordings its figures were to rest on and do not."""
        return (self.rounds.n_wordings if self.rounds else self.n_wordings) - self.n_measured


class SampleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What became of ``n`` samples alike; ``cause`` is None where they passed.

    ``text`` is a key of the task's ``texts``: their program, or the answer that held none.
    """

    n: int
    cause: str | None
    detail: str
    text: str


class PromptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The original wording of a task as measured.

    ``causes`` counts why samples failed, ``details`` gives an example of each. ``samples`` holds
    the most frequent outcomes, at least one of every cause: they may be fewer than ``n``.
    ``confidence`` is the samples' mean of exp(logprob / tokens), None without log-probabilities.
    ``node`` is the pytest item that measures it, seen from the root directory; None where its
    name cannot be told. ``prompt`` is what was worded: the task, or the whole prompt where the
    template was reworded. Tokens are those of one attempt, None where the model counts none.
    """

    node: str | None = None
    prompt: str
    n: int
    pass_rate: float
    soft_exec: float | None
    score: float | None
    ess: float | None
    confidence: float | None = None
    causes: dict[str, int]
    details: dict[str, str]
    samples: list[SampleRecord] = []
    prompt_tokens: float | None = None
    completion_tokens: float | None = None


class VariantRecord(PromptRecord, frozen=True, kw_only=True):
    """Another wording; ``delta`` is its score minus the original's.

    ``excess`` is by how much ``abs(delta)`` exceeds what sampling alone would give,
    ``p_adjusted`` its ``p_value`` by Benjamini and Hochberg over the suite's variants.
    """

    id: str
    distance: float
    measured_distance: float
    emotion: str | None
    personality: str | None
    rewriter: str
    delta: float | None
    excess: float | None
    p_value: float | None
    p_adjusted: float | None = None


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One task of one suite, asked of one model; ``texts`` are what its samples refer to.

    ``p_adjusted`` is AUC-E's ``p_value`` by Benjamini and Hochberg over the suite's tasks.
    """

    id: str
    suite: str
    model: str
    template: str | None
    elasticity: Curve
    elasticity_null: Curve = {}
    elasticity_excess: Curve = {}
    elasticity_p_value: Curve = {}
    auc_e: float | None
    auc_e_null: float | None
    excess: float | None
    p_value: float | None = None
    p_adjusted: float | None = None
    losses: Losses = {}
    original: PromptRecord | None
    variants: list[VariantRecord]
    texts: dict[str, str] = {}


class SubgroupRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All wordings of one kind, at one distance or, where that is None, at all.

    ``trait`` is ``emotion``, ``technical``, ``experience`` or ``collaboration``, or
    ``personality`` where one is not made of these three, and ``value`` one of its values.
    ``change`` is the mean of the wordings' pass rates minus their originals';
    ``p_value`` compares the two within tasks, ``p_adjusted`` is that by Benjamini and Hochberg
    over all voices of the model.
    """

    trait: str
    value: str
    distance: float | None
    n_wordings: int
    change: float
    p_value: float
    p_adjusted: float


class SubgroupsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where one model gives way, over all suites that were asked of it.

    ``calibration`` is by quadrant of emotion, ``emotions`` by emotion.
    """

    model: str
    template: str | None
    voices: list[SubgroupRecord]
    calibration: Calibrations | None
    emotions: Calibrations | None = None


class InvocationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How pytest was called: its folder, seen from the root directory, and promptse options."""

    directory: str
    options: list[str]


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the run paid; ``cached`` completions came from the store."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cached: int


class ErrorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be measured, and why."""

    where: str
    message: str


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A model with what it turned out to honour; ``capabilities`` is None if never reached."""

    spec: str
    identity: dict[str, str]
    capabilities: dict[str, Any] | None


class EmotionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where an emotion lies in the circumplex, both in [-1, 1]."""

    valence: float
    arousal: float


class TemplateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt template that was asked through; ``place`` names its file."""

    name: str
    place: str
    sha256: str
    source: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One run; ``rewording`` is what an ``llm:`` rewriter was paid, apart from ``usage``."""

    schema: str
    tool: dict[str, str]
    started: str
    finished: str
    environment: dict[str, str]
    git: dict[str, str] | None
    invocation: InvocationRecord | None = None
    settings: dict[str, Any]
    models: list[ModelRecord]
    templates: list[TemplateRecord] = []
    suites: list[SuiteRecord]
    tasks: Sequence[TaskRecord]
    voices: list[SubgroupsRecord] = []
    usage: UsageRecord
    rewording: UsageRecord | None = None
    errors: list[ErrorRecord]
    rankings: list[RankingRecord] = []
    comparisons: list[ComparisonRecord] = []
    emotions: dict[str, EmotionRecord] = {}


def encode(record: Record) -> Iterator[bytes]:
    """Yield a record as JSON, task by task; indented, so that two can be compared line by line."""
    # A line break stands between values only, so that a line tells its depth.
    head, tail = _indented(msgspec.structs.replace(record, tasks=[])).split(b'\n "tasks": []')
    yield head + b'\n "tasks": ['
    for number, task in enumerate(record.tasks):
        yield b"," if number else b""
        yield b"\n  " + _indented(task).replace(b"\n", b"\n  ")
    yield (b"\n ]" if record.tasks else b"]") + tail + b"\n"


def _indented(value: Record | TaskRecord) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def write(record: Record, path: Path) -> None:
    """Write a record as JSON, making the folder if it is missing.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(encode(record))
    except OSError as error:
        raise RecordError(f"report json:{path}: {error.strerror or error}") from None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a record."""
    schema: dict[str, Any] = msgspec.json.schema(Record)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
