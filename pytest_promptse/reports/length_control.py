"""What is left of the loss once length is taken away, in sentences that all reports show."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.reports.formatting import MINUS, NOT_MEASURED, label

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record.schema import (
        ControlRecord,
        EstimateRecord,
        Interval,
        SuiteRecord,
    )

# A loss that rounds to 0.00 is none.
_LEAST_LOSS = 0.005


class ControlCells(NamedTuple):
    """One row of figures as text; ``distance`` is ``all`` for the area over all distances."""

    distance: str
    loss: str
    control_loss: str
    left: str
    added: str
    control_added: str


def control_sentences(suites: Sequence[SuiteRecord]) -> Iterator[str]:
    """Yield for each suite with a control what is left of its loss, with the suite's name."""
    for suite in suites:
        if suite.control is not None:
            yield f"{label(suite)}: {control_sentence(suite.control)}"


def control_sentence(control: ControlRecord) -> str:
    """Return what is left of a loss once length is taken away, as a sentence."""
    left, loss = control.left, control.loss
    missing = ""
    if control.n_measured < control.n_planned:
        missing = f" ({control.n_measured} of {control.n_planned} control variants were measured)"
    if loss is None or control.control_loss is None or left.value is None:
        return f"The control was not measured at every distance{missing}."
    if loss < _LEAST_LOSS:
        found = (
            f"The variants lose nothing on average (loss {_figure(loss)}); control variants of "
            f"the same length lose {_figure(control.control_loss)}, a difference of "
            f"{_estimate(left)}"
        )
        return f"{found}{missing}."
    found = f"Of the loss of {_figure(loss)}, {_estimate(left)} is left once length is taken away"
    low, high = left.ci95 or (None, None)
    if low is not None and low > 0:
        return f"{found}{missing}: it is not due to the added text alone."
    if high is not None and high < 0:
        return (
            f"{found}{missing}: control variants of the same length lose more, "
            f"{_figure(control.control_loss)}."
        )
    if left.value > 0:
        return f"{found}{missing}: the length explains the rest, and may explain all of it."
    return f"{found}{missing}: the length explains all of it."


def control_rows(control: ControlRecord) -> list[ControlCells]:
    """Return the figures of a control, by distance and over all distances."""
    rows = [
        ControlCells(
            distance=distance,
            loss=_figure(level.loss),
            control_loss=_figure(level.control_loss),
            left=_estimate(level.left),
            added=f"{level.added:.1f}",
            control_added=f"{level.control_added:.1f}",
        )
        for distance, level in control.levels.items()
    ]
    rows.append(
        ControlCells(
            distance="all",
            loss=_figure(control.loss),
            control_loss=_figure(control.control_loss),
            left=_estimate(control.left),
            added="",
            control_added="",
        )
    )
    return rows


def _estimate(estimate: EstimateRecord) -> str:
    interval = _interval(estimate.ci95)
    return _figure(estimate.value) + (f" ({interval})" if interval else "")


def _interval(interval: Interval | None) -> str:
    return " to ".join(_figure(end) for end in interval) if interval else ""


def _figure(value: float | None) -> str:
    """Return a number with two decimals, without the sign of a zero."""
    if value is None:
        return NOT_MEASURED
    text = f"{value:.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", MINUS)
