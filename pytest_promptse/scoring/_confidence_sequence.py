"""Confidence sequences for means of bounded values, which hold for any number of values.

The interval contains every mean m against which no bet has paid off. A gambler may stake on every
value in turn, at odds that are fair if the mean is m. The probability that the stake ever grows by
a factor of more than 1/a is at most a, at any time of looking (Ville's inequality). Nothing is
assumed about the distribution of the values. So the interval also holds for a few equal values, for
which resampling shows no uncertainty.

This is the hedged capital process of Waudby-Smith and Ramdas, "Estimating means of bounded random
variables by betting", JRSS B 86 (2024), sections 4 and 5, https://arxiv.org/abs/2010.09686. Their
library, confseq, needs a C++ compiler, pandas and matplotlib, so it is not used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pytest_promptse.scoring._samples import Floats
    from pytest_promptse.scoring._scores import Interval

_GRID = 2000
# The largest share of the capital that one bet may lose.
_STAKE = 0.75


def finite_population_limits(values: Floats, population: int, *, error: float) -> Interval:
    """Return limits of the mean of a finite population of which some values are known.

    Parameters
    ----------
    values
        Shape (n,), in [0, 1]: drawn at random without replacement, in the order of drawing.
    population
        Size of the population, >= n.
    error
        In (0, 1): the probability that the limits miss the mean at any n, from the first value to
        the last.

    Returns
    -------
    tuple of float
        The lower and upper limit. If all values are known, both are the mean itself.

    Raises
    ------
    ValueError
        If a value is outside [0, 1], or if there are more values than `population`.
    """
    n = values.size
    if n > population or ((values < 0.0) | (values > 1.0)).any():
        raise ValueError(f"{n} values of {population}, each in [0, 1], were expected")
    total = float(values.sum())
    # The mean is between these limits for any values of the rest of the population.
    low, high = total / population, (total + population - n) / population
    if n == population:
        return (low, low)
    means = np.linspace(low, high, _GRID + 1)
    capital = {sign: np.zeros_like(means) for sign in (1.0, -1.0)}
    best = np.full_like(means, -np.inf)
    seen, mean, spread = 0.0, 0.5, 0.25
    for drawn, value in enumerate(values):
        fair = np.clip((population * means - seen) / (population - drawn), 1e-9, 1.0 - 1e-9)
        stake = math.sqrt(
            2.0 * math.log(2.0 / error) / (spread * (drawn + 1) * math.log(drawn + 2))
        )
        for sign, odds in ((1.0, fair), (-1.0, 1.0 - fair)):
            capital[sign] += np.log1p(sign * np.minimum(stake, _STAKE / odds) * (value - fair))
        # Half of the capital bets that the mean is higher, half that it is lower.
        best = np.maximum(best, np.logaddexp(capital[1.0], capital[-1.0]) - math.log(2.0))
        seen += value
        mean = (0.5 + seen) / (drawn + 2)
        spread = (spread * (drawn + 1) + (value - mean) ** 2) / (drawn + 2)
    kept = means[best < math.log(1.0 / error)]
    step = (high - low) / _GRID
    if not kept.size:
        return (total / n, total / n)
    return (max(low, float(kept[0]) - step), min(high, float(kept[-1]) + step))
