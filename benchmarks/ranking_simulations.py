"""How often a ranking separates entries wrongly, on simulated models with known pass rates.

Models share their tasks, so they are paired. Figures of tasks are computed in bulk. The separation,
the order and the standings are those of the package. `task_equivalence` measures how often a task
is wrongly called equivalent with its original.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t as student
from simulated_models import CI

from pytest_promptse.scoring._association import correlations
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._ranking import Gaps, ordered
from pytest_promptse.scoring._robustness import squared_sensitivity
from pytest_promptse.scoring._scores import DECIDING, PromptScore
from pytest_promptse.scoring._task_drop import MARGIN, drop_interval, is_equivalent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simulated_models import Sampling

    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import Difference

VARIANTS = 3 * CI.variants
_DRAWS = 1999
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Truth:
    """True pass rates of one model: originals (n,), variants (n, K)."""

    original: Floats
    variants: Floats


@dataclass(frozen=True)
class Measured:
    """Measured pass rates of one model, of the shapes of `Truth`."""

    original: Floats
    variants: Floats

    @classmethod
    def of(cls, truth: Truth, rng: np.random.Generator) -> Measured:
        return cls(
            rng.binomial(CI.original_samples, truth.original) / CI.original_samples,
            rng.binomial(CI.samples, truth.variants) / CI.samples,
        )

    @property
    def figures(self) -> dict[str, Floats]:
        """The deciding figures by task, shape (n,)."""
        reworded = self.variants.mean(axis=1)
        return {"drop": self.original - reworded, "reworded_pass": reworded}

    @property
    def sampling(self) -> dict[str, float]:
        """The sum over tasks of the sampling variances of these figures."""
        original = _rate_variance(self.original, CI.original_samples).sum()
        reworded = _rate_variance(self.variants, CI.samples).sum() / VARIANTS**2
        return {"drop": float(original + reworded), "reworded_pass": float(reworded)}

    @property
    def auc_e(self) -> float:
        """AUC-E, for distances with the same variants: 1 minus the mean absolute change."""
        return 1.0 - float(np.abs(self.original[:, None] - self.variants).mean())

    @property
    def squared(self) -> float:
        """Unbiased squared sensitivity."""
        n = self.original.size
        sizes = np.full(n, CI.original_samples), np.full((n, VARIANTS), CI.samples)
        by_task = squared_sensitivity(self.original, self.variants, m_p=sizes[0], m_v=sizes[1])
        return float(by_task.mean())


def _rate_variance(rates: Floats, n: int) -> Floats:
    drawn = (rates * n + 0.5) / (n + 1.0)
    return np.asarray(drawn * (1.0 - drawn) / n)


def losing(
    n: int, pass_rates: Sequence[float], drops: Sequence[float], rng: np.random.Generator
) -> list[Truth]:
    """Models with these mean pass rates near a common difficulty, that lose these drops.

    A variant loses more or less than the drop, in proportion to what its task solves.
    """
    difficulty = rng.normal(0.0, 0.8, n)
    models = []
    for rate, drop in zip(pass_rates, drops, strict=True):
        q = expit(logit(rate) + difficulty)
        share = drop / rate * rng.gamma(2.0, 0.5, (n, VARIANTS))
        models.append(Truth(q, q[:, None] * (1.0 - np.minimum(share, 1.0))))
    return models


def _users_models(n: int, rng: np.random.Generator) -> list[Truth]:
    return losing(n, (0.9,) * 4, (0.01, 0.03, 0.09, 0.22), rng)


def _of_unequal_skill(n: int, rng: np.random.Generator) -> list[Truth]:
    return losing(n, (0.9, 0.6, 0.95, 0.75), (0.01, 0.03, 0.09, 0.22), rng)


def _equal(models: int) -> Callable[[int, np.random.Generator], list[Truth]]:
    return lambda n, rng: losing(n, (0.8,) * models, (0.0,) * models, rng)


def _pass_rates_only(models: int) -> Callable[[int, np.random.Generator], list[Truth]]:
    rates = np.linspace(0.3, 0.95, models)
    return lambda n, rng: losing(n, tuple(rates), (0.0,) * models, rng)


def _concentrated(share: float) -> Callable[[int, np.random.Generator], list[Truth]]:
    """Two models that lose as much: 0.05 in each task, or more in a share of the tasks."""

    def draw(n: int, rng: np.random.Generator) -> list[Truth]:
        q = np.full(n, 0.9)
        hit = rng.random(n) < share
        lost = (np.full(n, 0.05), np.where(hit, 0.05 / share, 0.0))
        return [Truth(q, np.repeat((q - loss)[:, None], VARIANTS, axis=1)) for loss in lost]

    return draw


WORLDS: Mapping[str, Callable[[int, np.random.Generator], list[Truth]]] = {
    "4 equal models": _equal(4),
    "8 equal models": _equal(8),
    "4 stable models, pass rates 0.3 to 0.95": _pass_rates_only(4),
    "8 stable models, pass rates 0.3 to 0.95": _pass_rates_only(8),
    "drops 0.01, 0.03, 0.09, 0.22 from 0.9": _users_models,
    "the same from 0.9, 0.6, 0.95, 0.75": _of_unequal_skill,
    "0.05 in each task, or 0.25 in a fifth": _concentrated(0.2),
    "0.05 in each task, or 0.9 in one of 18": _concentrated(0.05 / 0.9),
}


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of simulated rankings, and of their pairs.

    ``wrong`` is the share with any pair that is separated although equal, or in the wrong order.
    ``drop`` and ``reworded`` are the shares of truly different pairs that are separated. ``first``
    is the share that names an entry to take, and ``by_auc_e`` the share in which AUC-E has the
    true order of the drops. None means that there is nothing to find.
    """

    wrong: float
    drop: float | None
    reworded: float | None
    first: float
    by_auc_e: float | None


def rankings(world: str, n: int, *, runs: int, size: int, seed: int) -> Shares:
    """Rank simulated models on `n` tasks; `size` is the number of tasks for the true figures."""
    rng = generator(seed, "ranking", world, str(n))
    truth = _true_figures(world, size, generator(seed, "ranking", world))
    wrong = decided = by_auc_e = 0
    separated = dict.fromkeys(DECIDING, 0)
    models = range(len(truth["drop"]))
    pairs = [(a, b) for a, b in combinations(models, 2)]
    different = {
        metric: [pair for pair in pairs if truth[metric][pair[0]] != truth[metric][pair[1]]]
        for metric in DECIDING
    }
    for _ in range(runs):
        measured = [Measured.of(model, rng) for model in WORLDS[world](n, rng)]
        differences = separations(measured)
        errors = 0
        for pair in differences:
            if pair.better is None:
                continue
            a, b = int(pair.name), int(pair.other)
            gap = truth[pair.metric][a] - truth[pair.metric][b]
            best = a if (gap < 0.0) == (pair.metric == "drop") else b
            errors += gap == 0.0 or int(pair.better) != best
            separated[pair.metric] += gap != 0.0
        wrong += errors > 0
        figures = {
            str(number): {metric: float(f.mean()) for metric, f in model.figures.items()}
            for number, model in enumerate(measured)
        }
        standings = ordered(figures, differences)
        decided += "undecided" not in standings.values()
        areas = [model.auc_e for model in measured]
        by_auc_e += list(np.argsort(areas)[::-1]) == list(np.argsort(truth["drop"]))
    return Shares(
        wrong=wrong / runs,
        drop=separated["drop"] / runs / len(different["drop"]) if different["drop"] else None,
        reworded=separated["reworded_pass"] / runs / len(different["reworded_pass"])
        if different["reworded_pass"]
        else None,
        first=decided / runs,
        by_auc_e=by_auc_e / runs if len(different["drop"]) == len(pairs) else None,
    )


def separations(measured: Sequence[Measured]) -> list[Difference]:
    """Return the differences of all pairs as the package makes them. Names are numbers."""
    pairs = list(combinations(range(len(measured)), 2))
    differences = []
    for metric in DECIDING:
        for a, b in pairs:
            gaps = Gaps.of(
                metric,
                measured[a].figures[metric],
                measured[b].figures[metric],
                variances=measured[a].sampling[metric] + measured[b].sampling[metric],
            )
            differences.append(gaps.difference(metric, str(a), str(b), len(DECIDING) * len(pairs)))
    return differences


def _true_figures(world: str, size: int, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return the figures of the models over many tasks. Equal ones are equal."""
    models = WORLDS[world](size, rng)
    figures: dict[str, list[float]] = {metric: [] for metric in DECIDING}
    for model in models:
        reworded = float(model.variants.mean())
        figures["drop"].append(round(float(model.original.mean()) - reworded, 2))
        figures["reworded_pass"].append(round(reworded, 2))
    return figures


@dataclass(frozen=True, kw_only=True)
class Method:
    """A kind of simultaneous intervals on equal models.

    ``wrong`` is the share of rankings with any separated pair, and ``quantile`` the median of the
    half-width of an interval in standard errors, ``inf`` included.
    """

    wrong: float
    quantile: float


def methods(models: int, n: int, *, runs: int, seed: int) -> dict[str, Method]:
    """Compare kinds of simultaneous intervals on equal models."""
    rng = generator(seed, "intervals of rankings", str(models), str(n))
    quantiles: dict[str, list[float]] = {name: [] for name in METHODS}
    wrong = dict.fromkeys(METHODS, 0)
    for _ in range(runs):
        figures = [Measured.of(model, rng).figures for model in _equal(models)(n, rng)]
        gaps = np.array(
            [
                figures[a][metric] - figures[b][metric]
                for metric in DECIDING
                for a, b in combinations(range(models), 2)
            ]
        ).T
        error = gaps.std(axis=0, ddof=1) / np.sqrt(n)
        vary = error > 1e-12  # noqa: PLR2004 - rounding of equal values
        ratio = np.abs(gaps.mean(axis=0))[vary] / error[vary]
        for name, quantile in METHODS.items():
            value = quantile(gaps[:, vary], rng)
            quantiles[name].append(value)
            wrong[name] += bool((ratio > value).any())
    return {
        name: Method(wrong=wrong[name] / runs, quantile=float(np.median(quantiles[name])))
        for name in METHODS
    }


def _alone(gaps: Floats, _rng: np.random.Generator) -> float:
    return float(student.isf(0.025, gaps.shape[0] - 1))


def _bonferroni(gaps: Floats, _rng: np.random.Generator) -> float:
    return float(student.isf(0.025 / gaps.shape[1], gaps.shape[0] - 1))


def _multivariate_t(gaps: Floats, rng: np.random.Generator) -> float:
    """Return the quantile of the largest of correlated t variables (Hothorn et al., 2008)."""
    n, k = gaps.shape
    values, vectors = np.linalg.eigh(np.corrcoef(gaps.T))
    z = rng.normal(size=(_DRAWS, k)) @ (vectors * np.sqrt(np.clip(values, 0.0, None))).T
    scale = np.sqrt(rng.chisquare(n - 1, _DRAWS) / (n - 1))
    return float(np.quantile(np.abs(z).max(axis=1) / scale, 0.95))


def _bootstrap(gaps: Floats, rng: np.random.Generator) -> float:
    """Return the quantile of the largest studentised mean over resampled tasks."""
    n, centred = gaps.shape[0], gaps - gaps.mean(axis=0)
    weights = rng.multinomial(n, np.full(n, 1.0 / n), _DRAWS) / n
    means = weights @ centred
    spread = np.sqrt(np.maximum(weights @ centred**2 - means**2, 0.0) / (n - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(means) / spread
    ratio[spread < 1e-12] = np.inf  # noqa: PLR2004 - rounding of equal values
    ratio[np.abs(means) < 1e-12] = 0.0  # noqa: PLR2004 - likewise
    return float(np.sort(ratio.max(axis=1))[int(0.95 * _DRAWS)])


METHODS: Mapping[str, Callable[[Floats, np.random.Generator], float]] = {
    "each alone": _alone,
    "Bonferroni": _bonferroni,
    "multivariate t": _multivariate_t,
    "bootstrap": _bootstrap,
}


SPREADS: Mapping[str, tuple[float, float]] = {
    "0.3 to 0.95": (0.3, 0.95),
    "0.69 to 0.71": (0.69, 0.71),
}
STABILITIES: Mapping[str, Callable[[Measured], float]] = {
    "AUC-E": lambda model: model.auc_e,
    "drop": lambda model: float(model.figures["drop"].mean()),
    "squared sensitivity": lambda model: model.squared,
}


def significant_correlations(spread: str, n: int, *, runs: int, seed: int) -> dict[str, float]:
    """Return how often pass@1 correlates with each figure over 8 stable models, p < 0.05."""
    rng = generator(seed, "performance and stability", spread, str(n))
    significant = dict.fromkeys(STABILITIES, 0)
    rates = tuple(np.linspace(*SPREADS[spread], 8))
    for _ in range(runs):
        models = [Measured.of(model, rng) for model in losing(n, rates, (0.0,) * 8, rng)]
        passed = [float(model.original.mean()) for model in models]
        for name, figure in STABILITIES.items():
            found = correlations(passed, [figure(model) for model in models], intervals=False)
            [spearman] = [c for c in found if c.coefficient == "Spearman"]
            significant[name] += spearman.p_value < 0.05  # noqa: PLR2004 - the level
    return {name: count / runs for name, count in significant.items()}


def task_equivalence(
    plan: Sampling, rate: float, drop: float, *, tasks: int, seed: int
) -> tuple[float, float]:
    """Return how often a task with this true drop is equivalent within 0.1, and is covered.

    All variants have the same true pass rate, which is the hardest case: other variants with the
    same mean vary less.
    """
    rng = generator(seed, "equivalence", plan.name, str(rate), str(drop))
    equivalent = covered = 0
    for _ in range(tasks):
        original = _prompt(rng.binomial(plan.original_samples, rate), plan.original_samples)
        passes = rng.binomial(plan.samples, min(1.0, rate - drop), (3, plan.variants))
        groups = [[_prompt(count, plan.samples) for count in of_distance] for of_distance in passes]
        equivalent += is_equivalent(original, groups, margin=MARGIN)
        low, high = drop_interval(original, groups, tail=0.025)
        covered += low - _ROUNDING <= drop <= high + _ROUNDING
    return equivalent / tasks, covered / tasks


def _prompt(passes: int, n: int) -> PromptScore:
    rate = float(passes / n)
    return PromptScore(n=n, pass_rate=rate, soft_exec=None, score=rate, ess=None)
