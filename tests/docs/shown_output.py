"""Compare the output that a page shows with what its commands print, and bring it up to date."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A line of a page that stands for any number of printed lines.
OMITTED = "..."
# A printed line that is less like a shown line is no newer form of it.
_LEAST_LIKENESS = 0.6
_BARS = "▁▂▃▄▅▆▇█"
_FIGURES = re.compile(rf"\d+\.\d+|[{_BARS}]+")
_FIGURE = "¤"
# Processors round differently in the last place, so one sample of eight may come out otherwise.
_ONE_SAMPLE = 0.125


def first_missing(shown: Sequence[str], printed: str) -> str | None:
    """Return the first shown line that was not printed in this order, or None."""
    lines = iter(without_progress(printed).splitlines())
    for line in shown:
        if line.strip() == OMITTED:
            continue
        if not any(is_as_shown(line, candidate) for candidate in lines):
            return line
    return None


def is_as_shown(shown: str, printed: str) -> bool:
    """Return whether a printed line is the shown one, with its figures, stars and bars."""
    # Three dots stand for any text; more dots are those of pytest.
    parts = re.split(r"(?<!\.)\.{3}(?!\.)", _masked(shown))
    pattern = ".*".join(re.escape(part).replace(_FIGURE, r"(\S+)") for part in parts)
    same_words = re.fullmatch(pattern, " ".join(_fixed_by_seed(printed).split()))
    return same_words is not None and all(
        map(_agree, _FIGURES.findall(_fixed_by_seed(shown)), same_words.groups())
    )


def without_progress(printed: str) -> str:
    """Join the rows that progress lines of a slow run split."""
    return re.sub(r"\n?promptse \d+ of \d+ samples .*\n", "", printed)


def _fixed_by_seed(line: str) -> str:
    """Drop what no seed fixes: times, sizes, versions and the rules that fill a line."""
    line = re.sub(r" in \d+\.\d+s(?: \(\d+:\d\d:\d\d\))?", "", line)
    line = re.sub(r"\d+(?:\.\d+){2,}\S*|\d+\.\d+ ?(?:s|MiB|MB|GiB|GB)\b", "", line)
    return line.replace("_", "").replace("=", "")


def _masked(line: str) -> str:
    return " ".join(_FIGURES.sub(_FIGURE, _fixed_by_seed(line)).split())


def _agree(shown: str, printed: str) -> bool:
    if _FIGURES.fullmatch(printed) is None:
        return False
    if shown[0] in _BARS:
        return len(shown) == len(printed) and all(
            abs(_BARS.index(one) - _BARS.index(other)) <= _ONE_SAMPLE * len(_BARS)
            for one, other in zip(shown, printed, strict=True)
        )
    return abs(float(shown) - float(printed)) <= _ONE_SAMPLE * max(1, abs(float(shown)))


def updated(rows: Sequence[tuple[str, bool]], printed: str) -> list[str]:
    """Return the lines of a console block with what its commands print now.

    Typed lines and lines ``...`` stay. The shown lines between two of them are a passage. The
    printed lines replace it, from the one most like its first line to the one most like its last.

    Parameters
    ----------
    rows
        The lines of the block, each with whether a reader types it.
    printed
        The output of all its commands.

    Raises
    ------
    LookupError
        No printed line is like any line of a passage, so a person must place it.
    """
    output = [line.rstrip() for line in without_progress(printed).splitlines()]
    shown = {
        number: line
        for number, (line, typed) in enumerate(rows)
        if line.strip() not in ("", OMITTED) and not typed
    }
    places = _aligned(shown, output)
    lines: list[str] = []
    for is_kept, group in groupby(
        enumerate(rows), key=lambda row: row[1][1] or row[1][0].strip() == OMITTED
    ):
        passage = [(number, line) for number, (line, _) in group]
        here = {places[number]: line for number, line in passage if number in places}
        if is_kept or not any(number in shown for number, _ in passage):
            lines += [line for _, line in passage]
        elif not here:
            raise LookupError(passage[0][1])
        else:
            for place in range(min(here), max(here) + 1):
                kept = here.get(place, "")
                lines.append(kept if kept and is_as_shown(kept, output[place]) else output[place])
    return lines


def _aligned(shown: Mapping[int, str], output: Sequence[str]) -> dict[int, int]:
    """Return the printed line of each shown line, in order, so that likeness adds up to most."""
    numbers = list(shown)
    likeness = [[_likeness(shown[number], line) for line in output] for number in numbers]
    # best[i][j]: the greatest sum for the shown lines from i on and the printed ones from j on.
    best = [[0.0] * (len(output) + 1) for _ in range(len(numbers) + 1)]
    for i in reversed(range(len(numbers))):
        for j in reversed(range(len(output))):
            pair = likeness[i][j] + best[i + 1][j + 1] if likeness[i][j] else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], pair)
    places: dict[int, int] = {}
    i = j = 0
    while i < len(numbers) and j < len(output):
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            places[numbers[i]] = j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            i += 1
    return places


def _likeness(shown: str, printed: str) -> float:
    """Return a number in [0, 1]: 0 for lines that have nothing to do with each other."""
    if is_as_shown(shown, printed):
        return 1.0
    ratio = SequenceMatcher(None, _masked(shown), _masked(printed)).ratio()
    # A square prefers one line that is the same to two that are only similar.
    return ratio**2 if ratio >= _LEAST_LIKENESS else 0.0
