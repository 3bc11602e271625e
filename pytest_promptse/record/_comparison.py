"""Comparison of a run with a baseline, from both records alone.

Suites are matched by id, template and model, and tasks by id. Variants are matched by id, or by
distance and index if they were generated again. The comparison lists differences of model,
decoding, rewriter and prompt, and the tasks and variants that only one record has.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

from pytest_promptse.config._metrics import compared_metrics
from pytest_promptse.record._queries import stopped_early
from pytest_promptse.record._schema import BaselineRecord, ComparedRecord, ComparisonRecord
from pytest_promptse.scoring._compare import Comparison, compare_runs, with_itself
from pytest_promptse.scoring._pairing import Pairs, RecordedPrompt, RecordedTask
from pytest_promptse.store._run_log import SuiteKey

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Sequence

    from pytest_promptse.config._option_types import Margin
    from pytest_promptse.record._schema import Record, SuiteRecord, TaskRecord
    from pytest_promptse.scoring._samples import Mode
    from pytest_promptse.store._measured_variant import VariantRecord

# Settings on which the metrics of a suite depend.
DECISIVE = (
    "temperature",
    "top_p",
    "max_tokens",
    "samples",
    "original_samples",
    "perturb",
    "seed",
    "timeout",
    "memory",
)
# If one of these differs, all variants were generated again.
_REWORDING = {"perturb", "rewriter", "seed"}


def compare_records(
    current: Record, baseline: Record, *, name: str, margins: Sequence[Margin] = ()
) -> list[ComparisonRecord]:
    """Compare every suite of a run with its counterpart in a baseline.

    The counterpart has the same id, template and model. If each side has exactly one further
    suite with the same id and template, these two are compared although the model differs.

    Parameters
    ----------
    current, baseline
        The records of both sides.
    name
        Name or path of the baseline, as the user gave it.
    margins
        The smallest unacceptable losses, at most one per metric.

    Returns
    -------
    list of ComparisonRecord
        The suites of `current` in their order, then those that only `baseline` has. All metrics
        are compared; those without a margin have no verdict.
    """
    about = BaselineRecord(
        name=name,
        finished=baseline.finished,
        commit=baseline.git["commit"] if baseline.git else None,
    )
    compared = []
    for ours, theirs in _matched(current.suites, baseline.suites):
        if ours and theirs:
            sides = _Side(current, ours), _Side(baseline, theirs)
            compared.append(_compared(*sides, about=about, margins=margins))
            continue
        suite = cast("SuiteRecord", ours or theirs)
        compared.append(
            ComparisonRecord(
                baseline=about,
                suite=suite.id,
                template=suite.template,
                model=ours.model if ours else None,
                baseline_model=theirs.model if theirs else None,
            )
        )
    return compared


def without_counterpart(planned: Sequence[SuiteKey], baseline: Record) -> list[SuiteKey]:
    """Return the suites of a run that its comparison will not find in a baseline."""
    counterparts, _ = _counterparts(planned, [_key(suite) for suite in baseline.suites])
    return [ours for ours in planned if ours not in counterparts]


def _key(suite: SuiteRecord) -> SuiteKey:
    return SuiteKey(model=suite.model, template=suite.template, id=suite.id)


def _matched(
    current: Sequence[SuiteRecord], baseline: Sequence[SuiteRecord]
) -> list[tuple[SuiteRecord | None, SuiteRecord | None]]:
    theirs = {_key(suite): suite for suite in baseline}
    ours = {_key(suite): suite for suite in current}
    counterparts, alone = _counterparts(list(ours), list(theirs))
    return [
        *(
            (suite, theirs[counterparts[key]] if key in counterparts else None)
            for key, suite in ours.items()
        ),
        *((None, theirs[key]) for key in alone),
    ]


def _counterparts(
    ours: Sequence[SuiteKey], theirs: Sequence[SuiteKey]
) -> tuple[dict[SuiteKey, SuiteKey], list[SuiteKey]]:
    """Return the suite of `theirs` for each of `ours` that has one, and the rest of `theirs`."""
    counterparts = {key: key for key in ours if key in theirs}
    rest: dict[tuple[str, str | None], list[SuiteKey]] = defaultdict(list)
    for key in theirs:
        if key not in counterparts:
            rest[key.id, key.template].append(key)
    alone: dict[tuple[str, str | None], list[SuiteKey]] = defaultdict(list)
    for key in ours:
        if key not in counterparts:
            alone[key.id, key.template].append(key)
    for suite, keys in alone.items():
        if len(keys) == len(rest[suite]) == 1:
            counterparts[keys[0]] = rest[suite].pop()
    return counterparts, [key for keys in rest.values() for key in keys]


class _Side:
    """One suite with the parts of its record that belong to it."""

    def __init__(self, record: Record, suite: SuiteRecord) -> None:
        self.suite = suite
        key = (suite.id, suite.model, suite.template)
        self.tasks = {t.id: t for t in record.tasks if (t.suite, t.model, t.template) == key}
        self.identity = next((m.identity for m in record.models if m.spec == suite.model), {})
        self.tool = record.tool.get("version", "")
        self.distances = {float(distance) for distance in suite.elasticity}

    @property
    def rewriter(self) -> str:
        names = {variant.rewriter for task in self.tasks.values() for variant in task.variants}
        return ", ".join(sorted(names))

    def recorded(self, *, light: bool, by_place: Container[str]) -> list[RecordedTask]:
        """Return the scored tasks. A task without a scored original is left out.

        In the tasks of `by_place`, variants are identified by distance and index.

        With `light` the scores are pass rates, else SoftExec.
        """
        tasks = []
        for task in self.tasks.values():
            original = recorded(task.original, light=light) if task.original else None
            if original is None:
                continue
            variants = {
                _place(variant) if task.id in by_place else variant.id: measured
                for variant in task.variants
                if (measured := recorded(variant, light=light)) is not None
            }
            tasks.append(RecordedTask(task_id=task.id, original=original, variants=variants))
        return tasks


def recorded(prompt: VariantRecord, *, light: bool) -> RecordedPrompt | None:
    """Return a prompt for comparison, or None without a score.

    If `light`, its score is the pass rate.
    """
    score = prompt.pass_rate if light else prompt.score
    if score is None:
        return None
    return RecordedPrompt(
        distance=prompt.distance,
        n=prompt.n,
        pass_rate=prompt.pass_rate,
        score=score,
        ess=prompt.ess,
        excess=prompt.excess,
    )


def _place(variant: VariantRecord) -> str:
    return f"d{variant.distance:g}-{variant.index}"


def _compared(
    ours: _Side, theirs: _Side, *, about: BaselineRecord, margins: Sequence[Margin]
) -> ComparisonRecord:
    suites = (ours.suite, theirs.suite)
    light = not (
        all(suite.mode == "promptse" for suite in suites)
        and ours.suite.weighting == theirs.suite.weighting
    )
    differences = _differences(ours, theirs)
    edited = [name for name in ours.tasks if _is_edited(name, ours, theirs)]
    all_anew = bool(differences.keys() & _REWORDING)
    by_place = ours.tasks.keys() if all_anew else edited
    current = ours.recorded(light=light, by_place=by_place)
    baseline = theirs.recorded(light=light, by_place=by_place)
    shared = sorted(ours.distances & theirs.distances)
    figures = _figures(
        current,
        baseline,
        mode="light" if light else "promptse",
        distances=shared or sorted(ours.distances),
        margins={margin.metric: margin for margin in margins},
        same_completions=_completions(ours) == _completions(theirs) != {},
        seed=int(ours.suite.settings.get("seed", 0)),
    )
    pairs = Pairs.of(current, baseline)
    return ComparisonRecord(
        baseline=about,
        suite=ours.suite.id,
        template=ours.suite.template,
        model=ours.suite.model,
        baseline_model=theirs.suite.model,
        mode="light" if light else "promptse",
        figures=figures,
        differences=differences,
        prompts_changed=edited,
        notes=list(_notes(ours, theirs, differences, shared=shared, by_place=by_place)),
        tasks_only_current=list(pairs.tasks_only_current),
        tasks_only_baseline=list(pairs.tasks_only_baseline),
        variants_only_current=list(pairs.variants_only_current),
        variants_only_baseline=list(pairs.variants_only_baseline),
    )


def _completions(side: _Side) -> dict[tuple[str, str], object]:
    """Return what identifies the completions of each prompt; nothing if a prompt has none.

    The record keeps the most frequent outcomes of a prompt, so its figures are compared as well.
    """
    identities: dict[tuple[str, str], object] = {}
    for task in side.tasks.values():
        for prompt in (task.original, *task.variants):
            if prompt is None or not prompt.samples:
                return {}
            outcomes = sorted(
                (sample.text, sample.n, sample.cause or "") for sample in prompt.samples
            )
            figures = prompt.n, prompt.pass_rate, prompt.score
            identities[task.id, prompt.id] = prompt.text, figures, outcomes
    return identities


def _figures(
    current: list[RecordedTask],
    baseline: list[RecordedTask],
    *,
    mode: Mode,
    distances: Sequence[float],
    margins: dict[str, Margin],
    same_completions: bool,
    seed: int,
) -> list[ComparedRecord]:
    # The originals first, then the curve, then what is made of all variants.
    ordered = sorted(
        compared_metrics(), key=lambda metric: (metric.needs_variants, not metric.by_distance)
    )
    metrics = [
        (metric.name, distance)
        for metric in ordered
        if distances or not metric.needs_variants
        for distance in (distances if metric.by_distance else (None,))
    ]
    figures = []
    for metric, distance in metrics:
        margin = margins.get(metric)
        compared = compare_runs(
            current,
            baseline,
            metric,
            mode=mode,
            distances=distances,
            distance=distance,
            margin=margin.loss if margin else None,
            relative=bool(margin and margin.relative),
            seed=seed,
        )
        figures.append(_figure(with_itself(compared) if same_completions else compared))
    return figures


def _figure(comparison: Comparison) -> ComparedRecord:
    return ComparedRecord(
        metric=comparison.metric,
        distance=comparison.distance,
        current=comparison.current,
        baseline=comparison.baseline,
        difference=comparison.difference,
        ci95=comparison.ci95,
        exact=comparison.exact,
        margin=comparison.margin,
        verdict=comparison.verdict,
        message=comparison.message,
        n_tasks=comparison.n_tasks,
    )


def _differences(ours: _Side, theirs: _Side) -> dict[str, tuple[str, str]]:
    here, there = ours.suite, theirs.suite
    values: dict[str, tuple[Any, Any]] = {"model": (here.model, there.model)}
    if here.model == there.model:
        for key in sorted(ours.identity.keys() | theirs.identity.keys()):
            values[f"model {key}"] = (
                ours.identity.get(key, "none"),
                theirs.identity.get(key, "none"),
            )
    if here.template_sha256 and there.template_sha256:
        values["template"] = (here.template_sha256[:12], there.template_sha256[:12])
    # A suite of which nothing was measured has no mode.
    if here.mode is not None and there.mode is not None:
        values["mode"] = (here.mode, there.mode)
    values["weighting"] = (here.weighting, there.weighting)
    values["distances"] = (_listed(ours.distances), _listed(theirs.distances))
    for name in DECISIVE:
        if name in here.settings and name in there.settings:
            values[name] = (here.settings[name], there.settings[name])
    if ours.rewriter and theirs.rewriter:
        values["rewriter"] = (ours.rewriter, theirs.rewriter)
    values["pytest-promptse"] = (ours.tool, theirs.tool)
    return {name: (_text(a), _text(b)) for name, (a, b) in values.items() if a != b}


def _listed(distances: Iterable[float]) -> str:
    return ",".join(f"{distance:g}" for distance in sorted(distances))


def _text(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _notes(
    ours: _Side,
    theirs: _Side,
    differences: dict[str, tuple[str, str]],
    *,
    shared: Sequence[float],
    by_place: Collection[str],
) -> Iterable[str]:
    if differences.keys() & {"mode", "weighting"}:
        yield "the scoring differs: compared by pass rates, as PromptSELight does"
    if "distances" in differences and shared:
        yield f"compared over the common distances {_listed(shared)}"
    if by_place:
        yield "variants were generated again: they are paired by distance and index"
    if differences.keys() & {"samples", "original_samples"}:
        yield (
            "sampled differently on both sides: elasticity, AUC-E and excess depend on the number "
            "of samples and are not judged; squared sensitivity does not"
        )
    for side, name in ((ours, "this run"), (theirs, "the baseline")):
        if stopped_early(side.suite):
            yield f"{name} stopped early, so its AUC-E may be off by up to 0.05"
    changed = sum(
        _reworded(task, theirs.tasks[name])
        for name, task in ours.tasks.items()
        if name in theirs.tasks and name not in by_place
    )
    if changed:
        yield f"variants whose text changed although their prompt did not: {changed}"


def _is_edited(name: str, ours: _Side, theirs: _Side) -> bool:
    if name not in theirs.tasks:
        return False
    here, there = ours.tasks[name].original, theirs.tasks[name].original
    return here is not None and there is not None and here.text != there.text


def _reworded(ours: TaskRecord, theirs: TaskRecord) -> int:
    before = {variant.id: variant.text for variant in theirs.variants}
    return sum(before.get(variant.id, variant.text) != variant.text for variant in ours.variants)
