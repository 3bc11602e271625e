"""EmotionBench as a suite: its settings, prompts, result and gates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import SettingsError
from pytest_promptse.instruments import (
    AnswerLog,
    FigureGate,
    IntervalGateSettings,
    Measurement,
    Probe,
    Scale,
)
from pytest_promptse.instruments._measurement import Count, Share, judged, worst_of
from pytest_promptse.instruments._scales import item_order, read_ratings, scale_prompt
from pytest_promptse.models._base import derive_seed
from pytest_promptse.psychometrics.emotionbench._factors import (
    EMOTIONS,
    NEGATIVE,
    PANAS,
    POSITIVE,
)
from pytest_promptse.psychometrics.emotionbench._importer import EMOTION_SCALES, read_scales
from pytest_promptse.psychometrics.emotionbench._scoring import (
    OVERALL,
    AffectChange,
    Evoked,
    score_contrasts,
    score_table,
)
from pytest_promptse.psychometrics.emotionbench._situations import (
    SituationSet,
    imagine,
    own_situations,
    read_situations,
)
from pytest_promptse.psychometrics.emotionbench._tables import (
    ScaleResult,
    change_label,
    rows_with_norms,
    scale_blocks,
    scale_figures,
)
from pytest_promptse.record._instruments import FigureRecord
from pytest_promptse.record._sections import Prose
from pytest_promptse.reports._formatting import signed
from pytest_promptse.scoring._gate import judge_gate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.instruments import Instrument, InstrumentRecord, Ratings, SuitePlace
    from pytest_promptse.models._base import Completion
    from pytest_promptse.scoring._scores import Gate

__all__ = ["EmotionBenchSettings", "EmotionBenchSuite", "plan_emotionbench"]

_SPECIFIC = "specific"
_GATE_CATEGORIES = {"positive-affect": POSITIVE, "negative-affect": NEGATIVE}

_Bound = Annotated[float, msgspec.Meta(ge=0)]


class EmotionBenchSettings(IntervalGateSettings, frozen=True, kw_only=True):
    """The settings of a ``*.emotionbench.yaml`` file.

    Parameters
    ----------
    situations
        ``own``, or a file that ``promptse emotionbench import`` wrote.
    scales
        A file of scales that ``promptse emotionbench import`` wrote.
    scale
        ``PANAS``, the name of a scale in ``scales``, or ``specific`` for the scale of each emotion.
    emotions, per_factor
        The emotions, and the number of situations of each factor. The default is all.
    default_runs, runs
        Number of runs of the default measure, and of each situation.
    shuffle
        True if each run has its own order of items.
    counterparts
        True to measure the positive counterparts of the situations too.
    method
        ``cluster`` treats situations as observations, ``paper`` runs. ``paper`` also scores
        imported scales as plain sums; ``cluster`` uses their scoring keys.
    min_delta_positive, max_delta_positive, min_delta_negative, max_delta_negative
        Bounds on the response in the expected direction: the fall of positive affect, and the rise
        of negative affect.
    unit
        ``points`` of the scale, or ``human_sd``: standard deviations of the human subjects' change.
    level
        Scope of the bounds: ``overall``, each ``emotion`` or each ``factor``.
    max_refusals
        Bound on the share of refusals. ``min_coverage`` is the bound on the share of responses that
        rate every item.
    """

    situations: str = "own"
    scales: str | None = None
    scale: str = "PANAS"
    emotions: tuple[str, ...] | None = None
    per_factor: Count | None = None
    default_runs: Count = 10
    runs: Count = 2
    shuffle: bool = True
    counterparts: bool = False
    method: Literal["paper", "cluster"] = "cluster"
    min_delta_positive: _Bound | None = None
    max_delta_positive: _Bound | None = None
    min_delta_negative: _Bound | None = None
    max_delta_negative: _Bound | None = None
    unit: Literal["points", "human_sd"] = "points"
    level: Literal["overall", "emotion", "factor"] = "overall"
    max_refusals: Share | None = None


@dataclass(frozen=True, kw_only=True)
class _Measure:
    """One measure: a scale, its order of items, and the situation before it, if any.

    ``order`` has item numbers of the scale. ``factor`` and ``situation`` are None for a measure
    without a situation. ``is_counterpart`` is True if the situation is the neutral counterpart.
    """

    scale: str
    order: tuple[int, ...]
    factor: str | None = None
    situation: int | None = None
    is_counterpart: bool = False


@dataclass(frozen=True, kw_only=True)
class EmotionBenchSuite(Measurement):
    """EmotionBench for one model.

    Parameters
    ----------
    situations
        The situations that the settings select.
    scales
        The scales that the situations need, by name.
    """

    settings: EmotionBenchSettings
    situations: SituationSet
    scales: Mapping[str, Scale]

    def _scale_of(self, factor: str) -> str:
        if self.settings.scale != _SPECIFIC:
            return self.settings.scale
        return EMOTION_SCALES[factor.rpartition("-")[0]]

    @cached_property
    def _planned(self) -> tuple[tuple[Probe, _Measure], ...]:
        settings = self.settings
        planned: list[tuple[Probe, _Measure]] = []
        for name in self.scales:
            group = "default" if settings.scale != _SPECIFIC else f"default-{name}"
            for run in range(settings.default_runs):
                measure = _Measure(scale=name, order=self._order(name, "default", run))
                planned.append(self._measure(group, f"run{run + 1}", measure, text=None))
        for situation in self.situations.situations:
            name = self._scale_of(situation.factor)
            texts = [("", situation.text)]
            if settings.counterparts and situation.counterpart is not None:
                texts.append(("counterpart-", situation.counterpart))
            for prefix, text in texts:
                for run in range(settings.runs):
                    place = f"{situation.factor}-{prefix}{situation.number + 1}"
                    measure = _Measure(
                        scale=name,
                        order=self._order(name, place, run),
                        factor=situation.factor,
                        situation=situation.number,
                        is_counterpart=bool(prefix),
                    )
                    title = f"{prefix}{situation.number + 1}-run{run + 1}"
                    planned.append(self._measure(situation.factor, title, measure, text=text))
        return tuple(planned)

    def _order(self, scale: str, place: str, run: int) -> tuple[int, ...]:
        return item_order(
            len(self.scales[scale].items),
            shuffle=self.settings.shuffle,
            seed=derive_seed("emotionbench", self.settings.seed, scale, place, run),
        )

    def _measure(
        self, group: str, name: str, measure: _Measure, *, text: str | None
    ) -> tuple[Probe, _Measure]:
        situation = None if text is None else imagine(text)
        prompt = scale_prompt(self.scales[measure.scale], measure.order, situation=situation)
        return self.probe(group, name, prompt), measure

    @cached_property
    def probes(self) -> Sequence[Probe]:
        """The default measures, then those after each situation."""
        return tuple(probe for probe, _ in self._planned)

    @cached_property
    def _measures(self) -> Mapping[str, _Measure]:
        return {probe.job.key: measure for probe, measure in self._planned}

    @cached_property
    def gates(self) -> Sequence[FigureGate]:
        """The gates that have a bound: of affect in each scope, and of all responses."""
        settings = self.settings
        bounded: list[FigureGate] = []
        for name, low, high in (
            ("positive-affect", settings.min_delta_positive, settings.max_delta_positive),
            ("negative-affect", settings.min_delta_negative, settings.max_delta_negative),
        ):
            if (low, high) != (None, None):
                bounded += [
                    FigureGate(name=name, scope=scope, low=low, high=high)
                    for scope in self._scopes()
                ]
        of_responses = {gate.name: gate for gate in super().gates}
        return (*bounded, *(of_responses[n] for n in ("refusals", "coverage") if n in of_responses))

    def _scopes(self) -> list[str | None]:
        factors = list(dict.fromkeys(situation.factor for situation in self.situations.situations))
        match self.settings.level:
            case "overall":
                return [None]
            case "emotion":
                return list(dict.fromkeys(factor.rpartition("-")[0] for factor in factors))
            case "factor":
                return list(factors)

    def _ratings(self, measure: _Measure, completion: Completion) -> Ratings:
        return read_ratings(
            completion.text,
            self.scales[measure.scale],
            measure.order,
            truncated=completion.finish_reason == "length",
        )

    def read(self, probe: Probe, completion: Completion) -> str:
        """Return the totals of a response, or the number of items that it rates."""
        measure = self._measures[probe.job.key]
        ratings = self._ratings(measure, completion)
        scale = self.scales[measure.scale]
        if not ratings.complete:
            return f"{len(ratings.ratings)}/{len(scale.items)} rated"
        totals = scale.totals(ratings.ratings)
        return ", ".join(f"{name.split()[0]} {total:g}" for name, total in totals.items())

    def result(self, answers: Mapping[str, Completion]) -> InstrumentRecord:
        """Return the changes of the totals."""
        log = AnswerLog()
        totals: dict[_Measure, list[dict[str, float]]] = {}
        n_scored = 0
        for probe, measure in self._planned:
            completion = answers.get(probe.job.key)
            if completion is None:
                continue
            ratings = self._ratings(measure, completion)
            problems = ratings.problems
            log.add(probe, completion, problems, badness=problems.get("missing", 0))
            if ratings.complete:
                n_scored += 1
                place = replace(measure, order=())
                totals.setdefault(place, []).append(
                    self.scales[measure.scale].totals(ratings.ratings)
                )
        scales = [self._scale_result(name, totals) for name in self.scales]
        settings, situations = self.settings, self.situations
        n_refused = log.problems["refusal"]
        counted = f"{n_scored} of {log.n} responses scored, {n_refused} refusals"
        return self.record(
            log,
            heading=f"{situations.name} situations, method {settings.method}: "
            f"{len(situations.situations)} situations",
            brief=", ".join([*_overall(scales), counted]),
            figures=[
                FigureRecord(
                    name=name, label=name, group="Responses", value=n / log.n if log.n else None
                )
                for name, n in (("coverage", n_scored), ("refusals", n_refused))
            ]
            + [figure for scale in scales for figure in scale_figures(scale)],
            blocks=[
                Prose(text=counted),
                *(
                    block
                    for scale in scales
                    if any(summary.n for summary in scale.default.values())
                    for block in scale_blocks(scale)
                ),
            ],
            data={"n_scored": n_scored, "n_refused": n_refused, "scales": scales},
            conditions={
                "situations": f"{situations.name}, {len(situations.situations)}",
                "method": settings.method,
                "scales": ", ".join(self.scales),
            },
            reference="human",
        )

    def _scale_result(
        self, name: str, totals: Mapping[_Measure, Sequence[Mapping[str, float]]]
    ) -> ScaleResult:
        settings = self.settings
        default: dict[str, list[float]] = {}
        changes: dict[str, tuple[AffectChange, ...]] = {}
        counterparts: dict[str, tuple[AffectChange, ...]] = {}
        contrasts: dict[str, tuple[AffectChange, ...]] = {}
        of_scale = {measure: runs for measure, runs in totals.items() if measure.scale == name}
        for category in self.scales[name].categories:
            default[category] = []
            negative: list[Evoked] = []
            positive: list[Evoked] = []
            for measure, runs in of_scale.items():
                values = tuple(run[category] for run in runs)
                if measure.factor is None:
                    default[category] += values
                    continue
                (positive if measure.is_counterpart else negative).append(
                    Evoked(factor=measure.factor, situation=str(measure.situation), totals=values)
                )
            reference = default[category]
            changes[category] = score_table(reference, negative, method=settings.method)
            if settings.counterparts:
                counterparts[category] = score_table(reference, positive, method=settings.method)
                contrasts[category] = score_contrasts(negative, positive, method=settings.method)
        return ScaleResult.of(
            name,
            default=default,
            changes=changes,
            counterparts=counterparts,
            contrasts=contrasts,
            norms=rows_with_norms(
                name, {situation.factor for situation in self.situations.situations}
            ),
        )

    def decide(self, gate: FigureGate, result: InstrumentRecord) -> Gate:
        """Return the decision of a gate.

        The figure of a gate of affect is the change in the expected direction: the fall of positive
        affect, or the rise of negative affect. It is in the unit of the settings.
        """
        category = _GATE_CATEGORIES.get(gate.name)
        if category is None:
            figure = result.figure(gate.name)
            return judged(gate, figure.value if figure else None)
        change = _change(result, category, gate.scope or OVERALL)
        return _response_gate(gate, change, unit=self.settings.unit, kind=self.settings.gate)


def _change(result: InstrumentRecord, category: str, name: str) -> AffectChange | None:
    for scale in result.data["scales"]:
        for change in scale["changes"].get(category, []):
            if change["name"] == name:
                return msgspec.convert(change, AffectChange)
    return None


def _overall(scales: Sequence[ScaleResult]) -> Iterator[str]:
    for scale in scales:
        for category, changes in scale.changes.items():
            yield from (f"{category} {signed(c.delta)}" for c in changes if c.name == OVERALL)


def _response_gate(
    gate: FigureGate,
    change: AffectChange | None,
    *,
    unit: Literal["points", "human_sd"],
    kind: Literal["point", "confident"],
) -> Gate:
    """Decide whether affect changes in the expected direction, neither too little nor too much.

    Parameters
    ----------
    gate
        The gate, ``positive-affect`` or ``negative-affect``, with its bounds in `unit`.
    change
        The measured change, or None if nothing could be scored.
    unit
        Points of the scale, or standard deviations of human subjects.
    kind
        Whether the value or its interval must be within the bounds.
    """
    name = gate.name if gate.scope is None else f"{gate.scope} {gate.name}"
    if change is None or change.delta is None:
        return judged(gate, None)
    factor = -1.0 if gate.name == "positive-affect" else 1.0
    if unit == "human_sd":
        if change.human is None or change.human.sd == 0:
            raise SettingsError(f"{name}: there is no human norm for {change_label(change.name)!r}")
        factor /= change.human.sd
    value = change.delta * factor
    ci95 = _scaled(change.ci95, factor)
    worst = judged(gate, value, ci95=ci95, kind=kind)
    if gate.high is not None and value < 0:
        # Affect may not move further than this in the other direction either.
        other = judge_gate(
            name, -value, gate.high, ci95=_scaled(ci95, -1.0), kind=kind, direction="at most"
        )
        worst = worst_of(worst, msgspec.structs.replace(other, value=value, ci95=ci95))
    if worst.verdict != "fail":
        return worst
    finding = _finding(value, gate.low, is_significant=change.arrow != "none")
    return msgspec.structs.replace(worst, message=f"{finding}: {worst.message}")


def _scaled(ci95: tuple[float, float] | None, factor: float) -> tuple[float, float] | None:
    if ci95 is None:
        return None
    low, high = sorted(end * factor for end in ci95)
    return low, high


def _finding(value: float, low: float | None, *, is_significant: bool) -> str:
    """Return a word for a response outside its bounds, from its value in that direction.

    `low` is the lower bound, or None. `is_significant` is True if the response differs from 0
    significantly.
    """
    if value < 0 and (low is None or is_significant):
        return "wrong direction"
    return "no response" if low is not None and value < low else "response too strong"


def plan_emotionbench(
    settings: EmotionBenchSettings, *, instrument: Instrument, place: SuitePlace
) -> EmotionBenchSuite:
    """Return EmotionBench for one model.

    Raises
    ------
    SettingsError
        If a file in the settings cannot be used, or settings contradict each other.
    """
    for low, high, name in (
        (settings.min_delta_positive, settings.max_delta_positive, "delta_positive"),
        (settings.min_delta_negative, settings.max_delta_negative, "delta_negative"),
    ):
        if low is not None and high is not None and low > high:
            raise SettingsError(f"min_{name} {low:g} is above max_{name} {high:g}")
    situations = (
        own_situations()
        if settings.situations == "own"
        else read_situations(place.path.parent / settings.situations)
    ).select(emotions=settings.emotions, per_factor=settings.per_factor)
    suite = EmotionBenchSuite(
        instrument=instrument,
        place=place,
        settings=settings,
        situations=situations,
        scales=_scales(settings, situations, place.path.parent),
    )
    if settings.scale != PANAS.name and any(gate.name in _GATE_CATEGORIES for gate in suite.gates):
        raise SettingsError("bounds on delta need scale: PANAS; other scales have other totals")
    return suite


def _scales(
    settings: EmotionBenchSettings, situations: SituationSet, folder: Path
) -> Mapping[str, Scale]:
    if settings.scale == PANAS.name:
        return {PANAS.name: PANAS}
    if settings.scales is None:
        raise SettingsError(
            f"scale {settings.scale!r} needs 'scales', a file that 'promptse emotionbench import' "
            "writes from your clone"
        )
    scales = read_scales(folder / settings.scales)
    if settings.scale == _SPECIFIC:
        emotions = {situation.factor.rpartition("-")[0] for situation in situations.situations}
        wanted = [EMOTION_SCALES[emotion] for emotion in EMOTIONS if emotion in emotions]
    else:
        wanted = [settings.scale]
    for name in wanted:
        if name not in scales:
            raise SettingsError(f"{settings.scales} has no scale {name!r}{nearest(name, scales)}")
    is_paper = settings.method == "paper"
    return {name: scales[name].plain() if is_paper else scales[name] for name in wanted}
