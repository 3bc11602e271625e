r"""Elasticity split by why samples failed.

A prompt's score is 1 minus the (weighted) shares of its failures by cause,
:math:`S = 1 - \sum_c F_c`, so the difference of two scores is the sum of the differences of
these shares, and what an elasticity lacks to 1 splits over the causes without remainder:

.. math::

    1 - E = \sum_c L_c, \qquad L_c = \frac1K \sum_v s_v \, (F_c(v) - F_c(p)), \quad
    s_v = \operatorname{sign}(S(p) - S(v)).

For PromptSELight there is one sign, that of the averaged difference. This tells a prompt that
makes the model chattier, so that no code is found, from one that makes it write wrong code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring._noise_floor import TIE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from pytest_promptse.scoring._samples import Floats

FailureShares = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class CauseShare:
    """The effect of one cause on the difference between scores; both values are in [-1, 1].

    ``loss`` is its part of 1 - E: the losses of all causes add up to that, and a negative one
    softened the change. ``drop`` is by how much the share of samples that fail for this cause
    grew on average: the drops add up to the original's score minus the variants' mean score, and
    are 0 in expectation where variants have no effect, which losses are not.
    """

    loss: float
    drop: float


def failure_shares(causes: Sequence[str], weight: ArrayLike) -> FailureShares:
    """Return the weighted share of the samples that failed for each cause.

    `causes` has one entry per sample, ``""`` where it passed, and `weight`, shape (m,), adds up
    to 1. The shares add up to 1 minus the score; empty where all passed.
    """
    shares: FailureShares = {}
    for cause, share in zip(causes, np.asarray(weight, dtype=np.float64), strict=True):
        if cause:
            shares[cause] = shares.get(cause, 0.0) + float(share)
    return shares


def split_by_cause(
    original: Mapping[str, float], variants: Sequence[Mapping[str, float]], *, light: bool = False
) -> dict[str, CauseShare]:
    """Split what one task's elasticity at one distance lacks to 1 by cause.

    Parameters
    ----------
    original, variants
        Failure shares of the original and of its K >= 1 variants.
    light
        Whether the variants are averaged first, as PromptSELight does.

    Returns
    -------
    dict of str to CauseShare
        Largest loss first; empty where nothing failed.

    Raises
    ------
    ValueError
        If there is no variant.
    """
    if not variants:
        raise ValueError("a split by cause needs at least one variant")
    names = sorted({name for shares in (original, *variants) for name in shares})
    p = np.array([original.get(name, 0.0) for name in names])
    v = np.array([[shares.get(name, 0.0) for name in names] for shares in variants])
    grown = v.reshape(len(variants), len(names)) - p
    drop = grown.mean(axis=0)
    if light:
        loss = _sign(drop.sum()) * drop
    else:
        loss = (_sign(grown.sum(axis=1))[:, None] * grown).mean(axis=0)
    return _ranked(
        {
            name: CauseShare(loss=float(a), drop=float(b))
            for name, a, b in zip(names, loss, drop, strict=True)
        }
    )


def mean_split(splits: Sequence[Mapping[str, CauseShare]]) -> dict[str, CauseShare]:
    """Average the splits of several tasks; a cause that a task does not have counts as 0 there.

    Empty for no task.
    """
    names = sorted({name for split in splits for name in split})
    none = CauseShare(loss=0.0, drop=0.0)
    return _ranked(
        {
            name: CauseShare(
                loss=sum(split.get(name, none).loss for split in splits) / len(splits),
                drop=sum(split.get(name, none).drop for split in splits) / len(splits),
            )
            for name in names
        }
    )


def _sign(difference: Floats) -> Floats:
    # Rounding must not decide the sign of a difference that is 0 in exact arithmetic.
    return np.asarray(np.where(np.abs(difference) < TIE, 0.0, np.sign(difference)))


def _ranked(split: Mapping[str, CauseShare]) -> dict[str, CauseShare]:
    return dict(sorted(split.items(), key=lambda item: (-item[1].loss, item[0])))
