"""From the run log to the record: rows of a run, scored and put in the record's words."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from scipy.stats import false_discovery_control

from pytest_promptse.errors import NotScoredError
from pytest_promptse.record.compressed import CompressedTasks
from pytest_promptse.record.queries import worst_verdict
from pytest_promptse.record.schema import (
    ErrorRecord,
    GateRecord,
    LightRecord,
    LossRecord,
    PromptRecord,
    RobustnessRecord,
    RoundsRecord,
    SampleRecord,
    SuiteRecord,
    TaskRecord,
    TemplateRecord,
    VariantRecord,
)
from pytest_promptse.run.subgroups import Heard, calibrations, voices_of
from pytest_promptse.scoring.robustness import task_robustness
from pytest_promptse.store.run_log import (
    ErrorRow,
    GateRow,
    LookRow,
    SuiteKey,
    SuiteRow,
    VariantRow,
)
from pytest_promptse.variants.variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_promptse.record.schema import Losses, SubgroupsRecord
    from pytest_promptse.run.gates import Scores
    from pytest_promptse.scoring.causes import CauseShare
    from pytest_promptse.scoring.scores import Figures, SuiteFigures, SuiteScore, TaskScore
    from pytest_promptse.scoring.scores import PromptScore as Scored
    from pytest_promptse.store.run_log import RunLog

# Enough to tell one task's texts apart, short enough to repeat for every sample.
_KEY_DIGITS = 12


def suites_of(
    run_log: RunLog, scores: Scores, quadrants: Mapping[str, str]
) -> tuple[list[SuiteRecord], CompressedTasks, list[SubgroupsRecord]]:
    """Turn a run's rows into the record's suites, tasks and voices, a task at a time.

    `quadrants` names the quadrant of each emotion.
    """
    gates: dict[SuiteKey, list[GateRow]] = defaultdict(list)
    for gate in run_log.rows(GateRow):
        gates[gate.key].append(gate)
    ends = {row.key: row for row in run_log.rows(LookRow) if row.ended}
    suites: list[SuiteRecord] = []
    tasks = CompressedTasks()
    asked: dict[tuple[str, str | None], list[Heard]] = defaultdict(list)
    for suite in run_log.rows(SuiteRow):
        try:
            scored = scores.of(suite)
        except NotScoredError:
            # The gates, which are items, have said so.
            scored = None
        by_id = {task.task_id: task for task in scored.tasks} if scored else {}
        heard: list[Heard] = []
        for rows in run_log.measured(suite, VariantRow):
            own = [Heard.of(row) for row in rows]
            heard += own
            tasks.append(_task(suite, by_id.get(rows[0].task), rows, own))
        decided, end = gates[suite.key], ends.get(suite.key)
        suites.append(_suite(suite, scored, decided, heard, quadrants, end=end))
        asked[suite.model, suite.template] += heard
    voices = [voices_of(*key, own, quadrants) for key, own in asked.items()]
    return _adjusted(suites), tasks, voices


def _adjusted(suites: list[SuiteRecord]) -> list[SuiteRecord]:
    """Fill in the p-values adjusted over the suites of the run."""
    known = [suite.p_value for suite in suites if suite.p_value is not None]
    adjusted = iter(false_discovery_control(known) if known else ())
    return [
        suite if suite.p_value is None else replace(suite, p_adjusted=float(next(adjusted)))
        for suite in suites
    ]


def templates_of(run_log: RunLog) -> list[TemplateRecord]:
    """Return the templates of a run, each once."""
    found = {
        (suite.template, place): TemplateRecord(
            name=suite.template, place=place, sha256=text_hash(source), source=source
        )
        for suite in run_log.rows(SuiteRow)
        if suite.template is not None and suite.template_source is not None
        for place, source in [suite.template_source]
    }
    return list(found.values())


def errors_of(run_log: RunLog) -> list[ErrorRecord]:
    """Return what could not be measured."""
    return [ErrorRecord(where=row.where, message=row.message) for row in run_log.rows(ErrorRow)]


def _suite(
    suite: SuiteRow,
    score: SuiteScore | None,
    gates: Iterable[GateRow],
    heard: list[Heard],
    quadrants: Mapping[str, str],
    *,
    end: LookRow | None,
) -> SuiteRecord:
    decided = [
        GateRecord(
            name=gate.name,
            threshold=gate.threshold,
            value=gate.value,
            verdict=gate.verdict,
            message=gate.message,
            task=gate.task,
        )
        # As planned, in whatever order several processes decided them.
        for gate in sorted(gates, key=lambda gate: gate.place)
    ]
    return SuiteRecord(
        id=suite.id,
        model=suite.model,
        template=suite.template,
        mode=score.mode if score else None,
        weighting=suite.weighting,
        n_tasks=len(suite.tasks),
        n_wordings=suite.n_wordings,
        n_measured=len(heard),
        pass_at_1=score.pass_at_1 if score else None,
        pass_at_1_ci95=score.pass_at_1_ci95 if score else None,
        **_curves(suite, score),
        elasticity_ci95=_named(score.elasticity_ci95) if score else _nothing(suite),
        auc_e=score.auc_e if score else None,
        ci95=score.ci95 if score else None,
        auc_e_null=score.auc_e_null if score else None,
        excess=score.excess if score else None,
        excess_ci95=score.excess_ci95 if score else None,
        p_value=score.p_value if score else None,
        p_adjusted=None,
        ess_median=score.ess_median if score else None,
        light=_light(score.light) if score else None,
        losses=_losses(score.causes) if score else {},
        robustness=_robustness(score) if score else None,
        calibration=calibrations(heard, quadrants),
        rounds=_rounds(suite, end) if end else None,
        gates=decided,
        verdict=_verdict(decided),
        warnings=list(score.warnings) if score else [],
        settings=suite.settings,
        line=suite.line,
        template_sha256=text_hash(suite.template_source[1]) if suite.template_source else None,
    )


def _rounds(suite: SuiteRow, end: LookRow) -> RoundsRecord:
    return RoundsRecord(
        look=end.look + 1,
        looks=len(suite.looks),
        decided=end.decided,
        n_wordings=end.wordings,
        completions=end.completions,
        most=end.most,
    )


def _curves(suite: SuiteRow, score: Figures | None) -> dict[str, Any]:
    names = ("elasticity", "elasticity_null", "elasticity_excess", "elasticity_p_value")
    return {name: _named(getattr(score, name)) if score else _nothing(suite) for name in names}


def _losses(causes: Mapping[float, Mapping[str, CauseShare]]) -> Losses:
    return {
        f"{distance:g}": {
            cause: LossRecord(loss=share.loss, drop=share.drop) for cause, share in split.items()
        }
        for distance, split in causes.items()
    }


def _robustness(score: SuiteScore) -> RobustnessRecord | None:
    found = task_robustness(score.tasks)
    return RobustnessRecord(**vars(found)) if found else None


def _nothing(suite: SuiteRow) -> dict[str, Any]:
    return {f"{distance:g}": None for distance in suite.distances}


def _verdict(gates: list[GateRecord]) -> str | None:
    return worst_verdict(gate.verdict for gate in gates)


def _light(figures: SuiteFigures) -> LightRecord:
    return LightRecord(
        elasticity=_named(figures.elasticity),
        auc_e=figures.auc_e,
        ci95=figures.ci95,
        auc_e_null=figures.auc_e_null,
        excess=figures.excess,
    )


def _task(
    suite: SuiteRow, score: TaskScore | None, rows: list[VariantRow], heard: list[Heard]
) -> TaskRecord:
    original: PromptRecord | None = None
    variants = []
    places: Counter[float] = Counter()
    for row, outcome in zip(rows, heard, strict=True):
        if row.distance == 0.0:
            original = PromptRecord(**_wording(row, outcome, score.original if score else None))
            continue
        own = score.variants[row.distance][places[row.distance]] if score else None
        places[row.distance] += 1
        variants.append(
            VariantRecord(
                **_wording(row, outcome, own),
                id=row.variant,
                distance=row.distance,
                measured_distance=row.measured_distance,
                emotion=row.emotion,
                personality=row.personality,
                rewriter=row.rewriter,
                delta=own.delta if own else None,
                excess=own.excess if own else None,
                p_value=own.p_value if own else None,
                p_adjusted=own.p_adjusted if own else None,
            )
        )
    return TaskRecord(
        id=rows[0].task,
        suite=suite.id,
        model=suite.model,
        template=suite.template,
        **_curves(suite, score),
        auc_e=score.auc_e if score else None,
        auc_e_null=score.auc_e_null if score else None,
        excess=score.excess if score else None,
        p_value=score.p_value if score else None,
        p_adjusted=score.p_adjusted if score else None,
        losses=_losses(score.causes) if score else {},
        original=original,
        variants=variants,
        texts={_key(sample.text): sample.text for row in rows for sample in row.samples},
    )


def _wording(row: VariantRow, outcome: Heard, score: Scored | None) -> dict[str, Any]:
    return {
        "node": row.node,
        "prompt": row.text,
        "n": row.n,
        "pass_rate": row.passes / row.n,
        "soft_exec": score.soft_exec if score else None,
        "score": score.score if score else None,
        "ess": score.ess if score else None,
        "confidence": None if outcome.confidence is None else float(outcome.confidence.mean()),
        "causes": dict(sorted(Counter(cause for cause in row.causes if cause).items())),
        "details": row.details,
        "prompt_tokens": row.tokens and row.tokens[0],
        "completion_tokens": row.tokens and row.tokens[1],
        "samples": [
            SampleRecord(
                n=sample.n,
                cause=sample.cause or None,
                detail=sample.detail,
                text=_key(sample.text),
            )
            for sample in row.samples
        ],
    }


def _key(text: str) -> str:
    return text_hash(text)[:_KEY_DIGITS]


def _named(curve: Mapping[float, Any]) -> dict[str, Any]:
    return {f"{distance:g}": value for distance, value in curve.items()}
