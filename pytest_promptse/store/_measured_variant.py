"""The measured variant: one struct from the judge over run log, shards and merge to the record."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from pytest_promptse.variants._variant import Variant

_KEY_DIGITS = 12


def text_key(text: str) -> str:
    """Return the key of a text in ``texts``: the first 12 digits of its SHA-256."""
    return sha256(text.encode()).hexdigest()[:_KEY_DIGITS]


class SampleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of ``n`` identical samples. ``cause`` is None if the samples passed.

    ``text`` is a key of the ``texts`` of the row or task record that contains the sample. The text
    is the program, or the completion if the completion contains no program.
    """

    n: int
    cause: str | None
    detail: str
    text: str


class DrawRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One completion. ``cause`` is None if the program in the completion passed.

    ``logprob`` is the natural log-probability of the sequence of ``n_tokens`` tokens. ``logprob``
    and ``n_tokens`` are None if the model does not return them. ``answer`` is the index of the
    first sample with the same completion.
    """

    cause: str | None
    logprob: float | None
    n_tokens: int | None
    answer: int


class VariantRecord(Variant, frozen=True, kw_only=True):
    """A measured variant, or the measured original with ``id`` ``original`` and ``distance`` 0.

    Attributes
    ----------
    id
        The part of the pytest item's id that identifies the variant.
    text
        The text of the variant: the task, or the whole prompt if the template is reworded too. The
        JSON name of this field is ``prompt``.
    node
        The node id of the pytest item that measures the variant, relative to the root directory, or
        None if the node id is unknown.
    n, pass_rate
        Number of samples, and the share of them that passed.
    causes
        Number of failed samples by cause.
    details
        The message of one failed sample for each cause.
    samples
        The most frequent outcomes, with at least one of every cause. Rare outcomes may be left out,
        so these outcomes may account for fewer than `n` samples.
    draws
        All outcomes in sample order. These outcomes are recorded only with
        ``--promptse-record-samples all``.
    prompt_tokens, completion_tokens
        Mean numbers of tokens of one attempt, or None if the model reports none.
    soft_exec, score, ess
        SoftExec, the score in the mode of the suite, and the effective sample size.
    confidence
        Mean of exp(logprob / tokens) over the samples, or None without log-probabilities.
    delta
        `score` minus the score of the original. None for the original itself.
    excess
        The part of ``abs(delta)`` that exceeds sampling noise.
    p_value, p_adjusted
        The p-value of the difference from the original, and this p-value adjusted by the
        Benjamini-Hochberg method over the variants of the suite.
    """

    id: str
    text: str = msgspec.field(name="prompt")
    node: str | None = None
    n: int
    pass_rate: float
    causes: dict[str, int]
    details: dict[str, str]
    samples: list[SampleRecord] = msgspec.field(default_factory=list)
    draws: list[DrawRecord] = msgspec.field(default_factory=list)
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    soft_exec: float | None = None
    score: float | None = None
    ess: float | None = None
    confidence: float | None = None
    delta: float | None = None
    excess: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None

    @property
    def passes(self) -> int:
        """Number of samples that passed."""
        return round(self.pass_rate * self.n)


class OutcomeFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a `VariantRecord` that scores are computed from."""

    task_id: str
    id: str
    distance: float
    index: int
    emotion: str | None
    n: int
    pass_rate: float
    draws: list[DrawRecord]

    @property
    def passes(self) -> int:
        """Number of samples that passed."""
        return round(self.pass_rate * self.n)

    @property
    def has_logprobs(self) -> bool:
        return all(draw.logprob is not None and draw.n_tokens is not None for draw in self.draws)
