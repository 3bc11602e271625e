r"""Detection of copied answers: more equal answers than independent sampling explains.

All statistics treat the samples of a prompt as independent draws. A server that caches answers or
ignores the seed returns copies. Sampling noise is then larger than the noise floor, and a stable
model seems sensitive to the variants.

Equal answers alone do not prove copies, since a confident model repeats its answer. The
log-probabilities show how often it may do so. An answer of T tokens with log-probability
:math:`\ell` has tokens of mean probability :math:`p = e^{\ell / T}`. Suppose that each token has
one competitor with the remaining probability. Sampling at temperature t then gives the token the
probability :math:`p^{1/t} / (p^{1/t} + (1 - p)^{1/t})`, and the whole answer the T-th power of
that. The probabilities of real tokens vary more, which makes a repeated answer less probable still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A small number of equal pairs may double by chance alone.
_TIMES, _PLUS = 2.0, 10.0


@dataclass(frozen=True, kw_only=True)
class PromptAnswers:
    """The m answers to one prompt.

    Attributes
    ----------
    labels
        Shape (m,). Equal answers have equal labels.
    logprobs, n_tokens
        Shape (m,). An item is None if the model did not return it.
    """

    labels: Sequence[int]
    logprobs: Sequence[float | None]
    n_tokens: Sequence[int | None]


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The number ``n`` of answers, and how many answers of each prompt are distinct.

    ``equal_pairs`` counts pairs of equal answers to the same prompt. ``expected_pairs`` is roughly
    the largest number that independent samples explain, or None without log-probabilities.
    """

    n: int
    distinct: int
    equal_pairs: int
    expected_pairs: float | None

    @property
    def copied(self) -> bool:
        """True if there are more equal pairs than independent samples explain."""
        return (
            self.expected_pairs is not None
            and self.equal_pairs > _TIMES * self.expected_pairs + _PLUS
        )


def count_answers(prompts: Iterable[PromptAnswers], *, temperature: float) -> Answers:
    """Count distinct and equal answers over prompts.

    Parameters
    ----------
    prompts
        The answers of each prompt.
    temperature
        Sampling temperature, >= 0. At 0 all answers may be equal, so any number of pairs is
        expected.
    """
    n = distinct = pairs = 0
    expected: float | None = 0.0
    for prompt in prompts:
        m = len(prompt.labels)
        counts = np.unique(np.asarray(prompt.labels), return_counts=True)[1]
        n, distinct = n + m, distinct + counts.size
        pairs += int((counts * (counts - 1) // 2).sum())
        if temperature == 0.0:
            expected = None
        if expected is None:
            continue
        if None in prompt.logprobs or None in prompt.n_tokens:
            expected = None
            continue
        logprob = np.array(prompt.logprobs, dtype=np.float64)
        tokens = np.maximum(np.array(prompt.n_tokens, dtype=np.float64), 1.0)
        per_token = np.clip(np.exp(logprob / tokens), 1e-12, 1.0 - 1e-12)
        sharper = scipy.special.expit((np.log(per_token) - np.log1p(-per_token)) / temperature)
        expected += (m - 1) / 2.0 * float((sharper**tokens).sum())
    return Answers(n=n, distinct=distinct, equal_pairs=pairs, expected_pairs=expected)
