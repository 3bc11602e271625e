"""Heat map of the change of the pass rate by emotion and distance, and by persona trait."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.record._queries import left_out_without_cue
from pytest_promptse.reports._formatting import SIGNIFICANT, shortened, signed, starred

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._schema import SubgroupRecord

# Shades of a cell by loss of pass rate.
_SHADES = ((0.4, "█"), (0.2, "▓"), (0.1, "▒"), (0.05, "░"))
_LEFT, _RIGHT = ("technical", "experience"), ("collaboration", "personality")


def heatmap(subgroups: Sequence[SubgroupRecord]) -> Iterator[Text]:
    """Show the changes of the pass rates from the originals', with significant ones marked.

    Nothing is shown if no subgroup changes anything. The worst lines come first.
    """
    if not any(float(f"{subgroup.change:.2f}") for subgroup in subgroups):
        return
    emotions = [subgroup for subgroup in subgroups if subgroup.trait == "emotion"]
    distances = sorted({v.distance for v in subgroups if v.distance is not None})
    at = {(subgroup.value, subgroup.distance): subgroup for subgroup in emotions}
    names = sorted(
        {subgroup.value for subgroup in emotions}, key=lambda name: (at[name, None].change, name)
    )
    left, right = _margin(subgroups, _LEFT), _margin(subgroups, _RIGHT)
    gap = " " * (12 + 8 * len(distances)) if names else ""
    head = Text(f"{'where':<12}", "bold") if names else Text("where", "bold")
    for distance in distances if names else ():
        head.append(f"d{distance:g}".rjust(7) + " ", "not bold dim")
    yield head.append("  change of the pass rate, * if significant", "not bold dim")
    for name, *margins in zip_longest(names, left, right):
        line = Text(no_wrap=True, overflow="ignore")
        if name is None:
            line.append(gap)
        else:
            line.append(f"  {shortened(name, 10)}")
            for distance in distances:
                line.append_text(_cell(at.get((name, distance))))
        for subgroup in margins:
            line.append(" ")
            if subgroup is not None:
                line.append(shortened(subgroup.value, 13)).append_text(_cell(subgroup))
            else:
                line.append(" " * 21)
        line.rstrip()
        yield line
    left_out = left_out_without_cue(subgroups)
    if left_out is not None:
        yield Text(f"  {left_out}", "dim")


def _margin(subgroups: Sequence[SubgroupRecord], traits: Sequence[str]) -> list[SubgroupRecord]:
    return [
        subgroup
        for trait in traits
        for subgroup in sorted(subgroups, key=lambda subgroup: (subgroup.change, subgroup.value))
        if subgroup.trait == trait and subgroup.distance is None
    ]


def _cell(subgroup: SubgroupRecord | None) -> Text:
    if subgroup is None:
        return Text(" " * 6 + "· ", "dim")
    shade = next((sign for least, sign in _SHADES if subgroup.change <= -least), " ")
    figure = starred(signed(subgroup.change), subgroup.p_adjusted)
    style = (
        ("red" if subgroup.change < 0 else "green") if subgroup.p_adjusted < SIGNIFICANT else "dim"
    )
    return Text(f" {shade}", "red").append(figure.rjust(6), style)
