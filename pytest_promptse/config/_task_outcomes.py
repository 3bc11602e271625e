"""The outcomes of one task, from which a metric computes its figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class PromptGroup:
    """The outcomes of K prompts of one task.

    Attributes
    ----------
    rates
        Shape (..., K): pass rates, in [0, 1]. Resampled outcomes have additional leading axes.
    n
        Shape (K,): numbers of samples, each >= 1.
    scores
        Shape (..., K): the scores that elasticity compares, in [0, 1]. A score is SoftExec in mode
        ``promptse`` and the pass rate in mode ``light``.
    """

    rates: npt.NDArray[np.float64]
    n: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]

    @property
    def passes(self) -> npt.NDArray[np.float64]:
        """Shape (..., K): numbers of passes. Resampled numbers need not be integers."""
        return self.rates * self.n


@dataclass(frozen=True, kw_only=True)
class TaskOutcomes:
    """The outcomes of one task, from which a metric computes its figure.

    Attributes
    ----------
    original
        The original prompt, as a group of one prompt.
    variants
        The variants at all distances together.
    by_distance
        The variants at each measured distance.
    worst_of
        The number of variants from which the worst one is taken: 5, or fewer if a task of the suite
        has fewer.
    """

    original: PromptGroup
    variants: PromptGroup
    by_distance: Mapping[float, PromptGroup]
    worst_of: int
