"""The input of scoring: the verdicts of the samples of one prompt, and of one task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Weighting: TypeAlias = Literal["sum", "mean", "uniform"]
Mode: TypeAlias = Literal["promptse", "light"]

# Servers add up rounded log-probabilities of tokens, so a sequence of probability 1 may get a value
# above 0 by about this much.
_ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class Samples:
    """The m samples that a model gave for one prompt.

    Parameters
    ----------
    passed
        Shape (m,), m >= 1: True if the program in the sample passed the check.
    logprob
        Shape (m,), in nats, at most 0: natural log of each sequence's probability, or None if the
        model returns none. ``-inf`` means probability 0. Values above 0 by no more than rounding
        become 0. NaN and larger values are errors.
    n_tokens
        Shape (m,): number of tokens of each sequence, >= 0, or None if unknown.
    causes
        For each sample the cause of its failure, ``""`` if it passed. Empty if causes are unknown.

    Raises
    ------
    ValueError
        If there is no sample, lengths differ, or a value is outside its range.
    """

    passed: Bools
    logprob: Floats | None = None
    n_tokens: Ints | None = None
    causes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        passed = np.asarray(self.passed, dtype=bool)
        if passed.ndim != 1 or passed.size == 0:
            raise ValueError(f"passed has shape {passed.shape}: give one flag for each of m >= 1")
        object.__setattr__(self, "passed", passed)
        if self.logprob is not None:
            logprob = np.asarray(self.logprob, dtype=np.float64)
            _same_length("logprob", logprob.shape, passed.size)
            if np.isnan(logprob).any() or np.isposinf(logprob).any():
                raise ValueError("logprob holds NaN or +inf: leave it out where it is not known")
            if (logprob > _ROUNDING).any():
                raise ValueError(
                    f"logprob holds {logprob.max():g}, which is above 0: a log-probability is at "
                    "most 0; check what the server returns"
                )
            object.__setattr__(self, "logprob", np.minimum(logprob, 0.0))
        if self.n_tokens is not None:
            n_tokens = np.asarray(self.n_tokens, dtype=np.int64)
            _same_length("n_tokens", n_tokens.shape, passed.size)
            if (n_tokens < 0).any():
                raise ValueError("n_tokens holds a negative count")
            object.__setattr__(self, "n_tokens", n_tokens)
        if self.causes:
            _same_length("causes", (len(self.causes),), passed.size)
            for index, (ok, cause) in enumerate(zip(passed, self.causes, strict=True)):
                if ok == bool(cause):
                    state = "passed, so its cause is ''" if ok else "failed, so it needs a cause"
                    raise ValueError(f"causes[{index}] is {cause!r}: the sample {state}")

    def __len__(self) -> int:
        return self.passed.size


@dataclass(frozen=True, eq=False)
class TaskSamples:
    """The samples of one task: its original prompt and its variants by distance.

    None means "not measured", as does a distance that `variants` lacks or has empty. ``emotions``
    names the emotion of each variant in the order of `variants`; it is only used for intervals that
    also cover emotions. ``controls`` are the samples of the length-matched control variants by
    distance; they are not part of elasticity.

    Raises
    ------
    ValueError
        If `emotions` does not name one emotion for each variant.
    """

    task_id: str
    original: Samples | None
    variants: Mapping[float, Sequence[Samples]] = field(default_factory=dict)
    emotions: Mapping[float, Sequence[str]] | None = None
    controls: Mapping[float, Sequence[Samples]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.emotions is None:
            return
        for d, group in self.variants.items():
            if len(self.emotions.get(d, ())) != len(group):
                raise ValueError(
                    f"task {self.task_id!r}, d{d:g}: {len(self.emotions.get(d, ()))} emotions for "
                    f"{len(group)} variants: give one for each"
                )


def _same_length(name: str, shape: tuple[int, ...], m: int) -> None:
    if shape != (m,):
        raise ValueError(f"{name} has shape {shape} for {m} samples: give one value for each")
