"""Gates: compare a figure with a threshold, with or without regard to its uncertainty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

from pytest_promptse.config._metrics import metric_label
from pytest_promptse.scoring._intervals import share_interval
from pytest_promptse.scoring._scores import Gate

if TYPE_CHECKING:
    from pytest_promptse.config._metrics import Direction
    from pytest_promptse.scoring._scores import Interval, Verdict

GateKind: TypeAlias = Literal["point", "confident"]

_LARGE = 1000.0


def judge_gate(
    name: str,
    value: float | None,
    threshold: float | None,
    *,
    ci95: Interval | None = None,
    exact: Interval | None = None,
    kind: GateKind = "point",
    null: float | None = None,
    samples: int | None = None,
    original_samples: int | None = None,
    direction: Direction = "at least",
    noiseless: float | None = None,
    narrowed_by: str = "More tasks would narrow it",
    label: str | None = None,
) -> Gate:
    """Compare a figure with its threshold.

    Parameters
    ----------
    name
        The name of the gate as in item ids: ``"auc-e"``, ``"elasticity-d0.3"``, ``"robust-pass"``.
    value
        The point estimate, or None if it was not measured.
    threshold
        The threshold of the user, or None for a figure that is only shown.
    ci95
        The figure's 95 % interval. Required by ``kind="confident"``.
    exact
        The 95 % interval that holds for every population of tasks, or None if there is none.
    kind
        ``"point"`` compares `value`; a value equal to the threshold passes. ``"confident"`` fails
        only if both intervals are on the wrong side of the threshold. It passes only if both are on
        the right side or on the threshold. Otherwise it is inconclusive.
    null
        The noise ceiling: the expected figure of a model on which variants have no effect. A
        threshold above it gets a warning.
    samples, original_samples
        Numbers of samples per variant and of the original, for that warning.
    direction
        ``"at least"`` for minima (elasticities, pass rate), ``"at most"`` for maxima such as
        ``excess``.
    noiseless
        A 95 % limit of the true figure, which has no sampling noise in it: the upper limit for
        minima, and the lower one for maxima. A confident gate fails only if it is on the wrong side
        of `threshold` too, since noise makes these figures worse. None for figures without such
        noise.
    narrowed_by
        A sentence for the message if only `exact` contains the threshold.
    label
        The name in messages. None means that of the metric that `name` is the gate of.

    Raises
    ------
    ValueError
        If `threshold` is NaN.
    """
    if threshold is not None and math.isnan(threshold):
        raise ValueError(f"gate {name!r}: the threshold is NaN; give a number")
    label = metric_label(name) if label is None else label
    if threshold is None:
        text = f"{label} {_shown(value)}" if value is not None else f"{label} was not measured"
        return Gate(name=name, threshold=None, value=value, ci95=ci95, verdict=None, message=text)
    if value is None:
        return Gate(
            name=name,
            threshold=threshold,
            value=None,
            verdict=None,
            message=f"{label} was not measured, so {_shown(threshold)} could not be checked",
        )
    verdict: Verdict
    if kind == "point":
        verdict = "pass" if _holds(value, threshold, direction) else "fail"
        text = _comparison(label, value, threshold)
    elif ci95 is None:
        verdict = "inconclusive"
        text = (
            f"{label} {_shown(value)} has no interval to compare with the threshold "
            f"{_shown(threshold)}"
        )
    else:
        plain = _side(ci95, threshold, direction)
        sure = plain if exact is None else _side(exact, threshold, direction)
        verdict = plain if plain == sure else "inconclusive"
        narrower = "samples" if name == "pass-rate" else "samples or tasks"
        text = _confident_message(label, value, threshold, ci95, verdict, narrower=narrower)
        if exact is not None and plain != "inconclusive" and verdict == "inconclusive":
            digits = _digits(value, threshold)
            text = (
                f"{label} {_shown(value, digits)}, 95 % interval {_range(ci95)} for tasks like "
                f"these; for tasks outside the suite as well, the interval {_range(exact)} "
                f"contains the threshold {_shown(threshold, digits)}. {narrowed_by}"
            )
        if verdict == "fail" and noiseless is not None and _holds(noiseless, threshold, direction):
            verdict = "inconclusive"
            text = (
                f"{text}, but sampling noise alone may cause that: "
                f"{_certain(noiseless, direction)}. {_more_samples(null, threshold, samples)}"
            )
    return Gate(
        name=name,
        threshold=threshold,
        value=value,
        ci95=ci95,
        exact=exact,
        verdict=verdict,
        message=text,
        warnings=_ceiling_warning(label, threshold, null, (samples, original_samples), direction),
    )


def judge_pass_rate(
    passes: int,
    n: int,
    floor: float,
    *,
    kind: GateKind = "point",
    comparisons: int = 1,
) -> Gate:
    """Compare the pass rate of one prompt with its floor.

    Parameters
    ----------
    passes, n
        Number of samples that passed, and of all samples, n >= 1.
    floor
        The minimum pass rate, in [0, 1].
    kind
        ``"point"`` compares the rate. ``"confident"`` compares the exact interval of Clopper and
        Pearson, as in `judge_gate`.
    comparisons
        Number of prompts that are judged together. The level of the interval is divided by it, so
        that the probability of any false failure among them is at most 2.5 % (Bonferroni).
    """
    value = passes / n
    ci95 = share_interval(passes, n, comparisons=comparisons)
    gate = judge_gate("pass-rate", value, floor, ci95=ci95, kind=kind, label="pass rate")
    text = f"{gate.message} ({passes} of {n} samples pass)"
    if kind == "confident" and comparisons > 1:
        text += f", judged together with {comparisons - 1} other prompts"
    return replace(gate, message=text)


def pass_rate_limits(n: int, *, comparisons: int) -> tuple[float, float]:
    """Return above which floor a confident gate on a pass rate can fail, and up to which pass.

    A gate fails no prompt if the floor is at most the first value, which is the upper limit of the
    interval of 0 passes. It passes no prompt if the floor is above the second value, the lower
    limit of the interval of `n` passes.

    Parameters
    ----------
    n
        Samples of the prompt, >= 1.
    comparisons
        As for `judge_pass_rate`.

    Notes
    -----
    The limits are 1 - q and q with q = (0.025 / `comparisons`)^(1 / `n`) (Clopper and Pearson,
    Biometrika 26, 1934, with Bonferroni's correction).
    """
    _, fails_above = share_interval(0, n, comparisons=comparisons)
    passes_up_to, _ = share_interval(n, n, comparisons=comparisons)
    return fails_above, passes_up_to


def samples_needed(null: float, threshold: float, samples: int) -> int | None:
    """Return roughly how many samples per prompt raise the noise ceiling to `threshold`.

    Parameters
    ----------
    null
        The noise ceiling with the present plan, in [0, 1].
    threshold
        The minimum elasticity, in [0, 1].
    samples
        Number of samples of one prompt in the present plan, >= 1. The result assumes that the
        samples of the original and of the variants grow by the same factor, so call this function
        once for each.

    Returns
    -------
    int or None
        `samples` itself if the ceiling is high enough already. None for a threshold of 1, which no
        number of samples reaches.

    Notes
    -----
    The expected difference of two pass rates with the same true rate shrinks with the square root
    of the number of samples. So the result is ``samples * ((1 - null) / (1 - threshold)) ** 2``.
    The formula holds for pass rates. If the weights of SoftExec have collapsed, more samples do not
    help.
    """
    if samples < 1:
        raise ValueError(f"samples is {samples}: give the number per variant, at least 1")
    if threshold <= null:
        return samples
    if threshold >= 1.0:
        return None
    return math.ceil(samples * ((1.0 - null) / (1.0 - threshold)) ** 2 - 1e-9)


def _holds(value: float, threshold: float, direction: Direction) -> bool:
    # A sum of floats that equals the threshold in exact arithmetic may differ from it by rounding.
    above = round(value - threshold, 12)
    return above >= 0.0 if direction == "at least" else above <= 0.0


def _side(interval: Interval, threshold: float, direction: Direction) -> Verdict:
    holds = [_holds(bound, threshold, direction) for bound in interval]
    return "pass" if all(holds) else "inconclusive" if any(holds) else "fail"


def _shown(value: float, digits: int = 2) -> str:
    """Format a figure. A value slightly below 1 gets enough decimals to differ from 1.

    `digits` is the smallest number of decimals. Large values are written with an exponent.
    """
    if abs(value) >= _LARGE:  # only the limits of an odds ratio can be infinite
        return f"{value:.0e}"
    shown = round(value, digits) + 0.0  # avoids "-0"
    if shown == 1.0 and value < 1.0 - 1e-9 and digits < 6:  # noqa: PLR2004 - as in _digits
        return _shown(value, digits + 1)
    return f"{shown:.{digits}f}"


def _digits(value: float, threshold: float) -> int:
    """Return the number of decimals, 2 to 6, at which both differ; 2 if they do at none."""
    return next((n for n in range(2, 7) if _shown(value, n) != _shown(threshold, n)), 2)


def _comparison(label: str, value: float, threshold: float) -> str:
    digits = _digits(value, threshold)
    shown, required = _shown(value, digits), _shown(threshold, digits)
    sign = "=" if shown == required else "<" if value < threshold else ">"
    return f"{label} {shown} {sign} {required}"


def _confident_message(
    label: str,
    value: float,
    threshold: float,
    ci95: Interval,
    verdict: Verdict,
    *,
    narrower: str,
) -> str:
    if verdict == "inconclusive":
        digits = _digits(value, threshold)
        return (
            f"{label} {_shown(value, digits)}, but its 95 % interval ({_range(ci95)}) contains the "
            f"threshold {_shown(threshold, digits)}. More {narrower} would narrow it"
        )
    return f"{_comparison(label, value, threshold)}, 95 % interval {_range(ci95)}"


def _range(interval: Interval) -> str:
    return f"{_shown(interval[0])} to {_shown(interval[1])}"


def _certain(limit: float, direction: Direction) -> str:
    if direction == "at most":
        return f"without noise, only {_shown(max(0.0, limit))} is certain"
    return f"without noise, it may be {_shown(min(1.0, limit))}"


def _more_samples(null: float | None, threshold: float, samples: int | None) -> str:
    """Return the sentence that says what would decide a gate that noise left open."""
    needed = None if null is None or samples is None else samples_needed(null, threshold, samples)
    if samples is None or needed is None or needed <= samples:
        return "More samples or tasks would decide"
    return f"A stable model meets it with about {needed} samples per variant instead of {samples}"


def _ceiling_warning(
    label: str,
    threshold: float,
    null: float | None,
    sizes: tuple[int | None, int | None],
    direction: Direction,
) -> list[str]:
    if null is None or direction != "at least" or threshold <= null:
        return []
    start = (
        f"the threshold {_shown(threshold)} for {label} is above the noise ceiling "
        f"{_shown(null)}: a model on which variants have no effect would score {_shown(null)}"
    )
    if threshold >= 1.0:
        return [f"{start}, and no number of samples lifts it to 1"]
    samples, original_samples = sizes
    if samples is None:
        times = ((1.0 - null) / (1.0 - threshold)) ** 2
        return [f"{start}; it takes about {times:.1f} times the samples to reach it"]
    needed = samples_needed(null, threshold, samples)
    text = f"{start}; it takes about {needed} samples per variant instead of {samples}"
    if original_samples is not None:
        of_original = samples_needed(null, threshold, original_samples)
        text += f" and {of_original} of the original instead of {original_samples}"
    return [text]
