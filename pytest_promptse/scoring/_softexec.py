r"""SoftExec, pass rate and pass@k: how often the samples of one prompt solve the task.

With the check's verdicts :math:`I_j` on the m samples of a prompt and weights :math:`w_j`,

.. math:: \mathrm{Acc_{soft}} = \sum_j w_j I_j, \qquad w = \mathrm{softmax}(z),

Here z is the log-probability of the sequence (``sum``, as PromptSE defines it, arXiv:2509.13680,
§2.2), that value divided by the number of tokens (``mean``), or 0 (``uniform``: the pass rate).
Summed log-probabilities of programs differ by many nats, so the weights of ``sum`` may be
concentrated on one sample. `effective_sample_size` measures this concentration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pytest_promptse.scoring._samples import Floats, Samples, Weighting


def weights(
    logprob: ArrayLike, *, n_tokens: ArrayLike | None = None, weighting: Weighting = "sum"
) -> Floats:
    """Return the weights of m samples: a softmax over the last axis.

    Parameters
    ----------
    logprob
        Shape (..., m): natural log of the sequence probabilities. ``-inf`` gets weight 0. If all
        samples of a prompt have ``-inf``, each gets 1/m.
    n_tokens
        Same shape as `logprob`: number of tokens of each sequence, for ``weighting="mean"``. The
        mean of a sequence of no tokens is 0.
    weighting
        ``"sum"``, ``"mean"`` or ``"uniform"``. The last uses only the shape of `logprob`.

    Returns
    -------
    ndarray of shape (..., m)
        Weights in [0, 1] that add up to 1 along the last axis. With m = 1 the weight is 1. Under
        ``"sum"``, adding a constant to all log-probabilities of a prompt changes nothing.

    Raises
    ------
    ValueError
        If `logprob` contains NaN or ``+inf``, m = 0, `n_tokens` is missing for ``"mean"``, or the
        weighting is unknown.
    """
    z = np.asarray(logprob, dtype=np.float64)
    if z.ndim == 0 or z.shape[-1] == 0:
        raise ValueError("no samples to weigh: give at least one")
    if weighting == "uniform":
        return np.full(z.shape, 1.0 / z.shape[-1])
    if np.isnan(z).any() or np.isposinf(z).any():
        raise ValueError("logprob holds NaN or +inf: a score never rests on a guessed probability")
    if weighting == "mean":
        if n_tokens is None:
            raise ValueError("weighting='mean' needs n_tokens, the number of tokens per sequence")
        z = z / np.maximum(np.asarray(n_tokens), 1)
    elif weighting != "sum":
        raise ValueError(f"unknown weighting {weighting!r}: use 'sum', 'mean' or 'uniform'")
    impossible = np.isneginf(z).all(axis=-1, keepdims=True)
    result: Floats = scipy.special.softmax(np.where(impossible, 0.0, z), axis=-1)
    return result


def log_weights(samples: Samples, weighting: Weighting) -> Floats | None:
    """Return z, the input of the softmax, shape (m,). None for ``"uniform"``, which needs none.

    Parameters
    ----------
    samples
        The samples of one prompt.
    weighting
        ``"sum"``, ``"mean"`` or ``"uniform"``; see `weights`.

    Raises
    ------
    ValueError
        If the samples lack a value that the weighting needs; no value is ever imputed.
    """
    if weighting == "uniform":
        return None
    if samples.logprob is None:
        raise ValueError(
            f"weighting={weighting!r} needs log-probabilities and the samples have none: "
            "use mode='light' or weighting='uniform'"
        )
    if weighting == "mean":
        if samples.n_tokens is None:
            raise ValueError("weighting='mean' needs n_tokens and the samples have none")
        return samples.logprob / np.maximum(samples.n_tokens, 1)
    return samples.logprob


def softexec(passed: ArrayLike, weight: ArrayLike) -> Floats:
    """Return the weighted share of passing samples over the last axis, in [0, 1].

    The result is 0 if none passed and 1 if all did, up to rounding. With uniform weights it is the
    pass rate.

    Parameters
    ----------
    passed
        Verdicts, of a shape that broadcasts with `weight` to (..., m).
    weight
        Weights in [0, 1], which add up to 1 along the last axis.
    """
    share = np.sum(np.asarray(weight, dtype=np.float64) * np.asarray(passed, dtype=bool), axis=-1)
    return np.asarray(np.clip(share, 0.0, 1.0), dtype=np.float64)


def effective_sample_size(weight: ArrayLike) -> Floats:
    """Return Kish's effective sample size 1 / sum(w^2) over the last axis, in [1, m].

    `weight` has shape (..., m) and adds up to 1 along the last axis. Source: Kish, Survey
    Sampling, 1965, §11.2.
    """
    square: Floats = np.sum(np.square(np.asarray(weight, dtype=np.float64)), axis=-1)
    return np.asarray(1.0 / square)


def pass_rate(passed: ArrayLike) -> float:
    """Return the share of the m >= 1 samples, shape (m,), that passed, in [0, 1]."""
    return float(np.mean(np.asarray(passed, dtype=bool)))


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats:
    r"""Return the unbiased estimate of pass@k, ``1 - C(n - c, k) / C(n, k)``, in [0, 1].

    Parameters
    ----------
    n, c
        Numbers of samples drawn and of samples that passed, of shapes that broadcast; 0 <= c <= n.
    k
        Number of attempts, 1 <= k <= n. For k = 1 the result is the pass rate c / n.

    Raises
    ------
    ValueError
        If k or c is out of range: with n < k there is no unbiased estimate.

    Notes
    -----
    Chen et al., Evaluating Large Language Models Trained on Code, 2021, arXiv:2107.03374, eq. 1.
    """
    drawn, passed = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(c, dtype=float))
    if k < 1 or (drawn < k).any():
        raise ValueError(f"pass@{k} needs at least {max(k, 1)} samples and k >= 1")
    if (passed < 0).any() or (passed > drawn).any():
        raise ValueError("the number of passing samples must lie between 0 and n")
    failed, gammaln = drawn - passed, scipy.special.gammaln
    log_ratio = (
        gammaln(failed + 1)
        - gammaln(np.maximum(failed - k, 0) + 1)
        - gammaln(drawn + 1)
        + gammaln(drawn - k + 1)
    )
    return np.where(failed < k, 1.0, -np.expm1(log_ratio))
