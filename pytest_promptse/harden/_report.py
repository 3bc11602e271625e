"""What `promptse harden` shows: sections for the terminal and the page."""

from __future__ import annotations

import difflib
import shlex
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

from pytest_promptse.harden._search import LARGEST_LOSS, UNTOUCHED
from pytest_promptse.record._queries import metric_in
from pytest_promptse.record._sections import Listing, Section, col, table_of
from pytest_promptse.reports._formatting import cause_words, signed
from pytest_promptse.reports._ranking import (
    PARETO,
    difference_of,
    metric_column,
    shown_metrics,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.harden._candidates import TemplateCandidate
    from pytest_promptse.harden._search import Hardening
    from pytest_promptse.record._schema import Record, TaskRecord
    from pytest_promptse.record._sections import Cell
    from pytest_promptse.scoring._paired_gain import Gain
    from pytest_promptse.scoring._scores import Ranked


def diagnosis(record: Record, hardening: Hardening) -> list[str]:
    """Return three lines on what the untouched prompt loses: how much, why and where."""
    drop = hardening.drop
    lines = [f"Reworded, the prompts lose {_with_interval(drop)} of their pass rate"]
    failures: dict[str, int] = defaultdict(int)
    by_emotion: dict[str, list[float]] = defaultdict(list)
    for task in record.tasks:
        original = task.original.pass_rate if task.original else 0.0
        for variant in task.variants:
            for cause, n in variant.causes.items():
                failures[cause] += n
            by_emotion[variant.emotion or "none"].append(variant.pass_rate - original)
    if failures:
        most = sorted(failures, key=lambda cause: -failures[cause])[:3]
        lines.append("Why: " + ", ".join(f"{failures[c]} {cause_words(c)}" for c in most))
    worst = sorted(by_emotion, key=lambda name: fmean(by_emotion[name]))[:3]
    where = [f"{name} {signed(fmean(by_emotion[name]))}" for name in worst]
    lines.append("Where: " + ", ".join(where))
    if "truncated" in failures:
        lines.append("Completions were cut off: try --promptse-max-tokens with a larger number")
    return lines


def sections_of(
    hardening: Hardening,
    records: Sequence[Record],
    candidates: Mapping[str, TemplateCandidate],
    *,
    lines: Sequence[str],
) -> list[Section]:
    """Return the sections of a result.

    Parameters
    ----------
    hardening
        The result.
    records
        The records of its runs: the project's own, each round, and the confirmation.
    candidates
        The templates by name.
    lines
        The lines to paste.
    """
    lead = ". ".join(diagnosis(records[0], hardening)) + "."
    sections = [Section(name="diagnosis", title="Diagnosis", lead=lead)]
    if hardening.rounds:
        sections.append(_front(hardening, records[1], candidates))
    winner, searched, confirmed = hardening.winner, hardening.searched, hardening.confirmed
    if winner is None or searched is None or confirmed is None:
        return sections
    gains = [
        ("search", "reworded", searched.variants),
        ("search", "original", searched.originals),
        ("confirmation", "reworded", confirmed.variants),
        ("confirmation", "original", confirmed.originals),
    ]
    sections.append(
        Section(
            name="gain",
            title=f"Gain of {winner}",
            lead="The search overstates the gain of its winner. The confirmation has variants and "
            "completions that the search never saw, and its interval covers others of the same "
            f"tasks. The original may lose at most {LARGEST_LOSS:g}.",
            blocks=(
                table_of(
                    "gain",
                    "Gain of the pass rate",
                    gains,
                    col("measured in", "stage", lambda row: row[0], "text"),
                    col("prompts", "prompts", lambda row: row[1], "text"),
                    col("gain", "gain", lambda row: row[2].value, "signed"),
                    col("95 %", "ci95", lambda row: (row[2].low, row[2].high), "signed interval"),
                ),
            ),
        )
    )
    sections += [_trade(records[-1], winner), _before_and_after(records[-1], winner)]
    diff = difflib.unified_diff(
        candidates[UNTOUCHED].template.source.splitlines(),
        candidates[winner].template.source.splitlines(),
        "the prompt",
        f"hardened/{winner}.j2",
        lineterm="",
    )
    sections.append(
        Section(
            name="template",
            title="The template",
            lead=candidates[winner].idea,
            blocks=(Listing(title="", text="\n".join(diff)),),
        )
    )
    if lines:
        sections.append(
            Section(
                name="paste",
                title="Lines to paste",
                blocks=(Listing(title="", text="\n".join(lines)),),
            )
        )
    return sections


def _trade(record: Record, winner: str) -> Section:
    """Show what the winner does to stability, pass rate and cost, as the confirmation ranks it."""
    rows: list[tuple[Cell, ...]] = []
    for ranking in record.rankings:
        entries = {entry.name: entry for entry in ranking.entries}
        old, new = entries[UNTOUCHED], entries[winner]
        for metric in shown_metrics(ranking):
            gap = difference_of(ranking, winner, UNTOUCHED, metric)
            values = (old.figures[metric], new.figures[metric])
            label = metric_in(record, metric).short_label
            rows.append((label, *values, None if gap is None else gap.ci95))
        rows.append(("tokens per solved", old.tokens_per_solved, new.tokens_per_solved, None))
        rows.append(("cost per solved", old.cost_per_solved, new.cost_per_solved, None))
    table = table_of(
        "trade",
        "Before and after",
        [row for row in rows if row[1:3] != (None, None)],
        col("figure", "figure", lambda row: row[0], "text"),
        col("before", "before", lambda row: row[1]),
        col("after", "after", lambda row: row[2]),
        col("95 % of the change", "ci95", lambda row: row[3], "signed interval"),
    )
    return Section(
        name="trade",
        title="Stability, pass rate and cost of both, in the confirmation",
        lead="The intervals cover other tasks like these, or other runs if there is one task.",
        blocks=(table,),
    )


def front(record: Record) -> list[Ranked]:
    """Return the templates of a run with their figures, in the order of their ranking."""
    return [entry for ranking in record.rankings for entry in ranking.entries]


def _front(
    hardening: Hardening, record: Record, candidates: Mapping[str, TemplateCandidate]
) -> Section:
    last = {name: number for number, (names, _) in enumerate(hardening.rounds, 1) for name in names}
    shown = shown_metrics(record.rankings[0]) if record.rankings else []
    table = table_of(
        "front",
        "Candidates, as the first round measured them",
        front(record),
        col("template", "template", lambda e: ("◆ " if e.pareto else "  ") + e.name, "text"),
        *(metric_column(record, metric) for metric in shown),
        col(
            "tokens per solved",
            "tokens",
            lambda entry: entry.tokens_per_solved and round(entry.tokens_per_solved),
            "count",
        ),
        col("rounds", "rounds", lambda entry: last.get(entry.name, 0), "count"),
    )
    ideas = table_of(
        "ideas",
        "What the candidates do",
        [candidate for name, candidate in candidates.items() if name in last],
        col("template", "template", lambda candidate: candidate.name, "text"),
        col("idea", "idea", lambda candidate: candidate.idea, "text"),
        brief=0,
    )
    return Section(
        name="front",
        title="Stability, pass rate and cost",
        lead=PARETO,
        blocks=(table, ideas),
    )


def _before_and_after(record: Record, winner: str) -> Section:
    by_template: dict[str, list[TaskRecord]] = defaultdict(list)
    for task in record.tasks:
        by_template[task.template or ""].append(task)
    before, after = _levels(by_template[UNTOUCHED]), _levels(by_template[winner])
    causes_before, causes_after = _causes(by_template[UNTOUCHED]), _causes(by_template[winner])
    return Section(
        name="before-and-after",
        title="Before and after, in the confirmation",
        lead="",
        blocks=(
            table_of(
                "levels",
                "Pass rate by distance",
                before,
                col("prompts", "prompts", str, "text"),
                col("before", "before", before.__getitem__),
                col("after", "after", after.get),
            ),
            table_of(
                "causes",
                "Share of completions that fail, by cause",
                sorted(causes_before | causes_after),
                col("cause", "cause", cause_words, "text"),
                col("before", "before", lambda name: causes_before.get(name, 0.0)),
                col("after", "after", lambda name: causes_after.get(name, 0.0)),
            ),
        ),
    )


def _levels(tasks: Sequence[TaskRecord]) -> dict[str, float]:
    rates: dict[str, list[float]] = defaultdict(list)
    for task in tasks:
        if task.original is not None:
            rates["original"].append(task.original.pass_rate)
        for variant in task.variants:
            rates[f"d{variant.distance:g}"].append(variant.pass_rate)
    return {name: fmean(values) for name, values in rates.items()}


def _causes(tasks: Sequence[TaskRecord]) -> dict[str, float]:
    variants = [variant for task in tasks for variant in task.variants]
    n = sum(variant.n for variant in variants)
    counts: dict[str, int] = defaultdict(int)
    for variant in variants:
        for cause, failed in variant.causes.items():
            counts[cause] += failed
    return {cause: failed / n for cause, failed in counts.items()}


def in_words(hardening: Hardening) -> str:
    """Return the result in one sentence."""
    winner, confirmed = hardening.winner, hardening.confirmed
    if hardening.result == "nothing to mend":
        return "nothing to mend: no loss beyond chance when the prompt is reworded"
    if winner is None or confirmed is None:
        return "no candidate helps: none did better than the prompt as it is"
    gain = f"the pass rate of reworded prompts changes by {_with_interval(confirmed.variants)}"
    if hardening.result == "mended":
        return f"{winner} is confirmed: {gain}"
    if confirmed.variants.low > 0.0:
        loss = _with_interval(confirmed.originals)
        return f"{winner} is not recommended: the original's pass rate changes by {loss}"
    return f"{winner} is not confirmed: {gain}, which may be chance"


def _with_interval(gain: Gain) -> str:
    low, high = signed(gain.low), signed(gain.high)
    return f"{signed(gain.value)} ({low} to {high})"


def paste_lines(
    hardening: Hardening, path: str, *, model: str, tests: Sequence[str]
) -> Iterator[str]:
    """Yield the lines that put the winner to use, if it is recommended.

    Parameters
    ----------
    hardening
        The result.
    path
        The file of the template.
    model, tests
        The model and the arguments of pytest.
    """
    if hardening.result == "mended":
        yield f"pytest --promptse-model {model} --promptse-template {path} {shlex.join(tests)}"
        yield ""
        yield "# pytest.ini"
        yield "[pytest]"
        yield f"promptse_template = {path}"
