"""Tables that ``-v`` adds: every measured variant, and calibration by quadrant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.reports._formatting import (
    cause_words,
    columns,
    short,
    shortened,
    signed,
    starred,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_promptse.record._figures import Calibrations
    from pytest_promptse.record._schema import TaskRecord
    from pytest_promptse.scoring._scores import TaskDrop
    from pytest_promptse.store._measured_variant import VariantRecord

_MOST_NAME = 60
_WIDTHS = (6, 7, 8)


def variant_lines(tasks: Iterable[TaskRecord], *, width: int) -> Iterator[Text]:
    """Show pass rate, score, change and causes of failure of each variant, by task.

    `width` is that of the terminal in columns; long names are shortened to fit.
    """
    tasks = [task for task in tasks if task.original is not None or task.variants]
    if not tasks:
        return
    room = min(_MOST_NAME, max(20, width - sum(_WIDTHS) - 16))
    head = [("pass", "dim"), ("score", "dim"), ("delta ", "dim")]
    yield Text(shortened("variants", room), "bold").append_text(columns(head, _WIDTHS))
    for task in tasks:
        yield Text(shortened(task.id, width).rstrip())
        if task.drop is not None:
            yield Text(f"  {_in_words(task.drop)}", "dim")
        if task.original is not None:
            yield _row("original", task.original, None, None, room=room, width=width)
        for variant in task.variants:
            yield _row(
                variant.id,
                variant,
                variant.delta,
                variant.p_adjusted,
                room=room,
                width=width,
            )


def _in_words(drop: TaskDrop) -> str:
    low, high = (signed(limit) for limit in drop.ci95)
    shown = "equivalent" if drop.equivalent else "not shown to be equivalent"
    return (
        f"drop {signed(drop.value)} ({low} to {high}), shrunken {signed(drop.shrunken)}, {shown} "
        f"within {short(drop.margin)}"
    )


def calibration(groups: Calibrations) -> Iterator[Text]:
    """Show the calibration of the confidence, by quadrant of emotion."""
    widths = (8, 7, 12, 12)
    titles = ("samples", "ECE", "overconf.", "underconf.")
    head = [(title, "dim") for title in titles]
    yield Text(shortened("calibration", 18), "bold").append_text(columns(head, widths))
    for name, group in groups.items():
        cells = [
            (f"{group.n}", ""),
            (short(group.ece), ""),
            (short(group.overconfident), ""),
            (short(group.underconfident), ""),
        ]
        yield Text(shortened(f"  {name}", 18)).append_text(columns(cells, widths))


def _row(
    name: str,
    variant: VariantRecord,
    delta: float | None,
    p_adjusted: float | None,
    *,
    room: int,
    width: int,
) -> Text:
    cells = [
        (short(variant.pass_rate), ""),
        (short(variant.score), ""),
        ("" if name == "original" else starred(signed(delta), p_adjusted), ""),
    ]
    line = Text(shortened(f"  {name}", room)).append_text(columns(cells, _WIDTHS))
    causes = ", ".join(f"{count} {cause_words(cause)}" for cause, count in variant.causes.items())
    line.append(f"  {causes}" if causes else "", "dim")
    line.truncate(width, overflow="ellipsis")
    return line
