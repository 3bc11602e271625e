"""Search the candidates, and confirm the best one on variants that the search never saw.

All candidates start with one variant per distance, and each round doubles the variants. A candidate
leaves the search as soon as a confidence sequence, which holds at every round, shows that it is
worse than the best template. Of candidates between which it cannot decide, the better half stays,
so that the cost has a limit: successive halving (K. Jamieson and A. Talwalkar, Non-stochastic best
arm identification and hyperparameter optimization, AISTATS 2016).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from pytest_promptse.scoring._confidence_sequence import finite_population_limits
from pytest_promptse.scoring._paired_gain import paired_gain, rate_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.scoring._paired_gain import Gain

UNTOUCHED = "untouched"
"""The name of the template that sends the prompt as it is."""
LARGEST_LOSS = 0.05
"""A recommended candidate loses less than this of the originals' pass rate, at 97.5 %."""
_Z_TO_CONFIRM = 1.96 + 3.0
_MOST_SAMPLES = 1000
# The probability that the best candidate is left out before the last round.
_ERROR = 0.05
SEARCH_SEED, CONFIRMATION_SEED = 1_000_001, 1_000_002
Result = Literal["mended", "nothing to mend", "no candidate helps", "not confirmed"]


@dataclass(frozen=True, kw_only=True)
class TaskOutcome:
    """Pass rates of a task with one template; ``variants`` are by id.

    ``n`` is the number of samples of the original, and ``samples`` that of each variant.
    """

    original: float
    n: int
    samples: int
    variants: Mapping[str, float]


Outcomes: TypeAlias = "Mapping[str, Mapping[str, TaskOutcome]]"
"""The outcomes by template and task."""


class Measure(Protocol):
    """Measures templates on the same variants."""

    def __call__(
        self,
        templates: Sequence[str],
        *,
        seed: int | None = None,
        variants: int | None = None,
        originals: int | None = None,
    ) -> Outcomes:
        """Return the outcomes of `templates`.

        Parameters
        ----------
        templates
            The names of the templates.
        seed
            Seed of the variants and completions; None for that of the project.
        variants
            Variants per distance; None for the number of the project.
        originals
            Samples of each original; None for the number of the project.
        """


@dataclass(frozen=True, kw_only=True)
class PairedGains:
    """A candidate against the untouched prompt, on the same variants.

    ``variants`` is the gain of the pass rate of the variants, and ``originals`` that of the
    originals.
    """

    variants: Gain
    originals: Gain

    @classmethod
    def of(cls, outcomes: Outcomes, name: str) -> PairedGains:
        """Compare the template `name` with the untouched prompt."""
        new, old = outcomes[name], outcomes[UNTOUCHED]
        tasks = sorted(new.keys() & old.keys())
        return cls(
            variants=paired_gain(
                [
                    [
                        new[task].variants[variant] - old[task].variants[variant]
                        for variant in new[task].variants.keys() & old[task].variants.keys()
                    ]
                    for task in tasks
                ]
            ),
            originals=_gain_of_originals(outcomes, name),
        )

    @property
    def keeps_the_pass_rate(self) -> bool:
        """True if a loss of the originals is not shown, and one of `LARGEST_LOSS` is excluded."""
        return self.originals.low >= -LARGEST_LOSS and self.originals.high >= 0.0


@dataclass(frozen=True, kw_only=True)
class Hardening:
    """The result of a search.

    Attributes
    ----------
    result
        ``mended`` if the winner is recommended.
    drop
        What the untouched prompt loses when it is reworded, with its interval.
    winner
        The best candidate, or None if there was nothing to mend or no candidate was better.
    searched, confirmed
        The winner's gain in the search, which is too large because it won, and on fresh variants.
    rounds
        The templates of each round, with the number of variants per distance.
    """

    result: Result
    drop: Gain
    winner: str | None = None
    searched: PairedGains | None = None
    confirmed: PairedGains | None = None
    rounds: tuple[tuple[tuple[str, ...], int], ...] = ()


def harden(
    measure: Measure, candidates: Callable[[], Sequence[str]], *, variants: int
) -> Hardening:
    """Find the best candidate and confirm it.

    Parameters
    ----------
    measure
        Measures templates. The first call has the settings of the project.
    candidates
        Returns the names of templates, without the untouched one. It is called after the first
        measurement, which shows what there is to mend.
    variants
        The most variants per distance in a round of the search, at least 2. The confirmation has
        twice as many.
    """
    drop = drop_of(measure([UNTOUCHED])[UNTOUCHED])
    if drop.low <= 0.0:
        return Hardening(result="nothing to mend", drop=drop)
    names = candidates()
    left = list(names)
    rounds: list[tuple[tuple[str, ...], int]] = []
    drawn: dict[tuple[str, str], None] = {}
    size = 1
    while left:
        templates = (UNTOUCHED, *left)
        outcomes = measure(templates, seed=SEARCH_SEED, variants=size)
        rounds.append((templates, size))
        drawn |= _newly_drawn(outcomes[UNTOUCHED], drawn)
        planned = len(drawn) * variants // size
        error = _ERROR / len(names)
        left = _still_possible(outcomes, left, list(drawn), planned=planned, error=error)
        left = left[: math.ceil((len(templates) - 1) / 2)]
        if len(left) <= 1 or size >= variants:
            break
        size = min(2 * size, variants)
    if not left or mean_pass_rate(outcomes[left[0]]) <= mean_pass_rate(outcomes[UNTOUCHED]):
        return Hardening(result="no candidate helps", drop=drop, rounds=tuple(rounds))
    winner = left[0]
    fresh = measure(
        [UNTOUCHED, winner],
        seed=CONFIRMATION_SEED,
        variants=2 * variants,
        originals=_samples_to_confirm(outcomes, winner),
    )
    confirmed = PairedGains.of(fresh, winner)
    mended = confirmed.variants.low > 0.0 and confirmed.keeps_the_pass_rate
    return Hardening(
        result="mended" if mended else "not confirmed",
        drop=drop,
        winner=winner,
        searched=PairedGains.of(outcomes, winner),
        confirmed=confirmed,
        rounds=tuple(rounds),
    )


def drop_of(tasks: Mapping[str, TaskOutcome]) -> Gain:
    """Return what these variants lose against their originals, with the interval of reruns."""
    return rate_difference(
        [(task.original, task.n) for task in tasks.values()],
        [
            (fmean(task.variants.values()), task.samples * len(task.variants))
            for task in tasks.values()
        ],
    )


def mean_pass_rate(tasks: Mapping[str, TaskOutcome]) -> float:
    """Return the mean pass rate of all variants, with equal weights of tasks."""
    return fmean(fmean(task.variants.values()) for task in tasks.values())


def _gain_of_originals(outcomes: Outcomes, name: str) -> Gain:
    new, old = outcomes[name], outcomes[UNTOUCHED]
    tasks = sorted(new.keys() & old.keys())
    return rate_difference(
        [(new[task].original, new[task].n) for task in tasks],
        [(old[task].original, old[task].n) for task in tasks],
    )


def _newly_drawn(
    tasks: Mapping[str, TaskOutcome], drawn: Mapping[tuple[str, str], None]
) -> dict[tuple[str, str], None]:
    """Return the (task, variant) pairs that a round added, in a random order.

    A round adds variants of all tasks and distances. In a random order they are draws from all
    planned variants, as the confidence sequence needs them.
    """
    added = [
        (task, variant)
        for task, outcome in sorted(tasks.items())
        for variant in sorted(outcome.variants)
        if (task, variant) not in drawn
    ]
    random.Random(len(drawn)).shuffle(added)  # noqa: S311 - no secret
    return dict.fromkeys(added)


def _still_possible(
    outcomes: Outcomes,
    names: Sequence[str],
    drawn: Sequence[tuple[str, str]],
    *,
    planned: int,
    error: float,
) -> list[str]:
    """Return the templates that may still be the best one, the best first.

    A template is left out if its originals lose too much beyond chance (always wrong is stable), or
    if a confidence sequence shows that it passes less often than the best template, which may be
    the untouched prompt. Of equally good templates, the first is kept.

    Parameters
    ----------
    drawn
        The measured (task, variant) pairs in the order of drawing.
    planned
        The number of variants of the search, if it goes on to its end.
    error
        The probability that a template is left out although it is as good as the best one, over all
        rounds.
    """
    able = [
        name
        for name in names
        if (originals := _gain_of_originals(outcomes, name)).value >= -LARGEST_LOSS
        or originals.high >= 0.0
    ]
    rates = {
        name: np.array([outcomes[name][task].variants[variant] for task, variant in drawn])
        for name in (*able, UNTOUCHED)
    }
    best = max(rates, key=lambda name: float(rates[name].mean()))

    def is_worse(name: str) -> bool:
        # Differences are from -1 to 1, and the values of a confidence sequence from 0 to 1.
        values = (rates[name] - rates[best] + 1.0) / 2.0
        return 2.0 * finite_population_limits(values, planned, error=error)[1] < 1.0

    best_first = sorted(able, key=lambda name: -mean_pass_rate(outcomes[name]))
    return [name for name in best_first if name == best or not is_worse(name)]


def _samples_to_confirm(outcomes: Outcomes, winner: str) -> int:
    """Return the samples of each original with which a loss of `LARGEST_LOSS` can be excluded.

    If the winner loses nothing, the limit of the interval, 1.96 standard errors below the measured
    change, is above the loss unless the measurement is 3 standard errors too low.
    """
    prompts = [
        (task.original, task.n) for name in (UNTOUCHED, winner) for task in outcomes[name].values()
    ]
    smoothed = [(rate * n + 0.5) / (n + 1.0) for rate, n in prompts]
    variance = 4.0 * sum(rate * (1.0 - rate) for rate in smoothed) / len(smoothed) ** 2
    needed = math.ceil(variance * (_Z_TO_CONFIRM / LARGEST_LOSS) ** 2)
    return min(_MOST_SAMPLES, max(needed, *(n for _, n in prompts)))
