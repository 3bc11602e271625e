"""The ``md`` report: a Markdown page, for example for a comment on a merge request.

Names, prompts and messages are untrusted text. They are written only in code spans and code blocks,
where no HTML, link, image, mention or table can begin.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_promptse.record._files import write_chunks
from pytest_promptse.record._outcomes import uncompared
from pytest_promptse.record._queries import (
    compared,
    losses,
    overall,
    series_of,
    unscored,
    worst_verdict,
)
from pytest_promptse.record._sections import Prose, Table, tables_in
from pytest_promptse.record._verdicts import verdict_word, verdicts_in_words
from pytest_promptse.reports._cells import written
from pytest_promptse.reports._escaping import escaped
from pytest_promptse.reports._estimates import estimates, scopes
from pytest_promptse.reports._formatting import (
    DASH,
    cause_words,
    exact,
    short,
    signed,
)
from pytest_promptse.reports._instruments import gate_line, problems_in_words, shown_blocks
from pytest_promptse.reports._length_control import control_sentence
from pytest_promptse.reports._ranking import decision, ranking_section
from pytest_promptse.variants._word_diff import word_diff

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_promptse.record._instruments import InstrumentRecord
    from pytest_promptse.record._queries import Loss
    from pytest_promptse.record._schema import Record, SuiteRecord

_HARMFUL = 5
_NAMES = 3
_LONGEST = 300
_MARKS = {"pass": "✅ pass", "fail": "❌ fail", "inconclusive": "⚠️ inconclusive"}
_HEADLINES = {
    "pass": "✅ Stable enough across variants",
    "fail": "❌ Not stable enough across variants",
    "inconclusive": "⚠️ Stability across variants: inconclusive",
    None: "Stability across variants",
}


def write(record: Record, path: Path) -> None:
    """Write a record as Markdown to `path` and create the folder if it is missing.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    """
    write_chunks([render(record).encode()], path, what=f"report md:{path}")


def render(record: Record) -> str:
    """Return a record as GitHub and GitLab Markdown."""
    return "\n".join(_lines(escaped(record))) + "\n"


def code(text: str) -> str:
    """Return `text` as a code span in one line, for use in a table.

    The fence is longer than every run of backticks in the text. Vertical bars are escaped, since
    tables are parsed before code spans.
    """
    line = " ".join(text.split()) or " "
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1] + "…"
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def block(text: str, language: str = "") -> str:
    """Return `text` as a fenced code block whose fence the text does not contain.

    `language` is the info string after the opening fence.
    """
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _lines(record: Record) -> Iterator[str]:
    only_instruments = not record.suites and record.instruments
    yield f"### {_headline(record)}{_not_measured(record)}"
    yield ""
    for verdict in verdicts_in_words(record):
        yield f"- {code(verdict.name)} {verdict.text}" if verdict.name else f"- {verdict.text}"
    yield ""
    if not only_instruments:
        yield from _suites(record)
    yield from _instruments(record)
    yield from _gates(record)
    yield from _templates(record)
    yield from _compared(record)
    yield from _errors(record)
    yield from _harmful(record)
    yield from _warnings(record)
    yield f"<sub>{_cost(record)}</sub>"


def _headline(record: Record) -> str:
    """Return what the run says. A run that fails for another reason than a gate has no tick."""
    if not record.suites and record.instruments:
        return ", ".join(dict.fromkeys(suite.title for suite in record.instruments))
    verdict = overall(record)
    if verdict in ("pass", None) and uncompared(record):
        return "❌ Not compared with the baseline"
    if verdict == "pass" and any(not error.skipped for error in record.errors):
        return "❌ Not measured completely"
    return _HEADLINES[verdict]


def _not_measured(record: Record) -> str:
    skipped = sum(error.skipped for error in record.errors)
    counts = {"not scored": len(record.errors) - skipped, "skipped": skipped}
    parts = [f"{n} {word}" for word, n in counts.items() if n]
    return f" ({', '.join(parts)})" if parts else ""


def _suites(record: Record) -> Iterator[str]:
    several = len(series_of(record)) > 1
    distances = sorted({d for suite in record.suites for d in suite.elasticity}, key=float)
    titles = ["suite", *(["model"] if several else []), "verdict", "AUC-E", "95 %", "noise ceiling"]
    titles += ["excess", *(f"E({d})" for d in distances), "pass@1"]
    words = 3 if several else 2
    yield _row(titles)
    yield _row([":--"] * words + ["--:"] * (len(titles) - words))
    for suite in record.suites:
        interval = DASH.join(short(end) for end in suite.ci95) if suite.ci95 else "·"
        cells = [
            code(suite.id),
            *([_model(suite)] if several else []),
            _verdict(verdict_word(suite)),
        ]
        cells += [f"**{exact(suite.auc_e)}**", interval, exact(suite.auc_e_null)]
        cells += [signed(suite.excess), *(short(suite.elasticity.get(d)) for d in distances)]
        yield _row([*cells, exact(suite.pass_at_1)])
    yield ""
    yield from (f"{line}.\n" for line in scopes(record.suites))
    yield from _controls(record)
    yield from _estimates(record)


def _instruments(record: Record) -> Iterator[str]:
    """Yield the suites of instruments, their gates that did not pass, and their tables."""
    if not record.instruments:
        return
    yield _row(["suite", "model", "verdict", "result"])
    yield _row([":--", ":--", ":--", ":--"])
    for suite in record.instruments:
        verdict = worst_verdict(gate.verdict for gate in suite.gates)
        cells = [code(suite.id), code(suite.model), _verdict(verdict)]
        yield _row([*cells, f"{suite.title}, {code(suite.brief)}"])
    yield ""
    missed = [
        (suite, g) for suite in record.instruments for g in suite.gates if g.verdict != "pass"
    ]
    for suite, gate in missed:
        yield f"- {_verdict(gate.verdict)} {code(suite.model)} {code(gate_line(gate))}"
    if missed:
        yield ""
    for suite in record.instruments:
        yield from _instrument(suite)


def _instrument(suite: InstrumentRecord) -> Iterator[str]:
    yield f"<details><summary>{suite.title}, tables</summary>"
    yield ""
    yield f"{code(suite.model)} {code(suite.heading)}. {suite.about}"
    yield ""
    for table in tables_in(shown_blocks(suite)):
        yield from _table(table)
    if suite.problems:
        yield f"Problems in responses: {problems_in_words(suite.problems)}."
        yield ""
    yield "</details>"
    yield ""


def _table(table: Table) -> Iterator[str]:
    yield f"**{table.title}**"
    yield ""
    yield _row([column.title for column in table.columns])
    yield _row([":--" if column.kind == "text" else "--:" for column in table.columns])
    for row in table.rows:
        yield _row(
            [
                code(cell) if isinstance(cell, str) and cell else written(cell, column.kind)
                for cell, column in zip(row, table.columns, strict=True)
            ]
        )
    yield ""


def _controls(record: Record) -> Iterator[str]:
    """Yield the loss of each suite that remains after subtracting the effect of length."""
    controlled = [suite for suite in record.suites if suite.control is not None]
    for suite in controlled:
        if suite.control is not None:
            yield f"- {code(suite.id)} {control_sentence(suite.control)}"
    if controlled:
        yield ""


def _estimates(record: Record) -> Iterator[str]:
    """Yield the secondary figures in a collapsed section."""
    scored = [suite for suite in record.suites if suite.estimates]
    if not scored:
        return
    yield "<details><summary>figures with their intervals</summary>"
    yield ""
    yield _row(["suite", "figure", "value", "95 %", "with tasks not seen"])
    yield _row([":--", ":--", "--:", "--:", "--:"])
    for suite in scored:
        for cells in estimates(record, suite):
            yield _row([code(suite.id), code(cells.label), *cells[1:]])
    yield ""
    yield "</details>"
    yield ""


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _model(suite: SuiteRecord) -> str:
    template = f" with {code(suite.template)}" if suite.template else ""
    return code(suite.model) + template


def _verdict(verdict: str | None) -> str:
    return "no gate" if verdict is None else _MARKS.get(verdict, verdict)


def _gates(record: Record) -> Iterator[str]:
    """List the gates that did not pass, with their messages."""
    several = len(series_of(record)) > 1
    missed = [
        (suite, gate)
        for suite in record.suites
        for gate in suite.gates
        if gate.verdict in ("fail", "inconclusive")
    ]
    for suite, gate in missed:
        where = code(f"{suite.id} · {gate.task}" if gate.task else suite.id)
        of_model = f" {_model(suite)}" if several else ""
        yield f"- {_verdict(gate.verdict)}: {where}{of_model}: {code(gate.message)}"
    if missed:
        yield ""


def _templates(record: Record) -> Iterator[str]:
    """Rank the templates of each model, with the sentence that decides."""
    for ranking in record.rankings:
        section = ranking_section(record, ranking)
        yield f"**Templates of {code(ranking.model)}: {decision(ranking, code)}**"
        yield ""
        for block in section.blocks:
            if isinstance(block, Table):
                yield from _table(block.only_brief(intervals=True))
            elif isinstance(block, Prose):
                yield f"{block.text}\n"


def _compared(record: Record) -> Iterator[str]:
    for reason, suites in uncompared(record).items():
        more = f" and {len(suites) - 1} more" if len(suites) > 1 else ""
        yield f"- ❌ not compared: {code(suites[0].id)}{more}: {code(reason)}"
        yield ""
    rows = compared(record)
    if not rows:
        return
    several = len(series_of(record)) > 1
    yield f"Against the baseline {code(record.comparisons[0].baseline.name)}:"
    yield ""
    yield _row(["suite", "figure", "verdict", "baseline", "now", "difference", "95 %", "allowed"])
    yield _row([":--"] * 3 + ["--:"] * 5)
    for suite, model, name, figure in rows:
        where = f"{code(suite)} {code(model)}" if several else code(suite)
        verdict = "" if figure.verdict is None else _MARKS[figure.verdict]
        interval = " to ".join(signed(end) for end in figure.ci95) if figure.ci95 else "·"
        numbers = [exact(figure.baseline), exact(figure.current), signed(figure.difference)]
        yield _row([where, name, verdict, *numbers, interval, exact(figure.margin)])
    yield ""


def _errors(record: Record) -> Iterator[str]:
    for message, errors in unscored(record).items():
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        mark = "skipped" if errors[0].skipped else "❗ not scored"
        yield f"- {mark}: {code(errors[0].where)}{more}: {code(message)}"
    if record.errors:
        yield ""


def _harmful(record: Record) -> Iterator[str]:
    shown, n = losses(record.tasks, most=_HARMFUL)
    if not shown:
        return
    count = f"{len(shown)} of {n}" if n > len(shown) else f"{n}"
    yield f"<details><summary>Most harmful variants ({count})</summary>"
    yield ""
    for loss in shown:
        yield from _one_harmful(loss)
    yield "</details>"
    yield ""


def _one_harmful(loss: Loss) -> Iterator[str]:
    causes = ", ".join(f"{n} {cause_words(cause)}" for cause, n in loss.variant.causes.items())
    passed = f"{short(loss.original.pass_rate)} → {short(loss.variant.pass_rate)}"
    yield f"**{passed}** {code(loss.task.id)} {code(loss.variant.id)} ({causes})"
    yield ""
    yield block(_difference(loss), "diff")
    yield ""
    for cause, detail in list(loss.variant.details.items())[:1]:
        yield f"{cause_words(cause)}: {code(detail.strip().partition(chr(10))[0])}"
        yield ""


def _difference(loss: Loss) -> str:
    """Return the changed words as lines of a diff."""
    marks = {"same": " ", "gone": "-", "new": "+"}
    return "\n".join(
        f"{marks[kind]} {' '.join(text.split())}"
        for kind, text in word_diff(loss.original.text, loss.variant.text)
        if text.strip()
    )


def _warnings(record: Record) -> Iterator[str]:
    about: dict[str, list[str]] = {}
    for suite in record.suites:
        for warning in suite.warnings:
            about.setdefault(warning, []).append(suite.id)
    for warning, suites in about.items():
        more = f" and {len(suites) - _NAMES} more" if len(suites) > _NAMES else ""
        yield f"- ⚠️ {code(warning)} {', '.join(code(suite) for suite in suites[:_NAMES])}{more}"
    if about:
        yield ""


def _cost(record: Record) -> str:
    usage = record.usage
    cost = "" if usage.cost is None else f", cost {usage.cost:.4g}"
    return (
        f"{usage.requests:,} requests, {usage.prompt_tokens:,} tokens sent, "
        f"{usage.completion_tokens:,} received{cost}, {usage.cached:,} completions from the store; "
        f"pytest-promptse {code(record.tool.get('version', ''))}"
    )
