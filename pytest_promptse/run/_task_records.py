"""Tasks in the record: the figures of a task, and its prompts with their scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pytest_promptse.record._figures import LossRecord
from pytest_promptse.record._schema import TaskRecord
from pytest_promptse.run._gates import to_samples
from pytest_promptse.run._subgroups import (
    confidences_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.record._figures import Losses
    from pytest_promptse.scoring._causes import CauseShare
    from pytest_promptse.scoring._scores import (
        Figures,
        PromptScore,
        TaskScore,
    )
    from pytest_promptse.store._measured_variant import VariantRecord
    from pytest_promptse.store._run_log import (
        SuiteRow,
        VariantRow,
    )


def curve_fields(suite: SuiteRow, score: Figures | None) -> dict[str, Any]:
    """Return the curves of a suite or a task, by the names of the fields of its record."""
    names = ("elasticity", "elasticity_null", "elasticity_excess", "elasticity_p_value")
    return {
        name: by_distance(getattr(score, name)) if score else _no_values(suite) for name in names
    }


def losses_by_distance(causes: Mapping[float, Mapping[str, CauseShare]]) -> Losses:
    """Return the losses by cause as the record has them."""
    return {
        f"{distance:g}": {
            cause: LossRecord(loss=share.loss, drop=share.drop) for cause, share in split.items()
        }
        for distance, split in causes.items()
    }


def _no_values(suite: SuiteRow) -> dict[str, Any]:
    return {f"{distance:g}": None for distance in suite.distances}


def task_record(
    suite: SuiteRow,
    score: TaskScore | None,
    rows: list[VariantRow],
    *,
    controls: list[VariantRow],
    all_draws: bool,
) -> TaskRecord:
    """Return the record of a task.

    Parameters
    ----------
    suite, score
        The suite of the task, and its score, or None if it could not be scored.
    rows, controls
        Its measured prompts, with the original first, and its measured control variants.
    all_draws
        True if the record has all samples.
    """
    scored = _scored(rows, score, all_draws=all_draws)
    original = scored.pop(0) if scored and not scored[0].distance else None
    everything = [*rows, *controls]
    return TaskRecord(
        id=everything[0].variant.task_id,
        suite=suite.id,
        model=suite.model,
        template=suite.template,
        **curve_fields(suite, score),
        auc_e=score.auc_e if score else None,
        auc_e_null=score.auc_e_null if score else None,
        excess=score.excess if score else None,
        p_value=score.p_value if score else None,
        p_adjusted=score.p_adjusted if score else None,
        losses=losses_by_distance(score.causes) if score else {},
        original=original,
        variants=scored,
        controls=_scored_controls(controls, score, all_draws=all_draws),
        texts={key: text for row in everything for key, text in row.texts.items()},
    )


def _scored(
    rows: Sequence[VariantRow], score: TaskScore | None, *, all_draws: bool
) -> list[VariantRecord]:
    """Return the original and the variants of a task with their scores.

    `rows` are in the order of `score`, which is None if the task could not be scored.
    """
    places: Counter[float] = Counter()
    scored = []
    for row in rows:
        distance = row.variant.distance
        figures: PromptScore | None = None
        if score is not None:
            figures = score.variants[distance][places[distance]] if distance else score.original
        places[distance] += 1
        scored.append(_with_score(row.variant, figures, all_draws=all_draws))
    return scored


def _scored_controls(
    rows: Sequence[VariantRow], score: TaskScore | None, *, all_draws: bool
) -> list[VariantRecord]:
    """Return the control variants of a task with their scores, as in `_scored`."""
    places: Counter[float] = Counter()
    scored = []
    for row in rows:
        of_level = score.controls.get(row.variant.distance, ()) if score else ()
        place = places[row.variant.distance]
        figures = of_level[place] if place < len(of_level) else None
        places[row.variant.distance] += 1
        control = _with_score(row.variant, figures, all_draws=all_draws)
        original = score.original if score else None
        if figures is not None and original is not None:
            control = replace(control, delta=figures.score - original.score)
        scored.append(control)
    return scored


def _with_score(
    variant: VariantRecord, score: PromptScore | None, *, all_draws: bool
) -> VariantRecord:
    confidences = confidences_of(to_samples(variant.draws))
    return replace(
        variant,
        confidence=None if confidences is None else float(confidences.mean()),
        draws=variant.draws if all_draws else [],
        **(asdict(score) if score else {}),
    )


def by_distance(curve: Mapping[float, Any]) -> dict[str, Any]:
    """Return a curve as the record has it, with distances as text."""
    return {f"{distance:g}": value for distance, value in curve.items()}
