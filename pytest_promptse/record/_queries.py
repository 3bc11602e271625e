"""Queries over a record, shared by all reports."""

from __future__ import annotations

from collections import Counter, defaultdict
from heapq import nsmallest
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.config._metrics import METRICS, Metric, metric_label
from pytest_promptse.record._figures import MetricRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_promptse.record._schema import (
        ComparedRecord,
        ErrorRecord,
        Record,
        SubgroupRecord,
        SuiteRecord,
        TaskRecord,
    )
    from pytest_promptse.store._measured_variant import VariantRecord


class Loss(NamedTuple):
    """A variant that passed less often than its original.

    ``place`` is the position of the task in the query. ``number`` is the position of the variant in
    its task, where the original has 0.
    """

    place: int
    number: int
    task: TaskRecord
    original: VariantRecord
    variant: VariantRecord

    @property
    def change(self) -> float:
        """The pass rate of the variant minus that of the original, in [-1, 0)."""
        return self.variant.pass_rate - self.original.pass_rate


class Losses(NamedTuple):
    """The ``worst`` of ``n`` variants that passed less often than their original."""

    worst: list[Loss]
    n: int


def losses(tasks: Iterable[TaskRecord], *, most: int) -> Losses:
    """Return the worst variants that passed less often than their original.

    Parameters
    ----------
    tasks
        The tasks of one model and template, or of several.
    most
        The number of variants to return. The worst variant of every model and template is always
        among them, so that a template with large losses does not hide the others.
    """
    n = 0
    # The variants are kept with their sort keys, whose last two parts are unique.
    kept: dict[Series, list[tuple[float, int, int, int, Loss]]] = defaultdict(list)
    for place, task in enumerate(tasks):
        of_task = sorted(
            _losses(task, place), key=lambda loss: (round(loss.change, 9), loss.number)
        )
        n += len(of_task)
        # Among equal losses, variants of tasks that are not listed yet come first.
        ranked = [
            (round(loss.change, 9), seen, place, loss.number, loss)
            for seen, loss in enumerate(of_task)
        ]
        series = Series(task.model, task.template)
        kept[series] = nsmallest(most, kept[series] + ranked)
    first = [of_series[0] for of_series in kept.values() if of_series]
    others = (loss for of_series in kept.values() for loss in of_series[1:])
    chosen = sorted(first + nsmallest(max(0, most - len(first)), others))
    return Losses([loss for *_, loss in chosen], n)


def _losses(task: TaskRecord, place: int) -> Iterator[Loss]:
    if task.original is None:
        return
    for number, variant in enumerate(task.variants, start=1):
        if variant.pass_rate < task.original.pass_rate:
            yield Loss(place, number, task, task.original, variant)


class Series(NamedTuple):
    """A model with a prompt template, or with None if there is no template.

    ``model`` is the model's specification, and ``template`` the name of the template.
    """

    model: str
    template: str | None

    @property
    def label(self) -> str:
        return self.model if self.template is None else f"{self.model} · {self.template}"


def series_of(record: Record) -> list[Series]:
    """Return the series of a record, in the order of its suites."""
    return list(dict.fromkeys(Series(suite.model, suite.template) for suite in record.suites))


def tasks_of(record: Record, *series: Series) -> Iterator[TaskRecord]:
    """Yield the tasks of `series`, in the order of the record.

    Without `series`, no task is yielded.
    """
    return (task for task in record.tasks if (task.model, task.template) in series)


def prompts_of(task: TaskRecord) -> list[VariantRecord]:
    """Return the measured prompts of a task: the original, then the variants."""
    return [*([task.original] if task.original is not None else []), *task.variants]


def by_personality(tasks: Iterable[TaskRecord]) -> dict[str, float]:
    """Return the mean change of the pass rate over the variants of each personality."""
    changes: dict[str, list[float]] = defaultdict(list)
    for task in tasks:
        for variant in task.variants:
            if task.original is not None and variant.personality is not None:
                changes[variant.personality].append(variant.pass_rate - task.original.pass_rate)
    return {personality: fmean(all_) for personality, all_ in changes.items()}


class Causes(NamedTuple):
    """Number of failed samples by cause, of ``n`` samples at one distance.

    ``counts`` maps each cause to a number of samples.
    """

    distance: float
    n: int
    counts: Counter[str]


def causes(tasks: Iterable[TaskRecord]) -> list[Causes]:
    """Count failed samples by cause and distance. The original has distance 0."""
    samples: Counter[float] = Counter()
    counts: dict[float, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        prompts = [(0.0, task.original)] if task.original else []
        for distance, prompt in [*prompts, *((v.distance, v) for v in task.variants)]:
            samples[distance] += prompt.n
            counts[distance].update(prompt.causes)
    return [Causes(distance, samples[distance], counts[distance]) for distance in sorted(samples)]


def unscored(record: Record) -> dict[str, list[ErrorRecord]]:
    """Return the errors of a record by their messages, in the order of the record."""
    errors: dict[str, list[ErrorRecord]] = defaultdict(list)
    for error in record.errors:
        errors[error.message].append(error)
    return dict(errors)


def worst_change(task: TaskRecord) -> float | None:
    """Return the change of the pass rate under the worst variant, or None without variants."""
    if task.original is None or not task.variants:
        return None
    return min(variant.pass_rate for variant in task.variants) - task.original.pass_rate


def left_out_without_cue(subgroups: Iterable[SubgroupRecord]) -> str | None:
    """Return a sentence about the variants that subgroups leave out, or None if there are none.

    A variant counts for its emotion and for each of its traits only if its text has a cue of it.
    """
    counted: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for subgroup in subgroups:
        if subgroup.distance is None:
            counted[subgroup.trait] += subgroup.n_variants
            left_out[subgroup.trait] += subgroup.n_without_cue
    if not left_out.total():
        return None
    shares = (f"{trait} {n} of {n + counted[trait]}" for trait, n in left_out.items() if n)
    return f"variants without a cue are left out: {', '.join(shares)}"


def describe_metric(metric: Metric) -> MetricRecord:
    """Return what a record says about a metric."""
    return MetricRecord(
        label=metric.label,
        short_label=metric.short_label or metric.label,
        direction=metric.direction,
        unit=metric.unit,
        option=metric.option,
    )


def metric_in(record: Record, name: str) -> MetricRecord:
    """Return what a record says about a metric, or else what this installation knows about it."""
    if name in record.metrics:
        return record.metrics[name]
    return describe_metric(METRICS.get(name) or Metric(name=name, label=name))


def figure_label(record: Record, figure: ComparedRecord, *, short: bool = False) -> str:
    """Return the name of a compared figure of a record, or its `short` name, such as ``E(0.3)``."""
    if figure.distance is not None:
        return metric_label(figure.metric, figure.distance)
    metric = metric_in(record, figure.metric)
    return metric.short_label if short else metric.label


def stopped_early(suite: SuiteRecord) -> bool:
    """Return whether a suite that was sampled in rounds stopped before its last look."""
    return suite.rounds is not None and suite.rounds.look < suite.rounds.looks


_VERDICTS = ("fail", "inconclusive", "pass")


def worst_verdict(verdicts: Iterable[str | None]) -> str | None:
    """Return the worst of `verdicts` (fail, inconclusive, pass), or None without any."""
    given = set(verdicts)
    return next((verdict for verdict in _VERDICTS if verdict in given), None)


class Compared(NamedTuple):
    """A metric that this run and a baseline both have.

    ``suite`` is the id of the suite, ``model`` its model, and ``name`` that of the metric.
    """

    suite: str
    model: str
    name: str
    figure: ComparedRecord


def is_always_shown(figure: ComparedRecord) -> bool:
    """Return whether a comparison shows a figure in every report, even in a short one."""
    metric = METRICS.get(figure.metric)
    return figure.margin is not None or (metric is not None and metric.always_shown)


def compared(record: Record) -> list[Compared]:
    """Return the compared figures that every report shows, see `is_always_shown`."""
    return [
        Compared(
            comparison.suite,
            Series(comparison.model or "", comparison.template).label,
            figure_label(record, figure, short=True),
            figure,
        )
        for comparison in record.comparisons
        if comparison.model is not None and comparison.baseline_model is not None
        for figure in comparison.figures
        if is_always_shown(figure)
    ]


def overall(record: Record) -> str | None:
    """Return the worst verdict of all gates and comparisons, or None without any."""
    return worst_verdict(
        [
            *(suite.verdict for suite in record.suites),
            *(gate.verdict for suite in record.instruments for gate in suite.gates),
            *(row.figure.verdict for row in compared(record)),
        ]
    )
