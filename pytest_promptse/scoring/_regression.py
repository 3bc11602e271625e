"""Regression of a figure on emotion: how much its terms explain beyond the controls (RQ4).

Needs the extra ``statistics``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._noise_floor import p_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.scoring._samples import Floats, Ints

LEAST_CLUSTERS = 30
"""With fewer tasks the clustered covariance is too small."""
_DEALS = 1999


@dataclass(frozen=True, kw_only=True)
class Term:
    """One coefficient of the full model, in outcome per unit of the term; clustered error.

    ``p_value`` is two-sided, for the null hypothesis that the coefficient is 0.
    """

    name: str
    value: float
    error: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Increment:
    """A least-squares regression with further terms, compared with the one with controls alone.

    The ``r2`` fields are of the two models, in [0, 1]; ``gain`` is their difference. ``f`` with
    ``df`` is the Wald statistic of all further terms, with a covariance clustered on ``clusters``
    tasks. ``p_value`` is that of ``f``. If the further terms belong to ``units`` such as emotions,
    it is instead the share of assignments of terms to units with at least this gain. ``dropped``
    lists controls that do not vary.
    """

    n: int
    clusters: int
    r2_controls: float
    r2: float
    gain: float
    f: float
    df: tuple[int, int]
    p_value: float
    terms: tuple[Term, ...]
    dropped: tuple[str, ...]


def increment(
    outcome: Floats,
    controls: Mapping[str, Floats],
    further: Mapping[str, Floats],
    clusters: Sequence[str],
    *,
    units: Sequence[str] | None = None,
) -> Increment | None:
    """Fit both models by least squares, with an intercept.

    Parameters
    ----------
    outcome
        Shape (n,).
    controls, further
        Terms by name, each of shape (n,).
    clusters
        Shape (n,): the cluster of each observation. Observations of one cluster may be dependent.
    units
        Shape (n,): the unit that the further terms describe, such as the emotion. With eight
        emotions there are only eight values of valence, for any number of observations. The test
        therefore shuffles the terms among the units. None means that each observation is a unit.

    Returns
    -------
    Increment or None
        None for fewer than `LEAST_CLUSTERS` clusters, or if the outcome does not vary. Also None if
        the further terms are collinear with each other or with the controls.
    """
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415 - of an extra, and slow

    names, groups = np.unique(np.asarray(clusters), return_inverse=True)
    kept = {name: values for name, values in controls.items() if np.ptp(values) > 0.0}
    if names.size < LEAST_CLUSTERS or np.ptp(outcome) == 0.0:
        return None
    plain = np.column_stack([np.ones(outcome.size), *kept.values()])
    full = np.column_stack([plain, *further.values()])
    if np.linalg.matrix_rank(full) < full.shape[1] or outcome.size <= full.shape[1]:
        return None
    before = OLS(outcome, plain).fit()
    after = OLS(outcome, full).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    tested = np.eye(full.shape[1])[plain.shape[1] :]
    wald = after.wald_test(tested, use_f=True, scalar=True)
    labels = ["intercept", *kept, *further]
    return Increment(
        n=outcome.size,
        clusters=names.size,
        r2_controls=float(before.rsquared),
        r2=float(after.rsquared),
        gain=float(after.rsquared - before.rsquared),
        f=float(wald.statistic),
        df=(len(further), int(wald.df_denom)),
        p_value=(
            float(wald.pvalue)
            if units is None
            else _unit_p_value(outcome, plain, np.column_stack([*further.values()]), units)
        ),
        terms=tuple(
            Term(name=name, value=float(value), error=float(error), p_value=float(p))
            for name, value, error, p in zip(
                labels, after.params, after.bse, after.pvalues, strict=True
            )
        ),
        dropped=tuple(name for name in controls if name not in kept),
    )


def _unit_p_value(outcome: Floats, plain: Floats, further: Floats, units: Sequence[str]) -> float:
    """Return the p-value of the gain when the further terms are permuted over the units.

    By the theorem of Frisch, Waugh and Lovell, the gain of any assignment follows from the units'
    indicators G with the controls projected out. With A = G'G, b = G'y and the terms V of the
    units, the gain is proportional to b'V (V'AV)^-1 V'b.

    `outcome` has shape (n,), `plain` shape (n, controls) and `further` shape (n, terms). `units`
    has the name of each observation's unit; the further terms are equal within a unit.
    """
    names, index = np.unique(np.asarray(units), return_inverse=True)
    basis = np.linalg.qr(plain)[0]
    indicators = np.eye(names.size)[index]
    indicators -= basis @ (basis.T @ indicators)
    rest = outcome - basis @ (basis.T @ outcome)
    gram, moment = indicators.T @ indicators, indicators.T @ rest
    first = np.array([int(np.flatnonzero(index == unit)[0]) for unit in range(names.size)])
    terms = further[first]

    def gain(order: Ints) -> float:
        dealt = terms[order]
        solution = np.linalg.lstsq(dealt.T @ gram @ dealt, dealt.T @ moment, rcond=None)[0]
        return float(moment @ dealt @ solution)

    rng = generator(0, "units")
    orders = (rng.permutation(names.size) for _ in range(_DEALS))
    return p_value(np.array([gain(order) for order in (np.arange(names.size), *orders)]))
