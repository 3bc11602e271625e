"""Tables of metrics: one line with a verdict for every suite of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.record._queries import Series
from pytest_promptse.record._verdicts import NO_GATE, NOT_DECIDED, verdict_word
from pytest_promptse.reports._estimates import EstimateCells, estimates
from pytest_promptse.reports._formatting import (
    DASH,
    NOT_MEASURED,
    WIDE,
    cause_words,
    columns,
    exact,
    label,
    probability,
    short,
    shortened,
    signed,
    sparkline,
    starred,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._schema import Record, SuiteRecord

_STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}
_LEAST_NAME, _MOST_NAME = 12, 48
_Cells = list[tuple[str, str]]
_FURTHER = EstimateCells("figure", "value", "95 %", "with tasks not seen")
_CAUSES_SHOWN = 4
_CAUSE_BAR = 12
_LEAST_SHOWN = 0.005


def overview(suites: Sequence[SuiteRecord], *, width: int) -> Iterator[Text]:
    """Yield a table of the metrics of `suites` of one model, with as many columns as fit.

    With several templates, each line names its template.

    `width` is that of the terminal in columns.
    """
    wide = width >= WIDE
    distances = sorted({d for suite in suites for d in suite.elasticity}, key=float)
    light = any(suite.mode == "promptse" for suite in suites)
    head = _head(distances, light=light, wide=wide)
    rows = [_figures(suite, distances, light=light, wide=wide) for suite in suites]
    widths = _widths([head, *rows])
    if width - sum(widths) < _LEAST_NAME:
        # The sparkline still shows the elasticities.
        first, after = 1, 1 + len(distances)
        head, *rows = ([*row[:first], *row[after:]] for row in (head, *rows))
        widths = _widths([head, *rows])
    corner, names = _names(suites)
    room = min(max(map(len, [corner, *names])), _MOST_NAME, max(_LEAST_NAME, width - sum(widths)))
    yield Text(shortened(corner, room), "dim").append_text(columns(head, widths))
    for name, row in zip(names, rows, strict=True):
        yield Text(shortened(name, room)).append_text(columns(row, widths))


def besides(suites: Sequence[SuiteRecord], *, width: int) -> Iterator[Text]:
    """Yield a table of the secondary metrics of `suites` of one model.

    `width` is that of the terminal in columns; long names of suites are shortened to fit.
    """
    sizes = sorted({suite.robustness.s for suite in suites if suite.robustness})
    s = f"{sizes[0]}" if len(sizes) == 1 else ""
    titles = ["excess", "p", f"RP{s}", f"RD{s}", f"RR{s}", "ECE", "over", "under"]
    rows = [_secondary(suite) for suite in suites]
    head = [(title, "dim") for title in titles]
    widths = _widths([head, *rows])
    _, names = _names(suites)
    room = min(max(map(len, names)), _MOST_NAME, max(_LEAST_NAME, width - sum(widths)))
    yield Text(shortened("besides", room), "bold").append_text(columns(head, widths))
    for name, row in zip(names, rows, strict=True):
        yield Text(shortened(name, room)).append_text(columns(row, widths))


def further(record: Record, suites: Sequence[SuiteRecord]) -> Iterator[Text]:
    """Yield the figures of each of `suites`, which are in `record`, with their intervals."""
    for suite in suites:
        rows = estimates(record, suite)
        widths = [max(len(row[at]) for row in [_FURTHER, *rows]) for at in range(len(_FURTHER))]
        for number, row in enumerate([_FURTHER, *rows]):
            name = label(suite) if number == 0 and len(suites) > 1 else row.label
            cells = "  ".join(
                f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)
            )
            yield Text(f"{name:<{widths[0]}}  {cells}".rstrip(), "dim" if number == 0 else "")


def one_line(suite: SuiteRecord, *, width: int, name_model: bool) -> Text:
    """Return name, main metrics and verdict of a suite in one line.

    The line has at most `width` columns. `name_model` adds the model and template to the name of
    the suite.
    """
    word = verdict_word(suite)
    figures = f" pass@1 {short(suite.pass_at_1)}  AUC-E {exact(suite.auc_e)}  "
    name = f"{suite.id} {Series(suite.model, suite.template).label}" if name_model else suite.id
    room = min(len(name), width - len(figures) - len(word))
    line = Text(shortened(name, room), no_wrap=True, overflow="ignore").append(figures)
    return line.append(word, _STYLES.get(word, "dim"))


def title(suites: Sequence[SuiteRecord]) -> Text:
    """Return the heading: model, template, mode, and number of measured variants."""
    first = suites[0]
    templates = {suite.template for suite in suites}
    about = (
        _model_and_template(first)
        if len(templates) == 1
        else f"{first.model} with {len(templates)} templates"
    )
    modes = sorted({suite.mode for suite in suites if suite.mode})
    measured, planned = sum(s.n_measured for s in suites), sum(s.n_variants for s in suites)
    missing = sum(s.n_missing for s in suites)
    facts = [f"mode {' and '.join(modes)}"] if modes else []
    if "promptse" in modes:
        facts.append(f"weights by {' and '.join(sorted({s.weighting for s in suites}))}")
    line = Text(about, "bold").append("".join(f", {fact}" for fact in facts), "not bold")
    if missing:
        return line.append(f", {measured} of {planned} variants measured", "not bold yellow")
    if measured < planned:
        return line.append(f", {measured} of at most {planned} variants", "not bold")
    return line.append(f", {planned} variants", "not bold")


def saved(suites: Sequence[SuiteRecord]) -> Iterator[Text]:
    """Return the savings of suites that were sampled in rounds, if there are any."""
    ends = [suite.rounds for suite in suites if suite.rounds]
    if not ends:
        return
    completions = sum(end.completions for end in ends)
    planned = sum(end.max_completions for end in ends)
    early = sum(end.look < end.looks for end in ends)
    yield Text(
        f"in rounds: {completions} of at most {planned} completions, "
        f"{early} of {len(ends)} suites decided early",
        "dim",
    )


def _model_and_template(suite: SuiteRecord) -> str:
    return suite.model + (f" with template {suite.template}" if suite.template else "")


def _names(suites: Sequence[SuiteRecord]) -> tuple[str, list[str]]:
    """Return the heading of the name column, and the names."""
    ids = {suite.id: label(suite) for suite in suites}
    if len(set(ids.values())) < len(ids):
        # Functions of the same name in several files.
        return "", [
            " ".join(part for part in (suite.template, suite.id) if part)
            + _name(suite).removeprefix(label(suite))
            for suite in suites
        ]
    if len({suite.template for suite in suites}) == 1:
        return "", [_name(suite) for suite in suites]
    if len({suite.id for suite in suites}) == 1:
        return "template", [
            (suite.template or DASH) + _name(suite).removeprefix(label(suite)) for suite in suites
        ]
    return "template, suite", [f"{suite.template or DASH} {_name(suite)}" for suite in suites]


def _name(suite: SuiteRecord) -> str:
    return label(suite) + (" (in part)" if suite.n_missing else "")


def _head(distances: Sequence[str], *, light: bool, wide: bool) -> _Cells:
    titles = [
        "pass@1",
        *(f"E({d})" if wide else f"d{d}" for d in distances),
        " " * len(distances),
        "AUC-E ",
        "95 %",
        "noise",
        *(["light"] if light else []),
        "",
    ]
    return [(title, "dim") for title in titles]


def _figures(suite: SuiteRecord, distances: Sequence[str], *, light: bool, wide: bool) -> _Cells:
    curve = [suite.elasticity.get(distance) for distance in distances]
    word = verdict_word(suite)
    if not wide:
        word = {"inconclusive": "open", NOT_DECIDED: DASH, NO_GATE: DASH}.get(word, word)
    twin = suite.light.auc_e if suite.light else None
    return [
        (short(suite.pass_at_1), ""),
        *((short(value), "") for value in curve),
        (sparkline(curve), "cyan"),
        (starred(exact(suite.auc_e), suite.p_adjusted), "bold"),
        (DASH.join(short(end) for end in suite.ci95) if suite.ci95 else NOT_MEASURED, ""),
        (short(suite.auc_e_null), "dim"),
        *([(short(twin), "dim")] if light else []),
        (word, _STYLES.get(suite.verdict or "", "dim")),
    ]


def _secondary(suite: SuiteRecord) -> _Cells:
    worst, overall = suite.robustness, (suite.calibration or {}).get("all")
    return [
        (starred(signed(suite.excess), suite.p_adjusted), ""),
        (probability(suite.p_adjusted), ""),
        (short(worst.rp if worst else None), ""),
        (short(worst.rd if worst else None), ""),
        (short(worst.rr if worst else None), ""),
        (short(overall.ece if overall else None), ""),
        (short(overall.overconfident if overall else None), ""),
        (short(overall.underconfident if overall else None), ""),
    ]


def _widths(rows: Sequence[_Cells]) -> list[int]:
    return [1 + max(len(text) for text, _ in column) for column in zip(*rows, strict=True)]


def loss_by_cause(suites: Sequence[SuiteRecord]) -> Iterator[Text]:
    """Show how much of the loss of elasticity each cause of failure explains, by distance.

    The last column is the increase of the share of samples that fail for this cause. Suites are
    weighted by their number of tasks.
    """
    split = [suite for suite in suites if suite.losses]
    distances = sorted({d for suite in split for d in suite.losses}, key=float)
    causes = {cause for suite in split for by_cause in suite.losses.values() for cause in by_cause}
    losses = {c: [_mean(split, d, c, "loss") for d in distances] for c in causes}
    drops = {c: sum(_mean(split, d, c, "drop") for d in distances) / len(distances) for c in causes}
    ranked = sorted(causes, key=lambda cause: (-sum(losses[cause]), cause))
    shown = [c for c in ranked if max(map(abs, (*losses[c], drops[c]))) >= _LEAST_SHOWN][
        :_CAUSES_SHOWN
    ]
    if not shown:
        return
    most = max(sum(losses[cause]) for cause in shown)
    widths = [8] * len(distances) + [10]
    head = [*((f"d{d}", "dim") for d in distances), ("failures", "dim")]
    yield _cause_row("why", "loss of E", "bold", "dim").append_text(columns(head, widths))
    for cause in shown:
        length = round(_CAUSE_BAR * max(0.0, sum(losses[cause])) / most) if most > 0 else 0
        cells = [*((signed(loss), "") for loss in losses[cause]), (signed(drops[cause]), "")]
        line = _cause_row(f"  {cause_words(cause)}", "█" * length, "", "red")
        yield line.append_text(columns(cells, widths))


def _cause_row(name: str, beside: str, style: str, beside_style: str) -> Text:
    return Text(f"{name:<17}", style).append(
        f"{beside:<{_CAUSE_BAR + 1}}", f"not bold {beside_style}"
    )


def _mean(suites: Sequence[SuiteRecord], distance: str, cause: str, name: str) -> float:
    having = [suite for suite in suites if distance in suite.losses]
    total = sum(
        suite.n_tasks * getattr(suite.losses[distance][cause], name)
        for suite in having
        if cause in suite.losses[distance]
    )
    tasks = sum(suite.n_tasks for suite in having)
    return float(total / tasks)
