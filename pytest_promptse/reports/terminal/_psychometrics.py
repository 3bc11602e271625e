"""Psychometric suites in the summary at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.text import Text

from pytest_promptse.reports._formatting import ARROWS, NOT_MEASURED, exact, points, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.record._psychometrics import (
        AffectShiftRecord,
        BoundsRecord,
        ChangeRecord,
        CsiRecord,
        EmotionBenchRecord,
        ManipulationRecord,
        ScaleRecord,
        ScoreRecord,
        SummaryRecord,
    )
    from pytest_promptse.record._schema import Record

_STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
_FIGURES = (
    "optimism",
    "consistency",
    "pessimism",
    "reluctancy",
    "neutrality",
    "coverage",
    "kappa",
)
_WORDS_SHOWN = 12
_LABEL_WIDTH = 28
_OVERALL = "Overall"
_CELL_WIDTH = 25


def psychometric_lines(record: Record, *, verbosity: int) -> Iterator[Iterable[Text]]:
    """Yield the lines of each psychometric suite. ``-v`` adds factors and words.

    `verbosity` is that of pytest: -1 with ``-q``, 1 with ``-v``. Nothing is yielded if the run has
    no psychometric suite.
    """
    if isinstance(record.psychometrics, msgspec.UnsetType):
        return
    verbose = verbosity > 0
    for csi in record.psychometrics.csi:
        shares = (
            f"optimism {_share(csi.optimism)}, pessimism {_share(csi.pessimism)}, neutrality "
            f"{_share(csi.neutrality)}"
        )
        heading = (
            f"Core Sentiment Inventory, {csi.language}, {'/'.join(csi.anchors)}: {csi.n_words} "
            f"words x {csi.n_runs} runs"
        )
        brief = f"CSI {csi.language}: {shares}"
        yield _suite(csi, brief, heading, _csi(csi, verbose=verbose), verbosity=verbosity)
    for bench in record.psychometrics.emotionbench:
        brief = f"EmotionBench: {bench.n_scored} of {bench.n_responses} responses scored"
        heading = (
            f"EmotionBench, {bench.situations} situations, method {bench.method}: "
            f"{bench.n_situations} situations"
        )
        body = _emotionbench(bench, verbose=verbose)
        yield _suite(bench, brief, heading, body, verbosity=verbosity)
    for check in record.psychometrics.manipulation:
        recognised = sum(each.recognised for each in check.recognition)
        brief = (
            f"manipulation check: {recognised} of {len(check.recognition)} labels recognised "
            "above chance"
        )
        heading = (
            f"Manipulation check: {check.n_prompts} prompts, {check.n_scored} of "
            f"{check.n_responses} responses readable"
        )
        body = _manipulation(check, verbose=verbose)
        yield _suite(check, brief, heading, body, verbosity=verbosity)


def _suite(
    found: CsiRecord | EmotionBenchRecord | ManipulationRecord,
    brief: str,
    heading: str,
    body: Iterable[Text],
    *,
    verbosity: int,
) -> Iterator[Text]:
    """Yield the lines of one suite.

    With ``-q`` only the brief line and the gates that did not pass.
    """
    if verbosity < 0:
        yield Text(f"{found.model}, {brief}")
        yield from _gates(found.gates, failed_only=True)
        return
    yield Text(f"{found.model} · {heading}", "bold")
    if found.n_responses < found.n_planned:
        yield Text(f"{found.n_responses} of {found.n_planned} prompts answered", "yellow")
    yield from body
    if found.problems:
        counted = ", ".join(
            f"{kind.replace('_', ' ')} {count}"
            for kind, count in sorted(found.problems.items(), key=lambda pair: -pair[1])
        )
        yield Text(f"problems: {counted}", "yellow")
    yield from _gates(found.gates)


def _manipulation(found: ManipulationRecord, *, verbose: bool) -> Iterator[Text]:
    for perspective, what in (("own", "its own affect"), ("writer", "the writer's affect")):
        rows = [each for each in found.shifts if each.perspective == perspective]
        if not any(each.positive.n for each in rows):
            continue
        levels = sorted({each.distance for each in rows})
        yield Text(f"shift of {what}, positive / negative, by level", "underline")
        yield Text(f"{'':14}" + "".join(f"{level:>20g}" for level in levels))
        for emotion in dict.fromkeys(each.emotion for each in rows):
            cells = {each.distance: each for each in rows if each.emotion == emotion}
            line = "".join(f"{_shift_cell(cells.get(level)):>20}" for level in levels)
            yield Text(f"{emotion:14}{line}")
            if verbose:
                intervals = "".join(f"{_shift_interval(cells.get(level)):>20}" for level in levels)
                yield Text(f"{'':14}{intervals}", "dim")
    for each in found.recognition:
        if each.share is None:
            continue
        text = f"label {each.label}: chosen for {each.hits} of {each.n}"
        if verbose:
            by_level = ", ".join(f"{one.distance:g}: {one.hits}/{one.n}" for one in each.levels)
            text += f" ({by_level})"
        if not each.recognised:
            other = f", most often as {each.mistaken_for}" if each.mistaken_for else ""
            yield Text(f"{text}, not recognised above chance{other}", "yellow")
        elif verbose:
            yield Text(text)


def _shift_cell(shift: AffectShiftRecord | None) -> str:
    if shift is None or shift.positive.delta is None or shift.negative.delta is None:
        return NOT_MEASURED
    return f"{points(shift.positive.delta)} / {points(shift.negative.delta)}"


def _shift_interval(shift: AffectShiftRecord | None) -> str:
    """Return half the width of both intervals."""
    if shift is None or shift.positive.ci95 is None or shift.negative.ci95 is None:
        return ""
    first, second = ((high - low) / 2 for low, high in (shift.positive.ci95, shift.negative.ci95))
    return f"±{first:.1f} / ±{second:.1f}"


def _csi(found: CsiRecord, *, verbose: bool) -> Iterator[Text]:
    figures = [f"{name:12}{_estimate(getattr(found, name))}" for name in _FIGURES]
    for first in range(0, len(figures), 2):
        yield Text("".join(f"{figure:38}" for figure in figures[first : first + 2]).rstrip())
    if found.comparator is not None:
        other = found.comparator
        yield Text(
            f"for comparison, {other.scale}: consistency {exact(other.consistency)}, reluctancy "
            f"{exact(other.reluctancy)}, coverage {exact(other.coverage)}"
        )
    if found.stories is not None:
        stories = found.stories
        yield Text(
            f"stories, rated by {stories.rater}: r = {_number(stories.per_story)} per story, "
            f"{_number(stories.per_group)} per group, over {stories.n_stories}"
        )
    if verbose:
        for name, words in found.words.items():
            yield Text(f"{name}: {', '.join(words[:_WORDS_SHOWN])}")


def _emotionbench(found: EmotionBenchRecord, *, verbose: bool) -> Iterator[Text]:
    yield Text(
        f"{found.n_scored} of {found.n_responses} responses scored, {found.n_refused} refusals"
    )
    for scale in found.scales:
        if any(summary.n for summary in scale.default.values()):
            yield from scale_lines(scale, factors=verbose)


def scale_lines(scale: ScaleRecord, *, factors: bool, width: int = _LABEL_WIDTH) -> Iterator[Text]:
    """Yield the table of a scale: changes by emotion, and by factor if `factors` is True.

    Labels take `width` columns.

    A second table has the changes from situations to their positive counterparts, if there are any.
    """
    # Imported scales may have more totals than fit a terminal. Reports show them all.
    categories = [_OVERALL] if _OVERALL in scale.default else list(scale.default)
    has_norms = any(change.human for changes in scale.changes.values() for change in changes)
    heads = [f"{name}{' (human)' if has_norms else ''}" for name in categories]
    yield Text(f"{scale.scale:{width}}" + "".join(_right(head) for head in heads), "underline")
    summaries = "".join(_right(_summary(each)) for each in map(scale.default.get, categories))
    yield Text(f"{'default':{width}}{summaries}")
    yield from _change_lines(scale.changes, categories, factors=factors, width=width)
    if any(scale.contrasts.values()):
        yield Text("from situations to their positive counterparts", "underline")
        yield from _change_lines(scale.contrasts, categories, factors=factors, width=width)


def _change_lines(
    changes: Mapping[str, Sequence[ChangeRecord]],
    categories: Sequence[str],
    *,
    factors: bool,
    width: int,
) -> Iterator[Text]:
    rows: dict[str, dict[str, ChangeRecord]] = {}
    for category, of_category in changes.items():
        for change in of_category:
            rows.setdefault(change.name, {})[category] = change
    for name, cells in rows.items():
        is_factor = "-" in name
        if is_factor and not factors:
            continue
        label = next(iter(cells.values())).label
        text = "".join(_right(_cell(cells.get(category))) for category in categories)
        yield Text(f"{shortened(f'  {label}' if is_factor else label, width)}{text}")


def _summary(summary: SummaryRecord | None) -> str:
    if summary is None or summary.mean is None:
        return NOT_MEASURED
    return f"{summary.mean:.1f}" + ("" if summary.sd is None else f" ± {summary.sd:.1f}")


def _right(text: str) -> str:
    return f"{text:>{max(_CELL_WIDTH, len(text) + 2)}}"


def _cell(change: ChangeRecord | None) -> str:
    if change is None or change.delta is None:
        return NOT_MEASURED
    human = "" if change.human is None else f" ({points(change.human.delta)})"
    return f"{ARROWS[change.arrow]} {points(change.delta)}{human}"


def _gates(gates: Sequence[BoundsRecord], *, failed_only: bool = False) -> Iterator[Text]:
    for gate in gates:
        if failed_only and gate.verdict == "pass":
            continue
        verdict = gate.verdict or "not measured"
        scope = f"{gate.scope} " if gate.scope and gate.scope not in gate.message else ""
        yield Text(f"{verdict}: {scope}{gate.message}", _STYLES.get(verdict, "yellow"))


def _share(estimate: ScoreRecord) -> str:
    return NOT_MEASURED if estimate.value is None else f"{estimate.value:.3f}"


def _estimate(estimate: ScoreRecord) -> str:
    if estimate.value is None or estimate.ci95 is None:
        return _share(estimate)
    low, high = estimate.ci95
    return f"{estimate.value:.3f} [{low:.3f}, {high:.3f}]"


def _number(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.2f}"
