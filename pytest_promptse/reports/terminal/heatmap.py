"""Heat map of the change of the pass rate by emotion and distance, and by persona trait."""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.record.queries import left_out_without_cue
from pytest_promptse.reports.formatting import SIGNIFICANT, shortened, signed, starred

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record.schema import SubgroupRecord

# Shades of a cell by loss of pass rate.
_SHADES = ((0.4, "█"), (0.2, "▓"), (0.1, "▒"), (0.05, "░"))
_LEFT, _RIGHT = ("technical", "experience"), ("collaboration", "personality")


def heatmap(voices: Sequence[SubgroupRecord], *, most: int | None = None) -> Iterator[Text]:
    """Show by how much pass rates change against the originals', marked where significant.

    Nothing where no voice changes anything. The worst come first; `most` is how many lines of
    them are shown, all by default.
    """
    if not any(float(f"{voice.change:.2f}") for voice in voices):
        return
    emotions = [voice for voice in voices if voice.trait == "emotion"]
    distances = sorted({v.distance for v in voices if v.distance is not None})
    at = {(voice.value, voice.distance): voice for voice in emotions}
    names = sorted(
        {voice.value for voice in emotions}, key=lambda name: (at[name, None].change, name)
    )
    left, right = _margin(voices, _LEFT), _margin(voices, _RIGHT)
    gap = " " * (12 + 8 * len(distances)) if names else ""
    head = Text(f"{'where':<12}", "bold") if names else Text("where", "bold")
    for distance in distances if names else ():
        head.append(f"d{distance:g}".rjust(7) + " ", "not bold dim")
    yield head.append("  change of the pass rate, * if significant", "not bold dim")
    for name, *margins in islice(zip_longest(names, left, right), most):
        line = Text(no_wrap=True, overflow="ignore")
        if name is None:
            line.append(gap)
        else:
            line.append(f"  {shortened(name, 10)}")
            for distance in distances:
                line.append_text(_cell(at.get((name, distance))))
        for voice in margins:
            line.append(" ")
            if voice is not None:
                line.append(shortened(voice.value, 13)).append_text(_cell(voice))
            else:
                line.append(" " * 21)
        line.rstrip()
        yield line
    left_out = left_out_without_cue(voices)
    if left_out is not None:
        yield Text(f"  {left_out}", "dim")


def _margin(voices: Sequence[SubgroupRecord], traits: Sequence[str]) -> list[SubgroupRecord]:
    return [
        voice
        for trait in traits
        for voice in sorted(voices, key=lambda voice: (voice.change, voice.value))
        if voice.trait == trait and voice.distance is None
    ]


def _cell(voice: SubgroupRecord | None) -> Text:
    if voice is None:
        return Text(" " * 6 + "· ", "dim")
    shade = next((sign for least, sign in _SHADES if voice.change <= -least), " ")
    figure = starred(signed(voice.change), voice.p_adjusted)
    style = ("red" if voice.change < 0 else "green") if voice.p_adjusted < SIGNIFICANT else "dim"
    return Text(f" {shade}", "red").append(figure.rjust(6), style)
