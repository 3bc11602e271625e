"""What a record holds for its readers: which wordings did harm, what differs in them, and why."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from heapq import nsmallest
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_promptse.record.schema import PromptRecord, Record, TaskRecord, VariantRecord
    from pytest_promptse.reports.compared import ComparedRecord

_WORD = re.compile(r"\s*\S+|\s+$")


class Change(NamedTuple):
    """A stretch of words that two texts share, or that only one of them has."""

    kind: Literal["same", "gone", "new"]
    text: str


def changes(before: str, after: str) -> tuple[Change, ...]:
    """Compare two texts word by word; but for what is gone the stretches make up `after`.

    Words that differ only in the white space before them count as the same.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    matcher = SequenceMatcher(
        None, [word.strip() for word in old], [word.strip() for word in new], autojunk=False
    )
    found = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        gone, now = "".join(old[i1:i2]).strip(), "".join(new[j1:j2])
        if tag == "equal":
            found.append(Change("same", now))
            continue
        space = now[: len(now) - len(now.lstrip())]
        found += [Change("same", space), Change("gone", gone), Change("new", now[len(space) :])]
    return tuple(change for change in found if change.text)


class Loss(NamedTuple):
    """A wording that passed less often than its original.

    ``place`` is the task's among those looked at, ``number`` the wording's, the original's being 0.
    """

    place: int
    number: int
    task: TaskRecord
    original: PromptRecord
    variant: VariantRecord

    @property
    def change(self) -> float:
        """Of the pass rate."""
        return self.variant.pass_rate - self.original.pass_rate


class Losses(NamedTuple):
    """The ``worst`` of ``n`` wordings that passed less often than their original."""

    worst: list[Loss]
    n: int


def losses(tasks: Iterable[TaskRecord], *, most: int) -> Losses:
    """Return the wordings that passed less often than their original, the worst `most` of them."""
    n = 0
    # Kept by what it is ranked by, of which the last two parts tell any two apart.
    kept: list[tuple[float, int, int, int, Loss]] = []
    for place, task in enumerate(tasks):
        own = sorted(_losses(task, place), key=lambda loss: (round(loss.change, 9), loss.number))
        n += len(own)
        # Of wordings that fell as far, those of tasks not yet seen come first: they show more.
        ranked = [
            (round(loss.change, 9), seen, place, loss.number, loss) for seen, loss in enumerate(own)
        ]
        kept = nsmallest(most, kept + ranked)
    return Losses([loss for *_, loss in kept], n)


def _losses(task: TaskRecord, place: int) -> Iterator[Loss]:
    if task.original is None:
        return
    for number, variant in enumerate(task.variants, start=1):
        if variant.pass_rate < task.original.pass_rate:
            yield Loss(place, number, task, task.original, variant)


class Series(NamedTuple):
    """A model, asked through a prompt template of the team's or plainly."""

    model: str
    template: str | None

    @property
    def label(self) -> str:
        return self.model if self.template is None else f"{self.model} · {self.template}"


def series_of(record: Record) -> list[Series]:
    """Return the models and templates of a run, in its order."""
    return list(dict.fromkeys(Series(suite.model, suite.template) for suite in record.suites))


def asked(record: Record, *series: Series) -> Iterator[TaskRecord]:
    """Yield the tasks that one of `series` was asked, in the record's order."""
    return (task for task in record.tasks if (task.model, task.template) in series)


def by_personality(tasks: Iterable[TaskRecord]) -> dict[str, float]:
    """Return the mean change of pass rate over the wordings of each personality."""
    found: dict[str, list[float]] = defaultdict(list)
    for task in tasks:
        for variant in task.variants:
            if task.original is not None and variant.personality is not None:
                found[variant.personality].append(variant.pass_rate - task.original.pass_rate)
    return {personality: fmean(all_) for personality, all_ in found.items()}


class Causes(NamedTuple):
    """Of ``n`` samples at a distance, how many failed for each cause."""

    distance: float
    n: int
    counts: Counter[str]


def causes(tasks: Iterable[TaskRecord]) -> list[Causes]:
    """Count why samples failed, by distance; the original's is 0."""
    samples: Counter[float] = Counter()
    counts: dict[float, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        wordings = [(0.0, task.original)] if task.original else []
        for distance, wording in [*wordings, *((v.distance, v) for v in task.variants)]:
            samples[distance] += wording.n
            counts[distance].update(wording.causes)
    return [Causes(distance, samples[distance], counts[distance]) for distance in sorted(samples)]


def unscored(record: Record) -> dict[str, list[str]]:
    """Return what could not be measured: each reason once, with all places it was met in."""
    found: dict[str, list[str]] = defaultdict(list)
    for error in record.errors:
        found[error.message].append(error.where)
    return dict(found)


def worst_change(task: TaskRecord) -> float | None:
    """Return the change of pass rate under the wording that did worst."""
    if task.original is None or not task.variants:
        return None
    return min(variant.pass_rate for variant in task.variants) - task.original.pass_rate


_NAMES = {"auc_e": "AUC-E", "pass_at_1": "pass@1"}


class Compared(NamedTuple):
    """A figure that both this run and a baseline have."""

    suite: str
    model: str
    name: str
    figure: ComparedRecord


def compared(record: Record) -> list[Compared]:
    """Return what was compared with a baseline: figures with a margin, pass@1 and AUC-E."""
    return [
        Compared(
            one.suite,
            Series(one.model or "", one.template).label,
            _NAMES.get(figure.metric, figure.metric)
            if figure.distance is None
            else f"E({figure.distance:g})",
            figure,
        )
        for one in record.comparisons
        if one.model is not None and one.baseline_model is not None
        for figure in one.figures
        if figure.margin is not None or figure.metric in _NAMES
    ]


def overall(record: Record) -> str | None:
    """Return the worst verdict of all gates and comparisons, or None where there were none."""
    verdicts = {suite.verdict for suite in record.suites}
    verdicts |= {row.figure.verdict for row in compared(record)}
    return next((one for one in ("fail", "inconclusive", "pass") if one in verdicts), None)
