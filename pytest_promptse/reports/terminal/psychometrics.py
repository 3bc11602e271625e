"""Psychometric suites in the summary at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.text import Text

from pytest_promptse.reports.formatting import NOT_MEASURED, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.record.psychometrics import (
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
    from pytest_promptse.record.schema import Record

ARROWS = {"up": "↑", "down": "↓", "none": "—"}
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
_CELL_WIDTH = 25


def psychometric_lines(record: Record, *, verbosity: int) -> Iterator[Iterable[Text]]:
    """Yield the lines of each psychometric suite; factors and words are shown with ``-v``."""
    if isinstance(record.psychometrics, msgspec.UnsetType):
        return
    for inventory in record.psychometrics.csi:
        yield _brief_csi(inventory) if verbosity < 0 else _csi(inventory, verbose=verbosity > 0)
    for bench in record.psychometrics.emotionbench:
        yield (
            _brief_emotionbench(bench)
            if verbosity < 0
            else _emotionbench(bench, verbose=verbosity > 0)
        )
    for check in record.psychometrics.manipulation:
        yield (
            _brief_manipulation(check)
            if verbosity < 0
            else _manipulation(check, verbose=verbosity > 0)
        )


def _brief_manipulation(found: ManipulationRecord) -> Iterator[Text]:
    recognised = [each.label for each in found.recognition if each.recognised]
    yield Text(
        f"{found.model}, manipulation check: {len(recognised)} of {len(found.recognition)} labels "
        "recognised above chance"
    )
    yield from _gates(found.gates, failed_only=True)


def _manipulation(found: ManipulationRecord, *, verbose: bool) -> Iterator[Text]:
    yield Text(
        f"{found.model} · Manipulation check: {found.n_prompts} prompts, {found.n_scored} of "
        f"{found.n_responses} responses readable",
        "bold",
    )
    if found.n_responses < found.n_planned:
        yield Text(f"{found.n_responses} of {found.n_planned} prompts answered", "yellow")
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
        if not each.recognised:
            other = f", most often as {each.mistaken_for}" if each.mistaken_for else ""
            yield Text(f"{text}, not recognised above chance{other}", "yellow")
        elif verbose:
            yield Text(text)
    yield from _problems(found.problems)
    yield from _gates(found.gates)


def _shift_cell(shift: AffectShiftRecord | None) -> str:
    if shift is None or shift.positive.delta is None or shift.negative.delta is None:
        return NOT_MEASURED
    return f"{shift.positive.delta:+.1f} / {shift.negative.delta:+.1f}"


def _shift_interval(shift: AffectShiftRecord | None) -> str:
    """Return half the width of both intervals."""
    if shift is None or shift.positive.ci95 is None or shift.negative.ci95 is None:
        return ""
    first, second = ((high - low) / 2 for low, high in (shift.positive.ci95, shift.negative.ci95))
    return f"±{first:.1f} / ±{second:.1f}"


def _brief_csi(found: CsiRecord) -> Iterator[Text]:
    yield Text(
        f"{found.model}, CSI {found.language}: optimism {_share(found.optimism)}, pessimism "
        f"{_share(found.pessimism)}, neutrality {_share(found.neutrality)}"
    )
    yield from _gates(found.gates, failed_only=True)


def _csi(found: CsiRecord, *, verbose: bool) -> Iterator[Text]:
    yield Text(
        f"{found.model} · Core Sentiment Inventory, {found.language}, {'/'.join(found.anchors)}: "
        f"{found.n_words} words x {found.n_runs} runs",
        "bold",
    )
    if found.n_responses < found.n_planned:
        yield Text(f"{found.n_responses} of {found.n_planned} prompts answered", "yellow")
    figures = [f"{name:12}{_estimate(getattr(found, name))}" for name in _FIGURES]
    for first in range(0, len(figures), 2):
        yield Text("".join(f"{figure:38}" for figure in figures[first : first + 2]).rstrip())
    if found.comparator is not None:
        other = found.comparator
        reluctancy = NOT_MEASURED if other.reluctancy is None else f"{other.reluctancy:.3f}"
        yield Text(
            f"for comparison, {other.scale}: consistency {other.consistency:.3f}, reluctancy "
            f"{reluctancy}, coverage {other.coverage:.3f}"
        )
    if found.stories is not None:
        stories = found.stories
        yield Text(
            f"stories, rated by {stories.rater}: r = {_number(stories.per_story)} per story, "
            f"{_number(stories.per_group)} per group, over {stories.n_stories}"
        )
    yield from _problems(found.problems)
    if verbose:
        for name, words in found.words.items():
            yield Text(f"{name}: {', '.join(words[:_WORDS_SHOWN])}")
    yield from _gates(found.gates)


def _brief_emotionbench(found: EmotionBenchRecord) -> Iterator[Text]:
    yield Text(
        f"{found.model}, EmotionBench: {found.n_scored} of {found.n_responses} responses scored"
    )
    yield from _gates(found.gates, failed_only=True)


def _emotionbench(found: EmotionBenchRecord, *, verbose: bool) -> Iterator[Text]:
    yield Text(
        f"{found.model} · EmotionBench, {found.situations} situations, method {found.method}: "
        f"{found.n_situations} situations",
        "bold",
    )
    if found.n_responses < found.n_planned:
        yield Text(f"{found.n_responses} of {found.n_planned} prompts answered", "yellow")
    yield Text(
        f"{found.n_scored} of {found.n_responses} responses scored, {found.n_refused} refusals"
    )
    for scale in found.scales:
        yield from _scale(scale, verbose=verbose)
    yield from _problems(found.problems)
    yield from _gates(found.gates)


def _scale(scale: ScaleRecord, *, verbose: bool) -> Iterator[Text]:
    categories = list(scale.default)
    if all(summary.n == 0 for summary in scale.default.values()):
        return
    has_norms = any(change.human for changes in scale.changes.values() for change in changes)
    heads = [f"{name}{' (human)' if has_norms else ''}" for name in categories]
    yield Text(
        f"{scale.scale:{_LABEL_WIDTH}}" + "".join(_right(head) for head in heads), "underline"
    )
    summaries = "".join(_right(_summary(each)) for each in scale.default.values())
    yield Text(f"{'default':{_LABEL_WIDTH}}{summaries}")
    rows: dict[str, dict[str, ChangeRecord]] = {}
    for category, changes in scale.changes.items():
        for change in changes:
            rows.setdefault(change.name, {})[category] = change
    for name, cells in rows.items():
        if "-" in name and not verbose:
            continue
        label = next(iter(cells.values())).label
        indented = f"  {label}" if "-" in name else label
        text = "".join(_right(_cell(cells.get(category))) for category in categories)
        yield Text(f"{shortened(indented, _LABEL_WIDTH)}{text}")


def _summary(summary: SummaryRecord) -> str:
    if summary.mean is None:
        return NOT_MEASURED
    return f"{summary.mean:.1f}" + ("" if summary.sd is None else f" ± {summary.sd:.1f}")


def _right(text: str) -> str:
    return f"{text:>{max(_CELL_WIDTH, len(text) + 2)}}"


def _cell(change: ChangeRecord | None) -> str:
    if change is None or change.delta is None:
        return NOT_MEASURED
    human = "" if change.human is None else f" ({change.human.delta:+.1f})"
    return f"{ARROWS[change.arrow]} {round(change.delta, 9):+.1f}{human}"


def _problems(problems: Mapping[str, int]) -> Iterator[Text]:
    if problems:
        counted = ", ".join(
            f"{kind.replace('_', ' ')} {count}"
            for kind, count in sorted(problems.items(), key=lambda pair: -pair[1])
        )
        yield Text(f"problems: {counted}", "yellow")


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
