"""The terminal summary of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.text import Text

from pytest_promptse.record._queries import losses, series_of, tasks_of, unscored
from pytest_promptse.record._verdicts import remedy, verdicts_in_words
from pytest_promptse.reports._escaping import escaped
from pytest_promptse.reports._estimates import scopes
from pytest_promptse.reports._formatting import WIDE, console, label, printed
from pytest_promptse.reports._length_control import control_lines
from pytest_promptse.reports._ranking import decision, ranking_section
from pytest_promptse.reports.terminal._harmful import SHOWN, harmful
from pytest_promptse.reports.terminal._heatmap import heatmap
from pytest_promptse.reports.terminal._instruments import instrument_lines
from pytest_promptse.reports.terminal._overview import (
    besides,
    further,
    loss_by_cause,
    one_line,
    overview,
    saved,
    title,
)
from pytest_promptse.reports.terminal._sections import lines_of
from pytest_promptse.reports.terminal._variants import calibration, variant_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType

    from pytest_promptse.record._queries import Series
    from pytest_promptse.record._schema import Record, SuiteRecord

_NAMES_SHOWN = 3
# With at least this number of suites, a harmful variant has one line, so that the summary fits on a
# screen.
_MANY_SUITES = 5


def render(record: Record, *, width: int, colours: bool, verbosity: int = 0) -> str:
    """Return the summary as text of at most `width` columns, with ANSI colours if wanted.

    ``verbosity`` is that of pytest. Below 0 each suite has one line. Above 0 causes, emotions,
    personas and every variant are shown, and above 1 every text of a rewriting model that was
    rejected.
    """
    record = escaped(record)
    out = console(width=width, colours=colours)
    if verbosity < 0:
        sections: list[Iterable[RenderableType]] = [_brief(record, width)]
        sections += instrument_lines(record, verbosity=verbosity)
    else:
        sections = [
            [Text(str(verdict), "bold") for verdict in verdicts_in_words(record)],
            *_sections(record, out, verbose=verbosity > 0),
            *instrument_lines(record, verbosity=verbosity),
            _rejected(record) if verbosity > 1 else (),
            [*_what_next(record, width), _cost(record)],
        ]
    filled = [lines for section in sections if (lines := list(section))]
    for number, lines in enumerate(filled):
        if number:
            out.print()
        for line in lines:
            out.print(line, crop=False)
    return printed(out)


def _brief(record: Record, width: int) -> Iterator[Text]:
    several = len({(suite.model, suite.template) for suite in record.suites}) > 1
    for suite in record.suites:
        yield one_line(suite, width=width, name_model=several)
    for ranking in record.rankings:
        yield Text(f"templates of {ranking.model}: {decision(ranking)}")
    yield from _errors(record)
    if record.usage.requests:
        yield _cost(record)


def _sections(record: Record, out: Console, *, verbose: bool) -> Iterator[Iterable[RenderableType]]:
    """Yield the lines of each section, grouped by model.

    `out` is used for its width and for wrapping. `verbose` also shows each template of a model
    alone.
    """
    by_model: dict[str, list[Series]] = {}
    for series in series_of(record):
        by_model.setdefault(series.model, []).append(series)
    for several in by_model.values():
        if len(several) > 1:
            yield from _templates(record, several, out, verbose=verbose)
        if len(several) == 1 or verbose:
            yield from _each(record, several, out, verbose=verbose)
    yield _errors(record)


def _templates(
    record: Record, several: Sequence[Series], out: Console, *, verbose: bool
) -> Iterator[Iterable[RenderableType]]:
    """Show the templates of a model side by side. ``-v`` also shows each of them alone.

    `several` are the series of one model, one per template. `out` is used for its width and for
    wrapping. Without any result of the model, nothing is compared.
    """
    suites = [suite for suite in record.suites if (suite.model, suite.template) in several]
    if all(suite.pass_at_1 is None for suite in suites):
        if not verbose:
            yield from _each(record, several, out, verbose=False)
        return
    yield [title(suites), *overview(suites, width=out.width), *_notes(suites, out.width)]
    if not verbose:
        yield (Text(line) for line in control_lines(suites, verbose=False))
    for ranking in record.rankings:
        if ranking.model == several[0].model:
            section = ranking_section(record, ranking)
            yield [
                Text(section.title, "bold"),
                Text(section.lead),
                *lines_of(section.blocks, verbose=verbose),
            ]
    if not verbose:
        yield harmful(
            losses(tasks_of(record, *several), most=SHOWN),
            console=out,
            whole=False,
            name_template=True,
            invocation=record.invocation,
        )


def _each(
    record: Record, several: Sequence[Series], out: Console, *, verbose: bool
) -> Iterator[Iterable[Text]]:
    width = out.width
    for one_series in several:
        suites = [suite for suite in record.suites if (suite.model, suite.template) == one_series]
        subgroups = [
            entry for entry in record.subgroups if (entry.model, entry.template) == one_series
        ]
        if all(suite.pass_at_1 is None for suite in suites):
            # Single variants were selected. Without originals there are no metrics to show.
            yield [title(suites)]
            yield variant_lines(tasks_of(record, one_series), width=width)
            continue
        yield [title(suites), *overview(suites, width=width), *_notes(suites, width)]
        yield (Text(line) for line in control_lines(suites, verbose=verbose))
        if verbose:
            yield besides(suites, width=width)
            yield further(record, suites)
            for subgroups_of_model in subgroups:
                if subgroups_of_model.calibration:
                    yield calibration(subgroups_of_model.calibration)
            yield variant_lines(tasks_of(record, one_series), width=width)
            yield loss_by_cause(suites)
            for subgroups_of_model in subgroups:
                yield heatmap(subgroups_of_model.subgroups)
        yield harmful(
            losses(tasks_of(record, one_series), most=SHOWN),
            console=out,
            whole=verbose,
            brief=len(suites) >= _MANY_SUITES and not verbose,
            invocation=record.invocation,
        )


def _notes(suites: Sequence[SuiteRecord], width: int) -> Iterator[Text]:
    """Explain the marks, then show each warning once with its suites.

    `width` is that of the terminal in columns; a narrow one shortens ``inconclusive`` to ``open``.
    """
    if any(suite.verdict == "inconclusive" for suite in suites) and width < WIDE:
        yield Text("open: inconclusive, since the interval contains the threshold", "dim")
    yield from (Text(line, "dim") for line in _legend(suites))
    yield from saved(suites)
    yield from (Text(line, "dim") for line in scopes(suites))
    about: dict[str, list[str]] = {}
    for suite in suites:
        for warning in suite.warnings:
            about.setdefault(warning, []).append(label(suite))
    for warning, names in about.items():
        yield Text(f"{_few(list(dict.fromkeys(names)))}: {warning}", "dim yellow")


def _legend(suites: Sequence[SuiteRecord]) -> Iterator[str]:
    """Explain the columns of the table above it."""
    if all(suite.auc_e is None for suite in suites):
        return
    yield "AUC-E: 1 if no variant changes the score; * if the loss is more than chance"
    light = any(suite.mode == "promptse" for suite in suites)
    yield "noise: AUC-E of a perfectly stable model" + (
        "; light: AUC-E from pass rates alone" if light else ""
    )


def _errors(record: Record) -> Iterator[Text]:
    """Show each error once with its items."""
    for message, errors in unscored(record).items():
        word, style = ("skipped", "yellow") if errors[0].skipped else ("not scored", "red")
        yield Text(f"{word}: {_few([error.where for error in errors])}: {message}", style)


def _what_next(record: Record, width: int) -> Iterator[Text]:
    """Show for a failing suite what would mend it, and what shows since when it fails.

    Only a run that is saved, or compared with a saved one, has a history. The longer command stands
    last, so that the rest of the text can be pasted.
    """
    words = remedy(record)
    if not words:
        return
    has_history = record.settings.get("save") or record.settings.get("compare")
    line = f"what next: {'promptse history, or ' if has_history else ''}{words[0]}"
    for word in words[1:]:
        if len(line) + len(word) + len("  \\") > width:
            yield Text(f"{line} \\", no_wrap=True, overflow="ignore")
            line = f"  {word}"
        else:
            line += f" {word}"
    yield Text(line, no_wrap=True, overflow="ignore")


def _rejected(record: Record) -> Iterator[Text]:
    """Show each text of a rewriting model that was rejected, with the reasons."""
    for rewriting in record.rewriting:
        for rejected in rewriting.rejected:
            yield Text(f"rejected text for {rejected.task}[{rejected.variant}]:", "yellow")
            yield from (Text(f"  {line}") for line in rejected.text.splitlines())
            yield from (Text(f"  {finding}", "dim yellow") for finding in rejected.findings)


def _few(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN] + ([f"{more} more"] if more > 0 else []))


def _cost(record: Record) -> Text:
    usage = record.usage
    parts = [
        f"{usage.requests} request{'' if usage.requests == 1 else 's'}",
        f"{usage.prompt_tokens} tokens sent, {usage.completion_tokens} received",
        f"{usage.cached} completions from the store"
        + (f" (oldest: {usage.oldest[:10]})" if usage.oldest is not msgspec.UNSET else ""),
    ]
    if usage.cost is not None:
        parts.append(f"cost {usage.cost:.4g}")
    if usage.batch_cost is not msgspec.UNSET:
        parts.append(f"batches cost {usage.batch_cost:.4g}")
    return Text(", ".join(parts), "dim")
