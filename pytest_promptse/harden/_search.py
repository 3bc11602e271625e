"""Search the candidates, and confirm the best one on variants that the search never saw.

The search is successive halving (K. Jamieson and A. Talwalkar, Non-stochastic best arm
identification and hyperparameter optimization, AISTATS 2016). All candidates start with one variant
per distance. Each round doubles the variants and keeps the better half of the candidates, until
one is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from pytest_promptse.scoring._paired_gain import paired_gain, rate_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.scoring._paired_gain import Gain

UNTOUCHED = "untouched"
"""The name of the template that sends the prompt as it is."""
LARGEST_LOSS = 0.05
"""A candidate may lose this much of the originals' pass rate, as measured."""
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
        self, templates: Sequence[str], *, seed: int | None = None, variants: int | None = None
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
        """True if the originals lose no more than `LARGEST_LOSS`, as measured."""
        return self.originals.value >= -LARGEST_LOSS


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


def harden(measure: Measure, candidates: Sequence[str], *, variants: int) -> Hardening:
    """Find the best candidate and confirm it.

    Parameters
    ----------
    measure
        Measures templates. The first call has the settings of the project.
    candidates
        Names of templates, without the untouched one.
    variants
        The most variants per distance in a round of the search, at least 2. The confirmation has
        twice as many.
    """
    drop = drop_of(measure([UNTOUCHED])[UNTOUCHED])
    if drop.low <= 0.0:
        return Hardening(result="nothing to mend", drop=drop)
    left = list(candidates)
    rounds: list[tuple[tuple[str, ...], int]] = []
    size = 1
    while True:
        templates = (UNTOUCHED, *left)
        outcomes = measure(templates, seed=SEARCH_SEED, variants=size)
        rounds.append((templates, size))
        left = _better_half(outcomes, left)
        if len(left) <= 1 or size >= variants:
            break
        size = min(2 * size, variants)
    if not left or mean_pass_rate(outcomes[left[0]]) <= mean_pass_rate(outcomes[UNTOUCHED]):
        return Hardening(result="no candidate helps", drop=drop, rounds=tuple(rounds))
    winner = left[0]
    searched = PairedGains.of(outcomes, winner)
    fresh = measure([UNTOUCHED, winner], seed=CONFIRMATION_SEED, variants=2 * variants)
    confirmed = PairedGains.of(fresh, winner)
    mended = confirmed.variants.low > 0.0 and confirmed.keeps_the_pass_rate
    return Hardening(
        result="mended" if mended else "not confirmed",
        drop=drop,
        winner=winner,
        searched=searched,
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


def _better_half(outcomes: Outcomes, names: Sequence[str]) -> list[str]:
    """Return the better half of the templates, the best first.

    A template whose originals lose too much beyond chance is left out: always wrong is stable. Of
    equally good templates, the first is kept.
    """
    able = [
        name
        for name in names
        if (originals := _gain_of_originals(outcomes, name)).value >= -LARGEST_LOSS
        or originals.high >= 0.0
    ]
    best_first = sorted(able, key=lambda name: -mean_pass_rate(outcomes[name]))
    return best_first[: math.ceil(len(names) / 2)]
