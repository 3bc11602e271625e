r"""Whether a kind of prompt passes as often as the originals, over many tasks.

Wordings that share an emotion or a trait belong to many tasks, each with a pass rate of its own,
so their samples must not be pooled. The Cochran-Mantel-Haenszel test compares within each task
and adds up: given how many samples passed in all, the number that passed among the variants is
hypergeometric in every task, and

.. math::

    \chi^2 = \frac{(\max(0, |\sum_t (a_t - E a_t)| - \tfrac12))^2}{\sum_t \mathrm{Var}\, a_t}

has about one degree of freedom. The correction by 1/2 keeps it conservative (Mantel and Haenszel,
1959, doi:10.1093/jnci/22.4.719; Agresti, Categorical Data Analysis, 2002, §6.3.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONTINUITY = 0.5


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """One task: ``passed_p`` of the original's ``m_p`` samples, ``passed_v`` of the variants'."""

    m_p: int
    passed_p: int
    m_v: int
    passed_v: int


def stratified_p_value(strata: Sequence[Stratum]) -> float:
    """Return the probability of a difference at least as large if wording does not matter.

    Two-sided, in [0, 1]; 1 where every task passed always or never, and for no task.

    Raises
    ------
    ValueError
        If a task has no sample on a side or a count is out of range.
    """
    for one in strata:
        if not (0 <= one.passed_p <= one.m_p > 0 < one.m_v >= one.passed_v >= 0):
            raise ValueError(f"{one}: each side needs a sample, and counts lie between 0 and m")
    m_p = np.array([one.m_p for one in strata], dtype=np.float64)
    m_v = np.array([one.m_v for one in strata], dtype=np.float64)
    observed = np.array([one.passed_v for one in strata], dtype=np.float64)
    passed = observed + np.array([one.passed_p for one in strata], dtype=np.float64)
    total = m_p + m_v
    variance = (m_p * m_v * passed * (total - passed) / (total**2 * (total - 1))).sum()
    if variance == 0:
        return 1.0
    shift = abs((observed - m_v * passed / total).sum())
    return float(chi2.sf(max(0.0, shift - _CONTINUITY) ** 2 / variance, df=1))
