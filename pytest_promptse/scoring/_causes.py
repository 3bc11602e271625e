r"""Elasticity split by the causes of failed samples.

The score of a prompt is 1 minus the weighted shares of its failures by cause, :math:`S = 1 - \sum_c
F_c`. So the difference of two scores is the sum of the differences of these shares. What an
elasticity lacks to 1 then splits over the causes without remainder:

.. math::

    1 - E = \sum_c L_c, \qquad L_c = \frac1K \sum_v s_v \, (F_c(v) - F_c(p)), \quad
    s_v = \operatorname{sign}(S(p) - S(v)).

For PromptSELight there is only one sign, that of the averaged difference. The split shows, for
example, whether a variant makes the model chattier, so that no code is found, or makes it write
wrong code.
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

    ``loss`` is the part of 1 - E that the cause accounts for; the losses of all causes add up to 1
    - E. A negative loss means that the cause made the change smaller. ``drop`` is the average
    growth of the share of samples that fail for this cause. The drops add up to the original's
    score minus the variants' mean score. Their expectation is 0 if variants have no effect; that of
    losses is not.
    """

    loss: float
    drop: float


def failure_shares(causes: Sequence[str], weight: ArrayLike) -> FailureShares:
    """Return the weighted share of the samples that failed for each cause.

    The shares add up to 1 minus the score. The result is empty if all samples passed.

    Parameters
    ----------
    causes
        One entry per sample: the cause of its failure, or ``""`` if it passed.
    weight
        Shape (m,): the weights of the samples, which add up to 1.
    """
    shares: FailureShares = {}
    for cause, share in zip(causes, np.asarray(weight, dtype=np.float64), strict=True):
        if cause:
            shares[cause] = shares.get(cause, 0.0) + float(share)
    return shares


def split_by_cause(
    original: Mapping[str, float], variants: Sequence[Mapping[str, float]], *, light: bool = False
) -> dict[str, CauseShare]:
    """Split 1 minus one task's elasticity at one distance by cause.

    Parameters
    ----------
    original, variants
        Failure shares of the original and of its K >= 1 variants.
    light
        True to average the variants first, as PromptSELight does.

    Returns
    -------
    dict of str to CauseShare
        The cause with the largest loss first. Empty if nothing failed.

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
    """Average the splits of several tasks. A cause that a task does not have counts as 0 there.

    The result is empty if there is no task.
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
    # A difference that is 0 in exact arithmetic must not get its sign from rounding.
    return np.asarray(np.where(np.abs(difference) < TIE, 0.0, np.sign(difference)))


def _ranked(split: Mapping[str, CauseShare]) -> dict[str, CauseShare]:
    return dict(sorted(split.items(), key=lambda item: (-item[1].loss, item[0])))
