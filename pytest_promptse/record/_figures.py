"""The figures of a suite in the record."""

from __future__ import annotations

from typing import Literal

import msgspec

Curve = dict[str, float | None]
Interval = tuple[float, float]


class LightRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The suite's figures as computed by PromptSELight, which compares pass rates alone.

    ``auc_e_null`` is the noise ceiling: the expected AUC-E of a stable model whose originals have
    the same pass rates. ``excess`` is the part of 1 - AUC-E that sampling noise does not explain.
    """

    elasticity: Curve
    auc_e: float | None
    ci95: Interval | None
    auc_e_null: float | None
    excess: float | None


class LossRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of one cause of failure on elasticity.

    ``loss`` is the part of 1 - E that is due to the cause. ``drop`` is the share of the variants'
    samples that fail for this cause, minus the corresponding share of the originals' samples.
    """

    loss: float
    drop: float


Losses = dict[str, dict[str, LossRecord]]
"""By distance and cause."""


class RobustnessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """ReCode's worst-case figures over ``s`` variants, as means over ``n_tasks`` tasks.

    ``rp`` is robust pass, ``rd`` is robust drop (None if ``nominal`` is below 0.05), and ``rr`` is
    robust relative.
    """

    s: int
    n_tasks: int
    nominal: float
    rp: float
    rd: float | None
    rr: float


class BinRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One bin of a calibration: the samples with a confidence in (lower, upper].

    ``confidence`` and ``pass_rate`` are means over these samples, or None in an empty bin.
    """

    lower: float
    upper: float
    n: int
    confidence: float | None
    pass_rate: float | None


class CalibrationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Calibration of the confidence, exp(logprob / tokens), of ``n`` samples.

    ``overconfident`` is the share of samples that failed with a confidence of at least
    ``threshold``. ``underconfident`` is the share of samples that passed with a lower confidence.
    """

    n: int
    ece: float
    threshold: float
    overconfident: float
    underconfident: float
    bins: list[BinRecord]


Calibrations = dict[str, CalibrationRecord]
"""By group: ``all``, ``original``, and quadrants or emotions."""


class RoundsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How and when a suite that was sampled in rounds ended.

    The suite ended at interim analysis ``look`` out of at most ``looks``. By then the suite had
    measured ``n_variants`` variants. ``completions`` is the number of completions that the suite
    used, out of at most ``max_completions``. ``decided`` is True if every gate with a threshold was
    decided.
    """

    look: int
    looks: int
    decided: bool
    n_variants: int
    completions: int
    max_completions: int


class EstimateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a suite with its intervals.

    ``ci95`` is the resampled interval, which holds for other tasks that are similar to the measured
    ones. ``exact`` also holds for tasks that are unlike the measured ones, because it assumes the
    worst possible value for unmeasured tasks. ``note`` is a text that is added to the name of the
    figure, such as ``worst of 5``.
    """

    value: float | None
    ci95: Interval | None = None
    exact: Interval | None = None
    note: str | msgspec.UnsetType = msgspec.UNSET


class MetricRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How reports show a metric, even if the plugin that adds it is not installed.

    ``label`` is the metric's name in messages and tables, and ``short_label`` its name in narrow
    columns. ``direction`` is ``at least`` if larger values are better. ``unit`` defines how values
    are written. ``option`` is the setting for the metric's threshold, or None if the metric has no
    gate.
    """

    label: str
    short_label: str
    direction: Literal["at least", "at most"]
    unit: Literal["share", "difference", "ratio"]
    option: str | None


class ControlLevelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the length-matched control condition at one distance.

    The figures are computed from the ``n_tasks`` tasks that have both variants and control
    variants.

    ``loss`` is the mean score of the originals minus that of the variants with emotion and persona.
    ``control_loss`` is the mean score of the originals minus that of the control variants.
    ``excess_loss`` is ``loss`` minus ``control_loss``. ``words_added`` and ``control_words_added``
    are mean numbers of added words.
    """

    n_tasks: int
    loss: float
    control_loss: float
    excess_loss: EstimateRecord
    words_added: float
    control_words_added: float


class ControlRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The loss of a suite that remains after subtracting the effect of prompt length.

    Attributes
    ----------
    name
        The control condition, ``neutral``.
    n_planned, n_measured
        Numbers of control variants.
    loss, control_loss, excess_loss
        Areas under the loss curves over all distances, computed as for AUC-E. None if a distance is
        missing.
    levels
        The figures, keyed by distance.
    """

    name: str
    n_planned: int
    n_measured: int
    loss: float | None
    control_loss: float | None
    excess_loss: EstimateRecord
    levels: dict[str, ControlLevelRecord]


class AnswersRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The number ``n`` of completions, and the number of distinct completions, counted per prompt.

    ``equal_pairs`` counts pairs of equal completions of the same prompt. ``expected_pairs`` is
    roughly the largest number of equal pairs that chance explains in independent samples, or None
    without log-probabilities.
    """

    n: int
    distinct: int
    equal_pairs: int
    expected_pairs: float | None
