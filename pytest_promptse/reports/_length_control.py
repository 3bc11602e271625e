"""Sentences about the loss that remains after subtracting the effect of length, for all reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.reports._formatting import MINUS, NOT_MEASURED, label

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._figures import ControlRecord, EstimateRecord, Interval
    from pytest_promptse.record._schema import SuiteRecord

# A loss that rounds to 0.00 counts as none.
_LEAST_LOSS = 0.005


class ControlCells(NamedTuple):
    """One row of figures as text. ``distance`` is ``all`` for the area over all distances.

    ``loss`` and ``control_loss`` are the losses of variants and control variants, and
    ``excess_loss`` is their difference. ``words_added`` and ``control_words_added`` are the mean
    numbers of added words.
    """

    distance: str
    loss: str
    control_loss: str
    excess_loss: str
    words_added: str
    control_words_added: str


def control_lines(suites: Sequence[SuiteRecord], *, verbose: bool) -> Iterator[str]:
    """Yield the remaining loss of each suite with a control condition, for the terminal.

    Suites that lose nothing share one line, unless `verbose` is True. `verbose` also adds the
    figures by distance.
    """
    stable = []
    for suite in suites:
        control = suite.control
        if control is None:
            continue
        if not verbose and control.loss is not None and control.loss < _LEAST_LOSS:
            stable.append(label(suite))
            continue
        yield f"{label(suite)}: {control_sentence(control)}"
        if verbose:
            for row in control_rows(control):
                words = (
                    f", {row.words_added} and {row.control_words_added} words added"
                    if row.words_added
                    else ""
                )
                yield (
                    f"  distance {row.distance}: loss {row.loss}, of the control "
                    f"{row.control_loss}, left {row.excess_loss}{words}"
                )
    if stable:
        n = len(stable)
        what = stable[0] if n == 1 else f"{n} suites"
        yield f"{what}: no loss on average, so none for length to explain (-v shows the figures)"


def control_sentence(control: ControlRecord) -> str:
    """Return a sentence about the loss that remains after subtracting the effect of length."""
    left, loss = control.excess_loss, control.loss
    missing = ""
    if control.n_measured < control.n_planned:
        missing = f" ({control.n_measured} of {control.n_planned} control variants were measured)"
    if loss is None or control.control_loss is None or left.value is None:
        return f"The control was not measured at every distance{missing}."
    if loss < _LEAST_LOSS:
        sentence = (
            f"The variants lose nothing on average (loss {_figure(loss)}); control variants of "
            f"the same length lose {_figure(control.control_loss)}, a difference of "
            f"{_estimate(left)}"
        )
        return f"{sentence}{missing}."
    sentence = (
        f"Of the loss of {_figure(loss)}, {_estimate(left)} is left once length is taken away"
    )
    return f"{sentence}{missing}: {_in_words(control, left.value, left.ci95)}."


def _in_words(control: ControlRecord, left: float, interval: Interval | None) -> str:
    """Return the meaning of the interval of the remaining loss, with limits as printed.

    `left` is the loss in elasticity that length does not explain, and `interval` its 95 % interval,
    or None if unknown. `control` has the loss of the control variants.
    """
    if interval is None:
        return "the length explains the rest"
    if interval[0] >= _LEAST_LOSS:
        return "it is not due to the added text alone"
    if interval[1] <= -_LEAST_LOSS:
        more = _figure(control.control_loss)
        return f"control variants of the same length lose more, {more}"
    if left >= _LEAST_LOSS:
        return "the length explains the rest, and may explain all of it"
    return "the length explains all of it"


def control_rows(control: ControlRecord) -> list[ControlCells]:
    """Return the figures of a control, by distance and over all distances."""
    rows = [
        ControlCells(
            distance=distance,
            loss=_figure(level.loss),
            control_loss=_figure(level.control_loss),
            excess_loss=_estimate(level.excess_loss),
            words_added=f"{level.words_added:.1f}",
            control_words_added=f"{level.control_words_added:.1f}",
        )
        for distance, level in control.levels.items()
    ]
    rows.append(
        ControlCells(
            distance="all",
            loss=_figure(control.loss),
            control_loss=_figure(control.control_loss),
            excess_loss=_estimate(control.excess_loss),
            words_added="",
            control_words_added="",
        )
    )
    return rows


def _estimate(estimate: EstimateRecord) -> str:
    interval = _interval(estimate.ci95)
    return _figure(estimate.value) + (f" ({interval})" if interval else "")


def _interval(interval: Interval | None) -> str:
    return " to ".join(_figure(end) for end in interval) if interval else ""


def _figure(value: float | None) -> str:
    """Return a number with two decimals. A zero has no sign."""
    if value is None:
        return NOT_MEASURED
    text = f"{value:.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", MINUS)
