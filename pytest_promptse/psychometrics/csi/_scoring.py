"""Scores of the Core Sentiment Inventory, with intervals that respect the batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.models._base import derive_seed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_promptse.psychometrics.csi._labels import Label

__all__ = [
    "CODES",
    "FIGURES",
    "MISSING",
    "CsiEstimate",
    "CsiScores",
    "encode",
    "score",
    "top_words",
]

FIGURES = (
    "optimism",
    "pessimism",
    "neutrality",
    "consistency",
    "reluctancy",
    "coverage",
    "kappa",
)
"""The estimates of `CsiScores`."""

CODES: Mapping[Label, int] = {"negative": -1, "neutral": 0, "positive": 1}
MISSING = -9
_CLASSES = (-1, 0, 1)
_RESAMPLES = 2000
_CHUNK = 100


@dataclass(frozen=True, kw_only=True)
class CsiEstimate:
    """A figure with its 95 % interval. Both are None if nothing was labelled."""

    value: float | None
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class CsiScores:
    """The scores of the labels of all runs.

    Parameters
    ----------
    n_words, n_runs
        Number of words, and number of runs over all of them.
    optimism, pessimism, neutrality
        Shares of words that are labelled positive in all runs, negative in all runs, and of all
        other words. The last include words without a label in some run. All figures except
        ``coverage`` are None without any label.
    consistency
        Share of words with the same label in all runs.
    reluctancy
        Neutral labels as a share of all given labels.
    coverage
        Given labels as a share of the requested ones.
    kappa
        Cohen's kappa between runs, as the mean over pairs of runs.
    """

    n_words: int
    n_runs: int
    optimism: CsiEstimate
    pessimism: CsiEstimate
    neutrality: CsiEstimate
    consistency: CsiEstimate
    reluctancy: CsiEstimate
    coverage: CsiEstimate
    kappa: CsiEstimate


def encode(labels: Sequence[Label | None]) -> NDArray[np.int8]:
    """Return labels as codes: -1 negative, 0 neutral, 1 positive, and `MISSING` for none."""
    return np.array([MISSING if label is None else CODES[label] for label in labels], dtype=np.int8)


def score(
    codes: NDArray[np.int8], batches: NDArray[np.int64], *, resamples: int = _RESAMPLES
) -> CsiScores:
    """Return the scores of the labels of all runs.

    Parameters
    ----------
    codes
        Codes of shape (runs, words), see `encode`.
    batches
        Index of each word's batch within its run, of the same shape.
    resamples
        Number of bootstrap resamples; 0 for no intervals.

    Notes
    -----
    Optimism, pessimism and neutrality are those of section 3.4 of the paper, consistency and
    reluctancy those of section 4.2. A word is in one batch of each run, so batches cross. The
    intervals resample the batches of every run independently. A word's weight is the product of the
    counts of its batches. This is the pigeonhole bootstrap (Owen, Annals of Applied Statistics 1,
    2007, 386-411). It is conservative: the intervals are never too narrow.

    Raises
    ------
    ArithmeticError
        If the scores break the identity consistency = 1 - neutrality + share neutral in all runs.
    """
    runs, words = codes.shape
    ones = np.ones((1, words))
    shares = _shares(codes, ones)
    identity = 1 - shares["neutrality"] + shares["_all_neutral"]
    if not np.allclose(shares["consistency"], identity):
        raise ArithmeticError("consistency is not 1 - neutrality + the share neutral in all runs")
    by_label = _label_shares(codes, np.ones((1, runs, words)))
    points = shares | by_label | {"kappa": _kappa(codes, ones)}
    intervals = _intervals(codes, batches, resamples) if resamples else {}

    is_labelled = bool((codes != MISSING).any())

    def estimate(name: str) -> CsiEstimate:
        value = float(points[name][0])
        if np.isnan(value) or not (is_labelled or name == "coverage"):
            return CsiEstimate(value=None)
        return CsiEstimate(value=value, ci95=intervals.get(name))

    return CsiScores(n_words=words, n_runs=runs, **{name: estimate(name) for name in FIGURES})


def top_words(codes: NDArray[np.int8], words: Sequence[str], n: int) -> dict[str, tuple[str, ...]]:
    """Return the first `n` words of each class in the order of the list.

    ``neutral`` are the words with neutral labels in all runs or with different labels, as in the
    paper's Table 18. Words without a label in some run belong to no class.

    Parameters
    ----------
    codes
        Codes of shape (runs, words), see `encode`.
    words
        The words, in the order of the codes.
    n
        Number of words of each class.
    """
    labelled = (codes != MISSING).all(axis=0)
    positive, negative = (codes == 1).all(axis=0), (codes == -1).all(axis=0)
    chosen = {
        "positive": positive,
        "negative": negative,
        "neutral": labelled & ~positive & ~negative,
    }
    return {
        name: tuple(words[i] for i in np.flatnonzero(mask)[:n]) for name, mask in chosen.items()
    }


def _shares(
    codes: NDArray[np.int8], weights: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the shares of words for each row of `weights`, of shape (resamples, words).

    `codes`, shape (runs, words), are 1, 0, -1 or ``MISSING``. Each result has shape (resamples,),
    with values in [0, 1], NaN without any weight.
    """
    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore"):
        optimism = weights @ (codes == 1).all(axis=0) / total
        pessimism = weights @ (codes == -1).all(axis=0) / total
        all_neutral = weights @ (codes == 0).all(axis=0) / total
        same = (codes == codes[0]).all(axis=0) & (codes[0] != MISSING)
        consistency = weights @ same / total
    return {
        "optimism": optimism,
        "pessimism": pessimism,
        "neutrality": 1 - optimism - pessimism,
        "consistency": consistency,
        "_all_neutral": all_neutral,
    }


def _label_shares(
    codes: NDArray[np.int8], weights: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the shares of labels for `weights` of shape (resamples, runs, words).

    `codes`, shape (runs, words), are 1, 0, -1 or ``MISSING``. Each result has shape (resamples,),
    with values in [0, 1], NaN if nothing was labelled.
    """
    given = codes != MISSING
    n_given = np.einsum("brw,rw->b", weights, given)
    n_neutral = np.einsum("brw,rw->b", weights, codes == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "reluctancy": n_neutral / n_given,
            "coverage": n_given / weights.sum(axis=(1, 2)),
        }


def _kappa(codes: NDArray[np.int8], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Cohen's kappa (1960) for each row of `weights`; NaN if both runs use one label.

    `codes` has shape (runs, words), and `weights` shape (resamples, words). The result, shape
    (resamples,), is the mean over all pairs of runs.
    """
    runs = len(codes)
    pairs = [(i, j) for i in range(runs) for j in range(i + 1, runs)]
    if not pairs:
        return np.full(len(weights), np.nan)
    total = np.zeros(len(weights))
    for i, j in pairs:
        both = (codes[i] != MISSING) & (codes[j] != MISSING)
        n = weights @ both
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = weights @ (both & (codes[i] == codes[j])) / n
            expected = np.zeros(len(weights))
            for label in _CLASSES:
                first = weights @ (both & (codes[i] == label)) / n
                expected += first * (weights @ (both & (codes[j] == label)) / n)
            agreement = (observed - expected) / (1 - expected)
        total += np.where(np.isclose(expected, 1), np.nan, agreement)
    return total / len(pairs)


def _intervals(
    codes: NDArray[np.int8], batches: NDArray[np.int64], resamples: int
) -> dict[str, tuple[float, float]]:
    random = np.random.default_rng(derive_seed("csi-bootstrap", codes.shape[0], codes.shape[1]))
    counts = [int(row.max()) + 1 for row in batches]
    if min(counts) < 2:  # noqa: PLR2004 - one batch says nothing about how batches vary
        return {}
    drawn: dict[str, list[NDArray[np.float64]]] = {}
    for start in range(0, resamples, _CHUNK):
        size = min(_CHUNK, resamples - start)
        weights = np.stack(
            [
                random.multinomial(n, np.full(n, 1 / n), size=size)[:, row].astype(float)
                for n, row in zip(counts, batches, strict=True)
            ],
            axis=1,
        )
        crossed = weights.prod(axis=1)
        figures = _shares(codes, crossed) | _label_shares(codes, weights)
        figures["kappa"] = _kappa(codes, crossed)
        for name, values in figures.items():
            drawn.setdefault(name, []).append(values)
    intervals: dict[str, tuple[float, float]] = {}
    for name, parts in drawn.items():
        values = np.concatenate(parts)
        values = values[~np.isnan(values)]
        if len(values):
            low, high = np.percentile(values, [2.5, 97.5])
            intervals[name] = (float(low), float(high))
    return intervals
