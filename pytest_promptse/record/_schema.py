"""The schema of the result record. Other tools rely on the names of its JSON fields.

The terminal summary, reports, baselines and comparisons use only the record. A value that was not
measured is None, never 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence  # noqa: TC003 - msgspec reads it
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr

from pytest_promptse.errors import RecordError
from pytest_promptse.record._figures import (
    AnswersRecord,
    Calibrations,
    ControlRecord,
    Curve,
    EstimateRecord,
    Interval,
    LightRecord,
    Losses,
    MetricRecord,
    RobustnessRecord,
    RoundsRecord,
)
from pytest_promptse.record._instruments import InstrumentRecord  # noqa: TC001 - msgspec reads it
from pytest_promptse.scoring._scores import Gate, Ranking, TaskDrop
from pytest_promptse.store._measured_variant import VariantRecord  # noqa: TC001 - msgspec reads it
from pytest_promptse.store._run_log import ShardRow  # noqa: TC001 - msgspec reads it

SCHEMA = "promptse.run/1"


class SuiteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One suite with one model and one prompt template.

    Of the ``n_variants`` variants of the suite, ``n_measured`` were measured. ``rounds`` is set
    only if the suite was sampled in rounds and has ended. ``line`` is the first line of the suite
    in its file. ``template_sha256`` identifies the template in ``Record.templates``.

    ``estimates`` contains the measured figures, keyed by their names in ``Record.metrics``. Five of
    these values are also separate fields: ``pass_at_1``, ``auc_e`` with its ``ci95``, ``excess``
    and ``drop``. These fields always equal the values in ``estimates``.

    Intervals named ``ci95`` hold for unseen tasks that are similar to the measured ones. Intervals
    named ``exact`` hold for all unseen tasks, including tasks that are unlike the measured ones.
    ``speaks_for`` states for what the intervals hold: similar tasks (``tasks``), similar tasks with
    other emotions (``tasks+emotions``), or only reruns of the same prompts (``reruns``).
    ``speaks_for`` is always ``reruns`` for a suite with one task. ``control`` is None without a
    control condition. Control variants are not included in any other figure.
    """

    id: str
    model: str
    template: str | None
    mode: str | None
    weighting: str
    n_tasks: int
    n_variants: int
    n_measured: int
    pass_at_1: float | None = None
    auc_e: float | None = None
    ci95: Interval | None = None
    excess: float | None = None
    drop: float | None = None
    estimates: dict[str, EstimateRecord] = {}
    elasticity: Curve
    elasticity_null: Curve
    elasticity_excess: Curve = {}
    elasticity_p_value: Curve = {}
    elasticity_ci95: dict[str, Interval | None]
    elasticity_exact: dict[str, Interval | None] = {}
    auc_e_null: float | None
    speaks_for: str | None = None
    control: ControlRecord | None = None
    answers: AnswersRecord | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    ess_median: float | None
    light: LightRecord | None
    losses: Losses = {}
    robustness: RobustnessRecord | None = None
    calibration: Calibrations | None = None
    rounds: RoundsRecord | None = None
    gates: list[Gate]
    verdict: str | None
    warnings: list[str]
    settings: dict[str, Any]
    line: int | None = None
    template_sha256: str | None = None

    def __post_init__(self) -> None:
        for name in ("pass_at_1", "auc_e", "excess", "drop"):
            force_setattr(self, name, self.estimate(name).value)
        force_setattr(self, "ci95", self.estimate("auc_e").ci95)

    def estimate(self, metric: str) -> EstimateRecord:
        """Return the estimate of a metric. Its value is None if it was not measured."""
        return self.estimates.get(metric) or EstimateRecord(value=None)

    @property
    def n_missing(self) -> int:
        """The number of planned variants that were not measured."""
        return (self.rounds.n_variants if self.rounds else self.n_variants) - self.n_measured


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One task of one suite with one model.

    ``texts`` maps the keys in ``SampleRecord.text`` to texts.

    ``p_adjusted`` is the ``p_value`` of AUC-E, adjusted by the Benjamini-Hochberg method over the
    tasks of the suite. ``drop`` is None if the task has no measured original or no measured
    variants. ``controls`` are the variants of the control condition.
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
    drop: TaskDrop | None = None
    losses: Losses = {}
    original: VariantRecord | None
    variants: list[VariantRecord]
    controls: list[VariantRecord] = []
    texts: dict[str, str] = {}


class SubgroupRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All variants with one value of a trait, at one distance.

    ``distance`` is None if the subgroup contains the variants at all distances.

    ``trait`` is ``emotion``, ``technical``, ``experience`` or ``collaboration``. If personas do not
    consist of the traits ``technical``, ``experience`` and ``collaboration``, ``trait`` is
    ``emotion`` or ``personality``. All these variants have the same ``value`` of the trait.
    ``change`` is the mean difference between the pass rates of the variants and of their originals.
    ``change`` is computed from the ``n_variants`` variants whose texts contain a cue for the value.
    ``n_without_cue`` counts the variants that have the value only as a label and are therefore left
    out. If a rewriter records no cues, its variants are grouped by their labels.

    ``p_value`` is the p-value of a test of whether variants with this value pass as often as
    variants with other values of the trait. The test shuffles the values within task and distance.
    ``p_adjusted`` is the p-value adjusted by the Benjamini-Hochberg method over all subgroups of
    the model.
    """

    trait: str
    value: str
    distance: float | None
    n_variants: int
    n_without_cue: int = 0
    change: float
    p_value: float
    p_adjusted: float


class SubgroupsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Subgroups of the variants of one model with one prompt template, from all suites.

    ``calibration`` contains a calibration for each quadrant of valence and arousal, and
    ``emotions`` one for each emotion.
    """

    model: str
    template: str | None
    subgroups: list[SubgroupRecord]
    calibration: Calibrations | None
    emotions: Calibrations | None = None


class InvocationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The pytest command line.

    ``directory`` is the working directory of the command, relative to the root directory.
    ``options`` are the promptse options of the command.
    """

    directory: str
    options: list[str]


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of the run.

    ``cached`` is the number of completions from the store. ``oldest`` is the time at which the
    oldest of these completions was stored. ``batch_cost`` is the cost of the completions that came
    from batches with a known price.
    """

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cached: int
    oldest: str | msgspec.UnsetType = msgspec.UNSET
    batch_cost: float | msgspec.UnsetType = msgspec.UNSET


class RejectedText(msgspec.Struct, frozen=True, kw_only=True):
    """A rejected text that a model wrote for a variant.

    Attributes
    ----------
    task, variant
        The id of the task, and the id and seed of the variant.
    text
        The text.
    findings
        The findings of the judge, as ``rule: detail``.
    """

    task: str
    variant: str
    text: str
    findings: list[str]


class RewritingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The texts that a model wrote as an ``llm:`` rewriter.

    Attributes
    ----------
    rewriter
        Name and version.
    model
        The model as ``BACKEND:NAME``.
    instruction
        The instruction to the model, before the values of each task are inserted.
    variants
        Number of variants whose texts were judged.
    texts
        Number of texts, including rejected ones.
    accepted
        Number of accepted texts. ``accepted / texts`` is the acceptance rate.
    rules
        For each rule, the number of rejected texts that broke it.
    rejected
        The rejected texts.
    """

    rewriter: str
    model: str
    instruction: str
    variants: int
    texts: int
    accepted: int
    rules: dict[str, int]
    rejected: list[RejectedText] = []


class ErrorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An item that could not be measured, with the reason.

    ``where`` identifies the item. ``skipped`` is True if ``--promptse-replay-only`` skipped the
    item.
    """

    where: str
    message: str
    skipped: bool = False


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A model with its capabilities, which are None if the model was never started.

    ``identity`` contains the values that identify the model's completions in the store.
    """

    spec: str
    identity: dict[str, str]
    capabilities: dict[str, Any] | None


class EmotionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The position of an emotion in the circumplex model; both values are in [-1, 1]."""

    valence: float
    arousal: float


class TemplateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt template of the run. ``place`` is its file.

    ``sha256`` is the hash of ``source``, the text of the file.
    """

    name: str
    place: str
    sha256: str
    source: str


class ComparedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of this run and of the baseline, computed from the variants that both contain.

    ``difference`` is ``current`` minus ``baseline``, and ``ci95`` is its paired 95 % interval.
    ``exact`` is the interval that also holds for tasks outside the suite. ``verdict`` is ``pass``
    if both intervals exclude a loss of ``margin`` or more, and ``fail`` if ``ci95`` excludes every
    smaller loss. Otherwise ``verdict`` is ``inconclusive``. ``verdict`` is None if there is no
    margin or if one of the two values is missing.
    """

    metric: str
    distance: float | None
    current: float | None
    baseline: float | None
    difference: float | None
    ci95: tuple[float, float] | None
    exact: tuple[float, float] | None = None
    margin: float | None
    verdict: str | None
    message: str
    n_tasks: int


class BaselineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The baseline: the name or path that the user gave, and the time and commit of its run.

    ``finished`` is the time in ISO 8601 at which the run finished. ``commit`` is None outside of a
    repository.
    """

    name: str
    finished: str
    commit: str | None


class ComparisonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of one suite with its counterpart in a baseline.

    Attributes
    ----------
    model, baseline_model
        The models of the two runs. `model` is None if this run lacks the suite, and
        `baseline_model` is None if the baseline lacks it. In both cases, there are no figures.
    mode
        The mode of the compared scores.
    differences
        Settings and properties that differ, as pairs of values (this run, baseline).
    prompts_changed
        Tasks whose prompt was edited.
    notes
        Remarks for the reader, derived from the differences.
    tasks_only_current, tasks_only_baseline
        Ids of tasks that are only in this run, or only in the baseline.
    variants_only_current, variants_only_baseline
        Variants that are only in this run, or only in the baseline, as (task id, variant id).
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
    variants_only_current: list[tuple[str, str]] = []
    variants_only_baseline: list[tuple[str, str]] = []


class RankingRecord(Ranking, frozen=True, kw_only=True):
    """The ranking of the prompt templates of one model over the same suites.

    ``mode`` is the mode of the compared scores. ``uneven`` is True if templates differ in the
    number of samples per variant, for example after adaptive sampling.
    """

    model: str
    suites: list[str]
    mode: Literal["promptse", "light"]
    uneven: bool = False


class EntailmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions of the model of ``--promptse-variant-judge`` about reworded sentences.

    ``texts`` is the number of judged texts, ``questions`` the number of answers, and ``cleared``
    the number of findings that the model cleared. ``instruction`` is a hash of the instruction.
    """

    model: str
    instruction: str
    texts: int
    questions: int
    cleared: int


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or one shard of a run.

    ``metrics`` maps the name of each figure of suites to a description of the figure. ``usage``
    includes the requests of an ``llm:`` rewriter and of ``--promptse-variant-judge``. ``shard`` is
    the plan of a sharded run. Only ``promptse merge`` reads this plan. The command must have the
    same version as the plugin that wrote the record.
    """

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
    metrics: dict[str, MetricRecord] = {}
    suites: list[SuiteRecord]
    tasks: Sequence[TaskRecord]
    subgroups: list[SubgroupsRecord] = []
    usage: UsageRecord
    rewriting: list[RewritingRecord] = []
    entailment: list[EntailmentRecord] = []
    errors: list[ErrorRecord]
    rankings: list[RankingRecord] = []
    comparisons: list[ComparisonRecord] = []
    emotions: dict[str, EmotionRecord] = {}
    instruments: list[InstrumentRecord] = []
    shard: ShardRow | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def load(cls, path: str | Path) -> Record:
        """Read a record from a file that ``--promptse-report json:PATH`` wrote.

        Parameters
        ----------
        path
            The JSON file.

        Raises
        ------
        RecordError
            If the file cannot be read, or does not contain a record of this schema version.
        """
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise RecordError(
                f"{path}: {error.strerror or error}; give a file of --promptse-report json:PATH"
            ) from None
        return decode(text, where=str(path))


class _Head(msgspec.Struct):
    schema: str


def decode(text: bytes, *, where: str) -> Record:
    """Read a record from JSON.

    Raises
    ------
    RecordError
        If `text` is not a record, or one of another schema version. The message names `where`.
    """
    try:
        schema = msgspec.json.decode(text, type=_Head).schema
    except (msgspec.DecodeError, RecursionError):
        raise RecordError(f"{where} is not a result record") from None
    kind, _, version = schema.partition("/")
    if kind != SCHEMA.partition("/")[0]:
        raise RecordError(f"{where} is not a result record but {schema!r}")
    if schema != SCHEMA:
        readable = SCHEMA.partition("/")[2]
        is_newer = version.isdecimal() and int(version) > int(readable)
        remedy = "; a newer one reads it: pip install -U pytest-promptse" if is_newer else ""
        raise RecordError(
            f"{where} is a record of schema version {version}, and this version of pytest-promptse "
            f"reads {readable}{remedy}"
        )
    try:
        return msgspec.json.decode(text, type=Record)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RecordError(f"{where} is a damaged result record: {error}") from None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a record."""
    # Through JSON, since the default of a field may be a tuple.
    schema = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Record)))
    for definition in schema["$defs"].values():
        # The descriptions are docstrings. Python removes their indentation from version 3.13 on.
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
