"""Build the record of a run from the entries of its run log."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pytest_promptse import __version__
from pytest_promptse.config._metrics import METRICS
from pytest_promptse.errors import NotScoredError
from pytest_promptse.models._base import token_cost
from pytest_promptse.record._figures import (
    AnswersRecord,
    ControlLevelRecord,
    ControlRecord,
    EstimateRecord,
    LightRecord,
    RobustnessRecord,
    RoundsRecord,
)
from pytest_promptse.record._files import CompressedTasks
from pytest_promptse.record._queries import describe_metric, worst_verdict
from pytest_promptse.record._schema import (
    SCHEMA,
    EmotionRecord,
    EntailmentRecord,
    ErrorRecord,
    ModelRecord,
    Record,
    RejectedText,
    RewritingRecord,
    SuiteRecord,
    TemplateRecord,
    UsageRecord,
)
from pytest_promptse.run._gates import answers_of
from pytest_promptse.run._provenance import environment, git_state
from pytest_promptse.run._subgroups import (
    MeasuredPrompt,
    calibrations,
    compare_subgroups,
)
from pytest_promptse.run._task_records import (
    _no_values,
    by_distance,
    curve_fields,
    losses_by_distance,
    task_record,
)
from pytest_promptse.scoring._copies import count_answers
from pytest_promptse.scoring._gate import pass_rate_limits
from pytest_promptse.scoring._multiplicity import benjamini_hochberg
from pytest_promptse.scoring._robustness import task_robustness
from pytest_promptse.scoring._scores import Estimate
from pytest_promptse.scoring._task_drop import MARGIN, task_drops
from pytest_promptse.store._run_log import (
    CachedRow,
    EntailmentRow,
    ErrorRow,
    GateRow,
    LookRow,
    RewriteRow,
    ShardRow,
    SuiteKey,
    SuiteRow,
    VariantRow,
)
from pytest_promptse.variants._distance import added_words
from pytest_promptse.variants._library import quadrant
from pytest_promptse.variants._variant import text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend, Usage
    from pytest_promptse.record._schema import InvocationRecord, SubgroupsRecord
    from pytest_promptse.run._gates import Scores
    from pytest_promptse.scoring._copies import PromptAnswers
    from pytest_promptse.scoring._scores import (
        Gate,
        SuiteFigures,
        SuiteScore,
    )
    from pytest_promptse.store._run_log import RunLog
    from pytest_promptse.store._store import Store
    from pytest_promptse.variants._library import Emotion


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The facts of a run that are in the record and not in the run log.

    Attributes
    ----------
    started
        When the run began.
    root
        The root directory of the pytest session.
    sandbox
        The isolation level that programs ran under.
    settings
        Settings of the run.
    invocation
        How pytest was called.
    backends
        The backends of the models of the run, by ``BACKEND:NAME``.
    emotions
        The emotions that variants may have, by name.
    usage
        Requests and tokens spent.
    """

    started: datetime
    root: Path
    sandbox: str
    settings: Settings
    invocation: InvocationRecord
    backends: Mapping[str, Backend]
    emotions: Mapping[str, Emotion]
    usage: Usage


def build_record(
    run_log: RunLog, scores: Scores, store: Store, facts: RunFacts, *, suite_id: str | None = None
) -> Record:
    """Return the record of everything that all processes of a run have measured so far.

    Parameters
    ----------
    run_log, scores, store
        The log, scores and store of the run.
    facts
        The facts that the run log does not have.
    suite_id
        The only suite to include, or None for all.
    """
    # The count of the first process is the lowest one, since this run adds samples later.
    cached = min((row.cached for row in run_log.rows(CachedRow)), default=0)
    cached += sum(row.cached for row in run_log.rows(LookRow))
    times = [row.oldest for row in run_log.rows(CachedRow) if row.oldest is not None]
    oldest: str | msgspec.UnsetType = msgspec.UNSET
    if cached and times:
        oldest = datetime.fromtimestamp(min(times), UTC).isoformat(timespec="seconds")
    costs = [row.batch_cost for row in run_log.rows(CachedRow) if row.batch_cost is not None]
    batch_cost = max(costs) if cached and costs else msgspec.UNSET
    price = facts.settings.price
    head = Record(
        schema=SCHEMA,
        tool={"name": "pytest-promptse", "version": __version__},
        started=facts.started.isoformat(timespec="seconds"),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        environment={**environment(), "sandbox": facts.sandbox},
        git=git_state(facts.root),
        invocation=facts.invocation,
        settings=facts.settings.as_json_values(),
        models=[_model(spec, backend, store) for spec, backend in facts.backends.items()],
        metrics={metric.name: describe_metric(metric) for metric in METRICS.values()},
        suites=[],
        tasks=[],
        usage=replace(
            _usage(facts.usage, cached=cached, price=price), oldest=oldest, batch_cost=batch_cost
        ),
        rewriting=_rewriting(run_log),
        entailment=_entailment(run_log),
        errors=[],
        emotions={
            name: EmotionRecord(valence=emotion.valence, arousal=emotion.arousal)
            for name, emotion in facts.emotions.items()
        },
        shard=next(run_log.rows(ShardRow), msgspec.UNSET),
    )
    return fill_record(head, run_log, scores, suite_id=suite_id)


def _rewriting(run_log: RunLog) -> list[RewritingRecord]:
    """Return the texts that each rewriter wrote, counted."""
    by_rewriter: dict[str, list[RewriteRow]] = {}
    for row in run_log.rows(RewriteRow):
        by_rewriter.setdefault(row.rewriter, []).append(row)
    return [
        RewritingRecord(
            rewriter=rewriter,
            model=rows[0].model,
            instruction=rows[0].instruction,
            variants=len(rows),
            texts=sum(row.texts for row in rows),
            accepted=sum(row.accepted for row in rows),
            rules=dict(sorted(sum((Counter(row.rules) for row in rows), Counter()).items())),
            rejected=[
                RejectedText(task=row.task, variant=row.variant, text=text, findings=findings)
                for row in rows
                for text, findings in row.rejected
            ],
        )
        for rewriter, rows in by_rewriter.items()
    ]


def _entailment(run_log: RunLog) -> list[EntailmentRecord]:
    """Return the requests to each judge model about doubtful texts, counted."""
    by_model: dict[tuple[str, str], list[EntailmentRow]] = {}
    for row in run_log.rows(EntailmentRow):
        by_model.setdefault((row.model, row.instruction), []).append(row)
    return [
        EntailmentRecord(
            model=model,
            instruction=instruction,
            texts=sum(row.texts for row in rows),
            questions=sum(row.questions for row in rows),
            cleared=sum(row.cleared for row in rows),
        )
        for (model, instruction), rows in by_model.items()
    ]


def fill_record(
    head: Record, run_log: RunLog, scores: Scores, *, suite_id: str | None = None
) -> Record:
    """Return `head` with suites, tasks, subgroups, errors and rankings from a run log.

    Parameters
    ----------
    head
        A record without these fields.
    run_log, scores
        The log of the run and the scores of its suites.
    suite_id
        The only suite to include, or None for all.
    """
    quadrants = {
        name: quadrant(emotion.valence, emotion.arousal) for name, emotion in head.emotions.items()
    }
    suites, tasks, subgroups = _suites(
        run_log, scores, quadrants, all_draws=head.shard is not msgspec.UNSET, suite_id=suite_id
    )
    record = replace(
        head,
        templates=_templates(run_log),
        suites=suites,
        tasks=tasks,
        subgroups=subgroups,
        errors=[
            ErrorRecord(where=row.where, message=row.message, skipped=row.skipped)
            for row in run_log.rows(ErrorRow)
        ],
    )
    if not record.templates:
        return record
    from pytest_promptse.record._ranking import rank_templates  # noqa: PLC0415 - few runs need it

    return replace(record, rankings=rank_templates(record))


def _usage(usage: Usage, *, cached: int, price: tuple[float, float] | None) -> UsageRecord:
    return UsageRecord(
        requests=usage.requests,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=price and token_cost(price, usage.prompt_tokens, usage.completion_tokens),
        cached=cached,
    )


def _model(spec: str, backend: Backend, store: Store) -> ModelRecord:
    identity = dict(backend.identity)
    capabilities = store.capabilities(identity)
    return ModelRecord(
        spec=spec,
        identity=identity,
        capabilities=asdict(capabilities) if capabilities else None,
    )


def _suites(
    run_log: RunLog,
    scores: Scores,
    quadrants: Mapping[str, str],
    *,
    all_draws: bool,
    suite_id: str | None,
) -> tuple[list[SuiteRecord], CompressedTasks, list[SubgroupsRecord]]:
    """Return suites, tasks and subgroups of the record; `quadrants` has that of each emotion.

    Only one task is in memory at a time, so memory does not grow with the number of tasks.

    With `all_draws` the tasks contain all samples. `suite_id` selects one suite; None selects all.
    """
    gates: dict[SuiteKey, list[GateRow]] = defaultdict(list)
    for gate in run_log.rows(GateRow):
        gates[gate.key].append(gate)
    ends = {row.key: row for row in run_log.rows(LookRow) if row.ended}
    suites: list[SuiteRecord] = []
    tasks = CompressedTasks()
    by_model: dict[tuple[str, str | None], list[MeasuredPrompt]] = defaultdict(list)
    for suite in run_log.rows(SuiteRow):
        if suite_id not in (None, suite.id):
            continue
        try:
            scored = scores.of(suite)
        except NotScoredError:
            # The items of the gates have already reported the error.
            scored = None
        by_id = {task.task_id: task for task in scored.tasks} if scored else {}
        margin = suite.settings.get("max_drop") or MARGIN
        drops = task_drops(scored.tasks, margin=margin) if scored else {}
        measured: list[MeasuredPrompt] = []
        answered: list[PromptAnswers] = []
        added = _AddedWords()
        draws = all_draws or suite.settings["record_samples"] == "all"
        for every in run_log.measured(suite, VariantRow):
            rows = [row for row in every if not row.control]
            controls = [row for row in every if row.control]
            added.count(rows, controls)
            prompts = [MeasuredPrompt.of(row.suite, row.variant) for row in rows]
            measured += prompts
            answered += [answers_of(row.variant.draws) for row in rows]
            task_id = every[0].variant.task_id
            made_task = task_record(
                suite, by_id.get(task_id), rows, controls=controls, all_draws=draws
            )
            tasks.append(replace(made_task, drop=drops.get(task_id)))
        decided, end = gates[suite.key], ends.get(suite.key)
        made = _suite(suite, scored, decided, measured, quadrants, end=end)
        made = _with_control(made, suite, scored, added)
        made = _with_mode_warning(made, suite, answered)
        suites.append(_with_answers(made, answered))
        by_model[suite.model, suite.template] += measured
    subgroups = [compare_subgroups(*key, prompts, quadrants) for key, prompts in by_model.items()]
    return _adjust_p_values(suites), tasks, subgroups


class _AddedWords:
    """Count the words that variants and control variants add to their originals."""

    def __init__(self) -> None:
        self.n_controls = 0
        self._words: dict[tuple[float, bool], list[int]] = defaultdict(list)

    def count(self, rows: Sequence[VariantRow], controls: Sequence[VariantRow]) -> None:
        """Count the words of one task, if its original and a control variant were measured.

        `rows` are the measured prompts of the task, with the original first; `controls` are its
        control variants.
        """
        self.n_controls += len(controls)
        if not controls or not rows or rows[0].variant.distance:
            return
        for row in (*rows[1:], *controls):
            words = added_words(rows[0].variant.text, row.variant.text)
            self._words[row.variant.distance, row.control].append(words)

    def mean(self, distance: float, *, control: bool) -> float:
        return fmean(self._words[distance, control])


def _with_control(
    made: SuiteRecord, suite: SuiteRow, score: SuiteScore | None, added: _AddedWords
) -> SuiteRecord:
    """Add the loss that remains after subtracting the effect of length, if there is a control.

    `made` is the record of `suite` so far. `score` is None if the suite could not be scored.
    `added` has the numbers of added words by distance.
    """
    if not suite.n_controls:
        return made
    effect = score.length_control if score else None
    levels = {
        f"{distance:g}": ControlLevelRecord(
            n_tasks=level.n_tasks,
            loss=level.loss,
            control_loss=level.control_loss,
            excess_loss=_estimate(level.excess_loss),
            words_added=added.mean(distance, control=False),
            control_words_added=added.mean(distance, control=True),
        )
        for distance, level in (effect.levels if effect else {}).items()
    }
    control = ControlRecord(
        name=suite.settings["control"],
        n_planned=suite.n_controls,
        n_measured=added.n_controls,
        loss=effect.loss if effect else None,
        control_loss=effect.control_loss if effect else None,
        excess_loss=_estimate(effect.excess_loss if effect else Estimate()),
        levels=levels,
    )
    return replace(made, control=control)


def _with_answers(suite: SuiteRecord, answered: list[PromptAnswers]) -> SuiteRecord:
    """Add the number of distinct completions; warn if more are equal than chance explains.

    `answered` counts the completions of each prompt. An empty list changes nothing.
    """
    if not answered:
        return suite
    temperature = float(suite.settings["temperature"])
    answers = count_answers(answered, temperature=temperature)
    warnings = list(suite.warnings)
    if answers.copied:
        warnings.append(
            f"only {answers.distinct} of {answers.n} answers differ within their prompts: "
            f"{answers.equal_pairs} pairs are equal, and independent samples at temperature "
            f"{temperature:g} explain about {answers.expected_pairs:.0f}; the server may cache "
            "answers or ignore the seed, and p-values are then too small"
        )
    return replace(
        suite,
        answers=AnswersRecord(
            n=answers.n,
            distinct=answers.distinct,
            equal_pairs=answers.equal_pairs,
            expected_pairs=answers.expected_pairs,
        ),
        warnings=warnings,
    )


def _adjust_p_values(suites: list[SuiteRecord]) -> list[SuiteRecord]:
    """Fill in the p-values adjusted over all suites of the run (Benjamini and Hochberg)."""
    adjusted = benjamini_hochberg([suite.p_value for suite in suites])
    return [replace(suite, p_adjusted=p) for suite, p in zip(suites, adjusted, strict=True)]


def _templates(run_log: RunLog) -> list[TemplateRecord]:
    """Return each prompt template of a run once."""
    templates = {
        (suite.template, place): TemplateRecord(
            name=suite.template, place=place, sha256=text_hash(source), source=source
        )
        for suite in run_log.rows(SuiteRow)
        if suite.template is not None and suite.template_source is not None
        for place, source in [suite.template_source]
    }
    return list(templates.values())


def _suite(
    suite: SuiteRow,
    score: SuiteScore | None,
    gates: Iterable[GateRow],
    measured: list[MeasuredPrompt],
    quadrants: Mapping[str, str],
    *,
    end: LookRow | None,
) -> SuiteRecord:
    # In planned order, not in the order in which processes decided them.
    decided = [row.gate for row in sorted(gates, key=lambda row: row.place)]
    return SuiteRecord(
        id=suite.id,
        model=suite.model,
        template=suite.template,
        mode=score.mode if score else None,
        weighting=suite.weighting,
        n_tasks=len(suite.tasks),
        n_variants=suite.n_variants,
        n_measured=len(measured),
        estimates=_estimates(score) if score else {},
        **curve_fields(suite, score),
        elasticity_ci95=by_distance(score.elasticity_ci95) if score else _no_values(suite),
        elasticity_exact=by_distance(score.elasticity_exact) if score else _no_values(suite),
        auc_e_null=score.auc_e_null if score else None,
        speaks_for=score.speaks_for if score else None,
        p_value=score.p_value if score else None,
        p_adjusted=None,
        ess_median=score.ess_median if score else None,
        light=_light(score.light) if score else None,
        losses=losses_by_distance(score.causes) if score else {},
        robustness=_robustness(score) if score else None,
        calibration=calibrations(measured, quadrants),
        rounds=_rounds(suite, end) if end else None,
        gates=decided,
        verdict=_verdict(decided),
        warnings=[
            *([_SHARED_PROCESS] if suite.shares_process else ()),
            *(score.warnings if score else ()),
            *_floor_warning(suite),
        ],
        settings=suite.settings,
        line=suite.line,
        template_sha256=text_hash(suite.template_source[1]) if suite.template_source else None,
    )


_SHARED_PROCESS = (
    "shared process: each program runs in one process with its tests, so a program could forge its "
    "verdict"
)


def _with_mode_warning(
    made: SuiteRecord, suite: SuiteRow, answered: Sequence[PromptAnswers]
) -> SuiteRecord:
    """Warn if a suite is scored by pass rates because some log-probabilities are missing."""
    scored = Counter(value is not None for prompt in answered for value in prompt.logprobs)
    if made.mode != "light" or suite.mode == "light" or not (scored[True] and scored[False]):
        return made
    warning = (
        f"{scored[False]} of {scored.total()} completions have no log-probability, or none that is "
        "valid, so the suite is scored by pass rates; give --promptse-mode light, or a server that "
        "returns all of them"
    )
    return replace(made, warnings=[*made.warnings, warning])


def _floor_warning(suite: SuiteRow) -> Iterator[str]:
    """Warn if `min_pass_rate` is so low that no variant with the planned samples could fail it."""
    floor, n = suite.settings.get("min_pass_rate"), suite.settings.get("samples")
    if floor is None or n is None or suite.settings.get("gate") != "confident":
        return
    fails_above, _ = pass_rate_limits(n, comparisons=suite.n_variants)
    if 0.0 < floor <= fails_above:
        yield (
            f"min_pass_rate {floor:g} can fail no variant: with {n} samples each and "
            f"{suite.n_variants} prompts tested together, a variant with 0 passes fails only if "
            f"min_pass_rate is above {fails_above:.2f}; take more samples, or gate = point"
        )


def _estimates(score: SuiteScore) -> dict[str, EstimateRecord]:
    return {
        name: _estimate(figure)
        for name, figure in score.estimates.items()
        if figure.value is not None
    }


def _estimate(estimate: Estimate) -> EstimateRecord:
    return EstimateRecord(
        value=estimate.value,
        ci95=estimate.ci95,
        exact=estimate.exact,
        note=estimate.note or msgspec.UNSET,
    )


def _rounds(suite: SuiteRow, end: LookRow) -> RoundsRecord:
    return RoundsRecord(
        look=end.look + 1,
        looks=len(suite.looks),
        decided=end.decided,
        n_variants=end.variants,
        completions=end.completions,
        max_completions=end.max_completions,
    )


def _robustness(score: SuiteScore) -> RobustnessRecord | None:
    robustness = task_robustness(score.tasks)
    return RobustnessRecord(**vars(robustness)) if robustness else None


def _verdict(gates: list[Gate]) -> str | None:
    return worst_verdict(gate.verdict for gate in gates)


def _light(figures: SuiteFigures) -> LightRecord:
    return LightRecord(
        elasticity=by_distance(figures.elasticity),
        auc_e=figures.auc_e,
        ci95=figures.ci95,
        auc_e_null=figures.auc_e_null,
        excess=figures.excess,
    )
