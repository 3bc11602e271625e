"""What emotion explains beyond the controls: a regression with and without its terms (RQ4).

Needs the extra ``statistics``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.scoring.samples import Floats

LEAST_CLUSTERS = 10
"""With fewer tasks the clustered covariance is far too small."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """One coefficient of the full model, in outcome per unit of the term, clustered error."""

    name: str
    value: float
    error: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Increment:
    """A least-squares regression with further terms against the one with controls alone.

    ``r2`` are of the two models, in [0, 1]; ``gain`` is their difference. ``f`` with ``df`` and
    ``p_value`` is the Wald test that all further terms are 0, with a covariance clustered on
    ``clusters`` tasks. ``dropped`` are controls that do not vary.
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
) -> Increment | None:
    """Fit both models by least squares, with an intercept.

    Parameters
    ----------
    outcome
        Shape (n,).
    controls, further
        Terms by name, each of shape (n,).
    clusters
        Shape (n,): what each observation belongs to; those of one cluster may depend on another.

    Returns
    -------
    Increment or None
        None for fewer than `LEAST_CLUSTERS` clusters, and where the outcome does not vary or the
        further terms cannot be told apart from each other and the controls.
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
        p_value=float(wald.pvalue),
        terms=tuple(
            Term(name=name, value=float(value), error=float(error), p_value=float(p))
            for name, value, error, p in zip(
                labels, after.params, after.bse, after.pvalues, strict=True
            )
        ),
        dropped=tuple(name for name in controls if name not in kept),
    )
