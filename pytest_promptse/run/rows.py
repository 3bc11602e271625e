"""From the plan and what was judged to the run log's rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_promptse.run.judge import DETAIL_CHARS, outcomes
from pytest_promptse.store.run_log import SuiteRow, VariantRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.run.judge import JudgedSample
    from pytest_promptse.run.plan import Suite, Wording


def suite_row(suite: Suite) -> SuiteRow:
    """Return the row of a planned suite."""
    chosen = suite.settings
    return SuiteRow(
        id=suite.id,
        model=suite.model,
        template=suite.key.template,
        template_source=((suite.template.place, suite.template.source) if suite.template else None),
        tasks=[task.id for task in suite.tasks],
        n_wordings=len(suite.wordings),
        distances=list(chosen.distances),
        mode=chosen.mode,
        weighting=chosen.weighting,
        seed=chosen.seed,
        settings=plain_settings(chosen),
        line=suite.line,
        looks=list(suite.looks),
    )


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Return settings as JSON can hold them, with the values of keys as text."""
    values = asdict(settings)
    if settings.min_elasticity is not None:
        values["min_elasticity"] = {
            "*" if distance is None else f"{distance:g}": floor
            for distance, floor in settings.min_elasticity.items()
        }
    return values


def wording_row(
    suite: Suite,
    wording: Wording,
    judged: Sequence[JudgedSample],
    *,
    tokens: tuple[float, float] | None = None,
    node: str | None,
) -> VariantRow:
    """Return the row of a wording, with the first example of each cause.

    `tokens` are those of one attempt, in and out.
    """
    variant = wording.variant
    details: dict[str, str] = {}
    for sample in judged:
        if sample.cause and sample.detail:
            details.setdefault(sample.cause, sample.detail[:DETAIL_CHARS])
    return VariantRow(
        suite=suite.id,
        model=suite.model,
        template=suite.key.template,
        task=wording.task.id,
        variant=variant.id,
        node=node,
        text=variant.text,
        distance=variant.distance,
        index=variant.index,
        emotion=variant.emotion,
        personality=variant.personality,
        measured_distance=variant.measured_distance,
        rewriter=variant.rewriter,
        causes=[sample.cause for sample in judged],
        logprobs=[sample.completion.logprob for sample in judged],
        n_tokens=[sample.completion.n_tokens for sample in judged],
        details=details,
        samples=outcomes(judged),
        tokens=tokens,
    )
