"""The part of the record for psychometric suites. Records without such suites lack it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Interval = tuple[float, float]

__all__ = [
    "AffectShiftRecord",
    "AnswerRecord",
    "BoundsRecord",
    "ChangeRecord",
    "CsiRecord",
    "EmotionBenchRecord",
    "HumanRecord",
    "LevelRecord",
    "ManipulationRecord",
    "PsychometricsRecord",
    "RecognitionRecord",
    "ReliabilityRecord",
    "ScaleRecord",
    "ScoreRecord",
    "ShiftRecord",
    "StoriesRecord",
    "SummaryRecord",
]


class ScoreRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its 95 % interval, or None if it could not be computed."""

    value: float | None
    ci95: Interval | None = None


class BoundsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A gate of a psychometric suite: the range from ``low`` to ``high`` for a figure.

    A missing bound is None. ``scope`` is an emotion or a factor, or None for the suite. ``verdict``
    is None if the figure was not measured.
    """

    name: str
    scope: str | None = None
    low: float | None = None
    high: float | None = None
    value: float | None
    verdict: Literal["pass", "fail", "inconclusive"] | None
    message: str


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A response that could not be read in full. ``problems`` counts its faults by kind.

    ``id`` names the suite's group and the prompt; ``response`` is shortened.
    """

    id: str
    problems: dict[str, int]
    response: str


class ReliabilityRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The reliability of the comparator questionnaire over several runs.

    ``consistency`` and ``reluctancy`` are in [0, 1], None if nothing could be rated. ``coverage``
    is the share of the requested ratings that the model gave.
    """

    scale: str
    n_items: int
    n_runs: int
    consistency: float | None
    reluctancy: float | None
    coverage: float


class StoriesRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Correlation of the stories' ratings with the share of negative seed words.

    ``group_means`` has the share, the mean rating and the number of stories of each group.
    """

    rater: str
    n_stories: int
    n_unrated: int
    per_story: float | None
    per_story_ci95: Interval | None
    per_group: float | None
    group_means: list[tuple[float, float, int]]


class CsiRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the Core Sentiment Inventory for one model.

    ``n_responses`` of ``n_planned`` prompts were answered. ``words`` has the first words of each
    class in list order. ``problems`` counts faults of responses by kind. ``worst`` has the
    responses with the fewest labels.
    """

    id: str
    model: str
    language: str
    prompt_language: str
    anchors: tuple[str, str]
    word_list: str
    word_list_sha256: str
    n_words: int
    n_runs: int
    n_planned: int
    n_responses: int
    optimism: ScoreRecord
    pessimism: ScoreRecord
    neutrality: ScoreRecord
    consistency: ScoreRecord
    reluctancy: ScoreRecord
    coverage: ScoreRecord
    kappa: ScoreRecord
    words: dict[str, list[str]]
    problems: dict[str, int]
    worst: list[AnswerRecord]
    comparator: ReliabilityRecord | None = None
    stories: StoriesRecord | None = None
    gates: list[BoundsRecord] = []
    settings: dict[str, Any] = {}
    line: int | None = None


class SummaryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Mean and standard deviation of ``n`` totals.

    Both are None if there are too few totals.
    """

    n: int
    mean: float | None
    sd: float | None


class HumanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Mean and standard deviation of the change over the human subjects of the paper's study.

    Both are in points of the scale.
    """

    delta: float
    sd: float


class ChangeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The change of a total from the default to the evoked measure.

    ``name`` is a factor's id, an emotion or ``Overall``. ``arrow`` is the sign of a change that is
    significant at 0.01. ``human`` is the human norm of the same row, for PANAS.
    """

    name: str
    label: str
    n_situations: int
    n_runs: int
    delta: float | None
    sd: float | None
    ci95: Interval | None
    p_value: float | None
    test: str | None
    arrow: Literal["up", "down", "none"]
    icc: float | None
    human: HumanRecord | None = None


class ScaleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of one scale, by category.

    ``counterparts`` are the changes in the situations' positive counterparts. ``contrasts`` are the
    changes from the situations to their counterparts.
    """

    scale: str
    default: dict[str, SummaryRecord]
    changes: dict[str, list[ChangeRecord]]
    counterparts: dict[str, list[ChangeRecord]] = {}
    contrasts: dict[str, list[ChangeRecord]] = {}


class EmotionBenchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The result of EmotionBench for one model.

    ``n_scored`` of the ``n_responses`` to ``n_planned`` prompts have a rating for every item.
    ``n_refused`` responses decline to answer.
    """

    id: str
    model: str
    method: Literal["paper", "cluster"]
    situations: str
    n_situations: int
    n_planned: int
    n_responses: int
    n_scored: int
    n_refused: int
    scales: list[ScaleRecord]
    problems: dict[str, int]
    worst: list[AnswerRecord]
    gates: list[BoundsRecord] = []
    settings: dict[str, Any] = {}
    line: int | None = None


class ShiftRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The mean change of a total from the original message, over ``n`` prompts.

    ``delta`` and its 95 % interval are in points of the scale, None if nothing could be scored.
    """

    n: int
    delta: float | None
    ci95: Interval | None


class AffectShiftRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The shift of affect after variants of one emotion and level.

    ``emotion`` is ``neutral`` for the control. ``perspective`` is ``own`` for the affect that the
    model reports as its own, or ``writer`` for the affect that it attributes to the message's
    writer.
    """

    emotion: str
    distance: float
    perspective: Literal["own", "writer"]
    positive: ShiftRecord
    negative: ShiftRecord


class LevelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Frequency of a label at one level. The level of the original message is 0.

    ``hits`` is the number of the ``n`` responses that give the label.
    """

    distance: float
    n: int
    hits: int


class RecognitionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Frequency with which a label was chosen for messages that express it.

    ``p_value`` is that of a one-sided exact binomial test against guessing (``chance``).
    ``p_adjusted`` is adjusted by Benjamini and Hochberg over the labels. ``recognised`` means
    ``p_adjusted`` < 0.05.
    """

    label: str
    n: int
    hits: int
    chance: float
    share: float | None
    ci95: Interval | None
    p_value: float | None
    p_adjusted: float | None
    mistaken_for: str | None
    recognised: bool
    levels: list[LevelRecord] = []


class ManipulationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the manipulation check for one model.

    ``baseline`` has the totals after the original messages, by perspective and category.
    """

    id: str
    model: str
    n_prompts: int
    n_planned: int
    n_responses: int
    n_scored: int
    baseline: dict[str, dict[str, SummaryRecord]]
    shifts: list[AffectShiftRecord]
    recognition: list[RecognitionRecord]
    problems: dict[str, int]
    worst: list[AnswerRecord]
    gates: list[BoundsRecord] = []
    settings: dict[str, Any] = {}
    line: int | None = None


class PsychometricsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All psychometric suites of a run."""

    csi: list[CsiRecord] = []
    emotionbench: list[EmotionBenchRecord] = []
    manipulation: list[ManipulationRecord] = []
