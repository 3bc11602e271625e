"""P-values adjusted for the number of tests.

`scipy.stats` has the method of Benjamini and Hochberg too, but its import takes as long as all else
that a run of one item loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

P = TypeVar("P", float, float | None)


def benjamini_hochberg(p_values: Sequence[P]) -> list[P]:
    """Return p-values adjusted for the false discovery rate, in their order.

    A test without a p-value, None, is no test. Source: Benjamini and Hochberg, Journal of the Royal
    Statistical Society B 57, 1995.
    """
    values = np.array(p_values, dtype=np.float64)  # None becomes NaN
    tested = np.flatnonzero(~np.isnan(values))
    rising = tested[np.argsort(values[tested], kind="stable")]
    n = rising.size
    scaled = values[rising] * n / np.arange(1, n + 1)
    stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    adjusted = list(p_values)
    for place, value in zip(rising, np.minimum(stepped, 1.0), strict=True):
        adjusted[place] = float(value)
    return adjusted


def combined(p_values: Sequence[float], tests: Sequence[float]) -> float:
    """Return the p-value of a hypothesis from tests of the whole and from those of all its parts.

    The parts are combined by Simes' method: the smallest of their p-values after the adjustment of
    `benjamini_hochberg`. It shares the level equally with each of `p_values` (Bonferroni). So a
    hypothesis whose part is significant with that share of the level is significant itself. Source:
    Simes, Biometrika 73, 1986.
    """
    return min(1.0, (1 + len(p_values)) * min((*p_values, *benjamini_hochberg(tests))))
