"""The questions to a model about a developer's message, and the scoring of its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_promptse.instruments._responses import clean, holds_word, is_refusal
from pytest_promptse.instruments._scales import scale_prompt
from pytest_promptse.psychometrics.emotionbench._factors import PANAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.instruments._scales import Scale

__all__ = [
    "NEUTRAL",
    "OWN_PROMPTS",
    "PERSPECTIVES",
    "Recognition",
    "Shift",
    "affect_prompt",
    "affect_scale",
    "label_prompt",
    "paired_shift",
    "read_label",
    "recognition",
]

Perspective = Literal["own", "writer"]
PERSPECTIVES: tuple[Perspective, ...] = ("own", "writer")

NEUTRAL = "neutral"
"""The label of the original message and of the control."""

OWN_PROMPTS = (
    (
        "Write `merge_intervals(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]`. "
        "Merge all intervals that overlap or touch, and return the result sorted by start. "
        "Return an empty list for an empty input."
    ),
    (
        "Write `rotate(text: str, places: int) -> str`. Move the first `places` characters of"
        " the text to its end. A negative number moves characters from the end to the front. "
        "Keep the length."
    ),
    (
        "Write `count_weekdays(start: str, end: str) -> int`. Both arguments are dates such "
        "as '2024-03-01'. Count the days from Monday to Friday between them, including both "
        "ends."
    ),
    (
        "Write `median(values: list[float]) -> float`. Return the middle value of the sorted "
        "list, or the mean of the two middle values if their number is even. Raise ValueError"
        " for no values."
    ),
)
"""Neutral requests of developers, written for this check."""

_ASK_OWN = (
    "A developer has sent you the message below. Do not answer it. Instead, rate how strongly you "
    "feel each of the feelings listed after it, right now."
)
_ASK_WRITER = (
    "A developer has sent you the message below. Do not answer it. Instead, rate how strongly the "
    "person who wrote it felt each of the feelings listed after it, while writing."
)
_SCALE = (
    "Use whole numbers from 1 to 5: 1 is very slightly or not at all, 2 a little, 3 moderately, 4 "
    "quite a bit and 5 extremely. Write one line for each feeling: its number, the feeling, a "
    "colon, and the rating. Write nothing else."
)
_ASK_LABEL = (
    "A developer has sent you the message below. Do not answer it. Instead, say which one of these "
    "words describes the writer's mood best: {labels}. Answer with that one word only."
)
_FEWEST = 2
_ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Shift:
    """Mean change of a total from the original message, over `n` prompts, with its interval."""

    n: int
    delta: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """Frequency with which a label was chosen for messages that express it.

    Parameters
    ----------
    n, hits
        Number of answers that chose one label, and of those that chose this label.
    share, ci95
        ``hits / n`` with its exact binomial interval, or None without answers.
    p_value
        p-value of a one-sided exact binomial test against guessing.
    p_adjusted
        The p-value adjusted by Benjamini and Hochberg over the labels. `recognition` sets it.
    mistaken_for
        The other label that was chosen most often.
    """

    label: str
    n: int
    hits: int
    chance: float
    share: float | None
    ci95: tuple[float, float] | None
    p_value: float | None
    p_adjusted: float | None = None
    mistaken_for: str | None = None

    @property
    def is_recognised(self) -> bool:
        """True if the label is chosen more often than by guessing."""
        return self.p_adjusted is not None and self.p_adjusted < _ALPHA


def affect_scale(perspective: Perspective) -> Scale:
    """Return the PANAS with instructions for one's own affect, or for the writer's."""
    return replace(PANAS, instructions=_SCALE, name=f"PANAS, {perspective}")


def affect_prompt(message: str, perspective: Perspective, order: Sequence[int]) -> str:
    """Return the prompt that shows `message` and requests ratings of affect.

    `perspective` is whose affect is rated, and `order` has the item numbers of the scale.
    """
    ask = _ASK_OWN if perspective == "own" else _ASK_WRITER
    quoted = f"{ask}\n\n<message>\n{message}\n</message>"
    return scale_prompt(affect_scale(perspective), order, situation=quoted)


def label_prompt(message: str, labels: Sequence[str]) -> str:
    """Return the prompt that requests the one of `labels` that describes the writer's mood."""
    ask = _ASK_LABEL.format(labels=", ".join(labels))
    return f"{ask}\n\n<message>\n{message}\n</message>"


def read_label(response: str, labels: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the one label that a response contains, or None and the kind of problem.

    The kinds are ``empty``, ``refusal``, ``no_label`` and ``several_labels``.
    """
    text = clean(response)
    held = [label for label in labels if holds_word(text, label)]
    if len(held) == 1:
        return held[0], None
    if held:
        return None, "several_labels"
    if not text.strip():
        return None, "empty"
    return None, "refusal" if is_refusal(text) else "no_label"


def paired_shift(original: Sequence[float], variant: Sequence[float]) -> Shift:
    """Return the mean change of paired totals with its 95 % interval by Student's t.

    Parameters
    ----------
    original, variant
        Totals after the original messages and after their variants, in the same order.
    """
    differences = np.asarray(variant, dtype=float) - np.asarray(original, dtype=float)
    n = len(differences)
    if not n:
        return Shift(n=0, delta=None, ci95=None)
    delta = float(differences.mean())
    if n < _FEWEST:
        return Shift(n=n, delta=delta, ci95=None)
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    half = float(stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n))
    return Shift(n=n, delta=delta, ci95=(delta - half, delta + half))


def recognition(
    chosen: Sequence[tuple[str, str]], labels: Sequence[str]
) -> tuple[Recognition, ...]:
    """Return the recognition of each of `labels`.

    Parameters
    ----------
    chosen
        The true and the chosen label of each answer that chose one.
    """
    from scipy import stats  # noqa: PLC0415 - scipy takes its time

    chance = 1 / len(labels)
    recognitions: list[Recognition] = []
    for label in labels:
        answers = [answer for true, answer in chosen if true == label]
        others = [answer for answer in answers if answer != label]
        base = Recognition(
            label=label,
            n=len(answers),
            hits=len(answers) - len(others),
            chance=chance,
            share=None,
            ci95=None,
            p_value=None,
            mistaken_for=max(sorted(set(others)), key=others.count) if others else None,
        )
        if answers:
            test = stats.binomtest(base.hits, base.n, chance, alternative="greater")
            interval = stats.binomtest(base.hits, base.n, chance).proportion_ci(0.95)
            base = replace(
                base,
                share=base.hits / base.n,
                ci95=(float(interval.low), float(interval.high)),
                p_value=float(test.pvalue),
            )
        recognitions.append(base)
    tested = [outcome for outcome in recognitions if outcome.p_value is not None]
    if not tested:
        return tuple(recognitions)
    adjusted = stats.false_discovery_control([outcome.p_value for outcome in tested], method="bh")
    by_label = {outcome.label: float(p) for outcome, p in zip(tested, adjusted, strict=True)}
    return tuple(
        replace(outcome, p_adjusted=by_label.get(outcome.label)) for outcome in recognitions
    )
