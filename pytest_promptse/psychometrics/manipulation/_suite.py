"""The manipulation check as a suite: its settings, prompts, result and gates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import SettingsError, VariantError
from pytest_promptse.models._base import derive_seed
from pytest_promptse.psychometrics._scales import item_order, read_ratings
from pytest_promptse.psychometrics._suite import (
    AnswerLog,
    Measurement,
    Probe,
    PsychometricGate,
    Share,
    SuiteSettings,
)
from pytest_promptse.psychometrics.emotionbench._factors import NEGATIVE, PANAS, POSITIVE
from pytest_promptse.psychometrics.emotionbench._tables import summary_record
from pytest_promptse.psychometrics.manipulation._questions import (
    NEUTRAL,
    OWN_PROMPTS,
    PERSPECTIVES,
    Perspective,
    affect_prompt,
    affect_scale,
    label_prompt,
    paired_shift,
    read_label,
    recognition,
)
from pytest_promptse.record._psychometrics import (
    AffectShiftRecord,
    LevelRecord,
    ManipulationRecord,
    RecognitionRecord,
    ShiftRecord,
    SummaryRecord,
)
from pytest_promptse.scoring._gate import judge_gate
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._library import Library
from pytest_promptse.variants._registry import rewriter_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.models._base import Completion
    from pytest_promptse.psychometrics.manipulation._questions import Shift
    from pytest_promptse.scoring._scores import Gate

__all__ = ["ManipulationSettings", "ManipulationSuite", "plan_manipulation"]

# The rewriter whose variants have other words and no emotion.
_CONTROL_REWRITER = "neutral"
_LABEL = "label"
_LABEL_TOKENS = 16

_Distance = Annotated[float, msgspec.Meta(ge=0.05, le=0.5)]


class ManipulationSettings(SuiteSettings, frozen=True, kw_only=True):
    """The settings of a ``*.manipulation.yaml`` file.

    Parameters
    ----------
    prompts
        Prompts without emotion, to be reworded; ``own`` stands for the four of this project. A
        prompt that cannot be reworded is an error.
    emotions
        The emotions of variants. The default is all of the library.
    distances
        Nominal distances of the variants, each in [0.05, 0.5]. The default is 0.1, 0.2 and 0.3.
    min_recognised
        The minimum share of emotions whose label must be recognised above chance. The other gate is
        ``min_coverage``: the share of responses that can be read in full.
    """

    prompts: Literal["own"] | Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = "own"
    emotions: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    distances: Annotated[tuple[_Distance, ...], msgspec.Meta(min_length=1)] = (0.1, 0.2, 0.3)
    min_recognised: Share | None = None


@dataclass(frozen=True, kw_only=True)
class _Message:
    """A message to show: prompt number, label, level (0 for the original) and text."""

    prompt: int
    label: str
    distance: float
    text: str

    @property
    def name(self) -> str:
        level = "original" if self.distance == 0 else f"{self.label}-d{self.distance:g}"
        return f"prompt{self.prompt + 1}-{level}"


@dataclass(frozen=True, kw_only=True)
class _Question:
    """One prompt: a message and a question about it.

    ``perspective`` is that of a rating of affect, and None if the question is about the label.
    ``order`` has item numbers; it is empty for the label.
    """

    message: _Message
    perspective: Perspective | None
    order: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ManipulationSuite(Measurement):
    """The check for one model.

    Parameters
    ----------
    messages
        All messages to show.
    """

    settings: ManipulationSettings
    messages: tuple[_Message, ...]

    @property
    def kind(self) -> Literal["manipulation"]:
        """The kind of suite."""
        return "manipulation"

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(each.label for each in self.messages), NEUTRAL)))

    @cached_property
    def _planned(self) -> tuple[tuple[Probe, _Question], ...]:
        found: list[tuple[Probe, _Question]] = []
        for message in self.messages:
            for perspective in PERSPECTIVES:
                # All messages have the same order of items, so that only the message differs.
                order = item_order(
                    len(PANAS.items),
                    shuffle=True,
                    seed=derive_seed(
                        "manipulation", self.settings.seed, message.prompt, perspective
                    ),
                )
                text = affect_prompt(message.text, perspective, order)
                question = _Question(message=message, perspective=perspective, order=order)
                found.append((self._probe(perspective, message.name, text), question))
            question = _Question(message=message, perspective=None, order=())
            text = label_prompt(message.text, self._labels)
            probe = self._probe(_LABEL, message.name, text, max_tokens=_LABEL_TOKENS)
            found.append((probe, question))
        return tuple(found)

    @cached_property
    def probes(self) -> Sequence[Probe]:
        """Three questions about each message."""
        return tuple(probe for probe, _ in self._planned)

    @cached_property
    def gates(self) -> Sequence[PsychometricGate]:
        """The gates that have a bound."""
        bounds = {
            "recognised": self.settings.min_recognised,
            "coverage": self.settings.min_coverage,
        }
        return tuple(
            PsychometricGate(name=name) for name, bound in bounds.items() if bound is not None
        )

    @cached_property
    def _questions(self) -> Mapping[str, _Question]:
        return {probe.job.key: question for probe, question in self._planned}

    def read(self, probe: Probe, completion: Completion) -> str:
        """Return the totals or the label in a response."""
        question = self._questions[probe.job.key]
        if question.perspective is None:
            label, problem = read_label(completion.text, self._labels)
            return label or str(problem).replace("_", " ")
        scale = affect_scale(question.perspective)
        ratings = read_ratings(completion.text, scale, question.order)
        if not ratings.complete:
            return f"{len(ratings.ratings)}/{len(scale.items)} rated"
        totals = scale.totals(ratings.ratings)
        return ", ".join(f"{name.split()[0]} {total:g}" for name, total in totals.items())

    def result(self, answers: Mapping[str, Completion]) -> ManipulationRecord:
        """Return the shifts of affect by emotion and level, and the recognised labels."""
        totals: dict[tuple[_Message, Perspective], dict[str, float]] = {}
        chosen: list[tuple[_Message, str]] = []
        log = AnswerLog()
        n_scored = 0
        for probe, question in self._planned:
            completion = answers.get(probe.job.key)
            if completion is None:
                continue
            found: dict[str, int] = {}
            if question.perspective is None:
                label, problem = read_label(completion.text, self._labels)
                if label is not None:
                    chosen.append((question.message, label))
                    n_scored += 1
                elif problem is not None:
                    found = {problem: 1}
            else:
                scale = affect_scale(question.perspective)
                ratings = read_ratings(
                    completion.text,
                    scale,
                    question.order,
                    truncated=completion.finish_reason == "length",
                )
                found = dict(ratings.problems)
                if ratings.complete:
                    n_scored += 1
                    place = (question.message, question.perspective)
                    totals[place] = scale.totals(ratings.ratings)
            log.add(probe, completion, found)
        return ManipulationRecord(
            id=self.id,
            model=self.model,
            n_prompts=len({each.prompt for each in self.messages}),
            n_planned=len(self._planned),
            n_responses=len(log.answers),
            n_scored=n_scored,
            baseline={
                perspective: self._baseline(totals, perspective) for perspective in PERSPECTIVES
            },
            shifts=self._shifts(totals),
            recognition=self._recognition(chosen),
            problems=dict(log.problems),
            worst=log.worst(lambda problems: sum(problems.values())),
            settings=msgspec.to_builtins(self.settings),
            line=self.line,
        )

    def _recognition(self, chosen: Sequence[tuple[_Message, str]]) -> list[RecognitionRecord]:
        by_level: dict[tuple[str, float], list[bool]] = {}
        for message, label in chosen:
            by_level.setdefault((message.label, message.distance), []).append(
                label == message.label
            )
        answers = [(message.label, label) for message, label in chosen]
        return [
            RecognitionRecord(
                label=each.label,
                n=each.n,
                hits=each.hits,
                chance=each.chance,
                share=each.share,
                ci95=each.ci95,
                p_value=each.p_value,
                p_adjusted=each.p_adjusted,
                mistaken_for=each.mistaken_for,
                recognised=each.is_recognised,
                levels=[
                    LevelRecord(distance=distance, n=len(hits), hits=sum(hits))
                    for (label, distance), hits in sorted(by_level.items())
                    if label == each.label
                ],
            )
            for each in recognition(answers, self._labels)
        ]

    def _baseline(
        self,
        totals: Mapping[tuple[_Message, Perspective], Mapping[str, float]],
        perspective: Perspective,
    ) -> dict[str, SummaryRecord]:
        return {
            category: summary_record(
                [
                    own[category]
                    for (message, seen_from), own in totals.items()
                    if seen_from == perspective and message.distance == 0
                ]
            )
            for category in (POSITIVE, NEGATIVE)
        }

    def _shifts(
        self, totals: Mapping[tuple[_Message, Perspective], Mapping[str, float]]
    ) -> list[AffectShiftRecord]:
        originals = {
            (message.prompt, perspective): own
            for (message, perspective), own in totals.items()
            if message.distance == 0
        }
        cells = dict.fromkeys(
            (each.label, each.distance) for each in self.messages if each.distance > 0
        )
        found: list[AffectShiftRecord] = []
        for label, distance in cells:
            for perspective in PERSPECTIVES:
                pairs = [
                    (originals[message.prompt, perspective], own)
                    for (message, seen_from), own in totals.items()
                    if (message.label, message.distance, seen_from)
                    == (label, distance, perspective)
                    and (message.prompt, perspective) in originals
                ]
                shifts = {
                    category: paired_shift(
                        [before[category] for before, _ in pairs],
                        [after[category] for _, after in pairs],
                    )
                    for category in (POSITIVE, NEGATIVE)
                }
                found.append(
                    AffectShiftRecord(
                        emotion=label,
                        distance=distance,
                        perspective=perspective,
                        positive=_shift(shifts[POSITIVE]),
                        negative=_shift(shifts[NEGATIVE]),
                    )
                )
        return found

    def decide(
        self, gate: PsychometricGate, result: ManipulationRecord
    ) -> tuple[Gate, tuple[float | None, float | None]]:
        """Return the decision of a gate.

        The bounds are (lower, upper), None if not set.
        """
        if gate.name == "recognised":
            emotions = [each for each in result.recognition if each.label != NEUTRAL]
            value = (
                sum(each.recognised for each in emotions) / len(emotions)
                if any(each.n for each in emotions)
                else None
            )
            bound = self.settings.min_recognised
        else:
            value = result.n_scored / result.n_responses if result.n_responses else None
            bound = self.settings.min_coverage
        return judge_gate(gate.name, value, bound), (bound, None)


def _shift(shift: Shift) -> ShiftRecord:
    return ShiftRecord(n=shift.n, delta=shift.delta, ci95=shift.ci95)


def plan_manipulation(
    settings: ManipulationSettings,
    *,
    suite_id: str,
    model: str,
    identity: Mapping[str, str],
    line: int,
) -> ManipulationSuite:
    """Return the check for one model.

    `identity` identifies the model's completions. `line` is the line of the suite in its file.

    Raises
    ------
    SettingsError
        If an emotion is unknown or a prompt cannot be reworded.
    """
    library = Library.load()
    for emotion in settings.emotions or ():
        if emotion not in library.emotions:
            raise SettingsError(
                f"emotion {emotion!r} is not in the library{nearest(emotion, library.emotions)}"
            )
    prompts = OWN_PROMPTS if settings.prompts == "own" else settings.prompts
    messages: list[_Message] = []
    for number, prompt in enumerate(prompts):
        messages.append(_Message(prompt=number, label=NEUTRAL, distance=0.0, text=prompt))
        task = Task(id=f"message-{number + 1}", prompt=prompt)
        try:
            for emotion in settings.emotions or tuple(library.emotions):
                made = generate(
                    task,
                    Selection(
                        distances=settings.distances,
                        per_distance=1,
                        emotions=(emotion,),
                        seed=settings.seed,
                        library=library,
                    ),
                )
                messages += [
                    _Message(prompt=number, label=emotion, distance=each.distance, text=each.text)
                    for each in made.variants
                ]
            control = generate(
                task,
                Selection(
                    distances=settings.distances,
                    per_distance=1,
                    seed=settings.seed,
                    library=library,
                ),
                rewriter=rewriter_named(_CONTROL_REWRITER, library=library),
            )
        except VariantError as error:
            raise SettingsError(f"prompt {number + 1}: {error}") from None
        messages += [
            _Message(prompt=number, label=NEUTRAL, distance=each.distance, text=each.text)
            for each in control.variants
        ]
    return ManipulationSuite(
        id=suite_id,
        model=model,
        line=line,
        settings=settings,
        messages=tuple(messages),
        identity=identity,
    )
