"""The result record: what a run found, in names that other tools may rely on.

Everything people look at is made from it: the terminal summary, reports, baselines, comparisons.
What was not measured is None, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - msgspec reads it
from typing import Any, Literal

import msgspec

SCHEMA = "promptse.run/1"
Curve = dict[str, float | None]
Interval = tuple[float, float]
Figure = Literal["pass_at_1", "auc_e", "excess"]


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


class ComparedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of this run and of the baseline, over what both have.

    ``difference`` is ``current`` - ``baseline`` with its paired 95 % interval. ``verdict`` is
    ``pass`` where that excludes a loss of ``margin`` or more, ``fail`` where it excludes any
    smaller one, else ``inconclusive``; None without a margin or without a figure on both sides.
    """

    metric: str
    distance: float | None
    current: float | None
    baseline: float | None
    difference: float | None
    ci95: tuple[float, float] | None
    margin: float | None
    verdict: str | None
    message: str
    n_tasks: int


class BaselineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record that was compared with, by the name or path it was asked for."""

    name: str
    finished: str
    commit: str | None


class ComparisonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One suite against its counterpart in a baseline.

    ``model`` is None for a suite that only the baseline has, ``baseline_model`` for one that only
    this run has; both come without figures. ``mode`` is how scores were compared.
    ``differences`` are settings and the like that are not the same on both sides, as (here,
    baseline); ``prompts_changed`` are tasks whose prompt was edited; ``notes`` say what follows
    for the comparison. What only one side has is listed: tasks by id, wordings as (task id,
    wording id).
    """

    baseline: BaselineRecord
    suite: str
    template: str | None
    model: str | None
    baseline_model: str | None
    mode: str | None = None
    figures: list[ComparedRecord] = []
    differences: dict[str, tuple[str, str]] = {}
    prompts_changed: list[str] = []
    notes: list[str] = []
    tasks_only_current: list[str] = []
    tasks_only_baseline: list[str] = []
    wordings_only_current: list[tuple[str, str]] = []
    wordings_only_baseline: list[tuple[str, str]] = []


class RankedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One template of a ranking, over the tasks and wordings that all its templates have.

    Tokens, in and out, and their cost are those of a solved task: of an attempt at an original
    divided by pass@1; None where the model counts none, no price is known or nothing is solved.
    ``pareto`` says that no other is at least as good in every figure and better in one.
    """

    template: str
    pass_at_1: float | None
    auc_e: float | None
    excess: float | None
    tokens_per_solved: float | None
    cost_per_solved: float | None
    pareto: bool


class DifferenceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What ``template``'s figure is above that of ``other``, with its paired 95 % interval.

    ``p_value`` is of a sign-flip test over tasks, ``p_adjusted`` that by Holm over all differences
    of the ranking. ``real`` is a ``p_adjusted`` under 0.05, ``better`` the one of the two with the
    better figure.
    """

    metric: Figure
    template: str
    other: str
    difference: float
    ci95: tuple[float, float] | None
    p_value: float | None
    p_adjusted: float | None
    real: bool
    better: str


class RankingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The templates that one model was asked some suites through, the best pass@1 first.

    ``mode`` is how scores were compared, ``uneven`` says that not all wordings were sampled as
    often through each template, as runs that stop when they know enough do. With fewer than
    ``fewest_tasks`` tasks no difference can be called real.
    """

    model: str
    suites: list[str]
    mode: Literal["promptse", "light"]
    n_tasks: int
    fewest_tasks: int
    uneven: bool = False
    templates: list[RankedRecord]
    differences: list[DifferenceRecord]


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


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a record."""
    schema: dict[str, Any] = msgspec.json.schema(Record)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
