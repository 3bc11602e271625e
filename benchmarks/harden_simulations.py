"""How often ``promptse harden`` finds the right candidate, on scripted models with known truths.

Each model has its own tasks and variants with true pass rates. A candidate multiplies what a
variant loses by a factor, and changes the pass rate of everything by a shift.

    python benchmarks/harden_simulations.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.harden._search import (
    CONFIRMATION_SEED,
    Outcomes,
    TaskOutcome,
    harden,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

RUNS, TASKS, SAMPLES, ORIGINALS, VARIANTS, PROJECT = 1000, 4, 8, 32, 8, 4
NAMES = (
    *("contract", "examples", "restate", "room", "spec_first", "system", "without_preamble"),
    *("neutral_first", "select"),
)
CURE = "spec_first"


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A scripted model: by template, the factor of its losses and the shift of its pass rates.

    ``loss`` is the largest loss of a variant. A template that is not named changes nothing.
    """

    name: str
    loss: float
    changes: dict[str, tuple[float, float]]


TRUTHS = (
    Truth(name="one candidate cures", loss=0.8, changes={CURE: (0.1, 0.0)}),
    Truth(name="it cures half of the loss", loss=0.8, changes={CURE: (0.5, 0.0)}),
    Truth(name="stable model", loss=0.0, changes={}),
    Truth(name="no candidate helps", loss=0.8, changes={}),
    Truth(name="stable by being wrong", loss=0.8, changes={CURE: (0.0, -0.45)}),
    Truth(name="cures, but originals lose 0.10", loss=0.8, changes={CURE: (0.1, -0.1)}),
    Truth(name="cures, but originals lose 0.05", loss=0.8, changes={CURE: (0.1, -0.05)}),
    Truth(name="cures, but originals lose 0.02", loss=0.8, changes={CURE: (0.1, -0.02)}),
)


class ScriptedModel:
    """Measures templates as `harden` asks, and counts the completions."""

    def __init__(self, truth: Truth, seed: int) -> None:
        self._truth, self._seed = truth, seed
        self._originals = np.random.default_rng(seed).uniform(0.9, 1.0, TASKS)
        self._drawn: dict[tuple[str, int | None], int] = {}

    @property
    def completions(self) -> int:
        """Completions requested in the search, without the project's own and the confirmation."""
        return sum(
            TASKS * (ORIGINALS + 3 * variants * SAMPLES)
            for (_, seed), variants in self._drawn.items()
            if seed not in (None, CONFIRMATION_SEED)
        )

    def measure(
        self,
        templates: Sequence[str],
        *,
        seed: int | None = None,
        variants: int | None = None,
        originals: int | None = None,
    ) -> Outcomes:
        """Return drawn pass rates. The same template, seed and variant give the same draws."""
        n = 3 * (variants or PROJECT)
        for name in templates:
            self._drawn[name, seed] = n // 3
        return {name: self._tasks(name, seed or 0, n, originals or ORIGINALS) for name in templates}

    def gain(self, name: str, *, draws: int = 20_000) -> float:
        """Return the true gain of the variants' pass rate by a template, over all variants."""
        losses = np.random.default_rng(0).beta(0.5, 1.0, draws) * self._truth.loss
        truth = [
            np.clip(p + shift - factor * losses, 0.0, 1.0).mean()
            for p in self._originals
            for factor, shift in (self._truth.changes.get(name, (1.0, 0.0)), (1.0, 0.0))
        ]
        return float(np.mean(truth[::2]) - np.mean(truth[1::2]))

    def _tasks(self, name: str, seed: int, n: int, originals: int) -> dict[str, TaskOutcome]:
        factor, shift = self._truth.changes.get(name, (1.0, 0.0))
        tasks = {}
        for task, original in enumerate(self._originals):
            # The variants depend on the seed alone; more of them keep the first ones.
            losses = np.random.default_rng((self._seed, seed, task)).beta(0.5, 1.0, 64)
            rng = np.random.default_rng(
                (self._seed, seed, task, *name.encode()),
            )
            passed = rng.binomial(originals, np.clip(original + shift, 0.0, 1.0)) / originals
            rates = np.clip(original + shift - factor * self._truth.loss * losses, 0.0, 1.0)
            drawn = rng.binomial(SAMPLES, rates) / SAMPLES
            tasks[str(task)] = TaskOutcome(
                original=float(passed),
                n=originals,
                samples=SAMPLES,
                variants={str(index): float(drawn[index]) for index in range(n)},
            )
        return tasks


def main() -> None:
    """Print a row for each truth."""
    print(
        "| scripted model | cure recommended | another recommended | nothing to mend |"
        " interval covers | completions of the search |"
    )
    print("|---|---|---|---|---|---|")
    exhaustive = (len(NAMES) + 1) * TASKS * (ORIGINALS + 3 * VARIANTS * SAMPLES)
    for truth in TRUTHS:
        right = other = nothing = covered = confirmed = spent = 0
        for seed in range(RUNS):
            model = ScriptedModel(truth, seed)
            found = harden(model.measure, lambda: NAMES, variants=VARIANTS)
            mended = found.result == "mended"
            right += mended and found.winner == CURE
            other += mended and found.winner != CURE
            nothing += found.result == "nothing to mend"
            spent += model.completions
            if found.winner is not None and found.confirmed is not None:
                confirmed += 1
                low, high = found.confirmed.variants[1:]
                covered += low <= model.gain(found.winner) <= high
        share = f"{covered} of {confirmed}" if confirmed else "·"
        cost = spent / RUNS / exhaustive
        print(
            f"| {truth.name} | {right} of {RUNS} | {other} of {RUNS} | {nothing} of {RUNS} |"
            f" {share} | {cost:.0%} |"
        )


if __name__ == "__main__":
    main()
