"""Comparisons with a baseline: their part of the summary, and the reasons that fail a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pytest_promptse.record._queries import figure_label, is_always_shown, worst_verdict
from pytest_promptse.reports._formatting import console, printed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import RenderableType

    from pytest_promptse.record._schema import (
        BaselineRecord,
        ComparedRecord,
        ComparisonRecord,
        Record,
    )

_STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}
_NAMES_SHOWN = 4
_VALUE_CHARS = 16
_COMMIT_CHARS = 10


def render_comparisons(record: Record, *, width: int, colours: bool, verbosity: int = 0) -> str:
    """Return the comparisons of a record as text of at most `width` columns.

    `colours` adds ANSI colours. With a verbosity below 0, each suite has one line. Above 0, every
    metric is shown, and every name that only one record has.
    """
    out = console(width=width, colours=colours)
    for part in _parts(record, verbosity):
        out.print(part, crop=False)
    return printed(out)


def _parts(record: Record, verbosity: int) -> Iterable[RenderableType]:
    comparisons = record.comparisons
    both = [c for c in comparisons if c.model is not None and c.baseline_model is not None]
    shared, remarks_of_suites = _remarks(both, verbosity)
    if comparisons and verbosity >= 0:
        yield Text(_origin(comparisons[0].baseline), "dim")
    for comparison, remarks in zip(both, remarks_of_suites, strict=True):
        if verbosity < 0:
            yield _one_line(record, comparison)
            continue
        yield Text(comparison.suite).append(f"  {_model_and_template(comparison)}", "dim")
        for figure in comparison.figures:
            if verbosity > 0 or is_always_shown(figure):
                yield _line(record, figure)
        for remark in remarks:
            yield Padding(Text(remark, "yellow"), (0, 0, 0, 2))
    if verbosity >= 0:
        yield from (Text(remark, "yellow") for remark in shared)
    for where, side in (
        ("not in the baseline", [c for c in comparisons if c.baseline_model is None]),
        ("only in the baseline", [c for c in comparisons if c.model is None]),
    ):
        if side:
            names = [f"{c.suite} ({c.model or c.baseline_model})" for c in side]
            yield Text(f"{where}: {_names(names, verbosity)}", "yellow")


def _model_and_template(comparison: ComparisonRecord) -> str:
    return " ".join(part for part in (comparison.model, comparison.template) if part)


def _one_line(record: Record, comparison: ComparisonRecord) -> Text:
    verdict = worst_verdict(figure.verdict for figure in comparison.figures)
    decisive = [figure for figure in comparison.figures if figure.verdict == verdict]
    whose = [figure_label(record, figure) for figure in decisive]
    line = Text(f"{comparison.suite} {_model_and_template(comparison)}: ")
    for figure in comparison.figures:
        if figure.metric == "auc_e":
            line.append(f"AUC-E {_cell(figure.current)}, was {_cell(figure.baseline)} ")
    if verdict is None:
        return line.append("no margin")
    return line.append(f"{verdict}: {', '.join(whose)}", _STYLES[verdict])


def _line(record: Record, figure: ComparedRecord) -> Text:
    line = Text(f"  {figure_label(record, figure, short=True):<7}")
    if figure.difference is None:
        return line.append(f" {figure.message.partition(': ')[2]}", "yellow")
    line.append(f" {_cell(figure.current)} was {_cell(figure.baseline)}  {figure.difference:+.3f}")
    if figure.ci95 is not None:
        line.append(f" [{figure.ci95[0]:+.3f}, {figure.ci95[1]:+.3f}]")
    if figure.margin is not None and figure.verdict is not None:
        line.append(f"  {figure.verdict}", _STYLES[figure.verdict])
        line.append(f" (allowed {_figure(figure.margin)})", "dim")
    return line


def _origin(baseline: BaselineRecord) -> str:
    commit = f", commit {baseline.commit[:_COMMIT_CHARS]}" if baseline.commit else ""
    return f"baseline of {baseline.finished}{commit}"


def _remarks(
    comparisons: Sequence[ComparisonRecord], verbosity: int
) -> tuple[list[str], list[list[str]]]:
    """Return the remarks that several suites share, with their names, and those of each suite.

    `verbosity` is that of pytest; a higher one gives longer remarks. The second list has one list
    of remarks per comparison.
    """
    remarks = [list(_remarks_on(comparison, verbosity)) for comparison in comparisons]
    about: dict[str, list[str]] = {}
    for comparison, lines in zip(comparisons, remarks, strict=True):
        for line in lines:
            about.setdefault(line, []).append(comparison.suite.rpartition("::")[2])
    shared = {line: suites for line, suites in about.items() if len(suites) > 1}
    not_shared = [[line for line in lines if line not in shared] for lines in remarks]
    return [
        f"{'all' if len(suites) == len(comparisons) else _names(suites, verbosity)}: {line}"
        for line, suites in shared.items()
    ], not_shared


def _remarks_on(comparison: ComparisonRecord, verbosity: int) -> Iterable[str]:
    if comparison.differences:
        yield _differences(comparison.differences)
    if comparison.prompts_changed:
        edited = _names(comparison.prompts_changed, verbosity)
        yield f"{_counted(len(comparison.prompts_changed), 'prompt')} edited: {edited}"
    yield from comparison.notes
    for where, tasks, variants in (
        (
            "not in the baseline",
            comparison.tasks_only_current,
            comparison.variants_only_current,
        ),
        (
            "only in the baseline",
            comparison.tasks_only_baseline,
            comparison.variants_only_baseline,
        ),
    ):
        if tasks:
            yield f"{where}: {_counted(len(tasks), 'task')}, {_names(tasks, verbosity)}"
        if variants:
            names = [" ".join(variant) for variant in variants]
            yield f"{where}: {_counted(len(names), 'variant')}, {_names(names, verbosity)}"


def _differences(differences: Mapping[str, tuple[str, str]]) -> str:
    texts = (
        f"{name} {_shortened(here)} (baseline {_shortened(there)})"
        for name, (here, there) in differences.items()
    )
    return f"not the same: {', '.join(texts)}"


def _shortened(value: str) -> str:
    hexadecimal = len(value) > _VALUE_CHARS and set(value) <= set("0123456789abcdef")
    return f"{value[:_VALUE_CHARS]}…" if hexadecimal else value


def _names(names: Sequence[str], verbosity: int) -> str:
    more = len(names) - _NAMES_SHOWN
    if verbosity > 0 or more <= 0:
        return ", ".join(names)
    return ", ".join([*names[:_NAMES_SHOWN], f"{more} more"])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _cell(value: float | None) -> str:
    return "·" if value is None else f"{value:.3f}"


def _figure(value: float) -> str:
    """Show at most three decimals, without trailing zeros."""
    return f"{round(value, 3) + 0.0:g}"
