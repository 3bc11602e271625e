r"""Elasticity and AUC-E: how little the score depends on the variant.

For a task's original prompt p and its K variants v at perturbation distance d,

.. math::

    E(p, d) &= 1 - \frac1K \sum_v |S(p) - S(v)| && \text{PromptSE} \\
    E(p, d) &= 1 - \Bigl|S(p) - \frac1K \sum_v S(v)\Bigr| && \text{PromptSELight}

with S = SoftExec in the first and S = pass rate in the second. AUC-E is the area under the
dataset's curve E(d), divided by the range of the distances. Source: PromptSE, arXiv:2509.13680,
§2.2.2, §2.2.3 and §2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from pytest_promptse.scoring._samples import Floats


def elasticity(original: ArrayLike, variants: ArrayLike) -> Floats:
    """Return PromptSE's elasticity: 1 minus the mean of |original - variant| over the variants.

    Parameters
    ----------
    original
        Shape (...): score of the original prompt, in [0, 1].
    variants
        Shape (..., K), K >= 1: scores of its variants at one distance, in [0, 1].

    Returns
    -------
    ndarray of shape (...)
        Values in [0, 1]. The value is 1 if every variant has the score of the original, even if
        that is 0. It is never above `light_elasticity` of the same scores, and equal to it for K =
        1.

    Raises
    ------
    ValueError
        If there is no variant, or a score is outside [0, 1].
    """
    p, v = _scores(original, variants)
    return np.asarray(1.0 - np.abs(p[..., None] - v).mean(axis=-1))


def light_elasticity(original: ArrayLike, variants: ArrayLike) -> Floats:
    """Return PromptSELight's elasticity, which averages the variants first.

    Range and errors are those of `elasticity`. Variants that gain what others lose cancel out here.

    Parameters
    ----------
    original
        Shape (...): score of the original prompt, in [0, 1].
    variants
        Shape (..., K), K >= 1: scores of its variants at one distance, in [0, 1].
    """
    p, v = _scores(original, variants)
    return np.asarray(1.0 - np.abs(p - v.mean(axis=-1)))


def area_weights(distances: Sequence[float]) -> Floats:
    """Return the weight of each distance in AUC-E, shape (D,), each >= 0, adding up to 1.

    The weights are those of Simpson's rule, (1/6, 4/6, 1/6) for three evenly spaced distances.
    Simpson's rule can give a distance a negative weight where the spacing is uneven: a better
    elasticity would then lower AUC-E. Such distances get the weights of the trapezoid rule
    instead (see `uses_trapezoid`).

    Raises
    ------
    ValueError
        If there is no distance or they do not increase.
    """
    x = np.asarray(distances, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError("AUC-E needs at least one distance")
    if (np.diff(x) <= 0).any():
        raise ValueError(f"distances {list(distances)} must increase without repeats")
    if x.size == 1:
        return np.ones(1)
    areas = _simpson(x)
    if (areas < 0.0).any():
        areas = _trapezoid(x)
    return np.asarray(areas / (x[-1] - x[0]))


Weights: TypeAlias = "Callable[[Sequence[float]], Floats]"
"""Function that returns the weights of distances, which add up to 1."""


def equal_weights(distances: Sequence[float]) -> Floats:
    """Return the weight of each distance in a mean over all variants, shape (D,).

    Every distance has as many variants as the others.
    """
    return np.full(len(distances), 1.0 / len(distances))


def uses_trapezoid(distances: Sequence[float]) -> bool:
    """Return whether AUC-E over `distances` uses the trapezoid rule instead of Simpson's.

    True if Simpson's rule would give some distance a negative weight.
    """
    x = np.asarray(distances, dtype=np.float64)
    return x.size > 1 and bool((_simpson(x) < 0.0).any())


def _simpson(x: Floats) -> Floats:
    """Return the weights of Simpson's rule for increasing points, shape (n points,), n >= 2."""
    if x.size == 2:  # noqa: PLR2004 - a line
        return _trapezoid(x)
    if x.size > 3:  # noqa: PLR2004 - more than one parabola
        from scipy.integrate import simpson  # noqa: PLC0415 - takes its time, and most have three

        return np.asarray(simpson(np.eye(x.size), x=x, axis=0), dtype=np.float64)
    first, second = np.diff(x)
    both = first + second
    shares = np.array([2.0 - second / first, both**2 / (first * second), 2.0 - first / second])
    return np.asarray(shares * both / 6.0, dtype=np.float64)


def _trapezoid(x: Floats) -> Floats:
    gaps = np.diff(x)
    return np.asarray((np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2.0)


def auc_e(curve: ArrayLike, distances: Sequence[float]) -> Floats:
    """Return AUC-E, the area under the elasticity curve divided by the range of distances.

    Parameters
    ----------
    curve
        Shape (..., D): elasticity at each distance, in [0, 1]. NaN marks a distance that was not
        measured; the area is then NaN.
    distances
        The D >= 1 distances, increasing.

    Returns
    -------
    ndarray of shape (...)
        In [0, 1]; for one distance the elasticity itself. See `area_weights` for the rule.

    Raises
    ------
    ValueError
        If the curve does not have one value for each distance, or they do not increase.
    """
    e = np.asarray(curve, dtype=np.float64)
    w = area_weights(distances)
    if e.shape[-1:] != w.shape:
        raise ValueError(f"the curve has shape {e.shape} for {w.size} distances")
    # Divided by the weights' own sum, so that a perfect curve has an area of exactly 1.
    return np.asarray((e * w).sum(axis=-1) / w.sum())


def _scores(original: ArrayLike, variants: ArrayLike) -> tuple[Floats, Floats]:
    p = np.asarray(original, dtype=np.float64)
    v = np.asarray(variants, dtype=np.float64)
    if v.ndim == 0 or v.shape[-1] == 0:
        raise ValueError("elasticity needs the score of at least one variant")
    for name, scores in (("original", p), ("variants", v)):
        if not ((scores >= 0) & (scores <= 1)).all():
            raise ValueError(f"{name}: scores lie in [0, 1] and are never NaN")
    return p, v
