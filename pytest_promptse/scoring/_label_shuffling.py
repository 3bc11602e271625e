r"""Test whether variants with one label, such as an emotion, do as well as other variants.

Variants of one task at one distance form a *block*: they share the task's difficulty and the
distance. If a label has no effect, any other order of the labels within a block is equally likely.
Shuffling labels within blocks is therefore an exact test, whatever other differences variants have
(Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed. 2005, ch. 3). A comparison
of a label's variants with the originals would not be such a test. It rejects for every label as
soon as variants differ from their originals at all.

The statistic of a label is the sum, over its variants, of the pass rate minus the block's mean:
:math:`T = \sum_{v} (q_v - \bar q_{b(v)})`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from pytest_promptse.scoring._samples import Floats

_SHUFFLES = 1999
# From this number of variants on, the sum is very close to normal.
_MANY = 3000
# Number of shuffled pass rates in memory at once.
_CELLS = 500_000
_TIE = 1e-9


@dataclass(frozen=True, kw_only=True)
class LabelledVariant:
    """One variant: its block, such as its task and distance, its label and its pass rate.

    Labels are shuffled within a block only. ``rate`` is in [0, 1].
    """

    block: Hashable
    label: str
    rate: float


def label_p_values(
    variants: Sequence[LabelledVariant], rng: np.random.Generator
) -> dict[str, float]:
    """Return, by label, the p-value of the hypothesis that the label has no effect in its blocks.

    Parameters
    ----------
    variants
        The variants of all blocks. A block with one variant or one label does not affect the
        result.
    rng
        Random generator of the shuffles.

    Returns
    -------
    dict of str to float
        Two-sided p-values in (0, 1], by label. The value is 1 for a label that shares no block with
        another label. With 3,000 variants or more, the normal distribution with their exact
        variance replaces the shuffles (Hoeffding, Annals of Mathematical Statistics 22, 1951).
    """
    blocks: dict[Hashable, list[LabelledVariant]] = defaultdict(list)
    for variant in variants:
        blocks[variant.block].append(variant)
    labels = sorted({variant.label for variant in variants})
    column = {label: at for at, label in enumerate(labels)}
    observed, variance = np.zeros(len(labels)), np.zeros(len(labels))
    by_size: dict[int, list[tuple[Floats, Floats]]] = defaultdict(list)
    for block in blocks.values():
        k = len(block)
        rates = np.array([variant.rate for variant in block])
        member = np.zeros((k, len(labels)))
        member[np.arange(k), [column[variant.label] for variant in block]] = 1.0
        centred = rates - rates.mean()
        if k == 1 or np.ptp(rates) == 0.0:
            continue
        observed += centred @ member
        counts = member.sum(axis=0)
        variance += counts * (k - counts) / (k * (k - 1)) * float(centred @ centred)
        by_size[k].append((centred, member))
    if len(variants) >= _MANY:
        spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
        tails = scipy.special.ndtr(-np.abs(observed) / spread)
        p_values = np.where(variance > _TIE, 2.0 * tails, 1.0)
        return {label: float(p_values[at]) for label, at in column.items()}
    drawn = np.zeros((_SHUFFLES, len(labels)))
    for group in by_size.values():
        rates = np.stack([centred for centred, _ in group])
        members = np.stack([member for _, member in group])
        flat = members.reshape(-1, len(labels))
        step = max(1, _CELLS // rates.size)
        for start in range(0, _SHUFFLES, step):
            part = slice(start, min(_SHUFFLES, start + step))
            dealt = np.broadcast_to(rates, (part.stop - part.start, *rates.shape))
            drawn[part] += rng.permuted(dealt, axis=-1).reshape(len(dealt), -1) @ flat
    extreme = (np.abs(drawn) >= np.abs(observed) - _TIE).sum(axis=0)
    return {label: float((1 + extreme[at]) / (1 + _SHUFFLES)) for label, at in column.items()}
