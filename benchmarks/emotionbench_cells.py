"""Compare the printed cells of EmotionBench's Tables 3 to 5 with the authors' responses.

Usage: python benchmarks/emotionbench_cells.py CLONE PAPER.txt

CLONE is a clone of github.com/CUHK-ARISE/EmotionBench. PAPER.txt is the text of the paper
(arXiv:2308.03656) with one row of a table per line. Neither is in this repository.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.psychometrics.emotionbench._factors import EMOTIONS, NEGATIVE, POSITIVE
from pytest_promptse.psychometrics.emotionbench._importer import EMOTION_SCALES, OVERALL_CATEGORY
from pytest_promptse.psychometrics.emotionbench._published import read_crowd, read_responses
from pytest_promptse.psychometrics.emotionbench._scoring import (
    OVERALL,
    score_crowd,
    score_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.psychometrics.emotionbench._scoring import AffectChange

_PANAS_TABLES = {
    3: ("davinci-003", "gpt-3.5-turbo", "gpt-4", "crowd"),
    4: ("llama2-7b", "llama2-13b"),
}
_ARROWS = {"↑": "up", "↓": "down", "—": "none", "-": "none"}
_CELL = re.compile(r"([↓↑—-]) ?\(([+-]\d+\.\d)\)")
# A printed change is rounded to one decimal.
_TOLERANCE = 0.0501


class Printed(NamedTuple):
    """A row of a printed table: its names, and the arrow and change of each cell."""

    names: str
    cells: list[tuple[str, float]]


def printed_rows(text: str, table: int) -> list[Printed]:
    """Return the rows between the caption of a table and the next paragraph."""
    start = text.index(f"\nTable {table}: ")
    rows: list[Printed] = []
    for line in text[start:].split("\n")[2:]:
        cells = [(_ARROWS[arrow], float(delta)) for arrow, delta in _CELL.findall(line)]
        names = " ".join(_CELL.sub("", line).split())
        if cells:
            rows.append(Printed(names=names, cells=cells))
        elif rows and "Average" not in line and line.strip():
            break
    return rows


def rows_of(printed: Sequence[Printed], name: str) -> Iterable[Printed]:
    """Return the printed rows of a factor, an emotion's average, or all."""
    emotion, dash, number = name.partition("-")
    label = EMOTIONS[emotion][int(number)] if dash else f"{name}: Average"
    # Table 3 misspells two factors.
    pattern = re.escape(label.lower()).replace("tattling", "tatt(?:l)?ing")
    pattern = pattern.replace("goals", "goals?")
    return (row for row in printed if re.search(pattern + r"$", row.names.lower()))


def compare(
    heading: str, printed: Sequence[Printed], columns: Sequence[tuple[str, Sequence[AffectChange]]]
) -> None:
    """Print how many cells of each column agree, and which do not."""
    print(f"\n{heading}")
    names = [change.name for _, changes in columns for change in changes]
    for number, (column, changes) in enumerate(columns):
        computed = {change.name: change for change in changes}
        n_shown = n_same = 0
        for name in dict.fromkeys(names):
            for row in rows_of(printed, name) if name in computed else ():
                if number >= len(row.cells):
                    continue
                n_shown += 1
                arrow, delta = row.cells[number]
                own = computed[name]
                if own.delta is None or arrow != own.arrow or abs(own.delta - delta) > _TOLERANCE:
                    print(
                        f"  {column}, {name}: printed {arrow} {delta:+.1f}, from the responses "
                        f"{own.arrow} {own.delta:+.2f} (p = {own.p_value:.2g})"
                    )
                else:
                    n_same += 1
        print(f"{column}: {n_same} of {n_shown} cells")


def main() -> None:
    """Compare all three tables."""
    clone, text = Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8")
    results = clone / "results"
    for table, models in _PANAS_TABLES.items():
        columns: list[tuple[str, Sequence[AffectChange]]] = []
        for model in models:
            for letter, category in (("P", POSITIVE), ("N", NEGATIVE)):
                if model == "crowd":
                    crowd = read_crowd(results / "PANAS Test" / "crowd.xlsx")
                    changes = score_crowd(crowd.before[category], crowd.after[category])
                else:
                    found = read_responses(results / "PANAS Test" / f"{model}-PANAS-testing.csv")
                    changes = score_table(
                        found.default[category], found.evoked[category], method="paper"
                    )
                columns.append((f"{model} {letter}", changes))
        compare(f"Table {table}", printed_rows(text, table), columns)
    of_scales: list[AffectChange] = []
    for scale in EMOTION_SCALES.values():
        found = read_responses(results / "Challenging Bench" / f"gpt-3.5-turbo-{scale}-testing.csv")
        rows = score_table(
            found.default[OVERALL_CATEGORY], found.evoked[OVERALL_CATEGORY], method="paper"
        )
        of_scales += [change for change in rows if change.name != OVERALL]
    compare("Table 5", printed_rows(text, 5), [("gpt-3.5-turbo", of_scales)])


if __name__ == "__main__":
    main()
