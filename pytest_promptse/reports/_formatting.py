"""Formatting of numbers and names, shared by all reports."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from pytest_promptse._redaction import escape_commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.record._schema import SuiteRecord

NOT_MEASURED = "·"
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
SIGNIFICANT = 0.05
ARROWS = {"up": "↑", "down": "↓", "none": "—"}
"""The direction of a change that is significant, or none."""
WIDE = 100
"""Terminals of at least this many columns show the wide layout."""
_LEAST_PROBABILITY = 0.001
_LARGE_RATIO = 1000.0
_BARS = "▁▂▃▄▅▆▇█"
# Elasticities at or below this value have the lowest bar, since most values are above it.
_SPARK_FLOOR = 0.5


def console(*, width: int, colours: bool) -> Console:
    """Return a console of `width` columns that prints into memory, with ANSI colours if wanted."""
    return Console(
        file=StringIO(),
        width=width,
        force_terminal=colours,
        color_system="standard" if colours else None,
        no_color=not colours,
        highlight=False,
        emoji=False,
        markup=False,
    )


def printed(console: Console) -> str:
    """Return the text that was printed on a `console`, without trailing blanks.

    No text of a record can make a line a command to GitHub Actions.
    """
    if not isinstance(console.file, StringIO):
        raise TypeError("printed() takes a console from console()")
    lines = console.file.getvalue().splitlines()
    return escape_commands("\n".join(line.rstrip() for line in lines))


# Tolerance for sums of floats that are 1 in exact arithmetic.
_ROUNDING = 1e-9


def short(value: float | None) -> str:
    """Return a number with two decimals. Only exactly 1 is shown as 1.00. Zero has no sign."""
    return NOT_MEASURED if value is None else _decimals(value, 2)


def ratio(value: float | None) -> str:
    """Return an odds ratio with two decimals, or its power of ten from 1000 on."""
    return short(value) if value is None or value < _LARGE_RATIO else f"{value:.0e}"


def exact(value: float | None) -> str:
    """Return a number with three decimals. Only exactly 1 is shown as 1.000. Zero has no sign."""
    return NOT_MEASURED if value is None else _decimals(value, 3)


def _decimals(value: float, digits: int) -> str:
    shown = round(value, digits) + 0.0
    if shown == 1.0 and value < 1.0 - _ROUNDING:
        shown -= 10.0**-digits
    return f"{shown:.{digits}f}"


def signed(value: float | None) -> str:
    """Return a change with its sign, or ``0.00`` without a sign if it rounds to zero."""
    if value is None:
        return NOT_MEASURED
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", MINUS)


def points(value: float) -> str:
    """Return a change in points of a scale, with its sign and one decimal; ``+0.0`` for zero."""
    text = f"{value:+.1f}"
    return "+0.0" if text == "-0.0" else text


def starred(text: str, p_adjusted: float | None) -> str:
    """Return `text` with a star if it is significant, else with a blank.

    `p_adjusted` is the p-value after adjustment for multiple comparisons, or None without a test.
    """
    return text + ("*" if p_adjusted is not None and p_adjusted < SIGNIFICANT else " ")


def probability(value: float | None) -> str:
    """Return a p-value with three decimals, or ``<0.001``."""
    if value is None:
        return NOT_MEASURED
    return f"{value:.3f}" if value >= _LEAST_PROBABILITY else f"<{_LEAST_PROBABILITY:g}"


def sparkline(values: Sequence[float | None]) -> str:
    """Draw elasticities as bars, ``▁`` for 0.5 and less up to ``█`` for 1."""
    return "".join(NOT_MEASURED if value is None else _bar(value) for value in values)


def _bar(value: float) -> str:
    share = (value - _SPARK_FLOOR) / (1.0 - _SPARK_FLOOR)
    return _BARS[min(len(_BARS) - 1, max(0, int(share * len(_BARS))))]


def cause_words(cause: str) -> str:
    """Return a cause of failure as words, for example ``wrong answer``."""
    return cause.replace("_", " ")


def label(suite: SuiteRecord) -> str:
    """Return the short name of a suite: its function, or its file without the suffix."""
    path, _, function = suite.id.partition("::")
    return function or path.rpartition("/")[2].partition(".promptse.")[0]


def shortened(text: str, width: int) -> str:
    """Return `text` in exactly `width` cells: cut in the middle, or padded with blanks.

    A cell is one column of the terminal; wide characters take two. `width` is at least 1.
    """
    width = max(1, width)
    if cell_len(text) <= width:
        return text + " " * (width - cell_len(text))
    head, tail = "", ""
    for letter in reversed(text):
        if cell_len(letter + tail) > (width - 1) // 2:
            break
        tail = letter + tail
    for letter in text:
        if cell_len(head + letter) > width - 1 - cell_len(tail):
            break
        head += letter
    cut = f"{head}…{tail}"
    return cut + " " * (width - cell_len(cut))


def columns(cells: Sequence[tuple[str, str]], widths: Sequence[int]) -> Text:
    """Return right-aligned cells, given as (text, style), in one line that is not wrapped.

    `widths` has the width of each cell in columns of the terminal. A longer cell is not cut.
    """
    line = Text(no_wrap=True, overflow="ignore")
    for (text, style), width in zip(cells, widths, strict=True):
        line.append(" " * max(0, width - cell_len(text)))
        line.append(text, style)
    return line
