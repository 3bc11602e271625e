"""The ``latex`` report, and the form of every table for LaTeX: ``tabular`` with booktabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.record._files import write_chunks
from pytest_promptse.record._queries import metric_in, series_of
from pytest_promptse.record._sections import tables_in
from pytest_promptse.reports._cells import written
from pytest_promptse.reports._estimates import scopes, value_cell
from pytest_promptse.reports._formatting import DASH, MINUS, NOT_MEASURED, exact, short, signed
from pytest_promptse.reports._instruments import shown_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_promptse.record._schema import Record, SuiteRecord
    from pytest_promptse.record._sections import Table

_COLUMNS = ("pass_at_1", "auc_e", "excess", "drop")
_ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        **{mark: f"\\{mark}" for mark in "&%$#_"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # Listed, since pdfLaTeX stops at characters that its fonts lack.
        MINUS: "$-$",
        DASH: "--",
        NOT_MEASURED: "--",
        "→": r"$\rightarrow$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "—": "---",
        "Δ": r"$\Delta$",
        "χ": r"$\chi$",
        "\N{GREEK SMALL LETTER RHO}": r"$\rho$",
        "τ": r"$\tau$",
        "²": r"$^2$",
        "⁹": r"$^9$",
        "\N{MULTIPLICATION SIGN}": r"$\times$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
    }
)


def write(record: Record, path: Path) -> None:
    """Write the suites of a record as tables and create the folder if it is missing.

    There is one table of all stability suites, and one for each table of an instrument's suite.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    """
    several = len(series_of(record)) > 1
    distances = sorted({d for suite in record.suites for d in suite.elasticity}, key=float)
    titles = ["suite", *(["model"] if several else []), "pass@1", *(f"E({d})" for d in distances)]
    titles += ["AUC-E", "95 %", "noise ceiling", "excess", "drop"]
    # Further figures have a column if a suite has a gate on them.
    further = [
        name
        for name in dict.fromkeys(name for suite in record.suites for name in suite.estimates)
        if name not in _COLUMNS and _has_gate(record, name)
    ]
    titles += [metric_in(record, name).short_label for name in further]
    rows = [
        [
            *_cells(suite, distances, several=several),
            *(value_cell(record, suite, name) for name in further),
        ]
        for suite in record.suites
    ]
    n_texts = 2 if several else 1
    warnings = dict.fromkeys(warning for suite in record.suites for warning in suite.warnings)
    text = tabular(
        titles,
        rows,
        is_text=[column < n_texts for column in range(len(titles))],
        notes=[*scopes(record.suites), *warnings],
    )
    texts = [text] if record.suites or not record.instruments else []
    texts += [
        latex_table(table, about=f"{suite.title}, {suite.model}: ")
        for suite in record.instruments
        for table in tables_in(shown_blocks(suite))
        if table.brief != 0
    ]
    write_chunks(["\n".join(texts).encode()], path, what=f"report latex:{path}")


def latex_table(table: Table, *, about: str = "") -> str:
    """Return the columns of a table that the terminal shows, with all rows.

    Its title is a comment, which begins with `about`.
    """
    shown = table.only_brief()
    kinds = [column.kind for column in shown.columns]
    return tabular(
        [column.title for column in shown.columns],
        [
            [written(cell, kind) for cell, kind in zip(row, kinds, strict=True)]
            for row in shown.rows
        ],
        is_text=[kind == "text" for kind in kinds],
        notes=[about + table.title],
    )


def _has_gate(record: Record, metric: str) -> bool:
    option = metric_in(record, metric).option
    return any(option and suite.settings.get(option) is not None for suite in record.suites)


def tabular(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    is_text: Sequence[bool],
    notes: Sequence[str] = (),
) -> str:
    """Return a ``tabular`` that needs the package booktabs, with `notes` as comments above it.

    Texts are escaped. Columns with ``is_text`` are set left, the others right.
    """
    columns = "".join("l" if is_left else "r" for is_left in is_text)
    lines = [f"% {' '.join(note.split())}" for note in notes]
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _row(titles), r"\midrule"]
    lines += [*map(_row, rows), r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _cells(suite: SuiteRecord, distances: Sequence[str], *, several: bool) -> Iterator[str]:
    yield suite.id
    if several:
        yield f"{suite.model}, {suite.template}" if suite.template else suite.model
    yield exact(suite.pass_at_1)
    yield from (exact(suite.elasticity.get(distance)) for distance in distances)
    yield exact(suite.auc_e)
    yield DASH.join(map(short, suite.ci95)) if suite.ci95 else NOT_MEASURED
    yield exact(suite.auc_e_null)
    yield signed(suite.excess)
    yield signed(suite.drop)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(" ".join(cell.split()).translate(_ESCAPED) for cell in cells) + r" \\"
