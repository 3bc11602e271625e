r"""ReCode's robustness figures over a task's variants, as columns beside elasticity.

ReCode (Wang et al., 2022, arXiv:2212.10264, §3.3) takes the worst case over s perturbed prompts,
sample by sample. Samples of different prompts do not belong together, so here the worst case is
taken in expectation: that all s of a subset are solved has probability :math:`\prod_v q_v`, and
the product of the pass rates is an unbiased estimate of it. It is averaged over all subsets of s
variants, by elementary symmetric polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pytest_promptse.scoring.scores import TaskScore

# Below this pass rate a relative drop is mostly noise.
_LEAST_NOMINAL = 0.05


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """Worst-case figures over s variants, means over ``n_tasks`` tasks.

    ``rp`` (robust pass, in [0, 1]) is the probability that all s variants are solved; ``rd``
    (robust drop, at most 1) is ``(nominal - rp) / nominal``, None where the nominal pass rate is
    under 0.05; ``rr`` (robust relative, in [0, 2]) is the probability that the original is solved
    and one of the variants is not, plus that of the reverse.
    """

    s: int
    n_tasks: int
    nominal: float
    rp: float
    rd: float | None
    rr: float


def robustness(
    original: ArrayLike, variants: Sequence[ArrayLike], *, s: int = 5
) -> Robustness | None:
    """Return RP, RD and RR at s.

    Parameters
    ----------
    original
        Shape (n,): pass rate of each task's original.
    variants
        For each of the n tasks the pass rates of its variants, shape (K,).
    s
        Size of the subsets that the worst case is taken over, >= 1. With s = 1, RP is the
        variants' mean pass rate.

    Returns
    -------
    Robustness or None
        Over the tasks that have at least s variants; None where there is none. If all passed,
        RP is 1 and RD and RR are 0; if none passed, RP and RR are 0 and RD is None.

    Raises
    ------
    ValueError
        If s < 1, the lengths differ or a rate lies outside [0, 1].
    """
    if s < 1:
        raise ValueError(f"s is {s}: the worst case is over at least one variant")
    rates = [np.asarray(v, dtype=np.float64) for v in variants]
    q = np.asarray(original, dtype=np.float64)
    if q.shape != (len(rates),):
        raise ValueError(f"original has shape {q.shape} for {len(rates)} tasks")
    if not all(((x >= 0) & (x <= 1)).all() for x in (q, *rates)):
        raise ValueError("pass rates lie in [0, 1] and are never NaN")
    kept = [(p, v) for p, v in zip(q, rates, strict=True) if v.size >= s]
    if not kept:
        return None
    nominal = float(np.mean([p for p, _ in kept]))
    all_solved = np.array([_mean_product(v, s) for _, v in kept])
    none_solved = np.array([_mean_product(1.0 - v, s) for _, v in kept])
    p = np.array([p for p, _ in kept])
    rp = float(all_solved.mean())
    return Robustness(
        s=s,
        n_tasks=len(kept),
        nominal=nominal,
        rp=rp,
        rd=(nominal - rp) / nominal if nominal >= _LEAST_NOMINAL else None,
        rr=float((p * (1.0 - all_solved) + (1.0 - p) * (1.0 - none_solved)).mean()),
    )


def task_robustness(tasks: Sequence[TaskScore], *, s: int = 5) -> Robustness | None:
    """Return `robustness` over the variants of all distances of scored tasks."""
    scored = [
        (task.original.pass_rate, [v.pass_rate for group in task.variants.values() for v in group])
        for task in tasks
        if task.original is not None
    ]
    return robustness([p for p, _ in scored], [v for _, v in scored], s=s)


def _mean_product(rates: ArrayLike, s: int) -> float:
    """Return the mean of the product over all subsets of s rates, shape (K,), K >= s."""
    polynomial = np.zeros(s + 1)
    polynomial[0] = 1.0
    values = np.asarray(rates, dtype=np.float64)
    for rate in values:
        polynomial[1:] += rate * polynomial[:-1]
    return float(min(1.0, polynomial[s] / comb(values.size, s)))
