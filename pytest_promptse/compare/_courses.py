"""The course of each suite over its saved runs, with the runs at which it changed."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from pytest_promptse.compare._history import SuiteEntry  # noqa: TC001 - msgspec reads it
from pytest_promptse.config._metrics import metric_label
from pytest_promptse.record._sections import Section, col, table_of
from pytest_promptse.reports._formatting import short
from pytest_promptse.scoring._change_points import change_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_promptse.compare._history import MeasuredFigure, RunEntry
    from pytest_promptse.record._sections import ColumnOf

ALPHA = 0.05
"""The largest probability that a course without a change is marked, over all of its runs."""
Z_95 = 1.959963984540054
"""Half the width of a 95 % interval, in standard errors."""
WATCHED: dict[Literal["pass_at_1", "reworded"], str] = {
    "pass_at_1": "pass@1",
    "reworded": "pass rate reworded",
}
"""The figures that are tested for changes, with their labels.

The drop is their difference. It has the sampling errors of both, and of the two that of the
originals is the larger one, so a test of the drop finds less.
"""
_RUNS_SHOWN = 20


class CourseRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a course.

    ``is_new`` is False if the run repeats completions that an earlier run measured. Such a run is
    shown but not tested, since it has no new information. ``is_comparable`` is False if the
    prompts or the decoding differ from those of the previous run.
    """

    finished: str
    commit: str | None
    is_new: bool
    is_comparable: bool
    figures: SuiteEntry


_Numbered: TypeAlias = tuple[int, CourseRun]


class CourseChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a figure beyond chance.

    ``start`` is the index of the first run after it, and ``detected`` that of the run that showed
    it. ``before`` and ``after`` are means of the runs on both sides.
    """

    figure: Literal["pass_at_1", "reworded"]
    start: int
    detected: int
    before: float
    after: float

    @property
    def is_worse(self) -> bool:
        """True if the pass rate fell."""
        return self.after < self.before


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one suite with one model and one template, in order of time."""

    suite: str
    model: str
    template: str | None
    runs: list[CourseRun]
    changes: list[CourseChange]

    @property
    def title(self) -> str:
        """Suite, model and template in words."""
        template = f" with template {self.template}" if self.template else ""
        return f"{self.suite}, {self.model}{template}"

    @property
    def has_got_worse(self) -> bool:
        """True if the newest run shows a change for the worse."""
        return any(c.is_worse and c.detected == len(self.runs) - 1 for c in self.changes)


def courses_of(runs: Sequence[RunEntry], *, prefix: str = "") -> list[Course]:
    """Return the course of each suite, sorted by suite, model and template.

    Parameters
    ----------
    runs
        The runs in order of time.
    prefix
        Only suites whose id starts with this.
    """
    course_runs: dict[tuple[str, str, str], list[CourseRun]] = defaultdict(list)
    ended: dict[tuple[str, str, str], datetime] = {}
    for run in runs:
        for suite in run.suites:
            key = suite.id, suite.model, suite.template or ""
            if not suite.id.startswith(prefix):
                continue
            earlier = course_runs[key]
            course_runs[key].append(
                CourseRun(
                    finished=run.finished,
                    commit=run.commit,
                    is_new=key not in ended or run.oldest is None or _time(run.oldest) > ended[key],
                    is_comparable=not earlier or earlier[-1].figures.requested == suite.requested,
                    figures=suite,
                )
            )
            ended[key] = _time(run.finished)
    return [
        Course(
            suite=suite,
            model=model,
            template=template or None,
            runs=course_runs[suite, model, template],
            changes=_changes(course_runs[suite, model, template]),
        )
        for suite, model, template in sorted(course_runs)
    ]


def sections_of(courses: Sequence[Course]) -> list[Section]:
    """Return a section for each course, with its newest run first."""
    return [_section(number, course) for number, course in enumerate(courses, start=1)]


def _changes(runs: Sequence[CourseRun]) -> list[CourseChange]:
    changes = []
    for figure in WATCHED:
        tested = 0
        for _, group in groupby(
            enumerate(runs), key=lambda numbered: numbered[1].figures.requested
        ):
            segment = [(index, getattr(r.figures, figure)) for index, r in group if r.is_new]
            changes += [
                CourseChange(
                    figure=figure,
                    start=segment[point.start][0],
                    detected=segment[point.detected][0],
                    before=point.before,
                    after=point.after,
                )
                for point in change_points(
                    [measured.value for _, measured in segment],
                    [measured.error for _, measured in segment],
                    alpha=ALPHA / len(WATCHED),
                    earlier=tested,
                )
            ]
            tested += len(segment)
    return sorted(changes, key=lambda change: change.detected)


def _section(number: int, course: Course) -> Section:
    lines = [_in_words(change, course) for change in course.changes]
    n = len(course.runs)
    counted = f"{n} run{'' if n == 1 else 's'}"
    remarks = _remarks(course)
    indexed = list(enumerate(course.runs))[::-1]
    table = table_of(
        f"course_{number}",
        "Runs, the newest first",
        indexed,
        col("run", "finished", lambda row: row[1].finished[:16].replace("T", " "), "text"),
        col("commit", "commit", lambda row: (row[1].commit or "")[:8], "text"),
        *_measured("pass_at_1", "pass@1", lambda run: run.figures.pass_at_1),
        *_measured("reworded", "reworded", lambda run: run.figures.reworded),
        *_measured("drop", "drop", lambda run: run.figures.drop, signed=True),
        col("AUC-E", "auc_e", lambda row: row[1].figures.auc_e),
        *(
            col(metric_label(name, short=True), name, _gated(name))
            for name in dict.fromkeys(name for run in course.runs for name in run.figures.gated)
        ),
        col("remark", "remark", lambda row: remarks.get(row[0], ""), "text"),
        brief=_RUNS_SHOWN,
    )
    lead = f"{counted}: {'; '.join(lines) if lines else 'no change beyond chance'}."
    return Section(name=f"course-{number}", title=course.title, lead=lead, blocks=(table,))


def _measured(
    key: str, title: str, figure: Callable[[CourseRun], MeasuredFigure], *, signed: bool = False
) -> Iterator[ColumnOf[_Numbered]]:
    """Yield the columns of a figure and of its interval, which the terminal shows if `signed`."""
    yield col(title, key, lambda row: figure(row[1]).value, "signed" if signed else "figure")
    yield col(
        "95 %",
        f"{key}_ci95",
        lambda row: _interval(figure(row[1]), least=-1.0 if signed else 0.0),
        "signed interval" if signed else "interval",
        brief=signed,
    )


def _gated(metric: str) -> Callable[[_Numbered], float | None]:
    """Return the function that gives the cell of a metric for a numbered run."""
    return lambda row: row[1].figures.gated.get(metric)


def _in_words(change: CourseChange, course: Course) -> str:
    direction = "rose" if change.after > change.before else "fell"
    runs = change.detected - change.start + 1
    return (
        f"{WATCHED[change.figure]} {direction} from {short(change.before)} to "
        f"{short(change.after)} at {course.runs[change.start].finished[:10]}, "
        f"shown by {runs} run{'' if runs == 1 else 's'}"
    )


def _remarks(course: Course) -> dict[int, str]:
    remarks: dict[int, list[str]] = defaultdict(list)
    for index, run in enumerate(course.runs):
        if not run.is_comparable:
            remarks[index].append("prompts changed")
        if not run.is_new:
            remarks[index].append("stored completions")
    for change in course.changes:
        word = "worse" if change.is_worse else "better"
        remarks[change.start].append(f"{word}: {WATCHED[change.figure]}")
    return {index: ", ".join(words) for index, words in remarks.items()}


def _interval(measured: MeasuredFigure, *, least: float) -> tuple[float, float]:
    half = Z_95 * measured.error
    return max(least, measured.value - half), min(1.0, measured.value + half)


def _time(iso: str) -> datetime:
    return datetime.fromisoformat(iso)
