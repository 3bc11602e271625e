"""Rows of the run log for measured variants, made from their judged samples."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from pytest_promptse.store._measured_variant import (
    DrawRecord,
    SampleRecord,
    VariantRecord,
    text_key,
)
from pytest_promptse.store._run_log import VariantRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.run._judge import JudgedSample
    from pytest_promptse.run._plan import PlannedVariant, Suite

_DETAIL_CHARS = 600
# Limits on the texts that the record has of one variant, so that the record stays small.
_MOST_OUTCOMES = 8
_TEXT_CHARS = 8000


def variant_row(
    suite: Suite,
    planned: PlannedVariant,
    judged: Sequence[JudgedSample],
    *,
    tokens: tuple[float, float] | None = None,
    node: str | None,
) -> VariantRow:
    """Return the run log's entry for a measured variant.

    Parameters
    ----------
    suite, planned
        The variant and its suite.
    judged
        Its samples, in sample order.
    tokens
        Mean prompt and completion tokens of one attempt, or None if unknown.
    node
        The node id of the pytest item that measures the variant, or None if it has none.
    """
    details: dict[str, str] = {}
    for sample in judged:
        if sample.cause and sample.detail:
            details.setdefault(sample.cause, sample.detail[:_DETAIL_CHARS])
    samples, texts = _frequent_outcomes(judged)
    answers = _first_equal([sample.completion.text for sample in judged])
    causes = Counter(sample.cause for sample in judged if sample.cause)
    prompt_tokens, completion_tokens = tokens or (None, None)
    variant = VariantRecord(
        **msgspec.structs.asdict(planned.variant),
        id=planned.variant.id,
        node=node,
        n=len(judged),
        pass_rate=(len(judged) - causes.total()) / len(judged),
        causes=dict(sorted(causes.items())),
        details=details,
        samples=samples,
        draws=[
            DrawRecord(
                cause=sample.cause or None,
                logprob=sample.completion.logprob,
                n_tokens=sample.completion.n_tokens,
                answer=answer,
            )
            for sample, answer in zip(judged, answers, strict=True)
        ],
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
    )
    return VariantRow(
        suite=suite.id,
        model=suite.model,
        template=suite.key.template,
        control=planned.control,
        variant=variant,
        texts=texts,
    )


def _first_equal(texts: Sequence[str]) -> list[int]:
    """Return for each text the index of the first equal text."""
    first: dict[str, int] = {}
    return [first.setdefault(text, place) for place, text in enumerate(texts)]


def _frequent_outcomes(
    judged: Sequence[JudgedSample],
) -> tuple[list[SampleRecord], dict[str, str]]:
    """Return the most frequent outcomes, at least one of each cause, and their texts by key."""
    alike: dict[tuple[str, str], list[JudgedSample]] = {}
    for sample in judged:
        text = sample.completion.text if sample.program is None else sample.program
        alike.setdefault((sample.cause, text[:_TEXT_CHARS]), []).append(sample)
    ranked = sorted(alike, key=lambda key: -len(alike[key]))
    firsts = list({cause: (cause, text) for cause, text in reversed(ranked)}.values())
    others = [key for key in ranked if key not in firsts]
    kept = {*firsts, *others[: max(0, _MOST_OUTCOMES - len(firsts))]}
    shown = [key for key in ranked if key in kept]
    samples = [
        SampleRecord(
            n=len(alike[cause, text]),
            cause=cause or None,
            detail=alike[cause, text][0].detail[:_DETAIL_CHARS],
            text=text_key(text),
        )
        for cause, text in shown
    ]
    return samples, {text_key(text): text for _, text in shown}
