r"""Calibration: whether the model's confidence in a sample predicts that the sample passes.

The confidence of a sample is the geometric mean probability of its tokens, :math:`\exp(\ell_j /
T_j)`. The expected calibration error is the mean distance between confidence and pass rate over
bins of equal width. Source: Guo et al., On Calibration of Modern Neural Networks, 2017,
arXiv:1706.04599, eq. 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from pytest_promptse.scoring._samples import Floats

BINS = 10


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Samples with a confidence in (lower, upper], or [0, upper] in the first bin.

    ``confidence`` and ``pass_rate`` are means over these samples, None in an empty bin.
    """

    lower: float
    upper: float
    n: int
    confidence: float | None
    pass_rate: float | None


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Calibration of n samples.

    ``ece``, in [0, 1], is the expected calibration error. ``overconfident`` is the share of all
    samples that failed with a confidence of at least ``threshold``. ``underconfident`` is the share
    that passed with less.
    """

    n: int
    ece: float
    threshold: float
    overconfident: float
    underconfident: float
    bins: tuple[Bin, ...]


def confidence(logprob: ArrayLike, n_tokens: ArrayLike) -> Floats:
    """Return exp(logprob / n_tokens), the geometric mean probability of a token, in [0, 1].

    Values above 1, which rounding in a server may cause, become 1.

    Parameters
    ----------
    logprob
        Natural log of each sequence's probability, of any shape. The result is 0 where it is
        ``-inf``.
    n_tokens
        Number of tokens of each sequence, of the same shape. The result is exp(logprob) for a
        sequence of no tokens.

    Raises
    ------
    ValueError
        If `logprob` contains NaN or ``+inf``.
    """
    z = np.asarray(logprob, dtype=np.float64)
    if np.isnan(z).any() or np.isposinf(z).any():
        raise ValueError("logprob holds NaN or +inf: a confidence is never guessed")
    return np.asarray(np.minimum(np.exp(z / np.maximum(np.asarray(n_tokens), 1)), 1.0))


def calibration(
    sample_confidence: ArrayLike, passed: ArrayLike, *, threshold: float, bins: int = BINS
) -> Calibration:
    """Measure calibration of n >= 1 samples.

    Parameters
    ----------
    sample_confidence
        Shape (n,), in [0, 1].
    passed
        Shape (n,).
    threshold
        The confidence from which a sample counts as confident, in [0, 1].
    bins
        Number of bins of equal width, >= 1.

    Raises
    ------
    ValueError
        If there is no sample or no bin, lengths differ, or a confidence is outside [0, 1].
    """
    c = np.asarray(sample_confidence, dtype=np.float64)
    ok = np.asarray(passed, dtype=bool)
    if c.ndim != 1 or c.size == 0 or c.shape != ok.shape or bins < 1:
        raise ValueError(
            f"calibration of {c.shape} confidences, {ok.shape} verdicts and {bins} bins: give one "
            "of each per sample, and at least one sample and bin"
        )
    if not ((c >= 0) & (c <= 1)).all():
        raise ValueError("confidences lie in [0, 1] and are never NaN")
    edges = np.linspace(0.0, 1.0, bins + 1)
    index = np.maximum(np.searchsorted(edges, c, side="left") - 1, 0)
    parts = []
    error = 0.0
    for number in range(bins):
        inside = index == number
        n = int(np.count_nonzero(inside))
        mean = float(c[inside].mean()) if n else None
        rate = float(ok[inside].mean()) if n else None
        if mean is not None and rate is not None:
            error += n / c.size * abs(mean - rate)
        parts.append(
            Bin(
                lower=float(edges[number]),
                upper=float(edges[number + 1]),
                n=n,
                confidence=mean,
                pass_rate=rate,
            )
        )
    sure = c >= threshold
    return Calibration(
        n=c.size,
        ece=error,
        threshold=threshold,
        overconfident=float((sure & ~ok).mean()),
        underconfident=float((~sure & ok).mean()),
        bins=tuple(parts),
    )


def calibration_by_group(
    groups: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    threshold: float | None = None,
    bins: int = BINS,
) -> dict[str, Calibration]:
    """Measure calibration of groups of samples, such as those of the quadrants of emotion.

    A group without samples is left out of the result.

    Parameters
    ----------
    groups
        For each group the confidences of its samples, in [0, 1], and their verdicts; shape (n,)
        each.
    threshold
        The confidence, in [0, 1], from which a sample counts as confident, for all groups. None
        means the median confidence over all their samples.
    bins
        Number of bins of equal width, >= 1.

    Raises
    ------
    ValueError
        As in `calibration`.
    """
    filled = {name: (c, ok) for name, (c, ok) in groups.items() if np.size(c)}
    if not filled:
        return {}
    if threshold is None:
        threshold = float(np.median(np.concatenate([np.ravel(c) for c, _ in filled.values()])))
    return {
        name: calibration(c, ok, threshold=threshold, bins=bins) for name, (c, ok) in filled.items()
    }
