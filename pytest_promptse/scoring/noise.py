r"""The noise floor of pass rates, exactly.

Two prompts that a model solves equally well still get different pass rates. If the samples of p
and v came from one distribution, then, given how many passed in all, the number among the
:math:`m_p` of p is hypergeometric, whatever that distribution is; so the expected difference and
the p-value of the observed one are known exactly. This is Fisher's exact test with
:math:`|\hat q_p - \hat q_v|` as its statistic (Fisher, Statistical Methods for Research Workers,
5th ed. 1934, §21.02; Agresti, Categorical Data Analysis, 2002, §3.5).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import hypergeom

if TYPE_CHECKING:
    from pytest_promptse.scoring.samples import Floats

# Differences of sums of floats that are equal in exact arithmetic count as equal.
TIE = 1e-9


def null_gap(m_p: int, m_v: int, passed: int) -> float:
    """Return the expected absolute difference of two pass rates if wording does not matter.

    Parameters
    ----------
    m_p, m_v
        Samples of the two prompts, each >= 1.
    passed
        How many of the ``m_p + m_v`` passed.

    Returns
    -------
    float
        In [0, 1]; 0 where none or all passed. With ``m_p = m_v = 1`` and one pass it is 1: a
        single sample tells nothing. Averaged over data to which wording does not matter, it is
        the mean of the observed difference, so that excess sensitivity has no bias there.

    Raises
    ------
    ValueError
        If there is no sample on a side, or `passed` is out of range.
    """
    gaps, probabilities = _null(m_p, m_v, passed)
    return float(gaps @ probabilities)


def gap_p_value(m_p: int, passed_p: int, m_v: int, passed_v: int) -> float:
    """Return the probability of a difference at least as large if wording does not matter.

    Two-sided and exact, in (0, 1]; 1 where none or all passed. Equal to Fisher's exact test
    where ``m_p = m_v``.

    Raises
    ------
    ValueError
        If there is no sample on a side, or a count is out of range.
    """
    if not (0 <= passed_p <= m_p and 0 <= passed_v <= m_v):
        raise ValueError("the number of passing samples must lie between 0 and m")
    gaps, probabilities = _null(m_p, m_v, passed_p + passed_v)
    observed = abs(passed_p / m_p - passed_v / m_v)
    return float(min(1.0, probabilities[gaps >= observed - TIE].sum()))


@lru_cache(maxsize=65536)
def _null(m_p: int, m_v: int, passed: int) -> tuple[Floats, Floats]:
    if m_p < 1 or m_v < 1:
        raise ValueError(f"m_p is {m_p} and m_v is {m_v}: both prompts need a sample")
    if not 0 <= passed <= m_p + m_v:
        raise ValueError(f"{passed} of {m_p + m_v} samples cannot have passed")
    first = np.arange(max(0, passed - m_v), min(m_p, passed) + 1)
    gaps = np.abs(first / m_p - (passed - first) / m_v)
    probabilities = hypergeom.pmf(first, m_p + m_v, passed, m_p)
    return gaps, probabilities / probabilities.sum()
